//! Files without rows: they can be looked at, checked and restored, but not read as a table.

use super::File;
use arrow::datatypes::{Schema, SchemaRef};
use colkit_core::{Boxed, Error, Lane, Layout, Result, Scan, Selection, Split, Table, Verified, ready};
use std::sync::Arc;

/// A file without rows.
pub struct Opaque(pub Arc<File>);

impl Opaque {
    fn refuse<T>(&self) -> Result<T> {
        let container = &self.0.container;
        let kind = if container.is_streaming() { "a streaming container of codec" } else { "codec" };
        Err(Error::unsupported("no_table_view", format!("{kind} {} has no rows", container.codec.name()))
            .hint("unpack the file instead"))
    }
}

impl Table for Opaque {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::empty())
    }

    fn row_count(&self) -> u64 {
        0
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        self.0.properties()
    }

    fn splits(&self, _: &Scan) -> Result<Boxed<Vec<Split>>> {
        self.refuse()
    }

    fn read(&self, _: &Scan, _: &Selection) -> Result<Vec<Lane>> {
        self.refuse()
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        Ok(ready(self.0.layout(None)?))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        Ok(self.0.verify())
    }
}
