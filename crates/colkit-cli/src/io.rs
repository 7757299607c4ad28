//! Stdin, stdout and stderr as values, so that the command can be run from a test or another language.

use crate::escape::{STYLE, escape};
use colkit::Stop;
use std::io::{BufWriter, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The three standard streams, and what a program that runs the command has to say and to hear meanwhile.
pub struct Io {
    /// Where `-` is read from.
    pub stdin: Box<dyn Read + Send>,
    /// Where data goes.
    pub stdout: Stream,
    /// Where messages go.
    pub stderr: Stream,
    /// Ends the verb before it is done: nothing more is read or written.
    pub stop: Stop,
    /// Hears how far a verb is, in place of a progress bar.
    pub listener: Option<Listener>,
}

/// Hears what is being done, how many bytes of it have been read, and how many it will be. It is called a few times a second.
pub type Listener = Arc<dyn Fn(&'static str, u64, u64) + Send + Sync>;

impl Io {
    /// These streams.
    pub fn new(stdin: Box<dyn Read + Send>, stdout: Stream, stderr: Stream) -> Self {
        Io { stdin, stdout, stderr, stop: Stop::new(), listener: None }
    }

    /// The streams of this process. Colour only on a terminal, and not where `NO_COLOR` is set.
    pub fn of_process() -> Self {
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let stream = |out: Box<dyn Write + Send>, terminal: bool| {
            let stream = Stream::new(out);
            if terminal { stream.terminal(width, !plain) } else { stream }
        };
        let stdout = BufWriter::with_capacity(1 << 16, std::io::stdout());
        Io::new(
            Box::new(std::io::stdin()),
            stream(Box::new(stdout), std::io::stdout().is_terminal()),
            stream(Box::new(std::io::stderr()), std::io::stderr().is_terminal()),
        )
    }

    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
        self.stdout.flush_now()
    }
}

/// An output stream. Clones write to the same place.
///
/// Text written to it is escaped, so that names and values cannot control the terminal. Data goes through [`Stream::raw`].
#[derive(Clone)]
pub struct Stream {
    out: Arc<Mutex<Box<dyn Write + Send>>>,
    /// The reader has closed the pipe.
    closed: Arc<AtomicBool>,
    /// Bytes are data and written unchanged.
    raw: bool,
    /// Nothing is written.
    quiet: bool,
    /// The width in characters, if it is a terminal.
    pub width: Option<usize>,
    /// Whether colours may be used.
    pub colour: bool,
}

impl Stream {
    /// A stream that is not a terminal.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Stream {
            out: Arc::new(Mutex::new(out)),
            closed: Arc::default(),
            raw: false,
            quiet: false,
            width: None,
            colour: false,
        }
    }

    /// The same stream as a terminal of this width, with colours or without.
    pub fn terminal(self, width: usize, colour: bool) -> Self {
        Stream { width: Some(width), colour, ..self }
    }

    /// The same stream for data, written unchanged.
    pub fn raw(&self) -> Self {
        Stream { raw: true, ..self.clone() }
    }

    /// The same stream, but nothing is written to it and no progress is shown on it, except through [`Stream::loud`].
    pub fn quiet(&self) -> Self {
        Stream { quiet: true, width: None, ..self.clone() }
    }

    /// The same stream for what must be told.
    pub fn loud(&self) -> Self {
        Stream { quiet: false, ..self.clone() }
    }

    /// Whether the reader has closed the pipe.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// `text` in bold, where colours may be used.
    pub fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    /// `text` dimmed, where colours may be used.
    pub fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    /// `text` in red, where colours may be used.
    pub fn red(&self, text: &str) -> String {
        self.paint("31;1", text)
    }

    /// `text` in green, where colours may be used.
    pub fn green(&self, text: &str) -> String {
        self.paint("32", text)
    }

    /// `text` in yellow, where colours may be used.
    pub fn yellow(&self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("{STYLE}{code}m{text}{STYLE}0m") } else { text.to_owned() }
    }

    pub(crate) fn flush_now(&mut self) -> std::io::Result<()> {
        self.with(|out| out.flush())
    }

    fn with<T>(&self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<T>) -> std::io::Result<T> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let result = write(&mut **out);
        if result.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) {
            self.closed.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.quiet {
            return Ok(bytes.len());
        }
        if self.raw {
            return self.with(|out| out.write(bytes));
        }
        self.with(|out| out.write_all(&escape(bytes))).map(|()| bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.flush_now()
    }
}
