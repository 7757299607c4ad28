//! Tables of the queryable codecs: read group by group and column by column, from the file.
//!
//! Rows are lines, in order; the header (the first line of a qcolumnar file, if it is not taken apart and has as many
//! fields as the table has columns) is not one of them. A table of several shapes has the columns of all, by name; a
//! row is null in columns its shape does not have.
//!
//! | type in the file | type here |
//! |------------------|-----------|
//! | 1 integer | int64 |
//! | 2 decimal | float64, the nearest: zone maps are floats too |
//! | 0 text, or different types under one name | text |
//!
//! In columns of numbers an empty cell (and JSON's null) is null; a cell that is no number is an error that says where.

use super::File;
use super::column_reader::ColumnReader;
use super::rows::{LINE, default_name, header_names};
use super::text::text;
use super::verify::Verify;
use crate::queryable::shape::{Kind, RowTemplate, Shape, Zone};
use crate::queryable::typing::NAME;
use crate::queryable::{Line, Queryable};
use arrow::array::{ArrayRef, Float64Array, Int64Array, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use colkit_core::cells::{Inference, Kinds, is_cell_type};
use colkit_core::{
    BatchMachine, BoundPredicate, Boxed, ByteRange, ColumnStatistics, Error, Lane, Layout, Result, Scan, Selection,
    Split, Table, Verified, ZoneMap, column_index, ready,
};
use std::ops::Range;
use std::sync::Arc;

/// Rows of a split at least, as far as neighbouring groups give them.
const SPLIT_ROWS: u64 = 32 << 10;

/// A queryable file.
#[derive(Clone)]
pub struct Groups(Arc<Inner>);

/// What the table and its readers share.
pub struct Inner {
    file: Arc<File>,
    /// The lines of the file.
    pub lines: Arc<Queryable>,
    /// The columns.
    pub schema: SchemaRef,
    /// Where their values come from.
    pub columns: Vec<Column>,
    /// How their cells are read, if the types follow from them.
    pub inference: Option<Arc<Inference>>,
    /// Lines before the first row: 0 or 1.
    pub header: u64,
    /// Whether a CR at the end of a row belongs to the line end.
    pub crlf: bool,
    verbatim: u64,
}

/// Where the values of a column come from.
pub enum Column {
    /// From these columns of the shapes.
    Values(Vec<Option<usize>>),
    /// Lines that are not taken apart.
    Lines,
}

/// The names of a shape's columns, numbered where they repeat.
fn names(shape: &Shape) -> Vec<(String, usize)> {
    let mut seen = std::collections::HashMap::new();
    let number = |name: String| {
        let count = seen.entry(name.clone()).and_modify(|n| *n += 1).or_insert(0usize);
        (name, *count)
    };
    let name = |c: usize| match &shape.names {
        Some(names) => names.get(c).map(|n| text(n)).unwrap_or_default(),
        None => default_name(c),
    };
    (0..shape.width()).map(name).map(number).collect()
}

/// The columns of all shapes: name, type, and which column of each shape it is.
fn all_columns(lines: &Queryable) -> Vec<(String, Kind, Vec<Option<usize>>)> {
    let mut all: Vec<(String, Kind, Vec<Option<usize>>)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for (s, shape) in lines.shapes.iter().enumerate() {
        for (c, (key, kind)) in names(shape).into_iter().zip(&shape.kinds).enumerate() {
            let index = *known.entry(key.clone()).or_insert_with(|| {
                all.push((key.0, *kind, vec![None; lines.shapes.len()]));
                all.len() - 1
            });
            if let Some((_, known_kind, sources)) = all.get_mut(index) {
                *known_kind = common_kind(*known_kind, *kind);
                if let Some(source) = sources.get_mut(s) {
                    *source = Some(c);
                }
            }
        }
    }
    all
}

fn common_kind(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        (Kind::Text, _) | (_, Kind::Text) => Kind::Text,
        (Kind::Integer, Kind::Integer) => Kind::Integer,
        _ => Kind::Decimal,
    }
}

/// Which column of the table each column of a shape is.
pub fn table_columns(lines: &Queryable, shape: &Shape) -> Vec<Option<usize>> {
    if lines.shapes.len() == 1 {
        return (0..shape.width()).map(Some).collect();
    }
    let mut columns = vec![None; shape.width()];
    let Some(s) = lines.shapes.iter().position(|other| other.prefix == shape.prefix) else { return columns };
    for (index, (_, _, sources)) in all_columns(lines).iter().enumerate() {
        if let Some(column) = sources.get(s).copied().flatten().and_then(|c| columns.get_mut(c)) {
            *column = Some(index);
        }
    }
    columns
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Text => DataType::Utf8,
        Kind::Integer => DataType::Int64,
        Kind::Decimal => DataType::Float64,
    }
}

impl Groups {
    /// The table of an opened file that is CSV, a record on each line, with cells of these kinds in its columns.
    pub fn typed(
        file: Arc<File>,
        lines: Queryable,
        kinds: &[Kinds],
        inference: &Arc<Inference>,
        given: &[(String, DataType)],
    ) -> Result<Self> {
        let Groups(inner) = Groups::new(file, lines)?;
        let schema = &inner.schema;
        if inner.header != 1 || inner.verbatim > 0 || schema.fields().len() != kinds.len() {
            let message = "the lines are not those of the table that the stream describes";
            return Err(Error::corrupt("row_count_mismatch", message).part(format!("stream {NAME:?}")));
        }
        for (name, data_type) in given {
            column_index(schema, name).map_err(|e| e.part("the types given for columns"))?;
            if !is_cell_type(data_type) {
                let message = format!("column {name:?} cannot be read as {data_type}");
                return Err(Error::request("no_such_type", message));
            }
        }
        let field = |(field, kinds): (&FieldRef, &Kinds)| {
            let own = given.iter().find(|(name, _)| name == field.name());
            let data_type = own.map_or_else(|| kinds.data_type(inference), |(_, data_type)| data_type.clone());
            // Without nulls one empty cell makes a column text.
            let text = own.is_none() && !inference.empty_is_null && kinds.has(Kinds::EMPTY);
            let data_type = if text { DataType::Utf8 } else { data_type };
            let nullable = match own {
                Some(_) => data_type != DataType::Utf8,
                None => kinds.nullable(&data_type, inference),
            };
            Field::new(field.name(), data_type, nullable)
        };
        let schema = Schema::new(schema.fields().iter().zip(kinds).map(field).collect::<Vec<_>>());
        Groups::retyped(inner, schema, inference.clone())
    }

    /// The table of an opened file whose lines are objects with members of these kinds; `None` if none of the types that
    /// are read here hold them.
    pub fn objects(file: Arc<File>, lines: Queryable, kinds: &[Kinds], inference: &Inference) -> Result<Option<Self>> {
        let Groups(inner) = Groups::new(file, lines)?;
        let schema = &inner.schema;
        if inner.verbatim > 0 || schema.fields().len() != kinds.len() {
            return Ok(None);
        }
        let words = vec!["null".to_string()];
        let inference = Inference { unsigned64: inference.integers64, null_words: words, ..inference.clone() };
        // Integers of both ends and columns of nothing but null have types of their own.
        let is_known = |kinds: &Kinds| *kinds != Kinds::NULL && !kinds.has_all(Kinds::UINT64.and(Kinds::NEGATIVE));
        if !kinds.iter().all(is_known) {
            return Ok(None);
        }
        let field = |(field, kinds): (&FieldRef, &Kinds)| {
            Field::new(field.name(), kinds.data_type(&inference), kinds.has(Kinds::NULL))
        };
        let schema = Schema::new(schema.fields().iter().zip(kinds).map(field).collect::<Vec<_>>());
        Groups::retyped(inner, schema, Arc::new(inference)).map(Some)
    }

    /// The same table with other types.
    fn retyped(inner: Arc<Inner>, schema: Schema, inference: Arc<Inference>) -> Result<Self> {
        let Inner { file, lines, columns, header, crlf, verbatim, .. } =
            Arc::into_inner(inner).ok_or_else(|| Error::internal("the table is in use already"))?;
        let (schema, inference) = (Arc::new(schema), Some(inference));
        Ok(Groups(Arc::new(Inner { file, lines, schema, columns, inference, header, crlf, verbatim })))
    }

    /// The table of an opened file.
    pub fn new(file: Arc<File>, lines: Queryable) -> Result<Self> {
        let mut columns = all_columns(&lines);
        let mut header = 0;
        let mut crlf = false;
        if let ([shape], Some(line)) = (&lines.shapes[..], first_line(&lines)?)
            && let RowTemplate::Delimiter(delimiter) = &shape.glue
        {
            let names = header_names(line, delimiter);
            if names.len() == columns.len() {
                header = 1;
                crlf = line.ends_with(b"\r");
                for (i, ((name, _, _), own)) in columns.iter_mut().zip(names).enumerate() {
                    *name = if own.is_empty() { default_name(i) } else { own };
                }
            }
        }
        file.limits.check_columns(columns.len() as u64)?;
        let rows: u64 = lines.cuts.last().map_or(0, |end| (0..lines.shapes.len()).map(|s| end.row(s)).sum());
        let verbatim = lines.nlines - rows - header;
        let mut fields: Vec<Field> =
            columns.iter().map(|(name, kind, _)| Field::new(name, data_type(*kind), true)).collect();
        let mut columns: Vec<Column> = columns.into_iter().map(|(_, _, sources)| Column::Values(sources)).collect();
        if verbatim > 0 {
            fields.push(Field::new(LINE, DataType::Utf8, true));
            columns.push(Column::Lines);
        }
        let schema = Arc::new(Schema::new(fields));
        let (lines, inference) = (Arc::new(lines), None);
        Ok(Groups(Arc::new(Inner { file, lines, schema, columns, inference, header, crlf, verbatim })))
    }
}

/// The first line, if it is not taken apart.
pub fn first_line(lines: &Queryable) -> Result<Option<&[u8]>> {
    let Some(mut at) = lines.cuts.first().filter(|_| lines.nlines > 0).cloned() else { return Ok(None) };
    Ok(match lines.next(&mut at)? {
        Line::Verbatim(line) => Some(line),
        Line::Row { .. } => None,
    })
}

impl Inner {
    fn row_count(&self) -> u64 {
        self.lines.nlines - self.header
    }

    /// The rows of a piece.
    fn rows_of(&self, piece: usize) -> Range<u64> {
        let row =
            |i: usize| self.lines.cuts.get(i).map_or(self.row_count(), |cut| cut.line.saturating_sub(self.header));
        row(piece)..row(piece + 1)
    }

    /// The pieces that hold these rows.
    pub fn pieces_of(&self, rows: &Range<u64>) -> Range<usize> {
        let cuts = &self.lines.cuts;
        let after = |row: u64| cuts.partition_point(|cut| cut.line.saturating_sub(self.header) <= row);
        let start = after(rows.start).saturating_sub(1);
        let end = if rows.is_empty() { start } else { after(rows.end - 1) };
        start..end.min(self.lines.pieces())
    }

    /// The groups of a shape that a piece needs.
    fn groups_of(&self, piece: usize, shape: usize) -> Range<u64> {
        let row = |i: usize| self.lines.cuts.get(i).map_or(0, |cut| cut.row(shape));
        let (start, end) = (row(piece), row(piece + 1));
        match self.lines.shapes.get(shape) {
            Some(of) if end > start => start / of.group_rows..end.div_ceil(of.group_rows),
            _ => 0..0,
        }
    }

    /// The blocks that a column needs for a piece: shape, its column, group.
    pub fn blocks_of(&self, piece: usize, column: usize) -> Vec<(usize, usize, u64)> {
        let Some(Column::Values(sources)) = self.columns.get(column) else { return Vec::new() };
        let shapes = sources.iter().enumerate().filter_map(|(s, source)| Some((s, (*source)?)));
        shapes.flat_map(|(s, c)| self.groups_of(piece, s).map(move |g| (s, c, g))).collect()
    }

    /// Where those blocks lie, if in the file.
    pub fn ranges_of(&self, piece: usize, column: usize) -> Result<Vec<ByteRange>> {
        let mut ranges = Vec::new();
        for (s, c, g) in self.blocks_of(piece, column) {
            if let Some(shape) = self.lines.shapes.get(s) {
                ranges.extend(shape.file_range(g, c..c + 1)?);
            }
        }
        Ok(ranges)
    }

    /// The bounds of all of a column's blocks in these pieces, by those of each block; `None` if one of them has none.
    fn bounds<T: PartialOrd>(
        &self,
        pieces: Range<usize>,
        column: usize,
        of: impl Fn(&Zone) -> Option<(T, T)>,
    ) -> Option<(T, T)> {
        let mut bounds: Option<(T, T)> = None;
        for (s, c, g) in pieces.flat_map(|piece| self.blocks_of(piece, column)) {
            let (min, max) = of(&self.lines.shapes.get(s)?.block(g, c).ok()?.zone)?;
            bounds = Some(match bounds {
                None => (min, max),
                Some((low, high)) => (if min < low { min } else { low }, if max > high { max } else { high }),
            });
        }
        bounds
    }

    /// What is known about a column in each of these runs of pieces, if it is one of numbers.
    fn zone_map(&self, runs: &[Range<usize>], column: usize) -> Option<ZoneMap> {
        let data_type = self.schema.fields().get(column)?.data_type();
        let (min, max): (ArrayRef, ArrayRef) = match data_type {
            DataType::Float64 => {
                let bounds = runs.iter().map(|run| self.bounds(run.clone(), column, floats).unzip());
                let (min, max): (Vec<_>, Vec<_>) = bounds.unzip();
                (Arc::new(Float64Array::from(min)), Arc::new(Float64Array::from(max)))
            }
            t if t.is_integer() => {
                let bounds = runs.iter().map(|run| self.bounds(run.clone(), column, integers).unzip());
                let (min, max): (Vec<_>, Vec<_>) = bounds.unzip();
                (cast(&Int64Array::from(min), t).ok()?, cast(&Int64Array::from(max), t).ok()?)
            }
            _ => return None,
        };
        // Text that is no number is never read as one, so that there is no NaN.
        ZoneMap::new(min, max, UInt64Array::new_null(runs.len())).map(ZoneMap::nan_free)
    }

    /// The pieces among these that may hold a match.
    fn may_match(&self, among: Range<usize>, predicate: &BoundPredicate) -> Vec<usize> {
        let runs: Vec<Range<usize>> = among.clone().map(|piece| piece..piece + 1).collect();
        let kept = predicate.prune(runs.len(), &|column| self.zone_map(&runs, column));
        kept.set_indices().map(|piece| among.start + piece).collect()
    }

    fn lane(self: &Arc<Self>, column: usize, positions: Vec<usize>, rows: Arc<[Range<u64>]>, scan: &Scan) -> Lane {
        let field = self.schema.fields().get(column).cloned();
        let schema = Arc::new(Schema::new(positions.iter().filter_map(|_| field.clone()).collect::<Vec<_>>()));
        let reader = ColumnReader::new(self.clone(), column, positions.len(), schema, rows, scan);
        let machine: BatchMachine = Box::new(reader);
        Lane { columns: positions, machine }
    }

    /// One lane for each column that is asked for, however often, to read rows in sorted and disjoint ranges. A group without
    /// wanted rows is not unpacked.
    fn lanes(self: &Arc<Self>, rows: &[Range<u64>], scan: &Scan) -> Result<Vec<Lane>> {
        let rows: Arc<[Range<u64>]> = rows.iter().filter(|range| !range.is_empty()).cloned().collect();
        let mut wanted: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut place = std::collections::HashMap::new();
        for (position, column) in scan.projection.indices(&self.schema)?.into_iter().enumerate() {
            let at = *place.entry(column).or_insert_with(|| {
                wanted.push((column, Vec::new()));
                wanted.len() - 1
            });
            if let Some((_, positions)) = wanted.get_mut(at) {
                positions.push(position);
            }
        }
        Ok(wanted.into_iter().map(|(column, positions)| self.lane(column, positions, rows.clone(), scan)).collect())
    }
}

/// The bounds of integers, unless they cannot be right.
fn integers(zone: &Zone) -> Option<(i64, i64)> {
    match zone {
        Zone::Integer(min, max) if min <= max => Some((*min, *max)),
        _ => None,
    }
}

/// The bounds of numbers in a column of floats.
#[expect(clippy::cast_precision_loss, reason = "cells of the column are rounded the same way")]
fn floats(zone: &Zone) -> Option<(f64, f64)> {
    match zone {
        Zone::Integer(min, max) if min <= max => Some((*min as f64, *max as f64)),
        Zone::Decimal(min, max) if min <= max => Some((*min, *max)),
        _ => None,
    }
}

impl Table for Groups {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.0.row_count()
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        let table = &self.0;
        let mut facts = table.file.properties();
        let sum = |f: fn(&Shape) -> u64| table.lines.shapes.iter().map(f).sum::<u64>().to_string();
        if table.lines.shapes.len() != 1 {
            facts.push(("templates", table.lines.shapes.len().to_string()));
        }
        facts.push(("groups", sum(Shape::groups)));
        facts.push(("group_rows", table.lines.shapes.iter().map(|s| s.group_rows).max().unwrap_or(0).to_string()));
        facts.push(("header_lines", table.header.to_string()));
        facts.push(("lines_not_taken_apart", table.verbatim.to_string()));
        facts
    }

    fn statistics(&self) -> Vec<ColumnStatistics> {
        let table = &self.0;
        let all = 0..table.lines.pieces();
        let known = |column: usize| Some(table.zone_map(std::slice::from_ref(&all), column)?.statistics(0));
        let bounded = |column: usize| known(column).filter(|s| s.min.is_some());
        (0..table.columns.len()).map(|column| bounded(column).unwrap_or_default()).collect()
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let table = &self.0;
        let rows = scan.row_range(table.row_count())?;
        let columns = scan.projection.indices(&table.schema)?;
        let pieces = match &scan.predicate {
            None => table.pieces_of(&rows).collect(),
            Some(predicate) => table.may_match(table.pieces_of(&rows), predicate),
        };
        let mut splits: Vec<Split> = Vec::new();
        for piece in pieces {
            let of = table.rows_of(piece);
            let part = of.start.max(rows.start)..of.end.min(rows.end);
            if part.is_empty() {
                continue;
            }
            let mut ranges = Vec::new();
            for column in &columns {
                ranges.extend(table.ranges_of(piece, *column)?);
            }
            match splits.last_mut() {
                Some(last) if last.rows.end == part.start && part.end - last.rows.start <= SPLIT_ROWS => {
                    last.rows.end = part.end;
                    last.ranges.extend(ranges);
                }
                _ => splits.push(Split { rows: part, ranges }),
            }
        }
        Ok(ready(splits))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        self.0.lanes(rows.ranges(), scan)
    }

    fn column_bytes(&self, column: usize) -> Option<u64> {
        let mut bytes = 0u64;
        for piece in 0..self.0.lines.pieces() {
            bytes = bytes.saturating_add(self.0.ranges_of(piece, column).ok()?.iter().map(|r| r.len()).sum());
        }
        Some(bytes)
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        Ok(ready(self.0.file.layout(Some(&self.0.lines))?))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        Ok(Box::new(Verify::new(self.0.file.clone(), Some(self.0.lines.clone()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::Walk;
    use crate::stream_set::Streams;
    use crate::{Codec, PackOptions, pack};
    use arrow::compute::{concat_batches, take_record_batch};
    use arrow::record_batch::RecordBatch;
    use bytes::Bytes;
    use colkit_core::drive::blocking;
    use colkit_core::{Limits, Source, StreamSink};
    use std::sync::{Mutex, PoisonError};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The table of a packed text, and the packed text.
    fn table(codec: Codec, text: String) -> (Groups, Bytes) {
        let kept = Kept::default();
        // So little memory that groups are small.
        let options = PackOptions { codec: Some(codec), memory: 1 << 20, threads: 1, ..PackOptions::default() };
        pack(&Bytes::from(text), Box::new(StreamSink(kept.clone())), &options).unwrap();
        let bytes = Bytes::from(std::mem::take(&mut *kept.0.lock().unwrap()));
        let limits = Limits::default();
        let walk = Walk::new(bytes.size(), 1 << 10, &limits, |_, entry| !crate::queryable::is_stored_blocks(entry));
        let container = blocking::run(Box::new(walk), &bytes).unwrap();
        let crate::codec::View::Groups(open) = codec.coder().view() else { panic!("not queryable") };
        let lines = open(Streams::unpack(container.entries(), limits.memory, 1).unwrap()).unwrap();
        (Groups::new(Arc::new(File { container: Arc::new(container), limits }), lines).unwrap(), bytes)
    }

    fn read(table: &Groups, bytes: &Bytes, rows: &[Range<u64>], batch_rows: usize) -> Vec<RecordBatch> {
        let scan = Scan { batch_rows, ..Scan::default() };
        let column = |mut lane: Lane| {
            let mut batches = Vec::new();
            while let Some(batch) = blocking::next(&mut lane.machine, bytes).unwrap() {
                assert!(batch.num_rows() <= batch_rows);
                batches.push(batch);
            }
            batches.first().map(|first| concat_batches(&first.schema(), &batches).unwrap())
        };
        table.0.lanes(rows, &scan).unwrap().into_iter().filter_map(column).collect()
    }

    #[test]
    fn some_rows_are_those_of_all_rows() {
        let csv = |i: u64| format!("{i},{}.5,name {}\n", i * 7 % 100, i % 13);
        let ragged = |i: u64| if i % 900 == 5 { "only one\n".into() } else { csv(i) };
        let json = |i: u64| format!("{{\"a\":{i},\"b\":\"x\\\"{}\"}}\n", i % 7);
        let shapes = |i: u64| if i.is_multiple_of(3) { format!("{{\"c\":{i}}}\n") } else { json(i) };
        let of =
            |head: &str, line: &dyn Fn(u64) -> String| head.to_string() + &(0..20_000).map(line).collect::<String>();
        for (codec, text) in [
            (Codec::Qcolumnar, of("a,b,c\n", &csv)),
            (Codec::Qcolumnar, of("a,b,c\n", &ragged)),
            (Codec::Qjson, of("", &json)),
            (Codec::Qjson2, of("", &shapes)),
        ] {
            let (table, bytes) = table(codec, text);
            let count = table.row_count();
            assert!(table.0.lines.pieces() > 2 && count >= 20_000, "{codec:?}");
            let whole = std::iter::once(0..count).collect::<Vec<_>>();
            let all = read(&table, &bytes, &whole, 1000);
            for rows in [
                (0..count).step_by(7).map(|i| i..i + 1).collect::<Vec<_>>(),
                (0..count).step_by(901).map(|i| i..(i + 300).min(count)).collect(),
                vec![0..1, 5..7, 4000..4001, count - 1..count],
                std::iter::once(5..count - 2).collect(),
                Vec::new(),
            ] {
                let picked = UInt64Array::from_iter_values(rows.iter().cloned().flatten());
                let expected: Vec<_> = all.iter().map(|b| take_record_batch(b, &picked).unwrap()).collect();
                let found = read(&table, &bytes, &rows, 777);
                assert!(found == expected || rows.is_empty() && found.is_empty(), "{codec:?} {rows:?}");
            }
        }
    }
}
