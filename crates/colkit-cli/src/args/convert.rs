//! `convert`.

use super::{
    ColumnArgs, DatasetArgs, DatasetWriteArgs, ForceArgs, FormatName, LanceArgs, ReadingArgs, RowIdArgs, ScriptArgs,
    SelectArgs,
};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub given: super::GivenArgs,
    /// Input files, quoted patterns ('part-*.csv') or folders
    #[arg(required = true, num_args = 1.., value_name = "IN")]
    pub inputs: Vec<PathBuf>,
    /// Output file, a Lance dataset with / at the end, or - for stdout
    #[arg(required = true, value_name = "OUT")]
    pub output: PathBuf,
    /// Output format [default: from the extension of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = FormatName::written(), hide_possible_values = true)]
    pub to: Option<String>,
    /// Add a column with the name of the file that each row is from
    #[arg(long)]
    pub filename: bool,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Keep only matching rows, such as 'price >= 10 and sym = "BTC"'
    #[arg(long = "where", value_name = "PREDICATE")]
    pub condition: Option<String>,
    /// Compression level, for formats that have levels and for .gz, .zst, .xz and .bz2
    #[arg(long, value_name = "N")]
    pub level: Option<u32>,
    #[command(flatten)]
    pub fit: FitArgs,
    /// Compression codec for Parquet (none, snappy, zstd, lz4, gzip, brotli; default zstd) and Arrow (none, lz4, zstd;
    /// default none)
    #[arg(long, value_name = "CODEC")]
    pub compression: Option<CompressionArg>,
    /// Write files of at most this many rows: OUT-00000.ext, OUT-00001.ext, ...; a {} in OUT is replaced by the number
    #[arg(long, value_name = "ROWS")]
    pub split_rows: Option<std::num::NonZeroU64>,
    /// Convert each input to a file of its own on a cluster: the address of its scheduler; a {} in OUT stands for the name
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "df://HOST:PORT", conflicts_with_all = ["split_rows", "filename"])]
    pub cluster: Option<String>,
    /// Folder with ca.pem, cert.pem and key.pem, for a cluster that asks for certificates
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    pub cluster_tls: Option<PathBuf>,
    #[command(flatten)]
    pub lance: LanceArgs,
    #[command(flatten)]
    pub writing: DatasetWriteArgs,
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

/// What to do with nulls and types that the output format cannot store.
#[derive(Args, Debug, Clone, Copy, Default)]
pub struct FitArgs {
    /// Nulls that the output format cannot store: fail, or write "", NaN, 0 or false
    #[arg(long, value_name = "POLICY", default_value = "refuse")]
    pub nulls: NullsArg,
    /// Types that the output format cannot store: fail, convert losslessly, or convert with loss
    #[arg(long, value_name = "POLICY", default_value = "refuse")]
    pub types: TypesArg,
    /// Drop key-value metadata that the output format cannot store, instead of failing
    #[arg(long)]
    pub drop_metadata: bool,
}

/// Nulls that the output format cannot store.
#[derive(ValueEnum, Debug, Clone, Copy, Default)]
pub enum NullsArg {
    /// Fail and name the first null
    #[default]
    Refuse,
    /// Write a default value and report how many
    Fill,
}

/// Compression of Parquet pages or Arrow buffers.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompressionArg {
    /// Uncompressed
    None,
    /// Snappy
    Snappy,
    /// Zstandard
    Zstd,
    /// LZ4
    Lz4,
    /// Gzip
    Gzip,
    /// Brotli
    Brotli,
}

/// Types that the output format cannot store.
#[derive(ValueEnum, Debug, Clone, Copy, Default)]
pub enum TypesArg {
    /// Fail and name the column
    #[default]
    Refuse,
    /// Convert to another type if every value is preserved
    Exact,
    /// Convert to text or the nearest number, even if values change
    Lossy,
}
