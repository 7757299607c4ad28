//! The query engine in a program of its own.
//!
//! The engine is most of what there is to build and to load, and only `sql` and the server of `view` need it. So `colkit` can be
//! built without it (that is the default); then these hand over to `colkit-sql`, the same program with the engine, which lies
//! beside it. Without that, `view` serves files but no queries.

use crate::args::{Cli, Verb};
use clap::Parser;
use colkit::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The program with the engine.
const PROGRAM: &str = "colkit-sql";

/// Hands over to the program with the engine, if these arguments ask for it and it is there.
pub fn hand_over(arguments: &[OsString]) -> Option<ExitCode> {
    let wanted = match Cli::try_parse_from(arguments) {
        Ok(Cli { verb: Verb::Sql(_), .. }) => true,
        #[cfg(feature = "view")]
        Ok(Cli { verb: Verb::View(args), .. }) => args.serves(),
        _ => false,
    };
    let program = beside(&std::env::current_exe().ok().filter(|_| wanted)?)?;
    let mut command = Command::new(program);
    command.args(arguments.iter().skip(1));
    Some(run(command))
}

/// The program beside this one.
fn beside(own: &Path) -> Option<PathBuf> {
    let found = own.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    found.is_file().then_some(found)
}

/// Becomes the program: signals and the terminal are its own from now on.
#[cfg(unix)]
fn run(mut command: Command) -> ExitCode {
    use std::os::unix::process::CommandExt;
    failed(command.exec())
}

#[cfg(not(unix))]
fn run(mut command: Command) -> ExitCode {
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => failed(error),
    }
}

fn failed(error: std::io::Error) -> ExitCode {
    let error = Error::from(error).file(PROGRAM).part("starting it");
    crate::report::error(&error, false, &mut crate::Io::of_process().stderr);
    ExitCode::FAILURE
}

/// The answer of a program without the engine.
#[cfg(not(feature = "sql"))]
pub fn missing() -> Error {
    let place = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.display().to_string()));
    let place = place.unwrap_or_else(|| "the folder of this program".into());
    Error::unsupported("no_query_engine", format!("SQL needs the program {PROGRAM}, which is not in {place}"))
        .hint("in the source folder, cargo build --release --features sql makes it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_query_is_handed_over_and_only_to_what_is_beside() {
        let arguments = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert!(hand_over(&arguments(&["colkit", "formats"])).is_none());
        assert!(hand_over(&arguments(&["colkit", "sql", "--no-such-flag"])).is_none());
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("colkit");
        assert_eq!(beside(&own), None);
        let program = folder.path().join(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX));
        std::fs::create_dir(&program).unwrap();
        assert_eq!(beside(&own), None, "a folder is no program");
        std::fs::remove_dir(&program).unwrap();
        std::fs::write(&program, "").unwrap();
        assert_eq!(beside(&own), Some(program));
    }
}
