//! Finds the files that a query reads, which its output must not overwrite.

use crate::place::Place;
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
    let mut tables = Tables::default();
    tables.collect(plan)?;
    let mut files = Vec::new();
    for place in tables.places {
        // Output may be compared with them from elsewhere.
        let whole = |path: PathBuf| if url_like(&path) { path } else { std::path::absolute(&path).unwrap_or(path) };
        files.extend(place.list(state).await?.into_iter().map(|file| whole(file.path)));
    }
    for url in tables.external {
        let host = url.object_store();
        let store = state.runtime_env().object_store(&host)?;
        let mut found = url.list_all_files(state, store.as_ref(), "").await?;
        while let Some(file) = found.try_next().await? {
            files.push(match url.scheme() {
                "file" => LocalFileSystem::new().path_to_filesystem(&file.location)?,
                _ => format!("{}{}", host.as_str(), file.location).into(),
            });
        }
    }
    Ok(files)
}

/// The paths and URLs of the files that a name stands for: a path, a pattern, a folder, or a URL of any of these.
pub async fn files_at(name: &str, state: &SessionState) -> Result<Vec<PathBuf>> {
    Ok(Place::of(name, state).await?.list(state).await?.into_iter().map(|file| file.path).collect())
}

fn url_like(path: &std::path::Path) -> bool {
    path.to_str().is_some_and(|path| path.contains("://"))
}

/// The tables of a plan: where their files are.
#[derive(Default)]
struct Tables {
    places: Vec<Place>,
    /// Those of `CREATE EXTERNAL TABLE`.
    external: Vec<ListingTableUrl>,
}

impl Tables {
    /// Adds all tables in a plan, through views too.
    fn collect(&mut self, plan: &LogicalPlan) -> Result<()> {
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && let Ok(table) = source_as_provider(&scan.source)
            {
                match table.get_logical_plan() {
                    Some(view) => self.collect(&view)?,
                    None => self.add(table.as_ref()),
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }

    fn add(&mut self, table: &dyn TableProvider) {
        let ours = table.downcast_ref::<ColkitTable>();
        self.places.extend(ours.and_then(ColkitTable::place).cloned());
        let listing = ours.map_or_else(|| table.downcast_ref::<ListingTable>(), ColkitTable::listing);
        self.external.extend(listing.into_iter().flat_map(|listing| listing.table_paths().clone()));
    }
}
