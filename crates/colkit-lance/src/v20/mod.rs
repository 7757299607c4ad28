//! Encodings of version 2.0: a page is a tree of array encodings whose leaves name buffers.
//!
//! Nothing in 2.0 is cut into chunks. Plain values are addressed directly; text and lists by their ends, which are
//! stored without the leading 0 and carry nulls (see [`ends`]).

mod ends;
pub(crate) mod messages;
mod read;
mod tree;

use crate::container::bad_metadata;
use crate::coroutine::coroutine;
use crate::encoding::{ColumnEncoding, ColumnForm, Decoded, Page, PageContext, PageEncoding, PageSummary, Target};
use crate::rows::Rows;
use bytes::Bytes;
use colkit_core::{Boxed, Error, Result};
use messages::ColumnEncodingKind;
use prost::Message;
use std::sync::Arc;
use tree::{Array, Node};

/// `lance.encodings.ColumnEncoding`, of all versions.
pub(crate) struct PlainColumns;

impl ColumnEncoding for PlainColumns {
    fn name(&self) -> &'static str {
        "lance.encodings.ColumnEncoding"
    }

    fn column(&self, message: &Bytes) -> Result<ColumnForm> {
        let message = messages::ColumnEncoding::decode(message.clone());
        let mut encoding = message.map_err(|e| bad_metadata("the column encoding", e))?;
        loop {
            match encoding.column {
                Some(ColumnEncodingKind::Values(_)) => return Ok(ColumnForm::Values),
                Some(ColumnEncodingKind::Blob(_)) => return Ok(ColumnForm::Blob),
                // The zones only help to skip; the values are as the inner encoding says.
                Some(ColumnEncodingKind::ZoneIndex(zones)) => encoding = zones.inner.map(|i| *i).unwrap_or_default(),
                None => {
                    return Err(Error::unsupported("unknown_encoding", "a column encoding that is not known here"));
                }
            }
        }
    }
}

/// `lance.encodings.ArrayEncoding`.
pub(crate) struct ArrayEncodings;

impl PageEncoding for ArrayEncodings {
    fn name(&self) -> &'static str {
        "lance.encodings.ArrayEncoding"
    }

    fn page(&self, context: PageContext) -> Result<Arc<dyn Page>> {
        let message = messages::ArrayEncoding::decode(context.message.clone());
        let message = message.map_err(|e| bad_metadata("the page encoding", e))?;
        let root = Node::parse(message, &context)?;
        Ok(Arc::new(ArrayPage { root: Arc::new(root), context: Arc::new(context) }))
    }
}

struct ArrayPage {
    root: Arc<Node>,
    context: Arc<PageContext>,
}

impl Page for ArrayPage {
    fn summary(&self) -> PageSummary {
        let mut names = vec![String::new(); self.context.buffers.len()];
        self.root.name_buffers(&self.context.buffers, &mut names);
        PageSummary { layout: "array".into(), encoding: self.root.to_string(), buffers: names, values: None }
    }

    fn read(self: Arc<Self>, rows: Rows, target: Target) -> Boxed<Decoded> {
        coroutine(move |io| async move { read::page(&io, &self.root, &self.context, rows, &target).await })
    }

    fn list_items(&self) -> Option<u64> {
        match &self.root.array {
            Array::List { items, .. } => Some(*items),
            _ => None,
        }
    }
}
