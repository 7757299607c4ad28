//! The interactive shell: line editing with history and completion, multi-line statements, and dot commands.

use super::complete::SqlHelper;
use super::interrupt::Interrupts;
use super::session::SqlSession;
use crate::args::SqlArgs;
use crate::human::plural;
use crate::{Io, Outcome, report};
use colkit::{Error, Result};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

const HELP: &str = "\
Statements end with ; and may span several lines. Files in single quotes are tables:
  SELECT * FROM 'trades.at1' LIMIT 10;

  .help                 show this help
  .tables               list registered tables
  .schema NAME          show the columns of a table or file
  .table NAME PATH      register a file, glob pattern, directory or URL as a table
  .timer on|off         print the time each statement takes
  .explain on|off       print what each statement reads
  .rows N|all           how many rows of an answer are printed
  .quit                 exit (also exit, quit, \\q and Ctrl-D)

Tab completes keywords, tables, columns and files. Ctrl-C discards what is typed, and stops a query
that runs.
";

/// Rows of an answer that are printed unless more are asked for.
const ROWS: u64 = 100;

/// Whether somebody wants to leave, in the words of other shells too.
pub fn leaves(line: &str) -> bool {
    let word = line.trim().trim_end_matches(';').trim_end();
    ["exit", "quit", "\\q", ".exit", ".quit"].iter().any(|w| word.eq_ignore_ascii_case(w))
}

/// Whether somebody wants help.
pub fn asks_for_help(line: &str) -> bool {
    let word = line.trim().trim_end_matches(';').trim_end();
    ["help", "\\?", "?"].iter().any(|w| word.eq_ignore_ascii_case(w))
}

pub fn run(session: &mut SqlSession, args: &SqlArgs, io: &mut Io) -> Result<Outcome> {
    let config = Config::builder().auto_add_history(true).history_ignore_space(true).build();
    let failed = |e: ReadlineError| Error::request("no_terminal", format!("the terminal cannot be used: {e}"));
    let mut editor: Editor<SqlHelper, FileHistory> = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(SqlHelper::default()));
    let history = history_file();
    if let Some(file) = &history {
        // Absent on first use.
        let _ = editor.load_history(file);
    }
    writeln!(io.stdout, "colkit {}: end statements with ; and type .help for help", env!("CARGO_PKG_VERSION"))?;
    let mut settings = Settings { timer: true, explain: args.print.explain };
    session.most_rows = ROWS;
    loop {
        io.flush()?;
        if let Some(words) = editor.helper_mut() {
            words.learn(&session.names());
        }
        let line = match editor.readline("sql> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        };
        let line = line.trim();
        let outcome = match line.strip_prefix('.') {
            _ if line.is_empty() => continue,
            _ if leaves(line) => break,
            _ if asks_for_help(line) => settings.command("help", session, io),
            Some(command) => settings.command(command, session, io),
            None => settings.statement(line, session, args, io),
        };
        if let Err(error) = outcome {
            io.flush()?;
            report::error(&error, false, &mut io.stderr);
        }
    }
    if let Some(file) = &history {
        let saved = file.parent().map(std::fs::create_dir_all).transpose().is_ok() && editor.save_history(file).is_ok();
        if !saved {
            writeln!(io.stderr, "note: could not save the history to {}", file.display())?;
        }
    }
    Ok(Outcome::Success)
}

/// The history file.
fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")))?;
    Some(state.join("colkit").join("sql-history"))
}

struct Settings {
    timer: bool,
    explain: bool,
}

impl Settings {
    fn statement(&self, text: &str, session: &mut SqlSession, args: &SqlArgs, io: &mut Io) -> Result<()> {
        let began = Instant::now();
        let mut print = args.print.clone();
        print.explain = self.explain;
        let args = SqlArgs { print, query: None, file: None, tables: Vec::new(), ..args.clone() };
        session.interrupts = Interrupts::of_statement();
        let done = session.execute(text, &args, io);
        session.interrupts = Interrupts::none();
        done?;
        if self.timer {
            writeln!(io.stderr, "{:.3} s", began.elapsed().as_secs_f64())?;
        }
        Ok(())
    }

    fn command(&mut self, command: &str, session: &mut SqlSession, io: &mut Io) -> Result<()> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let switch = |value: &str| match value {
            "on" => Ok(true),
            "off" => Ok(false),
            other => Err(Error::request("bad_command", format!("expected on or off, found {other:?}"))),
        };
        match words.as_slice() {
            ["help"] => io.stdout.write_all(HELP.as_bytes())?,
            ["tables"] => {
                for (name, columns) in session.names() {
                    writeln!(io.stdout, "{name}  ({})", plural(columns.len() as u64, "column"))?;
                }
            }
            ["schema", name] => {
                for field in session.schema_of(name.trim_matches(['\'', '"', ';']))?.fields() {
                    let nullable = if field.is_nullable() { " (nullable)" } else { "" };
                    writeln!(io.stdout, "{}: {}{nullable}", field.name(), colkit::type_name(field.data_type()))?;
                }
            }
            ["table", name, path] => session.register(name, path.trim_matches(['\'', '"', ';']), io)?,
            ["rows", "all"] => session.most_rows = u64::MAX,
            ["rows", number] => {
                let wrong = || Error::request("bad_command", format!("expected a number or all, found {number:?}"));
                session.most_rows = number.parse().map_err(|_| wrong())?;
                session.pager = None;
            }
            ["timer", value] => self.timer = switch(value)?,
            ["explain", value] => self.explain = switch(value)?,
            _ => {
                return Err(Error::request("bad_command", format!("there is no command .{command}"))
                    .hint(".help lists the commands"));
            }
        }
        Ok(())
    }
}
