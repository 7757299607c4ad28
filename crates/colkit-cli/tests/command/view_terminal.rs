//! The explorer in a terminal of its own, which `script` makes.

use super::run::Folder;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a terminal would show, as far as the explorer uses one.
#[derive(Default)]
struct Screen {
    cells: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// Bytes that may be the start of something.
    rest: Vec<u8>,
    colours: bool,
    /// Whether the other screen is shown, which programs leave when they end.
    other: bool,
    /// What was written outside of the other screen.
    plain: String,
}

impl Screen {
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let text = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.to_owned(),
            Err(e) => String::from_utf8(self.rest[..e.valid_up_to()].to_vec()).unwrap(),
        };
        let mut done = 0;
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            if c == '\x1b' {
                let Some(end) = text[at..]
                    .char_indices()
                    .skip(1)
                    .find(|(i, c)| *i > 1 && c.is_ascii_alphabetic() || (*i == 1 && *c != '['))
                else {
                    break;
                };
                self.escape(&text[at + 1..=at + end.0]);
                done = at + end.0 + 1;
                while characters.peek().is_some_and(|(next, _)| *next < done) {
                    characters.next();
                }
                continue;
            }
            done = at + c.len_utf8();
            match c {
                _ if !self.other => self.plain.push(c),
                '\r' => self.column = 0,
                '\n' => self.row += 1,
                c => {
                    while self.cells.len() <= self.row {
                        self.cells.push(Vec::new());
                    }
                    let line = &mut self.cells[self.row];
                    while line.len() <= self.column {
                        line.push(' ');
                    }
                    line[self.column] = c;
                    self.column += 1;
                }
            }
        }
        self.rest.drain(..done);
    }

    fn escape(&mut self, sequence: &str) {
        let numbers: Vec<usize> = sequence
            .trim_start_matches('[')
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|n| n.parse().ok())
            .collect();
        match sequence.chars().last() {
            Some('H') => {
                let place = |i: usize| numbers.get(i).map_or(0, |n| n.saturating_sub(1));
                (self.row, self.column) = (place(0), place(1));
            }
            Some('J') => self.cells.clear(),
            Some('h') if sequence == "[?1049h" => self.other = true,
            Some('l') if sequence == "[?1049l" => self.other = false,
            Some('m') => self.colours |= numbers.iter().any(|n| matches!(n, 30..=38 | 40..=48 | 90..=107)),
            _ => {}
        }
    }

    fn text(&self) -> String {
        self.cells.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }
}

/// The explorer on a terminal.
struct Explorer {
    child: Child,
    keys: Option<ChildStdin>,
    screen: Arc<Mutex<Screen>>,
}

impl Explorer {
    fn start(
        folder: &Folder,
        arguments: &str,
        (columns, rows): (u16, u16),
        environment: &[(&str, &str)],
    ) -> Option<Self> {
        Command::new("script").arg("--version").stdout(Stdio::null()).status().ok()?;
        let line =
            format!("stty cols {columns} rows {rows}; exec {} view --tui {arguments}", env!("CARGO_BIN_EXE_colkit"));
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).current_dir(folder.path("")).env("TERM", "xterm");
        command.env_remove("NO_COLOR").envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (keys, mut out) = (child.stdin.take(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(Screen::default()));
        let shared = screen.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                shared.lock().unwrap().take(&buffer[..count]);
            }
        });
        Some(Explorer { child, keys, screen })
    }

    fn press(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().unwrap();
        pipe.write_all(keys.as_bytes()).unwrap();
        pipe.flush().unwrap();
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().text()
    }

    /// Waits until the screen is as wanted.
    fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let text = self.text();
            if wanted(&text) {
                return text;
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{what}:\n{text}\n{}",
                self.screen.lock().unwrap().plain
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn sees(&self, words: &str) -> String {
        self.wait(&format!("no {words:?}"), |text| text.contains(words))
    }

    /// The code it ended with, and what it said then.
    fn ends(mut self) -> (Option<i32>, String) {
        let began = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if began.elapsed() > Duration::from_secs(20) {
                let _ = self.child.kill();
                panic!("it does not end:\n{}", self.text());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        std::thread::sleep(Duration::from_millis(50));
        let screen = self.screen.lock().unwrap();
        assert!(!screen.other, "the terminal is as it was");
        (code, screen.plain.clone())
    }
}

const USUAL: (u16, u16) = (100, 24);

/// Numbers in order, and something about each.
fn numbers(rows: u64) -> String {
    "id,name,half\n".to_owned() + &(0..rows).map(|i| format!("{i},name {i},{}.5\n", i / 2)).collect::<String>()
}

#[test]
fn panes_show_rows_columns_and_bytes() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "trades.lance"]);
    let Some(mut explorer) = Explorer::start(&folder, "trades.lance", USUAL, &[]) else { return };
    let text = explorer.sees("44001.0");
    for words in ["trades.lance", "lance, 4 columns", "sym", "string", "BTC", "ÖRE", "line\\nbreak", "4 rows", "? help"]
    {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    explorer.press("2");
    let text = explorer.wait("no sizes", |text| text.contains("encoding") && text.contains(" B stored"));
    for words in ["column", "type", "stored", "raw", "nulls", "float64", "quantity"] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    explorer.press("3");
    let text = explorer.sees("bytes 0 to");
    assert!(text.contains("MM") && text.contains("aa"), "the bar:\n{text}");
    explorer.press("G");
    // The end of a Lance file.
    let text = explorer.sees("LANC");
    assert!(text.contains("4c 41 4e 43"), "{text}");
    explorer.press("?");
    explorer.sees("go to a row");
    explorer.press("\x1b");
    explorer.wait("help stays", |text| !text.contains("go to a row"));
    assert!(explorer.screen.lock().unwrap().colours);
    explorer.press("q");
    assert_eq!(explorer.ends().0, Some(0));
}

#[test]
fn rows_are_read_as_they_are_seen() {
    let folder = Folder::new();
    folder.write("t.csv", numbers(300_000));
    folder.ok(&["convert", "t.csv", "t.lance"]);
    let Some(mut explorer) = Explorer::start(&folder, "t.lance", USUAL, &[]) else { return };
    explorer.sees("name 5");
    explorer.press("\x1b[F");
    explorer.sees("name 299999");
    explorer.press("g123,456\r");
    explorer.sees("name 123456");
    explorer.press("\x1b[6~");
    explorer.sees("name 123470");
    let text = explorer.text();
    let read = text.rsplit_once("read ").unwrap().1;
    let share: f64 = read.split_once('(').unwrap().1.split_once('%').unwrap().0.parse().unwrap();
    assert!(share < 50.0, "only what is seen is read:\n{text}");
    explorer.press("g300000\r");
    explorer.sees("there is no row 300000 in 300,000 rows");
    explorer.press("gx\r");
    explorer.sees("expected the number of a row");
    explorer.press("\x03");
    assert_eq!(explorer.ends().0, Some(0));
}

#[test]
fn a_condition_chooses_rows_and_its_mistakes_are_shown() {
    let folder = Folder::new();
    folder.write("t.csv", numbers(100_000));
    let Some(mut explorer) = Explorer::start(&folder, "t.csv", USUAL, &[]) else { return };
    explorer.sees("name 5");
    explorer.press("wid >= 5000 and idd < 5003");
    explorer.sees("there is no column \"idd\"");
    explorer.press("\r");
    explorer.sees("where id >= 5000 and idd");
    explorer.press("\x15id >= 5000 and id < 5003\r");
    let text = explorer.sees("3 rows of 100,000");
    let text = if text.contains("name 5002") { text } else { explorer.sees("name 5002") };
    assert!(text.contains("name 5000") && !text.contains("name 5003"), "{text}");
    // The rows keep their numbers.
    assert!(text.lines().any(|l| l.trim_start().starts_with("5001  ")), "{text}");
    explorer.press("w\x15\r");
    explorer.sees("100,000 rows");
    explorer.sees("name 5003");
    explorer.press("\x1b");
    assert_eq!(explorer.ends().0, Some(0));
}

#[test]
fn wide_tables_and_long_values_are_seen_whole() {
    let folder = Folder::new();
    let long = format!("{}the end", "word ".repeat(100));
    let names: Vec<String> = (0..60).map(|i| format!("column{i}")).collect();
    let cells: Vec<String> = (0..60).map(|i| if i == 59 { long.clone() } else { format!("v{i}") }).collect();
    folder.write("wide.csv", format!("{}\n{}\n", names.join(","), cells.join(",")));
    let Some(mut explorer) = Explorer::start(&folder, "wide.csv", (40, 12), &[("NO_COLOR", "1")]) else { return };
    let text = explorer.sees("v0");
    assert!(!text.contains("column59") && text.lines().all(|l| l.chars().count() <= 40), "{text}");
    explorer.press("\x1b[C\x1b[C\x1b[C\x1b[C\x1b[C\x1b[C");
    explorer.sees("v6");
    explorer.press("$");
    explorer.sees("word word");
    explorer.press("\r");
    explorer.sees("column59, row 0");
    explorer.press("  ");
    explorer.sees("the end");
    explorer.press("\x1b");
    for pane in ["2", "3", "?"] {
        explorer.press(pane);
        std::thread::sleep(Duration::from_millis(300));
        let text = explorer.text();
        assert!(text.lines().all(|l| l.chars().count() <= 40), "{text}");
    }
    assert!(!explorer.screen.lock().unwrap().colours, "NO_COLOR");
    explorer.press("qq");
    assert_eq!(explorer.ends().0, Some(0));
}

#[test]
fn what_is_wrong_is_said_on_a_terminal_that_is_as_it_was() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "cut.lance"]);
    let whole = folder.read("cut.lance");
    folder.write("cut.lance", &whole[..whole.len() - 7]);
    let Some(explorer) = Explorer::start(&folder, "cut.lance", USUAL, &[]) else { return };
    let (code, said) = explorer.ends();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error:") && said.contains("cut.lance"), "{said}");
    let Some(explorer) = Explorer::start(&folder, "missing.lance", USUAL, &[]) else { return };
    let (code, said) = explorer.ends();
    assert!(code == Some(1) && said.contains("[not_found]"), "{said}");
    // A column that cannot be read does not end it.
    folder.write("n.csv", numbers(50_000));
    let mut damaged = folder.ok(&["convert", "n.csv", "-", "--to", "lance"]).raw;
    let half = damaged.len() / 2;
    damaged[64..half].iter_mut().step_by(500).for_each(|byte| *byte ^= 0xff);
    folder.write("damaged.lance", &damaged);
    let Some(mut explorer) = Explorer::start(&folder, "damaged.lance", USUAL, &[]) else { return };
    explorer.sees("checksum_mismatch");
    explorer.press("2");
    explorer.sees("float64");
    explorer.press("q");
    assert_eq!(explorer.ends().0, Some(0));
}

#[test]
fn a_terminal_is_needed() {
    let folder = Folder::with_trades();
    let said = folder.run(&["view", "--tui", "trades.csv"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("[no_terminal]") && said.err.contains("hint: "), "{said:?}");
    assert_eq!(said.out, "");
}
