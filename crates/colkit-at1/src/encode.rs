//! What codecs write with: from text to streams, and from streams to a file. Everything here is pure but for the spool.

pub mod compress;
pub mod groups;
pub mod json_text;
pub mod lines;
pub mod plan;
pub mod put;
pub mod sample;
pub mod set;
pub mod spool;
pub mod whole;
pub mod xz_blocks;
