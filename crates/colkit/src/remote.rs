//! A file in an object store, for async programs: nothing here blocks.

#[cfg(feature = "compressed")]
use crate::compressed::decompressed;
#[cfg(feature = "text")]
use crate::encoding::{self, TextEncoding};
use crate::{Compression, OpenOptions, ScanBuilder, TakeBuilder, TextOptions};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use colkit_core::drive::marked_file;
use colkit_core::drive::store::Remote;
#[cfg(any(feature = "compressed", feature = "text"))]
use colkit_core::{ByteRange, FileSource};
use colkit_core::{Format, Limits, Objects, ReadOptions, Result, Table, recognition};
use colkit_store::{ObjectMeta, ObjectPath, ObjectStore, Stores};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
#[cfg(any(feature = "compressed", feature = "text"))]
use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes that opening a file in a store may fetch in vain: fewer would be a request more.
const PREFETCH: u64 = 64 << 10;

/// An open file in an object store. Every error it gives carries its name.
#[derive(Clone)]
pub struct RemoteFile {
    name: Arc<str>,
    format: Arc<dyn Format>,
    table: Arc<dyn Table>,
    bytes: Arc<Remote>,
    limits: Limits,
}

impl OpenOptions {
    /// Opens the object at a URL such as `s3://bucket/file.lance`.
    pub async fn open_url(&self, url: &str) -> Result<RemoteFile> {
        let location = Stores::shared().locate(url)?;
        let object = location.head().await?;
        self.open_object(location.store, &object).await.map_err(|e| e.file(url))
    }

    /// Opens an object of a store, which has just been described.
    pub async fn open_object(&self, store: Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<RemoteFile> {
        // The only store that keeps objects as files says so by its name.
        let local = store.to_string().starts_with("LocalFileSystem");
        let name: Arc<str> = match marked_file(&object.location) {
            Some(file) => file.display().to_string().into(),
            None if local && cfg!(unix) => format!("/{}", object.location).into(),
            None => object.location.to_string().into(),
        };
        let mut read = self.read.clone();
        let bytes = if local {
            Remote::local(store, object).await?
        } else {
            read.prefetch = read.prefetch.max(PREFETCH);
            Remote::new(store, object)
        };
        let root = dataset_root(&object.location);
        let bytes = match &root {
            Some(root) => {
                read.objects = Objects::inside_moved(root.to_string(), self.moved.clone());
                bytes.with_objects(read.objects.clone(), root.clone())
            }
            None => bytes,
        };
        let opened = async {
            let (format, bytes) = self.recognised(bytes, object).await?;
            let (table, bytes) = self.table_of(format.as_ref(), bytes, &read).await?;
            read.limits.check_schema(&table.schema())?;
            Ok((format, table, bytes))
        };
        let (format, table, bytes) = opened.await.map_err(|e: colkit_core::Error| e.file(&*name))?;
        Ok(RemoteFile { name, format, table, bytes: Arc::new(bytes), limits: read.limits })
    }

    /// The table in an object. Text in another encoding than UTF-8 is rewritten first.
    #[cfg(feature = "text")]
    async fn table_of(
        &self,
        format: &dyn Format,
        mut bytes: Remote,
        read: &ReadOptions,
    ) -> Result<(Arc<dyn Table>, Remote)> {
        let is_text = self.registry.is_text(format.name());
        let (told, limits) = (self.text.encoding, &read.limits);
        if let Some(told) = told.filter(|told| is_text && *told != TextEncoding::UTF_8) {
            bytes = rewritten(bytes, |file| encoding::rewritten(file, told, limits)).await?;
        }
        let opened = bytes.run(format.open(bytes.size(), read)).await;
        match opened {
            Err(error) if error.code() == "bad_utf8" && is_text && told.is_none() && self.text.find => {
                let in_utf8 = |file: &FileSource| match TextEncoding::found(file)? {
                    Some(found) => encoding::rewritten(file, found, limits),
                    None => Err(error),
                };
                let bytes = rewritten(bytes, in_utf8).await?;
                Ok((bytes.run(format.open(bytes.size(), read)).await?, bytes))
            }
            table => Ok((table?, bytes)),
        }
    }

    #[cfg(not(feature = "text"))]
    async fn table_of(
        &self,
        format: &dyn Format,
        bytes: Remote,
        read: &ReadOptions,
    ) -> Result<(Arc<dyn Table>, Remote)> {
        Ok((bytes.run(format.open(bytes.size(), read)).await?, bytes))
    }

    /// The format of an object and its bytes; if it is compressed as a whole, of what is in it.
    async fn recognised(&self, bytes: Remote, object: &ObjectMeta) -> Result<(Arc<dyn Format>, Remote)> {
        let name = Path::new(object.location.filename().unwrap_or_default());
        let found = self.format_at(&bytes, name).await;
        // What has a magic of its own is not compressed; looking for that costs a request.
        if found.as_ref().is_ok_and(|format| format.has_magic()) {
            return Ok((found?, bytes));
        }
        let (bytes, compression) = content(bytes, &self.read.limits).await?;
        match compression {
            None => Ok((found?, bytes)),
            Some(_) => {
                let inner = Compression::in_name(name).map_or(name, |(_, inner)| inner);
                Ok((self.format_at(&bytes, inner).await?, bytes))
            }
        }
    }

    async fn format_at(&self, bytes: &Remote, name: &Path) -> Result<Arc<dyn Format>> {
        if let Some(name) = &self.format {
            return self.registry.named(name, &TextOptions { lines: false, ..self.text.clone() });
        }
        let extension = name.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let formats = self.registry.formats(&self.text);
        bytes.run(recognition(bytes.size(), &formats, extension.as_deref())).await
    }
}

/// The object itself or, if it is compressed as a whole, with a file that has its content; and how it is compressed.
#[cfg(feature = "compressed")]
async fn content(object: Remote, limits: &Limits) -> Result<(Remote, Option<Compression>)> {
    let head = object.fetch(&[ByteRange::between(0, object.size().min(Compression::HEAD_BYTES))]).await?;
    let Some(compression) = head.first().and_then(|head| Compression::of(head)) else { return Ok((object, None)) };
    let last = Compression::NOT_AT_THE_END;
    let end = ByteRange::between(object.size().saturating_sub(last.len() as u64), object.size());
    if object.fetch(&[end]).await?.first().is_some_and(|end| end == last) {
        return Ok((object, None));
    }
    let object = rewritten(object, |file| decompressed(file, compression, limits)).await?;
    Ok((object, Some(compression)))
}

#[cfg(not(feature = "compressed"))]
async fn content(object: Remote, _: &Limits) -> Result<(Remote, Option<Compression>)> {
    Ok((object, None))
}

/// The object with a file that has what `rewrite` makes of it.
#[cfg(any(feature = "compressed", feature = "text"))]
async fn rewritten(object: Remote, rewrite: impl FnOnce(&FileSource) -> Result<FileSource>) -> Result<Remote> {
    let file = match object.file() {
        Some(file) => rewrite(file)?,
        None => rewrite(&downloaded(&object).await?)?,
    };
    Ok(object.kept_in(file))
}

/// Bytes of an object fetched at a time.
#[cfg(any(feature = "compressed", feature = "text"))]
const DOWNLOAD: u64 = 8 << 20;

/// The object as it is, in a temporary file.
#[cfg(any(feature = "compressed", feature = "text"))]
async fn downloaded(object: &Remote) -> Result<FileSource> {
    let mut file = tempfile::tempfile()?;
    let mut at = 0;
    while at < object.size() {
        let part = ByteRange::between(at, at.saturating_add(DOWNLOAD).min(object.size()));
        for bytes in object.fetch(&[part]).await? {
            file.write_all(&bytes)?;
        }
        at = part.end();
    }
    FileSource::from_file(file)
}

/// The folder of the dataset that an object is a manifest of.
#[cfg(feature = "lance")]
fn dataset_root(object: &ObjectPath) -> Option<ObjectPath> {
    use colkit_lance::dataset::{VERSIONS, is_manifest};
    let mut parts: Vec<_> = object.parts().collect();
    let (name, folder) = (parts.pop()?, parts.pop()?);
    (is_manifest(name.as_ref()) && folder.as_ref() == VERSIONS).then(|| parts.into_iter().collect())
}

#[cfg(not(feature = "lance"))]
fn dataset_root(_: &ObjectPath) -> Option<ObjectPath> {
    None
}

impl RemoteFile {
    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of file it is.
    pub fn format(&self) -> &Arc<dyn Format> {
        &self.format
    }

    /// The table.
    pub fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// Its bytes.
    pub fn bytes(&self) -> &Arc<Remote> {
        &self.bytes
    }

    /// The limits it was opened with.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// The number of rows.
    pub fn row_count(&self) -> u64 {
        self.table.row_count()
    }

    /// Reads batches in row order: all of them, unless the builder is told which.
    pub fn scan(&self) -> ScanBuilder<'_, RemoteFile> {
        ScanBuilder::new(self, self.schema(), self.row_count())
    }

    /// Reads single rows, in this order. Rows are counted from 0 and may repeat.
    pub fn take(&self, rows: impl IntoIterator<Item = u64>) -> TakeBuilder<'_, RemoteFile> {
        TakeBuilder::new(self, rows.into_iter().collect())
    }
}

impl ScanBuilder<'_, RemoteFile> {
    /// Starts reading: batches as they are asked for. Dropping the stream ends it.
    pub fn stream(self) -> Result<BatchStream> {
        let RemoteFile { name, table, bytes, limits, .. } = self.file;
        let resolved = self.build().and_then(|scan| Ok((scan.projection.schema(&table.schema())?, scan)));
        let (schema, scan) = resolved.map_err(|e| e.file(&**name))?;
        let name = name.clone();
        let batches = bytes.clone().scan(table.clone(), &scan, limits);
        let batches = batches.map(move |batch| batch.map_err(|e| e.file(&*name))).boxed();
        Ok(BatchStream { schema, batches })
    }
}

impl TakeBuilder<'_, RemoteFile> {
    /// Reads the rows, all of them into one batch.
    pub async fn batch(self) -> Result<RecordBatch> {
        let RemoteFile { name, table, bytes, limits, .. } = self.file;
        let taken = async {
            let projection = self.projection(&table.schema())?;
            bytes.take(table.clone(), &self.rows, &projection, limits).await
        };
        taken.await.map_err(|e: colkit_core::Error| e.file(&**name))
    }
}

/// The batches of a scan over a store, in row order. After an error there is nothing more.
#[must_use = "batches are read as they are asked for"]
pub struct BatchStream {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch>>,
}

impl BatchStream {
    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next batch; `None` at the end. The same as `StreamExt::next`, for those who do without the crate `futures`.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.batches.next().await
    }
}

impl Stream for BatchStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.poll_next_unpin(context)
    }
}
