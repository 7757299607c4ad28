//! The rows of an sshd log: month, day, time, host, pid, template, message.

use super::{Line, Lines, Message};
use crate::stream_set::Streams;
use crate::table::rows::{LineRows, Rows};
use colkit_core::Result;

/// Makes rows of log entries.
#[derive(Default)]
pub struct EntryRows;

impl LineRows for EntryRows {
    fn push(&mut self, streams: &Streams, rows: &mut Rows) -> Result<()> {
        let table = Lines::open(streams)?;
        rows.begin(table.meta.trailing)?;
        if !rows.has_names() {
            let names = ["month", "day", "time", "host", "pid", "template", "message"];
            rows.set_names(names.map(String::from).to_vec())?;
        }
        table.visit(|line| match line {
            Line::Verbatim(text) => rows.push_line(text),
            Line::Entry { columns: [month, day, time, host], pid, message } => {
                let mut text = Vec::new();
                message.print(|piece| {
                    text.extend_from_slice(piece);
                    Ok(())
                })?;
                let template = match message {
                    Message::Templated(template, _) => Some(template),
                    Message::Plain(_) => None,
                };
                let texts = [Some(month), None, Some(time), Some(host), None, template, Some(&text[..])];
                for (i, cell) in texts.into_iter().enumerate() {
                    if let (Some(column), Some(cell)) = (rows.column(i), cell) {
                        column.push_text(cell);
                    }
                }
                if let Some(column) = rows.column(1) {
                    column.push(day.trim_ascii_start());
                }
                if let Some(column) = rows.column(4) {
                    match i64::try_from(pid) {
                        Ok(pid) => column.push_int(pid),
                        Err(_) => column.push(pid.to_string().as_bytes()),
                    }
                }
                rows.finish_row()
            }
        })
    }
}
