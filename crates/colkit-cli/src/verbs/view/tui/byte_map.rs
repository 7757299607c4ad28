//! The bytes: a bar of all regions, their names, and the bytes of the selected one.

use super::look::{Look, fitted, span, symbol};
use crate::escape::one_line;
use crate::human::{bytes, count};
use crate::verbs::inspect::kind_name;
use colkit::{Layout, Region, RegionKind};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};
use std::ops::Range;

/// A region, without the parts that it has.
struct Piece {
    range: Range<u64>,
    kind: RegionKind,
    column: Option<usize>,
    text: String,
    depth: usize,
    /// The region that it is a part of.
    around: Option<usize>,
}

/// Lines of the bar.
const BAR: u16 = 3;

/// The byte map, and which region is selected.
#[derive(Default)]
pub struct BytesPane {
    pieces: Vec<Piece>,
    size: u64,
    known: bool,
    pub error: Option<String>,
    selected: usize,
    top: usize,
    height: usize,
    /// Whether the bar shows the selected region alone.
    zoomed: Option<Range<u64>>,
    /// How far into the region its bytes are shown from.
    offset: u64,
    /// Bytes that there is room for.
    room: u64,
    content: Option<(u64, Vec<u8>)>,
    /// Why there are no bytes to see.
    pub no_content: Option<String>,
    asked: Option<Range<u64>>,
}

impl BytesPane {
    /// `no_content` says why bytes cannot be seen, if that is so.
    pub fn new(no_content: Option<String>) -> Self {
        BytesPane { no_content, ..Self::default() }
    }

    pub fn take(&mut self, layout: &Layout, columns: &[String]) {
        fn add(region: &Region, around: Option<usize>, columns: &[String], pieces: &mut Vec<Piece>) {
            let depth = around.and_then(|around| pieces.get(around)).map_or(0, |around| around.depth + 1);
            let own = pieces.len();
            // Parts are of the column that the region is of.
            let inherited = around.and_then(|around| pieces.get(around)).and_then(|around| around.column);
            let column = region.column.and_then(|c| columns.get(c));
            let column = column.filter(|name| !region.name.contains(name.as_str())).map(|name| format!(" of {name:?}"));
            let encoding = region.encoding.as_ref().map(|e| format!(", {e}"));
            let text = format!("{}{}{}", region.name, column.unwrap_or_default(), encoding.unwrap_or_default());
            pieces.push(Piece {
                range: region.range.start()..region.range.end(),
                kind: region.kind,
                column: region.column.or(inherited),
                text: one_line(&text).into_owned(),
                depth,
                around,
            });
            region.parts.iter().for_each(|part| add(part, Some(own), columns, pieces));
        }
        self.pieces.clear();
        layout.regions.iter().for_each(|region| add(region, None, columns, &mut self.pieces));
        (self.size, self.known) = (layout.size, true);
    }

    pub fn move_by(&mut self, by: isize) {
        self.select(self.selected.saturating_add_signed(by));
    }

    pub fn select(&mut self, piece: usize) {
        self.selected = piece.min(self.pieces.len().saturating_sub(1));
        self.offset = 0;
    }

    pub fn page(&self) -> isize {
        isize::try_from(self.height.max(1)).unwrap_or(1)
    }

    /// Shows bytes further on in the region, or further back.
    pub fn move_bytes(&mut self, forward: bool) {
        let length = self.pieces.get(self.selected).map_or(0, |p| p.range.end - p.range.start);
        let moved = if forward { self.offset + self.room } else { self.offset.saturating_sub(self.room) };
        if moved < length {
            self.offset = moved;
        }
    }

    /// Shows the selected region alone in the bar, or the whole file again.
    pub fn zoom(&mut self) {
        self.zoomed = match self.zoomed {
            Some(_) => None,
            None => self.pieces.get(self.selected).map(|p| p.range.clone()).filter(|r| !r.is_empty()),
        };
    }

    /// The bytes to read; `None` if they are there or on their way.
    pub fn wanted(&mut self) -> Option<Range<u64>> {
        let piece = self.pieces.get(self.selected).filter(|_| self.no_content.is_none())?;
        let start = piece.range.start + self.offset;
        let range = start..piece.range.end.min(start + self.room);
        let there = self.content.as_ref().is_some_and(|(at, c)| *at == start && c.len() as u64 >= range.end - start);
        if range.is_empty() || there || self.asked.as_ref() == Some(&range) {
            return None;
        }
        self.asked = Some(range.clone());
        Some(range)
    }

    pub fn take_bytes(&mut self, at: u64, content: Vec<u8>) {
        self.content = Some((at, content));
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        if let Some(error) = &self.error {
            let text = Paragraph::new(error.clone()).wrap(Wrap { trim: false }).style(look.error());
            return frame.render_widget(text, area);
        }
        if !self.known {
            return frame.render_widget(Paragraph::new("reading the byte map…").style(look.dim()), area);
        }
        let bar = BAR.min(area.height);
        let dump = (area.height.saturating_sub(bar) / 2).min(10);
        let list = area.height.saturating_sub(bar + dump);
        self.draw_bar(frame, Rect { height: bar, ..area }, look);
        self.draw_list(frame, Rect { y: area.y + bar, height: list, ..area }, look);
        self.draw_bytes(frame, Rect { y: area.y + bar + list, height: dump, ..area }, look);
    }

    fn draw_bar(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let shown = self.zoomed.clone().unwrap_or(0..self.size);
        let cells = u64::from(area.width) * u64::from(area.height);
        let selected = self.pieces.get(self.selected).map(|p| p.range.clone()).unwrap_or_default();
        let length = u128::from(shown.end - shown.start);
        let place = |cell: u64| {
            let offset = length * u128::from(cell) / u128::from(cells.max(1));
            shown.start + u64::try_from(offset).unwrap_or(u64::MAX)
        };
        let line = |line: u16| {
            let cell = |x: u16| {
                let index = u64::from(line) * u64::from(area.width) + u64::from(x);
                let (start, end) = (place(index), place(index + 1).max(place(index) + 1));
                let Some(piece) = self.at(start) else { return span(" ", look.dim()) };
                let style = look.region(piece.kind, piece.column);
                let inside = selected.start < end && start < selected.end;
                let style = if inside { style.patch(look.selected()) } else { style };
                span(symbol(piece.kind, piece.column).to_string(), style)
            };
            Line::from((0..area.width).map(cell).collect::<Vec<_>>())
        };
        frame.render_widget(Paragraph::new((0..area.height).map(line).collect::<Vec<_>>()), area);
    }

    /// The innermost region that has this byte.
    fn at(&self, byte: u64) -> Option<&Piece> {
        // Regions come before their parts, and all in the order of their starts: what has the byte is the last that begins before
        // it, or around that.
        let last = self.pieces.partition_point(|p| p.range.start <= byte).checked_sub(1)?;
        let mut piece = self.pieces.get(last)?;
        while !piece.range.contains(&byte) {
            piece = self.pieces.get(piece.around?)?;
        }
        Some(piece)
    }

    fn draw_list(&mut self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        self.height = usize::from(area.height).max(1);
        self.top = self.top.min(self.selected).max((self.selected + 1).saturating_sub(self.height));
        let digits = self.size.to_string().len().min(12);
        let width = usize::from(area.width);
        let line = |(index, piece): (usize, &Piece)| {
            let size = bytes(piece.range.end - piece.range.start);
            let name = format!("{}{}", "  ".repeat(piece.depth), piece.text);
            let head =
                format!("{}  {}  ", fitted(&piece.range.start.to_string(), digits, true), fitted(&size, 8, true));
            let chosen = index == self.selected;
            let style = if chosen { look.selected() } else { ratatui::style::Style::new() };
            let mark = span(symbol(piece.kind, piece.column).to_string(), look.region(piece.kind, piece.column));
            let room = width.saturating_sub(head.len() + 2);
            Line::from(vec![
                mark,
                span(format!(" {head}"), look.dim()),
                span(fitted(&name, room.saturating_sub(1), false), style),
            ])
        };
        let lines: Vec<Line<'static>> =
            self.pieces.iter().enumerate().skip(self.top).take(self.height).map(line).collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn draw_bytes(&mut self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let Some(piece) = self.pieces.get(self.selected) else { return };
        let digits = format!("{:x}", self.size).len().max(4);
        // Two digits and a space, and a character, for each byte.
        let most = usize::from(area.width).saturating_sub(digits + 4) / 4;
        let each = [32, 16, 8, 4].into_iter().find(|each| *each <= most).unwrap_or(2);
        let lines = u64::from(area.height.saturating_sub(1));
        self.room = lines * each as u64;
        let (start, end) = (piece.range.start + self.offset, piece.range.end);
        let title =
            format!("{}: bytes {} to {} of {}", kind_name(piece.kind), count(start), count(end), count(self.size));
        let mut text = vec![Line::from(span(title, look.bold()))];
        match &self.content {
            _ if self.no_content.is_some() => {
                text.push(Line::from(span(self.no_content.clone().unwrap_or_default(), look.dim())));
            }
            Some((at, content)) if *at == start => {
                let shown = usize::try_from(self.room.min(end - start)).unwrap_or(usize::MAX);
                let content = content.get(..shown.min(content.len())).unwrap_or_default();
                text.extend(content.chunks(each).zip((start..).step_by(each)).map(|(chunk, at)| {
                    let hex: Vec<String> = chunk.iter().map(|b| format!("{b:02x}")).collect();
                    let plain = |b: &u8| if matches!(b, b' '..=b'~') { char::from(*b) } else { '.' };
                    let characters: String = chunk.iter().map(plain).collect();
                    Line::from(vec![
                        span(format!("{at:0digits$x}  "), look.dim()),
                        span(fitted(&hex.join(" "), each * 3, false), ratatui::style::Style::new()),
                        span(format!(" {characters}"), look.dim()),
                    ])
                }));
            }
            _ => text.push(Line::from(span("…", look.dim()))),
        }
        frame.render_widget(Paragraph::new(text), area);
    }
}
