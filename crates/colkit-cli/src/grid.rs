//! A few lines of aligned text, for reports. (Rows of tables, which may be endless, are printed by `rows`.)

use unicode_width::UnicodeWidthStr;

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Lines of cells, the first of which are titles.
pub struct Grid {
    align: Vec<Align>,
    lines: Vec<Vec<String>>,
}

impl Grid {
    /// A grid with these titles.
    pub fn new(titles: &[(&str, Align)]) -> Self {
        Grid {
            align: titles.iter().map(|t| t.1).collect(),
            lines: vec![titles.iter().map(|t| t.0.to_owned()).collect()],
        }
    }

    /// Adds a line.
    pub fn line(&mut self, cells: impl IntoIterator<Item = String>) {
        self.lines.push(cells.into_iter().collect());
    }

    /// The lines, aligned; the first is the titles.
    pub fn render(&self) -> Vec<String> {
        let width =
            |column: usize| self.lines.iter().filter_map(|l| l.get(column)).map(|c| c.width()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.align.len()).map(width).collect();
        let pad = |(cell, (align, width)): (&String, (&Align, &usize))| {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            if *align == Align::Right { format!("{space}{cell}") } else { format!("{cell}{space}") }
        };
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().zip(self.align.iter().zip(&widths)).map(pad).collect();
            cells.join("  ").trim_end().to_owned()
        };
        self.lines.iter().map(line).collect()
    }
}
