//! Work on all cores, output in order. The only place in this crate that knows threads.
//!
//! The work comes as pieces, each of which writes its part of the output. Workers take pieces in order; what a piece
//! writes waits in a short queue of its own until all pieces before it are through. A worker that is too far ahead, or
//! whose queue is full, or whose memory is not to be had at the moment, waits. The front piece never waits for memory, so the work always
//! goes on, and what is held is bounded by the limit plus what the pieces behind the front hold within the same limit.

use crate::backend::too_large;
use crate::output::{Behind, Output};
use colkit_core::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A part of the work that can be done on its own.
pub type Piece<'a> = Box<dyn FnOnce(&mut Output<'_>) -> Result<()> + Send + 'a>;

/// How much of everything may be used.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// Threads.
    pub threads: usize,
    /// Bytes of memory for unpacked streams.
    pub memory: u64,
    /// Bytes of output.
    pub output: u64,
}

/// Bytes of output that wait to be taken at most (and one chunk more for each piece), however much memory there is.
const WAITING: usize = 64 << 20;

/// Does all pieces and gives their output to `take`, in order.
pub fn in_order<'a>(
    mut pieces: impl Iterator<Item = Piece<'a>> + Send,
    means: Means,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if means.threads <= 1 {
        let mut alone = Alone { take, means };
        return pieces.try_for_each(|piece| run(piece, &mut alone));
    }
    let crew = Crew {
        pieces: Mutex::new(pieces),
        state: Mutex::new(State { queues: VecDeque::new(), front: 0, started: 0, all_started: false, stop: false }),
        changed: Condvar::new(),
        means,
        window: means.threads.saturating_add(2),
        waiting: usize::try_from(means.memory / 4).unwrap_or(usize::MAX).min(WAITING),
    };
    std::thread::scope(|scope| {
        for started in 0..means.threads {
            match std::thread::Builder::new().spawn_scoped(scope, || crew.work()) {
                // One is enough.
                Err(_) if started > 0 => break,
                Err(e) => return Err(e.into()),
                Ok(_) => {}
            }
        }
        let result = crew.consume(take);
        crew.lock().stop = true;
        crew.changed.notify_all();
        result
    })
}

fn run(piece: Piece<'_>, behind: &mut dyn Behind) -> Result<()> {
    let mut out = Output::new(behind);
    piece(&mut out)?;
    out.flush()
}

/// Output of the only thread goes straight to its taker.
struct Alone<'a> {
    take: &'a mut dyn FnMut(&[u8]) -> Result<()>,
    means: Means,
}

impl Behind for Alone<'_> {
    fn hand_on(&mut self, bytes: Vec<u8>) -> Result<()> {
        (self.take)(&bytes)
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.means.memory { Err(too_large(bytes, self.means.memory)) } else { Ok(()) }
    }

    fn ceiling(&self) -> u64 {
        self.means.output
    }
}

struct Crew<I> {
    /// What is left to start. Locked apart from the rest, since finding the next piece may take a while.
    pieces: Mutex<I>,
    state: Mutex<State>,
    changed: Condvar,
    means: Means,
    /// Pieces that may be started and not yet consumed.
    window: usize,
    /// Bytes of output that may wait to be taken.
    waiting: usize,
}

struct State {
    /// One for each piece that was started and is not consumed yet.
    queues: VecDeque<Queue>,
    /// Number of the piece that `queues` begins with.
    front: usize,
    /// Pieces started so far.
    started: usize,
    all_started: bool,
    stop: bool,
}

#[derive(Default)]
struct Queue {
    chunks: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Memory the piece holds.
    held: u64,
    result: Option<Result<()>>,
}

impl State {
    fn queue(&mut self, number: usize) -> Option<&mut Queue> {
        number.checked_sub(self.front).and_then(|i| self.queues.get_mut(i))
    }
}

impl<'a, I: Iterator<Item = Piece<'a>> + Send> Crew<I> {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Poisoned means that a worker panicked; its guard has left an error for the consumer.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Option<(usize, Piece<'a>)> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        while state.queues.len() >= self.window && !state.stop {
            state = self.wait(state);
        }
        if state.stop {
            return None;
        }
        drop(state);
        let piece = pieces.next();
        let mut state = self.lock();
        let started = match piece {
            Some(piece) => {
                state.queues.push_back(Queue::default());
                state.started += 1;
                Some((state.started - 1, piece))
            }
            None => {
                state.all_started = true;
                None
            }
        };
        self.changed.notify_all();
        started
    }

    fn work(&self) {
        while let Some((number, piece)) = self.start() {
            let mut desk = Desk { crew: self, number, finished: false };
            let result = run(piece, &mut desk);
            desk.finish(result);
        }
    }

    fn consume(&self, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut state = self.lock();
        loop {
            let all_started = state.all_started;
            match state.queues.front_mut() {
                None if all_started => return Ok(()),
                None => state = self.wait(state),
                Some(queue) => {
                    if let Some(chunk) = queue.chunks.pop_front() {
                        queue.bytes -= chunk.len();
                        drop(state);
                        self.changed.notify_all();
                        take(&chunk)?;
                        state = self.lock();
                    } else if let Some(result) = queue.result.take() {
                        result?;
                        state.queues.pop_front();
                        state.front += 1;
                        self.changed.notify_all();
                    } else {
                        state = self.wait(state);
                    }
                }
            }
        }
    }
}

/// Where one piece is worked on.
struct Desk<'c, I> {
    crew: &'c Crew<I>,
    number: usize,
    finished: bool,
}

impl<'a, I: Iterator<Item = Piece<'a>> + Send> Desk<'_, I> {
    fn finish(&mut self, result: Result<()>) {
        self.finished = true;
        let mut state = self.crew.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = state.queue(self.number) {
            queue.held = 0;
            queue.result = Some(result);
        }
        drop(state);
        self.crew.changed.notify_all();
    }
}

impl<'a, I: Iterator<Item = Piece<'a>> + Send> Behind for Desk<'_, I> {
    fn hand_on(&mut self, bytes: Vec<u8>) -> Result<()> {
        let mut state = self.crew.lock();
        loop {
            if state.stop {
                return Err(Error::internal("the work was stopped"));
            }
            let Some(queue) = state.queue(self.number) else { return Ok(()) };
            if queue.bytes < self.crew.waiting / self.crew.window {
                queue.bytes += bytes.len();
                queue.chunks.push_back(bytes);
                drop(state);
                self.crew.changed.notify_all();
                return Ok(());
            }
            state = self.crew.wait(state);
        }
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.crew.means.memory {
            return Err(too_large(bytes, self.crew.means.memory));
        }
        let mut state = self.crew.lock();
        loop {
            if state.stop {
                return Err(Error::internal("the work was stopped"));
            }
            let is_front = state.front == self.number;
            if let Some(queue) = state.queue(self.number) {
                queue.held = 0;
            }
            let others: u64 = state.queues.iter().map(|q| q.held).sum();
            if is_front || others.saturating_add(bytes) <= self.crew.means.memory {
                if let Some(queue) = state.queue(self.number) {
                    queue.held = bytes;
                }
                return Ok(());
            }
            state = self.crew.wait(state);
        }
    }

    fn ceiling(&self) -> u64 {
        self.crew.means.output
    }
}

impl<I> Drop for Desk<'_, I> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // Only a panic leads here: tell the consumer, who would wait for ever.
        let mut state = self.crew.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = state.queue(self.number) {
            queue.result = Some(Err(Error::panicked("a worker")));
        }
        drop(state);
        self.crew.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect<'a>(pieces: Vec<Piece<'a>>, threads: usize, memory: u64) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        in_order(pieces.into_iter(), Means { threads, memory, output: u64::MAX }, &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }

    fn numbers(count: u32) -> Vec<Piece<'static>> {
        let piece = |i: u32| -> Piece<'static> {
            Box::new(move |out| {
                out.hold(60)?;
                (0..i % 7 * 20_000).try_for_each(|k| out.put(&(i * 1_000_000 + k).to_le_bytes()))
            })
        };
        (0..count).map(piece).collect()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_output() {
        let expected = collect(numbers(40), 1, 100).unwrap();
        for threads in [2, 5] {
            assert!(collect(numbers(40), threads, 100).unwrap() == expected, "{threads} threads");
        }
    }

    #[test]
    fn the_first_error_in_order_is_reported_and_nobody_waits_for_ever() {
        for threads in [1, 3] {
            let mut pieces = numbers(10);
            pieces[4] = Box::new(|_| Err(Error::corrupt("x", "four")));
            pieces[6] = Box::new(|_| Err(Error::corrupt("y", "six")));
            assert_eq!(collect(pieces, threads, 100).unwrap_err().code(), "x");
            assert_eq!(collect(numbers(3), threads, 59).unwrap_err().code(), "limit_exceeded");
        }
    }
}
