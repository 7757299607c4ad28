//! Tables that a session has instead of all files, for queries of those who may read these and nothing else.

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::TableReference;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use std::fmt;
use std::sync::Arc;

/// A table of a session that has no others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenTable {
    /// The name that it is listed by.
    pub name: String,
    /// Another name that queries may call it by, such as that of its file.
    pub alias: Option<String>,
    /// The file, folder, pattern or URL that it stands for.
    pub place: String,
}

/// All tables of a session. Names are found whatever their case if no other fits better, since SQL makes them lower-case.
pub(crate) struct GivenTables {
    pub tables: Vec<GivenTable>,
    /// A session that knows files.
    pub files: SessionContext,
}

impl GivenTables {
    fn find(&self, name: &str) -> Option<&GivenTable> {
        let by = |fits: &dyn Fn(&str) -> bool| {
            let called = |table: &&GivenTable| fits(&table.name) || table.alias.as_deref().is_some_and(fits);
            self.tables.iter().find(|table| fits(&table.name)).or_else(|| self.tables.iter().find(called))
        };
        by(&|known| known == name).or_else(|| by(&|known| known.to_lowercase() == name.to_lowercase()))
    }
}

impl fmt::Debug for GivenTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivenTables").field("tables", &self.tables).finish_non_exhaustive()
    }
}

#[async_trait]
impl SchemaProvider for GivenTables {
    fn table_names(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(table) = self.find(name) else { return Ok(None) };
        self.files.table_provider(TableReference::bare(table.place.clone())).await.map(Some)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}
