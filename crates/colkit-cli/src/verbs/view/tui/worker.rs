//! Work that the keys do not wait for: each worker does the newest thing that it was asked for, and stops what came before.

use colkit::{Result, Stop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

type Task = Box<dyn FnOnce(&Stop) + Send>;

/// A thread that works on one thing at a time.
pub struct Worker(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next: Option<Task>,
    running: Option<Stop>,
    panicked: bool,
    ended: bool,
}

impl Worker {
    pub fn start(name: &str) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        std::thread::Builder::new().name(format!("colkit-{name}")).spawn(move || own.work())?;
        Ok(Worker(shared))
    }

    /// Does this next, instead of what waits or runs.
    pub fn ask(&self, task: impl FnOnce(&Stop) + Send + 'static) {
        let mut state = self.0.lock();
        if let Some(running) = &state.running {
            running.now();
        }
        state.next = Some(Box::new(task));
        self.0.changed.notify_one();
    }

    /// Stops what waits or runs.
    pub fn stop(&self) {
        let mut state = self.0.lock();
        state.next = None;
        if let Some(running) = &state.running {
            running.now();
        }
    }

    /// Whether there is something to do.
    pub fn is_busy(&self) -> bool {
        let state = self.0.lock();
        state.next.is_some() || state.running.is_some()
    }

    /// Whether something panicked: a bug, which has been told.
    pub fn has_panicked(&self) -> bool {
        self.0.lock().panicked
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
        self.0.lock().ended = true;
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        while !state.ended {
            let Some(task) = state.next.take() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let stop = Stop::new();
            state.running = Some(stop.clone());
            drop(state);
            let done = catch_unwind(AssertUnwindSafe(|| task(&stop)));
            state = self.lock();
            state.running = None;
            state.panicked |= done.is_err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn the_newest_task_stops_the_others() {
        let worker = Worker::start("test").unwrap();
        let (told, heard) = channel();
        let (started, running) = channel();
        let first = told.clone();
        worker.ask(move |stop| {
            started.send(()).unwrap();
            while stop.check().is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
            first.send(1).unwrap();
        });
        running.recv().unwrap();
        assert!(worker.is_busy());
        for number in 2..10 {
            let told = told.clone();
            worker.ask(move |_| told.send(number).unwrap());
        }
        drop(told);
        let done: Vec<i32> = heard.iter().collect();
        assert!(done.first() == Some(&1) && done.last() == Some(&9) && done.len() < 9, "{done:?}");
        assert!(!worker.has_panicked());
    }
}
