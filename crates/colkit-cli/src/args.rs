//! Command-line arguments. The help texts, man pages and shell completions are generated from these definitions.

use crate::human::parse_size;
use clap::{Args, Parser, Subcommand, ValueEnum};
use colkit::{DateFormat, TextEncoding};
use std::num::NonZeroUsize;
use std::path::PathBuf;

mod dataset;
mod lance;
mod limits;
mod pack;
mod sql;

pub use dataset::{BasePathArgs, DatasetArgs, RowIdArgs, VersionsArgs};
pub use lance::LanceArgs;
pub use limits::LimitArgs;
pub use pack::{PackArgs, UnpackArgs};
pub use sql::SqlArgs;

const EXIT_CODES: &str = "\
The format is detected from the content, also of files compressed with gzip, zstd, xz or bzip2.
FILE may be a path, a URL (s3://, gs://, az://, https://), a Lance dataset (a directory; trips.lance@3
is its version 3), or - for stdin or stdout.
Exit codes: 0 success; 1 failure, invalid file or differences found; 2 usage error;
70 a bug in colkit.
Colour and progress are shown only on a terminal; set NO_COLOR to disable colour.";

/// Inspect, verify, convert, diff and query columnar files, reading only what you need.
#[derive(Parser, Debug)]
#[command(name = "colkit", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Cli {
    /// Seconds to wait for an object store to respond, plus one second for every 64 KiB it sends
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 60, help_heading = "Limits")]
    pub timeout: u64,
    /// The subcommand.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Show the format, row count, columns and sizes; --layout maps every byte
    #[command(after_help = "Examples:
  colkit inspect trades.cff
  colkit inspect --layout trades.lance
  colkit inspect --json *.gppcol")]
    Inspect(InspectArgs),
    /// Print column names and types
    #[command(after_help = "Examples:
  colkit schema trades.cff
  colkit schema --json trades.csv")]
    Schema(SchemaArgs),
    /// Print the first rows
    #[command(after_help = "Examples:
  colkit head trades.cff
  colkit head -n 3 --columns sym,price trades.csv")]
    Head(HeadArgs),
    /// Print the last rows
    #[command(after_help = "Examples:
  colkit tail trades.cff
  colkit tail -n 3 --columns sym,price trades.csv.gz")]
    Tail(HeadArgs),
    /// Print random rows, in file order
    #[command(after_help = "Examples:
  colkit sample trades.cff
  colkit sample -n 1000 --seed 7 trades.lance --out some.parquet

Every row is as likely as any other, and none is printed twice. The same file, number and seed give
the same rows.")]
    Sample(SampleArgs),
    /// Print the number of rows
    #[command(after_help = "Examples:
  colkit count trades.cff
  colkit count trades.csv.gz --where 'price >= 10'")]
    Count(CountArgs),
    /// Print rows, with optional column, row range and predicate selection
    #[command(after_help = "Examples:
  colkit cat trades.cff
  colkit cat trades.cff --columns sym,price --where 'price >= 10 and sym = \"BTC\"'
  colkit cat trades.cff --rows 1000..2000 --as ndjson
  colkit cat trades.cff --as arrow --out trades.arrows

A predicate compares columns with numbers, \"strings\", true, false or null using = != < <= > >=,
in (...), between ... and ... and is null, combined with and, or and not. Quote unusual column
names in `backticks`. JSON cannot represent NaN or infinity; both are printed as null.")]
    Cat(CatArgs),
    /// Print rows by number, in the order given (random access)
    #[command(after_help = "Examples:
  colkit take trades.cff --rows 5,17,3
  colkit take trades.cff --rows 100..105,7 --columns price
  colkit take trips.lance --row-ids 4294967296,7")]
    Take(TakeArgs),
    /// Query files of any format with SQL; without a query, start an interactive shell
    #[command(after_help = sql::SQL_HELP)]
    Sql(SqlArgs),
    /// Convert one or more files to another format, concatenating their rows
    #[command(after_help = "Examples:
  colkit convert trades.csv trades.cff
  colkit convert jan.csv feb.csv mar.csv quarter.gppcol
  colkit convert trades.cff - --to csv | wc -l
  colkit convert part-*.csv all.parquet --compression snappy
  colkit convert all.lance part-{}.ndjson --split-rows 1000000
  colkit convert trades.csv.gz trades.colfile --schema id:int32,note:string
  colkit convert trades.lance trades.ndjson.zst
  colkit convert trades.csv trades.lance --prefer size
  colkit convert trades.csv trades.lance --lance-version 2.0 --bloom sym,account --page-size 1M

Conversion never loses data silently: if the output format cannot store something, the command fails
and names the option that allows it. The output file appears only once it is complete. An existing
file is overwritten only with --force.")]
    Convert(ConvertArgs),
    /// Compress files into an AT-1 archive: lossless, usually smaller than xz, and tables stay queryable
    #[command(after_help = pack::PACK_HELP)]
    Pack(PackArgs),
    /// Restore the original files from an AT-1 archive, byte for byte
    #[command(after_help = pack::UNPACK_HELP)]
    Unpack(UnpackArgs),
    /// Check files for corruption, from the first byte to the last
    #[command(after_help = "Examples:
  colkit verify trades.cff
  colkit verify --json *.gppcol *.at1

Errors make a file invalid. Oddities that the format allows, such as gaps or duplicate column names,
are reported as warnings.")]
    Verify(VerifyArgs),
    /// Compare two tables of any formats; exit with 1 if they differ
    #[command(after_help = "Examples:
  colkit diff trades.csv trades.cff
  colkit diff --columns sym,price old.gppcol new.gppcol
  colkit diff trips.lance --at 3 --at 7

Types must match exactly; text formats such as CSV are parsed as the types of the other file.
Floating-point values are compared bit by bit: NaN equals NaN, and 0.0 differs from -0.0.")]
    Diff(DiffArgs),
    /// List the versions of a Lance dataset
    #[command(after_help = dataset::VERSIONS_HELP)]
    Versions(VersionsArgs),
    /// List the supported formats
    #[command(after_help = "Examples:
  colkit formats
  colkit formats --json")]
    Formats(FormatsArgs),
    /// See it work: generate a table, write it in every format, read it back and compare
    #[command(after_help = "Examples:
  colkit tour
  colkit tour --rows 1000000 --keep /tmp/tour")]
    Tour(TourArgs),
    /// Print shell completions
    #[command(after_help = "Examples:
  colkit completions bash > ~/.local/share/bash-completion/completions/colkit
  colkit completions zsh > ~/.zfunc/_colkit")]
    Completions(CompletionsArgs),
    /// Print a man page, or write all of them to a directory
    #[command(after_help = "Examples:
  colkit man | man -l -
  colkit man convert
  colkit man --dir ~/.local/share/man/man1")]
    Man(ManArgs),
}

impl Verb {
    /// Whether results and errors are printed as JSON.
    pub fn json(&self) -> bool {
        match self {
            Verb::Inspect(a) => a.script.json,
            Verb::Schema(a) => a.script.json,
            Verb::Head(a) => a.script.json,
            Verb::Tail(a) => a.script.json,
            Verb::Sample(a) => a.script.json,
            Verb::Count(a) => a.script.json,
            Verb::Cat(a) => a.script.json,
            Verb::Take(a) => a.script.json,
            Verb::Sql(a) => a.script.json,
            Verb::Convert(a) => a.script.json,
            Verb::Pack(a) => a.script.json,
            Verb::Unpack(a) => a.script.json,
            Verb::Verify(a) => a.script.json,
            Verb::Diff(a) => a.script.json,
            Verb::Versions(a) => a.script.json,
            Verb::Formats(a) => a.script.json,
            Verb::Tour(a) => a.script.json,
            Verb::Completions(_) | Verb::Man(_) => false,
        }
    }

    /// The value of `--memory`, for verbs that read files.
    pub fn memory(&self) -> Option<u64> {
        match self {
            Verb::Inspect(a) => Some(a.reading.memory),
            Verb::Schema(a) => Some(a.reading.memory),
            Verb::Head(a) => Some(a.reading.memory),
            Verb::Tail(a) => Some(a.reading.memory),
            Verb::Sample(a) => Some(a.reading.memory),
            Verb::Count(a) => Some(a.reading.memory),
            Verb::Cat(a) => Some(a.reading.memory),
            Verb::Take(a) => Some(a.reading.memory),
            Verb::Sql(a) => Some(a.reading.memory),
            Verb::Convert(a) => Some(a.reading.memory),
            Verb::Pack(a) => Some(a.memory),
            Verb::Unpack(a) => Some(a.memory),
            Verb::Verify(a) => Some(a.reading.memory),
            Verb::Diff(a) => Some(a.reading.memory),
            Verb::Versions(_) | Verb::Formats(_) | Verb::Tour(_) | Verb::Completions(_) | Verb::Man(_) => None,
        }
    }
}

/// Output for scripts.
#[derive(Args, Debug, Clone, Default)]
pub struct ScriptArgs {
    /// Print results and errors as JSON
    #[arg(long)]
    pub json: bool,
}

/// How files are read.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Reading")]
pub struct ReadingArgs {
    /// Input format [default: detected from the content]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// CSV: field delimiter: one character, or tab, semicolon, pipe, space [default: found]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    pub delimiter: Option<u8>,
    /// CSV: whether the first line has the column names; without them, they are c0, c1, ... [default: found]
    #[arg(long, value_name = "YES|NO")]
    pub header: Option<YesNo>,
    /// CSV: the same as --header no
    #[arg(long, conflicts_with = "header")]
    pub no_header: bool,
    /// Text: encoding, such as utf-16, windows-1252 or latin1 [default: found]
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    pub encoding: Option<TextEncoding>,
    /// CSV: decimal separator: a point or a comma [default: found]
    #[arg(long, value_name = "CHAR", value_parser = parse_decimal)]
    pub decimal: Option<u8>,
    /// CSV: character between groups of three digits, such as . or , or '
    #[arg(long, value_name = "CHAR")]
    pub thousands: Option<char>,
    /// CSV: format of dates, such as %d.%m.%Y or '%m/%d/%Y %H:%M' [default: found, beside ISO 8601]
    #[arg(long, value_name = "FORMAT", value_parser = parse_date_format)]
    pub date_format: Option<DateFormat>,
    /// CSV, NDJSON: column types, such as id:int32,note:string, instead of inferring them
    #[arg(long, value_name = "NAME:TYPE,...")]
    pub schema: Option<String>,
    /// CSV: values read as null, such as NA,-; empty cells are null except in string columns
    #[arg(long, value_name = "WORDS", value_delimiter = ',', allow_hyphen_values = true)]
    pub null_values: Vec<String>,
    /// CSV: fill in missing trailing fields instead of failing
    #[arg(long)]
    pub pad_short_rows: bool,
    /// Rename duplicate column names (a, a_2, ...) instead of failing
    #[arg(long)]
    pub rename_duplicates: bool,
    /// Lance: skip checksum verification while reading
    #[arg(long)]
    pub no_checksums: bool,
    /// Maximum memory to use
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_size)]
    pub memory: u64,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub limits: LimitArgs,
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "comma" => Ok(b','),
        "semicolon" => Ok(b';'),
        "pipe" => Ok(b'|'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
            _ => Err("expected one ASCII character other than a quote or line break, or a name such as tab".into()),
        },
    }
}

fn parse_encoding(text: &str) -> Result<TextEncoding, String> {
    TextEncoding::named(text).map_err(|e| e.message().to_string())
}

fn parse_decimal(text: &str) -> Result<u8, String> {
    match text {
        "," | "comma" => Ok(b','),
        "." | "point" => Ok(b'.'),
        _ => Err("expected a point or a comma".into()),
    }
}

fn parse_date_format(text: &str) -> Result<DateFormat, String> {
    DateFormat::parse(text).map_err(|e| e.message().to_string())
}

/// Yes or no.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum YesNo {
    /// Yes
    Yes,
    /// No
    No,
}

/// The projection.
#[derive(Args, Debug, Clone, Default)]
pub struct ColumnArgs {
    /// Columns to read, in this order [default: all]: names, nested fields (a.b) or zero-based positions (#3); quote a name
    /// that contains a comma ('"a,b"'); may be repeated
    #[arg(long, value_name = "NAMES")]
    pub columns: Vec<String>,
}

/// Whether an existing file may be overwritten.
#[derive(Args, Debug, Clone, Copy, Default)]
pub struct ForceArgs {
    /// Overwrite the output if it exists; without this option, that is an error
    #[arg(long, short)]
    pub force: bool,
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

/// `inspect`.
#[derive(Args, Debug)]
pub struct InspectArgs {
    /// Files to inspect
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
    /// File to read
    pub file: PathBuf,
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
    /// File to read
    pub file: PathBuf,
    /// Number of rows
    #[arg(short = 'n', long = "rows", value_name = "N", default_value_t = 10)]
    pub rows: u64,
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

/// `sample`.
#[derive(Args, Debug)]
pub struct SampleArgs {
    /// File to read
    pub file: PathBuf,
    /// Number of rows
    #[arg(short = 'n', long = "rows", value_name = "N", default_value_t = 10)]
    pub rows: u64,
    /// Another seed gives other rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
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

/// `count`.
#[derive(Args, Debug)]
pub struct CountArgs {
    /// File to read
    pub file: PathBuf,
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
    /// File to read
    pub file: PathBuf,
    /// Row range, zero-based, applied before --where: 10..20, 10.., ..20 or 7
    #[arg(long, value_name = "RANGE")]
    pub rows: Option<String>,
    /// Keep only matching rows, such as 'price >= 10 and sym = "BTC"'
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
    pub ids: RowIdArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `take`.
#[derive(Args, Debug)]
pub struct TakeArgs {
    /// File to read
    pub file: PathBuf,
    /// Zero-based row numbers and ranges, such as 5,17,3 or 100..105,7
    #[arg(long, value_name = "ROWS", required_unless_present = "row_ids")]
    pub rows: Option<String>,
    /// Lance datasets: ids of rows (_rowid), such as 5,17,3; ids that no row has are left out
    #[arg(long, value_name = "IDS", value_delimiter = ',', conflicts_with = "rows")]
    pub row_ids: Vec<u64>,
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

/// `convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// Input files
    #[arg(required = true, num_args = 1.., value_name = "IN")]
    pub inputs: Vec<PathBuf>,
    /// Output file, or - for stdout
    #[arg(required = true, value_name = "OUT")]
    pub output: PathBuf,
    /// Output format [default: from the extension of OUT]
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<String>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Keep only matching rows, such as 'price >= 10 and sym = "BTC"'
    #[arg(long = "where", value_name = "PREDICATE")]
    pub condition: Option<String>,
    /// Compression level, for formats that have levels and for .gz, .zst, .xz and .bz2
    #[arg(long, value_name = "N")]
    pub level: Option<u32>,
    #[command(flatten)]
    pub fit: FitArgs,
    /// Drop key-value metadata that the output format cannot store, instead of failing
    #[arg(long)]
    pub drop_metadata: bool,
    /// Compression codec for Parquet (none, snappy, zstd, lz4, gzip, brotli; default zstd) and Arrow (none, lz4, zstd;
    /// default none)
    #[arg(long, value_name = "CODEC")]
    pub compression: Option<CompressionArg>,
    /// Write files of at most this many rows: OUT-00000.ext, OUT-00001.ext, ...; a {} in OUT is replaced by the number
    #[arg(long, value_name = "ROWS")]
    pub split_rows: Option<std::num::NonZeroU64>,
    #[command(flatten)]
    pub lance: LanceArgs,
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

/// `verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Files to verify
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
    /// Left file
    #[arg(value_name = "A")]
    pub left: PathBuf,
    /// Right file; may be left out to compare two versions of a dataset
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

/// `formats`.
#[derive(Args, Debug)]
pub struct FormatsArgs {
    #[command(flatten)]
    pub script: ScriptArgs,
}

/// `tour`.
#[derive(Args, Debug)]
pub struct TourArgs {
    /// Number of rows in the sample table
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub rows: u64,
    /// Keep the files in this directory, creating it if needed
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
}

/// `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Shell to print completions for
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Subcommand to document [default: colkit itself]
    pub verb: Option<String>,
    /// Write the man pages of colkit and all subcommands to this directory
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub dir: Option<PathBuf>,
    #[command(flatten)]
    pub force: ForceArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_has_a_help_text_and_every_verb_an_example() {
        let command = Cli::command();
        for verb in command.get_subcommands() {
            let name = verb.get_name();
            assert!(verb.get_about().is_some(), "{name} says what it does");
            let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(examples.contains(&format!("colkit {name}")), "{name} has an example");
            for argument in verb.get_arguments() {
                assert!(argument.get_help().is_some(), "{name} {} has a help text", argument.get_id());
            }
        }
    }

    #[test]
    fn every_example_can_be_typed() {
        let command = Cli::command();
        for verb in command.get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            for example in help.lines().filter_map(|line| line.find("colkit ").and_then(|at| line.get(at..))) {
                let words = words(example.split(['|', '>']).next().unwrap());
                assert!(Cli::try_parse_from(&words).is_ok(), "{example}: {words:?}");
            }
        }
    }

    /// The words of a command as a shell would see them, for the quoting that the examples use.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.trim().chars() {
            match c {
                '\'' | '"' if quote.is_none() => quote = Some(c),
                c if quote == Some(c) => quote = None,
                ' ' if quote.is_none() => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    #[test]
    fn delimiters_are_characters_or_names() {
        assert_eq!(parse_delimiter("tab"), Ok(b'\t'));
        assert_eq!(parse_delimiter("\\t"), Ok(b'\t'));
        assert_eq!(parse_delimiter(";"), Ok(b';'));
        assert!(parse_delimiter("::").is_err() && parse_delimiter("\"").is_err() && parse_delimiter("é").is_err());
    }
}
