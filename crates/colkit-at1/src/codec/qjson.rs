//! Qjson (8): JSON lines of one shape in row groups. See [`crate::queryable`] for the streams.

#[cfg(feature = "write")]
pub mod encode;

use super::RowGroups;
use crate::queryable::Queryable;
use crate::stream_set::Streams;
use colkit_core::Result;

/// The codec.
pub struct Qjson;

impl RowGroups for Qjson {
    fn open(streams: Streams) -> Result<Queryable> {
        Queryable::of_one_shape(streams, false)
    }
}
