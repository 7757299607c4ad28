//! What can be typed. Help, man pages, completions and the test that everything is documented come from here.

use crate::human::parse_size;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

mod lance;
mod limits;
mod pack;
mod sql;

pub use lance::LanceArgs;
pub use limits::LimitArgs;
pub use pack::{PackArgs, UnpackArgs};
pub use sql::SqlArgs;

const EXIT_CODES: &str = "\
Files are recognised by what is in them, not by their names; - is standard input or output.
Exit codes: 0 done; 1 failed, invalid or different; 2 wrong usage; 70 a bug in colkit.
Colour and progress appear only on a terminal; NO_COLOR turns colour off.";

/// One toolkit for columnar files: look into them, check them, convert and compare them.
#[derive(Parser, Debug)]
#[command(name = "colkit", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Cli {
    /// Seconds that an object store may take to answer; each 64 KiB that it sends may take one more
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 60, help_heading = "Limits")]
    pub timeout: u64,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Show what a file is made of: format, rows, columns, sizes, and with --layout every byte of it
    #[command(after_help = "Examples:
  colkit inspect trades.cff
  colkit inspect --layout trades.lance
  colkit inspect --json *.gppcol")]
    Inspect(InspectArgs),
    /// Print the columns and their types
    #[command(after_help = "Examples:
  colkit schema trades.cff
  colkit schema --json trades.csv")]
    Schema(SchemaArgs),
    /// Print the first rows
    #[command(after_help = "Examples:
  colkit head trades.cff
  colkit head -n 3 --columns sym,price trades.csv")]
    Head(HeadArgs),
    /// Print rows: all of them, or the rows and columns asked for
    #[command(after_help = "Examples:
  colkit cat trades.cff
  colkit cat trades.cff --columns sym,price --where 'price >= 10 and sym = \"BTC\"'
  colkit cat trades.cff --rows 1000..2000 --as ndjson
  colkit cat trades.cff --as arrow --out trades.arrows

A condition compares columns with numbers, \"text\", true, false or null, by = != < <= > >=, in (...),
between ... and ..., is null; joined by and, or, not. Names with odd characters go in `backticks`.
NDJSON has no NaN and no infinity: they are written as null.")]
    Cat(CatArgs),
    /// Print single rows by their numbers, in the order given
    #[command(after_help = "Examples:
  colkit take trades.cff --rows 5,17,3
  colkit take trades.cff --rows 100..105,7 --columns price")]
    Take(TakeArgs),
    /// Ask questions in SQL over files of any format; without a query, an interactive shell
    #[command(after_help = sql::SQL_HELP)]
    Sql(SqlArgs),
    /// Convert files to another format; the rows of several inputs follow each other
    #[command(after_help = "Examples:
  colkit convert trades.csv trades.cff
  colkit convert jan.csv feb.csv mar.csv quarter.gppcol
  colkit convert trades.cff - --to csv | wc -l
  colkit convert part-*.csv all.parquet --compression snappy
  colkit convert all.lance part-{}.ndjson --split-rows 1000000
  zcat trades.csv.gz | colkit convert - trades.colfile --schema id:int32,note:string
  colkit convert trades.csv trades.lance --prefer size
  colkit convert trades.csv trades.lance --lance-version 2.0 --bloom sym,account --page-size 1M

Nothing is lost silently: what the target cannot store is refused, and the message names the option
that allows it. The output appears only when it is complete, and a file that is there is replaced only with
--force.")]
    Convert(ConvertArgs),
    /// Pack a file, or several, into an AT-1 file: smaller than xz, exact to the byte, tables still readable
    #[command(after_help = pack::PACK_HELP)]
    Pack(PackArgs),
    /// Restore what an AT-1 file packs, to the byte
    #[command(after_help = pack::UNPACK_HELP)]
    Unpack(UnpackArgs),
    /// Check files from the first byte to the last
    #[command(after_help = "Examples:
  colkit verify trades.cff
  colkit verify --json *.gppcol *.at1

Errors fail; oddities that the format allows (gaps, repeated names) are told and pass.")]
    Verify(VerifyArgs),
    /// Compare two tables, in any formats; exit code 1 if they differ
    #[command(after_help = "Examples:
  colkit diff trades.csv trades.cff
  colkit diff --columns sym,price old.gppcol new.gppcol

Types are compared exactly; text such as CSV is read to the types of the other side. Floating point
numbers are compared by their bits: NaN equals NaN, 0.0 differs from -0.0.")]
    Diff(DiffArgs),
    /// List the formats that are known
    #[command(after_help = "Examples:
  colkit formats
  colkit formats --json")]
    Formats(FormatsArgs),
    /// See it all work: make a sample table, write it in every format, read it back, compare
    #[command(after_help = "Examples:
  colkit tour
  colkit tour --rows 1000000 --keep /tmp/tour")]
    Tour(TourArgs),
    /// Print the completions for a shell
    #[command(after_help = "Examples:
  colkit completions bash > ~/.local/share/bash-completion/completions/colkit
  colkit completions zsh > ~/.zfunc/_colkit")]
    Completions(CompletionsArgs),
    /// Print a man page, or write all of them to a folder
    #[command(after_help = "Examples:
  colkit man | man -l -
  colkit man convert
  colkit man --dir ~/.local/share/man/man1")]
    Man(ManArgs),
}

impl Verb {
    /// Whether answers and errors are for scripts.
    pub fn json(&self) -> bool {
        match self {
            Verb::Inspect(a) => a.script.json,
            Verb::Schema(a) => a.script.json,
            Verb::Head(a) => a.script.json,
            Verb::Cat(a) => a.script.json,
            Verb::Take(a) => a.script.json,
            Verb::Sql(a) => a.script.json,
            Verb::Convert(a) => a.script.json,
            Verb::Pack(a) => a.script.json,
            Verb::Unpack(a) => a.script.json,
            Verb::Verify(a) => a.script.json,
            Verb::Diff(a) => a.script.json,
            Verb::Formats(a) => a.script.json,
            Verb::Tour(a) => a.script.json,
            Verb::Completions(_) | Verb::Man(_) => false,
        }
    }

    /// Memory to use at most, for verbs that read files.
    pub fn memory(&self) -> Option<u64> {
        match self {
            Verb::Inspect(a) => Some(a.reading.memory),
            Verb::Schema(a) => Some(a.reading.memory),
            Verb::Head(a) => Some(a.reading.memory),
            Verb::Cat(a) => Some(a.reading.memory),
            Verb::Take(a) => Some(a.reading.memory),
            Verb::Sql(a) => Some(a.reading.memory),
            Verb::Convert(a) => Some(a.reading.memory),
            Verb::Pack(a) => Some(a.memory),
            Verb::Unpack(a) => Some(a.memory),
            Verb::Verify(a) => Some(a.reading.memory),
            Verb::Diff(a) => Some(a.reading.memory),
            Verb::Formats(_) | Verb::Tour(_) | Verb::Completions(_) | Verb::Man(_) => None,
        }
    }
}

/// For scripts.
#[derive(Args, Debug, Clone, Default)]
pub struct ScriptArgs {
    /// Answer in JSON, errors too: for scripts
    #[arg(long)]
    pub json: bool,
}

/// How files are read.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Reading")]
pub struct ReadingArgs {
    /// Format of the input, instead of recognising it
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// Text: the character between fields (one character, or tab, semicolon, pipe, space)
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    pub delimiter: Option<u8>,
    /// Text: the first line is data; columns are called c0, c1, ...
    #[arg(long)]
    pub no_header: bool,
    /// Text: types of columns instead of inferring them, such as id:int32,note:string
    #[arg(long, value_name = "NAME:TYPE,...")]
    pub schema: Option<String>,
    /// CSV: words that stand for null, such as NA,-; empty cells do anyway, but in text
    #[arg(long, value_name = "WORDS", value_delimiter = ',', allow_hyphen_values = true)]
    pub null_values: Vec<String>,
    /// Text: fill up lines that have too few fields
    #[arg(long)]
    pub pad_short_rows: bool,
    /// Number column names that repeat (a, a_2, ...) instead of refusing them
    #[arg(long)]
    pub rename_duplicates: bool,
    /// Do not compare what is read with the checksums in the file
    #[arg(long)]
    pub no_checksums: bool,
    /// Memory to use at most
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_size)]
    pub memory: u64,
    /// Threads to use [default: all]
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

/// Which columns.
#[derive(Args, Debug, Clone, Default)]
pub struct ColumnArgs {
    /// Columns, in this order [default: all]: names, parts of nested columns (a.b) or positions (#3, counted from 0);
    /// a name with a comma goes in quotes ('"a,b"'); may be given several times
    #[arg(long, value_name = "NAMES")]
    pub columns: Vec<String>,
}

/// Whether what is there may be overwritten.
#[derive(Args, Debug, Clone, Copy, Default)]
pub struct ForceArgs {
    /// Overwrite the output if it is there; without this, that is refused
    #[arg(long, short)]
    pub force: bool,
}

/// How rows are printed.
#[derive(Args, Debug, Clone, Default)]
pub struct PrintArgs {
    /// How to print rows [default: table on a terminal, csv otherwise]
    #[arg(long = "as", value_name = "SHAPE")]
    pub shape: Option<ShapeArg>,
    /// Write to this file instead of standard output, in the format that its ending stands for
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Tell on standard error what is read: parts of the table, byte ranges, bytes
    #[arg(long)]
    pub explain: bool,
    /// With --out to a format that carries types
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
    /// Files to look into
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print the whole byte map: every byte accounted for, gaps named
    #[arg(long)]
    pub layout: bool,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// The file
    pub file: PathBuf,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `head`.
#[derive(Args, Debug)]
pub struct HeadArgs {
    /// The file
    pub file: PathBuf,
    /// How many rows
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
    pub reading: ReadingArgs,
}

/// `cat`.
#[derive(Args, Debug)]
pub struct CatArgs {
    /// The file
    pub file: PathBuf,
    /// Rows to print, before the condition: 10..20, 10.., ..20 or 7, counted from 0
    #[arg(long, value_name = "RANGE")]
    pub rows: Option<String>,
    /// Only rows for which this holds, such as 'price >= 10 and sym = "BTC"'
    #[arg(long = "where", value_name = "CONDITION")]
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
    pub reading: ReadingArgs,
}

/// `take`.
#[derive(Args, Debug)]
pub struct TakeArgs {
    /// The file
    pub file: PathBuf,
    /// Row numbers and ranges, counted from 0, such as 5,17,3 or 100..105,7
    #[arg(long, value_name = "ROWS")]
    pub rows: String,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub print: PrintArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// Files to read
    #[arg(required = true, num_args = 1.., value_name = "IN")]
    pub inputs: Vec<PathBuf>,
    /// The file to write
    #[arg(required = true, value_name = "OUT")]
    pub output: PathBuf,
    /// Format of the output, instead of the one its extension stands for
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<String>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Only rows for which this holds, such as 'price >= 10 and sym = "BTC"'
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    /// Compression level, where the format has levels
    #[arg(long, value_name = "N")]
    pub level: Option<u32>,
    #[command(flatten)]
    pub fit: FitArgs,
    /// Leave out key-value metadata where the output format has no place for it, instead of refusing it
    #[arg(long)]
    pub drop_metadata: bool,
    /// Compression of Parquet (none, snappy, zstd, lz4, gzip, brotli; zstd unless told otherwise) and Arrow (none, lz4,
    /// zstd; none unless told otherwise)
    #[arg(long, value_name = "CODEC")]
    pub compression: Option<CompressionArg>,
    /// Write several files of this many rows each; OUT.ext becomes OUT-00000.ext, OUT-00001.ext, ..., or if there is a
    /// {} in its name, that becomes the number
    #[arg(long, value_name = "ROWS")]
    pub split_rows: Option<std::num::NonZeroU64>,
    #[command(flatten)]
    pub lance: LanceArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// What to do with what a format cannot store.
#[derive(Args, Debug, Clone, Copy, Default)]
pub struct FitArgs {
    /// Nulls where the output format has none: refuse them, or fill in empty text, NaN, 0, false
    #[arg(long, value_name = "HOW", default_value = "refuse")]
    pub nulls: NullsArg,
    /// Types the output format lacks: refuse them, change them if every value stays the same, or change them at a loss
    #[arg(long, value_name = "HOW", default_value = "refuse")]
    pub types: TypesArg,
}

/// Nulls where the format has none.
#[derive(ValueEnum, Debug, Clone, Copy, Default)]
pub enum NullsArg {
    /// Fail, naming the first one
    #[default]
    Refuse,
    /// Write a stand-in and count them
    Fill,
}

/// How pages or buffers are compressed.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompressionArg {
    /// Not at all
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

/// Types the format lacks.
#[derive(ValueEnum, Debug, Clone, Copy, Default)]
pub enum TypesArg {
    /// Fail, naming the column
    #[default]
    Refuse,
    /// Use another type if every value stays the same
    Exact,
    /// Use another type even if only text or the nearest number remains
    Lossy,
}

/// `verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Files to check
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The left file
    #[arg(value_name = "A")]
    pub left: PathBuf,
    /// The right file
    #[arg(value_name = "B")]
    pub right: PathBuf,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Match rows by these columns, separated by commas, rather than by position
    #[arg(long, value_name = "COLUMNS")]
    pub key: Option<String>,
    /// Stop after this many differing rows (with --key, all are counted)
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub limit: u64,
    /// Show this many differing values
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
    /// Rows of the sample table
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub rows: u64,
    /// Keep the files in this folder, which is made if it is not there
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
}

/// `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The verb, or the whole command if none is given
    pub verb: Option<String>,
    /// Write the pages of the command and all its verbs to this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "verb")]
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
    fn every_verb_is_on_the_page() {
        let page = include_str!("../../../docs/command-line.md");
        for verb in Cli::command().get_subcommands() {
            assert!(page.contains(&format!("`{}", verb.get_name())), "{}", verb.get_name());
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
