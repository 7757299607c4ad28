//! Checking a file whose bytes a host brings.

use super::HostedFile;
use crate::Verdict;
use crate::verify::{Checkable, check};
use arrow::datatypes::SchemaRef;
use colkit_core::drive::hosted::Host;
use colkit_core::{Layout, Result, Verified};
use std::ops::Range;

impl HostedFile {
    /// Checks everything that can be checked about the file, within `memory` bytes; see [`verify`](crate::verify()). `read` hears
    /// how many rows have been read, of however many columns.
    pub async fn verdict(&self, host: &Host, memory: u64, read: impl Fn(u64) + Send + Sync) -> Verdict {
        let (name, format) = (self.name().into(), Some(self.format().name()));
        let mut verdict = Verdict { file: name, format, bytes: self.bytes(), ..Verdict::default() };
        let file = Checking { file: self, host, read };
        check(&mut verdict, &file, Verdict::default(), memory).await;
        verdict
    }
}

struct Checking<'a, R> {
    file: &'a HostedFile,
    host: &'a Host,
    read: R,
}

impl<R: Fn(u64) + Send + Sync> Checkable for Checking<'_, R> {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn schema(&self) -> SchemaRef {
        self.file.schema()
    }

    fn row_count(&self) -> u64 {
        self.file.row_count()
    }

    async fn own_checks(&self) -> Result<Verified> {
        self.file.named(async { self.host.run(self.file.table.verify()?).await }).await
    }

    async fn byte_map(&self) -> Result<Layout> {
        self.file.layout(self.host).await
    }

    async fn count(&self, columns: Range<usize>, memory: u64) -> Result<u64> {
        let work = async {
            let scan = self.file.scan().columns(columns).memory(memory);
            let mut batches = scan.batches_from(self.host).await?;
            let mut rows = 0;
            while let Some(batch) = batches.next().await? {
                rows += batch.num_rows() as u64;
                (self.read)(rows);
            }
            Ok(rows)
        };
        self.file.named(work).await
    }
}
