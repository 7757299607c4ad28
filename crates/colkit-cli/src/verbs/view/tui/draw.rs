//! What is drawn around the panes: titles, the last line, and what lies over everything.

use super::app::{App, Asking, Popup, TABS, Tab};
use super::look::{Look, span};
use crate::escape::one_line;
use crate::human::{bytes, plural, share};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

impl App {
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let line = |y: u16| Rect { y: y.min(area.height.saturating_sub(1)), height: 1.min(area.height), ..area };
        frame.render_widget(Paragraph::new(self.title()), line(0));
        frame.render_widget(Paragraph::new(self.tabs(area.width)), line(1));
        let foot = 1 + self.error_lines(area.width);
        let body = Rect { y: 2, height: area.height.saturating_sub(2 + foot), ..area };
        if body.height > 0 {
            match self.tab {
                Tab::Rows => self.rows.draw(frame, body, self.look),
                Tab::Columns => self.columns.draw(frame, body, self.look),
                Tab::Bytes => self.bytes.draw(frame, body, self.look),
            }
        }
        self.draw_foot(frame, area);
        if let Some(popup) = &mut self.popup {
            popup.draw(frame, area, self.look);
        }
    }

    /// Lines for what is wrong with what is typed.
    fn error_lines(&self, width: u16) -> u16 {
        let Some(Asking::Condition(prompt) | Asking::Row(prompt)) = &self.asking else { return 0 };
        let length = prompt.error.as_ref().map_or(0, |error| error.width());
        u16::try_from(length.div_ceil(usize::from(width.max(1)))).unwrap_or(u16::MAX).clamp(1, 4)
    }

    fn title(&self) -> Line<'static> {
        let file = &self.file;
        let name = one_line(file.input().name()).into_owned();
        let columns = plural(file.schema().fields().len() as u64, "column");
        let facts = format!(" {}, {columns}, {}", file.format().name(), bytes(file.bytes()));
        Line::from(vec![span(name, self.look.bold()), span(facts, self.look.dim())])
    }

    fn tabs(&self, width: u16) -> Line<'static> {
        let mut spans = Vec::new();
        for (tab, name) in TABS {
            // Where there is little room, only the one that is shown has its name.
            let name = if width < 60 && tab != self.tab { name.get(..1).unwrap_or(name) } else { name };
            let style = if tab == self.tab { self.look.selected() } else { self.look.dim() };
            spans.push(span(format!(" {name} "), style));
        }
        spans.push(span(format!("  {}", self.rows.status()), Style::new()));
        if let Some(search) = &self.rows.search {
            spans.push(span(format!(" where {}", one_line(&search.text)), self.look.note()));
        }
        Line::from(spans)
    }

    /// The last line: what is typed, or what there is to say.
    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let line = |up: u16| Rect { y: area.height.saturating_sub(up), height: 1.min(area.height), ..area };
        let Some(asking) = &self.asking else {
            return frame.render_widget(Paragraph::new(self.status(usize::from(area.width))), line(1));
        };
        let (label, prompt) = match asking {
            Asking::Condition(prompt) => ("where ", prompt),
            Asking::Row(prompt) => ("go to row ", prompt),
        };
        let error = prompt.error.clone().unwrap_or_default();
        let lines = self.error_lines(area.width).min(area.height.saturating_sub(1));
        let above = Rect { height: lines, ..line(1 + lines) };
        frame.render_widget(Clear, above);
        frame.render_widget(Paragraph::new(span(error, self.look.error())).wrap(Wrap { trim: true }), above);
        let (before, after) = prompt.parts();
        // The cursor stays in sight.
        let at = label.len() + before.width();
        let hidden = u16::try_from((at + 1).saturating_sub(usize::from(area.width))).unwrap_or(u16::MAX);
        let text = Line::from(vec![span(label, self.look.bold()), span(format!("{before}{after}"), Style::new())]);
        frame.render_widget(Paragraph::new(text).scroll((0, hidden)), line(1));
        let x = u16::try_from(at).unwrap_or(u16::MAX).saturating_sub(hidden);
        frame.set_cursor_position((x, line(1).y));
    }

    fn status(&self, width: usize) -> Line<'static> {
        if let Some(message) = &self.message {
            return Line::from(span(one_line(message).into_owned(), self.look.error()));
        }
        let read = self.file.input().read_count().bytes;
        let of =
            if read > self.file.bytes() { String::new() } else { format!(" ({})", share(read, self.file.bytes())) };
        let mut text = match width {
            0..60 => "? help  q quit".to_owned(),
            _ => "? help  w condition  g row  Enter value  q quit".to_owned(),
        };
        text.push_str(&format!("   read {}{of}", bytes(read)));
        if self.is_waiting() {
            text = format!("loading…  {text}");
        }
        Line::from(span(text, self.look.dim()))
    }
}

impl Popup {
    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let margin = if area.width > 60 { 4 } else { 0 };
        let place = Rect {
            x: area.x + margin,
            y: area.y + u16::from(area.height > 10),
            width: area.width.saturating_sub(2 * margin),
            height: area.height.saturating_sub(2 * u16::from(area.height > 10)),
        };
        let lines = u16::try_from(self.text.lines().count()).unwrap_or(u16::MAX);
        let across = usize::from(place.width.saturating_sub(2).max(1));
        let wrapped = u16::try_from(self.text.len() / across).unwrap_or(u16::MAX);
        self.scrolled = self.scrolled.min(lines.saturating_add(wrapped));
        let block = Block::bordered().title(span(format!(" {} ", self.title), look.bold()));
        frame.render_widget(Clear, place);
        let text = Paragraph::new(self.text.as_str()).wrap(Wrap { trim: false }).scroll((self.scrolled, 0));
        frame.render_widget(text.block(block), place);
    }
}
