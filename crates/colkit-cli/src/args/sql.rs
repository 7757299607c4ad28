//! Arguments of `sql`.

use super::{BasePathArgs, PrintArgs, ReadingArgs, ScriptArgs};
use clap::Args;
use std::path::PathBuf;

pub const SQL_HELP: &str = "\
Examples:
  colkit sql \"SELECT sym, avg(price) FROM 'trades.at1' GROUP BY sym\"
  colkit sql \"SELECT * FROM 'trades.at1' t JOIN 'users.lance' u ON t.user = u.id\" --out joined.parquet
  colkit sql \"SELECT count(*) FROM 'logs/2024-*.csv'\" --explain
  colkit sql --table t=s3://bucket/trades.lance \"SELECT max(price) FROM t WHERE sym = 'BTC'\"
  zcat trades.csv.gz | colkit sql \"SELECT * FROM '-' LIMIT 5\"
  colkit sql -f report.sql --as ndjson
  colkit sql

A table is a name in single quotes: a file of any format, a glob pattern, a directory, a URL, or -
for stdin. Double quotes are for column names. The dialect is that of Apache DataFusion. Without a
query, an interactive shell starts on a terminal; otherwise statements are read from stdin.";

/// `sql`.
#[derive(Args, Debug, Clone)]
pub struct SqlArgs {
    #[cfg(feature = "sql")]
    #[command(flatten)]
    pub given: super::GivenArgs,
    /// One or more SQL statements, separated by semicolons
    #[arg(value_name = "QUERY")]
    pub query: Option<String>,
    /// Read statements from FILE
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "query")]
    pub file: Option<PathBuf>,
    /// Register a file, glob pattern, directory or URL as a table; may be repeated
    #[arg(long = "table", value_name = "NAME=PATH")]
    pub tables: Vec<String>,
    /// Run the queries on a cluster: the address of its scheduler
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "df://HOST:PORT", conflicts_with = "moved")]
    pub cluster: Option<String>,
    /// Folder with ca.pem, cert.pem and key.pem, for a cluster that asks for certificates
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    pub cluster_tls: Option<PathBuf>,
    /// Directory for data that does not fit into --memory [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub spill_dir: Option<PathBuf>,
    #[command(flatten)]
    pub print: PrintArgs,
    /// Overwrite the output of --out or COPY if it exists; without this option, that is an error
    #[arg(long)]
    pub force: bool,
    /// Print long answers to the terminal, even if the environment variable PAGER names a pager for them
    #[arg(long)]
    pub no_pager: bool,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub places: BasePathArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
