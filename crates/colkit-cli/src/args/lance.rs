//! What can be asked of Lance files when they are written.

use crate::human::parse_size;
use clap::{Args, ValueEnum};
use colkit::lance::{LanceWriteOptions, Prefer, Version};

/// How Lance files are written.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Writing Lance")]
pub struct LanceArgs {
    /// Lance: what encodings are chosen for [default: balance]
    #[arg(long, value_name = "WHAT")]
    pub prefer: Option<PreferArg>,
    /// Lance: version of the file [default: 2.1, and 2.2 with --prefer size]
    #[arg(long, value_name = "VERSION")]
    pub lance_version: Option<VersionArg>,
    /// Lance: columns that get a bloom filter, so that = and in skip rows; may be given several times
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub bloom: Vec<String>,
    /// Lance: bytes of a page before encoding [default: 8M, less if memory is short]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub page_size: Option<u64>,
}

/// What encodings are chosen for.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferArg {
    /// Small, and quick to write, scan and take rows from
    Balance,
    /// As small as can be
    Size,
    /// Quick to write and scan
    Speed,
    /// Single rows: nothing is unpacked as a whole
    RandomAccess,
}

/// Versions that can be written.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionArg {
    /// For old readers: no nulls in structs, little compression
    #[value(name = "2.0")]
    V2_0,
    /// Read by Lance 0.38 and later
    #[value(name = "2.1")]
    V2_1,
    /// Read by Lance 4.0 and later; has maps
    #[value(name = "2.2")]
    V2_2,
}

impl LanceArgs {
    /// What is asked for, if anything is.
    pub fn write_options(&self) -> Option<LanceWriteOptions> {
        let asked =
            self.prefer.is_some() || self.lance_version.is_some() || self.page_size.is_some() || !self.bloom.is_empty();
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
        asked.then_some(options)
    }
}
