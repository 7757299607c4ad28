//! What to do about an error, as data: each front end puts it into its own words.
//!
//! A format knows which setting would help, but not what its user calls it: a flag on the command line, a field in
//! Rust, a keyword argument elsewhere. So a hint names the [`Setting`] and says what it does; whoever shows the error
//! names the setting ([`Hint::worded`]).

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Something a caller can set. Every front end must have a name for each, so adding one is a breaking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// The memory that reading, writing or a query may take.
    Memory,
    /// The columns to read.
    Columns,
    /// Columns a table may have.
    ColumnLimit,
    /// Bytes that one value may have.
    ValueLimit,
    /// Bytes that a file may unpack to.
    OutputLimit,
    /// Bytes that may come out for each byte of the file.
    ExpansionLimit,
    /// Types may change as long as every value stays the same.
    ExactTypes,
    /// Types may change even if that loses something.
    LossyTypes,
    /// Nulls may be written as other values.
    FillNulls,
    /// Columns of the same name may be renamed.
    RenameDuplicates,
    /// Metadata that the target cannot carry may be left out.
    DropMetadata,
    /// A file that is there may be replaced.
    Overwrite,
    /// The format of the input.
    InputFormat,
    /// What stands between the cells of CSV.
    Delimiter,
    /// The encoding of text.
    Encoding,
    /// Rows of CSV with too few cells may be filled up.
    PadShortRows,
    /// The compression of the output.
    Compression,
    /// Version 2.1 of the Lance format for the output.
    Lance21,
    /// Version 2.2 of the Lance format for the output.
    Lance22,
    /// How long to wait for a store.
    Timeout,
    /// The folder for what does not fit into memory.
    SpillFolder,
    /// Rows may be added to a dataset.
    Append,
    /// The rows of a dataset may be replaced, as a new version of it.
    OverwriteDataset,
    /// A dataset may be written to where two writers at once would not notice one another.
    UnsafeCommit,
    /// Indices of a dataset may be given up.
    DropIndices,
    /// A pattern is plain text.
    FixedPattern,
    /// Plugins that files bring with them may run.
    EmbeddedPlugins,
    /// A plugin that decodes an encoding.
    Plugin,
}

impl Setting {
    /// All of them.
    pub const ALL: [Setting; 28] = [
        Setting::Memory,
        Setting::Columns,
        Setting::ColumnLimit,
        Setting::ValueLimit,
        Setting::OutputLimit,
        Setting::ExpansionLimit,
        Setting::ExactTypes,
        Setting::LossyTypes,
        Setting::FillNulls,
        Setting::RenameDuplicates,
        Setting::DropMetadata,
        Setting::Overwrite,
        Setting::InputFormat,
        Setting::Delimiter,
        Setting::Encoding,
        Setting::PadShortRows,
        Setting::Compression,
        Setting::Lance21,
        Setting::Lance22,
        Setting::Timeout,
        Setting::SpillFolder,
        Setting::Append,
        Setting::OverwriteDataset,
        Setting::UnsafeCommit,
        Setting::DropIndices,
        Setting::FixedPattern,
        Setting::EmbeddedPlugins,
        Setting::Plugin,
    ];

    /// The hint that this setting does something that would help: `Setting::Memory.does("allows more")`.
    pub fn does(self, effect: impl Into<Cow<'static, str>>) -> Hint {
        Hint(vec![Clause::Set(self, effect.into())])
    }

    /// What the setting is called in Rust.
    fn in_rust(self) -> &'static str {
        match self {
            Setting::Memory => "the option `memory`",
            Setting::Columns => "a `Projection`",
            Setting::ColumnLimit => "`Limits::columns`",
            Setting::ValueLimit => "`Limits::value_bytes`",
            Setting::OutputLimit => "`Limits::output_bytes`",
            Setting::ExpansionLimit => "`Limits::expansion`",
            Setting::ExactTypes => "`Types::Exact`",
            Setting::LossyTypes => "`Types::Lossy`",
            Setting::FillNulls => "`Nulls::Fill`",
            Setting::RenameDuplicates => "the option `rename_duplicates`",
            Setting::DropMetadata => "the option `drop_metadata`",
            Setting::Overwrite => "`Existing::Replace`",
            Setting::InputFormat => "the option `format`",
            Setting::Delimiter => "the option `delimiter`",
            Setting::Encoding => "the option `encoding`",
            Setting::PadShortRows => "the option `pad_short_rows`",
            Setting::Compression => "the option `compression`",
            Setting::Lance21 => "Lance version 2.1",
            Setting::Lance22 => "Lance version 2.2",
            Setting::Timeout => "a longer timeout",
            Setting::SpillFolder => "the option `spill_folder`",
            Setting::Append => "`DatasetMode::Append`",
            Setting::OverwriteDataset => "`DatasetMode::Overwrite`",
            Setting::UnsafeCommit => "the option `unsafe_commit`",
            Setting::DropIndices => "the option `drop_indices`",
            Setting::FixedPattern => "`Pattern::fixed`",
            Setting::EmbeddedPlugins => "`Plugins::allow_embedded`",
            Setting::Plugin => "`Plugins::add_file`",
        }
    }
}

/// What the user can do about an error: advice, settings that help, or both. A text is a hint as well:
///
/// ```
/// use colkit_core::{Hint, Setting};
/// let hint = Hint::from("rename one of them").and(Setting::RenameDuplicates.does("does that"));
/// assert_eq!(hint.to_string(), "rename one of them; the option `rename_duplicates` does that");
/// assert_eq!(hint.worded(|_| "rename=True"), "rename one of them; rename=True does that");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint(Vec<Clause>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Clause {
    Text(Cow<'static, str>),
    Set(Setting, Cow<'static, str>),
}

impl Hint {
    /// This hint and another one after it.
    #[must_use]
    pub fn and(mut self, other: impl Into<Hint>) -> Self {
        self.0.extend(other.into().0);
        self
    }

    /// The settings that would help.
    pub fn settings(&self) -> impl Iterator<Item = Setting> {
        self.0.iter().filter_map(|clause| match clause {
            Clause::Text(_) => None,
            Clause::Set(setting, _) => Some(*setting),
        })
    }

    /// The hint with the settings called what `name` says.
    pub fn worded(&self, name: impl Fn(Setting) -> &'static str) -> String {
        let clauses = self.0.iter().map(|clause| match clause {
            Clause::Text(text) => text.to_string(),
            Clause::Set(setting, effect) => format!("{} {effect}", name(*setting)),
        });
        clauses.collect::<Vec<_>>().join("; ")
    }
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Hint(vec![Clause::Text(text.into())])
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Hint(vec![Clause::Text(text.into())])
    }
}

/// In the words of the Rust library.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.worded(Setting::in_rust))
    }
}
