//! `grep`.

use super::rows::PrintRowsArgs;
use clap::Args;

pub const GREP_HELP: &str = "\
Examples:
  colkit grep BTC trades.lance
  colkit grep -i '^btc' trades.csv.gz --in sym --columns price,quantity
  colkit grep -F '10.0.0.1' access.log.at1 -n
  colkit grep -c -v '2024-' events.parquet --in day

A cell's text is what cat prints: numbers and dates as in CSV, nested values as JSON; nulls never match.
The syntax is that of the Rust crate regex. With --in, only matching rows of the other columns are
decoded, and a pattern such as '^abc' on one column skips what statistics rule out.
Exit codes: 0 if a row was found, 1 if none was (or on failure, with a message), 2 for usage errors.";

/// `grep`.
#[derive(Args, Debug)]
pub struct GrepArgs {
    /// Regular expression, or text with -F
    pub pattern: String,
    /// Search for PATTERN as plain text
    #[arg(long, short = 'F')]
    pub fixed: bool,
    /// Ignore the case of letters
    #[arg(long, short)]
    pub ignore_case: bool,
    /// Print the rows in which nothing matches
    #[arg(long, short = 'v')]
    pub invert: bool,
    /// Print only the number of rows
    #[arg(long, short, conflicts_with_all = ["files_with_matches", "number"])]
    pub count: bool,
    /// Print only the names of the files in which there is a row
    #[arg(long, short = 'l', conflicts_with = "number")]
    pub files_with_matches: bool,
    /// Print each row's zero-based number, in a first column named row
    #[arg(long, short = 'n', conflicts_with = "condition")]
    pub number: bool,
    /// Stop after this many rows
    #[arg(long, short = 'm', visible_alias = "limit", value_name = "N")]
    pub max_count: Option<u64>,
    /// Columns to search [default: those that are printed]; written as for --columns
    #[arg(long = "in", value_name = "NAMES")]
    pub within: Vec<String>,
    /// Search only matching rows, such as 'price >= 10'
    #[arg(long = "where", value_name = "PREDICATE")]
    pub condition: Option<String>,
    #[command(flatten)]
    pub common: PrintRowsArgs,
}
