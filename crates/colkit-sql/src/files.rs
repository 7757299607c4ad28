//! Finds the files that a query reads, which its output must not overwrite.

use crate::table::ColkitTable;
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::{ListingTable, ListingTableUrl};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use std::path::PathBuf;

/// The paths and URLs of all files of all tables in a plan, those in subqueries too. What is known without reading a file,
/// such as its number of rows, is an answer about it all the same.
pub async fn files_of(plan: &LogicalPlan, state: &SessionState) -> Result<Vec<PathBuf>> {
    let mut places = Vec::new();
    collect(plan, &mut places)?;
    let mut files = Vec::new();
    for place in places {
        let host = place.object_store();
        let store = state.runtime_env().object_store(&host)?;
        let mut found = place.list_all_files(state, store.as_ref(), "").await?;
        while let Some(file) = found.try_next().await? {
            files.push(match place.scheme() {
                "file" => LocalFileSystem::new().path_to_filesystem(&file.location)?,
                _ => format!("{}{}", host.as_str(), file.location).into(),
            });
        }
    }
    Ok(files)
}

/// Adds the places of all tables in a plan, through views too.
fn collect(plan: &LogicalPlan, places: &mut Vec<ListingTableUrl>) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(table) = source_as_provider(&scan.source)
        {
            match table.get_logical_plan() {
                Some(view) => collect(&view, places)?,
                None => places.extend(listing(table.as_ref()).into_iter().flat_map(|t| t.table_paths().clone())),
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// The listing of files that a table is, if it is one.
fn listing(table: &dyn TableProvider) -> Option<&ListingTable> {
    match table.downcast_ref::<ColkitTable>() {
        Some(ours) => ours.listing(),
        None => table.downcast_ref(),
    }
}
