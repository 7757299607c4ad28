//! Jsondoc (6), written. See [`super`] for the streams.

use super::Jsondoc;
use crate::codec::json::encode::Columns;
use crate::encode::groups::Settings;
use crate::encode::json_text::{Places, Token, Tokens};
use crate::encode::plan::{Encoder, Layout};
use crate::encode::put::put_uv;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use colkit_core::Result;

/// That a text is a document is seen by [`super::super::json`], which knows that it is not lines.
impl Encoder for Jsondoc {
    fn encode(&self, text: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        Ok(encode(text).into())
    }

    fn can_be_cut(&self) -> bool {
        false
    }
}

/// The streams of one JSON document.
fn encode(text: &[u8]) -> Vec<Stream> {
    let mut tokens = Tokens::default();
    let found = if memchr::memchr(0, text).is_some() { None } else { tokens.read(text) };
    let Some(found) = found else {
        return vec![Stream::new("meta", vec![0]), Stream::new("raw", text.to_vec())];
    };
    let (mut columns, mut ids, mut skeleton, mut at) = (Columns::default(), Vec::new(), Vec::new(), 0);
    Places::default().visit(text, found, |token, place| {
        let (Token::Scalar(span), Some(place)) = (token, place) else { return };
        skeleton.extend_from_slice(text.get(at..span.start as usize).unwrap_or_default());
        skeleton.push(0);
        at = span.end as usize;
        columns.push(place, span.of(text));
        put_uv(place as u64, &mut ids);
    });
    skeleton.extend_from_slice(text.get(at..).unwrap_or_default());
    let [value_index, values] = columns.streams(b"");
    vec![
        Stream::new("meta", vec![1]),
        Stream::new("skeleton", skeleton),
        Stream::new("colids", ids),
        value_index,
        values,
    ]
}
