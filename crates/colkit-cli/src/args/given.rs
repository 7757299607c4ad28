//! Options as they were typed, for those who hand them on.

use super::ReadingArgs;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// The options on the command line, by name. It has to be the first of the arguments: others take theirs away.
#[derive(Clone, Debug, Default)]
pub struct GivenArgs(Vec<(String, String)>);

/// What a machine decides for itself: how much it may use, and what it runs.
const OWN: [&str; 6] = ["from", "memory", "threads", "limit", "plugin", "allow"];

impl GivenArgs {
    /// Those about reading files, but not how much it may take.
    pub fn reading(&self) -> Vec<(String, String)> {
        let known = ReadingArgs::augment_args(Command::new("options"));
        let is_known = |name: &str| known.get_arguments().any(|a| a.get_id() == name);
        self.others(&OWN).into_iter().filter(|(name, _)| is_known(name)).collect()
    }

    /// All but those whose names begin like these.
    pub fn others(&self, not: &[&str]) -> Vec<(String, String)> {
        let is_meant = |(name, _): &&(String, String)| !not.iter().any(|n| name.starts_with(n));
        self.0.iter().filter(is_meant).cloned().collect()
    }
}

impl FromArgMatches for GivenArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Vec::new();
        let known = crate::args::Cli::augment_args(Command::new("all"));
        let all: Vec<_> = known.get_subcommands().flat_map(Command::get_arguments).collect();
        for id in matches.ids() {
            let typed = matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
            let Some(arg) = all.iter().find(|a| a.get_id() == id && a.get_long().is_some()).filter(|_| typed) else {
                continue;
            };
            let values = matches.get_raw(id.as_str()).into_iter().flatten();
            let values: Vec<String> = values.map(|value| value.to_string_lossy().into_owned()).collect();
            let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
            let name = arg.get_long().unwrap_or_default().replace('-', "_");
            given.push((name, if is_flag { "true".to_owned() } else { values.join(",") }));
        }
        Ok(GivenArgs(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for GivenArgs {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Verb};
    use clap::Parser;

    #[test]
    fn what_was_typed_is_handed_on_and_nothing_else() {
        let words =
            ["colkit", "sql", "--delimiter", ";", "--no-header", "--null-values", "NA,-", "--memory", "1G", "SELECT 1"];
        let Verb::Sql(args) = Cli::try_parse_from(words).unwrap().verb else { panic!("not sql") };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [pair("delimiter", ";"), pair("no_header", "true"), pair("null_values", "NA,-")];
        let mut given = args.given.reading();
        given.sort();
        assert_eq!(given, expected);
        assert_eq!(args.reading.memory, 1 << 30);
        assert_eq!(args.reading.delimiter, Some(b';'));
    }
}
