//! Text that is no table of cells, such as a log: one column, `line`, with every line as it is.

use crate::text::{Excerpt, Fault, Pass, Pieces, Progress, Records, RowReader, Surveyor, TextTable, record_limit};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use colkit_core::cells::{CellColumn, CellText, Inference};
use colkit_core::coroutine::{Io, coroutine};
use colkit_core::{
    Boxed, ColumnRef, Error, Format, Limits, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions,
};
use std::sync::Arc;

/// The name of the column.
const COLUMN: &str = "line";

/// Lines of text, each a row of one column, `line`. It can only be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinesFormat;

impl Format for LinesFormat {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }

    /// Any text has lines, so this is only for those who ask for it.
    fn sniff(&self, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn has_magic(&self) -> bool {
        false
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        let limits = options.limits.clone();
        coroutine(move |io| async move { open(&io, size, Pieces::default(), &limits, None).await })
    }

    fn stores(&self, data_type: &DataType) -> bool {
        *data_type == DataType::Utf8
    }

    fn writer(&self, _: SchemaRef, _: Box<dyn Sink>, _: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Err(Error::request("no_such_format", "lines can be read, not written").hint("write csv instead"))
    }
}

/// Opens a file as lines. `found` is why, if nobody has asked for it.
pub(super) async fn open(
    io: &Io,
    size: u64,
    pieces: Pieces,
    limits: &Limits,
    found: Option<String>,
) -> Result<Arc<dyn Table>> {
    let pass = Pass::start(io.clone(), size, pieces, limits).await?;
    let index = pass.records(&mut Survey { longest: record_limit(limits) }).await?;
    let schema = Arc::new(Schema::new(vec![Field::new(COLUMN, DataType::Utf8, false)]));
    Ok(Arc::new(TextTable::new(schema, index, LineRecords { found }, Vec::new())))
}

/// Where the line at `at` ends, without its line end, and where the next one starts; `None` if it is incomplete.
pub(super) fn line(bytes: &[u8], at: usize, at_end: bool) -> Option<(usize, usize)> {
    let rest = bytes.get(at..)?;
    let (end, next) = match memchr::memchr(b'\n', rest) {
        Some(length) => (at + length, at + length + 1),
        None if at_end && !rest.is_empty() => (bytes.len(), bytes.len()),
        None => return None,
    };
    let end = if end > at && bytes.get(end - 1) == Some(&b'\r') { end - 1 } else { end };
    Some((end, next))
}

struct Survey {
    longest: u64,
}

impl Surveyor for Survey {
    fn survey(&mut self, text: Excerpt<'_>, most: usize, at_end: bool) -> Result<(usize, u64)> {
        let (mut at, mut rows) = (0, 0);
        while at < most.min(text.bytes.len()) {
            let found = line(text.bytes, at, at_end);
            let length = found.map_or(text.bytes.len(), |(_, next)| next) - at;
            Limits::check("a line", length as u64, self.longest)
                .map_err(|e| text.locate(Fault::new(at, e.hint(Limits::value_hint())), |_| None))?;
            let Some((_, next)) = found else { break };
            at = next;
            rows += 1;
        }
        Ok((at, rows))
    }
}

struct LineRecords {
    found: Option<String>,
}

impl Records for LineRecords {
    fn properties(&self) -> Vec<(&'static str, String)> {
        self.found.iter().map(|found| ("found", found.clone())).collect()
    }

    fn reader(&self, columns: &[ColumnRef], _: &SchemaRef, _: usize) -> Box<dyn RowReader> {
        let cells = CellColumn::new(&DataType::Utf8, false, &Arc::new(Inference::plain()));
        Box::new(LineRows { cells, columns: columns.len() })
    }
}

struct LineRows {
    cells: CellColumn,
    /// How often the column is wanted.
    columns: usize,
}

impl RowReader for LineRows {
    fn skip(&mut self, text: Excerpt<'_>, at: usize, rows: usize) -> Result<Progress> {
        let mut read = Progress { end: at, ..Progress::default() };
        while let Some((_, next)) = line(text.bytes, read.end, true).filter(|_| read.rows < rows) {
            read.end = next;
            read.rows += 1;
        }
        Ok(read)
    }

    fn collect(&mut self, text: Excerpt<'_>, at: usize, rows: usize, bytes: usize) -> Result<Progress> {
        let mut read = Progress { end: at, ..Progress::default() };
        let mut lines = Vec::new();
        while let Some((end, next)) =
            line(text.bytes, read.end, true).filter(|_| read.rows < rows && read.bytes < bytes)
        {
            lines.push(read.end..end);
            read.bytes += next - read.end;
            read.end = next;
            read.rows += 1;
        }
        let cell =
            |range: std::ops::Range<usize>| CellText { raw: text.bytes.get(range).unwrap_or_default(), doubled: None };
        let added = self.cells.append(lines.into_iter().map(cell));
        added.map_err(|_| Error::limit("the text of a batch", "2 GiB or more", "2 GiB"))?;
        Ok(read)
    }

    fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.cells.finish()?; self.columns])
    }
}
