//! Machines written as straight-line code.
//!
//! A computation that needs bytes in several dependent rounds (a footer first, then what it points at) is easiest to
//! read as an `async` function that awaits [`Io::read`]. [`coroutine`] makes a [`Machine`] of such a function: each step polls
//! it once, whatever it asked for meanwhile is the step's [`Step::Need`], and the next step brings the answers. Nothing waits
//! and nothing wakes: there is no runtime, no task and no thread.
//!
//! ```
//! use bytes::Bytes;
//! use colkit_core::coroutine::coroutine;
//! use colkit_core::drive::blocking;
//! use colkit_core::{ByteRange, Machine, Step};
//!
//! // The first byte says where the other one is.
//! let follow = || {
//!     coroutine(|io| async move {
//!         let pointer = io.read_one(ByteRange::at(0, 1)?).await?;
//!         io.read_one(ByteRange::at(u64::from(pointer[0]), 1)?).await
//!     })
//! };
//! assert_eq!(blocking::run(follow(), &Bytes::from_static(b"\x02ab"))?, "b");
//!
//! // Any other host steps through it.
//! let mut machine = follow();
//! let byte = |at| vec![ByteRange::between(at, at + 1)];
//! assert!(matches!(machine.step(vec![])?, Step::Need(ranges) if ranges == byte(0)));
//! assert!(matches!(machine.step(vec!["\x02".into()])?, Step::Need(ranges) if ranges == byte(2)));
//! assert!(matches!(machine.step(vec!["b".into()])?, Step::Ready(bytes) if bytes == "b"));
//! # Ok::<(), colkit_core::Error>(())
//! ```
//!
//! The one invariant: whoever polls a coroutine polls all its unfinished parts ([`join_all`] does), so that every
//! read asked for in one step is picked up in the next. Futures that wait for anything but an [`Io`] never finish.

use crate::{Boxed, ByteRange, Class, Error, Machine, Result, Step};
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A future on the heap that may move between threads.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// Through which a coroutine asks for bytes. Clones belong to the same coroutine.
#[derive(Clone, Default)]
pub struct Io(Arc<Mutex<Exchange>>);

#[derive(Default)]
struct Exchange {
    asked: Vec<ByteRange>,
    got: Vec<Bytes>,
    round: u64,
}

impl Io {
    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These bytes, in this order. Empty ranges are answered without asking.
    pub async fn read(&self, ranges: Vec<ByteRange>) -> Result<Vec<Bytes>> {
        if ranges.iter().all(|r| !r.is_empty()) {
            return Read { io: self, ranges, ticket: None }.await;
        }
        let asked = ranges.iter().copied().filter(|r| !r.is_empty()).collect();
        let mut got = Read { io: self, ranges: asked, ticket: None }.await?.into_iter();
        let answer = |r: &ByteRange| if r.is_empty() { Bytes::new() } else { got.next().unwrap_or_default() };
        Ok(ranges.iter().map(answer).collect())
    }

    /// The bytes of one range.
    pub async fn read_one(&self, range: ByteRange) -> Result<Bytes> {
        Ok(self.read(vec![range]).await?.pop().unwrap_or_default())
    }
}

/// A read under way.
struct Read<'a> {
    io: &'a Io,
    ranges: Vec<ByteRange>,
    /// The round that brings the answer, and where it starts in it.
    ticket: Option<(u64, usize)>,
}

impl Future for Read<'_> {
    type Output = Result<Vec<Bytes>>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.ranges.is_empty() {
            return Poll::Ready(Ok(Vec::new()));
        }
        let mut exchange = self.io.lock();
        match self.ticket {
            None => {
                self.ticket = Some((exchange.round + 1, exchange.asked.len()));
                exchange.asked.extend_from_slice(&self.ranges);
                Poll::Pending
            }
            Some((round, _)) if round > exchange.round => Poll::Pending,
            Some((_, start)) => {
                let answers = exchange.got.get_mut(start..start.saturating_add(self.ranges.len()));
                let taken = answers.map(|a| a.iter_mut().map(std::mem::take).collect::<Vec<_>>());
                let whole = taken.filter(|t| t.iter().zip(&self.ranges).all(|(b, r)| b.len() as u64 == r.len()));
                Poll::Ready(
                    whole.ok_or_else(|| {
                        Error::new(Class::Io, "short_read", "the host brought other bytes than asked for")
                    }),
                )
            }
        }
    }
}

/// Makes a machine of an `async` function.
pub fn coroutine<T, F>(body: impl FnOnce(Io) -> F) -> Boxed<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let io = Io::default();
    let future = Box::pin(body(io.clone()));
    Box::new(Coroutine { io, future: Some(future) })
}

struct Coroutine<T> {
    io: Io,
    future: Option<BoxFuture<T>>,
}

impl<T: Send> Machine for Coroutine<T> {
    type Output = T;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<T>> {
        let Some(future) = &mut self.future else {
            return Err(Error::internal("the machine has given its result already"));
        };
        {
            let mut exchange = self.io.lock();
            exchange.got = got;
            exchange.round += 1;
        }
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => {
                self.future = None;
                Ok(Step::Ready(result?))
            }
            Poll::Pending => {
                let asked = std::mem::take(&mut self.io.lock().asked);
                if asked.is_empty() {
                    return Err(Error::internal("a computation waits for nothing"));
                }
                Ok(Step::Need(asked))
            }
        }
    }
}

/// The result of an `async` function that waits for nothing: for code that is written once for a host and for files at hand.
pub fn at_once<T>(future: impl Future<Output = T>) -> Result<T> {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => Err(Error::internal("a computation waits for a host that is not there")),
    }
}

/// Runs all of them side by side: what they need is asked for together.
pub async fn join_all<T>(futures: Vec<BoxFuture<T>>) -> Result<Vec<T>> {
    if futures.len() == 1 {
        // The common case of one page needs no bookkeeping.
        let mut only = Vec::with_capacity(1);
        for future in futures {
            only.push(future.await?);
        }
        return Ok(only);
    }
    Join { parts: futures.into_iter().map(Part::Running).collect() }.await
}

enum Part<T> {
    Running(BoxFuture<T>),
    Done(T),
    Taken,
}

struct Join<T> {
    parts: Vec<Part<T>>,
}

impl<T> Unpin for Join<T> {}

impl<T> Future for Join<T> {
    type Output = Result<Vec<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiting = false;
        for part in &mut self.parts {
            if let Part::Running(future) = part {
                match future.as_mut().poll(context) {
                    Poll::Pending => waiting = true,
                    Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
                    Poll::Ready(Ok(value)) => *part = Part::Done(value),
                }
            }
        }
        if waiting {
            return Poll::Pending;
        }
        let take = |part: &mut Part<T>| match std::mem::replace(part, Part::Taken) {
            Part::Done(value) => Some(value),
            Part::Running(_) | Part::Taken => None,
        };
        Poll::Ready(Ok(self.parts.iter_mut().filter_map(take).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::blocking;

    #[test]
    fn parts_that_run_side_by_side_ask_together() {
        let first = |io: Io, at: u64| -> BoxFuture<Vec<u8>> {
            Box::pin(async move {
                let pointer = io.read_one(ByteRange::at(at, 1)?).await?;
                let target = u64::from(pointer.first().copied().unwrap_or(0));
                Ok(io.read_one(ByteRange::at(target, 2)?).await?.to_vec())
            })
        };
        let make = || coroutine(move |io| async move { join_all(vec![first(io.clone(), 0), first(io, 1)]).await });
        let bytes = Bytes::from_static(&[3, 5, 0, 10, 11, 12, 13, 14]);
        assert_eq!(blocking::run(make(), &bytes).unwrap(), vec![vec![10, 11], vec![12, 13]]);
        let mut machine = make();
        let Ok(Step::Need(ranges)) = machine.step(Vec::new()) else { panic!("needs bytes") };
        assert_eq!(ranges, vec![ByteRange::between(0, 1), ByteRange::between(1, 2)]);
    }

    #[test]
    fn empty_ranges_are_not_asked_for() {
        let machine = coroutine(|io| async move {
            io.read(vec![ByteRange::between(9, 9), ByteRange::between(0, 1), ByteRange::between(4, 4)]).await
        });
        let got = blocking::run(machine, &Bytes::from_static(b"x")).unwrap();
        assert_eq!(got.iter().map(Bytes::len).collect::<Vec<_>>(), vec![0, 1, 0]);
    }
}
