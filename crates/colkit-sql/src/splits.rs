//! What a scan is going to read: known before anything but footers has been read.

use crate::source::ColkitSource;
use colkit_core::Split;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashMap;
use std::sync::Arc;

/// What a partition of a scan reads of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSplits {
    /// The file, in its store.
    pub file: String,
    /// Units of work with their byte ranges, in the order in which they are read.
    pub splits: Vec<Split>,
}

/// What each partition of a scan of ours is going to read; `None` for other plans. Filters that joins and limits tighten while
/// they run may leave less of it.
pub async fn planned_splits(
    plan: &Arc<dyn ExecutionPlan>,
    runtime: &RuntimeEnv,
) -> Result<Option<Vec<Vec<FileSplits>>>> {
    let scan = plan.downcast_ref::<DataSourceExec>().map(|scan| scan.data_source());
    let Some(config) = scan.and_then(|scan| scan.downcast_ref::<FileScanConfig>()) else { return Ok(None) };
    let Some(source) = config.file_source().downcast_ref::<ColkitSource>() else { return Ok(None) };
    let store = runtime.object_store(&config.object_store_url)?;
    let mut known = HashMap::new();
    let mut partitions = Vec::new();
    for (number, group) in config.file_groups.iter().enumerate() {
        let mut files = Vec::new();
        for file in group.iter() {
            let name = file.object_meta.location.to_string();
            if !known.contains_key(&name) {
                known.insert(name.clone(), source.opener(store.clone(), number).splits(file).await?);
            }
            let whole = known.get(&name);
            let splits = whole.map(|whole| whole.within(file.range.as_ref(), file.object_meta.size));
            files.push(FileSplits { file: name, splits: splits.unwrap_or_default() });
        }
        partitions.push(files);
    }
    Ok(Some(partitions))
}
