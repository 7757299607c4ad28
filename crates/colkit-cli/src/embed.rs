//! The verbs and options of the command for other languages, which have their own words for them: arguments in, errors out.
//! Nothing is printed but the results, to the streams that are given.

use crate::args::{Cli, ConvertArgs, Verb};
use crate::verbs::{convert, convert_dataset};
use crate::{Io, Outcome, obey};
use clap::{CommandFactory, Parser};
use colkit::arrow::record_batch::RecordBatchReader;
use colkit::{DatasetOptions, Error, OpenOptions, Result};
use std::ffi::OsString;

/// Runs a verb. Returns whether all is well: `false` if a file is invalid or files differ.
pub fn run(arguments: &[OsString], io: &mut Io) -> Result<bool> {
    Ok(obey(&parsed(arguments)?, io)? == Outcome::Success)
}

/// Writes the batches of a reader as `convert` would: the arguments are those of a `convert` from `-`.
pub fn write(arguments: &[OsString], reader: Box<dyn RecordBatchReader + Send>, io: &mut Io) -> Result<()> {
    let args = converting(arguments)?;
    match convert_dataset::options(&args)? {
        Some(dataset) => convert_dataset::write(&args, &dataset, reader, io),
        None => convert::write(&args, reader, io),
    }
}

/// How `cat` with these arguments opens files, and which version of a dataset.
pub fn reading(arguments: &[OsString]) -> Result<(OpenOptions, DatasetOptions)> {
    let cli = parsed(arguments)?;
    colkit::store::Stores::shared().set_timeout(cli.timeout);
    let Verb::Cat(cat) = cli.verb else { return Err(Error::request("usage", "expected the arguments of cat")) };
    let rows = cat.common;
    let options = rows.reading.open_options()?;
    Ok((options.with_row_ids(rows.ids.with_row_id).with_filename(rows.files.filename), rows.dataset.options()))
}

/// The long names of a verb's options, without dashes; none if there is no such verb.
pub fn options(verb: &str) -> Vec<String> {
    let command = Cli::command();
    let verb = command.get_subcommands().find(|known| known.get_name() == verb);
    let all = verb.into_iter().flat_map(|verb| verb.get_arguments().chain(command.get_arguments()));
    all.filter_map(|argument| argument.get_long().map(ToOwned::to_owned)).collect()
}

fn parsed(arguments: &[OsString]) -> Result<Cli> {
    Cli::try_parse_from(arguments).map_err(|error| {
        let message = error.render().to_string();
        // What follows is how to type the command.
        let first = message.trim().trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
        Error::request("usage", first)
    })
}

fn converting(arguments: &[OsString]) -> Result<ConvertArgs> {
    match parsed(arguments)?.verb {
        Verb::Convert(args) => Ok(args),
        _ => Err(Error::request("usage", "expected the arguments of convert")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_verb_and_of_all() {
        let found = options("pack");
        assert!(["smallest", "force", "json", "timeout"].iter().all(|name| found.iter().any(|f| f == name)));
        assert!(!found.iter().any(|f| f == "where"));
        assert_eq!(options("nothing"), Vec::<String>::new());
    }

    #[test]
    fn a_mistake_is_an_error_and_says_nothing_about_typing() {
        let error = run(&["colkit".into(), "count".into(), "--colour".into()], &mut nowhere()).unwrap_err();
        assert_eq!(error.code(), "usage");
        assert!(!error.message().contains("Usage"), "{}", error.message());
    }

    fn nowhere() -> Io {
        let stream = || crate::Stream::new(Box::new(std::io::sink()));
        Io::new(Box::new(std::io::empty()), stream(), stream())
    }
}
