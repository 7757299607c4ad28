//! Statistics of a file whose bytes a host brings.

use super::HostedFile;
use crate::stats::{Gathering, known};
use crate::{ColumnName, ScanBuilder, TableStats};
use arrow::compute::filter_record_batch;
use colkit_core::drive::hosted::Host;
use colkit_core::{Projection, Result, Scan, Selection};

/// A sample is so many runs of rows, spread over the file.
const RUNS: u64 = 64;

impl HostedFile {
    /// What the file says about these columns without being read; see
    /// [`OpenFile::stats_from_metadata`](crate::OpenFile::stats_from_metadata).
    pub fn stats_from_metadata(&self, columns: Option<&[ColumnName]>) -> Result<TableStats> {
        known(self.table.as_ref(), columns).map_err(|e| e.file(self.name()))
    }
}

impl ScanBuilder<'_, HostedFile> {
    /// Statistics of the columns of this scan: one pass over its rows or, with `sample`, over about so many of the table's rows.
    /// `read` hears how many rows have been read.
    pub async fn stats_from(
        self,
        host: &Host,
        sample: Option<u64>,
        mut read: impl FnMut(u64) + Send,
    ) -> Result<TableStats> {
        let file = self.file;
        let work = async {
            let mut scan = self.build()?;
            let memory = scan.memory;
            // Half for reading, half for what is gathered.
            scan.memory = memory / 2;
            scan.views = true;
            let mut gathering = Gathering::new(scan.projection.schema(&file.schema())?, memory / 2);
            let rows = sample.filter(|sample| *sample < file.row_count());
            match rows {
                Some(rows) => file.gather_sample(host, &scan, rows, &mut gathering, &mut read).await?,
                None => {
                    let mut batches = file.read(host, &scan).await?;
                    let mut done = 0;
                    while let Some(batch) = batches.next().await? {
                        gathering.add(&batch)?;
                        done += batch.num_rows() as u64;
                        read(done);
                    }
                }
            }
            Ok(gathering.finish())
        };
        file.named(work).await
    }
}

impl HostedFile {
    /// Gathers runs of rows. They are read whatever the condition, which is decided afterwards.
    async fn gather_sample(
        &self,
        host: &Host,
        scan: &Scan,
        rows: u64,
        gathering: &mut Gathering,
        read: &mut (impl FnMut(u64) + Send),
    ) -> Result<()> {
        let schema = self.schema();
        let mut columns = scan.projection.resolve(&schema)?;
        let wanted: Vec<usize> = (0..columns.len()).collect();
        let more = scan.predicate.iter().flat_map(|p| p.columns());
        let more = Projection::columns(more).resolve(&schema)?;
        let first = columns.len();
        columns.extend(more.iter().cloned());
        let place = |column: usize| Some(first + more.iter().position(|c| c.index == column)?);
        let wider = self.within_limits(&Scan { projection: Projection::parts(columns), ..scan.clone() });
        let mut batches = host.scan_rows(self.table.clone(), &wider, spread(rows, self.row_count()), u64::MAX)?;
        let mut done = 0;
        while let Some(mut batch) = batches.next().await? {
            done += batch.num_rows() as u64;
            if let Some(predicate) = &scan.predicate {
                let mask = predicate.evaluate(&batch, &place)?;
                batch = filter_record_batch(&batch, &mask)?;
            }
            gathering.add(&batch.project(&wanted)?)?;
            read(done);
        }
        Ok(())
    }
}

/// About so many of `all` rows: runs of equal length at equal distances.
fn spread(rows: u64, all: u64) -> Selection {
    let runs = RUNS.min(rows).max(1);
    let length = rows.div_ceil(runs).max(1);
    let mut selection = Selection::default();
    for run in 0..runs {
        let start = u128::from(all) * u128::from(run) / u128::from(runs);
        let start = u64::try_from(start).unwrap_or(all).max(selection.end());
        selection.push(start..start.saturating_add(length).min(all));
    }
    selection
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_all_rows() {
        let sample = spread(1000, 1_000_000);
        assert_eq!((sample.ranges().len(), sample.len(), sample.span().start), (64, 1024, 0));
        assert!(sample.end() > 980_000);
        assert_eq!(spread(5, 6).len(), 5);
        assert_eq!(spread(100, 101).end(), 101);
    }
}
