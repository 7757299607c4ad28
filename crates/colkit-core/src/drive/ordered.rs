//! Pieces of work on several threads whose output comes out in order.
//!
//! Each piece writes its part of the output. Workers take pieces in order; what a piece writes waits in a short queue of
//! its own until all pieces before it are done. A worker waits if it is too far ahead, if its queue is full, or if the memory
//! it asks for is not free. The front piece never waits for memory, so the work always goes on: what is held is bounded by the
//! budget for the pieces behind the front, plus what the front piece holds within the same budget.

use super::allowed;
use crate::{Error, Limits, Result};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Takes what a piece writes, and grants it memory.
pub trait Receiver {
    /// Takes the next bytes.
    fn write(&mut self, bytes: Vec<u8>) -> Result<()>;

    /// Grants the piece `bytes` of memory in all, instead of what it was granted before. May wait until other pieces are done;
    /// an error if it is more than there is altogether.
    fn hold(&mut self, bytes: u64) -> Result<()>;
}

/// A part of the work that can be done on its own.
pub type Piece<'a> = Box<dyn FnOnce(&mut dyn Receiver) -> Result<()> + Send + 'a>;

/// What may be used.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Threads that do pieces; the one that asks for the output does none if there are several.
    pub threads: usize,
    /// Bytes that all pieces together may hold.
    pub memory: u64,
}

impl Budget {
    /// An error if a piece asks for more than there is.
    pub fn check(&self, bytes: u64) -> Result<()> {
        Limits::check_memory("unpacking", bytes, self.memory)
    }
}

/// Bytes of output that wait to be taken at most (and one chunk more for each piece), however much memory there is.
const MOST_WAITING: usize = 64 << 20;

/// Does all pieces and gives their output to `take`, in order. The first error in that order is returned.
pub fn run<'a>(
    pieces: impl Iterator<Item = Piece<'a>> + Send,
    budget: Budget,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let budget = Budget { threads: allowed(budget.threads), ..budget };
    let threads = budget.threads.min(pieces.size_hint().1.unwrap_or(usize::MAX));
    let pipeline = Pipeline {
        pieces: Mutex::new(pieces),
        state: Mutex::new(State::default()),
        changed: Condvar::new(),
        budget,
        window: threads.saturating_add(2),
        most_waiting: usize::try_from(budget.memory / 4).unwrap_or(usize::MAX).min(MOST_WAITING),
    };
    // Without a worker nobody would say that there is nothing left.
    if budget.threads <= 1 || threads == 0 {
        return pipeline.run_here(take);
    }
    std::thread::scope(|scope| {
        for started in 0..threads {
            if std::thread::Builder::new().spawn_scoped(scope, || pipeline.work()).is_err() {
                match started {
                    0 => return pipeline.run_here(take),
                    _ => break,
                }
            }
        }
        let result = pipeline.consume(take);
        pipeline.lock().stopped = true;
        pipeline.changed.notify_all();
        result
    })
}

/// The only thread hands its output straight on.
struct Direct<'a> {
    take: &'a mut dyn FnMut(&[u8]) -> Result<()>,
    budget: Budget,
}

impl Receiver for Direct<'_> {
    fn write(&mut self, bytes: Vec<u8>) -> Result<()> {
        (self.take)(&bytes)
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        self.budget.check(bytes)
    }
}

/// What workers and the consumer share.
struct Pipeline<I> {
    /// What is left to start. Locked apart from the rest, since finding the next piece may take a while.
    pieces: Mutex<I>,
    state: Mutex<State>,
    changed: Condvar,
    budget: Budget,
    /// Pieces that may be started and not yet consumed.
    window: usize,
    /// Bytes of output that may wait to be taken.
    most_waiting: usize,
}

#[derive(Default)]
struct State {
    /// One for each piece that was started and is not consumed yet.
    queues: VecDeque<Queue>,
    /// Number of the piece that `queues` begins with.
    front: usize,
    /// Pieces started so far.
    started: usize,
    all_started: bool,
    stopped: bool,
}

/// The output of one piece.
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

    fn check_running(&self) -> Result<()> {
        if self.stopped { Err(Error::internal("the work was stopped")) } else { Ok(()) }
    }
}

impl<I> Pipeline<I> {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Poisoned means that a worker panicked; `PieceOutput` has left an error for the consumer.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
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

impl<'a, I: Iterator<Item = Piece<'a>>> Pipeline<I> {
    fn run_here(&self, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut direct = Direct { take, budget: self.budget };
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.try_for_each(|piece| piece(&mut direct))
    }

    fn start(&self) -> Option<(usize, Piece<'a>)> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        while state.queues.len() >= self.window && !state.stopped {
            state = self.wait(state);
        }
        if state.stopped {
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
            let mut output = PieceOutput { pipeline: self, number, finished: false };
            let result = piece(&mut output);
            output.finish(result);
        }
    }
}

/// Where one piece writes to.
struct PieceOutput<'p, I> {
    pipeline: &'p Pipeline<I>,
    number: usize,
    finished: bool,
}

impl<I> PieceOutput<'_, I> {
    fn finish(&mut self, result: Result<()>) {
        self.finished = true;
        if let Some(queue) = self.pipeline.lock().queue(self.number) {
            queue.held = 0;
            queue.result = Some(result);
        }
        self.pipeline.changed.notify_all();
    }
}

impl<I> Receiver for PieceOutput<'_, I> {
    fn write(&mut self, bytes: Vec<u8>) -> Result<()> {
        let mut state = self.pipeline.lock();
        loop {
            state.check_running()?;
            let Some(queue) = state.queue(self.number) else { return Ok(()) };
            if queue.bytes < self.pipeline.most_waiting / self.pipeline.window {
                queue.bytes += bytes.len();
                queue.chunks.push_back(bytes);
                drop(state);
                self.pipeline.changed.notify_all();
                return Ok(());
            }
            state = self.pipeline.wait(state);
        }
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        self.pipeline.budget.check(bytes)?;
        let mut state = self.pipeline.lock();
        loop {
            state.check_running()?;
            let is_front = state.front == self.number;
            if let Some(queue) = state.queue(self.number) {
                queue.held = 0;
            }
            let others: u64 = state.queues.iter().map(|q| q.held).sum();
            if is_front || others.saturating_add(bytes) <= self.pipeline.budget.memory {
                if let Some(queue) = state.queue(self.number) {
                    queue.held = bytes;
                }
                return Ok(());
            }
            state = self.pipeline.wait(state);
        }
    }
}

impl<I> Drop for PieceOutput<'_, I> {
    fn drop(&mut self) {
        // Only a panic leaves a piece unfinished: without an error the consumer would wait forever.
        if !self.finished {
            self.finish(Err(Error::panicked("a worker")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect<'a>(pieces: Vec<Piece<'a>>, threads: usize, memory: u64) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        run(pieces.into_iter(), Budget { threads, memory }, &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }

    fn numbers(count: u32) -> Vec<Piece<'static>> {
        let piece = |i: u32| -> Piece<'static> {
            Box::new(move |out| {
                out.hold(60)?;
                (0..i % 7 * 200).try_for_each(|k| out.write((i * 1_000_000 + k).to_le_bytes().to_vec()))
            })
        };
        (0..count).map(piece).collect()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_output() {
        let expected = collect(numbers(40), 1, 100).unwrap();
        for threads in [2, 5] {
            assert!(collect(Vec::new(), threads, 100).unwrap().is_empty());
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
