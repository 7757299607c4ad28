//! The `.gppcol`, `.cff` and `.colfile` formats: a header with the schema, then one zlib block per column.
//!
//! | | `.gppcol` | `.cff` | `.colfile` |
//! |---|---|---|---|
//! | format | [`Gpp`] | [`Cff`] | [`Colm`] |
//! | types | int32, float64, string, bool | int32, float64, string | int32, float64, string |
//! | strings | offsets, then all bytes | offsets, then all bytes | length and bytes, row by row |
//!
//! All three share one reader and one writer; `dialect` has everything that differs.
//!
//! ```
//! use arrow::array::{ArrayRef, Int32Array, StringArray};
//! use arrow::record_batch::RecordBatch;
//! use colkit_core::{Format, MemorySink, ReadOptions, Scan, TableFile, WriteOptions};
//! use std::sync::Arc;
//!
//! let id: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
//! let name: ArrayRef = Arc::new(StringArray::from(vec!["Alice", "Bob"]));
//! let batch = RecordBatch::try_from_iter([("id", id), ("name", name)])?;
//!
//! let sink = MemorySink::new();
//! let mut writer = colkit_plain::Gpp.writer(batch.schema(), Box::new(sink.clone()), &WriteOptions::default())?;
//! writer.write(&batch)?;
//! writer.finish()?;
//!
//! let bytes = sink.bytes().unwrap_or_default();
//! let file = TableFile::open(Arc::new(colkit_plain::Gpp), Arc::new(bytes), &ReadOptions::default())?;
//! let read = file.scan(&Scan::default())?.next().transpose()?;
//! assert_eq!(read, Some(batch));
//! # Ok::<(), colkit_core::Error>(())
//! ```

#[cfg(target_endian = "big")]
compile_error!("the formats are little-endian and are read without a copy; big-endian machines are not supported");

mod convert;
mod dialect;
mod header;
mod inflate;
mod spill;
mod stream;
mod strings;
mod table;
mod whole;
mod writer;
mod zlib;

use arrow::datatypes::{DataType, SchemaRef};
use colkit_core::{Boxed, Format, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions};
use dialect::Dialect;
use std::sync::Arc;

macro_rules! format {
    ($name:ident, $dialect:expr, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;

        impl $name {
            const DIALECT: &'static Dialect = &$dialect;
        }

        impl Format for $name {
            fn name(&self) -> &'static str {
                Self::DIALECT.name
            }

            fn extensions(&self) -> &'static [&'static str] {
                Self::DIALECT.extensions
            }

            fn sniff(&self, head: &[u8], _tail: &[u8]) -> bool {
                head.starts_with(&Self::DIALECT.magic)
            }

            fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
                header::open(Self::DIALECT, size, options, table::LARGEST_WHOLE)
            }

            fn stores(&self, data_type: &DataType) -> bool {
                match data_type {
                    DataType::Int32 | DataType::Float64 | DataType::Utf8 => true,
                    DataType::Boolean => Self::DIALECT.booleans,
                    _ => false,
                }
            }

            fn stores_nulls(&self) -> bool {
                false
            }

            fn writer(
                &self,
                schema: SchemaRef,
                sink: Box<dyn Sink>,
                options: &WriteOptions,
            ) -> Result<Box<dyn TableWriter>> {
                Ok(Box::new(writer::PlainWriter::new(Self::DIALECT, &schema, sink, options)?))
            }
        }
    };
}

format!(Gpp, dialect::GPP, "The format `.gppcol` (magic `GPP1`).");
format!(Cff, dialect::CFF, "The format `.cff` (magic `CFF1`).");
format!(Colm, dialect::COLM, "The format `.colfile` (magic `COLM`).");

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
