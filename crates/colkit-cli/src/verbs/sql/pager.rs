//! Shows answers that are longer than the terminal in the pager that `PAGER` names.

use super::interrupt;
use crate::args::SqlArgs;
use crate::{Io, Stream};
use colkit::Result;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The pager that somebody on a terminal wants.
pub fn wanted(args: &SqlArgs, io: &Io) -> Option<String> {
    if args.no_pager || io.stdout.width.is_none() || !std::io::stdout().is_terminal() {
        return None;
    }
    std::env::var("PAGER").ok().filter(|command| !command.trim().is_empty())
}

/// Keeps an answer until it is longer than the terminal, and then hands it to a pager.
pub struct Pager {
    pages: Arc<Mutex<Pages>>,
    stream: Stream,
    command: String,
}

struct Pages {
    command: String,
    /// Lines that the terminal has room for.
    height: usize,
    /// What has been written while there is no pager.
    kept: Vec<u8>,
    lines: usize,
    pager: Option<Child>,
    /// The pager could not be started.
    failed: bool,
}

impl Pager {
    pub fn new(command: &str, io: &Io) -> Self {
        // One line is for the prompt, one for what follows the answer.
        let height = terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0)).saturating_sub(2);
        let pages =
            Pages { command: command.to_owned(), height, kept: Vec::new(), lines: 0, pager: None, failed: false };
        let pages = Arc::new(Mutex::new(pages));
        // less shows colours only if it is told to.
        let colour = io.stdout.colour && std::env::var("LESS").map_or(true, |less| less.contains(['R', 'r']));
        let stream = Stream::new(Box::new(PagesWriter(pages.clone())));
        let stream = stream.terminal(io.stdout.width.unwrap_or(80), colour);
        Pager { pages, stream, command: command.to_owned() }
    }

    /// Where the answer is written to. It is closed once the pager has been left.
    pub fn stream(&self) -> Stream {
        self.stream.clone()
    }

    /// Prints a short answer, or waits until the pager is left.
    pub fn finish(self, io: &mut Io) -> Result<()> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut pager) = pages.pager.take() else {
            // Escaped when it was written.
            io.stdout.raw().write_all(&pages.kept)?;
            return Ok(io.stdout.flush()?);
        };
        drop(pager.stdin.take());
        let status = interrupt::leave_to_pager(|| pager.wait())?;
        // What a shell says of commands that it cannot run.
        if matches!(status.code(), Some(126 | 127)) {
            writeln!(io.stderr, "note: PAGER names {:?}, which cannot be run; --no-pager does without", self.command)?;
        }
        Ok(())
    }
}

impl Pages {
    /// The pager, started once there are too many lines.
    fn start(&mut self) -> std::io::Result<()> {
        let mut command = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
        command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(&self.command).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let Ok(pager) = command.spawn() else {
            self.failed = true;
            return Ok(());
        };
        self.pager = Some(pager);
        let kept = std::mem::take(&mut self.kept);
        self.give(&kept)
    }

    fn give(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self.pager.as_mut().and_then(|p| p.stdin.as_mut()) {
            Some(pager) => pager.write_all(bytes),
            None => Err(ErrorKind::BrokenPipe.into()),
        }
    }
}

struct PagesWriter(Arc<Mutex<Pages>>);

impl Write for PagesWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.pager.is_some() {
            return pages.give(bytes).map(|()| bytes.len());
        }
        if pages.failed {
            return std::io::stdout().write_all(bytes).map(|()| bytes.len());
        }
        pages.kept.extend_from_slice(bytes);
        pages.lines += bytes.iter().filter(|b| **b == b'\n').count();
        if pages.lines > pages.height {
            pages.start()?;
            if pages.failed {
                let kept = std::mem::take(&mut pages.kept);
                std::io::stdout().write_all(&kept)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
