//! Blob pages: an inner page holds where each value lies and how long it is.
//!
//! | size | position | meaning |
//! |---|---|---|
//! | more than 0 | anything | the value's bytes lie there |
//! | 0 | 0 | an empty value |
//! | 0 | more than 0 | null: the definition level in bits 16..32, the repetition level in bits 0..16 |

use super::layers::{Layers, Levels};
use crate::blob::{self, Description};
use crate::coroutine::{Io, coroutine};
use crate::encoding::{Decoded, Page, PageContext, PageSummary, Target};
use crate::rows::Rows;
use crate::schema::Kind;
use crate::values::wrong_type;
use arrow::datatypes::DataType;
use colkit_core::{Boxed, ByteRange, Error, Result};
use std::sync::Arc;

/// A page of blobs.
pub(super) struct BlobPage {
    inner: Arc<dyn Page>,
    layers: Layers,
    context: PageContext,
}

impl BlobPage {
    pub fn new(inner: Arc<dyn Page>, layers: &[i32], context: PageContext) -> Result<Self> {
        let layers = Layers::parse(layers)?;
        if layers.max_rep > 0 {
            return Err(Error::unsupported("unknown_encoding", "blobs inside lists"));
        }
        Ok(BlobPage { inner, layers, context })
    }

    async fn descriptions(&self, io: &Io, rows: Rows) -> Result<Vec<Description>> {
        let target =
            Target { field: blob::description_field(), kind: Kind::Packed, around: Vec::new(), encoded: false };
        match io.run(self.inner.clone().read(rows, target)).await? {
            Decoded::Shaped { values, layers } if layers.is_empty() => blob::descriptions(&values),
            _ => Err(wrong_type("no blob descriptions", &DataType::LargeBinary)),
        }
    }

    async fn read_rows(&self, io: &Io, rows: Rows, target: &Target) -> Result<Decoded> {
        if target.field.data_type() != &DataType::LargeBinary {
            return Err(wrong_type("blobs", target.field.data_type()));
        }
        let descriptions = self.descriptions(io, rows).await?;
        let level = |d: &Description| match (d.size, d.position) {
            (0, position) => u16::try_from(position >> 16 & 0xFFFF).unwrap_or(0),
            _ => 0,
        };
        let levels = Levels {
            rep: None,
            def: (self.layers.max_def > 0).then(|| descriptions.iter().map(level).collect()),
            entries: descriptions.len(),
        };
        let (nulls, layers) = self.layers.unravel(levels, &target.around)?;
        let (size, limits) = (self.context.file_size, &self.context.limits);
        let values = blob::fetch_within(io, &descriptions, nulls, size, limits).await?;
        Ok(Decoded::Shaped { values, layers })
    }
}

impl Page for BlobPage {
    fn summary(&self) -> PageSummary {
        let inner = self.inner.summary();
        PageSummary { layout: "blob".into(), encoding: format!("blob({}: {})", inner.layout, inner.encoding), ..inner }
    }

    fn read(self: Arc<Self>, rows: Rows, target: Target) -> Boxed<Decoded> {
        coroutine(move |io| async move { self.read_rows(&io, rows, &target).await })
    }

    fn outside(self: Arc<Self>) -> Option<Boxed<Vec<ByteRange>>> {
        Some(coroutine(move |io| async move {
            let all = self.descriptions(&io, Rows::range(0..self.context.length)).await?;
            let stored = all.iter().filter(|d| d.size > 0);
            stored.map(|d| crate::container::inside(d.position, d.size, self.context.file_size)).collect()
        }))
    }
}
