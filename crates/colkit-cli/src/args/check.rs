//! Verbs about whole files: `inspect`, `schema`, `verify` and `diff`.

use super::{BasePathArgs, ColumnArgs, DatasetArgs, FilesArgs, ReadingArgs, RowIdArgs, ScriptArgs};
use clap::Args;
use std::path::PathBuf;

/// `inspect`.
#[derive(Args, Debug)]
pub struct InspectArgs {
    /// Files to inspect; patterns and folders stand for all their files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print a map of every byte in the file, including gaps
    #[arg(long)]
    pub layout: bool,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    #[command(flatten)]
    pub ids: RowIdArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Files to verify; patterns and folders stand for all their files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Left file, or a pattern or folder of files
    #[arg(value_name = "A")]
    pub left: PathBuf,
    /// Right file, or a pattern or folder of files; may be left out to compare two versions of a dataset
    #[arg(value_name = "B", required_unless_present = "at")]
    pub right: Option<PathBuf>,
    /// Lance datasets: version of the left file, then that of the right one: a number, tag, branch or time
    #[arg(long, value_name = "VERSION")]
    pub at: Vec<String>,
    #[command(flatten)]
    pub places: BasePathArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Match rows by these columns (comma-separated) instead of by position
    #[arg(long, value_name = "COLUMNS")]
    pub key: Option<String>,
    /// Exit with code 1 if column types differ, even if all values are equal
    #[arg(long)]
    pub strict_types: bool,
    /// Stop after this many differing rows (with --key, all rows are compared)
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub limit: u64,
    /// Number of differing values to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub show: usize,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
