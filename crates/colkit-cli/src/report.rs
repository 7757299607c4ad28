//! Prints errors, as text or JSON.

use crate::escape::one_line;
use crate::{Io, Stream};
use colkit::report::ErrorReport;
use colkit::{Error, Setting};
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// An error as `--json` prints it.
pub fn for_json(e: &Error) -> ErrorReport<'_> {
    ErrorReport::new(e, hint(e))
}

/// What to do about it, in the words of the command.
pub fn hint(e: &Error) -> Option<String> {
    e.advice().map(|hint| hint.worded(flag))
}

/// What a setting is called on the command line.
fn flag(setting: Setting) -> &'static str {
    match setting {
        Setting::Memory => "--memory",
        Setting::Columns => "--columns",
        Setting::ColumnLimit => "--limit-columns",
        Setting::ValueLimit => "--limit-value",
        Setting::OutputLimit => "--limit-output",
        Setting::ExpansionLimit => "--limit-expansion",
        Setting::ExactTypes => "--types exact",
        Setting::LossyTypes => "--types lossy",
        Setting::FillNulls => "--nulls fill",
        Setting::RenameDuplicates => "--rename-duplicates",
        Setting::DropMetadata => "--drop-metadata",
        Setting::Overwrite => "--force",
        Setting::InputFormat => "--from",
        Setting::Delimiter => "--delimiter",
        Setting::Encoding => "--encoding",
        Setting::PadShortRows => "--pad-short-rows",
        Setting::Compression => "--compression",
        Setting::Lance21 => "--lance-version 2.1",
        Setting::Lance22 => "--lance-version 2.2",
        Setting::Timeout => "--timeout",
        Setting::SpillFolder => "--spill-dir",
        Setting::Append => "--append",
        Setting::OverwriteDataset => "--overwrite",
        Setting::UnsafeCommit => "--unsafe-commit",
        Setting::DropIndices => "--drop-indices",
        Setting::FixedPattern => "-F",
        Setting::EmbeddedPlugins => "--allow-embedded-plugins",
        Setting::Plugin => "--plugin",
    }
}

/// Location and message, without the hint: `FILE: at byte N: part: expected ..., found ... [code]`.
pub fn sentence(e: &Error) -> String {
    let mut text = String::new();
    if let Some(file) = e.file_name() {
        text.push_str(&format!("{}: ", one_line(file)));
    }
    text.push_str(&place_and_message(e));
    text
}

/// The same without the file's name.
pub fn place_and_message(e: &Error) -> String {
    let offset = e.offset().map(|o| format!("at byte {o}: ")).unwrap_or_default();
    let part = e.part_name().map(|p| format!("{p}: ")).unwrap_or_default();
    // The line of a query that has a mistake follows.
    let (first, rest) = e.message().split_once('\n').map_or((e.message(), None), |(first, rest)| (first, Some(rest)));
    let rest = rest.map(|rest| format!("\n{rest}")).unwrap_or_default();
    format!("{offset}{part}{first} [{}]{rest}", e.code())
}

/// Prints an error. A failure to do so is ignored.
pub fn error(e: &Error, json: bool, stderr: &mut Stream) {
    let text = text(e, json, &stderr.red("error:"));
    let mut stderr = stderr.loud();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn text(e: &Error, json: bool, label: &str) -> String {
    if json {
        #[derive(Serialize)]
        struct Document<'a> {
            error: ErrorReport<'a>,
        }
        let text = serde_json::to_string(&Document { error: for_json(e) }).unwrap_or_default();
        return format!("{text}\n");
    }
    let hint = hint(e).map(|h| format!("\n  hint: {h}")).unwrap_or_default();
    format!("{label} {}{hint}\n", sentence(e))
}

/// The document that `--json` prints for an error.
#[cfg(feature = "view")]
pub fn document(e: &Error) -> String {
    text(e, true, "")
}

/// The message for when memory is used up, formatted in advance.
pub fn too_little_memory(memory: u64, json: bool) -> String {
    let error = Error::limit("this", "far more memory", format!("{memory} bytes")).hint(colkit::core::memory::hint());
    text(&error, json, "error:")
}

/// Prints a usage error, or the requested help or version.
pub fn usage(e: &clap::Error, arguments: &[OsString], io: &mut Io) -> ExitCode {
    let asked_for = !e.use_stderr();
    let stream = if asked_for { &mut io.stdout } else { &mut io.stderr };
    let told = if !asked_for && arguments.iter().any(|a| a == "--json") {
        let message = e.render().to_string();
        let message = message.trim().trim_start_matches("error: ");
        write!(stream, "{}", text(&Error::request("usage", message), true, ""))
    } else if stream.colour && !arguments.iter().any(|a| a.to_string_lossy().contains(char::is_control)) {
        write!(stream.raw(), "{}", e.render().ansi())
    } else {
        write!(stream, "{}", e.render())
    };
    let _ = told.and_then(|()| stream.flush());
    if asked_for { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_flag_of_a_hint_can_be_given() {
        let command = Cli::command();
        for setting in Setting::ALL {
            let (name, value) = flag(setting).split_once(' ').unwrap_or((flag(setting), ""));
            let arguments = command.get_arguments().chain(command.get_subcommands().flat_map(|c| c.get_arguments()));
            let named: Vec<_> = arguments.filter(|a| a.get_long() == name.strip_prefix("--")).collect();
            assert!(!named.is_empty(), "no verb has {name}");
            let takes = |a: &&clap::Arg| a.get_possible_values().iter().any(|v| v.get_name() == value);
            assert!(value.is_empty() || named.iter().all(takes), "{}", flag(setting));
        }
    }
}
