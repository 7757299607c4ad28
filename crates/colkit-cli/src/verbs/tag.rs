//! `tag`: lists, creates, moves and deletes tags.

use crate::args::TagArgs;
use crate::grid::{self, Align};
use crate::{Io, Outcome};
use colkit::{Result, Tag};
use serde_json::json;
use std::io::Write;

pub fn run(args: &TagArgs, io: &mut Io) -> Result<Outcome> {
    let Some(name) = &args.name else { return list(args, io) };
    let dataset = args.dataset.display().to_string();
    if args.delete {
        colkit::remove_tag(&args.dataset, name)?;
        if args.script.json {
            writeln!(io.stdout, "{}", json!({"dataset": dataset, "tag": name, "version": null}))?;
        } else {
            writeln!(io.stderr, "{dataset}: tag {name} deleted")?;
        }
        return Ok(Outcome::Success);
    }
    let Tag { name, version, .. } = colkit::set_tag(&args.dataset, name, args.version, args.force.force)?;
    if args.script.json {
        writeln!(io.stdout, "{}", json!({"dataset": dataset, "tag": name, "version": version}))?;
    } else {
        writeln!(io.stderr, "{dataset}: tag {name} is version {version}")?;
    }
    Ok(Outcome::Success)
}

fn list(args: &TagArgs, io: &mut Io) -> Result<Outcome> {
    let tags = colkit::tags(&args.dataset)?;
    if args.script.json {
        let dataset = args.dataset.display().to_string();
        for tag in &tags {
            writeln!(io.stdout, "{}", json!({"dataset": dataset, "tag": tag.name, "version": tag.version}))?;
        }
        return Ok(Outcome::Success);
    }
    let titles = [("tag", Align::Left), ("version", Align::Right)];
    grid::print(&titles, &mut io.stdout, |line| {
        tags.iter().try_for_each(|tag| line(&[tag.name.clone(), tag.version.to_string()]))
    })?;
    Ok(Outcome::Success)
}
