//! The file source for DataFusion: accepts projections and filters, and opens the parts of a file.

use crate::metrics::ReadMetrics;
use crate::open_files::OpenFiles;
use crate::opener::Opener;
use crate::parts::OpenWords;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroupPartitioner, FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::DynamicFilterTracking;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, conjunction};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, apply_expression_roots};
use object_store::ObjectStore;
use std::fmt;
use std::sync::Arc;

/// Files of colkit's formats as DataFusion scans them.
///
/// Columns are read as asked for. Filters on columns of the files are applied exactly, so nothing above needs to repeat
/// them; those that have a counterpart also rule out parts of the files before they are read. So do filters that joins and
/// limits tighten while they run, again and again.
#[derive(Clone)]
pub struct ColkitSource {
    tables: Arc<OpenFiles>,
    format: Option<&'static str>,
    schema: TableSchema,
    projection: SplitProjection,
    /// What rows must satisfy.
    filter: Option<Arc<dyn PhysicalExpr>>,
    /// What joins and limits find out while they run: they check it themselves, so it only rules out splits here.
    hints: Option<Arc<dyn PhysicalExpr>>,
    batch_rows: usize,
    metrics: ExecutionPlanMetricsSet,
}

impl ColkitSource {
    pub(crate) fn new(tables: Arc<OpenFiles>, format: Option<&'static str>, schema: TableSchema) -> Self {
        ColkitSource {
            tables,
            format,
            projection: SplitProjection::unprojected(&schema),
            schema,
            filter: None,
            hints: None,
            batch_rows: 8192,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The same, of rows that satisfy `filter`.
    pub(crate) fn with_filter(self, filter: Option<Arc<dyn PhysicalExpr>>) -> Self {
        ColkitSource { filter, ..self }
    }

    /// The words that its files are opened with.
    pub fn words(&self) -> OpenWords {
        let words = self.tables.words();
        OpenWords { format: words.format.clone().or(self.format.map(str::to_owned)), ..words.clone() }
    }

    /// Opens the files of a partition.
    pub(crate) fn opener(&self, store: Arc<dyn ObjectStore>, partition: usize) -> Opener {
        Opener {
            tables: self.tables.clone(),
            store,
            format: self.format,
            file_schema: self.schema.file_schema().clone(),
            columns: self.projection.file_indices.clone(),
            filter: self.filter.clone(),
            hints: self.hints.clone(),
            batch_rows: self.batch_rows,
            metrics: ReadMetrics::new(&self.metrics, partition),
        }
    }

    /// The format, if it was named rather than left to be recognised.
    pub fn format(&self) -> Option<&'static str> {
        self.format
    }
}

impl FileSource for ColkitSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        _: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let opener = Arc::new(self.opener(store, partition));
        ProjectionOpener::try_new(self.projection.clone(), opener, self.schema.file_schema())
    }

    fn table_schema(&self) -> &TableSchema {
        &self.schema
    }

    fn with_batch_size(&self, batch_rows: usize) -> Arc<dyn FileSource> {
        Arc::new(ColkitSource { batch_rows, ..self.clone() })
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.filter.clone()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        self.format.unwrap_or("colkit")
    }

    /// Divides files if the table is large, which a manifest is not: it stands for the files that it names.
    fn repartitioned(
        &self,
        target_partitions: usize,
        least_bytes: usize,
        output_ordering: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        let bytes = |file: &PartitionedFile| {
            let stated = file.statistics.as_ref().and_then(|s| s.total_byte_size.get_value().copied());
            stated.unwrap_or_else(|| usize::try_from(file.object_meta.size).unwrap_or(usize::MAX))
        };
        let files = config.file_groups.iter().flat_map(|group| group.iter());
        let is_large = files.map(bytes).fold(0, usize::saturating_add) >= least_bytes;
        let groups = FileGroupPartitioner::new()
            .with_target_partitions(target_partitions)
            .with_repartition_file_min_size(if is_large { 0 } else { least_bytes })
            .with_preserve_order_within_groups(output_ordering.is_some())
            .repartition_file_groups(&config.file_groups);
        Ok(groups.map(|groups| {
            let mut config = config.clone();
            config.file_groups = groups;
            config
        }))
    }

    fn fmt_extra(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(filter) = &self.filter {
            write!(f, ", predicate={filter}")?;
        }
        match &self.hints {
            Some(hints) => write!(f, ", hints={hints}"),
            None => Ok(()),
        }
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let columns = self.schema.file_schema().fields().len();
        let ours = |f: &Arc<dyn PhysicalExpr>| collect_columns(f).iter().all(|c| c.index() < columns);
        let exact =
            |f: &Arc<dyn PhysicalExpr>| ours(f) && !DynamicFilterTracking::classify(f).contains_dynamic_filter();
        let answers = filters.iter().map(|f| if exact(f) { PushedDown::Yes } else { PushedDown::No }).collect();
        let (rows, hints): (Vec<_>, Vec<_>) = filters.into_iter().filter(ours).partition(exact);
        let and = |before: &Option<Arc<dyn PhysicalExpr>>, more: Vec<Arc<dyn PhysicalExpr>>| match more.is_empty() {
            true => before.clone(),
            false => Some(conjunction(before.iter().cloned().chain(more))),
        };
        let source = ColkitSource { filter: and(&self.filter, rows), hints: and(&self.hints, hints), ..self.clone() };
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers).with_updated_node(Arc::new(source)))
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.schema.file_schema(), &merged);
        Ok(Some(Arc::new(ColkitSource { projection, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let projected = self.projection.source.iter().map(|p| &p.expr);
        apply_expression_roots(projected.chain(self.filter.iter()).chain(self.hints.iter()), f)
    }
}
