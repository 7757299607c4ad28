//! A cache of open files: each is opened once for all partitions and queries that read it.

use crate::error::external;
use crate::parts::OpenWords;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use colkit::{OpenOptions, without_views};
use colkit_core::drive::store::Remote;
use colkit_core::{Scan, Split, Table, with_views};
use datafusion::error::Result;
use object_store::{ObjectMeta, ObjectStore};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// A file that is open.
pub(crate) struct OpenTable {
    pub name: String,
    pub table: Arc<dyn Table>,
    pub bytes: Arc<Remote>,
    /// Whether its types were inferred from text, packed or not.
    pub is_text: bool,
    /// Bytes that may come out of it.
    pub most: u64,
    /// Memory that a scan of it may hold.
    pub memory: u64,
    /// Held while splits are planned: what one partition learns about the file, the next need not fetch again.
    planning: tokio::sync::Mutex<()>,
}

impl OpenTable {
    /// The units of work of a scan.
    pub async fn splits(&self, scan: &Scan) -> Result<Vec<Split>> {
        let _alone = self.planning.lock().await;
        let machine = self.table.splits(scan).map_err(|e| external(e.file(self.name.clone())))?;
        self.bytes.run(machine).await.map_err(|e| external(e.file(self.name.clone())))
    }
}

/// How files are opened.
#[derive(Clone)]
pub(crate) struct Opening {
    pub options: OpenOptions,
    /// The words that it was asked for by.
    pub words: OpenWords,
    /// Whether texts are views, which are quick to filter and slow to send.
    pub views: bool,
}

impl From<OpenOptions> for Opening {
    fn from(options: OpenOptions) -> Self {
        Opening { options, words: OpenWords::default(), views: true }
    }
}

/// The open files of a session, and how files are opened.
pub(crate) struct OpenFiles {
    opening: Opening,
    open: Mutex<HashMap<Key, Arc<OnceCell<Arc<OpenTable>>>>>,
    /// Temporary files that the open ones hold.
    held: AtomicUsize,
}

/// Files kept open at most. Beyond it all are forgotten: queries over that many files do not come back soon.
const MOST_OPEN: usize = 4096;

/// Temporary files of them at most: those are open for as long as they are needed.
const MOST_HELD: usize = 32;

/// Which version of which file, read how.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    /// The store's address in memory, which the open file keeps alive.
    store: usize,
    path: String,
    size: u64,
    modified: i64,
    e_tag: Option<String>,
    format: Option<&'static str>,
    types: Option<Vec<(String, DataType)>>,
}

impl OpenFiles {
    pub fn new(opening: Opening) -> Self {
        OpenFiles { opening, open: Mutex::default(), held: AtomicUsize::new(0) }
    }

    /// The words that files are opened with.
    pub fn words(&self) -> &OpenWords {
        &self.opening.words
    }

    /// The columns of a query: texts are views or not.
    pub fn columns(&self, schema: Schema) -> SchemaRef {
        match self.opening.views {
            true => with_views(&Arc::new(schema)),
            false => {
                let plain = |f: &FieldRef| f.as_ref().clone().with_data_type(without_views(f.data_type()));
                Arc::new(Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>()))
            }
        }
    }

    /// Opens a file: of the format named or, without a name, of whichever its content shows.
    pub async fn open(
        &self,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        format: Option<&'static str>,
    ) -> Result<Arc<OpenTable>> {
        self.open_with(store, object, format, None).await
    }

    /// Opens a file to be read with the columns of `schema`. Text is read to the types that are wanted of it.
    pub async fn open_as(
        &self,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        format: Option<&'static str>,
        schema: &SchemaRef,
    ) -> Result<Arc<OpenTable>> {
        let open = self.open(store, object, format).await?;
        let own = open.table.schema();
        let differs = |name: &str, wanted: &DataType| {
            own.field_with_name(name).is_ok_and(|f| without_views(f.data_type()) != without_views(wanted))
        };
        if !open.is_text || !schema.fields().iter().any(|f| differs(f.name(), f.data_type())) {
            return Ok(open);
        }
        let has = |f: &&FieldRef| own.field_with_name(f.name()).is_ok();
        let types =
            schema.fields().iter().filter(has).map(|f| (f.name().clone(), without_views(f.data_type()))).collect();
        self.open_with(store, object, format, Some(types)).await
    }

    async fn open_with(
        &self,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        format: Option<&'static str>,
        types: Option<Vec<(String, DataType)>>,
    ) -> Result<Arc<OpenTable>> {
        let key = Key {
            store: Arc::as_ptr(store).cast::<()>().addr(),
            path: object.location.to_string(),
            size: object.size,
            modified: object.last_modified.timestamp_micros(),
            e_tag: object.e_tag.clone(),
            format,
            types: types.clone(),
        };
        let cell = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let full = open.len() >= MOST_OPEN || self.held.load(Ordering::Relaxed) >= MOST_HELD;
            if full && !open.contains_key(&key) {
                open.clear();
                self.held.store(0, Ordering::Relaxed);
            }
            open.entry(key).or_default().clone()
        };
        cell.get_or_try_init(|| self.open_anew(store, object, format, types)).await.cloned()
    }

    async fn open_anew(
        &self,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
        format: Option<&'static str>,
        types: Option<Vec<(String, DataType)>>,
    ) -> Result<Arc<OpenTable>> {
        let options = self.opening.options.clone().with_text_types(types.unwrap_or_default());
        let options = format.into_iter().fold(options, OpenOptions::with_format);
        let file = options.open_object(store.clone(), object).await.map_err(external)?;
        // A file that is no table, such as a bundle, has no columns, and says why when it is asked for rows.
        if file.schema().fields().is_empty() {
            file.table().splits(&Scan::default()).map_err(|e| external(e.file(file.name())))?;
        }
        if file.bytes().is_kept() {
            self.held.fetch_add(1, Ordering::Relaxed);
        }
        let is_text = options.registry().infers_types(file.format().name());
        Ok(Arc::new(OpenTable {
            name: file.name().to_owned(),
            table: file.table().clone(),
            bytes: file.bytes().clone(),
            is_text,
            most: file.limits().output_of(file.table().bytes().unwrap_or_else(|| file.bytes().size())),
            memory: file.limits().memory,
            planning: tokio::sync::Mutex::default(),
        }))
    }
}

impl fmt::Debug for OpenFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFiles").finish_non_exhaustive()
    }
}
