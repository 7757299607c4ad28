//! Opening a file: by what is in it, not by what it is called.

#[cfg(all(feature = "text", feature = "fs"))]
use crate::TextEncoding;
use crate::several::{self, Learned};
use crate::{Batches, Input, Registry, ScanBuilder, TakeBuilder, TextOptions};
use arrow::array::AsArray;
use arrow::datatypes::{DataType, SchemaRef, UInt64Type};
use colkit_core::{
    Error, Format, Layout, Limits, Nulls, ReadOptions, Result, Scan, Stop, TableFile, Verified, available_threads,
    recognise,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How to open files.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
/// # colkit::convert("trades.csv", "trades.lance")?;
/// use colkit::OpenOptions;
/// let file = OpenOptions::new().with_format("csv").with_threads(1).open("trades.csv")?;
/// assert_eq!(file.schema().field(0).name(), "sym");
/// # Ok::<(), colkit::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct OpenOptions {
    pub(crate) registry: Registry,
    pub(crate) format: Option<String>,
    pub(crate) text: TextOptions,
    pub(crate) read: ReadOptions,
    pub(crate) threads: usize,
    /// Whether there is a column with the name of the file that a row is from.
    pub(crate) filename: bool,
    /// Where files of datasets were and are, for objects.
    pub(crate) moved: Vec<(String, String)>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            registry: Registry::default(),
            format: None,
            text: TextOptions::default(),
            read: ReadOptions::default(),
            threads: available_threads(),
            filename: false,
            moved: Vec::new(),
        }
    }
}

impl OpenOptions {
    /// Any known format, with default limits, on all threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows these formats.
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Takes files to be of the format of this name, whatever is in them.
    pub fn with_format(mut self, name: impl Into<String>) -> Self {
        self.format = Some(name.into());
        self
    }

    /// Reads text formats like this.
    pub fn with_text(mut self, text: TextOptions) -> Self {
        self.text = text;
        self
    }

    /// Reads columns of text with these names to these types, unless [`with_text`](OpenOptions::with_text) gave another.
    pub fn with_text_types(mut self, types: Vec<(String, DataType)>) -> Self {
        self.text = self.text.with_types(types);
        self
    }

    /// Refuses files that exceed these limits.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.read.limits = limits;
        self
    }

    /// Whether what is read is compared with the checksums of the file, where that can be left out. It is by default.
    pub fn with_checksums(mut self, compare: bool) -> Self {
        self.read.checksums = compare;
        self
    }

    /// Whether the tables of datasets have two columns more: `_rowid` and `_rowaddr`.
    pub fn with_row_ids(mut self, wanted: bool) -> Self {
        self.read.row_ids = wanted;
        self
    }

    /// Whether tables have a column more, `filename`: the path that the file of each row was opened by.
    pub fn with_filename(mut self, wanted: bool) -> Self {
        self.filename = wanted;
        self
    }

    /// Uses this many threads for scans.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// For datasets that are opened by the manifest of a version, as in SQL: folders that were moved since they were written,
    /// where each was and where it is. [`DatasetOptions`](crate::DatasetOptions) says it for others.
    pub fn with_moved(mut self, moved: Vec<(String, String)>) -> Self {
        self.moved = moved;
        self
    }

    /// The formats that are known.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The threads that scans use.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The same options, with text read to types that `format` can store.
    pub fn suited_to(&self, format: &dyn Format, filling: Nulls) -> Self {
        OpenOptions { text: self.text.clone().suited_to(format, filling), ..self.clone() }
    }

    /// The format of `input`: the one named, the one its content shows or, if nobody knows the content, the one its
    /// extension promises.
    pub fn format_of(&self, input: &Input) -> Result<Arc<dyn Format>> {
        if let Some(name) = &self.format {
            // Who names CSV means cells.
            return self.registry.named(name, &TextOptions { lines: false, ..self.text.clone() });
        }
        if let Some(first) = input.parts().and_then(<[_]>::first) {
            let first = first.input.decompressed(&self.read.limits)?;
            return self.format_of(&first);
        }
        if input.objects().are_there() {
            // A manifest is no table on its own.
            return self.registry.named("lance", &self.text);
        }
        let extension = input.extension();
        let formats = self.registry.formats(&self.text);
        let known = recognise(input.bytes().as_ref(), &formats, extension.as_deref());
        known.map_err(|error| error.file(input.name()))
    }

    /// Opens the file at `path` or, with the feature `object-store`, the object at a URL; also all files of a folder, or those
    /// that fit a pattern such as `part-*.csv`, as one table.
    #[cfg(feature = "fs")]
    pub fn open(&self, path: impl AsRef<std::path::Path>) -> Result<OpenFile> {
        self.open_input(&Input::path(path)?)
    }

    /// Opens bytes from anywhere. What is compressed as a whole, such as `x.csv.gz`, is decompressed first.
    pub fn open_input(&self, input: &Input) -> Result<OpenFile> {
        match input.parts() {
            Some(parts) => several::open(self, input, parts),
            None if self.filename => {
                let only = several::PartInput { input: input.clone(), keys: Vec::new() };
                several::open(self, input, &[only])
            }
            None => self.open_one(input),
        }
    }

    /// Opens a file quickly, to see its columns: of text, compressed or not, only the first rows are there, and what they
    /// show. An array of JSON is opened as a whole.
    #[cfg(feature = "fs")]
    pub fn open_start(&self, input: &Input) -> Result<OpenFile> {
        const ENOUGH: u64 = 1 << 20;
        let is_text = |input: &Input| self.format_of(input).is_ok_and(|format| self.registry.is_text(format.name()));
        let start = |input: &Input| input.bytes().read(colkit_core::ByteRange::between(0, ENOUGH.min(input.size())));
        let compressed = input.found_compression()?.is_some();
        if input.is_several() || input.objects().are_there() || !(compressed || is_text(input)) {
            return self.open_input(input);
        }
        let mut text = start(input)?;
        let mut cut = input.size() > ENOUGH;
        if compressed {
            let (content, _) = input.with_bytes(Arc::new(text)).decompressed_as_far_as_possible(&self.read.limits)?;
            text = start(&content)?;
            cut |= content.size() > ENOUGH;
        } else if cut && text.trim_ascii_start().starts_with(b"[") {
            return self.open_input(input);
        }
        if cut {
            let whole = crate::whole_lines::whole_lines(&text).len();
            text = text.slice(..whole);
        }
        let options = OpenOptions { text: TextOptions { pad_short_rows: true, ..self.text.clone() }, ..self.clone() };
        options.open_one(&input.with_bytes(Arc::new(text)))
    }

    /// Opens one file.
    pub(crate) fn open_one(&self, input: &Input) -> Result<OpenFile> {
        let input = input.decompressed(&self.read.limits)?;
        #[cfg(all(feature = "text", feature = "fs"))]
        {
            self.open_text_or_other(&input)
        }
        #[cfg(not(all(feature = "text", feature = "fs")))]
        {
            self.open_as_it_is(&input)
        }
    }

    fn open_as_it_is(&self, input: &Input) -> Result<OpenFile> {
        let format = self.format_of(input)?;
        let read = ReadOptions { objects: input.objects().clone(), ..self.read.clone() };
        let file = TableFile::open(format, input.bytes(), &read).map_err(|e| e.file(input.name()))?;
        let options = Arc::new(self.clone());
        Ok(OpenFile { input: input.clone(), file: file.with_threads(self.threads), options, several: None })
    }

    /// Text in another encoding than UTF-8 is rewritten first.
    #[cfg(all(feature = "text", feature = "fs"))]
    fn open_text_or_other(&self, input: &Input) -> Result<OpenFile> {
        let limits = &self.read.limits;
        let is_text = || self.format_of(input).map_or(true, |format| self.registry.is_text(format.name()));
        if let Some(told) = self.text.encoding {
            return self.open_as_it_is(&if is_text() { input.in_utf8(told, limits)? } else { input.clone() });
        }
        match self.open_as_it_is(input) {
            Err(error) if error.code() == "bad_utf8" && self.text.find && is_text() => {
                let found = TextEncoding::found(input.bytes().as_ref())?;
                self.open_as_it_is(&input.in_utf8(found.ok_or(error)?, limits)?)
            }
            opened => opened,
        }
    }
}

/// An open file that knows its name: every error it gives carries it.
#[derive(Clone)]
pub struct OpenFile {
    input: Input,
    file: TableFile,
    /// How it was opened.
    options: Arc<OpenOptions>,
    /// What is known about its files, if they are several.
    several: Option<Arc<Learned>>,
}

impl OpenFile {
    pub(crate) fn several(input: Input, file: TableFile, options: Arc<OpenOptions>, learned: Learned) -> Self {
        OpenFile { input, file, options, several: Some(Arc::new(learned)) }
    }

    /// Whether it is text, or any of its files is.
    pub(crate) fn is_text(&self) -> bool {
        let one = || self.options.registry.is_text(self.format().name());
        self.several.as_ref().map_or_else(one, |several| several.is_text)
    }

    /// Whether its types, or those of all its files, are inferred from text, packed or not.
    pub fn is_inferred(&self) -> bool {
        let one = || self.options.registry.infers_types(self.format().name());
        self.several.as_ref().map_or_else(one, |several| several.is_inferred)
    }

    /// Where it is read from: what was decompressed, if the file is compressed as a whole.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The table and its bytes, without the name: what the scan engine works on.
    pub fn table_file(&self) -> &TableFile {
        &self.file
    }

    /// What kind of file it is.
    pub fn format(&self) -> &Arc<dyn Format> {
        self.file.format()
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.file.schema()
    }

    /// The number of rows.
    pub fn row_count(&self) -> u64 {
        self.file.row_count()
    }

    /// The threads that scans of it use.
    pub(crate) fn threads(&self) -> usize {
        self.options.threads
    }

    /// Bytes of all that the table is made of.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// The same, compressed as it is stored.
    pub(crate) fn stored_bytes(&self) -> u64 {
        match &self.several {
            Some(several) => several.stored,
            None if self.input.objects().are_there() => self.bytes(),
            None => self.input.stored_size(),
        }
    }

    /// Facts about the format and this file: version, codec, settings.
    pub fn properties(&self) -> Vec<(&'static str, String)> {
        let mut properties = self.file.table().properties();
        if let Some(name) = self.input.encoding() {
            properties.retain(|(property, _)| *property != "encoding");
            properties.push(("encoding", name.to_string()));
        }
        if let Some(compression) = self.input.compression() {
            let stored = format!("{}, {} bytes of text", compression.name(), self.input.size());
            properties.push(("compression", stored));
        }
        properties
    }

    /// Reads batches in row order: all of them, unless the builder is told which.
    pub fn scan(&self) -> ScanBuilder<'_, OpenFile> {
        ScanBuilder::new(self, self.schema(), self.row_count())
    }

    /// Reads single rows, in this order. Rows are counted from 0 and may repeat.
    pub fn take(&self, rows: impl IntoIterator<Item = u64>) -> TakeBuilder<'_, OpenFile> {
        TakeBuilder::new(self, rows.into_iter().collect())
    }

    /// The same file, of which nothing more is read once it is time to stop: scans and takes of it then end with an error.
    pub fn stopped_by(&self, stop: &Stop) -> Self {
        OpenFile { file: self.file.clone().stopped_by(stop), ..self.clone() }
    }

    /// The batches of a scan that has been resolved.
    pub(crate) fn read(&self, scan: &Scan) -> Result<Batches> {
        Ok(Batches::new(self.input.name(), self.named(self.file.scan(scan))?))
    }

    /// The numbers of the rows that have these ids, in this order. Ids that no row has are left out.
    pub fn rows_with_ids(&self, ids: &[u64]) -> Result<Vec<u64>> {
        let wanted: HashSet<u64> = ids.iter().copied().collect();
        let mut found = HashMap::new();
        let mut first = 0;
        for batch in self.with_row_ids()?.scan().columns(["_rowid"]).batches()? {
            let batch = batch?;
            let column = batch.columns().first().and_then(|c| c.as_primitive_opt::<UInt64Type>());
            for (row, id) in column.iter().flat_map(|c| c.values().iter()).enumerate() {
                if wanted.contains(id) {
                    found.insert(*id, first + row as u64);
                }
            }
            first += batch.num_rows() as u64;
        }
        Ok(ids.iter().filter_map(|id| found.get(id).copied()).collect())
    }

    /// The same file, with the columns of row ids.
    fn with_row_ids(&self) -> Result<OpenFile> {
        if !self.input.objects().are_there() {
            let what = "only rows of datasets have ids";
            return self.named(Err(Error::request("option_of_another_format", what)));
        }
        self.options.as_ref().clone().with_row_ids(true).open_input(&self.input)
    }

    /// The byte map.
    pub fn layout(&self) -> Result<Layout> {
        self.named(self.file.layout())
    }

    /// The format's own checks beyond decoding.
    pub fn verify(&self) -> Result<Verified> {
        self.named(self.file.verify())
    }

    /// What was found out about texts by looking at them, if that is not the usual, with the name of each.
    pub fn found_by_file(&self) -> Vec<(String, String)> {
        match &self.several {
            Some(several) => several.found.clone(),
            None => self.found().map(|found| (self.input.name().to_owned(), found)).into_iter().collect(),
        }
    }

    /// What was found out about a text by looking at it, if that is not the usual: its encoding, delimiter, header and
    /// spellings.
    pub fn found(&self) -> Option<String> {
        let encoding = self.input.encoding().map(|name| format!("encoding {name}"));
        let properties = self.file.table().properties();
        let others = properties.into_iter().find(|(name, _)| *name == "found").map(|(_, found)| found);
        let parts: Vec<String> = encoding.into_iter().chain(others).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    pub(crate) fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|e| e.file(self.input.name()))
    }
}
