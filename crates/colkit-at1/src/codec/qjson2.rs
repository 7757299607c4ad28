//! Qjson2 (11): JSON lines of several shapes in row groups. See [`crate::queryable`] for the streams.

#[cfg(feature = "write")]
mod encode;

use super::RowGroups;
use crate::queryable::Queryable;
use crate::stream_set::Streams;
use colkit_core::Result;

/// The codec.
pub struct Qjson2;

impl RowGroups for Qjson2 {
    fn open(streams: Streams) -> Result<Queryable> {
        Queryable::of_several_shapes(streams)
    }
}
