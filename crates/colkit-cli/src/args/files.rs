//! The files of one table.

use clap::Args;
use std::path::PathBuf;

/// Files that are read as one table.
#[derive(Args, Debug, Clone)]
pub struct FilesArgs {
    /// Files to read as one table: names, quoted patterns ('part-*.csv', 'data/**/*.parquet') or folders; folders named
    /// like year=2024 are columns
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Add a column with the name of the file that each row is from
    #[arg(long)]
    pub filename: bool,
}
