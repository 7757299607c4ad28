//! `completions`: shell completion scripts.

use crate::args::{Cli, CompletionsArgs};
use crate::{Io, Outcome};
use clap::CommandFactory;
use colkit::Result;
use std::io::Write;

pub fn run(args: &CompletionsArgs, io: &mut Io) -> Result<Outcome> {
    if let Some(script) = crate::complete::script(args.shell) {
        io.stdout.raw().write_all(script.as_bytes())?;
        return Ok(Outcome::Success);
    }
    // Into memory first: the generator panics if the stream fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "colkit", &mut script);
    io.stdout.raw().write_all(&script)?;
    Ok(Outcome::Success)
}
