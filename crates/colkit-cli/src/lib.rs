//! The command line of colkit, as a library: arguments in, exit code out.
//!
//! Data goes to stdout, messages to stderr. A closed pipe is success. Exit codes: 0 success; 1 failure, invalid file or
//! differences found; 2 usage error; 70 a bug in colkit.
//!
//! ```text
//! embed      the same verbs and options for other languages
//! args/      argument definitions; help, man pages and completions are generated from them
//! complete/  what shells offer behind the words of a line
//! request    resolves arguments: inputs, formats, columns
//! verbs/     one module per verb
//! rows/      prints rows: table, CSV, NDJSON, Arrow, JSON
//! report     prints errors
//! escape     keeps names and values from controlling the terminal
//! allocator  enforces --memory
//! engine     what `sql` says in a build without the query engine
//! ```

mod allocator;
mod args;
mod complete;
pub mod embed;
#[cfg(not(feature = "sql"))]
mod engine;
mod escape;
mod grid;
mod human;
mod io;
mod progress;
mod report;
mod request;
mod rows;
mod verbs;

pub use allocator::CountingAllocator;
use args::{Cli, Verb};
use clap::Parser;
use colkit::{Class, Result};
pub use io::{Io, Listener, Stream};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// The result of a verb that ran to completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Done.
    Success,
    /// Done, but a file is invalid or files differ.
    Failure,
    /// Ended by Ctrl-C, as it is meant to be.
    #[cfg(feature = "view")]
    Interrupted,
}

/// The command as a process: its arguments, its streams, its exit code.
pub fn main() -> ExitCode {
    keep_decoders_quiet();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    std::panic::catch_unwind(|| run(arguments, Io::of_process())).unwrap_or_else(|_| panicked())
}

/// What makes a decoder panic is told as an error of the file, and not printed. To be called once in a process.
pub fn keep_decoders_quiet() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !colkit::interop::inside_decoder() {
            tell(info);
        }
    }));
}

/// Runs the command with these arguments; the first is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>, mut io: Io) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(answer) = complete::answer(&arguments) {
        let _ = io.stdout.raw().write_all(answer.as_bytes()).and_then(|()| io.flush());
        return ExitCode::SUCCESS;
    }
    let arguments = args::expand_row_counts(arguments);
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return report::usage(&error, &arguments, &mut io),
    };
    let json = cli.verb.json();
    if cli.quiet {
        io.stderr = io.stderr.quiet();
    }
    if let Some(memory) = cli.verb.memory() {
        allocator::set(memory, report::too_little_memory(memory, json));
    }
    match obey(&cli, &mut io) {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::Failure) => ExitCode::FAILURE,
        #[cfg(feature = "view")]
        Ok(Outcome::Interrupted) => ExitCode::from(130),
        // The reader of our output closed the pipe.
        Err(_) if io.stdout.is_closed() => ExitCode::SUCCESS,
        Err(error) => {
            let _ = io.stdout.flush_now();
            report::error(&error, json, &mut io.stderr);
            // As if the signal had ended it.
            if error.code() == "interrupted" { ExitCode::from(130) } else { exit_code(error.class()) }
        }
    }
}

/// Does what was asked for.
fn obey(cli: &Cli, io: &mut Io) -> Result<Outcome> {
    colkit::store::Stores::shared().set_timeout(cli.timeout);
    dispatch(&cli.verb, io).and_then(|outcome| Ok(io.flush().map(|()| outcome)?))
}

fn exit_code(class: Class) -> ExitCode {
    match class {
        Class::Request => ExitCode::from(2),
        // What `sysexits.h` calls an internal software error.
        Class::Internal => ExitCode::from(70),
        _ => ExitCode::FAILURE,
    }
}

/// Reports a panic that nothing caught, after its message.
fn panicked() -> ExitCode {
    report::error(&colkit::Error::panicked("the command"), false, &mut Io::of_process().stderr);
    exit_code(Class::Internal)
}

fn dispatch(verb: &Verb, io: &mut Io) -> Result<Outcome> {
    match verb {
        Verb::Inspect(args) => verbs::inspect::run(args, io),
        Verb::Schema(args) => verbs::schema::run(args, io),
        Verb::Head(args) => verbs::cat::head(args, io),
        Verb::Tail(args) => verbs::cat::tail(args, io),
        Verb::Sample(args) => verbs::sample::run(args, io),
        Verb::Count(args) => verbs::count::run(args, io),
        Verb::Stats(args) => verbs::stats::run(args, io),
        Verb::Cat(args) => verbs::cat::cat(args, io),
        Verb::Grep(args) => verbs::grep::run(args, io),
        Verb::Take(args) => verbs::take::run(args, io),
        #[cfg(feature = "sql")]
        Verb::Sql(args) => verbs::sql::run(args, io),
        #[cfg(not(feature = "sql"))]
        Verb::Sql(_) => Err(engine::missing()),
        #[cfg(feature = "cluster")]
        Verb::Cluster(args) => verbs::cluster::run(args, io),
        #[cfg(feature = "view")]
        Verb::View(args) => verbs::view::run(args, io),
        Verb::Convert(args) => verbs::convert::run(args, io),
        Verb::Pack(args) => verbs::pack::run(args, io),
        Verb::Unpack(args) => verbs::unpack::run(args, io),
        Verb::Verify(args) => verbs::verify::run(args, io),
        Verb::Salvage(args) => verbs::salvage::run(args, io),
        Verb::Diff(args) => verbs::diff::run(args, io),
        Verb::Versions(args) => verbs::versions::run(args, io),
        Verb::Delete(args) => verbs::delete::run(args, io),
        Verb::Tag(args) => verbs::tag::run(args, io),
        Verb::Restore(args) => verbs::compact::restore(args, io),
        Verb::Compact(args) => verbs::compact::run(args, io),
        Verb::Cleanup(args) => verbs::cleanup::run(args, io),
        Verb::Formats(args) => verbs::formats::run(args, io),
        #[cfg(feature = "plugins")]
        Verb::Plugins(args) => verbs::plugins::run(args, io),
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
