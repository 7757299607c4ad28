//! What a query spills, in files without names: however the process ends, nothing of them stays.

use crate::error::external;
use bytes::Bytes;
use colkit_core::{ByteRange, FileSource, Source};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures::{Stream, StreamExt, stream};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read at a time.
const BLOCK: u64 = 256 << 10;

/// Makes the files, in a folder or where temporary files are.
pub(crate) struct Unnamed {
    pub folder: Option<PathBuf>,
}

impl TempFileFactory for Unnamed {
    fn create_temp_file(&self, _: &str) -> Result<Arc<dyn SpillFile>> {
        let file = match &self.folder {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        let named = |e: std::io::Error| {
            let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
            external(colkit::Error::from(e).file(folder.display().to_string()).part("folder to spill to"))
        };
        Ok(Arc::new(Spilled { file: file.map_err(named)?, written: Arc::default() }))
    }
}

/// A file.
struct Spilled {
    file: File,
    written: Arc<AtomicU64>,
}

impl SpillFile for Spilled {
    fn size(&self) -> Option<u64> {
        Some(self.written.load(Ordering::Relaxed))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let source = FileSource::from_file(self.file.try_clone()?).map_err(external)?;
        let blocks = stream::unfold((source, 0_u64), |(source, at)| async move {
            let end = at.saturating_add(BLOCK).min(source.size());
            let block = (at < end).then(|| source.read(ByteRange::between(at, end)).map_err(external))?;
            Some((block, (source, end)))
        });
        Ok(blocks.boxed())
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(Writer { file: self.file.try_clone()?, written: self.written.clone() }))
    }
}

struct Writer {
    file: File,
    written: Arc<AtomicU64>,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let length = self.file.write(bytes)?;
        self.written.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        self.file.flush().map_err(DataFusionError::IoError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::TryStreamExt;

    #[test]
    fn what_is_written_is_read_and_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let files = Unnamed { folder: Some(folder.path().to_path_buf()) };
        let file = files.create_temp_file("test").unwrap();
        let content: Vec<u8> = (0..600_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut writer = file.open_writer().unwrap();
        writer.write_all(&content).unwrap();
        writer.finish().unwrap();
        assert_eq!(file.size(), Some(content.len() as u64));
        for _ in 0..2 {
            let read = futures::executor::block_on(file.read_stream().unwrap().try_collect::<Vec<Bytes>>()).unwrap();
            assert_eq!(read.concat(), content);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let nowhere = Unnamed { folder: Some(folder.path().join("none")) };
        assert!(nowhere.create_temp_file("test").is_err());
    }
}
