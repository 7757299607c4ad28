//! A progress bar on a terminal, for what takes longer than a second.
//!
//! It polls how many bytes of the inputs have been read. That says how much is left where what is read is worked on at once; where it
//! is not, no time is promised. When all is read and work goes on, the bar says that.

use crate::Io;
use colkit::Input;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// No progress is shown for shorter operations.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches inputs until it is dropped.
pub struct Progress(#[expect(dead_code, reason = "kept for its drop")] Option<Watch>);

struct Watch {
    /// Dropping it ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What bytes read say about the time that is left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// What is read is done.
    Even,
    /// Most of the work comes after reading.
    Uneven,
}

impl Progress {
    /// Watches `inputs`, of which `total` bytes will be read from now on.
    pub fn watch(io: &Io, doing: &'static str, inputs: &[Input], total: u64) -> Progress {
        Self::start(io, doing, inputs, total, Pace::Even)
    }

    /// The same for work of which reading is the smaller part: the time that is left cannot be told.
    pub fn watch_reading(io: &Io, doing: &'static str, inputs: &[Input], total: u64) -> Progress {
        Self::start(io, doing, inputs, total, Pace::Uneven)
    }

    fn start(io: &Io, doing: &'static str, inputs: &[Input], total: u64, pace: Pace) -> Progress {
        if io.stderr.width.is_none() {
            return Progress(None);
        }
        let inputs = inputs.to_vec();
        let read = move || inputs.iter().map(|i| i.read_count().bytes).sum::<u64>();
        let before = read();
        let (stop, stopped) = channel::<()>();
        let spawned = std::thread::Builder::new().name("colkit-progress".into()).spawn(move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = bar(doing, total, pace);
            let mut all_read = false;
            loop {
                let position = read().saturating_sub(before).min(total);
                bar.set_position(position);
                if position == total && !std::mem::replace(&mut all_read, true) {
                    set_style(&bar, ALL_READ);
                }
                if stopped.recv_timeout(Duration::from_millis(100)) != Err(RecvTimeoutError::Timeout) {
                    return bar.finish_and_clear();
                }
            }
        });
        Progress(spawned.ok().map(|thread| Watch { stop: Some(stop), thread: Some(thread) }))
    }
}

/// Everything is read, but the work is not done.
const ALL_READ: &str = "{msg}: all {binary_total_bytes} read, working for {elapsed}";

fn bar(doing: &'static str, total: u64, pace: Pace) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let template = match pace {
        Pace::Even => "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta} left",
        Pace::Uneven => "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} read, {elapsed}",
    };
    set_style(&bar, template);
    // The bar appears late; rate and time left count from when the work began.
    bar.set_elapsed(PATIENCE);
    bar.set_message(doing);
    bar
}

fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
