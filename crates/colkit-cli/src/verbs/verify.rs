//! `verify`: checks files from the first byte to the last.

use crate::args::VerifyArgs;
use crate::human::{bytes, plural};
use crate::progress::Progress;
use crate::report::{hint, place_and_message};
use crate::request::{each_file, input};
use crate::{Io, Outcome};
use colkit::{Checksums, Class, Result, Verdict};
use std::io::Write;

pub fn run(args: &VerifyArgs, io: &mut Io) -> Result<Outcome> {
    let options = args.reading.open_options()?;
    let mut outcome = Outcome::Success;
    for (file, listed) in each_file(&args.files) {
        let verdict = match listed.and_then(|()| input(&file, &args.dataset, io)) {
            Err(error) => Verdict::unreadable(file.display().to_string(), error),
            Ok(input) => {
                let _progress = Progress::watch_reading(io, "verifying", std::slice::from_ref(&input), input.size());
                colkit::verify(&input, &options, args.reading.memory)
            }
        };
        // A bug says nothing about the file.
        if let Some(bug) = verdict.errors.iter().find(|e| e.class() == Class::Internal) {
            return Err(bug.again().file(verdict.file));
        }
        if !verdict.is_valid() {
            outcome = Outcome::Failure;
        }
        if args.script.json {
            writeln!(io.stdout, "{}", colkit::report::verdict(&verdict, hint))?;
        } else {
            print_text(&verdict, io)?;
        }
    }
    Ok(outcome)
}

fn print_text(verdict: &Verdict, io: &mut Io) -> Result<()> {
    let out = &mut io.stdout;
    let label = if verdict.is_valid() { out.green("valid") } else { out.red("INVALID") };
    let mut line = format!("{}: {label}", verdict.file);
    if let (Some(format), Some(rows), Some(columns)) = (verdict.format, verdict.rows, verdict.columns) {
        let (rows, columns) = (plural(rows, "row"), plural(columns as u64, "column"));
        line.push_str(&format!(", {format}, {rows}, {columns}, {}", bytes(verdict.bytes)));
    }
    writeln!(out, "{line}")?;
    for error in &verdict.errors {
        let label = out.red("error:");
        let other = error.file_name().filter(|name| *name != verdict.file).map(|name| format!("{name}: "));
        writeln!(out, "  {label} {}{}", other.unwrap_or_default(), place_and_message(error))?;
        if let Some(hint) = hint(error) {
            writeln!(out, "    hint: {hint}")?;
        }
    }
    for finding in &verdict.findings {
        let label = out.yellow("warning:");
        writeln!(out, "  {label} {}: {}", finding.part, finding.message)?;
    }
    match &verdict.checksums {
        Some(none @ Checksums::None) => {
            let label = out.yellow("note:");
            writeln!(out, "  {label} {none}")?;
        }
        Some(checksums) => {
            let line = out.dim(&format!("  checked: {checksums}"));
            writeln!(out, "{line}")?;
        }
        None => {}
    }
    for checked in &verdict.checked {
        let line = out.dim(&format!("  checked: {checked}"));
        writeln!(out, "{line}")?;
    }
    Ok(())
}
