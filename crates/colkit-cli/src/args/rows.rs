//! Verbs that print or count the rows of a file.

use super::{DatasetArgs, FilesArgs, FitArgs, ForceArgs, ReadingArgs, RowIdArgs, ScriptArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The projection.
#[derive(Args, Debug, Clone, Default)]
pub struct ColumnArgs {
    /// Columns to read, in this order [default: all]: names, nested fields (a.b) or zero-based positions (#3); quote a name
    /// that contains a comma ('"a,b"'); may be repeated
    #[arg(long, value_name = "NAMES")]
    pub columns: Vec<String>,
}

/// Columns under other names and as other types.
#[derive(Args, Debug, Clone, Default)]
pub struct SelectArgs {
    /// Columns to rename, cast, drop or reorder: 'a, b as c, d::date, e.f', '* except (x, y)' or '-x'; --where sees the original
    /// names; a value that does not fit its new type is an error, unless --types lossy
    #[arg(long, value_name = "LIST", conflicts_with = "columns", allow_hyphen_values = true)]
    pub select: Option<String>,
}

/// How rows are printed.
#[derive(Args, Debug, Clone, Default)]
pub struct PrintArgs {
    /// Output format for rows [default: table on a terminal, csv otherwise]
    #[arg(long = "as", value_name = "FORMAT")]
    pub shape: Option<ShapeArg>,
    /// Write to FILE instead of stdout, in the format of its extension
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print the read plan and bytes read to stderr
    #[arg(long)]
    pub explain: bool,
    /// Used with `--out`.
    #[command(flatten)]
    pub fit: FitArgs,
}

/// How rows are printed.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeArg {
    /// Aligned columns, for people
    Table,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// One JSON object per row and line
    Ndjson,
    /// An Arrow IPC stream
    Arrow,
}

/// What all verbs have that print rows of a file.
#[derive(Args, Debug)]
pub struct PrintRowsArgs {
    #[command(flatten)]
    pub files: FilesArgs,
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
    pub ids: RowIdArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `head` and `tail`.
#[derive(Args, Debug)]
pub struct HeadArgs {
    /// Number of rows
    #[arg(short = 'n', long = "rows", visible_alias = "limit", value_name = "N", default_value_t = 10)]
    pub rows: u64,
    #[command(flatten)]
    pub common: PrintRowsArgs,
}

/// `sample`.
#[derive(Args, Debug)]
pub struct SampleArgs {
    /// Number of rows
    #[arg(short = 'n', long = "rows", visible_alias = "limit", value_name = "N", default_value_t = 10)]
    pub rows: u64,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub common: PrintRowsArgs,
}

/// `count`.
#[derive(Args, Debug)]
pub struct CountArgs {
    #[command(flatten)]
    pub files: FilesArgs,
    /// Count only matching rows, such as 'price >= 10 and sym = "BTC"'
    #[arg(long = "where", value_name = "PREDICATE")]
    pub condition: Option<String>,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub dataset: DatasetArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `cat`.
#[derive(Args, Debug)]
pub struct CatArgs {
    #[command(flatten)]
    pub select: SelectArgs,
    /// Row range, zero-based, applied before --where: 10..20, 10.., ..20 or 7
    #[arg(long, value_name = "RANGE")]
    pub rows: Option<String>,
    /// Keep only matching rows, such as 'price >= 10 and sym = "BTC"'
    #[arg(long = "where", value_name = "PREDICATE")]
    pub condition: Option<String>,
    /// Print at most this many rows
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u64>,
    #[command(flatten)]
    pub common: PrintRowsArgs,
}

/// `take`.
#[derive(Args, Debug)]
pub struct TakeArgs {
    /// Zero-based row numbers and ranges, such as 5,17,3 or 100..105,7
    #[arg(long, value_name = "ROWS", required_unless_present = "row_ids")]
    pub rows: Option<String>,
    /// Lance datasets: ids of rows (_rowid), such as 5,17,3; ids that no row has are left out
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with = "rows")]
    pub row_ids: Vec<u64>,
    #[command(flatten)]
    pub common: PrintRowsArgs,
}
