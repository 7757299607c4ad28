//! Coroutines over the bytes of one file, checked against its seal where it has one.
//!
//! [`Io`] is that of [`colkit_core::coroutine`] and the [`Seal`] together, so that code which reads need not know whether
//! there is one.

use crate::seal::Seal;
use bytes::Bytes;
use colkit_core::coroutine as core;
pub(crate) use colkit_core::coroutine::{BoxFuture, join_all};
use colkit_core::{Boxed, ByteRange, Machine, Result, Step};
use std::future::Future;
use std::sync::Arc;

/// Through which a coroutine asks for bytes.
#[derive(Clone)]
pub(crate) struct Io {
    unchecked: core::Io,
    /// What proves the bytes, if anything does.
    seal: Option<Arc<Seal>>,
}

impl Io {
    /// The same, whose bytes are proven by this.
    pub fn sealed(&self, seal: Option<Arc<Seal>>) -> Io {
        Io { unchecked: self.unchecked.clone(), seal }
    }

    /// These bytes, in this order, proven if the file has a seal. Empty ranges are answered without asking.
    pub async fn read(&self, ranges: Vec<ByteRange>) -> Result<Vec<Bytes>> {
        match &self.seal {
            Some(seal) => seal.read(self, &ranges).await,
            None => self.fetch(ranges).await,
        }
    }

    /// These bytes, in this order, as they come.
    pub async fn fetch(&self, ranges: Vec<ByteRange>) -> Result<Vec<Bytes>> {
        self.unchecked.read(ranges).await
    }

    /// The bytes of one range.
    pub async fn read_one(&self, range: ByteRange) -> Result<Bytes> {
        Ok(self.read(vec![range]).await?.pop().unwrap_or_default())
    }

    /// Runs another machine as a part of this computation.
    pub async fn run<T>(&self, mut machine: Boxed<T>) -> Result<T> {
        self.next(machine.as_mut()).await
    }

    /// Runs another machine to its next result.
    pub async fn next<T>(&self, machine: &mut dyn Machine<Output = T>) -> Result<T> {
        let mut got = Vec::new();
        loop {
            match machine.step(got)? {
                Step::Need(ranges) => got = self.read(ranges).await?,
                Step::Ready(value) => return Ok(value),
            }
        }
    }
}

/// Makes a machine of an `async` function.
pub(crate) fn coroutine<T, F>(body: impl FnOnce(Io) -> F) -> Boxed<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    sealed(None, body)
}

/// Makes a machine of an `async` function whose bytes are proven by this.
pub(crate) fn sealed<T, F>(seal: Option<Arc<Seal>>, body: impl FnOnce(Io) -> F) -> Boxed<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    core::coroutine(|unchecked| body(Io { unchecked, seal }))
}
