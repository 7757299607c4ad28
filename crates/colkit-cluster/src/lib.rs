//! colkit's queries and conversions on a cluster of machines, run by [Ballista](https://datafusion.apache.org/ballista/) as it is.
//!
//! ```text
//! wire       messages between processes, and their version
//! logical    tables, from the client to the scheduler
//! physical   scans and conversions, from the scheduler to executors
//! tls        who may connect
//! folders    which files of a machine may be read
//! process    what the sessions of all processes have in common
//! scheduler  plans queries, cuts them into tasks, hands these out
//! executor   runs tasks
//! client     sends queries, and says what became of them
//! errors     what other processes say went wrong
//! report     what each executor did for a query
//! convert    files to files, one task for each
//! ```
//!
//! A client plans a query as it would for itself and sends the logical plan. The scheduler lists the files, plans the scans and
//! cuts the plan into stages; executors read byte ranges of files and exchange what they found. Only scans of files that Ballista
//! can restrict to the partitions of a task are sent, so that every row counts once.

#![forbid(unsafe_code)]

mod client;
mod convert;
mod errors;
mod executor;
mod folders;
mod logical;
mod physical;
mod process;
mod report;
mod scheduler;
mod tls;
mod wire;

pub use client::{About, Cluster, ExecutorAbout, job_of};
pub use convert::{Converted, Converter, Part};
pub use executor::{ExecutorOptions, execute};
pub use folders::Folders;
pub use process::Process;
pub use report::{ExecutorReport, JobReport, StageReport};
pub use scheduler::{SchedulerOptions, schedule};
pub use tls::Tls;
pub use wire::WIRE_VERSION;

/// The largest message between processes: a plan over many files is long.
const LARGEST_MESSAGE: u32 = 256 << 20;
