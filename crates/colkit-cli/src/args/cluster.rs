//! Arguments of `cluster`.

use super::ScriptArgs;
use crate::human::parse_size;
use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub const CLUSTER_HELP: &str = "\
Examples:
  colkit cluster local --executors 2 --folder data
  colkit cluster scheduler
  colkit cluster executor --scheduler df://127.0.0.1:50050 --cores 4 --memory 8G
  colkit cluster status df://127.0.0.1:50050
  colkit sql --cluster df://127.0.0.1:50050 \"SELECT count(*) FROM 's3://bucket/trips/'\"

A cluster is one scheduler and any number of executors. Those who reach them can run queries with
their credentials: they listen on this machine only, unless --allow-network says that everybody who
can reach them is trusted. Files of a machine are read only in the folders that were given.";

/// `cluster`.
#[derive(Args, Debug)]
pub struct ClusterArgs {
    /// What to run
    #[command(subcommand)]
    pub action: ClusterAction,
}

/// What `cluster` does.
#[derive(Subcommand, Debug)]
pub enum ClusterAction {
    /// Plan queries and hand their tasks to executors
    #[command(after_help = "Examples:
  colkit cluster scheduler
  colkit cluster scheduler --listen 10.0.0.1:50050 --allow-network")]
    Scheduler(SchedulerArgs),
    /// Run tasks for a scheduler
    #[command(after_help = "Examples:
  colkit cluster executor --scheduler df://127.0.0.1:50050
  colkit cluster executor --scheduler df://10.0.0.1 --listen 10.0.0.2:50051 --allow-network --memory 16G")]
    Executor(ExecutorArgs),
    /// Run a scheduler and executors on this machine, to try it
    #[command(after_help = "Examples:
  colkit cluster local
  colkit cluster local --executors 3 --cores 1 --folder data")]
    Local(LocalArgs),
    /// Show the executors of a cluster
    #[command(after_help = "Examples:
  colkit cluster status df://127.0.0.1:50050
  colkit cluster status df://127.0.0.1:50050 --json")]
    Status(StatusArgs),
}

/// What every process of a cluster is told.
#[derive(Args, Debug, Clone)]
pub struct ProcessArgs {
    /// Folder whose files may be read and written for others; may be repeated [default: none, only stores]
    #[arg(long = "folder", value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Folder with ca.pem, cert.pem and key.pem: encrypt connections, and turn away who has no certificate of that authority
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,
    /// Listen to other machines; without --tls, all that can connect are trusted
    #[arg(long)]
    pub allow_network: bool,
    /// What to tell on stderr
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log: LogLevel,
}

/// How much is told.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// What went wrong
    Error,
    /// What may go wrong
    Warn,
    /// What happens
    Info,
    /// Every step
    Debug,
}

/// `cluster scheduler`.
#[derive(Args, Debug, Clone)]
pub struct SchedulerArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50050")]
    pub listen: SocketAddr,
    /// Seconds without a word after which an executor is lost and its tasks run elsewhere
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub executor_timeout: u64,
    /// Seconds that running queries have to end when the scheduler is asked to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub grace: u64,
    #[command(flatten)]
    pub process: ProcessArgs,
}

/// `cluster executor`.
#[derive(Args, Debug, Clone)]
pub struct ExecutorArgs {
    /// The scheduler
    #[arg(long, value_name = "df://HOST:PORT")]
    pub scheduler: String,
    /// Address at which others fetch results
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    pub listen: SocketAddr,
    /// Port for tasks from the scheduler [default: the port of --listen plus one]
    #[arg(long, value_name = "N")]
    pub tasks_port: Option<u16>,
    /// Name by which others reach this machine [default: the address of --listen]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Tasks at a time [default: all cores]
    #[arg(long, value_name = "N")]
    pub cores: Option<NonZeroUsize>,
    /// Memory to use
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = parse_size)]
    pub memory: u64,
    /// Folder for intermediate results [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
    /// Address to answer /healthz and /readyz on
    #[arg(long, value_name = "ADDRESS")]
    pub health: Option<SocketAddr>,
    /// Seconds between two signs of life
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub heartbeat: u64,
    #[command(flatten)]
    pub process: ProcessArgs,
}

/// `cluster local`.
#[derive(Args, Debug, Clone)]
pub struct LocalArgs {
    /// Number of executors
    #[arg(long, value_name = "N", default_value = "2")]
    pub executors: NonZeroUsize,
    /// Tasks at a time of each executor [default: the cores of this machine, divided]
    #[arg(long, value_name = "N")]
    pub cores: Option<NonZeroUsize>,
    /// Memory of each executor
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = parse_size)]
    pub memory: u64,
    /// Port of the scheduler [default: one that is free]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Folder whose files may be read and written; may be repeated [default: the current one]
    #[arg(long = "folder", value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// What to tell on stderr
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub log: LogLevel,
    #[command(flatten)]
    pub script: ScriptArgs,
}

/// `cluster status`.
#[derive(Args, Debug, Clone)]
pub struct StatusArgs {
    /// The scheduler
    #[arg(value_name = "df://HOST:PORT")]
    pub cluster: String,
    /// Folder with ca.pem, cert.pem and key.pem
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,
    #[command(flatten)]
    pub script: ScriptArgs,
}

impl ClusterArgs {
    /// Whether results and errors are printed as JSON.
    pub fn json(&self) -> bool {
        match &self.action {
            ClusterAction::Local(args) => args.script.json,
            ClusterAction::Status(args) => args.script.json,
            ClusterAction::Scheduler(_) | ClusterAction::Executor(_) => false,
        }
    }
}
