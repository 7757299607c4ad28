//! One line that is typed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What is typed, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Prompt {
    text: Vec<char>,
    at: usize,
    pub error: Option<String>,
}

/// What a key means to who waits for the line.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    More,
    Done,
    Cancelled,
}

impl Prompt {
    pub fn new(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        Prompt { at: text.len(), text, error: None }
    }

    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// The text before and after the cursor.
    pub fn parts(&self) -> (String, String) {
        let (before, after) = self.text.split_at(self.at.min(self.text.len()));
        (before.iter().collect(), after.iter().collect())
    }

    pub fn insert(&mut self, text: &str) {
        for c in text.chars().filter(|c| !c.is_control()) {
            self.text.insert(self.at.min(self.text.len()), c);
            self.at += 1;
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typed::Done,
            KeyCode::Esc => return Typed::Cancelled,
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.len(),
            KeyCode::Char('u') if control => {
                self.text.drain(..self.at.min(self.text.len()));
                self.at = 0;
            }
            KeyCode::Char('w') if control => self.delete_word(),
            KeyCode::Char(c) if !control => self.insert(&c.to_string()),
            KeyCode::Backspace if self.at > 0 => {
                self.at -= 1;
                self.text.remove(self.at);
            }
            KeyCode::Delete if self.at < self.text.len() => {
                self.text.remove(self.at);
            }
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = (self.at + 1).min(self.text.len()),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            _ => {}
        }
        Typed::More
    }

    fn delete_word(&mut self) {
        let before = self.text.get(..self.at).unwrap_or_default();
        let word = before
            .iter()
            .rposition(|c| !c.is_whitespace())
            .map_or(0, |end| before.iter().take(end).rposition(|c| c.is_whitespace()).map_or(0, |space| space + 1));
        self.text.drain(word..self.at);
        self.at = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited() {
        let mut prompt = Prompt::new("price > 1");
        let mut press = |code, modifiers| prompt.key(KeyEvent::new(code, modifiers));
        press(KeyCode::Char('0'), KeyModifiers::NONE);
        press(KeyCode::Home, KeyModifiers::NONE);
        press(KeyCode::Char('x'), KeyModifiers::NONE);
        press(KeyCode::Right, KeyModifiers::NONE);
        press(KeyCode::Backspace, KeyModifiers::NONE);
        press(KeyCode::Left, KeyModifiers::NONE);
        press(KeyCode::Delete, KeyModifiers::NONE);
        assert_eq!(press(KeyCode::Enter, KeyModifiers::NONE), Typed::Done);
        assert_eq!(prompt.text(), "rice > 10");
        let mut press = |code, modifiers| prompt.key(KeyEvent::new(code, modifiers));
        press(KeyCode::End, KeyModifiers::NONE);
        press(KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(press(KeyCode::Esc, KeyModifiers::NONE), Typed::Cancelled);
        assert_eq!(prompt.text(), "rice > ");
        prompt.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(prompt.parts(), (String::new(), String::new()));
        prompt.key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
        prompt.insert("a\nb");
        assert_eq!(prompt.text(), "ab");
    }
}
