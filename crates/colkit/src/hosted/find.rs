//! Rows that meet a condition, with their numbers.

use super::HostedFile;
use crate::ColumnName;
use arrow::array::Array;
use arrow::record_batch::RecordBatch;
use colkit_core::drive::hosted::Host;
use colkit_core::plan::ReadPlan;
use colkit_core::{BoundPredicate, Predicate, Projection, Result, Scan};

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub struct Find<'a> {
    /// What holds for the rows.
    pub condition: &'a BoundPredicate,
    /// Their columns; `None` is all.
    pub columns: Option<&'a [ColumnName]>,
    /// The first row to look at.
    pub start: u64,
    /// How many rows are enough.
    pub limit: usize,
    /// What looking for them may hold, in bytes.
    pub memory: u64,
}

/// Rows that were looked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundRows {
    /// Their numbers, ascending.
    pub numbers: Vec<u64>,
    /// Their columns.
    pub rows: RecordBatch,
    /// The first row that was not looked at; `None` if all were.
    pub next: Option<u64>,
}

impl HostedFile {
    /// The condition on rows that a text such as `price > 100` stands for.
    pub fn condition(&self, text: &str) -> Result<BoundPredicate> {
        let schema = self.schema();
        let bound = Predicate::parse(text, &schema).and_then(|predicate| predicate.bind(&schema));
        bound.map_err(|e| e.file(self.name()))
    }

    /// The first rows for which a condition holds. `looked` hears how far the search is.
    pub async fn find(&self, host: &Host, find: Find<'_>, mut looked: impl FnMut(u64) + Send) -> Result<FoundRows> {
        let work = async {
            let (numbers, next) = self.numbers(host, find, &mut looked).await?;
            let mut take = self.take(numbers.iter().copied());
            if let Some(columns) = find.columns {
                take = take.columns(columns.iter().cloned());
            }
            let rows = take.batch_from(host).await?;
            Ok(FoundRows { numbers, rows, next })
        };
        self.named(work).await
    }

    /// The numbers of those rows, and the first row not looked at. Only the columns of the condition are read, and only where
    /// the file does not rule it out.
    async fn numbers(
        &self,
        host: &Host,
        find: Find<'_>,
        looked: &mut (impl FnMut(u64) + Send),
    ) -> Result<(Vec<u64>, Option<u64>)> {
        let Find { condition, start, limit, memory, .. } = find;
        let mut numbers = Vec::new();
        if start >= self.row_count() {
            return Ok((numbers, None));
        }
        let columns = condition.columns();
        let all = Scan {
            predicate: Some(condition.clone()),
            rows: Some(start..self.row_count()),
            ..Scan::of(Projection::columns(columns.iter().copied()))
        };
        let all = self.within_limits(&Scan { memory, ..all });
        let plan = ReadPlan::new(self.table.as_ref(), &all)?;
        let splits = host.run(self.table.splits(&plan.scan)?).await?;
        let place = |column: usize| columns.binary_search(&column).ok();
        for split in splits {
            let scan = Scan { predicate: None, rows: Some(split.rows.clone()), ..all.clone() };
            let mut batches = self.read(host, &scan).await?;
            let mut row = split.rows.start;
            while let Some(batch) = batches.next().await? {
                let mask = condition.evaluate(&batch, &place)?;
                let holds = |i: &usize| mask.is_valid(*i) && mask.value(*i);
                for i in (0..mask.len()).filter(holds) {
                    if numbers.len() == limit {
                        return Ok((numbers, Some(row + i as u64)));
                    }
                    numbers.push(row + i as u64);
                }
                row += batch.num_rows() as u64;
                looked(row);
            }
        }
        Ok((numbers, None))
    }
}
