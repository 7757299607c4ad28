//! Arguments about writing Lance datasets.

use super::{ForceArgs, ReadingArgs, ScriptArgs};
use crate::human::parse_size;
use clap::Args;
use colkit::{DatasetMode, DatasetWriteOptions};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

pub const DELETE_HELP: &str = "\
Examples:
  colkit delete trips.lance --where 'fare < 0'
  colkit delete s3://bucket/trips.lance --where 'day = \"2026-11-17\"' --json

The rows are gone from the new version; earlier versions still have them, until cleanup removes these.";

pub const TAG_HELP: &str = "\
Examples:
  colkit tag trips.lance
  colkit tag trips.lance release-1
  colkit tag trips.lance release-1 7 --force
  colkit tag trips.lance release-1 --delete

Without a name, all tags are listed. cleanup keeps versions that have a tag.";

pub const RESTORE_HELP: &str = "\
Examples:
  colkit restore trips.lance 3
  colkit restore trips.lance before-cleanup

Makes a new version that is like version 3. What was newer stays in the history.";

pub const COMPACT_HELP: &str = "\
Examples:
  colkit compact trips.lance
  colkit compact trips.lance --rows-per-file 5000000

Joins small neighbouring fragments, and writes those anew of which more than a tenth is deleted. Rows
that are written anew come last; they keep their ids where these are stable. Files of earlier versions
stay until cleanup.";

pub const CLEANUP_HELP: &str = "\
Examples:
  colkit cleanup trips.lance --dry-run
  colkit cleanup trips.lance --older-than 30d
  colkit cleanup trips.lance --older-than 12h --yes

Removes versions that are older, and the files that only they need. The newest version, versions with
a tag and those that branches begin with stay. Files that no version has ever named are removed once
they are a week old: a writer may still be at work on others.";

/// How `convert` writes datasets.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Lance datasets")]
pub struct DatasetWriteArgs {
    /// Write OUT as a Lance dataset, a directory with versions; so does a / at its end
    #[arg(long)]
    pub dataset: bool,
    /// Add the rows to the dataset OUT, as a new version of it
    #[arg(long, conflicts_with = "overwrite")]
    pub append: bool,
    /// Make a new version of the dataset OUT that has only these rows and columns
    #[arg(long)]
    pub overwrite: bool,
    /// Most rows of a data file of a dataset [default: 1048576]
    #[arg(long, value_name = "ROWS")]
    pub rows_per_file: Option<NonZeroU64>,
    /// Size after which a data file of a dataset is complete, such as 1G [default: 90G]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub max_bytes_per_file: Option<u64>,
    #[command(flatten)]
    pub commit: CommitArgs,
}

/// How new versions are committed.
#[derive(Args, Debug, Clone, Copy, Default)]
#[command(next_help_heading = "Lance datasets")]
pub struct CommitArgs {
    /// Write to a store that cannot keep two writers apart; nobody else must write at the same time
    #[arg(long)]
    pub unsafe_commit: bool,
}

impl DatasetWriteArgs {
    /// How to write a dataset, if one is meant.
    pub fn options(&self, output: &std::path::Path) -> Option<DatasetWriteOptions> {
        let named = output.to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR]);
        if !(named || self.dataset || self.append || self.overwrite) {
            return None;
        }
        let mode = match (self.append, self.overwrite) {
            (true, _) => DatasetMode::Append,
            (_, true) => DatasetMode::Overwrite,
            _ => DatasetMode::Create,
        };
        let mut options = DatasetWriteOptions::new(mode);
        options.rows_per_file = self.rows_per_file.map_or(options.rows_per_file, Into::into);
        options.bytes_per_file = self.max_bytes_per_file.unwrap_or(options.bytes_per_file);
        options.unsafe_commit = self.commit.unsafe_commit;
        Some(options)
    }
}

/// `delete`.
#[derive(Args, Debug)]
pub struct DeleteArgs {
    /// Dataset to delete rows from
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// Delete matching rows, such as 'price >= 10 and sym = "BTC"'
    #[arg(long = "where", value_name = "PREDICATE", required = true)]
    pub condition: String,
    #[command(flatten)]
    pub commit: CommitArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `tag`.
#[derive(Args, Debug)]
pub struct TagArgs {
    /// Dataset whose versions have tags
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// Tag to create, move or delete [default: list all]
    pub name: Option<String>,
    /// Version that gets the tag [default: the newest]
    pub version: Option<u64>,
    /// Delete the tag; the version stays
    #[arg(long, requires = "name", conflicts_with_all = ["version", "force"])]
    pub delete: bool,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
}

/// `restore`.
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// Dataset to restore a version of
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// Version to restore: a number or a tag
    pub version: String,
    #[command(flatten)]
    pub commit: CommitArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
}

/// `compact`.
#[derive(Args, Debug)]
pub struct CompactArgs {
    /// Dataset to compact
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// Most rows of a data file; fragments with fewer are joined
    #[arg(long, value_name = "ROWS", default_value = "1048576")]
    pub rows_per_file: NonZeroU64,
    /// Give up indices, which name rows by where they are
    #[arg(long)]
    pub drop_indices: bool,
    #[command(flatten)]
    pub commit: CommitArgs,
    #[command(flatten)]
    pub script: ScriptArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// `cleanup`.
#[derive(Args, Debug)]
pub struct CleanupArgs {
    /// Dataset to remove old versions of
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// Age of versions to remove: a number and s, m, h, d or w
    #[arg(long, value_name = "AGE", default_value = "7d", value_parser = parse_age)]
    pub older_than: Duration,
    /// List what would be removed, and remove nothing
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Remove without asking
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub script: ScriptArgs,
}

fn parse_age(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number and s, m, h, d or w, such as 7d".to_owned();
    let unit = text.chars().last().ok_or_else(expected)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(expected()),
    };
    let number: u64 = text.strip_suffix(unit).and_then(|n| n.parse().ok()).ok_or_else(expected)?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        assert_eq!(parse_age("7d"), Ok(Duration::from_secs(604_800)));
        assert_eq!(parse_age("0s"), Ok(Duration::ZERO));
        assert!(["", "7", "d", "7x", "-1d", "99999999999999999999w"].iter().all(|text| parse_age(text).is_err()));
    }
}
