//! `salvage`.

use super::{DatasetArgs, FitArgs, ForceArgs, ReadingArgs, ScriptArgs};
use clap::Args;
use std::path::PathBuf;

pub const SALVAGE_HELP: &str = "\
Examples:
  colkit salvage damaged.lance saved.lance
  colkit salvage cut.csv.gz saved.parquet --json

No value is made up: a row is written if every column of it can be read and the checksums hold that the
format has. Columns of which nothing can be read are left out. Text without checksums is only as good as
it looks. Cut Lance, Parquet and AT-1 files cannot be read: what their bytes mean is said at their end.
Exit codes: 0 if nothing is missing, 1 if something is (the output is written all the same, unless
nothing can be read), 2 for usage errors.";

/// `salvage`.
#[derive(Args, Debug)]
pub struct SalvageArgs {
    /// Damaged file
    pub file: PathBuf,
    /// Output file
    pub output: PathBuf,
    /// Output format [default: from the extension of OUTPUT]
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<String>,
    #[command(flatten)]
    pub fit: FitArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
