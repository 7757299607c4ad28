//! `man`: man pages, generated from the same definitions as `--help`.

use crate::args::{Cli, ManArgs};
use crate::{Io, Outcome};
use clap::{Command, CommandFactory};
use colkit::{Error, Result, create};
use std::io::Write;

pub fn run(args: &ManArgs, io: &mut Io) -> Result<Outcome> {
    let mut command = Cli::command();
    command.build();
    if let Some(folder) = &args.dir {
        std::fs::create_dir_all(folder).map_err(|e| Error::from(e).file(folder.display().to_string()))?;
        let mut pages = Vec::new();
        for page in std::iter::once(&command).chain(verbs(&command)) {
            let path = folder.join(format!("{}.1", page_name(page)));
            let mut sink = create(&path, [], args.force.existing())?;
            sink.write(&render(page)?)?;
            pages.push((path, sink));
        }
        for (path, sink) in pages {
            sink.commit()?;
            writeln!(io.stderr, "{}", path.display())?;
        }
        return Ok(Outcome::Success);
    }
    let page = match &args.verb {
        None => &command,
        Some(name) => verbs(&command).find(|v| v.get_name() == name).ok_or_else(|| {
            let known: Vec<&str> = verbs(&command).map(Command::get_name).collect();
            Error::request("no_such_verb", format!("there is no verb {name:?}"))
                .hint(format!("verbs are {}", known.join(", ")))
        })?,
    };
    io.stdout.raw().write_all(&render(page)?)?;
    Ok(Outcome::Success)
}

fn verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|v| v.get_name() != "help")
}

fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_string()
}

fn render(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(page_name(command)).render(&mut page)?;
    Ok(page)
}
