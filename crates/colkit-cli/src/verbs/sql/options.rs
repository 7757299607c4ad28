//! Options inside of a query, under the names that the command uses: they are parsed as its arguments.

use crate::args::ReadingArgs;
use clap::{Arg, ArgAction, Args, Command, FromArgMatches};
use colkit::{Error, OpenOptions, Result};

fn command<T: Args>() -> Command {
    T::augment_args(Command::new("options").no_binary_name(true).disable_help_flag(true))
}

/// The words that options of a query stand for. `not_here` are arguments that cannot be options.
pub fn flags<T: Args>(what: &str, options: &[(String, String)], not_here: &[&str]) -> Result<Vec<String>> {
    let command = command::<T>();
    let is_known = |arg: &&Arg| arg.get_long().is_some_and(|name| !not_here.iter().any(|n| name.starts_with(n)));
    let mut arguments = Vec::new();
    for (name, value) in options {
        let name = name.replace('_', "-");
        let arg = command.get_arguments().filter(is_known).find(|a| a.get_long() == Some(name.as_str()));
        let Some(arg) = arg else {
            let known: Vec<String> = command
                .get_arguments()
                .filter(is_known)
                .filter_map(|a| Some(a.get_long()?.replace('-', "_")))
                .collect();
            return Err(Error::request("no_such_option", format!("{what} has no option {}", name.replace('-', "_")))
                .hint(format!("the options are {}", known.join(", "))));
        };
        match (arg.get_action(), value.as_str()) {
            (ArgAction::SetTrue, "true" | "yes" | "1") => arguments.push(format!("--{name}")),
            (ArgAction::SetTrue, "false" | "no" | "0") => {}
            (ArgAction::SetTrue, _) => {
                return Err(Error::request("bad_option", format!("{name}: expected true or false, found {value:?}")));
            }
            _ => arguments.push(format!("--{name}={}", yes_or_no(arg, value))),
        }
    }
    Ok(arguments)
}

/// The arguments that options of a query stand for.
pub fn parsed<T: Args + FromArgMatches>(what: &str, options: &[(String, String)], not_here: &[&str]) -> Result<T> {
    let arguments = flags::<T>(what, options, not_here)?;
    let matches = command::<T>().try_get_matches_from(arguments).and_then(|mut m| T::from_arg_matches_mut(&mut m));
    matches.map_err(|e| {
        let message = e.render().to_string();
        let first = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
        Error::request("bad_option", first.replace("'--", "'").to_string())
    })
}

/// SQL's true and false where the command says yes and no.
fn yes_or_no<'a>(arg: &Arg, value: &'a str) -> &'a str {
    let takes_yes = arg.get_possible_values().iter().any(|v| v.get_name() == "yes");
    match value {
        "true" if takes_yes => "yes",
        "false" if takes_yes => "no",
        other => other,
    }
}

/// How files are opened that a query names with options. Memory, threads, limits and
/// plugins are those of the command.
pub fn open_with(command: &ReadingArgs, options: &[(String, String)]) -> Result<OpenOptions> {
    let options: Vec<_> = options.iter().map(|(name, value)| (ours(name).to_owned(), value.clone())).collect();
    let taken = ["from", "memory", "threads", "limit-", "plugin", "allow-"];
    let mut reading: ReadingArgs = parsed("the table", &options, &taken)?;
    (reading.memory, reading.threads) = (command.memory, command.threads);
    reading.limits = command.limits.clone();
    #[cfg(feature = "plugins")]
    {
        reading.plugins = command.plugins.clone();
    }
    reading.open_options()
}

/// Our name for what DuckDB calls otherwise.
fn ours(name: &str) -> &str {
    match name {
        "delim" | "sep" => "delimiter",
        "nullstr" => "null_values",
        "dateformat" | "timestampformat" => "date_format",
        "decimal_separator" => "decimal",
        other => other,
    }
}
