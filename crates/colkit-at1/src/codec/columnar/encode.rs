//! Columnar (4), written. See [`super`] for the streams.

use super::Columnar;
use super::encode_columns::{Distinct, choose};
use crate::codec::Codec;
use crate::encode::compress::Effort;
use crate::encode::groups::Settings;
use crate::encode::lines::{self, fields};
use crate::encode::plan::{Confidence, Encoder, Layout, Plan, TableLayout};
use crate::encode::put::{Joined, bits, put_lp, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use colkit_core::Result;
use colkit_core::drive::parallel;

impl Encoder for Columnar {
    /// A table for certain. What is one perhaps is a log first.
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        let table = sample.certain_table().filter(|_| !sample.queryable)?;
        Some((Confidence::Likely, vec![Plan::table(Codec::Columnar, table)]))
    }

    fn layout(&self, sample: &Sample<'_>) -> Layout {
        Layout::Table(sample.any_table())
    }

    fn encode(&self, text: &[u8], layout: Layout, settings: &Settings) -> Result<EncodedStreams> {
        Ok(encode(text, layout.table(), settings.effort, settings.threads)?.into())
    }
}

#[derive(Default)]
struct Column {
    cells: Joined,
    quoted: Vec<bool>,
}

/// The streams of a table. Any text can be written with any table.
fn encode(text: &[u8], table: TableLayout, effort: Effort, threads: usize) -> Result<Vec<Stream>> {
    let (lines, trailing) = lines::split(text);
    let (header, rows) = match lines.split_first() {
        Some((first, rows)) if table.header => (Some(*first), rows),
        _ => (None, &lines[..]),
    };
    let mut columns: Vec<Column> = Vec::new();
    columns.resize_with(table.columns.max(1), Column::default);
    let (mut modes, mut counts, mut verbatim) = (Vec::with_capacity(rows.len()), Vec::new(), Joined::default());
    for line in rows {
        let count = lines::field_count(line, table.delimiter);
        if count > columns.len() {
            modes.push(0);
            verbatim.push(line);
            continue;
        }
        modes.push(1);
        put_uv(count as u64, &mut counts);
        for (field, column) in fields(line, table.delimiter).zip(&mut columns) {
            column.cells.push(&field.content());
            column.quoted.push(field.quoted);
        }
    }
    let mut meta = Vec::new();
    put_uv(rows.len() as u64, &mut meta);
    meta.extend([u8::from(trailing), u8::from(header.is_some())]);
    put_lp(&[table.delimiter], &mut meta);
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
