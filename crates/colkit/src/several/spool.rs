//! What was decompressed or rewritten before it could be read, of all files in one temporary file: each in one of its own
//! would take as many open files.

use crate::Input;
use bytes::Bytes;
use colkit_core::{ByteRange, Error, FileSource, Result, Source};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// Bytes copied at a time.
const CHUNK: u64 = 1 << 20;

#[derive(Default)]
pub(super) struct Spool {
    file: Option<(File, FileSource)>,
    length: u64,
}

impl Spool {
    /// The input itself or, if its bytes lie in a temporary file of their own, the same with its bytes here.
    pub fn keep(&mut self, input: &Input) -> Result<Input> {
        if !input.is_rewritten() {
            return Ok(input.clone());
        }
        let (file, open) = match &mut self.file {
            Some(file) => file,
            none => {
                let file = tempfile::tempfile()?;
                let open = FileSource::from_file(file.try_clone()?)?;
                none.insert((file, open))
            }
        };
        let (start, source) = (self.length, input.bytes());
        while self.length - start < source.size() {
            let at = self.length - start;
            let bytes = source.read(ByteRange::between(at, at.saturating_add(CHUNK).min(source.size())))?;
            file.write_all(&bytes)?;
            self.length += bytes.len() as u64;
        }
        let whole = open.regrown()?;
        let part = ByteRange::between(start, self.length);
        Ok(input.with_source(Arc::new(Section { whole, part })))
    }
}

/// A part of a file.
struct Section {
    whole: FileSource,
    part: ByteRange,
}

impl Section {
    fn inside(&self, range: ByteRange) -> Result<ByteRange> {
        if range.end() > self.part.len() {
            return Err(Error::io("short_read", format!("bytes {range} could not be read whole")).at(range.start()));
        }
        ByteRange::at(self.part.start() + range.start(), range.len())
    }
}

impl Source for Section {
    fn size(&self) -> u64 {
        self.part.len()
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        self.whole.read(self.inside(range)?)
    }
}
