//! Options for writing Lance files.

use crate::human::parse_size;
use clap::{Args, ValueEnum};
use colkit::lance::{EncodingSet, LanceWriteOptions, Prefer, Version};

/// Options for writing Lance files.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Writing Lance")]
pub struct LanceArgs {
    /// What to optimise encodings for [default: balance]
    #[arg(long, value_name = "GOAL")]
    pub prefer: Option<PreferArg>,
    /// File format version [default: 2.1, or 2.2 with --prefer size]
    #[arg(long, value_name = "VERSION")]
    pub lance_version: Option<VersionArg>,
    /// Columns to write bloom filters for, so that = and in can skip rows; may be repeated
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub bloom: Vec<String>,
    /// Page size before encoding [default: 8M, less if --memory is small]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub page_size: Option<u64>,
    /// Which encodings to use [default: lance]
    #[arg(long, value_name = "SET")]
    pub encodings: Option<EncodingsArg>,
    /// Let pages share their descriptions: smaller files of many columns, which stock Lance refuses
    #[arg(long)]
    pub deferred_encodings: bool,
}

/// Which encodings to use.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingsArg {
    /// Those of Lance, which every reader of the version knows
    Lance,
    /// Also those of colkit, where they are smaller; the file brings decoders for other readers
    Extended,
}

/// What to optimise encodings for.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferArg {
    /// Small files that are fast to write, scan and take rows from
    Balance,
    /// Smallest files
    Size,
    /// Fastest writes and scans
    Speed,
    /// Fastest access to single rows: no block compression
    RandomAccess,
}

/// File format versions that can be written.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionArg {
    /// For old readers: no null structs, little compression
    #[value(name = "2.0")]
    V2_0,
    /// Read by Lance 0.38 and later
    #[value(name = "2.1")]
    V2_1,
    /// Read by Lance 4.0 and later; supports maps
    #[value(name = "2.2")]
    V2_2,
}

impl LanceArgs {
    /// The write options, if any was given.
    pub fn write_options(&self) -> Option<LanceWriteOptions> {
        let asked = self.prefer.is_some()
            || self.lance_version.is_some()
            || self.page_size.is_some()
            || self.encodings.is_some()
            || self.deferred_encodings
            || !self.bloom.is_empty();
        let mut options = LanceWriteOptions::new().with_bloom(&self.bloom);
        options.prefer = self.prefer.map_or(options.prefer, |p| match p {
            PreferArg::Balance => Prefer::Balance,
            PreferArg::Size => Prefer::Size,
            PreferArg::Speed => Prefer::Speed,
            PreferArg::RandomAccess => Prefer::RandomAccess,
        });
        options.version = self.lance_version.map(|v| match v {
            VersionArg::V2_0 => Version::V2_0,
            VersionArg::V2_1 => Version::V2_1,
            VersionArg::V2_2 => Version::V2_2,
        });
        options.page_bytes = self.page_size.unwrap_or(options.page_bytes);
        options.encodings = match self.encodings {
            Some(EncodingsArg::Extended) => EncodingSet::Extended,
            Some(EncodingsArg::Lance) | None => EncodingSet::Stock,
        };
        options.deferred_encodings = self.deferred_encodings;
        asked.then_some(options)
    }
}
