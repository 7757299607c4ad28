//! Arguments about Lance datasets.

use super::ScriptArgs;
use clap::Args;
use std::path::PathBuf;

pub const VERSIONS_HELP: &str = "\
Examples:
  colkit versions trips.lance
  colkit versions s3://bucket/trips.lance --json
  colkit cat trips.lance --at 3

The newest version comes last. Rows that were written again count as added and as removed.";

/// Which version of a dataset to read, and what of it.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Lance datasets")]
pub struct DatasetArgs {
    /// Version to read: a number, a tag, a branch, or a time such as 2026-11-17T06:00:00Z [default: the newest]
    #[arg(long, value_name = "VERSION")]
    pub at: Option<String>,
    #[command(flatten)]
    pub places: BasePathArgs,
}

/// Where the files of datasets are.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Lance datasets")]
pub struct BasePathArgs {
    /// Where files of a dataset are now, if it names them by a path that is no longer right; may be repeated
    #[arg(long = "base-path", value_name = "OLD=NEW", value_parser = parse_moved)]
    pub moved: Vec<(String, String)>,
}

/// Whether rows come with their ids.
#[derive(Args, Debug, Clone, Copy, Default)]
#[command(next_help_heading = "Lance datasets")]
pub struct RowIdArgs {
    /// Add the columns _rowid and _rowaddr
    #[arg(long)]
    pub with_row_id: bool,
}

/// `versions`.
#[derive(Args, Debug)]
pub struct VersionsArgs {
    /// Dataset to list the versions of
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    #[command(flatten)]
    pub script: ScriptArgs,
}

fn parse_moved(text: &str) -> Result<(String, String), String> {
    let (old, new) = text.split_once('=').ok_or("expected OLD=NEW, such as /data/trips.lance=/backup/trips.lance")?;
    Ok((old.trim_end_matches('/').to_owned(), new.trim_end_matches('/').to_owned()))
}
