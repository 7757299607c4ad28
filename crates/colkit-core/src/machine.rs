//! Computations on bytes that have yet to be read.
//!
//! A format never reads. It requests byte ranges, a driver fetches them, and the computation resumes. Opening a file,
//! planning splits and reading a column are [`Machine`]s. The same machine runs over a local file, an object store or a
//! slice in a test, and exactly the requested ranges are read.

use crate::{ByteRange, Result};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;

/// What a machine says when it is asked to go on.
#[derive(Debug)]
pub enum Step<T> {
    /// These bytes first. The next call brings them, in this order. Never an empty list.
    Need(Vec<ByteRange>),
    /// Here is the result.
    Ready(T),
}

/// A resumable computation over bytes.
///
/// The first call brings nothing; after [`Step::Need`] the next call brings one buffer per range asked for, each
/// exactly as long as its range. A machine that gives several results in a row (see [`BatchMachine`]) is called
/// again with nothing after each.
pub trait Machine: Send {
    /// What comes out.
    type Output;

    /// Goes on with the bytes asked for last.
    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>>;
}

/// A machine on the heap.
pub type Boxed<T> = Box<dyn Machine<Output = T>>;

/// A machine that yields batches one after another and then `None`.
pub type BatchMachine = Boxed<Option<RecordBatch>>;

impl<T> Machine for Boxed<T> {
    type Output = T;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<T>> {
        (**self).step(got)
    }
}

/// A machine that needs no bytes: the answer is known already.
pub fn ready<T: Send + 'static>(value: T) -> Boxed<T> {
    struct Known<T>(Option<T>);
    impl<T: Send> Machine for Known<T> {
        type Output = T;
        fn step(&mut self, _: Vec<Bytes>) -> Result<Step<T>> {
            match self.0.take() {
                Some(value) => Ok(Step::Ready(value)),
                None => Err(crate::Error::internal("the machine has given its result already")),
            }
        }
    }
    Box::new(Known(Some(value)))
}
