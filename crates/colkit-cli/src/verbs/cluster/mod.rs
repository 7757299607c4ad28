//! `cluster`: the processes of a cluster, and what they have in common with those who use it.

pub mod convert;
mod local;
mod log;

use crate::args::{ClusterAction, ClusterArgs, ExecutorArgs, ProcessArgs, ReadingArgs, SchedulerArgs, StatusArgs};
use crate::human::plural;
use crate::verbs::sql::{open_with, parsed, query_memory};
use crate::{Io, Outcome};
use colkit::{Error, Result};
use colkit_cluster::{Cluster, ExecutorOptions, Folders, Process, SchedulerOptions, Tls, execute, schedule};
use colkit_sql::{OpenWords, STACK_BYTES};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// What a scheduler may hold: footers of files, and answers of functions with constants.
const SCHEDULER_MEMORY: u64 = 512 << 20;

pub fn run(args: &ClusterArgs, io: &mut Io) -> Result<Outcome> {
    match &args.action {
        ClusterAction::Scheduler(args) => scheduler(args),
        ClusterAction::Executor(args) => executor(args),
        ClusterAction::Local(args) => local::run(args, io),
        ClusterAction::Status(args) => status(args, io),
    }?;
    Ok(Outcome::Success)
}

/// Where processes run. Decoding a plan takes as much stack as planning it.
fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().thread_stack_size(STACK_BYTES).enable_all().build()?)
}

/// How files are opened by a process with so much memory.
fn reading(memory: u64, threads: Option<std::num::NonZeroUsize>) -> Result<ReadingArgs> {
    let mut reading: ReadingArgs = parsed("the table", &[], &[])?;
    (reading.memory, reading.threads) = (memory, threads);
    Ok(reading)
}

/// A process that opens files by the words of others, within limits of its own.
pub fn process(reading: ReadingArgs) -> Process {
    Process::new(Arc::new(move |words: &OpenWords| {
        let options = open_with(&reading, &words.options)?;
        Ok(match &words.format {
            Some(format) => {
                options.registry().named(format, &Default::default())?;
                options.with_format(format)
            }
            None => options,
        })
    }))
}

/// The certificates of a folder.
pub fn tls(folder: Option<&std::path::Path>) -> Result<Option<Tls>> {
    folder.map(Tls::load).transpose()
}

fn check_network(address: SocketAddr, args: &ProcessArgs) -> Result<()> {
    if address.ip().is_loopback() || args.allow_network {
        return Ok(());
    }
    let what = format!("{address} can be reached from other machines");
    Err(Error::request("not_loopback", what)
        .hint("--allow-network allows it; with --tls only those with a certificate can connect, otherwise everybody"))
}

fn scheduler(args: &SchedulerArgs) -> Result<()> {
    check_network(args.listen, &args.process)?;
    log::start(args.process.log, "scheduler");
    let options = SchedulerOptions {
        process: process(reading(SCHEDULER_MEMORY, None)?)
            .with_memory(SCHEDULER_MEMORY)
            .with_folders(Folders::new(&args.process.folders)?)
            .with_tls(tls(args.process.tls.as_deref())?),
        executor_timeout: Duration::from_secs(args.executor_timeout),
        grace: Duration::from_secs(args.grace),
    };
    runtime()?.block_on(async {
        let named = |e: std::io::Error| Error::from(e).part(format!("listening on {}", args.listen));
        schedule(TcpListener::bind(args.listen).await.map_err(named)?, options, asked_to_stop()).await
    })
}

fn executor(args: &ExecutorArgs) -> Result<()> {
    check_network(args.listen, &args.process)?;
    args.health.map_or(Ok(()), |health| check_network(health, &args.process))?;
    log::start(args.process.log, "executor");
    let folders = Folders::new(&args.process.folders)?;
    let temporary = args.work_dir.is_none().then(|| tempfile::Builder::new().prefix("colkit-executor-").tempdir());
    let temporary = temporary.transpose()?;
    let work_folder = match (&args.work_dir, &temporary) {
        (Some(folder), _) => {
            std::fs::create_dir_all(folder).map_err(|e| Error::from(e).file(folder.display().to_string()))?;
            folder.clone()
        }
        (None, Some(folder)) => folder.path().to_path_buf(),
        (None, None) => return Err(Error::internal("there is no folder to work in")),
    };
    let cores = args.cores.map_or_else(colkit::available_threads, Into::into);
    let process = process(reading(args.memory, args.cores)?)
        .with_folders(folders.clone())
        .with_memory(query_memory(args.memory))
        .with_converter(convert::converter(folders, args.memory, cores))
        .with_spill_folder(work_folder.clone())
        .with_tls(tls(args.process.tls.as_deref())?);
    let options = ExecutorOptions {
        process,
        scheduler: args.scheduler.clone(),
        listen: args.listen,
        tasks_port: args.tasks_port.unwrap_or(args.listen.port().saturating_add(1)),
        host: args.host.clone().unwrap_or_else(|| args.listen.ip().to_string()),
        cores,
        memory: query_memory(args.memory),
        work_folder,
        heartbeat: Duration::from_secs(args.heartbeat),
        health: args.health,
    };
    let runtime = runtime()?;
    let ended = runtime.block_on(execute(options));
    runtime.shutdown_timeout(Duration::from_secs(5));
    ended
}

/// Waits for Ctrl-C or SIGTERM.
async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

fn status(args: &StatusArgs, io: &mut Io) -> Result<()> {
    let cluster = runtime()?.block_on(Cluster::connect(&args.cluster, tls(args.tls.as_deref())?.as_ref()))?;
    let about = cluster.about();
    if args.script.json {
        let document = serde_json::to_string(about).map_err(|e| Error::internal(e.to_string()))?;
        writeln!(io.stdout, "{document}")?;
        return Ok(());
    }
    writeln!(io.stdout, "colkit {}, Ballista {}, messages of version {}", about.version, about.ballista, about.wire)?;
    for executor in &about.executors {
        writeln!(io.stdout, "{}  {}", executor.address, plural(u64::from(executor.cores), "core"))?;
    }
    if about.executors.is_empty() {
        writeln!(io.stdout, "no executors")?;
    }
    Ok(())
}
