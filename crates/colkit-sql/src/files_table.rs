//! The files of a place as one table.
//!
//! Beside the columns of the files there are those that are the same for all rows of a file: keys in the names of folders, and
//! the name of the file if that was asked for. Files whose keys a filter rules out are not opened. The files are listed anew for
//! each query.

use crate::format::ColkitFormat;
use crate::parts::OpenWords;
use crate::place::{Found, Place};
use async_trait::async_trait;
use datafusion::arrow::array::{AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, DFSchema, ScalarValue, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::listing::helpers::expr_applicable_for_cols;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectMeta;
use std::sync::Arc;

/// Files that are looked into together.
const AT_ONCE: usize = 16;

/// The column that says which file a row is from.
const FILENAME: &str = "filename";

/// All files of a place.
#[derive(Debug)]
pub(crate) struct FilesTable {
    place: Place,
    format: ColkitFormat,
    schema: TableSchema,
}

impl FilesTable {
    /// Opens the files of a place. `filename` asks for the column of their names.
    pub async fn open(place: Place, format: ColkitFormat, filename: bool, state: &dyn Session) -> Result<Self> {
        let found = place.list(state).await?;
        let store = state.runtime_env().object_store(place.store())?;
        let objects: Vec<ObjectMeta> = found.iter().map(|file| file.object.clone()).collect();
        let own = format.infer_schema(state, &store, &objects).await?;
        // What files say themselves counts more than the names of their folders.
        let named = |name: &str| own.fields().iter().any(|f| f.name() == name);
        let keys = found.first().map(|file| file.keys.as_slice()).unwrap_or_default();
        let mut added: Vec<FieldRef> = Vec::new();
        for (name, _) in keys.iter().filter(|(name, _)| !named(name)) {
            added.push(Arc::new(Field::new(name, DataType::Utf8, true)));
        }
        if filename {
            if named(FILENAME) || added.iter().any(|f| f.name() == FILENAME) {
                let what = format!("the files have a column {FILENAME:?} themselves");
                let error = colkit::Error::data("duplicate_column", what).file(place.name().to_owned());
                return Err(crate::error::external(error.hint("leave out the column of file names")));
            }
            added.push(Arc::new(Field::new(FILENAME, DataType::Utf8, false)));
        }
        Ok(FilesTable { place, format, schema: TableSchema::builder(own).with_table_partition_cols(added).build() })
    }

    pub fn new(place: Place, format: ColkitFormat, schema: TableSchema) -> Self {
        FilesTable { place, format, schema }
    }

    /// The words that the files are opened with.
    pub fn words(&self) -> &OpenWords {
        self.format.tables().words()
    }

    /// The columns of the files, and those that are the same for all rows of a file.
    pub fn table_schema(&self) -> &TableSchema {
        &self.schema
    }

    /// Where the files are.
    pub fn place(&self) -> &Place {
        &self.place
    }

    fn added(&self) -> &[FieldRef] {
        self.schema.table_partition_cols()
    }

    /// Whether a filter is about columns that are the same for all rows of a file, and about nothing else.
    fn is_of_files(&self, filter: &Expr) -> bool {
        let names: Vec<&str> = self.added().iter().map(|f| f.name().as_str()).collect();
        !names.is_empty() && expr_applicable_for_cols(&names, filter)
    }

    /// A file with the values of its columns.
    fn file(&self, found: Found) -> PartitionedFile {
        let value = |field: &FieldRef| match field.name().as_str() {
            FILENAME if !field.is_nullable() => Some(found.path.display().to_string()),
            name => found.keys.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.clone()),
        };
        let values = self.added().iter().map(|field| ScalarValue::Utf8(value(field))).collect();
        PartitionedFile { partition_values: values, ..PartitionedFile::new_from_meta(found.object) }
    }

    /// The files that filters about files keep.
    fn kept(
        &self,
        files: Vec<PartitionedFile>,
        filters: Vec<Expr>,
        state: &dyn Session,
    ) -> Result<Vec<PartitionedFile>> {
        let Some(filter) = conjunction(filters).filter(|_| !files.is_empty()) else { return Ok(files) };
        let schema = Arc::new(Schema::new(self.added().to_vec()));
        let column =
            |at: usize| ScalarValue::iter_to_array(files.iter().filter_map(|f| f.partition_values.get(at).cloned()));
        let columns = (0..self.added().len()).map(column).collect::<Result<Vec<_>>>()?;
        let batch = RecordBatch::try_new(schema.clone(), columns)?;
        let filter = state.create_physical_expr(filter, &DFSchema::try_from(schema)?)?;
        let mask = filter.evaluate(&batch)?.into_array(files.len())?;
        let mask: &BooleanArray = mask.as_boolean();
        Ok(files.into_iter().zip(mask).filter_map(|(file, keep)| keep.unwrap_or(false).then_some(file)).collect())
    }

    /// The same file, with what is known about its columns.
    async fn described(&self, file: PartitionedFile, state: &dyn Session) -> Result<PartitionedFile> {
        let own = self.schema.file_schema().clone();
        let store = state.runtime_env().object_store(self.place.store())?;
        let mut known = match state.config().collect_statistics() {
            true => self.format.infer_stats(state, &store, own, &file.object_meta).await?,
            false => Statistics::new_unknown(&own),
        };
        let rows = known.num_rows;
        known.column_statistics.extend(file.partition_values.iter().map(|value| match value.is_null() {
            true => ColumnStatistics { null_count: rows, ..ColumnStatistics::new_unknown() },
            false => ColumnStatistics {
                null_count: Precision::Exact(0),
                max_value: Precision::Exact(value.clone()),
                min_value: Precision::Exact(value.clone()),
                distinct_count: Precision::Exact(1),
                ..ColumnStatistics::new_unknown()
            },
        }));
        Ok(PartitionedFile { statistics: Some(Arc::new(known)), ..file })
    }

    /// The files with what is known about them, as many as it takes for so many rows; and whether those are all.
    async fn described_up_to(
        &self,
        files: Vec<PartitionedFile>,
        rows: Option<usize>,
        state: &dyn Session,
    ) -> Result<(Vec<PartitionedFile>, bool)> {
        let mut described = stream::iter(files).map(|file| self.described(file, state)).boxed().buffered(AT_ONCE);
        let mut taken = Vec::new();
        let mut seen = Some(0);
        while let Some(file) = described.try_next().await? {
            let known = file.statistics.as_ref().and_then(|s| match s.num_rows {
                Precision::Exact(rows) => Some(rows),
                _ => None,
            });
            taken.push(file);
            seen = seen.zip(known).map(|(seen, known): (usize, usize)| seen.saturating_add(known));
            if seen.zip(rows).is_some_and(|(seen, rows)| seen >= rows) {
                return Ok((taken, described.try_next().await?.is_none()));
            }
        }
        Ok((taken, true))
    }
}

#[async_trait]
impl TableProvider for FilesTable {
    fn schema(&self) -> SchemaRef {
        self.schema.table_schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let args = ScanArgs::default().with_projection(projection.map(Vec::as_slice)).with_filters(Some(filters));
        Ok(Arc::clone(self.scan_with_args(state, args.with_limit(limit)).await?.plan()))
    }

    async fn scan_with_args<'a>(&self, state: &dyn Session, args: ScanArgs<'a>) -> Result<ScanResult> {
        let filters = args.filters().unwrap_or_default().iter().cloned();
        let (of_files, of_rows): (Vec<Expr>, Vec<Expr>) = filters.partition(|filter| self.is_of_files(filter));
        let files = self.place.list(state).await?.into_iter().map(|found| self.file(found)).collect();
        let files = self.kept(files, of_files, state)?;
        let enough = args.limit().filter(|_| of_rows.is_empty());
        let (files, all) = self.described_up_to(files, enough, state).await?;
        let projection = args.projection().map(<[usize]>::to_vec);
        let schema = self.schema();
        if files.is_empty() {
            let schema = match &projection {
                Some(columns) => Arc::new(schema.project(columns)?),
                None => schema,
            };
            return Ok(ScanResult::new(Arc::new(EmptyExec::new(schema))));
        }
        let known = files.iter().filter_map(|file| file.statistics.as_deref());
        let known = Statistics::try_merge_iter(known, &schema)?;
        let known = if all { known } else { known.to_inexact() };
        let groups = FileGroup::new(files).split_files(state.config().target_partitions().max(1));
        let source = self.format.file_source(self.schema.clone());
        let config = FileScanConfigBuilder::new(self.place.store(), source)
            .with_file_groups(groups)
            .with_statistics(known)
            .with_projection_indices(projection)?
            .with_limit(args.limit())
            .build();
        Ok(ScanResult::new(self.format.create_physical_plan(state, config).await?))
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let error = colkit::Error::unsupported("not_implemented", "INSERT does not change files");
        let hint = colkit::Hint::from("COPY (... UNION ALL ...) TO writes a new file")
            .and(colkit::Setting::Append.does("adds rows to a Lance dataset where files are converted"));
        Err(crate::error::external(error.file(self.place.name().to_owned()).hint(hint)))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match self.is_of_files(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(answer).collect())
    }
}
