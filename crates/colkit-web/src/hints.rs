//! What to do about an error: here there is nothing to set, so that the command's options are named.

use colkit::{Error, Setting};

/// What to do about it.
pub fn hint(error: &Error) -> Option<String> {
    error.advice().map(|hint| hint.worded(named))
}

/// What a setting is called.
fn named(setting: Setting) -> &'static str {
    match setting {
        Setting::Memory => "the option `memory` of the command",
        Setting::Columns => "showing fewer columns",
        Setting::ColumnLimit => "the option `limit-columns` of the command",
        Setting::ValueLimit => "the option `limit-value` of the command",
        Setting::OutputLimit => "the option `limit-output` of the command",
        Setting::ExpansionLimit => "the option `limit-expansion` of the command",
        Setting::ExactTypes => "the option `types exact` of the command",
        Setting::LossyTypes => "the option `types lossy` of the command",
        Setting::FillNulls => "the option `nulls fill` of the command",
        Setting::RenameDuplicates => "the option `rename-duplicates` of the command",
        Setting::DropMetadata => "the option `drop-metadata` of the command",
        Setting::Overwrite => "the option `force` of the command",
        Setting::InputFormat => "the option `from` of the command",
        Setting::Delimiter => "the option `delimiter` of the command",
        Setting::Encoding => "the option `encoding` of the command",
        Setting::PadShortRows => "the option `pad-short-rows` of the command",
        Setting::Compression => "the option `compression` of the command",
        Setting::Lance21 => "the option `lance-version 2.1` of the command",
        Setting::Lance22 => "the option `lance-version 2.2` of the command",
        Setting::Timeout => "the option `timeout` of the command",
        Setting::SpillFolder => "the option `spill-dir` of the command",
        Setting::Append => "the option `append` of the command",
        Setting::OverwriteDataset => "the option `overwrite` of the command",
        Setting::UnsafeCommit => "the option `unsafe-commit` of the command",
        Setting::DropIndices => "the option `drop-indices` of the command",
        Setting::FixedPattern => "the option `F` of the command",
        Setting::EmbeddedPlugins => "the option `allow-embedded-plugins` of the command",
        Setting::Plugin => "the option `plugin FILE.wasm` of the command",
    }
}
