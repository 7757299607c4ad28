//! colkit: Lance files with positioned reads or over a mapped file.

use crate::answer::Answer;
use crate::contest::Result;
use crate::reading::{Open, Range, Reader};
use arrow::array::RecordBatch;
use colkit::core::{Projection, ReadOptions, Scan};
use colkit::lance::{EncodingSet, Lance, LanceWriteOptions, Prefer};
use colkit::{FileSink, FileSource, Format, MappedSource, Op, Predicate, Source, TableFile, Value, WriteOptions};
use std::sync::Arc;

pub struct Ours {
    pub name: &'static str,
    pub file: &'static str,
    pub mapped: bool,
    /// Whether text is asked for as views, which is the form of Vortex.
    pub views: bool,
}

/// A file that has been opened.
struct OurFile {
    table: TableFile,
    views: bool,
}

impl Reader for Ours {
    fn name(&self) -> &'static str {
        self.name
    }

    fn file(&self) -> &'static str {
        self.file
    }

    fn open(&self, path: &str) -> Result<Box<dyn Open>> {
        let source: Arc<dyn Source> = match self.mapped {
            // SAFETY: the files of a benchmark do not change while it runs.
            true => Arc::new(unsafe { MappedSource::open(path) }?),
            false => Arc::new(FileSource::open(path)?),
        };
        let table = TableFile::open(Arc::new(Lance::new()), source, &ReadOptions::default())?;
        Ok(Box::new(OurFile { table, views: self.views }))
    }
}

impl OurFile {
    fn answer(&self, scan: Scan) -> Result<Answer> {
        let scan = Scan { views: self.views, ..scan };
        Ok(Answer::Arrow59(self.table.scan(&scan)?.collect::<colkit::Result<_>>()?))
    }
}

impl Open for OurFile {
    fn take(&self, rows: &[u64]) -> Result<Answer> {
        Ok(Answer::Arrow59(vec![self.table.take(rows, &Projection::all())?]))
    }

    fn scan(&self, columns: Option<&[&str]>) -> Result<Answer> {
        let projection = match columns {
            None => Projection::all(),
            Some(names) => Projection::named(&self.table.schema(), names.iter().copied())?,
        };
        self.answer(Scan { projection, ..Scan::default() })
    }

    fn filter(&self, columns: &[&str], range: &Range) -> Result<Answer> {
        let schema = self.table.schema();
        let column = schema.index_of(range.column)?;
        let bound = |op, value| Predicate::compare(column, op, Value::Int(i128::from(value)));
        let predicate = Predicate::And(vec![bound(Op::Ge, range.low), bound(Op::Le, range.high)]).bind(&schema)?;
        let projection = Projection::named(&schema, columns.iter().copied())?;
        self.answer(Scan { projection, predicate: Some(predicate), ..Scan::default() })
    }
}

/// Writes a Lance file, as colkit does by default or as preferred.
pub fn write(path: &str, batches: &[RecordBatch], prefer: Prefer, encodings: EncodingSet) -> Result<()> {
    let schema = batches.first().ok_or("no batch")?.schema();
    let format =
        Lance::new().with_write_options(LanceWriteOptions::new().with_prefer(prefer).with_encodings(encodings));
    let mut writer = format.writer(schema, Box::new(FileSink::replace(path)?), &WriteOptions::default())?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(())
}
