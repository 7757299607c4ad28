//! `compact` and `restore`: new versions of what is there.

use crate::args::{CompactArgs, RestoreArgs};
use crate::human::{count, plural};
use crate::{Io, Outcome};
use colkit::{CompactOptions, Error, Result};
use serde_json::json;
use std::io::Write;

pub fn run(args: &CompactArgs, io: &mut Io) -> Result<Outcome> {
    let mut options = CompactOptions::default();
    options.rows_per_file = args.rows_per_file.into();
    options.drop_indices = args.drop_indices;
    options.unsafe_commit = args.commit.unsafe_commit;
    options.write.memory = args.reading.memory / 2;
    options.write.threads = args.reading.thread_count();
    let summary = colkit::compact(&args.dataset, &args.reading.open_options()?, &options)?;
    let dataset = args.dataset.display().to_string();
    if args.script.json {
        let document = json!({
            "dataset": dataset,
            "version": summary.version,
            "fragments_removed": summary.fragments_removed,
            "fragments_added": summary.fragments_added,
            "rows": summary.rows,
            "rows_dropped": summary.rows_dropped,
        });
        writeln!(io.stdout, "{document}")?;
    } else if summary.fragments_removed == 0 {
        writeln!(io.stderr, "{dataset}: nothing to do; version {} stays the newest", summary.version)?;
    } else {
        let before = plural(summary.fragments_removed as u64, "fragment");
        let (after, rows) = (count(summary.fragments_added as u64), plural(summary.rows, "row"));
        let dropped = count(summary.rows_dropped);
        let version = summary.version;
        writeln!(
            io.stderr,
            "{dataset}: version {version}: {before} are {after}, {rows}, {dropped} deleted ones dropped"
        )?;
    }
    Ok(Outcome::Success)
}

pub fn restore(args: &RestoreArgs, io: &mut Io) -> Result<Outcome> {
    let old = match args.version.parse() {
        Ok(number) => number,
        Err(_) => tagged(args)?,
    };
    let version = colkit::restore(&args.dataset, old, args.commit.unsafe_commit)?;
    let dataset = args.dataset.display().to_string();
    if args.script.json {
        writeln!(io.stdout, "{}", json!({"dataset": dataset, "version": version, "restored": old}))?;
    } else {
        writeln!(io.stderr, "{dataset}: version {version} is like version {old}")?;
    }
    Ok(Outcome::Success)
}

/// The version that a tag stands for.
fn tagged(args: &RestoreArgs) -> Result<u64> {
    let tags = colkit::tags(&args.dataset)?;
    let found = tags.iter().find(|tag| tag.name == args.version).map(|tag| tag.version);
    found.ok_or_else(|| {
        Error::request("no_such_version", format!("there is no tag {:?}", args.version))
            .file(args.dataset.display().to_string())
            .hint("`tag` lists the tags, `versions` the versions")
    })
}
