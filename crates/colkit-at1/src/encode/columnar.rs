//! Columnar (4), written. See [`crate::codec::columnar`] for the streams.

use super::columns::{Distinct, choose};
use super::compress::Effort;
use super::lines::{self, fields};
use super::put::{Joined, bits, put_lp, put_uv};
use super::set::Stream;
use colkit_core::Result;
use colkit_core::drive::parallel;

/// How a table is written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What is between fields.
    pub delimiter: u8,
    /// Whether the first line names the columns.
    pub header: bool,
    /// The number of columns; lines with more fields are kept as they are.
    pub columns: usize,
}

#[derive(Default)]
struct Column {
    cells: Joined,
    quoted: Vec<bool>,
}

/// The streams of a table. Any text can be written with any shape.
pub fn encode(text: &[u8], shape: Shape, effort: Effort, threads: usize) -> Result<Vec<Stream>> {
    let (lines, trailing) = lines::split(text);
    let (header, rows) = match lines.split_first() {
        Some((first, rows)) if shape.header => (Some(*first), rows),
        _ => (None, &lines[..]),
    };
    let mut columns: Vec<Column> = Vec::new();
    columns.resize_with(shape.columns.max(1), Column::default);
    let (mut modes, mut counts, mut verbatim) = (Vec::with_capacity(rows.len()), Vec::new(), Joined::default());
    for line in rows {
        let count = lines::field_count(line, shape.delimiter);
        if count > columns.len() {
            modes.push(0);
            verbatim.push(line);
            continue;
        }
        modes.push(1);
        put_uv(count as u64, &mut counts);
        for (field, column) in fields(line, shape.delimiter).zip(&mut columns) {
            column.cells.push(&field.content());
            column.quoted.push(field.quoted);
        }
    }
    let mut meta = Vec::new();
    put_uv(rows.len() as u64, &mut meta);
    meta.extend([u8::from(trailing), u8::from(header.is_some())]);
    put_lp(&[shape.delimiter], &mut meta);
    put_uv(columns.len() as u64, &mut meta);
    let (mut quote_modes, mut quote_bits) = (Vec::new(), Vec::new());
    for column in &columns {
        let some = column.quoted.iter().any(|q| *q);
        let all = column.quoted.iter().all(|q| *q);
        quote_modes.push(if !some {
            0
        } else if all {
            1
        } else {
            2
        });
        if some && !all {
            quote_bits.extend(bits(column.quoted.iter().copied()));
        }
    }
    let cells: Vec<Joined> = columns.into_iter().map(|c| c.cells).collect();
    let distinct = parallel::map(cells.iter().collect(), threads, |column: &Joined| {
        Ok(Distinct::of(&column.iter().collect::<Vec<_>>()))
    })?;
    let chunk = |(k, column): (usize, &Joined)| {
        let (earlier, own) = distinct.split_at_checked(k).unwrap_or_default();
        choose(column, own.first().and_then(Option::as_ref), earlier, effort)
    };
    let chunks = parallel::map(cells.iter().enumerate().collect(), threads, chunk)?;
    drop(cells);
    let (mut types, mut index, mut values, mut cuts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for chunk in chunks {
        types.push(chunk.kind);
        put_uv(chunk.bytes.len() as u64, &mut index);
        cuts.push(values.len());
        values.extend(chunk.bytes);
    }
    Ok(vec![
        Stream::new("meta", meta),
        Stream::new("row_modes", modes),
        Stream::new("fieldcounts", counts),
        Stream::new("coltypes", types),
        Stream::new("col_index", index),
        Stream { name: "values".into(), bytes: values, cuts },
        Stream::new("quotemodes", quote_modes),
        Stream::new("quotebits", quote_bits),
        Stream::new("verbatim", verbatim.into_bytes()),
        Stream::new("header", header.unwrap_or_default().to_vec()),
    ])
}
