//! The grid of rows: only what is seen of it is read.

use super::load::{Found, RowSet, Window};
use super::look::{Look, fitted, span};
use crate::escape::one_line;
use colkit::arrow::datatypes::{FieldRef, SchemaRef};
use colkit::type_name;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use std::ops::Range;
use unicode_width::UnicodeWidthStr;

/// Columns of the terminal that a column may take, as long as nobody looks at it alone.
const WIDEST: usize = 40;
const NARROWEST: usize = 4;
const GAP: &str = "  ";

/// Rows and columns that are read beyond what is seen.
const MARGIN_COLUMNS: usize = 4;

/// What is shown of the rows, and where the cursor is.
pub struct RowsPane {
    titles: Vec<(String, String, bool)>,
    /// As wide as what was seen of each column.
    widths: Vec<usize>,
    row_count: u64,
    /// The row under the cursor, among those that are shown, and its column.
    pub row: u64,
    pub column: usize,
    top: u64,
    left: usize,
    /// Rows and columns that there was room for.
    height: u64,
    seen: Range<usize>,
    window: Option<Window>,
    /// What has been asked for.
    asked: Option<(Range<u64>, Range<usize>)>,
    pub error: Option<String>,
    pub search: Option<Search>,
}

/// The rows for which a condition holds, as far as they have been found.
pub struct Search {
    pub text: String,
    rows: Vec<u64>,
    looked: u64,
    complete: bool,
    ended: bool,
}

impl RowsPane {
    pub fn new(schema: &SchemaRef, row_count: u64) -> Self {
        let title =
            |f: &FieldRef| (one_line(f.name()).into_owned(), type_name(f.data_type()), f.data_type().is_numeric());
        let titles: Vec<_> = schema.fields().iter().map(title).collect();
        let width = |(name, kind, _): &(String, String, bool)| name.width().max(kind.width()).clamp(NARROWEST, WIDEST);
        RowsPane {
            widths: titles.iter().map(width).collect(),
            titles,
            row_count,
            row: 0,
            column: 0,
            top: 0,
            left: 0,
            height: 1,
            seen: 0..1,
            window: None,
            asked: None,
            error: None,
            search: None,
        }
    }

    /// How many rows are shown: all of them, or those that were found.
    pub fn count(&self) -> u64 {
        self.search.as_ref().map_or(self.row_count, |search| search.rows.len() as u64)
    }

    /// The number of the row under the cursor in the file.
    pub fn number(&self) -> Option<u64> {
        match &self.search {
            Some(search) => search.rows.get(usize::try_from(self.row).ok()?).copied(),
            None => (self.row < self.row_count).then_some(self.row),
        }
    }

    /// The name of the column under the cursor.
    pub fn column_name(&self) -> &str {
        self.titles.get(self.column).map_or("", |(name, ..)| name)
    }

    pub fn move_rows(&mut self, by: i64) {
        let last = self.count().saturating_sub(1);
        self.row = self.row.saturating_add_signed(by).min(last);
        // A page down moves the page, not only the cursor.
        if by.unsigned_abs() >= self.height {
            self.top = self.top.saturating_add_signed(by).min(last);
        }
    }

    pub fn page(&self) -> i64 {
        i64::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    pub fn move_columns(&mut self, by: isize) {
        self.go_to_column(self.column.saturating_add_signed(by));
    }

    pub fn go_to_column(&mut self, column: usize) {
        self.column = column.min(self.titles.len().saturating_sub(1));
    }

    /// Goes to the row of this number, or to the first one after it that is shown.
    pub fn go_to_number(&mut self, number: u64) {
        let row = match &self.search {
            Some(search) => search.rows.partition_point(|row| *row < number) as u64,
            None => number,
        };
        self.row = row.min(self.count().saturating_sub(1));
        // With some of the rows before it.
        self.top = self.row.saturating_sub(self.height / 3);
    }

    /// Shows the rows for which a condition holds, none so far; or all again.
    pub fn start_search(&mut self, text: Option<String>) {
        let number = self.number();
        let start = |text| Search { text, rows: Vec::new(), looked: 0, complete: false, ended: false };
        self.search = text.map(start);
        (self.row, self.top) = (0, 0);
        self.forget();
        if self.search.is_none()
            && let Some(number) = number
        {
            self.go_to_number(number);
        }
    }

    pub fn add_found(&mut self, found: Found) {
        if let Some(search) = &mut self.search {
            search.rows.extend(found.rows);
            search.looked = found.looked.max(search.looked);
            (search.complete, search.ended) = (found.complete, found.ended);
        }
    }

    /// What is to be said about the rows that are shown.
    pub fn status(&self) -> String {
        use crate::human::{count, plural, share};
        let Some(search) = &self.search else { return plural(self.row_count, "row") };
        let found = plural(search.rows.len() as u64, "row");
        match (search.ended, search.complete) {
            (true, true) => format!("{found} of {}", count(self.row_count)),
            (true, false) => format!("the first {found}"),
            (false, _) => format!("{found}, looking: {}", share(search.looked, self.row_count)),
        }
    }

    fn forget(&mut self) {
        (self.window, self.asked, self.error) = (None, None, None);
    }

    /// Takes what was read.
    pub fn take(&mut self, window: Window) {
        for row in &window.cells {
            for (column, cell) in window.columns.clone().zip(row) {
                if let Some(width) = self.widths.get_mut(column) {
                    *width = cell.text.width().min(WIDEST).max(*width);
                }
            }
        }
        (self.window, self.asked, self.error) = (Some(window), None, None);
    }

    /// What could not be read is said in its place, and not asked for again until something else is.
    pub fn fail(&mut self, error: String) {
        self.error = Some(error);
    }

    /// What has to be read to show what is to be seen; `None` if it is there or on its way.
    pub fn wanted(&mut self) -> Option<(u64, RowSet, Range<usize>)> {
        let end = self.top.saturating_add(self.height).min(self.count());
        let rows = self.top..end;
        let covers = |known_rows: &Range<u64>, known_columns: &Range<usize>| {
            known_rows.start <= rows.start
                && known_rows.end >= rows.end
                && known_columns.start <= self.seen.start
                && known_columns.end >= self.seen.end
        };
        let loaded =
            self.window.as_ref().is_some_and(|w| covers(&(w.first..w.first + w.numbers.len() as u64), &w.columns));
        let on_its_way = self.asked.as_ref().is_some_and(|(rows, columns)| covers(rows, columns));
        if rows.is_empty() || loaded || on_its_way {
            return None;
        }
        let first = rows.start.saturating_sub(self.height);
        let last = rows.end.saturating_add(self.height).min(self.count());
        let columns = self.seen.start.saturating_sub(MARGIN_COLUMNS)
            ..self.seen.end.saturating_add(MARGIN_COLUMNS).min(self.titles.len());
        self.asked = Some((first..last, columns.clone()));
        self.error = None;
        let set = match &self.search {
            None => RowSet::Range(first..last),
            Some(search) => {
                let index = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
                RowSet::List(search.rows.get(index(first)..index(last)).unwrap_or_default().to_vec())
            }
        };
        Some((first, set, columns))
    }

    /// Scrolls so that the cursor is seen.
    fn follow(&mut self, room: usize) {
        if self.row < self.top {
            self.top = self.row;
        }
        if self.row >= self.top.saturating_add(self.height) {
            self.top = self.row + 1 - self.height;
        }
        self.top = self.top.min(self.count().saturating_sub(self.height));
        self.left = self.left.min(self.column);
        while self.left < self.column && self.columns_from(self.left, room).end <= self.column {
            self.left += 1;
        }
        self.seen = self.columns_from(self.left, room);
    }

    /// The columns that fit, the last one perhaps in part.
    fn columns_from(&self, left: usize, room: usize) -> Range<usize> {
        let mut used = 0;
        let mut end = left;
        for width in self.widths.iter().skip(left) {
            let needed = (*width).min(room) + if end > left { GAP.len() } else { 0 };
            if used + needed > room && end > left {
                break;
            }
            used += needed;
            end += 1;
        }
        left..end.max(left)
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        self.height = u64::from(area.height.saturating_sub(2).max(1));
        let gutter = self.row_count.saturating_sub(1).to_string().len().max(3);
        let room = usize::from(area.width).saturating_sub(gutter + GAP.len());
        self.follow(room);
        let mut lines = vec![self.title_line(gutter, room, look, true), self.title_line(gutter, room, look, false)];
        if let Some(error) = &self.error {
            lines.extend(error.lines().map(|line| Line::from(span(line, look.error()))));
            return frame.render_widget(Paragraph::new(lines).wrap(ratatui::widgets::Wrap { trim: false }), area);
        }
        let end = self.top.saturating_add(self.height).min(self.count());
        lines.extend((self.top..end).map(|row| self.row_line(row, gutter, room, look)));
        if end == 0 {
            let ended = self.search.as_ref().is_none_or(|search| search.ended);
            lines.push(Line::from(span(if ended { "no rows" } else { "no rows so far" }, look.dim())));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn title_line(&self, gutter: usize, room: usize, look: Look, names: bool) -> Line<'static> {
        let mut spans = vec![span(fitted(if names { "row" } else { "" }, gutter, true), look.dim())];
        for column in self.seen.clone() {
            let (Some((name, kind, right)), Some(width)) = (self.titles.get(column), self.widths.get(column)) else {
                continue;
            };
            let style = match names {
                true if column == self.column => look.bold().patch(look.selected()),
                true => look.bold(),
                false => look.dim(),
            };
            spans.push(GAP.into());
            spans.push(span(fitted(if names { name } else { kind }, (*width).min(room), *right), style));
        }
        Line::from(spans)
    }

    fn row_line(&self, row: u64, gutter: usize, room: usize, look: Look) -> Line<'static> {
        let window = self.window.as_ref();
        let place = window.and_then(|w| usize::try_from(row.checked_sub(w.first)?).ok());
        let number = window.zip(place).and_then(|(w, place)| w.numbers.get(place));
        let number = number.map_or_else(String::new, u64::to_string);
        let here = row == self.row;
        let style = if here { look.bold() } else { look.dim() };
        let mut spans = vec![span(fitted(&number, gutter, true), style)];
        for column in self.seen.clone() {
            let (Some((.., right)), Some(width)) = (self.titles.get(column), self.widths.get(column)) else { continue };
            let cell =
                window.zip(place).and_then(|(w, place)| w.cells.get(place)?.get(column.checked_sub(w.columns.start)?));
            let (text, style) = match cell {
                Some(cell) if cell.is_null => (cell.text.as_str(), look.dim()),
                Some(cell) => (cell.text.as_str(), ratatui::style::Style::new()),
                // It is being read.
                None => ("…", look.dim()),
            };
            let style = if here && column == self.column { style.patch(look.selected()) } else { style };
            spans.push(GAP.into());
            spans.push(span(fitted(text, (*width).min(room), *right), style));
        }
        Line::from(spans)
    }
}
