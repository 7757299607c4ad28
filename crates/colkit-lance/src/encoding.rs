//! The registry of encodings.
//!
//! A file names the encoding of each page and column by a type URL. What such a name means is looked up here. An
//! encoding is pure: it is given a description and byte ranges, answers with a machine that asks for some of those
//! bytes, and turns them into arrays. A name that nobody registered makes only the columns fail that use it.
//!
//! Pages of version 2.1 and later name a second level: how their values are compressed. [`ValueEncoding`] is what is
//! registered for it.

mod compression;
mod embedded;
mod encoder;
mod known;
mod validity;

/// Bytes that are shared instead of copied: descriptions come as such.
pub use bytes::Bytes;
pub use compression::{
    AsBlock, Chunk, Compression, CompressiveEncoding, Form, InChunks, Output, PerValue, ValueEncoding,
};
pub(crate) use compression::{collector, mismatch, run_collector};
pub(crate) use embedded::with_embedded;
pub use embedded::{EmbeddedDecoders, EmbeddedModule, Runner};
pub use encoder::{ChunkEncoder, PageTexts, PageValues};
pub use known::Encodings;
pub(crate) use known::ValueEncodings;
pub(crate) use validity::Validity;

use crate::container::{ColumnMetadata, Description, PageMetadata};
use crate::rows::Rows;
use crate::schema::Kind;
use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use arrow::datatypes::FieldRef;
use colkit_core::{Boxed, ByteRange, Error, Limits, Result};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// What an encoding is told about a page.
#[derive(Clone, Debug)]
pub struct PageContext {
    /// The encoding's own message.
    pub message: Bytes,
    /// The page's buffers.
    pub buffers: Vec<ByteRange>,
    /// The column's buffers.
    pub column_buffers: Vec<ByteRange>,
    /// The file's global buffers.
    pub global_buffers: Vec<ByteRange>,
    /// Items (2.0) or rows in the page.
    pub length: u64,
    /// The file's size: values may lie anywhere in it.
    pub file_size: u64,
    /// Ceilings.
    pub limits: Limits,
    /// The compressions of values that are known.
    pub(crate) values: Arc<ValueEncodings>,
}

impl PageContext {
    /// Understands how values of the page are compressed.
    pub fn compression(&self, message: &CompressiveEncoding) -> Result<Arc<dyn Compression>> {
        self.values.parse(message, &self.limits)
    }
}

/// What the values of a column shall become.
#[derive(Clone, Debug)]
pub struct Target {
    /// The field, with its Arrow type.
    pub field: FieldRef,
    /// What the field is.
    pub kind: Kind,
    /// What is around it, from the inside out.
    pub around: Vec<Kind>,
    /// Whether a page may stay a dictionary, or runs.
    pub encoded: bool,
}

/// Rows of a page, decoded.
#[derive(Debug)]
pub enum Decoded {
    /// The items themselves, nulls included.
    Array(ArrayRef),
    /// Lists whose items are in the next column (2.0).
    Lists(Lists),
    /// The values that exist, and the shape of everything around them (2.1 and later).
    Shaped {
        /// The values, one per slot of the innermost layer.
        values: ArrayRef,
        /// The layers around the values, from the inside out.
        layers: Vec<Shape>,
    },
}

/// Lists of one page, without their items.
#[derive(Debug, Default)]
pub struct Lists {
    /// Items of each list.
    pub lengths: Vec<u64>,
    /// Which lists are null.
    pub nulls: Option<NullBuffer>,
    /// Where the items are, counted from the page's first.
    pub items: Rows,
}

/// One layer around values: a struct or a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A struct (or the like): which slots are null.
    Item {
        /// Number of slots.
        length: usize,
        /// `None`: none is null.
        nulls: Option<NullBuffer>,
    },
    /// Lists.
    List {
        /// Where each list begins in the layer inside; one more than there are lists.
        offsets: Vec<u64>,
        /// `None`: none is null.
        nulls: Option<NullBuffer>,
    },
}

/// What can be said about a page without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSummary {
    /// The layout's name, such as `mini_block`.
    pub layout: String,
    /// The tree of encodings, such as `dictionary(bitpacked(u32), lz4(variable))`.
    pub encoding: String,
    /// What each buffer holds.
    pub buffers: Vec<String>,
    /// Values stored, where that differs from rows or is known at all.
    pub values: Option<u64>,
}

/// What reading rows of a page needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageBytes {
    /// For these rows.
    pub rows: Vec<ByteRange>,
    /// For the first rows of the page that are read, whichever they are.
    pub once: Vec<ByteRange>,
}

/// A page that is understood. Search structures that reading it needs may be kept inside.
pub trait Page: Send + Sync {
    /// What it is.
    fn summary(&self) -> PageSummary;

    /// Reads items or rows of the page.
    fn read(self: Arc<Self>, rows: Rows, target: Target) -> Boxed<Decoded>;

    /// Fetches what it takes to say where rows are, if that is little; it is kept for reading them.
    fn learn(self: Arc<Self>) -> Option<Boxed<()>> {
        None
    }

    /// The bytes that reading these rows will need, as far as the page has learnt where they are. `None`: all of its
    /// buffers.
    fn bytes_of(&self, _rows: &Range<u64>) -> Option<PageBytes> {
        None
    }

    /// For lists whose items lie in the next column: the number of those items.
    fn list_items(&self) -> Option<u64> {
        None
    }

    /// Where values lie outside the page's buffers, if any do.
    fn outside(self: Arc<Self>) -> Option<Boxed<Vec<ByteRange>>> {
        None
    }
}

/// A way to encode pages.
pub trait PageEncoding: Send + Sync {
    /// The full name of its message, as after the last slash of the type URL.
    fn name(&self) -> &'static str;

    /// Understands a page.
    fn page(&self, context: PageContext) -> Result<Arc<dyn Page>>;
}

/// What encloses the pages of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnForm {
    /// Pages hold the values.
    Values,
    /// Pages hold positions and sizes of the values.
    Blob,
}

/// A way to enclose a column.
pub trait ColumnEncoding: Send + Sync {
    /// The full name of its message.
    fn name(&self) -> &'static str;

    /// Understands a column's description.
    fn column(&self, message: &Bytes) -> Result<ColumnForm>;
}

/// The encodings a reader knows.
#[derive(Clone, Default)]
pub struct Registry {
    pages: HashMap<&'static str, Arc<dyn PageEncoding>>,
    columns: HashMap<&'static str, Arc<dyn ColumnEncoding>>,
    values: Arc<ValueEncodings>,
    embedded: Option<Arc<dyn EmbeddedDecoders>>,
}

impl Registry {
    /// Knows nothing.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Knows all encodings of Lance 2.0, 2.1 and 2.2.
    pub fn standard() -> Self {
        let mut registry = Self::empty();
        registry.add_column(Arc::new(crate::v20::PlainColumns));
        registry.add_page(Arc::new(crate::v20::ArrayEncodings));
        registry.add_page(Arc::new(crate::v21::PageLayouts));
        for encoding in crate::v21::compression::BUILT_IN {
            registry.add_values(Arc::new(*encoding));
        }
        registry
    }

    /// Knows also the compressions that are colkit's own: those in `docs/encodings.md`, with the cargo feature `extended` or `extended-read`.
    pub fn extended() -> Self {
        #[cfg_attr(not(feature = "extended-read"), expect(unused_mut, reason = "there is nothing to add"))]
        let mut registry = Self::standard();
        #[cfg(feature = "extended-read")]
        for encoding in crate::extended::all() {
            registry.add_values(encoding);
        }
        registry
    }

    /// Adds a compression of values, in place of one of the same name.
    pub fn add_values(&mut self, encoding: Arc<dyn ValueEncoding>) {
        Arc::make_mut(&mut self.values).add(encoding);
    }

    /// Asks this about decoders that files bring with them. Without it, none is run.
    pub fn set_embedded(&mut self, decoders: Arc<dyn EmbeddedDecoders>) {
        self.embedded = Some(decoders);
    }

    /// The names of the compressions of values that are known, in order.
    pub fn value_names(&self) -> Vec<&str> {
        self.values.names()
    }

    /// Adds a page encoding, in place of one of the same name.
    pub fn add_page(&mut self, encoding: Arc<dyn PageEncoding>) {
        self.pages.insert(encoding.name(), encoding);
    }

    /// Adds a column encoding, in place of one of the same name.
    pub fn add_column(&mut self, encoding: Arc<dyn ColumnEncoding>) {
        self.columns.insert(encoding.name(), encoding);
    }

    /// The same encodings for describing pages: those beyond Lance's that nobody knows, or that may not run, are understood as far as
    /// their names go.
    pub(crate) fn describing(&self) -> Registry {
        Registry { values: Arc::new(self.values.describing()), ..self.clone() }
    }

    /// The compressions of values.
    pub(crate) fn values(&self) -> Arc<ValueEncodings> {
        self.values.clone()
    }

    /// Understands a page.
    pub(crate) fn page(
        &self,
        page: &PageMetadata,
        column: &ColumnMetadata,
        globals: &[ByteRange],
        file_size: u64,
        limits: &Limits,
    ) -> Result<Arc<dyn Page>> {
        let known = self.pages.get(page.encoding.name.as_str());
        known.ok_or_else(|| unknown("page", &page.encoding, self.pages.keys()))?.page(PageContext {
            message: page.encoding.message.clone(),
            buffers: page.buffers.clone(),
            column_buffers: column.buffers.clone(),
            global_buffers: globals.to_vec(),
            length: page.length,
            file_size,
            limits: limits.clone(),
            values: self.values.clone(),
        })
    }

    /// Understands what encloses a column.
    pub(crate) fn column(&self, description: &Description) -> Result<ColumnForm> {
        let known = self.columns.get(description.name.as_str());
        known.ok_or_else(|| unknown("column", description, self.columns.keys()))?.column(&description.message)
    }
}

fn unknown<'a>(what: &str, description: &Description, known: impl Iterator<Item = &'a &'static str>) -> Error {
    let mut known: Vec<&str> = known.copied().collect();
    known.sort_unstable();
    let name = if description.name.is_empty() { "no encoding at all" } else { &description.name };
    unknown_name(what, name).hint(format!("known {what} encodings: {}; other columns can be read", known.join(", ")))
}

/// Something uses an encoding that nobody registered.
fn unknown_name(what: &str, name: &str) -> Error {
    Error::unsupported("unknown_encoding", format!("this {what} uses {name}, which is not known here"))
}

/// A buffer of a page, by number.
pub(crate) fn buffer_at(buffers: &[ByteRange], index: usize, what: &str) -> Result<ByteRange> {
    buffers.get(index).copied().ok_or_else(|| {
        Error::corrupt(
            "no_such_buffer",
            format!("the page has {} buffers, {what} would be number {index}", buffers.len()),
        )
    })
}

/// A part of a buffer, if it lies inside.
pub(crate) fn part_of(buffer: ByteRange, part: Range<u64>) -> Result<ByteRange> {
    if part.start > part.end || part.end > buffer.len() {
        return Err(Error::corrupt(
            "buffer_too_short",
            format!("bytes {}..{} of a buffer of {} bytes", part.start, part.end, buffer.len()),
        )
        .at(buffer.start()));
    }
    Ok(ByteRange::between(buffer.start() + part.start, buffer.start() + part.end))
}
