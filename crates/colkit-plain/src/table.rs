//! An open `.gppcol`, `.cff` or `.colfile`.
//!
//! A zlib stream has no random access, so the table is one split with a lane per column. A column that fits its share
//! of the scan's memory is inflated whole, which is twice as fast; a larger one is streamed, batch by batch.

use crate::dialect::{Dialect, FixedHeader, PlainType, StringLayout};
use crate::header::ColumnEntry;
use crate::inflate::STREAM_COST;
use crate::stream::{BatchSize, StreamedColumn};
use crate::whole;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::{
    BatchMachine, Boxed, ByteRange, Checksums, ColumnStatistics, Finding, Lane, Layout, Limits, Machine, Projection,
    Region, RegionKind, Result, Scan, Selection, Split, Step, Table, Verified, ready, select_rows,
};
use std::ops::Range;
use std::sync::Arc;

/// Payloads up to this size are always inflated whole: it takes no more memory than streaming them.
const SMALL: u64 = 64 << 10;

/// The largest payload that is inflated whole: Arrow's string offsets are 31 bits wide.
pub(crate) const LARGEST_WHOLE: u64 = (1 << 31) - 1;

pub(crate) struct PlainTable {
    dialect: &'static Dialect,
    size: u64,
    fixed: FixedHeader,
    header_end: u64,
    columns: Vec<ColumnEntry>,
    schema: SchemaRef,
    limits: Limits,
    /// Larger payloads are streamed.
    largest_whole: u64,
}

impl PlainTable {
    pub fn new(
        dialect: &'static Dialect,
        size: u64,
        fixed: FixedHeader,
        header_end: u64,
        columns: Vec<ColumnEntry>,
        limits: Limits,
        largest_whole: u64,
    ) -> Self {
        let field = |c: &ColumnEntry| Field::new(&c.name, data_type(c.kind), false);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        PlainTable { dialect, size, fixed, header_end, columns, schema, limits, largest_whole }
    }

    fn chosen(&self, projection: &Projection) -> Result<Vec<(usize, &ColumnEntry)>> {
        let indices = projection.indices(&self.schema)?;
        Ok(indices.into_iter().filter_map(|i| Some((i, self.columns.get(i)?))).collect())
    }

    /// One lane per column, for the rows of a range.
    fn lanes(&self, projection: &Projection, rows: Range<u64>, scan: &Scan) -> Result<Vec<Lane>> {
        let chosen = self.chosen(projection)?;
        let share = scan.memory / 2 / (chosen.len() as u64).max(1);
        // Inflating a whole column for a few of its first rows would be waste.
        let most = rows.end >= self.fixed.rows / 2;
        let limit = if most { share.max(SMALL) } else { SMALL };
        let whole = |column: &ColumnEntry| column.raw <= limit.min(self.largest_whole);
        let streamed = chosen.iter().filter(|(_, c)| !whole(c));
        // Where the ends of all strings come before their bytes, those of the rows wanted are kept.
        let ends = rows.end.saturating_sub(rows.start).saturating_mul(4);
        let costs = streamed.map(|(_, c)| match (c.kind, self.dialect.strings) {
            (PlainType::Text, StringLayout::Offsets) => ends.saturating_add(STREAM_COST),
            _ => STREAM_COST,
        });
        let cost = costs.fold(0, u64::saturating_add);
        Limits::check_memory("reading large columns side by side", cost, scan.memory)?;
        let size = BatchSize { rows: scan.batch_rows, bytes: scan.batch_bytes };
        let lane = |(position, (index, column)): (usize, (usize, &ColumnEntry))| {
            let schema = Arc::new(Schema::new(vec![self.schema.field(index).clone()]));
            let strings = self.dialect.strings;
            let decode = if whole(column) {
                Decode::Whole { rows: rows.clone(), row_count: self.fixed.rows, array: None }
            } else {
                let streamed = StreamedColumn::new(column, strings, self.fixed.rows, rows.clone(), size, &self.limits);
                Decode::Streamed(Box::new(streamed))
            };
            let machine: BatchMachine =
                Box::new(ReadColumn { index, column: column.clone(), dialect: self.dialect, schema, size, decode });
            Lane { columns: vec![position], machine }
        };
        Ok(chosen.into_iter().enumerate().map(lane).collect())
    }
}

fn data_type(kind: PlainType) -> DataType {
    match kind {
        PlainType::Int32 => DataType::Int32,
        PlainType::Float64 => DataType::Float64,
        PlainType::Text => DataType::Utf8,
        PlainType::Bool => DataType::Boolean,
    }
}

impl Table for PlainTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.fixed.rows
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        let strings = match self.dialect.strings {
            StringLayout::Offsets => "offsets, then bytes",
            StringLayout::Lengths => "length and bytes, row by row",
        };
        vec![("version", "1".into()), ("compression", "one zlib stream per column".into()), ("strings", strings.into())]
    }

    fn statistics(&self) -> Vec<ColumnStatistics> {
        // There are no nulls in these formats.
        self.columns.iter().map(|_| ColumnStatistics { null_count: Some(0), ..ColumnStatistics::default() }).collect()
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = scan.row_range(self.fixed.rows)?;
        let ranges = self.chosen(&scan.projection)?.iter().map(|(_, c)| c.block).collect();
        // A range of no rows still reads a table of no rows, whose blocks are checked like any others.
        let nothing = rows.is_empty() && self.fixed.rows > 0;
        Ok(ready(if nothing { Vec::new() } else { vec![Split { rows, ranges }] }))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let span = rows.span();
        Ok(select_rows(rows, vec![(span.clone(), self.lanes(&scan.projection, span, scan)?)]))
    }

    fn column_bytes(&self, column: usize) -> Option<u64> {
        // Inflating takes as long as there is to inflate.
        Some(self.columns.get(column)?.raw)
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        let fixed = ByteRange::between(0, self.dialect.fixed as u64);
        let mut regions = vec![Region::new(fixed, RegionKind::Header, "fixed header")];
        let entry = |(i, c): (usize, &ColumnEntry)| Region::new(c.entry, RegionKind::Metadata, "entry").column(i);
        let entries = self.columns.iter().enumerate().map(entry).collect();
        let metadata = ByteRange::between(self.fixed.metadata, self.header_end);
        regions.push(Region::new(metadata, RegionKind::Metadata, "column entries").parts(entries));
        for (i, c) in self.columns.iter().enumerate() {
            regions.push(Region::new(c.block, RegionKind::Data, "block").column(i).encoded("zlib", c.raw));
        }
        Ok(ready(Layout::cover(self.size, regions)))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        let in_order = self.columns.is_sorted_by_key(|c| c.block.start());
        let finding = Finding {
            part: "blocks".into(),
            message: "the blocks lie in another order than the columns; allowed, but no writer has a reason to".into(),
        };
        // Adler-32 at the end of each zlib stream, compared whenever a block is read to its end.
        let checksums = Checksums::Parts("the column blocks, not the header".into());
        let findings = if in_order { Vec::new() } else { vec![finding] };
        Ok(ready(Verified { findings, ..Verified::by(checksums) }))
    }
}

/// Reads one column of the table.
struct ReadColumn {
    index: usize,
    column: ColumnEntry,
    dialect: &'static Dialect,
    schema: SchemaRef,
    size: BatchSize,
    decode: Decode,
}

enum Decode {
    /// Inflated in one go; `rows` shrinks as batches are cut off.
    Whole {
        rows: Range<u64>,
        row_count: u64,
        array: Option<ArrayRef>,
    },
    Streamed(Box<StreamedColumn>),
}

impl Machine for ReadColumn {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        self.advance(got).map_err(|e| {
            let part = format!("column {} {:?}", self.index, self.column.name);
            self.dialect.error(e.at(self.column.block.start()).part(part))
        })
    }
}

impl ReadColumn {
    fn advance(&mut self, got: Vec<Bytes>) -> Result<Step<Option<RecordBatch>>> {
        let array = match &mut self.decode {
            Decode::Streamed(column) => match column.next(got)? {
                Step::Need(ranges) => return Ok(Step::Need(ranges)),
                Step::Ready(array) => array,
            },
            Decode::Whole { rows, row_count, array } => {
                let all = match (array.as_ref(), got.first()) {
                    (Some(all), _) => all,
                    (None, None) => return Ok(Step::Need(vec![self.column.block])),
                    (None, Some(block)) => {
                        let rows = usize::try_from(*row_count).unwrap_or(usize::MAX);
                        array.insert(whole::decode(&self.column, self.dialect.strings, rows, block)?)
                    }
                };
                next_slice(all, rows, self.size)
            }
        };
        Ok(Step::Ready(match array {
            None => None,
            Some(array) => Some(RecordBatch::try_new(self.schema.clone(), vec![array])?),
        }))
    }
}

/// Cuts the next batch off the front of `rows`.
fn next_slice(array: &ArrayRef, rows: &mut Range<u64>, size: BatchSize) -> Option<ArrayRef> {
    let start = usize::try_from(rows.start).ok()?;
    let left = usize::try_from(rows.end.checked_sub(rows.start)?).ok()?;
    if left == 0 || start + left > array.len() {
        return None;
    }
    let length = whole::batch_length(array, start, size.rows.min(left), size.bytes);
    rows.start += length as u64;
    Some(array.slice(start, length))
}

#[cfg(test)]
mod tests {
    //! Small columns are inflated whole, so the vectors would never be streamed; here they are.

    use crate::{Cff, Colm, Gpp, header};
    use arrow::datatypes::{DataType, SchemaRef};
    use bytes::Bytes;
    use colkit_core::conformance::{self, Laws};
    use colkit_core::{Boxed, Format, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions};
    use std::path::Path;
    use std::sync::Arc;

    /// A format whose columns are all streamed.
    struct StreamingFormat(&'static crate::dialect::Dialect, Arc<dyn Format>);

    impl Format for StreamingFormat {
        fn name(&self) -> &'static str {
            self.1.name()
        }

        fn extensions(&self) -> &'static [&'static str] {
            self.1.extensions()
        }

        fn sniff(&self, head: &[u8], tail: &[u8]) -> bool {
            self.1.sniff(head, tail)
        }

        fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
            header::open(self.0, size, options, 0)
        }

        fn stores(&self, data_type: &DataType) -> bool {
            self.1.stores(data_type)
        }

        fn stores_nulls(&self) -> bool {
            self.1.stores_nulls()
        }

        fn writer(
            &self,
            schema: SchemaRef,
            sink: Box<dyn Sink>,
            options: &WriteOptions,
        ) -> Result<Box<dyn TableWriter>> {
            self.1.writer(schema, sink, options)
        }
    }

    fn streamed(path: &Path) -> Option<Arc<dyn Format>> {
        Some(match path.extension()?.to_str()? {
            "gppcol" => Arc::new(StreamingFormat(Gpp::DIALECT, Arc::new(Gpp))),
            "cff" => Arc::new(StreamingFormat(Cff::DIALECT, Arc::new(Cff))),
            "colfile" => Arc::new(StreamingFormat(Colm::DIALECT, Arc::new(Colm))),
            _ => return None,
        })
    }

    fn files(folder: &str) -> Vec<(String, Arc<dyn Format>, Bytes)> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        if package.join("Cargo.toml.orig").exists() {
            return Vec::new(); // from crates.io, without the vectors
        }
        let folder = package.join("tests/data").join(folder);
        let paths = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
        let opened =
            paths.filter_map(|p| Some((p.display().to_string(), streamed(&p)?, std::fs::read(&p).unwrap().into())));
        opened.collect()
    }

    #[test]
    fn streamed_columns_obey_the_laws_and_equal_whole_ones() {
        for (name, format, bytes) in files(".") {
            let rows = conformance::reads(&format, &bytes, Laws { columns_apart: true });
            let whole: Arc<dyn Format> = match format.name() {
                "gppcol" => Arc::new(Gpp),
                "cff" => Arc::new(Cff),
                _ => Arc::new(Colm),
            };
            assert_eq!(rows, conformance::read_all(&whole, &bytes).unwrap(), "{name}");
            if bytes.len() <= 250 {
                conformance::hostile(&format, &bytes);
            }
        }
    }

    include!("vector_kinds.rs");

    #[test]
    fn streamed_columns_are_refused_for_the_same_reason() {
        for (name, format, bytes) in files("malformed") {
            let manifest = Path::new(&name).with_file_name("manifest.json");
            let manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(manifest).unwrap()).unwrap();
            let mut cases = manifest.as_array().unwrap().iter();
            let case = cases.find(|c| name.ends_with(&format!("/{}", c["file"].as_str().unwrap()))).unwrap();
            let code = conformance::refused(&format, &bytes);
            let mut kinds = case["kinds"].as_array().unwrap().iter().filter_map(|kind| kind.as_str());
            assert!(kinds.any(|kind| code_of(kind) == code), "{name}: {code}");
        }
    }
}
