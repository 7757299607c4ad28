//! Encodings of version 2.1 and later: a page has one of four layouts.
//!
//! | layout | for |
//! |---|---|
//! | mini-block | narrow values, in chunks of up to a few thousand |
//! | full-zip | wide values, each with its levels |
//! | constant | no values at all, or one for all rows |
//! | blob | values outside the page |
//!
//! Every page carries the shape of what is around its values as levels; see [`layers`].

mod blob_layout;
pub(crate) mod compression;
mod constant;
mod dictionary;
mod full_zip;
mod layers;
pub(crate) mod messages;
mod mini_block;
mod run_length;
mod runs;
mod search;

use crate::container::bad_metadata;
use crate::encoding::{Page, PageContext, PageEncoding};
use colkit_core::{Error, Result};
use messages::{Layout, PageLayout};
use prost::Message;
use std::sync::Arc;

/// `lance.encodings21.PageLayout`.
pub(crate) struct PageLayouts;

impl PageEncoding for PageLayouts {
    fn name(&self) -> &'static str {
        "lance.encodings21.PageLayout"
    }

    fn page(&self, context: PageContext) -> Result<Arc<dyn Page>> {
        let layout = PageLayout::decode(context.message.clone()).map_err(|e| bad_metadata("the page layout", e))?;
        understand(layout, context)
    }
}

fn understand(layout: PageLayout, context: PageContext) -> Result<Arc<dyn Page>> {
    match layout.layout {
        Some(Layout::MiniBlock(layout)) => Ok(Arc::new(mini_block::MiniBlock::parse(*layout, context)?)),
        Some(Layout::FullZip(layout)) => Ok(Arc::new(full_zip::FullZip::parse(*layout, context)?)),
        Some(Layout::Constant(layout)) => Ok(Arc::new(constant::Constant::parse(*layout, context)?)),
        Some(Layout::Blob(layout)) => {
            let inner =
                layout.inner_layout.ok_or_else(|| Error::corrupt("bad_encoding", "a blob page without pages"))?;
            let inner = understand(*inner, context.clone())?;
            Ok(Arc::new(blob_layout::BlobPage::new(inner, &layout.layers, context)?))
        }
        None => Err(Error::unsupported("unknown_encoding", "a page layout that is not known here")),
    }
}
