//! What to do about an error: here there is nothing to set, so that the command's options are named.

use colkit::{Error, Setting};

/// What to do about it.
pub fn hint(error: &Error) -> Option<String> {
    error.advice().map(|hint| hint.worded(named))
}

/// What a setting is called.
fn named(setting: Setting) -> &'static str {
    match setting {
        Setting::Memory => "`--memory` of the command",
        Setting::Columns => "showing fewer columns",
        Setting::ColumnLimit => "`--limit-columns` of the command",
        Setting::ValueLimit => "`--limit-value` of the command",
        Setting::OutputLimit => "`--limit-output` of the command",
        Setting::ExpansionLimit => "`--limit-expansion` of the command",
        Setting::ExactTypes => "`--types exact` of the command",
        Setting::LossyTypes => "`--types lossy` of the command",
        Setting::FillNulls => "`--nulls fill` of the command",
        Setting::RenameDuplicates => "`--rename-duplicates` of the command",
        Setting::DropMetadata => "`--drop-metadata` of the command",
        Setting::Overwrite => "`--force` of the command",
        Setting::InputFormat => "`--from` of the command",
        Setting::Delimiter => "`--delimiter` of the command",
        Setting::Encoding => "`--encoding` of the command",
        Setting::PadShortRows => "`--pad-short-rows` of the command",
        Setting::Compression => "`--compression` of the command",
        Setting::Lance21 => "`--lance-version 2.1` of the command",
        Setting::Lance22 => "`--lance-version 2.2` of the command",
        Setting::Timeout => "`--timeout` of the command",
        Setting::SpillFolder => "`--spill-dir` of the command",
        Setting::Append => "`--append` of the command",
        Setting::OverwriteDataset => "`--overwrite` of the command",
        Setting::UnsafeCommit => "`--unsafe-commit` of the command",
        Setting::DropIndices => "`--drop-indices` of the command",
        Setting::FixedPattern => "`-F` of the command",
        Setting::EmbeddedPlugins => "`--allow-embedded-plugins` of the command",
        Setting::Plugin => "`--plugin FILE.wasm` of the command",
    }
}
