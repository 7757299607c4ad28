//! The command line of colkit, as a library: arguments in, exit code out.
//!
//! Data goes to standard output, talk to standard error. A closed pipe is success. Exit codes: 0 done; 1 failed,
//! invalid or different; 2 wrong usage; 70 a bug in colkit.
//!
//! ```text
//! ceiling  an allocator that counts, so that --memory holds
//! args/    what can be typed: the one table that help, man pages and completions come from
//! request  what was typed, made into what is meant
//! verbs/   one module per verb
//! rows/    printing rows: table, CSV, NDJSON, Arrow, JSON
//! ```

mod args;
mod ceiling;
mod grid;
mod human;
mod io;
mod progress;
mod report;
mod request;
mod rows;
mod verbs;
mod visible;

use args::{Cli, Verb};
pub use ceiling::Counting;
use clap::Parser;
use colkit::{Class, Result};
pub use io::{Io, Stream};
use std::ffi::OsString;
use std::process::ExitCode;

/// What a verb that ran to its end says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Done.
    Yes,
    /// Done, and the answer is no: invalid, different.
    No,
}

/// Runs the command with these arguments; the first is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>, mut io: Io) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return report::usage(&error, &arguments, &mut io),
    };
    colkit::store::Stores::shared().set_timeout(cli.timeout);
    let json = cli.verb.json();
    if let Some(memory) = cli.verb.memory() {
        ceiling::set(memory, report::too_little_memory(memory, json));
    }
    let result = dispatch(&cli.verb, &mut io).and_then(|outcome| Ok(io.flush().map(|()| outcome)?));
    match result {
        Ok(Outcome::Yes) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::FAILURE,
        // Whoever read our output has seen enough.
        Err(_) if io.stdout.is_closed() => ExitCode::SUCCESS,
        Err(error) => {
            let _ = io.stdout.flush_now();
            report::error(&error, json, &mut io.stderr);
            exit_code(error.class())
        }
    }
}

fn exit_code(class: Class) -> ExitCode {
    match class {
        Class::Request => ExitCode::from(2),
        // What `sysexits.h` calls an internal software error.
        Class::Internal => ExitCode::from(70),
        _ => ExitCode::FAILURE,
    }
}

/// Tells of a panic that got to the end of the program, after its message.
pub fn panicked() -> ExitCode {
    report::error(&colkit::Error::panicked("the command"), false, &mut Io::of_process().stderr);
    exit_code(Class::Internal)
}

fn dispatch(verb: &Verb, io: &mut Io) -> Result<Outcome> {
    match verb {
        Verb::Inspect(args) => verbs::inspect::run(args, io),
        Verb::Schema(args) => verbs::schema::run(args, io),
        Verb::Head(args) => verbs::cat::head(args, io),
        Verb::Cat(args) => verbs::cat::cat(args, io),
        Verb::Take(args) => verbs::take::run(args, io),
        Verb::Sql(args) => verbs::sql::run(args, io),
        Verb::Convert(args) => verbs::convert::run(args, io),
        Verb::Pack(args) => verbs::pack::run(args, io),
        Verb::Unpack(args) => verbs::unpack::run(args, io),
        Verb::Verify(args) => verbs::verify::run(args, io),
        Verb::Diff(args) => verbs::diff::run(args, io),
        Verb::Formats(args) => verbs::formats::run(args, io),
        Verb::Tour(args) => verbs::tour::run(args, io),
        Verb::Completions(args) => verbs::completions::run(args, io),
        Verb::Man(args) => verbs::man::run(args, io),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_exit_codes() {
        for class in Class::ALL {
            let expected = match class {
                Class::Request => 2,
                Class::Internal => 70,
                _ => 1,
            };
            assert_eq!(exit_code(class), ExitCode::from(expected), "{}", class.name());
        }
    }
}
