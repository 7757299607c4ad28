//! Files as tables: one file, several, a glob pattern, a directory or a URL.

use crate::files_table::FilesTable;
use crate::format::ColkitFormat;
use crate::place::Place;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::{Constraints, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::ListingTable;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// A table of files in colkit's formats.
///
/// This type of its own is what a cluster can tell apart and send.
#[derive(Debug)]
pub struct ColkitTable {
    files: Arc<dyn TableProvider>,
    name: String,
}

impl ColkitTable {
    pub(crate) fn new(files: Arc<dyn TableProvider>, name: String) -> Self {
        ColkitTable { files, name }
    }

    /// Where its files are, unless it was made by `CREATE EXTERNAL TABLE`.
    pub(crate) fn place(&self) -> Option<&Place> {
        Some(self.files_table()?.place())
    }

    pub(crate) fn of_parts(place: Place, format: ColkitFormat, schema: TableSchema, name: String) -> Self {
        Self::new(Arc::new(FilesTable::new(place, format, schema)), name)
    }

    /// The table of its files, unless it was made by `CREATE EXTERNAL TABLE`.
    pub(crate) fn files_table(&self) -> Option<&FilesTable> {
        self.files.downcast_ref()
    }

    /// The listing of its files, if it was.
    pub(crate) fn listing(&self) -> Option<&ListingTable> {
        self.files.downcast_ref()
    }

    /// What it was asked for by: a path, a pattern or a URL.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table of the files that `name` stands for: a path, a pattern such as `part-*.csv`, a folder, or a URL of any of
    /// these. Files are recognised by their content. A dataset is read through the manifest of its version. `filename` asks for
    /// a column with the name of the file that a row is from.
    pub(crate) async fn open(name: &str, format: ColkitFormat, filename: bool, state: &SessionState) -> Result<Self> {
        let place = Place::of(name, state).await?;
        let files = FilesTable::open(place, format, filename, state).await?;
        Ok(Self::new(Arc::new(files), name.to_owned()))
    }
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
