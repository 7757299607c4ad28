//! colkit's formats as DataFusion file formats: schemas and statistics of files, and how to scan them.

use crate::error::external;
use crate::open_files::OpenFiles;
use crate::source::ColkitSource;
use crate::statistics;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use async_trait::async_trait;
use colkit::wider_fields;
use datafusion::catalog::Session;
use datafusion::common::parsers::CompressionTypeVariant;
use datafusion::common::{GetExt, Statistics};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{ObjectMeta, ObjectStore};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Files whose schemas are looked at together.
const AT_ONCE: usize = 16;

/// One of colkit's formats, or whichever a file's content shows.
#[derive(Clone, Debug)]
pub struct ColkitFormat {
    tables: Arc<OpenFiles>,
    name: Option<&'static str>,
}

impl ColkitFormat {
    pub(crate) fn new(tables: Arc<OpenFiles>, name: Option<&'static str>) -> Self {
        ColkitFormat { tables, name }
    }

    pub(crate) fn tables(&self) -> &Arc<OpenFiles> {
        &self.tables
    }
}

#[async_trait]
impl FileFormat for ColkitFormat {
    fn get_ext(&self) -> String {
        self.name.unwrap_or_default().into()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        match compression.get_variant() {
            CompressionTypeVariant::UNCOMPRESSED => Ok(self.get_ext()),
            other => Err(DataFusionError::NotImplemented(format!("files compressed as a whole by {other}"))),
        }
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    /// The columns of all files together. A column that only some files have is null in the others; text files are read to
    /// the narrowest type that holds the values of all of them.
    async fn infer_schema(
        &self,
        _: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let open = |object: ObjectMeta| async move { self.tables.open(store, &object, self.name).await };
        let mut opened = stream::iter(objects.to_vec()).map(open).boxed().buffered(AT_ONCE);
        let mut merged: Option<Schema> = None;
        while let Some(open) = opened.try_next().await? {
            let schema = open.table.schema();
            merged = Some(match merged {
                None => schema.as_ref().clone(),
                Some(before) if open.is_text => Schema::new(wider_fields(before.fields(), schema.fields())),
                Some(before) => {
                    let (before, schema) = (null_where_missing(&before, &schema), null_where_missing(&schema, &before));
                    Schema::try_merge([before, schema]).map_err(|e| {
                        external(
                            colkit::Error::data(
                                "schemas_differ",
                                format!("its columns do not fit those of other files: {e}"),
                            )
                            .file(open.name.clone()),
                        )
                    })?
                }
            });
        }
        // What formats say to themselves in metadata is of no use to a query, and would tell equal schemas apart.
        let merged = merged.unwrap_or_else(Schema::empty);
        Ok(self.tables.columns(Schema::new(merged.fields().clone())))
    }

    async fn infer_stats(
        &self,
        _: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let open = self.tables.open_as(store, object, self.name, &schema).await?;
        Ok(statistics::of(&open, object.size, &schema))
    }

    async fn create_physical_plan(&self, _: &dyn Session, conf: FileScanConfig) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(DataSourceExec::from_data_source(conf))
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(ColkitSource::new(self.tables.clone(), self.name, schema))
    }
}

/// The columns of one file or several, those nullable that `other` does not have.
fn null_where_missing(schema: &Schema, other: &Schema) -> Schema {
    let theirs: HashSet<&str> = other.fields().iter().map(|f| f.name().as_str()).collect();
    let nullable = |f: &FieldRef| match theirs.contains(f.name().as_str()) {
        true => f.clone(),
        false => Arc::new(f.as_ref().clone().with_nullable(true)),
    };
    Schema::new(schema.fields().iter().map(nullable).collect::<Vec<_>>())
}

/// Makes [`ColkitFormat`]s for `CREATE EXTERNAL TABLE ... STORED AS LANCE` and the like.
#[derive(Debug)]
pub(crate) struct ColkitFormatFactory(pub ColkitFormat);

impl GetExt for ColkitFormatFactory {
    fn get_ext(&self) -> String {
        self.0.get_ext()
    }
}

impl FileFormatFactory for ColkitFormatFactory {
    fn create(&self, _: &dyn Session, _: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        Ok(FileFormatFactory::default(self))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(self.0.clone())
    }
}
