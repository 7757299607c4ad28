//! `cluster local`: a scheduler and executors on this machine, each a process of its own.

use super::asked_to_stop;
use crate::Io;
use crate::args::{LocalArgs, LogLevel};
use crate::human::plural;
use clap::ValueEnum;
use colkit::{Error, Result};
use colkit_cluster::Cluster;
use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// How long the processes may take to find each other.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(args: &LocalArgs, io: &mut Io) -> Result<()> {
    super::runtime()?.block_on(async {
        let mut processes = Vec::new();
        let ended = serve(args, &mut processes, io).await;
        // The scheduler last: executors tell it that they end.
        for process in processes.iter_mut().rev() {
            stop(process).await;
        }
        ended
    })
}

async fn serve(args: &LocalArgs, processes: &mut Vec<Child>, io: &mut Io) -> Result<()> {
    let count = args.executors.get();
    // Held until all are known, so that no two are the same.
    let free = (0..2 * count + 1).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<Vec<_>>>()?;
    let ports = free.iter().map(|l| Ok(l.local_addr()?.port())).collect::<Result<Vec<u16>>>()?;
    drop(free);
    let (own, others) = ports.split_last().ok_or_else(|| Error::internal("no port is free"))?;
    let port = args.port.unwrap_or(*own);
    let url = format!("df://127.0.0.1:{port}");
    let folders = if args.folders.is_empty() { vec![PathBuf::from(".")] } else { args.folders.clone() };
    let cores = args.cores.map_or_else(|| (colkit::available_threads() / count).max(1), Into::into);
    let mut scheduler = process(&["scheduler", "--listen", &format!("127.0.0.1:{port}")], &folders, args.log)?;
    processes.push(scheduler.kill_on_drop(true).spawn()?);
    for pair in others.chunks_exact(2) {
        let [results, tasks] = pair else { continue };
        let words = [
            "executor",
            "--scheduler",
            &url,
            "--listen",
            &format!("127.0.0.1:{results}"),
            "--tasks-port",
            &tasks.to_string(),
            "--cores",
            &cores.to_string(),
            "--memory",
            &args.memory.to_string(),
        ];
        processes.push(process(&words, &folders, args.log)?.kill_on_drop(true).spawn()?);
    }
    let cluster = ready(&url, count, processes).await?;
    if args.script.json {
        let about = serde_json::json!({ "cluster": url, "executors": cluster.about().executors });
        writeln!(io.stdout, "{about}")?;
    } else {
        let executors = plural(count as u64, "executor");
        writeln!(io.stdout, "{url}")?;
        writeln!(io.stderr, "{executors} with {} each; Ctrl-C ends them", plural(cores as u64, "core"))?;
        writeln!(io.stderr, "try: colkit sql --cluster {url} \"SELECT count(*) FROM 'FILE'\"")?;
    }
    io.flush()?;
    tokio::select! {
        () = asked_to_stop() => Ok(()),
        error = first_to_end(processes) => Err(error),
    }
}

/// A process of this program.
fn process(words: &[&str], folders: &[PathBuf], log: LogLevel) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("cluster").args(words);
    for folder in folders {
        command.arg("--folder").arg(folder);
    }
    let level = log.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    command.args(["--log", &level]).stdin(Stdio::null()).stdout(Stdio::null());
    // Ctrl-C is for this process, which then ends the others in their turn.
    #[cfg(unix)]
    command.process_group(0);
    Ok(command)
}

/// Waits until all executors have found the scheduler.
async fn ready(url: &str, count: usize, processes: &mut [Child]) -> Result<Cluster> {
    let began = Instant::now();
    loop {
        if let Ok(cluster) = Cluster::connect(url, None).await
            && cluster.about().executors.len() >= count
        {
            return Ok(cluster);
        }
        for process in processes.iter_mut() {
            if let Some(status) = process.try_wait()? {
                return Err(ended(&status));
            }
        }
        if began.elapsed() > PATIENCE {
            return Err(Error::io("cluster_failed", "the executors did not find the scheduler in a minute"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn ended(status: &std::process::ExitStatus) -> Error {
    Error::io("cluster_failed", format!("a process of the cluster ended: {status}"))
}

async fn first_to_end(processes: &mut [Child]) -> Error {
    let waiting = processes.iter_mut().map(|process| Box::pin(process.wait()));
    match futures::future::select_all(waiting).await.0 {
        Ok(status) => ended(&status),
        Err(error) => error.into(),
    }
}

/// Sends SIGTERM to a process and waits until it has ended. Kills it if it cannot be signalled or takes too long.
async fn stop(process: &mut Child) {
    let signalled = process.id().is_some_and(terminate);
    let grace = if signalled { Duration::from_secs(40) } else { Duration::ZERO };
    if tokio::time::timeout(grace, process.wait()).await.is_err() {
        let _ = process.kill().await;
    }
}

/// Sends SIGTERM. Minimal systems have no `kill` program.
fn terminate(id: u32) -> bool {
    cfg!(unix) && std::process::Command::new("kill").arg(id.to_string()).status().is_ok_and(|status| status.success())
}
