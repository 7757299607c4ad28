//! Several files as one table: their rows follow each other.
//!
//! ```text
//! Input of parts ──► each part is opened once ──► columns that all have (unify) ──► SeveralTable
//!                    (schema, rows, format)        text is read to common types      (slots of one space of addresses)
//! ```
//!
//! Few files are open at a time, and of most of them only their name, rows and format are kept: the others are opened again
//! when their rows are read. What was decompressed or rewritten first lies in one common temporary file.

mod lanes;
#[cfg(feature = "fs")]
mod spool;
mod table;
mod unify;

pub use unify::wider_fields;

use crate::{Input, OpenFile, OpenOptions};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use colkit_core::{Error, Finding, Format, Result, Slots, SlotsSource, Source, Table, TableFile};
use std::collections::BTreeMap;
use std::sync::Arc;
use table::{Inner, SeveralTable};

/// A file of a table of several, and what the names of its folders say.
#[derive(Clone)]
pub(crate) struct PartInput {
    pub input: Input,
    pub keys: Vec<(String, Option<String>)>,
}

/// Tables that stay open at most; the others are opened again when they are read.
const MOST_TABLES: usize = 256;

/// The column that says which file a row is from.
pub(crate) const FILENAME: &str = "filename";

/// Things noted about text files at most.
const MOST_NOTES: usize = 20;

/// A part of a table.
pub(crate) struct Part {
    pub input: Input,
    pub options: Arc<OpenOptions>,
    pub format: Arc<dyn Format>,
    /// Whether it is text, and whether its types are inferred from text, packed or not.
    pub is_text: bool,
    pub is_inferred: bool,
    pub schema: SchemaRef,
    pub rows: u64,
    /// Its bytes, and those of the file as it is stored.
    pub bytes: u64,
    pub stored: u64,
    /// The values of the columns that it does not have itself.
    pub values: Vec<Option<String>>,
}

/// What is known about all files of a table together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned {
    /// What was found out about text, by file.
    pub found: Vec<(String, String)>,
    /// Whether any is text.
    pub is_text: bool,
    /// Whether the types of all are inferred from text, packed or not.
    pub is_inferred: bool,
    /// Bytes of all files, as they are stored.
    pub stored: u64,
}

/// Parts that have been opened, and what was learned by that.
#[derive(Default)]
pub(crate) struct Parts {
    pub list: Vec<Part>,
    /// The tables of the first ones.
    pub tables: BTreeMap<usize, Arc<dyn Table>>,
    /// What was found out about text, by file.
    pub found: Vec<(String, String)>,
    pub findings: Vec<(String, Finding)>,
    #[cfg(feature = "fs")]
    spool: spool::Spool,
}

impl Parts {
    /// Opens a part and adds it, or puts it in the place of another.
    fn open(
        &mut self,
        options: &Arc<OpenOptions>,
        input: &Input,
        values: Vec<Option<String>>,
        place: usize,
    ) -> Result<()> {
        let file = options.open_one(input)?;
        let registry = &options.registry;
        let mut format = file.format().clone();
        let (is_text, is_inferred) = (registry.is_text(format.name()), registry.infers_types(format.name()));
        let name = file.input().name();
        self.found.retain(|(known, _)| known != name);
        self.findings.retain(|(known, _)| known != name);
        if is_text {
            self.found.extend(file.found().filter(|_| self.found.len() < MOST_NOTES).map(|f| (name.to_owned(), f)));
            let findings = file.verify()?.findings.into_iter().map(|f| (name.to_owned(), f));
            self.findings.extend(findings.take(MOST_NOTES.saturating_sub(self.findings.len())));
        }
        let mut schema = file.schema();
        // Most files have the same columns: they share the list of them.
        let before = place.checked_sub(1).and_then(|before| self.list.get(before));
        if let Some(same) = before.filter(|p| p.schema == schema) {
            schema = same.schema.clone();
        }
        if let Some(same) = before.filter(|p| Arc::ptr_eq(&p.options, options) && p.format.name() == format.name()) {
            format = same.format.clone();
        }
        #[cfg(feature = "fs")]
        let kept = self.spool.keep(file.input())?;
        #[cfg(not(feature = "fs"))]
        let kept = file.input().clone();
        kept.forget_head();
        let part = Part {
            input: kept,
            options: options.clone(),
            format,
            is_text,
            is_inferred,
            schema,
            rows: file.row_count(),
            bytes: file.bytes(),
            stored: file.stored_bytes(),
            values,
        };
        self.tables.remove(&place);
        if self.tables.len() < MOST_TABLES {
            self.tables.insert(place, file.table_file().table().clone());
        }
        match self.list.get_mut(place) {
            Some(before) => *before = part,
            None => self.list.push(part),
        }
        Ok(())
    }
}

/// Opens several files as one table, or one with the column of its name.
pub(crate) fn open(options: &OpenOptions, input: &Input, of: &[PartInput]) -> Result<OpenFile> {
    let keys: Vec<String> = of.first().iter().flat_map(|p| p.keys.iter().map(|(name, _)| name.clone())).collect();
    // Types may be given for these columns too, which are text anyway.
    let mut opening = options.clone();
    opening.filename = false;
    opening.text.types.retain(|(name, _)| !(keys.contains(name) || options.filename && name == FILENAME));
    let opening = Arc::new(opening);
    let mut parts = Parts::default();
    for (place, part) in of.iter().enumerate() {
        let mut values: Vec<Option<String>> = part.keys.iter().map(|(_, value)| value.clone()).collect();
        values.extend(options.filename.then(|| Some(part.input.name().to_owned())));
        parts.open(&opening, &part.input, values, place)?;
    }
    let columns = unify::unified(&mut parts, &opening)?;
    let own = columns.fields().len();
    let mut fields: Vec<Field> = columns.fields().iter().map(|f| f.as_ref().clone()).collect();
    let named = |name: &str| fields.iter().any(|f| f.name() == name);
    if options.filename && (named(FILENAME) || keys.iter().any(|key| key == FILENAME)) {
        let what = format!("the files have a column {FILENAME:?} themselves");
        return Err(Error::data("duplicate_column", what)
            .file(input.name())
            .hint("leave out the column of file names, or rename that of the files"));
    }
    // What files say themselves counts more than the names of their folders.
    let wanted: Vec<bool> = keys.iter().map(|key| !named(key)).chain(options.filename.then_some(true)).collect();
    for part in &mut parts.list {
        let mut wanted = wanted.iter();
        part.values.retain(|_| wanted.next().copied().unwrap_or(true));
    }
    let added = keys.into_iter().filter(|key| !named(key)).collect::<Vec<_>>();
    let nullable = |at: usize| parts.list.iter().any(|p| p.values.get(at).is_some_and(Option::is_none));
    let added = added.into_iter().chain(options.filename.then(|| FILENAME.to_owned())).enumerate();
    fields.extend(added.map(|(at, name)| Field::new(name, DataType::Utf8, nullable(at))));
    let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields, columns.metadata().clone()));
    options.read.limits.check_schema(&schema)?;
    opened(options, input, parts, schema, own)
}

fn opened(options: &OpenOptions, input: &Input, parts: Parts, schema: SchemaRef, own: usize) -> Result<OpenFile> {
    // Whoever asks for the format wants to know whether types can be trusted: one that has types decides.
    let typed = parts.list.iter().find(|p| !p.is_inferred).or(parts.list.first()).map(|p| p.format.clone());
    let Some(format) = typed else {
        return Err(Error::request("no_input", "there is nothing to read").file(input.name()));
    };
    let is_text = parts.list.iter().any(|p| p.is_text);
    let is_inferred = parts.list.iter().all(|p| p.is_inferred);
    let stored = parts.list.iter().map(|p| p.stored).sum();
    let inputs = parts.list.iter().map(|p| PartInput { input: p.input.clone(), keys: Vec::new() }).collect();
    let input = input.with_parts(inputs);
    let slots = Arc::new(Slots::default());
    let sources = parts.list.iter().map(|p| (p.input.name().to_owned(), p.input.bytes()));
    let source: Arc<dyn Source> = Arc::new(SlotsSource::new(slots.clone(), sources.collect()));
    let found = parts.found.clone();
    let table: Arc<dyn Table> = Arc::new(SeveralTable::new(Inner::new(schema, own, parts, slots)));
    let limits = options.read.limits.clone();
    let file = TableFile::of(format, table, source, limits).with_threads(options.threads);
    Ok(OpenFile::several(input, file, Arc::new(options.clone()), Learned { found, is_text, is_inferred, stored }))
}
