//! Lines of aligned text, for reports. (Rows of tables, which may be endless, are printed by `rows`.)

use crate::Stream;
use std::io::{Result, Write};
use unicode_width::UnicodeWidthStr;

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Takes the cells of the next line.
pub type Line<'a> = dyn FnMut(&[String]) -> Result<()> + 'a;

/// Prints titles and lines under them. A report may have a line for every few bytes of a file, so they are not kept:
/// `lines` is run twice, for the widths and to print.
pub fn print(titles: &[(&str, Align)], out: &mut Stream, lines: impl Fn(&mut Line<'_>) -> Result<()>) -> Result<()> {
    let mut widths: Vec<usize> = titles.iter().map(|(title, _)| title.width()).collect();
    lines(&mut |cells| {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = cell.width().max(*width);
        }
        Ok(())
    })?;
    let aligned = |cells: &[String]| {
        let mut line = String::new();
        for (cell, ((_, align), width)) in cells.iter().zip(titles.iter().zip(&widths)) {
            let gap = if line.is_empty() { "" } else { "  " };
            let space = " ".repeat(width.saturating_sub(cell.width()));
            let (before, after) = if *align == Align::Right { (space.as_str(), "") } else { ("", space.as_str()) };
            line.extend([gap, before, cell, after]);
        }
        line.truncate(line.trim_end().len());
        line
    };
    let titles: Vec<String> = titles.iter().map(|(title, _)| (*title).to_owned()).collect();
    let head = out.dim(&aligned(&titles));
    writeln!(out, "{head}")?;
    lines(&mut |cells| writeln!(out, "{}", aligned(cells)))
}
