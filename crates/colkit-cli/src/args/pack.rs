//! What can be typed after `pack` and `unpack`.

use super::{ForceArgs, LimitArgs, ScriptArgs};
use crate::human::parse_size;
use clap::Args;
use colkit::at1::Codec;
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub const PACK_HELP: &str = "Examples:
  colkit pack trades.csv
  colkit pack --smallest --best access.log access.at1
  colkit pack logs/ logs.at1
  zcat trades.csv.gz | colkit pack - - > trades.at1

Without a name for the output, .at1 is appended to that of the input. Several inputs, or a folder, make a
bundle, which keeps names, contents, permissions and times of files and folders, empty folders too. What
it cannot hold (links, FIFOs, sockets, devices) is named and refused, unless --lossy allows it. Tables and
JSON lines are packed so that they can be queried; --smallest gives that up for size. The output appears
only after it has been restored and found equal to the input.";

pub const UNPACK_HELP: &str = "Examples:
  colkit unpack trades.csv.at1
  colkit unpack trades.at1 trades.csv
  colkit unpack trades.at1 - | head
  colkit unpack logs.at1 logs
  colkit unpack --list logs.at1
  colkit unpack logs.at1 2024/may.log 2024/june.log
  colkit unpack logs.at1 --out - 2024/may.log | head

Without a name for the output, .at1 is taken off that of the input. A bundle becomes a folder. After the
file come names of entries or folders in the bundle, to restore only these; a first word that is none is
the output. Files appear only after their SHA-256 has been compared with the original's; standard output
cannot wait for that. A damaged entry is named, and the others are restored; the exit code is then 1.
With --force files in a folder that is there are replaced, after it was checked that all can be; links in
it are not followed.";

/// `pack`.
#[derive(Args, Debug)]
pub struct PackArgs {
    /// Files or folders to pack; the last one is the output if its name ends with .at1, or is -
    #[arg(required = true, num_args = 1.., value_name = "IN... [OUT.at1]")]
    pub files: Vec<PathBuf>,
    /// Codec, instead of finding the best: ssh, json, osm, log, columnar, vcf, jsondoc, qcolumnar, qjson, dicom, embed, qjson2, raw
    #[arg(long, value_name = "NAME", value_parser = parse_codec, conflicts_with_all = ["queryable", "smallest"])]
    pub codec: Option<Codec>,
    /// Keep tables and JSON lines readable in parts [default]
    #[arg(long, conflicts_with = "smallest")]
    pub queryable: bool,
    /// Only size matters
    #[arg(long)]
    pub smallest: bool,
    /// Be fast: zstd only
    #[arg(long, conflicts_with = "best")]
    pub fast: bool,
    /// Take as long as it takes: xz at its most thorough
    #[arg(long)]
    pub best: bool,
    /// Write frames, which can be restored one by one; long files are written so anyway, unless they are queryable
    #[arg(long)]
    pub stream: bool,
    /// Pack a folder although a bundle cannot hold all of it: links to files become files, other links, FIFOs, sockets and
    /// devices are left out; each is told
    #[arg(long)]
    pub lossy: bool,
    #[command(flatten)]
    pub force: ForceArgs,
    /// Memory to use, roughly
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_size)]
    pub memory: u64,
    /// Threads to use [default: all]; the output does not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub script: ScriptArgs,
}

/// `unpack`.
#[derive(Args, Debug)]
pub struct UnpackArgs {
    /// The file to restore
    pub file: PathBuf,
    /// Where to restore it to: a file, - for standard output, a folder for a bundle; then entries of the bundle, if not all
    #[arg(value_name = "OUT | NAME")]
    pub words: Vec<PathBuf>,
    /// Where to restore it to; all words after the file are then names of entries
    #[arg(long, value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// List what is in it, and restore nothing
    #[arg(long)]
    pub list: bool,
    /// Do not compare the SHA-256 of what is restored
    #[arg(long)]
    pub no_verify: bool,
    #[command(flatten)]
    pub force: ForceArgs,
    /// Memory to use at most
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_size)]
    pub memory: u64,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
}

fn parse_codec(name: &str) -> Result<Codec, String> {
    let known = Codec::ALL.iter().copied().filter(|c| *c != Codec::Bundle);
    Codec::from_name(name).filter(|c| *c != Codec::Bundle).ok_or_else(|| {
        format!("expected one of {}", known.map(|c| c.name().to_ascii_lowercase()).collect::<Vec<_>>().join(", "))
    })
}
