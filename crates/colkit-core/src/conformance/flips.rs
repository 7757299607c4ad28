//! Conformance test for bit flips: reads return correct values or an error, and `verify` detects the flip.

use super::{asked, collect, open};
use crate::{BoundPredicate, Format, Op, Predicate, Projection, Result, Scan, TableFile};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::sync::Arc;

/// A bit of a file: its byte, and which of the eight.
pub type Bit = (usize, u8);

/// What came of flipping single bits.
#[derive(Debug, Default)]
pub struct Flips {
    /// How many were flipped.
    pub count: usize,
    /// Those after which `verify` found nothing wrong with the file, nor odd.
    pub unnoticed: Vec<Bit>,
    /// Those after which a read gave something else than before, without an error.
    pub wrong: Vec<Bit>,
}

/// All that can be asked of a table, in a few questions: everything, single rows, and rows found by zone maps.
fn answers(file: &TableFile, questions: &[BoundPredicate]) -> Vec<Result<RecordBatch>> {
    let last = file.row_count().saturating_sub(1);
    let mut all = vec![collect(file, &Scan::default()), file.take(&[last, 0], &Projection::all())];
    for predicate in questions {
        all.push(collect(file, &Scan { predicate: Some(predicate.clone()), ..Scan::default() }));
    }
    all
}

/// For each column: the rows that have its first value, and its last.
fn questions(rows: &RecordBatch) -> Vec<BoundPredicate> {
    let ends = [Some(0), rows.num_rows().checked_sub(1)];
    let places = |(column, array)| ends.into_iter().flatten().map(move |row| (column, array, row));
    let inside = rows.columns().iter().enumerate().flat_map(places).filter(|(.., row)| *row < rows.num_rows());
    let values = inside.filter_map(|(column, array, row)| Some((column, asked(array, row)?)));
    let schema = rows.schema();
    values.filter_map(|(column, value)| Predicate::compare(column, Op::Eq, value).bind(&schema).ok()).collect()
}

/// Flips bits of a good file, one at a time: of each byte those that `bits` names for its position.
pub fn flipped_bits(format: &Arc<dyn Format>, good: &Bytes, bits: impl Fn(usize) -> Vec<u8>) -> Flips {
    let sound = open(format, good).expect("a good file opens").with_threads(1);
    let whole = collect(&sound, &Scan::default());
    let questions = whole.as_ref().map(questions).unwrap_or_default();
    let right = answers(&sound, &questions);
    let mut flips = Flips::default();
    for (at, bit) in (0..good.len()).flat_map(|at| bits(at).into_iter().map(move |bit| (at, bit))) {
        let mut bytes = good.to_vec();
        bytes[at] ^= 1 << bit;
        let bytes = Bytes::from(bytes);
        flips.count += 1;
        let Ok(file) = open(format, &bytes) else { continue };
        let file = file.with_threads(1);
        let found = answers(&file, &questions);
        let differs = |(found, right): (&Result<RecordBatch>, &Result<RecordBatch>)| match (found, right) {
            (Ok(found), Ok(right)) => found != right,
            (Ok(_), Err(_)) => true,
            (Err(_), _) => false,
        };
        if found.iter().zip(&right).any(differs)
            || (right[0].is_ok() && found[0].is_ok() && file.schema() != sound.schema())
        {
            flips.wrong.push((at, bit));
        }
        let refused = found.iter().zip(&right).any(|(found, right)| found.is_err() && right.is_ok());
        let covered = file.layout().is_ok_and(|l| l.covers_exactly_once() && l.gaps().next().is_none());
        let fine = file.verify().is_ok_and(|v| v.errors.is_empty() && v.findings.is_empty());
        if !refused && covered && fine {
            flips.unnoticed.push((at, bit));
        }
    }
    flips
}
