//! Resolves arguments: opens inputs, looks up formats and columns, rejects conflicts.

use crate::Io;
use crate::args::{
    ColumnArgs, DatasetArgs, FilesArgs, FitArgs, ForceArgs, NullsArg, PrintRowsArgs, ReadingArgs, RowIdArgs, TypesArg,
    YesNo,
};
use crate::rows::RowOutput;
use colkit::{
    ColumnName, DatasetOptions, Error, Existing, Inference, Input, Nulls, NumberSpelling, OpenFile, OpenOptions,
    Result, Spelling, TextOptions, Types,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The name of stdin in messages.
const STDIN_NAME: &str = "standard input";

impl ReadingArgs {
    /// How to open files.
    pub fn open_options(&self) -> Result<OpenOptions> {
        let types = match &self.schema {
            None => Vec::new(),
            Some(list) => TextOptions::parse_types(list)?,
        };
        let inference = Inference { null_words: self.null_values.clone(), ..Inference::full() };
        let text = TextOptions {
            delimiter: self.delimiter,
            quote: self.quote.unwrap_or_default(),
            header: if self.no_header { Some(false) } else { self.header.map(|answer| answer == YesNo::Yes) },
            encoding: self.encoding,
            spelling: self.spelling()?,
            types,
            inference,
            pad_short_rows: self.pad_short_rows,
            rename_duplicates: self.rename_duplicates,
            ..TextOptions::default()
        };
        let options = OpenOptions::new()
            .with_limits(self.limits.with_memory(self.memory))
            .with_checksums(!self.no_checksums)
            .with_threads(self.thread_count());
        #[cfg(feature = "plugins")]
        let options = options.with_registry(self.plugins.registry()?);
        Ok(match &self.from {
            None => options.with_text(text),
            Some(name) => {
                // An unknown format is a usage error, even if the file does not exist.
                options.registry().named(name, &text)?;
                options.with_text(text).with_format(name)
            }
        })
    }

    /// How numbers and dates are written, as far as that was said.
    fn spelling(&self) -> Result<Spelling> {
        let numbers = (self.decimal.is_some() || self.thousands.is_some()).then(|| {
            // A point between thousands leaves only the comma for the fraction.
            let usual = if self.thousands == Some('.') { b',' } else { b'.' };
            NumberSpelling { decimal: self.decimal.unwrap_or(usual), thousands: self.thousands }
        });
        if let Some(NumberSpelling { decimal, thousands: Some(thousands) }) = numbers
            && (char::from(decimal) == thousands || thousands.is_ascii_alphanumeric() || "+-".contains(thousands))
        {
            let message = format!("{thousands:?} cannot separate thousands from one another");
            return Err(Error::request("conflicting_options", message));
        }
        Ok(Spelling { numbers, dates: self.date_format.clone() })
    }

    /// How many threads to use.
    pub fn thread_count(&self) -> usize {
        self.threads.map_or_else(colkit::available_threads, Into::into)
    }

    /// Opens files as one table. What was found out about a text is said, unless messages are JSON.
    pub fn open(
        &self,
        files: &FilesArgs,
        dataset: &DatasetArgs,
        ids: RowIdArgs,
        json: bool,
        io: &mut Io,
    ) -> Result<OpenFile> {
        let inputs = inputs(files.files.iter().map(|file| (file, dataset)), io)?;
        self.open_input(self.open_options()?, &Input::several(inputs), files, ids, json, io)
    }

    fn open_input(
        &self,
        options: OpenOptions,
        input: &Input,
        files: &FilesArgs,
        ids: RowIdArgs,
        json: bool,
        io: &mut Io,
    ) -> Result<OpenFile> {
        let options = options.with_row_ids(ids.with_row_id).with_filename(files.filename);
        let opened = options.open_input(input)?;
        ids.check(opened.input())?;
        if !json {
            tell_found(&opened, io)?;
        }
        Ok(opened)
    }
}

/// What is said of files at most, one by one.
const MOST_TOLD: usize = 3;

/// Says what was found out about texts.
fn tell_found(opened: &OpenFile, io: &mut Io) -> Result<()> {
    let found = opened.found_by_file();
    let label = io.stderr.yellow("note:");
    for (name, found) in found.iter().take(MOST_TOLD) {
        let otherwise = if found == "lines, not cells" { "; --from csv reads it as CSV" } else { "" };
        writeln!(io.stderr, "{label} {name}: read with {found}{otherwise}")?;
    }
    if found.len() > MOST_TOLD {
        writeln!(io.stderr, "{label} and so for other files (inspect says it of each)")?;
    }
    Ok(())
}

/// A table whose rows are to be printed, the columns of it that were asked for, and how.
pub struct Opened {
    pub file: OpenFile,
    pub columns: Option<Vec<ColumnName>>,
    pub printing: RowOutput,
}

impl PrintRowsArgs {
    /// Opens the file, once it is clear that its rows could be printed as requested.
    pub fn open(&self, io: &mut Io) -> Result<Opened> {
        let printing = RowOutput::new(&self.print, self.force.existing(), self.script.json, io)?;
        let columns = self.columns.names()?;
        let inputs = inputs(self.files.files.iter().map(|file| (file, &self.dataset)), io)?;
        let file = self.open_for(&printing, &Input::several(inputs), io)?;
        Ok(Opened { file, columns, printing })
    }

    fn open_for(&self, printing: &RowOutput, input: &Input, io: &mut Io) -> Result<OpenFile> {
        let options = printing.suited(self.reading.open_options()?);
        self.reading.open_input(options, input, &self.files, self.ids, self.script.json, io)
    }

    /// The same for the first rows: of standard input no more is read than that takes.
    pub fn open_start(&self, rows: u64, io: &mut Io) -> Result<Opened> {
        if !matches!(self.files.files.as_slice(), [only] if is_stream(only)) {
            return self.open(io);
        }
        let printing = RowOutput::new(&self.print, self.force.existing(), self.script.json, io)?;
        let columns = self.columns.names()?;
        let (input, lines) = Input::start_of(STDIN_NAME, &mut io.stdin, rows)?;
        let file = self.open_for(&printing, &input, io)?;
        if let Some(lines) = lines.filter(|_| !self.script.json) {
            let label = io.stderr.yellow("note:");
            let lines = crate::human::plural(lines, "line");
            writeln!(
                io.stderr,
                "{label} {STDIN_NAME}: columns and types are those of the first {lines}; the rest is not read"
            )?;
        }
        Ok(Opened { file, columns, printing })
    }
}

impl RowIdArgs {
    /// Only rows of datasets have ids.
    pub fn check(self, input: &Input) -> Result<()> {
        if self.with_row_id && !input.files().iter().all(|file| file.objects().are_there()) {
            return Err(Error::request("option_of_another_format", "only rows of datasets have ids").file(input.name()));
        }
        Ok(())
    }
}

impl DatasetArgs {
    /// Which version is read.
    pub fn options(&self) -> DatasetOptions {
        DatasetOptions { at: self.at.clone(), moved: self.places.moved.clone() }
    }
}

/// Whether the name is `-`, which means stdin or stdout. (A file of that name is `./-`.)
pub fn is_stream(file: &Path) -> bool {
    file == Path::new("-")
}

/// The file of this name, or standard input for `-`.
pub fn input(file: &Path, dataset: &DatasetArgs, io: &mut Io) -> Result<Input> {
    let input = match is_stream(file) {
        true => Input::spooled(STDIN_NAME, &mut io.stdin),
        false => Input::path_with(file, &dataset.options()),
    };
    Ok(input?.stopped_by(&io.stop))
}

/// The one file of this name, for verbs that take files as they are.
pub fn one_file(file: &Path, io: &mut Io) -> Result<Input> {
    let input = input(file, &DatasetArgs::default(), io)?;
    if input.is_several() {
        let what = "expected a file, found a folder or a pattern of several";
        return Err(Error::request("is_a_folder", what).file(input.name()));
    }
    Ok(input)
}

/// Every file that the names stand for: those of folders and patterns one by one. A name that stands for none comes with
/// the reason.
pub fn each_file(names: &[PathBuf]) -> Vec<(PathBuf, Result<()>)> {
    let files = |name: &PathBuf| match is_stream(name) {
        true => vec![(name.clone(), Ok(()))],
        false => match Input::list(name) {
            Ok(files) => files.into_iter().map(|file| (file, Ok(()))).collect(),
            Err(error) => vec![(name.clone(), Err(error))],
        },
    };
    names.iter().flat_map(files).collect()
}

/// The paths and URLs that are read.
pub fn places(inputs: &[Input]) -> impl Iterator<Item = &Path> {
    inputs.iter().flat_map(Input::places)
}

/// Several inputs, of which at most one is standard input.
pub fn inputs<'a>(files: impl IntoIterator<Item = (&'a PathBuf, &'a DatasetArgs)>, io: &mut Io) -> Result<Vec<Input>> {
    let mut from_stdin = false;
    let mut inputs = Vec::new();
    for (file, dataset) in files {
        if is_stream(file) && std::mem::replace(&mut from_stdin, true) {
            return Err(Error::request("stdin_twice", "standard input can be read only once"));
        }
        inputs.push(input(file, dataset, io)?);
    }
    Ok(inputs)
}

impl ForceArgs {
    /// What to do with an existing file.
    pub fn existing(self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Refuse }
    }
}

#[cfg(feature = "sql")]
impl crate::args::SqlArgs {
    /// What to do with an existing file. `-f` has another meaning here.
    pub fn existing(&self) -> Existing {
        ForceArgs { force: self.force }.existing()
    }
}

impl FitArgs {
    /// What to do with nulls that the format cannot store.
    pub fn nulls(self) -> Nulls {
        match self.nulls {
            NullsArg::Refuse => Nulls::Refuse,
            NullsArg::Fill => Nulls::Fill,
        }
    }

    /// What to do with types that the format cannot store.
    pub fn types(self) -> Types {
        match self.types {
            TypesArg::Refuse => Types::Refuse,
            TypesArg::Exact => Types::Exact,
            TypesArg::Lossy => Types::Lossy,
        }
    }
}

impl ColumnArgs {
    /// The requested columns; `None` for all.
    pub fn names(&self) -> Result<Option<Vec<ColumnName>>> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        let lists = self.columns.iter().map(|list| ColumnName::parse_list(list)).collect::<Result<Vec<_>>>()?;
        Ok(Some(lists.concat()))
    }
}
