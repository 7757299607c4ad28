//! `cleanup`: removes old versions of a dataset.

use crate::args::CleanupArgs;
use crate::human::{bytes, plural};
use crate::{Io, Outcome};
use colkit::{Cleanup, Error, Result};
use serde_json::json;
use std::io::{BufRead, BufReader, IsTerminal, Write};

pub fn run(args: &CleanupArgs, io: &mut Io) -> Result<Outcome> {
    let found = colkit::cleanup(&args.dataset, args.older_than)?;
    let dataset = args.dataset.display().to_string();
    let (versions, files): (Vec<u64>, usize) = (found.versions().collect(), found.files().len());
    let size: u64 = found.files().iter().map(|file| file.bytes).sum();
    list(args, &dataset, &versions, &found, io)?;
    let told =
        format!("{}, {} with {}", plural(versions.len() as u64, "version"), plural(files as u64, "file"), bytes(size));
    if files == 0 || args.dry_run {
        if !args.script.json {
            let what =
                if files == 0 { "there is nothing to remove".into() } else { format!("{told} would be removed") };
            writeln!(io.stderr, "{dataset}: {what}")?;
        }
        return Ok(Outcome::Success);
    }
    if !args.yes && !agreed(&format!("{dataset}: remove {told}?"), io)? {
        return Err(Error::request("not_confirmed", "nothing was removed")
            .file(dataset)
            .hint("--yes removes without asking, --dry-run only lists"));
    }
    found.remove()?;
    if !args.script.json {
        writeln!(io.stderr, "{dataset}: {told} removed")?;
    }
    Ok(Outcome::Success)
}

fn list(args: &CleanupArgs, dataset: &str, versions: &[u64], found: &Cleanup, io: &mut Io) -> Result<()> {
    if args.script.json {
        let files: Vec<_> = found.files().iter().map(|f| json!({"name": f.name, "bytes": f.bytes})).collect();
        let document = json!({"dataset": dataset, "versions": versions, "files": files, "removed": args.yes});
        return Ok(writeln!(io.stdout, "{document}")?);
    }
    for file in found.files() {
        writeln!(io.stdout, "{}", file.name)?;
    }
    io.stdout.flush()?;
    Ok(())
}

/// Asks, where somebody can answer.
fn agreed(question: &str, io: &mut Io) -> Result<bool> {
    if io.stderr.width.is_none() || !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    write!(io.stderr, "{question} [y/N] ")?;
    io.stderr.flush()?;
    let mut answer = String::new();
    BufReader::new(&mut io.stdin).read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
