//! Qjson2 (11), written: like qjson, but with several templates.

use super::Qjson2;
use crate::codec::Codec;
use crate::codec::qjson::encode::ObjectEncoder;
use crate::encode::groups::Settings;
use crate::encode::plan::{Encoder, Layout, LineEncoder, encode_lines};
use crate::encode::whole::EncodedStreams;
use colkit_core::Result;

/// [`crate::codec::json`] sees when this is worth trying.
impl Encoder for Qjson2 {
    fn encode(&self, text: &[u8], _: Layout, settings: &Settings) -> Result<EncodedStreams> {
        encode_lines(Box::new(ObjectEncoder::of_several_templates(text, settings)), text)
    }

    fn line_encoder(
        &self,
        sample_lines: &dyn Fn() -> Result<Vec<u8>>,
        _: Layout,
        settings: &Settings,
    ) -> Result<Option<Box<dyn LineEncoder>>> {
        Ok(Some(Box::new(ObjectEncoder::of_several_templates(&sample_lines()?, settings))))
    }

    fn without_queries(&self) -> Option<Codec> {
        Some(Codec::Json)
    }
}
