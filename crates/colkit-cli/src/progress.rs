//! A progress bar on a terminal, for what takes longer than a second.
//!
//! It polls how many bytes of the inputs have been read. That says how much is left where what is read is worked on at once; where it
//! is not, no time is promised. When all is read and work goes on, the bar says that.

use crate::{Io, Listener, human};
use colkit::Input;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
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
    /// How much will be read is not known yet.
    #[cfg(feature = "sql")]
    Open,
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

    /// Watches a query: `measure` gives the bytes read and those planned so far, which become more as it opens files.
    #[cfg(feature = "sql")]
    pub fn watch_query(io: &Io, measure: impl Fn() -> (u64, u64) + Send + 'static) -> Progress {
        Self::poll(io, "querying", measure, Pace::Open)
    }

    fn start(io: &Io, doing: &'static str, inputs: &[Input], total: u64, pace: Pace) -> Progress {
        let inputs = inputs.to_vec();
        let read = move || inputs.iter().map(|i| i.read_count().bytes).sum::<u64>();
        let before = read();
        Self::poll(io, doing, move || (read().saturating_sub(before), total), pace)
    }

    fn poll(io: &Io, doing: &'static str, measure: impl Fn() -> (u64, u64) + Send + 'static, pace: Pace) -> Progress {
        if let Some(listener) = io.listener.clone() {
            return Self::tell(listener, doing, measure);
        }
        if io.stderr.width.is_none() {
            return Progress(None);
        }
        let (stop, stopped) = channel::<()>();
        let spawned = std::thread::Builder::new().name("colkit-progress".into()).spawn(move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let (read, total) = measure();
            let mut shown = pace.template(read, total);
            let bar = bar(doing, total, shown);
            loop {
                let (read, total) = measure();
                let template = pace.template(read, total);
                if std::mem::replace(&mut shown, template) != template {
                    set_style(&bar, template);
                }
                bar.set_length(total);
                bar.set_position(read.min(total));
                // Also where nothing is read, time passes.
                bar.tick();
                if stopped.recv_timeout(Duration::from_millis(100)) != Err(RecvTimeoutError::Timeout) {
                    return bar.finish_and_clear();
                }
            }
        });
        Progress(spawned.ok().map(|thread| Watch { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Progress {
    /// Tells a listener instead of drawing a bar.
    fn tell(listener: Listener, doing: &'static str, measure: impl Fn() -> (u64, u64) + Send + 'static) -> Progress {
        let (stop, stopped) = channel::<()>();
        let spawned = std::thread::Builder::new().name("colkit-progress".into()).spawn(move || {
            loop {
                let (read, total) = measure();
                listener(doing, read.min(total), total);
                if stopped.recv_timeout(Duration::from_millis(100)) != Err(RecvTimeoutError::Timeout) {
                    let (read, total) = measure();
                    return listener(doing, read.min(total), total);
                }
            }
        });
        Progress(spawned.ok().map(|thread| Watch { stop: Some(stop), thread: Some(thread) }))
    }
}

/// Everything is read, but the work is not done.
const ALL_READ: &str = "{msg}: all {binary_total_bytes} read, working for {elapsed}";

impl Pace {
    /// What is shown when so much has been read.
    fn template(self, read: u64, total: u64) -> &'static str {
        match self {
            #[cfg(feature = "sql")]
            Pace::Open if total == 0 => "{msg} for {elapsed}",
            #[cfg(feature = "sql")]
            Pace::Open if read < total => "{msg}: {binary_bytes} of {binary_total_bytes} read, {elapsed}",
            Pace::Even if read < total => {
                "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}, {mean_rate}, {time_left} left"
            }
            Pace::Uneven if read < total => "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} read, {elapsed}",
            _ => ALL_READ,
        }
    }
}

fn bar(doing: &'static str, total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    set_style(&bar, template);
    // The bar appears late; rate and time left count from when the work began.
    bar.set_elapsed(PATIENCE);
    bar.set_message(doing);
    bar
}

/// Rate and time left are means since the start. A bar that estimates them from recent steps takes its first step, which covers
/// everything read before the bar appeared, for a burst.
fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        let rate = |state: &ProgressState, to: &mut dyn Write| {
            let _ = write!(to, "{}/s", human::bytes(mean_rate(state.pos(), state.elapsed())));
        };
        let left = |state: &ProgressState, to: &mut dyn Write| {
            let left = time_left(state.pos(), state.len().unwrap_or(0), state.elapsed());
            let _ = write!(to, "{:#}", HumanDuration(left));
        };
        bar.set_style(style.with_key("mean_rate", rate).with_key("time_left", left));
    }
}

/// Bytes per second.
fn mean_rate(read: u64, elapsed: Duration) -> u64 {
    let rate = u128::from(read) * 1000 / elapsed.as_millis().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// The time that the rest takes at the mean rate.
fn time_left(read: u64, total: u64, elapsed: Duration) -> Duration {
    let milliseconds = elapsed.as_millis() * u128::from(total.saturating_sub(read)) / u128::from(read.max(1));
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_left_are_means_since_the_start() {
        let second = Duration::from_secs(1);
        assert_eq!(mean_rate(14 << 20, second), 14 << 20);
        assert_eq!(time_left(14, 100, second), Duration::from_millis(6142));
        assert_eq!(time_left(100, 100, second), Duration::ZERO);
        assert_eq!(mean_rate(u64::MAX, Duration::ZERO), u64::MAX);
        assert!(time_left(0, u64::MAX, second) > Duration::from_secs(1 << 40));
    }
}
