//! Command-line arguments. The help texts, man pages and shell completions are generated from these definitions.

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

mod check;
#[cfg(feature = "cluster")]
mod cluster;
mod convert;
mod dataset;
mod dataset_write;
mod files;
mod format_name;
#[cfg(feature = "sql")]
mod given;
mod grep;
mod lance;
mod limits;
mod pack;
#[cfg(feature = "plugins")]
mod plugins;
mod reading;
mod rows;
mod salvage;
mod sql;
mod stats;
#[cfg(feature = "view")]
mod view;

pub use check::{DiffArgs, InspectArgs, SchemaArgs, VerifyArgs};
#[cfg(feature = "cluster")]
pub use cluster::{
    ClusterAction, ClusterArgs, ExecutorArgs, LocalArgs, LogLevel, ProcessArgs, SchedulerArgs, StatusArgs,
};
pub use convert::{CompressionArg, ConvertArgs, FitArgs, NullsArg, TypesArg};
pub use dataset::{BasePathArgs, DatasetArgs, RowIdArgs, VersionsArgs};
pub use dataset_write::{CleanupArgs, CompactArgs, DatasetWriteArgs, DeleteArgs, RestoreArgs, TagArgs};
pub use files::FilesArgs;
pub use format_name::FormatName;
#[cfg(feature = "sql")]
pub use given::GivenArgs;
pub use grep::GrepArgs;
pub use lance::LanceArgs;
pub use limits::LimitArgs;
pub use pack::{PackArgs, UnpackArgs};
#[cfg(feature = "plugins")]
pub use plugins::{PluginArgs, PluginsAction, PluginsArgs};
#[cfg(feature = "sql")]
pub use reading::parse_delimiter;
pub use reading::{ReadingArgs, YesNo};
pub use rows::{
    CatArgs, ColumnArgs, CountArgs, HeadArgs, PrintArgs, PrintRowsArgs, SampleArgs, SelectArgs, ShapeArg, TakeArgs,
};
pub use salvage::SalvageArgs;
pub use sql::SqlArgs;
pub use stats::StatsArgs;
#[cfg(feature = "view")]
pub use view::ViewArgs;

const EXIT_CODES: &str = "\
The format is detected from the content, also of files compressed with gzip, zstd, xz or bzip2.
FILE may be a path, a URL (s3://, gs://, az://, https://), a Lance dataset (a directory; trips.lance@3
is its version 3), another directory or a quoted pattern ('part-*.csv') for all its files as one table,
or - for stdin or stdout.
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
    /// Print no notes, summaries or progress, only results and errors
    #[arg(long, global = true)]
    pub quiet: bool,
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
  colkit head -3 --columns sym,price trades.csv
  colkit head --filename jan.csv feb.csv
  colkit head 'data/**/*.parquet'")]
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
  colkit count trades.csv.gz --where 'price >= 10'
  colkit count 'part-*.csv'")]
    Count(CountArgs),
    /// Describe every column: nulls, distinct values, range, mean, quantiles, most frequent values, histogram
    #[command(after_help = stats::STATS_HELP)]
    Stats(StatsArgs),
    /// Print rows, with optional column, row range and predicate selection
    #[command(after_help = "Examples:
  colkit cat trades.cff
  colkit cat trades.cff --columns sym,price --where 'price >= 10 and sym = \"BTC\"'
  colkit cat trades.cff --rows 1000..2000 --as ndjson
  colkit cat trades.cff --where 'price >= 10' -n 5
  colkit cat trades.csv --select 'sym as symbol, price::float32, * except (sym, price)'
  colkit cat trades.cff --as arrow --out trades.arrows

A predicate compares columns with numbers, \"strings\", true, false or null using = != < <= > >=,
in (...), between ... and ... and is null, combined with and, or and not. Quote unusual column
names in `backticks`. JSON cannot represent NaN or infinity; both are printed as null.")]
    Cat(CatArgs),
    /// Print rows in which the text of a cell matches a regular expression
    #[command(after_help = grep::GREP_HELP)]
    Grep(GrepArgs),
    /// Print rows by number, in the order given (random access)
    #[command(after_help = "Examples:
  colkit take trades.cff --rows 5,17,3
  colkit take trades.cff --rows 100..105,7 --columns price
  colkit take trips.lance --row-ids 4294967296,7")]
    Take(TakeArgs),
    /// Query files of any format with SQL; without a query, start an interactive shell
    #[command(after_help = sql::SQL_HELP)]
    Sql(SqlArgs),
    /// Run queries and conversions on several machines: start the processes of a cluster
    #[cfg(feature = "cluster")]
    #[command(after_help = cluster::CLUSTER_HELP)]
    Cluster(ClusterArgs),
    /// Explore files in the browser or in the terminal: columns, rows, every byte
    #[cfg(feature = "view")]
    #[command(after_help = view::VIEW_HELP)]
    View(ViewArgs),
    /// Convert one or more files to another format, concatenating their rows
    #[command(after_help = "Examples:
  colkit convert trades.csv trades.cff
  colkit convert jan.csv feb.csv mar.csv quarter.gppcol
  colkit convert trades.cff - --to csv | wc -l
  colkit convert part-*.csv all.parquet --compression snappy
  colkit convert all.lance part-{}.ndjson --split-rows 1000000
  colkit convert trades.csv.gz trades.colfile --schema id:int32,note:string
  colkit convert trades.lance trades.ndjson.zst
  colkit convert trades.csv trades.parquet --select 'sym as symbol, price::decimal(12, 2), -note'
  colkit convert trades.csv trades.lance --prefer size
  colkit convert trades.csv trades.lance --lance-version 2.0 --bloom sym,account --page-size 1M
  colkit convert trades.csv trades.lance/
  colkit convert more.csv trades.lance/ --append

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
    /// Write what can be read of a damaged or cut file to a new one, and say what is missing
    #[command(after_help = salvage::SALVAGE_HELP)]
    Salvage(SalvageArgs),
    /// Compare two tables of any formats; exit with 1 if they differ
    #[command(after_help = "Examples:
  colkit diff trades.csv trades.cff
  colkit diff --columns sym,price old.gppcol new.gppcol
  colkit diff trips.lance --at 3 --at 7

Two versions of a dataset whose rows keep their ids are compared by these.
Types must match exactly; text formats such as CSV are parsed as the types of the other file.
Floating-point values are compared bit by bit: NaN equals NaN, and 0.0 differs from -0.0.")]
    Diff(DiffArgs),
    /// List the versions of a Lance dataset
    #[command(after_help = dataset::VERSIONS_HELP)]
    Versions(VersionsArgs),
    /// Delete rows of a Lance dataset, as a new version of it
    #[command(after_help = dataset_write::DELETE_HELP)]
    Delete(DeleteArgs),
    /// List, create, move or delete tags of a Lance dataset
    #[command(after_help = dataset_write::TAG_HELP)]
    Tag(TagArgs),
    /// Make an earlier version of a Lance dataset the newest
    #[command(after_help = dataset_write::RESTORE_HELP)]
    Restore(RestoreArgs),
    /// Join small fragments of a Lance dataset and drop deleted rows from its files
    #[command(after_help = dataset_write::COMPACT_HELP)]
    Compact(CompactArgs),
    /// Remove old versions of a Lance dataset, and files that no other version needs
    #[command(after_help = dataset_write::CLEANUP_HELP)]
    Cleanup(CleanupArgs),
    /// List the supported formats
    #[command(after_help = "Examples:
  colkit formats
  colkit formats --json")]
    Formats(FormatsArgs),
    /// List plugins that decode encodings which colkit does not know, or check one
    #[cfg(feature = "plugins")]
    #[command(after_help = plugins::PLUGINS_HELP)]
    Plugins(PluginsArgs),
    /// See it work: generate a table, write it in every format, read it back and compare
    #[command(after_help = "Examples:
  colkit tour
  colkit tour --rows 1000000 --keep /tmp/tour")]
    Tour(TourArgs),
    /// Print shell completions: verbs, options, formats, codecs, and columns of the files on the line
    #[command(after_help = "Examples:
  colkit completions bash > ~/.local/share/bash-completion/completions/colkit
  colkit completions zsh > ~/.zfunc/_colkit
  colkit completions fish > ~/.config/fish/completions/colkit.fish")]
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
            Verb::Head(a) => a.common.script.json,
            Verb::Tail(a) => a.common.script.json,
            Verb::Sample(a) => a.common.script.json,
            Verb::Count(a) => a.script.json,
            Verb::Stats(a) => a.script.json,
            Verb::Cat(a) => a.common.script.json,
            Verb::Grep(a) => a.common.script.json,
            Verb::Take(a) => a.common.script.json,
            Verb::Sql(a) => a.script.json,
            #[cfg(feature = "cluster")]
            Verb::Cluster(a) => a.json(),
            #[cfg(feature = "view")]
            Verb::View(a) => a.script.json,
            Verb::Convert(a) => a.script.json,
            Verb::Pack(a) => a.script.json,
            Verb::Unpack(a) => a.script.json,
            Verb::Verify(a) => a.script.json,
            Verb::Salvage(a) => a.script.json,
            Verb::Diff(a) => a.script.json,
            Verb::Versions(a) => a.script.json,
            Verb::Delete(a) => a.script.json,
            Verb::Tag(a) => a.script.json,
            Verb::Restore(a) => a.script.json,
            Verb::Compact(a) => a.script.json,
            Verb::Cleanup(a) => a.script.json,
            Verb::Formats(a) => a.script.json,
            #[cfg(feature = "plugins")]
            Verb::Plugins(a) => a.script.json,
            Verb::Tour(a) => a.script.json,
            Verb::Completions(_) | Verb::Man(_) => false,
        }
    }

    /// The value of `--memory`, for verbs that read files.
    pub fn memory(&self) -> Option<u64> {
        match self {
            Verb::Inspect(a) => Some(a.reading.memory),
            Verb::Schema(a) => Some(a.reading.memory),
            Verb::Head(a) => Some(a.common.reading.memory),
            Verb::Tail(a) => Some(a.common.reading.memory),
            Verb::Sample(a) => Some(a.common.reading.memory),
            Verb::Count(a) => Some(a.reading.memory),
            Verb::Stats(a) => Some(a.reading.memory),
            Verb::Cat(a) => Some(a.common.reading.memory),
            Verb::Grep(a) => Some(a.common.reading.memory),
            Verb::Take(a) => Some(a.common.reading.memory),
            Verb::Sql(a) => Some(a.reading.memory),
            #[cfg(feature = "view")]
            Verb::View(a) => Some(a.reading.memory),
            Verb::Convert(a) => Some(a.reading.memory),
            Verb::Pack(a) => Some(a.memory),
            Verb::Unpack(a) => Some(a.memory),
            Verb::Verify(a) => Some(a.reading.memory),
            Verb::Salvage(a) => Some(a.reading.memory),
            Verb::Diff(a) => Some(a.reading.memory),
            Verb::Delete(a) => Some(a.reading.memory),
            Verb::Compact(a) => Some(a.reading.memory),
            Verb::Versions(_) | Verb::Tag(_) | Verb::Restore(_) | Verb::Cleanup(_) => None,
            #[cfg(feature = "cluster")]
            Verb::Cluster(_) => None,
            #[cfg(feature = "plugins")]
            Verb::Plugins(_) => None,
            Verb::Formats(_) | Verb::Tour(_) | Verb::Completions(_) | Verb::Man(_) => None,
        }
    }
}

/// Rewrites `head -5` as `head -n5`, as `head` and `tail` of POSIX systems allow.
pub fn expand_row_counts(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let Some(verb) = arguments.iter().skip(1).position(|word| !is_option(word)).map(|at| at + 1) else {
        return arguments;
    };
    let takes_count =
        arguments.get(verb).is_some_and(|name| ["head", "tail", "sample", "cat"].iter().any(|v| name == v));
    let mut before = OsString::new();
    for word in arguments.iter_mut().skip(verb + 1).take_while(|word| *word != "--").filter(|_| takes_count) {
        let digits = word.to_str().and_then(|text| text.strip_prefix('-')).unwrap_or_default();
        // `--select -5` leaves out the column named 5.
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && before != "--select" {
            *word = format!("-n{digits}").into();
        }
        before.clone_from(word);
    }
    arguments
}

/// Output for scripts.
#[derive(Args, Debug, Clone, Default)]
pub struct ScriptArgs {
    /// Print results and errors as JSON
    #[arg(long)]
    pub json: bool,
}

/// Whether an existing file may be overwritten.
#[derive(Args, Debug, Clone, Copy, Default)]
pub struct ForceArgs {
    /// Overwrite the output if it exists; without this option, that is an error
    #[arg(long, short)]
    pub force: bool,
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
    fn a_number_with_a_dash_is_a_row_count() {
        for (typed, expanded) in [
            ("colkit head -5 x.csv", "colkit head -n5 x.csv"),
            ("colkit --quiet tail x.csv -12", "colkit --quiet tail x.csv -n12"),
            ("colkit cat --select -5 x.csv", "colkit cat --select -5 x.csv"),
            ("colkit head -- -5", "colkit head -- -5"),
            ("colkit count -5", "colkit count -5"),
            ("colkit -5", "colkit -5"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(expand_row_counts(words(typed)), words(expanded));
        }
    }

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
                let words = expand_row_counts(words.into_iter().map(OsString::from).collect());
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
}
