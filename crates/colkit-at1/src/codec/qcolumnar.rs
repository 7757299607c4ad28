//! Qcolumnar (7): a delimited table in row groups. See [`crate::queryable`] for the streams.

#[cfg(feature = "write")]
pub mod encode;

use super::RowGroups;
use crate::queryable::Queryable;
use crate::stream_set::Streams;
use colkit_core::Result;

/// The codec.
pub struct Qcolumnar;

impl RowGroups for Qcolumnar {
    fn open(streams: Streams) -> Result<Queryable> {
        Queryable::of_one_shape(streams, true)
    }
}
