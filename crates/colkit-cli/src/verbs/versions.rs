//! `versions`: lists the versions of a dataset.

use crate::args::VersionsArgs;
use crate::grid::{self, Align};
use crate::human::count;
use crate::{Io, Outcome};
use colkit::{DatasetVersion, Result};
use serde_json::json;
use std::io::Write;

pub fn run(args: &VersionsArgs, io: &mut Io) -> Result<Outcome> {
    let versions = colkit::versions(&args.dataset)?;
    if args.script.json {
        for version in &versions {
            let document = json!({
                "version": version.version,
                "time": version.time,
                "operation": version.operation,
                "rows": version.rows,
                "added": version.added,
                "removed": version.removed,
                "fragments": version.fragments,
                "writer": version.writer,
                "tags": version.tags,
                "branches": version.branches,
            });
            writeln!(io.stdout, "{document}")?;
        }
        return Ok(Outcome::Success);
    }
    let titles = [
        ("version", Align::Right),
        ("committed", Align::Left),
        ("operation", Align::Left),
        ("rows", Align::Right),
        ("added", Align::Right),
        ("removed", Align::Right),
        ("fragments", Align::Right),
        ("writer", Align::Left),
        ("tags, branches", Align::Left),
    ];
    grid::print(&titles, &mut io.stdout, |line| versions.iter().try_for_each(|version| line(&cells(version))))?;
    Ok(Outcome::Success)
}

fn cells(version: &DatasetVersion) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |n: Option<u64>| n.map(count).unwrap_or_default();
    let names: Vec<&str> = version.tags.iter().chain(&version.branches).map(String::as_str).collect();
    vec![
        version.version.to_string(),
        text(&version.time),
        version.operation.unwrap_or_default().to_owned(),
        count(version.rows),
        number(version.added),
        number(version.removed),
        count(version.fragments as u64),
        text(&version.writer),
        names.join(", "),
    ]
}
