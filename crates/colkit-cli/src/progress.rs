//! A progress bar on a terminal, for what takes longer than a second.
//!
//! It polls how many bytes of the inputs have been read.

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

impl Progress {
    /// Watches `inputs`, of which `total` bytes will be read from now on.
    pub fn watch(io: &Io, doing: &'static str, inputs: &[Input], total: u64) -> Progress {
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
            let bar = bar(doing, total);
            loop {
                bar.set_position(read().saturating_sub(before).min(total));
                if stopped.recv_timeout(Duration::from_millis(100)) != Err(RecvTimeoutError::Timeout) {
                    return bar.finish_and_clear();
                }
            }
        });
        Progress(spawned.ok().map(|thread| Watch { stop: Some(stop), thread: Some(thread) }))
    }
}

fn bar(doing: &'static str, total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let template = "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    // The bar appears late; rate and time left count from when the work began.
    bar.set_elapsed(PATIENCE);
    bar.set_message(doing);
    bar
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
