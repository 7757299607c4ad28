//! `sql`.

use super::{PrintArgs, ReadingArgs, ScriptArgs};
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

Without a query and on a terminal this is a shell; .help says what it knows. A table is a name in single quotes: a file of any format, a pattern, a folder, a URL, or - for
standard input. Double quotes are for names of columns. The SQL is that of Apache DataFusion.";

/// `sql`.
#[derive(Args, Debug)]
pub struct SqlArgs {
    /// The query, or several with ; between them; without one and on a terminal, a shell
    #[arg(value_name = "QUERY")]
    pub query: Option<String>,
    /// Run the statements of this file
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "query")]
    pub file: Option<PathBuf>,
    /// Call a file, pattern, folder or URL by a name; may be given several times
    #[arg(long = "table", value_name = "NAME=PATH")]
    pub tables: Vec<String>,
    /// Where to put what does not fit into --memory [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub spill_dir: Option<PathBuf>,
    #[command(flatten)]
    pub print: PrintArgs,
    /// Overwrite the output of --out and COPY if it is there; without this, that is refused
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
