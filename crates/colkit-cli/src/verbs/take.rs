//! `take`: prints rows by number.

use super::cat::explain_read;
use crate::args::{PrintArgs, TakeArgs};
use crate::human::parse_range;
use crate::request::Opened;
use crate::rows::{RowOutput, RowSource};
use crate::{Io, Outcome};
use colkit::{ColumnName, Error, OpenFile, Result, TakeBuilder};
use std::io::Write;

/// More rows than anyone types; a range that says more is a scan.
const MOST: u64 = 1 << 24;

pub fn run(args: &TakeArgs, io: &mut Io) -> Result<Outcome> {
    let Opened { file, columns, printing } = args.common.open(io)?;
    let rows = match &args.rows {
        Some(rows) => parse_rows(rows, file.row_count()).map_err(|e| e.file(file.input().name()))?,
        None => file.rows_with_ids(&args.row_ids)?,
    };
    print(&file, rows, columns, &printing, &args.common.print, args.common.reading.memory, io)
}

/// Prints these rows of a file.
pub fn print(
    file: &OpenFile,
    rows: Vec<u64>,
    columns: Option<Vec<ColumnName>>,
    printing: &RowOutput,
    args: &PrintArgs,
    memory: u64,
    io: &mut Io,
) -> Result<Outcome> {
    let batch = columns.into_iter().fold(file.take(rows), TakeBuilder::columns).batch()?;
    let mut printer = printing.start(&batch.schema(), RowSource::file(file), io, memory)?;
    printer.write(&batch)?;
    for note in printer.finish()? {
        writeln!(io.stderr, "note: {note}")?;
    }
    if args.explain {
        explain_read(file, io)?;
    }
    Ok(Outcome::Success)
}

/// Numbers and ranges, separated by commas.
fn parse_rows(list: &str, row_count: u64) -> Result<Vec<u64>> {
    let mut rows = Vec::new();
    for part in list.split(',') {
        let range = parse_range(part, row_count)?;
        let length = range.end.saturating_sub(range.start);
        if range.end > row_count {
            let last = range.end - 1;
            let what = format!("there is no row {last} in a table with {row_count} rows");
            return Err(Error::request("no_such_rows", what).hint("rows are counted from 0"));
        }
        if rows.len() as u64 + length > MOST {
            return Err(
                Error::limit("the list of rows", rows.len() as u64 + length, MOST).hint("cat --rows reads long ranges")
            );
        }
        rows.extend(range);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_keep_their_order() {
        assert_eq!(parse_rows("5,1..3,0", 10).unwrap(), [5, 1, 2, 0]);
        assert_eq!(parse_rows("10", 10).unwrap_err().code(), "no_such_rows");
        assert_eq!(parse_rows("0..99999999999", 10).unwrap_err().code(), "no_such_rows");
        assert_eq!(parse_rows("1,,2", 10).unwrap_err().code(), "bad_rows");
    }
}
