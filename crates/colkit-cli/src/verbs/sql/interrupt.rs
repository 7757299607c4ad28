//! Ctrl-C. In the shell it stops the running query; otherwise it ends the command. Nothing is left behind either way.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use tokio::sync::Notify;

/// Told of every Ctrl-C while the shell runs a query.
static PRESSED: Notify = Notify::const_new();

/// Whether the shell is waiting for a query.
static WAITING: AtomicBool = AtomicBool::new(false);

/// Whether a pager shows an answer that is complete. Ctrl-C is for the pager then.
static PAGING: AtomicBool = AtomicBool::new(false);

/// Leaves Ctrl-C to a pager while `wait` waits for it.
pub fn leave_to_pager<T>(wait: impl FnOnce() -> T) -> T {
    PAGING.store(true, Ordering::Relaxed);
    let done = wait();
    PAGING.store(false, Ordering::Relaxed);
    done
}

/// Temporary folders to remove.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on, Ctrl-C removes this folder if it ends the command.
pub fn remove_at_end(folder: &Path) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_path_buf());
    listen();
}

/// Listens to Ctrl-C. Where that cannot be done, it ends the command as usual.
pub fn listen() {
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| {
        let _ = ctrlc::set_handler(pressed);
    });
}

fn pressed() {
    if PAGING.load(Ordering::Relaxed) {
        return;
    }
    // Pressed once more before the query has stopped, it ends the command.
    if WAITING.swap(false, Ordering::Relaxed) {
        return PRESSED.notify_one();
    }
    for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = std::fs::remove_dir_all(folder);
    }
    end();
}

#[expect(clippy::exit, reason = "what a signal does that nobody handles")]
fn end() -> ! {
    std::process::exit(130)
}

/// Ctrl-C, once the shell waits for it.
pub struct Interrupts {
    shell: bool,
}

impl Interrupts {
    /// Nobody waits: Ctrl-C ends the command.
    pub fn none() -> Self {
        Interrupts { shell: false }
    }

    /// A statement of the shell begins. What was pressed before does not count.
    pub fn of_statement() -> Self {
        listen();
        use futures::FutureExt;
        let _ = PRESSED.notified().now_or_never();
        WAITING.store(true, Ordering::Relaxed);
        Interrupts { shell: true }
    }

    /// Whether somebody waits for Ctrl-C.
    pub fn is_shell(&self) -> bool {
        self.shell
    }

    /// Comes back when Ctrl-C is pressed.
    pub async fn pressed(&self) {
        match self.shell {
            true => PRESSED.notified().await,
            false => std::future::pending().await,
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        if self.shell {
            WAITING.store(false, Ordering::Relaxed);
        }
    }
}
