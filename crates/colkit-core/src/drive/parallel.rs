//! The same work on many things, on several threads.

use super::allowed;
use crate::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs `work` on this thread and on up to `threads` - 1 more, and waits for all. If the system has no thread left, or the
/// feature `threads` is off, fewer do it: the work must be such that anyone can do all of it.
pub fn share(threads: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 1..allowed(threads) {
            if std::thread::Builder::new().spawn_scoped(scope, &work).is_err() {
                break;
            }
        }
        work();
    });
}

/// Applies `work` to every item on up to `threads` threads. The results come in the order of the items; after an
/// error nothing new is started, and the first error in that order is returned.
pub fn map<T: Send, R: Send>(items: Vec<T>, threads: usize, work: impl Fn(T) -> Result<R> + Sync) -> Result<Vec<R>> {
    if threads <= 1 || items.len() <= 1 {
        return items.into_iter().map(work).collect();
    }
    let threads = threads.min(items.len());
    let queue = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let failed = AtomicBool::new(false);
    share(threads, || {
        while !failed.load(Ordering::Relaxed) {
            let Some((i, item)) = queue.lock().unwrap_or_else(PoisonError::into_inner).next() else { break };
            let result = work(item);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((i, result));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn results_keep_their_order_and_errors_stop() {
        let squares = map((0..1000u64).collect(), 4, |n| Ok(n * n)).unwrap();
        assert_eq!(squares, (0..1000).map(|n| n * n).collect::<Vec<u64>>());
        let error =
            map(
                (0..1000u64).collect(),
                4,
                |n| {
                    if n >= 500 { Err(Error::request("stop", format!("{n}"))) } else { Ok(n) }
                },
            );
        assert_eq!(error.unwrap_err().code(), "stop");
    }
}
