//! Encodings of version 2.1 and later.

use crate::encoding::{Page, PageContext, PageEncoding};
use colkit_core::{Error, Result};
use std::sync::Arc;

/// `lance.encodings21.PageLayout`.
pub(crate) struct PageLayouts;

impl PageEncoding for PageLayouts {
    fn name(&self) -> &'static str {
        "lance.encodings21.PageLayout"
    }

    fn page(&self, _context: PageContext) -> Result<Arc<dyn Page>> {
        Err(Error::unsupported("unknown_encoding", "page layouts"))
    }
}
