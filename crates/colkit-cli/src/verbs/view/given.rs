//! What the explorer is given: files, by number, and tables for SQL. Nothing else is ever served.

use crate::Io;
use crate::args::ViewArgs;
use crate::request::{input, is_stream};
use colkit::{Compression, Error, Input, Limits, Registry, Result, Source, TextOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is shown.
#[derive(Default)]
pub struct Given {
    pub files: Vec<GivenFile>,
    pub tables: Vec<NamedTable>,
}

/// A file that the page can read.
pub struct GivenFile {
    pub name: String,
    /// Its bytes. Of a file that is compressed as a whole, those in it.
    pub bytes: Arc<dyn Source>,
}

/// A table for SQL.
#[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only SQL reads tables"))]
pub struct NamedTable {
    /// What it is called: the name of a file without its endings.
    pub name: String,
    /// The name of the file.
    pub file: String,
    /// The path or URL.
    pub place: String,
}

impl Given {
    /// Finds and opens what the arguments name.
    pub fn new(args: &ViewArgs, io: &mut Io) -> Result<Self> {
        let limits = args.reading.limits.with_memory(args.reading.memory);
        let mut given = Given::default();
        let mut from_stdin = false;
        for name in &args.files {
            if is_stream(name) && std::mem::replace(&mut from_stdin, true) {
                return Err(Error::request("stdin_twice", "standard input can be read only once"));
            }
            if name.is_dir() && !colkit::is_dataset(name)? {
                given.add_folder(name, &limits, io)?;
            } else {
                given.add(name, args, &limits, io)?;
            }
        }
        Ok(given)
    }

    /// Adds a file, a URL, a dataset, or the files of a pattern.
    fn add(&mut self, name: &Path, args: &ViewArgs, limits: &Limits, io: &mut Io) -> Result<()> {
        let whole = input(name, &args.dataset, io)?;
        if whole.objects().are_there() {
            let version = args.dataset.at.as_ref().map(|at| format!("@{at}")).unwrap_or_default();
            self.add_table(name, &version);
            return tell_of_dataset(whole.name(), io);
        }
        for file in whole.files() {
            self.add_file(last_part(file.name()).to_owned(), &file, limits, io)?;
        }
        if whole.is_several() {
            self.add_table(name, "");
        }
        Ok(())
    }

    /// Adds all data files in a folder, under their names in it, and the folder as a table.
    fn add_folder(&mut self, folder: &Path, limits: &Limits, io: &mut Io) -> Result<()> {
        let registry = Registry::default();
        let is_known = |path: &PathBuf| {
            let inner = Compression::in_name(path).map_or(path.as_path(), |(_, inner)| inner);
            let extension = inner.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
            extension.is_some_and(|e| registry.with_extension(&e, &TextOptions::default()).is_some())
        };
        let mut files = files_below(folder)?;
        files.retain(is_known);
        if files.is_empty() {
            // What all its files are as one table, or why they are none.
            files = Input::list(folder)?;
        }
        for path in files {
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            if path.is_dir() {
                self.add_table(&path, "");
                tell_of_dataset(&name, io)?;
            } else {
                self.add_file(name, &Input::path(&path)?.stopped_by(&io.stop), limits, io)?;
            }
        }
        self.add_table(folder, "");
        Ok(())
    }

    fn add_file(&mut self, name: String, file: &Input, limits: &Limits, io: &mut Io) -> Result<()> {
        let content = match file.found_compression()? {
            None => file.clone(),
            Some(compression) => {
                let label = io.stderr.yellow("note:");
                writeln!(
                    io.stderr,
                    "{label} {name}: compressed with {}, and shown as what is in it",
                    compression.name()
                )?;
                file.decompressed(limits)?
            }
        };
        if let Some(place) = file.place() {
            self.add_table(place, "");
        }
        self.files.push(GivenFile { name, bytes: content.bytes() });
        Ok(())
    }

    /// Adds what a path or URL stands for as a table. One that is not text cannot be named in a query.
    fn add_table(&mut self, place: &Path, version: &str) {
        let Some(text) = place.to_str() else { return };
        let file = last_part(text.trim_end_matches('/')).to_owned();
        let stem = stem(&file);
        let taken = |name: &str| self.tables.iter().any(|t| t.name.eq_ignore_ascii_case(name));
        let numbered = (2..).map(|number| format!("{stem}_{number}"));
        let name = std::iter::once(stem.clone()).chain(numbered).find(|name| !taken(name));
        let place = match text.contains("://") {
            true => text.to_owned(),
            false => std::path::absolute(place).map_or(text.to_owned(), |path| path.display().to_string()),
        };
        self.tables.push(NamedTable { name: name.unwrap_or(stem), file, place: format!("{place}{version}") });
    }
}

/// All files below a folder, of any kind. Where its name looks like a pattern, those of one kind.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    match folder.to_str().is_some_and(|name| name.contains(['*', '?', '['])) {
        true => Input::list(folder),
        false => Input::list(folder.join("**")).or_else(|_| Input::list(folder)),
    }
}

/// The page reads single files. A dataset is many.
fn tell_of_dataset(name: &str, io: &mut Io) -> Result<()> {
    let label = io.stderr.yellow("note:");
    let only = if cfg!(feature = "sql") { "the page shows it by SQL only" } else { "only SQL could show it" };
    Ok(writeln!(io.stderr, "{label} {name}: a dataset of several files; {only}; --tui shows it whole")?)
}

/// What follows the last separator of folders.
fn last_part(name: &str) -> &str {
    let last = name.trim_end_matches('/').rsplit(std::path::is_separator).next().unwrap_or(name);
    if last.is_empty() { name } else { last }
}

/// The name of a file without its endings: `trades` of `trades.csv.gz`.
fn stem(file: &str) -> String {
    let path = Path::new(file);
    let inner = Compression::in_name(path).map_or(path, |(_, inner)| inner);
    inner.file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_names_of_their_own() {
        let mut given = Given::default();
        for place in ["a/trades.csv.gz", "b/Trades.csv", "s3://bucket/x/trades.lance/", "/data/.hidden"] {
            given.add_table(Path::new(place), "");
        }
        let names: Vec<&str> = given.tables.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["trades", "Trades_2", "trades_3", ".hidden"]);
        assert_eq!(given.tables[2].place, "s3://bucket/x/trades.lance/");
        assert!(Path::new(&given.tables[0].place).is_absolute());
    }
}
