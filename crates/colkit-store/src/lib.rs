//! Files in object stores: `s3://`, `gs://`, `az://`, `http://`, `https://` and `file://` URLs in place of paths.
//!
//! ```text
//! stores   resolves a URL to its store, with credentials from the environment; one store per bucket or host
//! object   an object as a source: range requests, adjacent ranges merged
//! upload   an object as a sink: multipart upload, visible only when complete
//! local    the files of this machine as a store, all of them or those that a check allows
//! counted  counts requests
//! timeout  time limits
//! per_process  what a fork must not share
//! ```
//!
//! Reads and writes here are blocking, like [`Source`](colkit_core::Source) and [`Sink`](colkit_core::Sink); an
//! internal runtime does the waiting. They may be called inside an async runtime, and then block one of its threads.
//! Async programs should use [`Remote`](colkit_core::drive::store::Remote) instead.

#![forbid(unsafe_code)]

mod counted;
mod local;
mod object;
mod per_process;
mod stores;
mod timeout;
mod upload;

pub use counted::StoreCount;
pub use local::LocalFiles;
pub use object::ObjectSource;
pub use object_store::path::Path as ObjectPath;
pub use object_store::{ObjectMeta, ObjectStore};
pub use stores::{Location, Stores, is_url};
pub use upload::UploadSink;

use colkit_core::{Error, Result};
use per_process::PerProcess;
use tokio::runtime::{Builder, Handle, Runtime};

/// The runtime that waits for stores.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: PerProcess<std::io::Result<Runtime>> = PerProcess::new();
    let start = || Builder::new_multi_thread().worker_threads(2).thread_name("colkit-store").enable_all().build();
    RUNTIME.get(start).as_ref().map_err(|e| Error::from(std::io::Error::new(e.kind(), e.to_string())))
}

/// Waits for a store. Inside of an async runtime another thread does, because a thread of a runtime must not.
fn wait<T: Send>(work: impl Future<Output = T> + Send) -> Result<T> {
    let runtime = runtime()?;
    if Handle::try_current().is_err() {
        return Ok(runtime.block_on(work));
    }
    let waited = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(work)).join());
    waited.map_err(|_| Error::panicked("a store"))
}

/// What a store says went wrong with the object called `name`.
fn failed(name: &str, error: object_store::Error) -> Error {
    colkit_core::drive::store::failed(&error).file(name).caused_by(error)
}

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
