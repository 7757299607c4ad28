//! Prints rows as aligned columns.
//!
//! Widths are decided once, from the first rows. On a terminal, cells are cut to fit, and columns that do not fit are
//! omitted with a note; elsewhere nothing is cut. Control characters are escaped.

use super::RowPrinter;
use crate::Stream;
use crate::escape::one_line;
use crate::human;
use colkit::arrow::array::Array;
use colkit::arrow::datatypes::{DataType, SchemaRef};
use colkit::arrow::record_batch::RecordBatch;
use colkit::arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit::{Pattern, Result, Sink, type_name};
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Rows used to determine the widths.
const SAMPLE: usize = 1000;
/// Minimum width of a column.
const NARROW: usize = 8;
/// Between columns.
const GAP: &str = "  ";

pub struct TablePrinter {
    schema: SchemaRef,
    sink: Box<dyn Sink>,
    /// The width of the terminal.
    terminal: Option<usize>,
    style: Stream,
    /// What is highlighted in cells.
    highlight: Option<Pattern>,
    /// Decided with the first batch: one for each column that is shown.
    widths: Option<Vec<usize>>,
    rows: u64,
}

impl TablePrinter {
    pub fn new(
        schema: &SchemaRef,
        sink: Box<dyn Sink>,
        terminal: Option<usize>,
        style: Stream,
        highlight: Option<Pattern>,
    ) -> Self {
        TablePrinter { schema: schema.clone(), sink, terminal, style, highlight, widths: None, rows: 0 }
    }

    /// Decides the widths, given the widest cell of each column, and prints the head of the table.
    fn start(&mut self, cells: &[usize]) -> Result<Vec<usize>> {
        let titles: Vec<(String, String)> = self.titles();
        let widest = |(column, (name, kind)): (usize, &(String, String))| {
            cells.get(column).copied().unwrap_or(0).max(name.width()).max(kind.width())
        };
        let widest: Vec<usize> = titles.iter().enumerate().map(widest).collect();
        let widths = match self.terminal {
            None => widest,
            Some(width) => fit(&widest, width),
        };
        let line = |pick: &dyn Fn(&(String, String)) -> String| {
            let cells = titles.iter().zip(self.schema.fields()).map(|(t, f)| (pick(t), is_number(f.data_type())));
            self.line(&widths, cells, None)
        };
        let mut head = String::new();
        let _ = writeln!(head, "{}", self.style.bold(&line(&|t| t.0.clone())));
        let _ = writeln!(head, "{}", self.style.dim(&line(&|t| t.1.clone())));
        let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
        let _ = writeln!(head, "{}", self.style.dim(&rule.join(GAP)));
        self.sink.write(head.as_bytes())?;
        Ok(widths)
    }

    fn titles(&self) -> Vec<(String, String)> {
        self.schema.fields().iter().map(|f| (one_line(f.name()).into_owned(), type_name(f.data_type()))).collect()
    }

    fn line(
        &self,
        widths: &[usize],
        cells: impl Iterator<Item = (String, bool)>,
        highlight: Option<&Pattern>,
    ) -> String {
        let mut line = String::new();
        for (i, ((cell, right), width)) in cells.zip(widths).enumerate() {
            if i > 0 {
                line.push_str(GAP);
            }
            let cell = if self.terminal.is_some() { cut(&cell, *width) } else { cell };
            let space = " ".repeat(width.saturating_sub(cell.width()));
            if right {
                line.push_str(&space);
            }
            match highlight {
                None => line.push_str(&cell),
                Some(pattern) => line.push_str(&self.highlighted(&cell, pattern)),
            }
            if !right {
                line.push_str(&space);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// A cell with what matches in red.
    fn highlighted(&self, cell: &str, pattern: &Pattern) -> String {
        let mut text = String::new();
        let mut done = 0;
        for found in pattern.find_in(cell) {
            text.push_str(cell.get(done..found.start).unwrap_or_default());
            text.push_str(&self.style.red(cell.get(found.clone()).unwrap_or_default()));
            done = found.end;
        }
        text.push_str(cell.get(done..).unwrap_or_default());
        text
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric()
}

/// The widths that fit into a terminal: as many columns as fit when squeezed, then the room that is left goes to the
/// narrowest that could use it, so that the widest give way first.
fn fit(widest: &[usize], terminal: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    let mut left = terminal;
    for wanted in widest {
        let width = (*wanted).min(NARROW);
        let needed = if widths.is_empty() { width } else { width + GAP.len() };
        if needed > left && !widths.is_empty() {
            break;
        }
        left = left.saturating_sub(needed);
        widths.push(width);
    }
    while left > 0 {
        let hungry = widths.iter_mut().zip(widest).filter(|(width, wanted)| **width < **wanted);
        let Some((width, _)) = hungry.min_by_key(|(width, _)| **width) else { break };
        *width += 1;
        left -= 1;
    }
    widths
}

/// `text` cut to `width` columns of the terminal.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        cut.push(c);
    }
    cut.push('…');
    cut
}

impl RowPrinter for TablePrinter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let options = FormatOptions::default().with_null("null").with_display_error(true);
        let columns = batch.columns().iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options));
        let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
        let right: Vec<bool> = batch.columns().iter().map(|c| is_number(c.data_type())).collect();
        let cell = |column: &ArrayFormatter<'_>, row: usize| one_line(&column.value(row).to_string()).into_owned();
        let widths = match self.widths.take() {
            Some(widths) => widths,
            None => {
                let sample = 0..batch.num_rows().min(SAMPLE);
                let widest = |column| sample.clone().map(|row| cell(column, row).width()).max().unwrap_or(0);
                self.start(&columns.iter().map(widest).collect::<Vec<_>>())?
            }
        };
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            let cells = columns.iter().take(widths.len()).map(|column| cell(column, row)).zip(right.iter().copied());
            text.push_str(&self.line(&widths, cells, self.highlight.as_ref()));
            text.push('\n');
            if text.len() > 1 << 16 {
                self.sink.write(text.as_bytes())?;
                text.clear();
            }
        }
        self.sink.write(text.as_bytes())?;
        self.widths = Some(widths);
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>> {
        let widths = match self.widths.take() {
            Some(widths) => widths,
            None => self.start(&[])?,
        };
        let columns = self.schema.fields().len();
        let hidden = columns - widths.len();
        let mut foot = format!("{}, {}", human::plural(self.rows, "row"), human::plural(columns as u64, "column"));
        if hidden > 0 {
            let _ = write!(foot, " ({hidden} not shown; choose some with --columns)");
        }
        self.sink.write(format!("{}\n", self.style.dim(&foot)).as_bytes())?;
        self.sink.commit()?;
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_into_the_terminal() {
        assert_eq!(fit(&[5, 5], 80), [5, 5]);
        assert_eq!(fit(&[5, 100], 40), [5, 33]);
        assert_eq!(fit(&[50, 50], 42), [20, 20]);
        assert_eq!(fit(&[20, 20, 20, 20], 30), [9, 9, 8]);
        assert_eq!(fit(&[100], 10), [10]);
        assert_eq!(fit(&[], 10), [0; 0]);
        assert_eq!(fit(&[8, 8], 3), [8]);
    }

    #[test]
    fn cells_are_cut_by_what_they_take_on_the_screen() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
