//! How things look: with colours or without, cut to the room there is.

use colkit::RegionKind;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

/// The styles in use. Without colours, only bold, dim and reversed text remain.
#[derive(Clone, Copy)]
pub struct Look {
    pub colour: bool,
}

/// Colours of columns in the byte map. Neighbours differ.
const COLUMNS: [Color; 6] =
    [Color::Blue, Color::Green, Color::Magenta, Color::Cyan, Color::LightRed, Color::LightYellow];

impl Look {
    pub fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub fn error(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub fn note(self) -> Style {
        self.coloured(Color::Yellow)
    }

    fn coloured(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// The style of bytes of a kind, and of a column.
    pub fn region(self, kind: RegionKind, column: Option<usize>) -> Style {
        match (kind, column) {
            (RegionKind::Data, Some(column)) => {
                self.coloured(COLUMNS.get(column % COLUMNS.len()).copied().unwrap_or(Color::Blue))
            }
            (RegionKind::Data, None) => self.coloured(Color::White),
            (RegionKind::Header | RegionKind::Metadata, _) => self.coloured(Color::Yellow),
            (RegionKind::Padding, _) => self.dim(),
            (RegionKind::Gap, _) => self.coloured(Color::Red),
        }
    }
}

/// A character for bytes of a kind, and of a column: what colours say is said by it too.
pub fn symbol(kind: RegionKind, column: Option<usize>) -> char {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
    match (kind, column) {
        (RegionKind::Data, Some(column)) => LETTERS.chars().nth(column % LETTERS.len()).unwrap_or('a'),
        (RegionKind::Data, None) => '*',
        (RegionKind::Header, _) => 'H',
        (RegionKind::Metadata, _) => 'M',
        (RegionKind::Padding, _) => '.',
        (RegionKind::Gap, _) => '!',
    }
}

/// `text` cut and filled up to `width` columns of the terminal.
pub fn fitted(text: &str, width: usize, right: bool) -> String {
    let text = crate::rows::cut(text, width);
    let space = " ".repeat(width.saturating_sub(text.width()));
    if right { format!("{space}{text}") } else { format!("{text}{space}") }
}

/// A span that owns its text.
pub fn span(text: impl Into<String>, style: Style) -> Span<'static> {
    Span::styled(text.into(), style)
}
