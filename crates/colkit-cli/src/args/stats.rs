//! `stats`.

use super::rows::{ColumnArgs, PrintArgs};
use super::{DatasetArgs, FilesArgs, ForceArgs, ReadingArgs, ScriptArgs};
use clap::Args;

pub const STATS_HELP: &str = "\
Examples:
  colkit stats trades.lance
  colkit stats trades.csv.gz --columns price,quantity --where 'sym = \"BTC\"'
  colkit stats trades.parquet --quick
  colkit stats 'part-*.csv'
  colkit stats trades.lance --as csv --out profile.csv

Nulls, NaN, minimum, maximum, mean, standard deviation and lengths are always exact. Distinct values,
quantiles, the most frequent values and the histogram are exact for columns of at most 16,384 distinct
values or 65,536 values (fewer with little --memory). Beyond that they are estimates, marked with ~:
distinct values within 0.8% (standard error), the others from a random sample of 65,536 values, which
puts a quantile within 0.5% of its rank 99 times of 100. The same file gives the same estimates.";

/// `stats`.
#[derive(Args, Debug)]
pub struct StatsArgs {
    #[command(flatten)]
    pub files: FilesArgs,
    /// Only what the file says without being read: rows and, where it keeps them, nulls, minimum and maximum
    #[arg(long, conflicts_with = "condition")]
    pub quick: bool,
    /// Describe only matching rows, such as 'price >= 10 and sym = "BTC"'
    #[arg(long = "where", value_name = "PREDICATE")]
    pub condition: Option<String>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub print: PrintArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
