//! Arguments of `pack` and `unpack`.

use super::{ForceArgs, LimitArgs, ScriptArgs};
use crate::human::parse_size;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command};
use colkit::at1::Codec;
use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub const PACK_HELP: &str = "Examples:
  colkit pack trades.csv
  colkit pack --smallest --best access.log access.at1
  colkit pack logs/ logs.at1
  colkit pack --decompress logs/*.gz logs.at1
  zcat trades.csv.gz | colkit pack - - > trades.at1

Without an output name, .at1 is appended to the input name. Several inputs or a directory make a
bundle, which keeps the names, contents, permissions and modification times of files and
directories. Symbolic and hard links, FIFOs, sockets and devices are refused unless --lossy is
given. Tables and NDJSON are packed so that they can be queried; --smallest trades that for size.
A compressed file (gzip, zstd, xz, bzip2) is packed as it is, to be restored byte for byte;
--decompress packs its content instead, under its name without .gz, .zst, .xz or .bz2.
The output appears only after it has been restored and compared with the input.";

pub const UNPACK_HELP: &str = "Examples:
  colkit unpack trades.csv.at1
  colkit unpack trades.at1 trades.csv
  colkit unpack trades.at1 - | head
  colkit unpack logs.at1 logs
  colkit unpack --list logs.at1
  colkit unpack logs.at1 2024/may.log 2024/june.log
  colkit unpack logs.at1 --out - 2024/may.log | head

Without an output name, .at1 is removed from the input name. A bundle becomes a directory. To
restore part of a bundle, name its entries or directories after the file; if the first name is not
in the bundle, it is the output. Files appear only after their SHA-256 has been verified, except on
stdout, which is written as it is decoded. A damaged entry is reported, the others are restored,
and the exit code is 1. With --force, files in an existing directory are replaced, after checking
that all can be; symbolic links in it are never followed.";

/// `pack`.
#[derive(Args, Debug)]
pub struct PackArgs {
    /// Files or directories to pack; the last one is the output if it ends with .at1 or is -
    #[arg(required = true, num_args = 1.., value_name = "IN... [OUT.at1]")]
    pub files: Vec<PathBuf>,
    /// Codec [default: the best one]: ssh, json, osm, log, columnar, vcf, jsondoc, qcolumnar, qjson, dicom, embed, qjson2, raw
    #[arg(long, value_name = "NAME", value_parser = CodecName, hide_possible_values = true, conflicts_with_all = ["queryable", "smallest"])]
    pub codec: Option<Codec>,
    /// Keep tables and NDJSON queryable [default]
    #[arg(long, conflicts_with = "smallest")]
    pub queryable: bool,
    /// Optimise for size only
    #[arg(long)]
    pub smallest: bool,
    /// Pack quickly: zstd only
    #[arg(long, conflicts_with = "best")]
    pub fast: bool,
    /// Pack as small as possible: xz at its highest level
    #[arg(long)]
    pub best: bool,
    /// Write independent frames; this is the default for long files that are not queryable
    #[arg(long)]
    pub stream: bool,
    /// Pack a directory even if a bundle cannot hold all of it: links to files become files; other links, FIFOs, sockets
    /// and devices are skipped; each is reported
    #[arg(long)]
    pub lossy: bool,
    /// Pack what is in files compressed with gzip, zstd, xz or bzip2, not the compressed files
    #[arg(long)]
    pub decompress: bool,
    #[command(flatten)]
    pub force: ForceArgs,
    /// Approximate maximum memory to use
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_size)]
    pub memory: u64,
    /// Number of threads [default: all cores]; does not affect the output
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// `unpack`.
#[derive(Args, Debug)]
pub struct UnpackArgs {
    /// AT-1 file to restore
    pub file: PathBuf,
    /// Output file, directory (for a bundle) or - for stdout, then the bundle entries to restore [default: all]
    #[arg(value_name = "OUT | NAME")]
    pub words: Vec<PathBuf>,
    /// Output file, directory or - for stdout; all other names are then bundle entries
    #[arg(long, value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// List the entries of a bundle without restoring them
    #[arg(long)]
    pub list: bool,
    /// Do not verify the SHA-256 of restored files
    #[arg(long)]
    pub no_verify: bool,
    #[command(flatten)]
    pub force: ForceArgs,
    /// Maximum memory to use
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_size)]
    pub memory: u64,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// The name of a codec. Shells offer all of them.
#[derive(Clone)]
struct CodecName;

impl CodecName {
    const ALL: [&'static str; 13] = [
        "ssh",
        "json",
        "osm",
        "log",
        "columnar",
        "vcf",
        "jsondoc",
        "qcolumnar",
        "qjson",
        "dicom",
        "embed",
        "qjson2",
        "raw",
    ];

    fn parse(name: &str) -> Result<Codec, String> {
        Codec::from_name(name)
            .filter(|c| *c != Codec::Bundle)
            .ok_or_else(|| format!("expected one of {}", Self::ALL.join(", ")))
    }
}

impl TypedValueParser for CodecName {
    type Value = Codec;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Codec, clap::Error> {
        TypedValueParser::parse_ref(&Self::parse, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Self::ALL.iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_codecs_are_named() {
        let known = Codec::ALL.iter().filter(|c| **c != Codec::Bundle).map(|c| c.name().to_ascii_lowercase());
        assert_eq!(known.collect::<Vec<_>>(), CodecName::ALL);
    }
}
