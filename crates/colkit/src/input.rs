//! Where a table is read from: a file, several of them, a dataset, a stream that was spooled, or bytes in memory; with its name
//! and a count of what was read of it.

use crate::compressed::{Compression, decompressed, decompressed_prefix};
#[cfg(feature = "fs")]
use crate::place::Place;
use crate::several::PartInput;
#[cfg(feature = "fs")]
use crate::{Registry, glob::Pattern, listing};
use bytes::{Bytes, BytesMut};
#[cfg(feature = "fs")]
use colkit_core::FileSource;
use colkit_core::{ByteRange, Counting, Error, Limits, Objects, ReadCount, Result, Source, Stop};
#[cfg(feature = "fs")]
use std::fs::File;
#[cfg(feature = "fs")]
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes to be read as a table. Clones share the bytes and the count.
#[derive(Clone)]
pub struct Input {
    name: String,
    place: Option<PathBuf>,
    objects: Objects,
    head: Arc<Head>,
    /// How the file is compressed that these bytes were decompressed from, and its length.
    stored: Option<(Compression, u64)>,
    /// The encoding that the text was in.
    encoding: Option<&'static str>,
    /// Whether what was made of the file's bytes lies with that of others.
    #[cfg(feature = "fs")]
    kept: bool,
    /// The files, if they are several.
    parts: Option<Arc<[PartInput]>>,
}

/// Which version of a dataset is read, and where its files are. The default is the newest, where its manifest says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetOptions {
    /// A version by its number, a tag, a branch, or a time: the newest version that is not younger.
    pub at: Option<String>,
    /// Folders that were moved after the dataset was written, which names them by whole paths: where each was and where it is.
    pub moved: Vec<(String, String)>,
}

type Counted = Counting<Arc<dyn Source>>;

impl Input {
    /// The file at `path` or, with the feature `object-store`, the object at a URL such as `s3://bucket/x.lance`. A folder is
    /// a dataset, of which the newest version is read; that of a path like `trips.lance@3` is version 3. Another folder, or
    /// a pattern such as `part-*.csv` that is not the name of a file, is all its files, one after another.
    #[cfg(feature = "fs")]
    pub fn path(path: impl AsRef<Path>) -> Result<Self> {
        Self::path_with(path, &DatasetOptions::default())
    }

    /// The same, with datasets read like this. It is an error to ask for a version of what is no dataset.
    #[cfg(feature = "fs")]
    pub fn path_with(path: impl AsRef<Path>, options: &DatasetOptions) -> Result<Self> {
        let path = path.as_ref();
        let input = match Place::of(path)? {
            #[cfg(feature = "object-store")]
            Place::Object(location) => {
                return match Self::object(path, &location, options) {
                    Err(error) if matches!(error.code(), "not_found" | "no_such_version") && options.at.is_none() => {
                        Self::objects_below(&location)?.ok_or(error)
                    }
                    opened => opened,
                };
            }
            Place::File(path) if is_pipe(&path) => {
                let name = path.display().to_string();
                let mut stream = File::open(&path).map_err(|e| Error::from(e).file(name.clone()))?;
                Self::spooled(name, &mut stream)?
            }
            Place::File(path) => {
                if let Some(dataset) = Self::dataset(&path, options)? {
                    return Ok(dataset);
                }
                if let Some(several) = Self::folder_or_pattern(&path, options)? {
                    return Ok(several);
                }
                Self::source(path.display().to_string(), Arc::new(FileSource::open(&path)?))
            }
        };
        if options.at.is_some() {
            return Err(no_versions(path));
        }
        Ok(Input { place: Some(path.to_path_buf()), ..input })
    }

    /// All files in a folder, or that fit a pattern; `None` if the path is neither.
    #[cfg(feature = "fs")]
    fn folder_or_pattern(path: &Path, options: &DatasetOptions) -> Result<Option<Self>> {
        let Some(listed) = Self::listed(path)? else { return Ok(None) };
        if options.at.is_some() {
            return Err(no_versions(path));
        }
        let part =
            |file: listing::Listed| Ok(PartInput { input: Self::path_with(&file.path, options)?, keys: file.keys });
        let parts = listed.into_iter().map(part).collect::<Result<Vec<_>>>()?;
        Ok(Some(Self::of_parts(path.display().to_string(), parts)))
    }

    #[cfg(feature = "fs")]
    fn listed(path: &Path) -> Result<Option<Vec<listing::Listed>>> {
        let named = |e: Error| e.file(path.display().to_string());
        let hint = "names that begin with . or _ and empty files are left out";
        let (listed, nothing) = if path.is_dir() {
            let nothing = Error::request("is_a_folder", "expected a file or a dataset, found a folder without files");
            (listing::in_folder(path, &Registry::default()), nothing)
        } else {
            match Pattern::of(path) {
                Some(pattern) => (listing::of_pattern(&pattern), Error::io("not_found", "no file fits this pattern")),
                None => return Ok(None),
            }
        };
        match listed.map_err(named)? {
            listed if listed.is_empty() => Err(named(nothing.hint(hint))),
            listed => Ok(Some(listed)),
        }
    }

    /// The files that a name stands for: those in a folder, or that fit a pattern, and otherwise itself. Datasets are one.
    #[cfg(feature = "fs")]
    pub fn list(path: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
        Ok(Self::list_with_keys(path)?.into_iter().map(|file| file.path).collect())
    }

    /// The same, with what the names of their folders say.
    #[cfg(feature = "fs")]
    pub fn list_with_keys(path: impl AsRef<Path>) -> Result<Vec<listing::Listed>> {
        let path = path.as_ref();
        let itself = || vec![listing::Listed { path: path.to_path_buf(), keys: Vec::new() }];
        let is_file = Place::of(path)?.file().is_some_and(|file| file == path);
        if !is_file || Self::dataset(path, &DatasetOptions::default())?.is_some() {
            return Ok(itself());
        }
        Ok(Self::listed(path)?.unwrap_or_else(itself))
    }

    /// Several inputs as one table: their rows follow each other. They must have the same columns; text, which says nothing
    /// about its types, is read to the narrowest types that hold the values of all.
    pub fn several(inputs: impl IntoIterator<Item = Input>) -> Self {
        let mut inputs: Vec<Input> = inputs.into_iter().collect();
        if inputs.len() == 1
            && let Some(only) = inputs.pop()
        {
            return only;
        }
        let name = match inputs.as_slice() {
            [] => "nothing".to_string(),
            [first, others @ ..] => format!("{} and {} more", first.name, others.len()),
        };
        let parts = |input: Input| match &input.parts {
            Some(parts) => parts.to_vec(),
            None => vec![PartInput { input, keys: Vec::new() }],
        };
        let mut parts: Vec<PartInput> = inputs.into_iter().flat_map(parts).collect();
        let names = |p: &PartInput| p.keys.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let first = parts.first().map(names).unwrap_or_default();
        if parts.iter().any(|p| names(p) != first) {
            parts.iter_mut().for_each(|p| p.keys.clear());
        }
        Self::of_parts(name, parts)
    }

    fn of_parts(name: String, parts: Vec<PartInput>) -> Self {
        Input { parts: Some(parts.into()), ..Self::source(name, Arc::new(Bytes::new())) }
    }

    /// The same, with these files in place of its own.
    pub(crate) fn with_parts(&self, parts: Vec<PartInput>) -> Self {
        let keys = self.parts.iter().flat_map(|parts| parts.iter().map(|p| p.keys.clone()));
        let keys = keys.chain(std::iter::repeat(Vec::new()));
        let parts = parts.into_iter().zip(keys).map(|(part, keys)| PartInput { keys, ..part }).collect();
        Self::of_parts(self.name.clone(), parts)
    }

    /// The files, if they are several.
    pub(crate) fn parts(&self) -> Option<&[PartInput]> {
        self.parts.as_deref()
    }

    /// Whether it is several files.
    pub fn is_several(&self) -> bool {
        self.parts.is_some()
    }

    /// Every file of it: itself, if it is one.
    pub fn files(&self) -> Vec<Input> {
        match &self.parts {
            Some(parts) => parts.iter().map(|p| p.input.clone()).collect(),
            None => vec![self.clone()],
        }
    }

    /// The object at a URL or, if there is none, the dataset below it.
    #[cfg(feature = "object-store")]
    fn object(path: &Path, location: &colkit_store::Location, options: &DatasetOptions) -> Result<Self> {
        let is_folder = options.at.is_some() || location.url.path().ends_with('/');
        let missing = match is_folder {
            true => no_versions(path),
            false => match colkit_store::ObjectSource::open(location) {
                Ok(source) => {
                    let input = Self::source(location.url.as_str(), Arc::new(source));
                    return Ok(Input { place: Some(path.to_path_buf()), ..input });
                }
                Err(error) if error.code() == "not_found" => error,
                Err(error) => return Err(error),
            },
        };
        Self::remote_dataset(location, options)?.ok_or(missing)
    }

    /// All objects below a URL that ends with a slash, or that fit a pattern; `None` if it is neither, or there are none.
    #[cfg(feature = "object-store")]
    fn objects_below(location: &colkit_store::Location) -> Result<Option<Self>> {
        let name = location.url.to_string();
        let Some(listed) = listing::in_store(location)? else { return Ok(None) };
        let part = |(object, keys): (colkit_store::Location, _)| -> Result<PartInput> {
            let url = object.url.to_string();
            let source = colkit_store::ObjectSource::open(&object)?;
            let input = Input { place: Some(url.clone().into()), ..Self::source(url, Arc::new(source)) };
            Ok(PartInput { input, keys })
        };
        let parts = listed.into_iter().map(part).collect::<Result<Vec<_>>>()?;
        Ok((!parts.is_empty()).then(|| Self::of_parts(name, parts)))
    }

    /// The dataset at a path, if it is one.
    #[cfg(all(feature = "fs", feature = "lance"))]
    fn dataset(path: &Path, options: &DatasetOptions) -> Result<Option<Self>> {
        Ok(crate::dataset::local(path, options.at.as_deref(), &options.moved)?.map(Self::found))
    }

    #[cfg(all(feature = "object-store", feature = "lance"))]
    fn remote_dataset(location: &colkit_store::Location, options: &DatasetOptions) -> Result<Option<Self>> {
        Ok(crate::dataset::remote(location, options.at.as_deref(), &options.moved)?.map(Self::found))
    }

    #[cfg(all(feature = "fs", feature = "lance"))]
    fn found(found: crate::dataset::Found) -> Self {
        Input { place: Some(found.manifest.into()), objects: found.objects, ..Self::source(found.name, found.source) }
    }

    /// Without the format of datasets, nothing is one.
    #[cfg(all(feature = "fs", not(feature = "lance")))]
    fn dataset(_: &Path, _: &DatasetOptions) -> Result<Option<Self>> {
        Ok(None)
    }

    #[cfg(all(feature = "object-store", not(feature = "lance")))]
    fn remote_dataset(_: &colkit_store::Location, _: &DatasetOptions) -> Result<Option<Self>> {
        Ok(None)
    }

    /// A stream, copied to a temporary file first: tables are read from more than one place at once.
    #[cfg(feature = "fs")]
    pub fn spooled(name: impl Into<String>, stream: &mut dyn Read) -> Result<Self> {
        let name = name.into();
        let mut spool = || -> std::io::Result<File> {
            let mut file = tempfile::tempfile()?;
            std::io::copy(stream, &mut file)?;
            file.flush()?;
            file.rewind()?;
            Ok(file)
        };
        let file = spool().map_err(|e| Error::from(e).file(name.clone()))?;
        Ok(Self::source(name, Arc::new(FileSource::from_file(file)?)))
    }

    /// The start of a stream: if it is text in lines, only as much of it as it takes to see so many rows, and some more, by
    /// which columns and types are found. Also the number of lines that were read, unless that is all of the stream.
    #[cfg(feature = "fs")]
    pub fn start_of(name: impl Into<String>, stream: &mut dyn Read, rows: u64) -> Result<(Self, Option<u64>)> {
        let name = name.into();
        let start = crate::stream_start::read(stream, rows).map_err(|e| Error::from(e).file(name.clone()))?;
        Ok((Self::source(name, Arc::new(FileSource::from_file(start.file)?)), start.lines))
    }

    /// Any source, under a name for messages.
    pub fn source(name: impl Into<String>, source: Arc<dyn Source>) -> Self {
        let head = Head { inner: Counting::new(source), first: Mutex::default() };
        let (objects, head) = (Objects::default(), Arc::new(head));
        Input {
            name: name.into(),
            place: None,
            objects,
            head,
            stored: None,
            encoding: None,
            #[cfg(feature = "fs")]
            kept: false,
            parts: None,
        }
    }

    /// The same, with its bytes from here.
    #[cfg(feature = "fs")]
    pub(crate) fn with_source(&self, source: Arc<dyn Source>) -> Self {
        let head = Head { inner: Counting::new(source), first: Mutex::default() };
        Input { head: Arc::new(head), kept: true, ..self.clone() }
    }

    /// Whether its bytes are not those of the file, but what was made of them, in a temporary file of their own.
    #[cfg(feature = "fs")]
    pub(crate) fn is_rewritten(&self) -> bool {
        (self.stored.is_some() || self.encoding.is_some()) && !self.kept
    }

    /// Does without the first bytes, which were kept to be read again.
    pub(crate) fn forget_head(&self) {
        *self.head.first() = None;
    }

    /// What is in it, if it is compressed as a whole: decompressed to a temporary file, within these limits. Otherwise the
    /// input itself.
    pub fn decompressed(&self, limits: &Limits) -> Result<Self> {
        let as_it_is = self.stored.is_some() || self.objects.are_there() || self.parts.is_some();
        let found = if as_it_is { None } else { self.found_compression()? };
        let Some(compression) = found else { return Ok(self.clone()) };
        let content = decompressed(self.bytes().as_ref(), compression, limits).map_err(|e| e.file(self.name()))?;
        let stored = Some((compression, self.size()));
        Ok(Input { place: self.place.clone(), stored, ..Self::source(self.name.clone(), Arc::new(content)) })
    }

    /// The same for a file that is damaged: what comes out before the damage, and what that is.
    pub(crate) fn decompressed_as_far_as_possible(&self, limits: &Limits) -> Result<(Self, Option<Error>)> {
        let as_it_is = self.stored.is_some() || self.objects.are_there();
        let found = if as_it_is { None } else { self.found_compression()? };
        let Some(compression) = found else { return Ok((self.clone(), None)) };
        let content = decompressed_prefix(self.bytes().as_ref(), compression, limits);
        let (content, error) = content.map_err(|e| e.file(self.name()))?;
        let stored = Some((compression, self.size()));
        let input = Input { place: self.place.clone(), stored, ..Self::source(self.name.clone(), Arc::new(content)) };
        Ok((input, error.map(|e| e.file(self.name()))))
    }

    /// Other bytes under the same name.
    pub(crate) fn with_bytes(&self, bytes: Arc<dyn Source>) -> Self {
        let other = Self::source(self.name.clone(), bytes);
        Input { place: self.place.clone(), stored: self.stored, ..other }
    }

    /// The text in UTF-8, rewritten to a temporary file.
    #[cfg(all(feature = "text", feature = "fs"))]
    pub fn in_utf8(&self, encoding: crate::TextEncoding, limits: &Limits) -> Result<Self> {
        if encoding == crate::TextEncoding::UTF_8 || self.encoding.is_some() {
            return Ok(self.clone());
        }
        let text = crate::encoding::rewritten(self.bytes().as_ref(), encoding, limits);
        let text = Self::source(self.name.clone(), Arc::new(text.map_err(|e| e.file(self.name()))?));
        Ok(Input { place: self.place.clone(), stored: self.stored, encoding: Some(encoding.name()), ..text })
    }

    /// The encoding that the text was in before it was rewritten in UTF-8.
    pub fn encoding(&self) -> Option<&'static str> {
        self.encoding
    }

    /// How the bytes are compressed as a whole, by the first and last of them.
    pub fn found_compression(&self) -> Result<Option<Compression>> {
        let head = ByteRange::between(0, self.size().min(Compression::HEAD_BYTES));
        if head.is_empty() {
            return Ok(None);
        }
        let read = |range| self.bytes().read(range).map_err(|e| e.file(self.name()));
        let Some(found) = Compression::of(&read(head)?) else { return Ok(None) };
        let last = Compression::NOT_AT_THE_END;
        let end = read(ByteRange::between(self.size().saturating_sub(last.len() as u64), self.size()))?;
        Ok((end != last).then_some(found))
    }

    /// How the file is compressed that these bytes were decompressed from.
    pub fn compression(&self) -> Option<Compression> {
        self.stored.map(|(compression, _)| compression)
    }

    /// The length of the file, compressed as it is.
    pub fn stored_size(&self) -> u64 {
        self.stored.map_or(self.size(), |(_, size)| size)
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The extension of its file name, in lower case; of one that was decompressed, the extension before that of the
    /// compression.
    pub fn extension(&self) -> Option<String> {
        let name = Path::new(&self.name);
        let inner = self.stored.and_then(|_| Some(Compression::in_name(name)?.1));
        Some(inner.unwrap_or(name).extension()?.to_str()?.to_ascii_lowercase())
    }

    /// The path or URL it was opened by, if it has one; that of a dataset is its manifest's.
    pub fn place(&self) -> Option<&Path> {
        self.place.as_deref()
    }

    /// The paths and URLs of all its files, as far as they have any.
    pub fn places(&self) -> Vec<&Path> {
        match &self.parts {
            Some(parts) => parts.iter().filter_map(|p| p.input.place()).collect(),
            None => self.place().into_iter().collect(),
        }
    }

    /// The objects beside it, if it is a dataset.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The length in bytes, of all files together; that of a dataset is its manifest's.
    pub fn size(&self) -> u64 {
        match &self.parts {
            Some(parts) => parts.iter().map(|p| p.input.size()).sum(),
            None => self.head.size(),
        }
    }

    /// What was read of it so far.
    pub fn read_count(&self) -> ReadCount {
        let Some(parts) = &self.parts else { return self.head.inner.count() };
        let counts = parts.iter().map(|p| p.input.read_count());
        counts.fold(ReadCount::default(), |a, b| ReadCount {
            requests: a.requests + b.requests,
            bytes: a.bytes + b.bytes,
        })
    }

    /// The same bytes, of which nothing more is read once it is time to stop.
    pub fn stopped_by(&self, stop: &Stop) -> Self {
        let part = |p: &PartInput| PartInput { input: p.input.stopped_by(stop), keys: p.keys.clone() };
        let head = Head { inner: Counting::new(stop.source(self.bytes())), first: Mutex::default() };
        let parts = self.parts.as_ref().map(|parts| parts.iter().map(part).collect());
        Input { head: Arc::new(head), parts, ..self.clone() }
    }

    /// The bytes; reading them counts.
    pub fn bytes(&self) -> Arc<dyn Source> {
        self.head.clone()
    }
}

/// The error for a version of what is no dataset.
#[cfg(feature = "fs")]
fn no_versions(path: &Path) -> Error {
    Error::request("no_such_version", "this is not a dataset: it has no manifests in a folder _versions")
        .file(path.display().to_string())
}

/// Whether a pipe has this name, such as one that a shell makes for `<(zcat x.csv.gz)`.
#[cfg(feature = "fs")]
fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Keeps the first bytes, which are read once to recognise the format and then again to open it.
struct Head {
    inner: Counted,
    first: Mutex<Option<Bytes>>,
}

impl Head {
    fn first(&self) -> std::sync::MutexGuard<'_, Option<Bytes>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Head {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn for_ranges(&self, wanted: &[ByteRange]) -> Option<Arc<dyn Source>> {
        self.inner.for_ranges(wanted)
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        if range.start() != 0 || range.end() > self.size() || range.is_empty() {
            return self.inner.read(range);
        }
        let known = self.first().clone();
        let Some(first) = known else {
            let bytes = self.inner.read(range)?;
            // Only a short head is kept: a reader of the whole file at once must not leave it in memory.
            if range.len() <= 4096 {
                self.first().get_or_insert(bytes.clone());
            }
            return Ok(bytes);
        };
        let wanted = range.len_usize()?;
        if wanted <= first.len() {
            return Ok(first.slice(..wanted));
        }
        let rest = self.inner.read(ByteRange::between(first.len() as u64, range.end()))?;
        let mut whole = BytesMut::with_capacity(wanted);
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&rest);
        Ok(whole.freeze())
    }

    fn gap(&self) -> u64 {
        self.inner.gap()
    }

    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        match requests.first() {
            Some(first) if first.start() == 0 => requests.iter().map(|r| self.read(*r)).collect(),
            _ => self.inner.read_each(requests),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_counted_twice_for_being_recognised() {
        let data = Bytes::from((0..100).collect::<Vec<u8>>());
        let input = Input::source("x", Arc::new(data.clone()));
        let read = |a, b| input.bytes().read(ByteRange::between(a, b)).unwrap();
        assert_eq!(read(0, 16), data.slice(0..16));
        assert_eq!(read(0, 40), data.slice(0..40));
        assert_eq!(read(0, 10), data.slice(0..10));
        assert_eq!(read(30, 50), data.slice(30..50));
        assert_eq!(input.read_count(), ReadCount { requests: 3, bytes: 16 + 24 + 20 });
        assert_eq!(input.bytes().read(ByteRange::between(0, 101)).unwrap_err().code(), "short_read");
    }

    #[test]
    fn nothing_is_read_after_the_stop() {
        let stop = Stop::new();
        let csv = || Input::source("x.csv", Arc::new(Bytes::from_static(b"a\n1\n")));
        let both = Input::several([csv(), csv()]).stopped_by(&stop);
        let open = || crate::OpenOptions::new().open_input(&both).and_then(|f| Ok(f.scan().batches()?.count()));
        assert!(open().is_ok());
        assert!(both.read_count().bytes > 0);
        stop.now();
        assert_eq!(open().unwrap_err().code(), "interrupted");
    }

    #[test]
    fn a_stream_is_spooled() {
        let input = Input::spooled("standard input", &mut &b"a,b\n1,2\n"[..]).unwrap();
        assert_eq!(input.size(), 8);
        assert_eq!(input.extension(), None);
    }
}
