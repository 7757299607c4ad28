//! Compressions that know nothing of pages: bytes in, values out.

pub(crate) mod bitpack;
pub(crate) mod fsst;
pub(crate) mod general;
pub(crate) mod zstd;
