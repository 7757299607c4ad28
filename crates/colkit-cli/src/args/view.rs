//! Arguments of `view`.

use super::{DatasetArgs, ForceArgs, ReadingArgs, ScriptArgs};
use crate::human::parse_size;
use clap::Args;
use std::path::PathBuf;

pub const VIEW_HELP: &str = "\
Examples:
  colkit view trades.lance
  colkit view data/ s3://bucket/trades.parquet
  colkit view --no-open --port 8080 trades.at1
  colkit view --html trades.html trades.parquet
  colkit view --tui trades.csv.gz

The explorer shows columns, rows and what every byte of a file is. It runs in your browser and reads
only what it shows; this command serves it the files, on this machine only, to whoever knows the
secret in the URL. Ctrl-C ends it. With --html, the page and the file become one document that opens
without a server. With --tui, the explorer runs in the terminal: ? shows its keys.";

/// `view`.
#[derive(Args, Debug)]
pub struct ViewArgs {
    /// Files to show: names, URLs, quoted patterns ('part-*.csv') or folders, for all their files; the page in the browser opens others too
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Show one file in the terminal
    #[arg(long, conflicts_with_all = ["html", "port", "no_open", "json"])]
    pub tui: bool,
    /// Write one HTML document with the explorer and one file in it
    #[arg(long, value_name = "OUT.html", conflicts_with_all = ["port", "no_open"])]
    pub html: Option<PathBuf>,
    /// Largest file to put into a document
    #[arg(long, value_name = "SIZE", default_value = "100M", value_parser = parse_size, requires = "html")]
    pub max_size: u64,
    /// Port to serve at [default: one that is free]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Print the URL without opening a browser
    #[arg(long)]
    pub no_open: bool,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
