//! What keys do.

use super::app::{App, Asking, Popup, Reply, TABS, Tab};
use super::load;
use super::prompt::{Prompt, Typed};
use crate::escape::one_line;
use crate::human::plural;
use colkit::core::BoundPredicate;
use colkit::{Predicate, Result};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

const HELP: &str = "\
1 2 3, Tab   rows, columns, bytes
arrows, hjkl move
PgUp PgDn    move by a page
Home End     first or last row
0 $          first or last column
g            go to a row by its number
w /          show rows where a condition
             holds: price > 10 and sym = \"A\"
             (an empty one shows all)
Enter        show a value whole
z            bytes: look at one region
[ ]          bytes: further in a region
? F1         this help
q Esc        close, quit
Ctrl-C       quit";

/// What follows an event.
#[derive(PartialEq, Eq)]
pub enum Next {
    GoOn,
    Quit,
}

/// Whether these keys end the command at any time.
pub fn quits(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let interrupts = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    interrupts || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

impl App {
    pub fn event(&mut self, event: &Event) -> Result<Next> {
        match event {
            Event::Paste(text) => {
                if let Some(Asking::Condition(prompt) | Asking::Row(prompt)) = &mut self.asking {
                    prompt.insert(text);
                }
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => return Ok(self.key(*key)),
            _ => {}
        }
        Ok(Next::GoOn)
    }

    fn key(&mut self, key: KeyEvent) -> Next {
        self.message = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return Next::Quit;
        }
        if let Some(asking) = self.asking.take() {
            self.typed(asking, key);
            return Next::GoOn;
        }
        if let Some(popup) = &mut self.popup {
            match key.code {
                KeyCode::Down | KeyCode::Char('j') => popup.scrolled = popup.scrolled.saturating_add(1),
                KeyCode::Up | KeyCode::Char('k') => popup.scrolled = popup.scrolled.saturating_sub(1),
                KeyCode::PageDown | KeyCode::Char(' ') => popup.scrolled = popup.scrolled.saturating_add(10),
                KeyCode::PageUp => popup.scrolled = popup.scrolled.saturating_sub(10),
                _ => self.popup = None,
            }
            return Next::GoOn;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
            KeyCode::Char('?') | KeyCode::F(1) => {
                self.popup = Some(Popup { title: "keys".into(), text: HELP.into(), scrolled: 0 });
            }
            KeyCode::Char('1') => self.tab = Tab::Rows,
            KeyCode::Char('2') => self.tab = Tab::Columns,
            KeyCode::Char('3') => self.tab = Tab::Bytes,
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(2),
            KeyCode::Char('w' | '/') if !control => {
                let text = self.rows.search.as_ref().map_or("", |search| search.text.as_str());
                self.asking = Some(Asking::Condition(Prompt::new(text)));
            }
            KeyCode::Char('g') => self.asking = Some(Asking::Row(Prompt::default())),
            _ => match self.tab {
                Tab::Rows => self.row_key(key.code),
                Tab::Columns => self.column_key(key.code),
                Tab::Bytes => self.byte_key(key.code),
            },
        }
        Next::GoOn
    }

    fn turn(&mut self, by: usize) {
        let at = TABS.iter().position(|(tab, _)| *tab == self.tab).unwrap_or(0);
        self.tab = TABS.get((at + by) % TABS.len()).map_or(Tab::Rows, |(tab, _)| *tab);
    }

    fn row_key(&mut self, key: KeyCode) {
        let page = self.rows.page();
        match key {
            KeyCode::Down | KeyCode::Char('j') => self.rows.move_rows(1),
            KeyCode::Up | KeyCode::Char('k') => self.rows.move_rows(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.rows.move_rows(page),
            KeyCode::PageUp | KeyCode::Char('b') => self.rows.move_rows(-page),
            KeyCode::Home => self.rows.row = 0,
            KeyCode::End | KeyCode::Char('G') => self.rows.row = self.rows.count().saturating_sub(1),
            KeyCode::Right | KeyCode::Char('l') => self.rows.move_columns(1),
            KeyCode::Left | KeyCode::Char('h') => self.rows.move_columns(-1),
            KeyCode::Char('0') => self.rows.go_to_column(0),
            KeyCode::Char('$') => self.rows.go_to_column(usize::MAX),
            KeyCode::Enter => self.show_value(),
            _ => {}
        }
    }

    fn show_value(&mut self) {
        let Some(row) = self.rows.number() else { return };
        let column = self.rows.column;
        let title = format!("{}, row {row}", self.rows.column_name());
        self.ask(|app| &app.value_worker, move |file, stop| Reply::Value(title, load::value(file, row, column, stop)));
    }

    fn column_key(&mut self, key: KeyCode) {
        let page = self.columns.page();
        match key {
            KeyCode::Down | KeyCode::Char('j') => self.columns.move_by(1),
            KeyCode::Up | KeyCode::Char('k') => self.columns.move_by(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.columns.move_by(page),
            KeyCode::PageUp | KeyCode::Char('b') => self.columns.move_by(-page),
            KeyCode::Home => self.columns.move_by(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.columns.move_by(isize::MAX),
            KeyCode::Enter => {
                self.rows.go_to_column(self.columns.selected);
                self.tab = Tab::Rows;
            }
            _ => {}
        }
    }

    fn byte_key(&mut self, key: KeyCode) {
        let page = self.bytes.page();
        match key {
            KeyCode::Down | KeyCode::Char('j') => self.bytes.move_by(1),
            KeyCode::Up | KeyCode::Char('k') => self.bytes.move_by(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.bytes.move_by(page),
            KeyCode::PageUp | KeyCode::Char('b') => self.bytes.move_by(-page),
            KeyCode::Home => self.bytes.select(0),
            KeyCode::End | KeyCode::Char('G') => self.bytes.select(usize::MAX),
            KeyCode::Char(']') | KeyCode::Right | KeyCode::Char('l') => self.bytes.move_bytes(true),
            KeyCode::Char('[') | KeyCode::Left | KeyCode::Char('h') => self.bytes.move_bytes(false),
            KeyCode::Char('z') | KeyCode::Enter => self.bytes.zoom(),
            _ => {}
        }
    }

    /// A key while something is typed.
    fn typed(&mut self, asking: Asking, key: KeyEvent) {
        match asking {
            Asking::Condition(mut prompt) => {
                let typed = prompt.key(key);
                let text = prompt.text();
                let condition = match text.trim() {
                    "" => Ok(None),
                    text => {
                        Predicate::parse(text, &self.file.schema()).and_then(|p| p.bind(&self.file.schema())).map(Some)
                    }
                };
                match (typed, condition) {
                    (Typed::Cancelled, _) => return,
                    (Typed::Done, Ok(condition)) => return self.look_for(text.trim(), condition),
                    (_, Ok(_)) => prompt.error = None,
                    (_, Err(error)) => prompt.error = Some(one_line(error.message()).into_owned()),
                }
                self.asking = Some(Asking::Condition(prompt));
            }
            Asking::Row(mut prompt) => {
                match prompt.key(key) {
                    Typed::Cancelled => return,
                    Typed::More => prompt.error = None,
                    Typed::Done => match prompt.text().replace([',', '_', ' '], "").parse() {
                        Ok(number) => {
                            self.tab = Tab::Rows;
                            if number >= self.file.row_count() {
                                let rows = plural(self.file.row_count(), "row");
                                self.message = Some(format!("there is no row {number} in {rows}, counted from 0"));
                            }
                            return self.rows.go_to_number(number);
                        }
                        Err(_) => prompt.error = Some("expected the number of a row".into()),
                    },
                }
                self.asking = Some(Asking::Row(prompt));
            }
        }
    }

    fn look_for(&mut self, text: &str, condition: Option<BoundPredicate>) {
        self.search += 1;
        self.tab = Tab::Rows;
        self.search_worker.stop();
        let Some(condition) = condition else { return self.rows.start_search(None) };
        self.rows.start_search(Some(text.to_owned()));
        let (file, replies, search) = (self.file.clone(), self.replies.clone(), self.search);
        self.search_worker.ask(move |stop| {
            let mut tell = |found| drop(replies.send(Reply::Found(search, Ok(found))));
            if let Err(error) = load::search(&file, &condition, stop, &mut tell) {
                let _ = replies.send(Reply::Found(search, Err(error)));
            }
        });
    }
}
