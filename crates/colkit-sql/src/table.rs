//! Files as tables: one file, several, a glob pattern, a directory or a URL.

use crate::error::external;
use crate::format::ColkitFormat;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::{Constraints, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;
use object_store::{ObjectMeta, ObjectStore};
use std::sync::Arc;
use url::Url;

/// A table of files in colkit's formats.
///
/// DataFusion's own listing of files does the work; this type of its own is what a cluster can tell apart and send.
#[derive(Debug)]
pub struct ColkitTable {
    files: Arc<dyn TableProvider>,
    name: String,
}

impl ColkitTable {
    pub(crate) fn new(files: Arc<dyn TableProvider>, name: String) -> Self {
        ColkitTable { files, name }
    }

    /// The listing of its files.
    pub(crate) fn listing(&self) -> Option<&ListingTable> {
        self.files.downcast_ref()
    }

    /// What it was asked for by: a path, a pattern or a URL.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table of the files that `name` stands for: a path, a pattern such as `part-*.csv`, a folder, or a URL of any of
    /// these. Files are recognised by their content. A dataset is read through the manifest of its version.
    pub(crate) async fn open(name: &str, format: ColkitFormat, state: &SessionState) -> Result<Self> {
        let not_found = |what: String| external(colkit::Error::io("not_found", what).file(name));
        let is_url = name.contains("://");
        let dataset = || colkit::dataset_manifest(name).map_err(external);
        // What is an object need not be looked for as a dataset.
        let manifest = if is_url && !name.ends_with('/') { None } else { dataset()? };
        let mut url = location(manifest.as_deref().unwrap_or(name))?;
        let store = state.runtime_env().object_store(&url)?;
        let mut found = list(&url, state, store.as_ref(), name).await?;
        let is_object = found.first().is_some_and(|f| f.location == *url.prefix());
        if is_url
            && !url.is_collection()
            && !is_object
            && let Some(manifest) = dataset()?
        {
            url = location(&manifest)?;
            found = list(&url, state, store.as_ref(), name).await?;
        }
        // Listings come in any order; tables have their columns in one.
        found.sort_by(|a, b| a.location.cmp(&b.location));
        if found.is_empty() {
            let what = if url.is_collection() { "no files are there" } else { "there is no such file, or it is empty" };
            return Err(not_found(what.into()));
        }
        // A folder may hold other things beside the table.
        let extension = match url.is_folder() {
            true => {
                let files = found.iter().map(|f| std::path::Path::new(f.location.as_ref()));
                let extension = colkit::Registry::default().extension_of_folder(files);
                extension.map(|extension| format!(".{extension}")).unwrap_or_default()
            }
            false => String::new(),
        };
        let kind = |f: &ObjectMeta| f.location.as_ref().ends_with(&extension);
        let objects: Vec<_> = found.into_iter().filter(kind).collect();
        let options = ListingOptions::new(Arc::new(format)).with_file_extension(extension);
        let options = if url.is_collection() { with_partitions(options, state, &url).await } else { options };
        let schema = options.format.infer_schema(state, &store, &objects).await?;
        let config = ListingTableConfig::new(url.clone()).with_listing_options(options).with_schema(schema);
        Ok(Self::new(Arc::new(ListingTable::try_new(config)?), name.to_owned()))
    }
}

/// The files that a place stands for.
async fn list(
    url: &ListingTableUrl,
    state: &SessionState,
    store: &dyn ObjectStore,
    name: &str,
) -> Result<Vec<ObjectMeta>> {
    let mut files = url.list_all_files(state, store, "").await?;
    // Hidden files and notes such as _SUCCESS are nobody's rows.
    let hidden = |path: &object_store::path::Path| path.filename().is_some_and(|n| n.starts_with(['.', '_']));
    let mut found = Vec::new();
    while let Some(file) = files.try_next().await? {
        if found.len() as u64 > MOST_FILES {
            let limit = colkit::Error::limit("the list of files", "more", MOST_FILES);
            return Err(external(limit.file(name).hint("name fewer files")));
        }
        if file.size > 0 && (!url.is_collection() || !hidden(&file.location)) {
            found.push(file);
        }
    }
    Ok(found)
}

/// Files of one table at most. A store could name new ones for ever.
const MOST_FILES: u64 = 1 << 20;

/// Folders called `year=2024` are columns.
async fn with_partitions(options: ListingOptions, state: &SessionState, url: &ListingTableUrl) -> ListingOptions {
    use datafusion::arrow::datatypes::DataType;
    match options.infer_partitions(state, url).await {
        Ok(columns) if !columns.is_empty() => {
            options.with_table_partition_cols(columns.into_iter().map(|c| (c, DataType::Utf8)).collect())
        }
        _ => options,
    }
}

/// What the name stands for. Paths are looked for from here; a folder ends with a slash.
fn location(name: &str) -> Result<ListingTableUrl> {
    if name.contains("://") {
        // A pattern begins with the first part of the path that has a wildcard in it.
        let Some(wildcard) = name.find(['*', '?', '[']) else { return ListingTableUrl::parse(name) };
        let start = name.get(..wildcard).and_then(|before| before.rfind('/')).map_or(0, |slash| slash + 1);
        let (folder, pattern) = name.split_at(start);
        return ListingTableUrl::parse(folder)?.with_glob(pattern);
    }
    // What is there under a name is meant by it, even if it looks like a pattern.
    let whole = std::path::absolute(name).map_err(DataFusionError::IoError)?;
    let mut place = std::path::PathBuf::new();
    let mut pattern = Vec::new();
    for part in whole.components() {
        let text = part.as_os_str().to_string_lossy();
        if pattern.is_empty() && (!text.contains(['*', '?', '[']) || place.join(part).symlink_metadata().is_ok()) {
            place.push(part);
        } else {
            pattern.push(text.into_owned());
        }
    }
    let is_folder = place.is_dir() || !pattern.is_empty();
    let url = if is_folder { Url::from_directory_path(&place) } else { Url::from_file_path(&place) };
    let url = url.map_err(|()| DataFusionError::Configuration(format!("{name} is no path")))?;
    // Without the parts of it that lead back.
    let url = Url::parse(url.as_str()).map_err(|e| DataFusionError::External(Box::new(e)))?;
    let url = ListingTableUrl::try_new(url, None)?;
    if pattern.is_empty() { Ok(url) } else { url.with_glob(&pattern.join("/")) }
}

#[async_trait]
impl TableProvider for ColkitTable {
    fn schema(&self) -> SchemaRef {
        self.files.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.files.constraints()
    }

    fn table_type(&self) -> TableType {
        self.files.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.files.get_table_definition()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.files.get_column_default(column)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.files.scan(state, projection, filters, limit).await
    }

    async fn scan_with_args<'a>(&self, state: &dyn Session, args: ScanArgs<'a>) -> Result<ScanResult> {
        self.files.scan_with_args(state, args).await
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        self.files.supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.files.statistics()
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.files.insert_into(state, input, op).await
    }
}
