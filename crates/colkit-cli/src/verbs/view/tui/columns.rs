//! The columns: types, sizes, encodings, and what the file says about their values.

use super::look::{Look, fitted, span};
use crate::escape::one_line;
use crate::human::{bytes, count, ratio};
use colkit::arrow::datatypes::FieldRef;
use colkit::core::ColumnStatistics;
use colkit::{Layout, OpenFile, type_name};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

/// What is known of a column.
struct Column {
    name: String,
    kind: String,
    nullable: bool,
    /// Sizes as stored and decoded, and encodings, once the byte map is known.
    stored: Option<(u64, Option<u64>, String)>,
    statistics: Option<ColumnStatistics>,
}

/// The list of columns, and which is selected.
pub struct ColumnsPane {
    columns: Vec<Column>,
    pub selected: usize,
    top: usize,
    height: usize,
    known: bool,
}

impl ColumnsPane {
    pub fn new(file: &OpenFile) -> Self {
        let mut statistics = file.table_file().table().statistics().into_iter();
        let schema = file.schema();
        let column = |f: &FieldRef| Column {
            name: one_line(f.name()).into_owned(),
            kind: type_name(f.data_type()),
            nullable: f.is_nullable(),
            stored: None,
            statistics: statistics.next(),
        };
        let columns = schema.fields().iter().map(column).collect();
        ColumnsPane { columns, selected: 0, top: 0, height: 1, known: false }
    }

    /// Takes the sizes from the byte map.
    pub fn take(&mut self, layout: &Layout, file: &OpenFile) {
        let schema = file.schema();
        let regions = layout.columns(schema.fields(), file.row_count());
        for (column, regions) in self.columns.iter_mut().zip(regions) {
            let encodings = one_line(&regions.encodings.join(", ")).into_owned();
            column.stored = (regions.stored_bytes > 0).then_some((regions.stored_bytes, regions.raw_bytes, encodings));
        }
        self.known = true;
    }

    pub fn move_by(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.columns.len().saturating_sub(1));
    }

    pub fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let facts = u16::min(4, area.height / 3);
        let list = Rect { height: area.height - facts, ..area };
        self.height = usize::from(list.height.saturating_sub(1)).max(1);
        self.top = self.top.min(self.selected).max((self.selected + 1).saturating_sub(self.height));
        let width = usize::from(area.width);
        let mut lines = vec![Line::from(span(self.cells(None, width), look.dim()))];
        for (index, column) in self.columns.iter().enumerate().skip(self.top).take(self.height) {
            let style = if index == self.selected { look.selected() } else { ratatui::style::Style::new() };
            lines.push(Line::from(span(self.cells(Some((index, column)), width), style)));
        }
        frame.render_widget(Paragraph::new(lines), list);
        let below = Rect { y: list.y + list.height, height: facts, ..area };
        if let Some(column) = self.columns.get(self.selected) {
            let facts = Paragraph::new(column.facts()).wrap(Wrap { trim: true }).style(look.bold());
            frame.render_widget(facts, below);
        }
    }

    /// A line of the list, or its titles: as many cells as there is room for.
    fn cells(&self, column: Option<(usize, &Column)>, width: usize) -> String {
        let unknown = if self.known { "-" } else { "…" };
        let cells: [String; 7] = match column {
            None => ["#", "column", "type", "stored", "raw", "nulls", "encoding"].map(String::from),
            Some((index, column)) => {
                let stored = column.stored.as_ref();
                let or_unknown = |text: Option<String>| text.unwrap_or_else(|| unknown.to_owned());
                [
                    index.to_string(),
                    column.name.clone(),
                    column.kind.clone(),
                    or_unknown(stored.map(|s| bytes(s.0))),
                    or_unknown(stored.and_then(|s| s.1).map(bytes)),
                    column.nulls().unwrap_or_else(|| if column.nullable { "?".into() } else { "none".into() }),
                    stored.map(|s| s.2.clone()).unwrap_or_default(),
                ]
            }
        };
        let widest = |text: &dyn Fn(&Column) -> usize, most: usize| {
            self.columns.iter().map(text).max().unwrap_or(0).clamp(6, most)
        };
        let number = self.columns.len().saturating_sub(1).to_string().len();
        let wanted = [number, widest(&|c| c.name.width(), 30), widest(&|c| c.kind.width(), 16), 8, 8, 7, 60];
        // As many as there is room for, but the first three; what is left is for the last.
        let mut widths = Vec::new();
        let mut left = width;
        for (index, wanted) in wanted.into_iter().enumerate() {
            let room = left.saturating_sub(if index > 0 { 2 } else { 0 });
            let least = if index == 1 { room.min(wanted).min(width / 2) } else { wanted.min(room) };
            if (index > 2 && index < 6 && room < wanted) || (index == 6 && room < 10) {
                break;
            }
            widths.push(least);
            left = room.saturating_sub(least);
        }
        let right = [true, false, false, true, true, true, false];
        let cells = cells.iter().zip(&widths).zip(right).map(|((cell, width), right)| fitted(cell, *width, right));
        cells.collect::<Vec<_>>().join("  ")
    }
}

impl Column {
    fn nulls(&self) -> Option<String> {
        self.statistics.as_ref()?.null_count.map(count)
    }

    /// All that is known, in a few lines.
    fn facts(&self) -> Vec<Line<'static>> {
        let nullable = if self.nullable { ", nullable" } else { "" };
        let mut lines = vec![format!("{}: {}{nullable}", self.name, self.kind)];
        if let Some((stored, raw, encodings)) = &self.stored {
            let ratio = |raw| ratio(raw, *stored).map(|r| format!(" ({r:.2}x)")).unwrap_or_default();
            let raw = raw.map(|raw| format!(", {} raw{}", bytes(raw), ratio(raw))).unwrap_or_default();
            lines.push(format!("{} stored{raw}  {encodings}", bytes(*stored)));
        }
        if let Some(statistics) = &self.statistics {
            let mut known = Vec::new();
            known.extend(self.nulls().map(|nulls| format!("nulls: {nulls}")));
            known.extend(statistics.min.as_ref().map(|min| format!("min: {min}")));
            known.extend(statistics.max.as_ref().map(|max| format!("max: {max}")));
            lines.push(known.join("  "));
        }
        lines.into_iter().map(|line| Line::from(one_line(&line).into_owned())).collect()
    }
}
