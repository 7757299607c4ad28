//! RAW (255): a file that is not taken apart. It is one payload, not a stream set, so there are no streams to restore it from.

use super::Coder;
#[cfg(feature = "write")]
use crate::encode::{groups::Settings, plan::Encoder, plan::Layout, set::Stream, whole::EncodedStreams};
use crate::restore::host::Host;
use crate::stream_set::Streams;
use colkit_core::{Error, Result};

/// The codec.
pub struct Raw;

impl Coder for Raw {
    fn restore(&self, _: &Streams, _: &mut Host<'_, '_>) -> Result<()> {
        Err(Error::corrupt("bad_codec", "a structured frame in a container without a codec").at(4))
    }

    fn is_table_text(&self) -> bool {
        true
    }
}

/// What nothing else is made for is written like this, so there is nothing to recognise.
#[cfg(feature = "write")]
impl Encoder for Raw {
    /// Only to compare sizes by: see [`crate::pack()`] for how it is written.
    fn encode(&self, text: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        Ok(vec![Stream::new("raw", text.to_vec())].into())
    }
}
