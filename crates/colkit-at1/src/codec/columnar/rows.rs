//! The rows of a table: one column per column, named by the header line.

use super::columns::Cell;
use super::{Chunks, Row};
use crate::stream_set::Streams;
use crate::table::rows::{LineRows, Rows, header_names};
use colkit_core::{Limits, Result};

/// Makes rows of tables.
#[derive(Default)]
pub struct TableRows {
    /// Whether lines end with CR LF, as the header does.
    crlf: bool,
}

impl LineRows for TableRows {
    fn push(&mut self, streams: &Streams, rows: &mut Rows) -> Result<()> {
        let chunks = Chunks::open(streams)?;
        Limits::check_memory("the columns in memory", chunks.memory(), rows.limits.memory)?;
        let table = chunks.decode(1)?;
        rows.begin(table.trailing)?;
        rows.widen(table.columns.len())?;
        rows.delimiter = Some(table.delimiter.to_vec());
        if let Some(header) = table.header {
            if rows.has_names() || rows.len() > 0 {
                // Only the first line of a file can be its header; a later one is a line like others.
                rows.push_line(header)?;
            } else {
                self.crlf = header.ends_with(b"\r");
                rows.header_lines = 1;
                rows.set_names(header_names(header, table.delimiter))?;
            }
        }
        for piece in 0..table.pieces() {
            table.visit(piece, |_, row, cursors| match row {
                Row::Verbatim(line) => rows.push_line(line),
                Row::Fields(fields) => {
                    for (i, (cell, _)) in table.cells(fields, cursors).enumerate() {
                        let Some(column) = rows.column(i) else { continue };
                        match cell {
                            Cell::Int(n) => column.push_int(n),
                            Cell::Fixed(n, 0) => column.push(format!("{n}.").as_bytes()),
                            Cell::Fixed(n, scale) => column.push_fixed(n, scale),
                            Cell::Text(text) if self.crlf && i + 1 == fields => {
                                column.push(text.strip_suffix(b"\r").unwrap_or(text));
                            }
                            Cell::Text(text) => column.push(text),
                        }
                    }
                    rows.finish_row()
                }
            })?;
        }
        Ok(())
    }
}
