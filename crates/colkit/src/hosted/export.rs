//! Writing what is read of a file whose bytes a host brings.

use super::HostedFile;
use crate::{CreateOptions, ScanBuilder};
use colkit_core::drive::hosted::Host;
use colkit_core::{Format, Result, Sink, WriteSummary};

impl ScanBuilder<'_, HostedFile> {
    /// Writes the rows of this scan to a sink, as a file of this format. `read` hears how many rows have been read.
    pub async fn write_from(
        self,
        host: &Host,
        format: &dyn Format,
        options: &CreateOptions,
        sink: Box<dyn Sink>,
        mut read: impl FnMut(u64) + Send,
    ) -> Result<WriteSummary> {
        let file = self.file;
        let mut batches = self.batches_from(host).await?;
        let mut writer = options.create_in(format, sink, &batches.schema(), file.name())?;
        let mut rows = 0;
        while let Some(batch) = file.named(batches.next()).await? {
            writer.write(&batch)?;
            rows += batch.num_rows() as u64;
            read(rows);
        }
        writer.finish()
    }
}
