//! `--tui`: the explorer in the terminal.
//!
//! ```text
//! app        the panes, and what is being read for them
//! keys       what keys do
//! draw       what is drawn around the panes
//! rows       the grid of rows
//! columns    the list of columns
//! byte_map   the bytes
//! prompt     a line that is typed
//! load       what is read of the file
//! worker     threads that read, so that keys need not wait
//! look       styles and widths
//! ```

mod app;
mod byte_map;
mod columns;
mod draw;
mod keys;
mod load;
mod look;
mod prompt;
mod rows;
mod worker;

use crate::args::ViewArgs;
use crate::request::inputs;
use crate::{Io, Outcome};
use app::App;
use colkit::{Error, Input, OpenFile, Result};
use keys::{Next, quits};
use look::Look;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};
use ratatui::widgets::Paragraph;
use std::io::{IsTerminal, Stdout, stdout};
use std::sync::Once;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long keys are waited for before what was read meanwhile is shown.
const SOON: Duration = Duration::from_millis(30);
/// The same while nothing is being read.
const LATER: Duration = Duration::from_millis(250);

pub fn run(args: &ViewArgs, io: &mut Io) -> Result<Outcome> {
    if !stdout().is_terminal() || io.stdout.width.is_none() {
        return Err(Error::request("no_terminal", "standard output is not a terminal, which --tui needs")
            .hint("without --tui the explorer runs in the browser; colkit inspect and colkit head print"));
    }
    if args.files.is_empty() {
        return Err(
            Error::request("no_input", "there is no file to show").hint("such as colkit view --tui trades.lance")
        );
    }
    let input = Input::several(inputs(args.files.iter().map(|file| (file, &args.dataset)), io)?);
    let options = args.reading.open_options()?;
    let look = Look { colour: io.stdout.colour };
    let mut screen = Screen::start()?;
    let Some(file) = open(&mut screen, move || options.open_input(&input), look, io)? else {
        return Ok(Outcome::Success);
    };
    let mut app = App::new(file, look)?;
    loop {
        io.stop.check()?;
        screen.terminal.draw(|frame| app.draw(frame))?;
        app.load();
        let patience = if app.is_waiting() { SOON } else { LATER };
        let mut waited = event::poll(patience)?;
        while waited {
            if app.event(&event::read()?)? == Next::Quit {
                return Ok(Outcome::Success);
            }
            waited = event::poll(Duration::ZERO)?;
        }
        app.receive()?;
    }
}

/// Opens the file while the keys still end the command. `None` if they did.
fn open(
    screen: &mut Screen,
    work: impl FnOnce() -> Result<OpenFile> + Send + 'static,
    look: Look,
    io: &Io,
) -> Result<Option<OpenFile>> {
    let (told, opened) = channel();
    // Nobody waits for it if it is not wanted any more: it ends with the process.
    std::thread::Builder::new().name("colkit-open".into()).spawn(move || drop(told.send(work())))?;
    loop {
        match opened.recv_timeout(SOON) {
            Ok(file) => return file.map(Some),
            Err(RecvTimeoutError::Disconnected) => return Err(Error::panicked("opening the file")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        io.stop.check()?;
        screen.terminal.draw(|frame| {
            let text = Paragraph::new("opening the file… (q quits)").style(look.dim());
            frame.render_widget(text, frame.area());
        })?;
        while event::poll(Duration::ZERO)? {
            if quits(&event::read()?) {
                return Ok(None);
            }
        }
    }
}

/// The terminal, taken over until this is dropped.
struct Screen {
    terminal: ratatui::Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn start() -> Result<Self> {
        restore_before_panics();
        let started = || {
            enable_raw_mode()?;
            execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
            ratatui::Terminal::new(CrosstermBackend::new(stdout()))
        };
        match started() {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                restore();
                Err(Error::request("no_terminal", format!("the terminal cannot be used: {error}")))
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Leaves the terminal as it was.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
}

/// The message of a panic is printed to a terminal that shows it. Panics of decoders are errors of the file, and printed by nobody.
fn restore_before_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !colkit::interop::inside_decoder() {
                restore();
            }
            tell(info);
        }));
    });
}
