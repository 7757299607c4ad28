//! The codecs the other way: from text to streams. Everything here is pure but for the spool; whether the streams give the
//! text back is seen by restoring them, not believed.

pub mod binary;
pub mod bundle;
pub mod columnar;
pub mod columns;
pub mod compress;
pub mod groups;
pub mod json;
pub mod json_text;
pub mod lines;
pub mod log;
pub mod osm;
pub mod put;
pub mod qcolumnar;
pub mod qjson;
pub mod set;
pub mod sniff;
pub mod spool;
pub mod ssh;
pub mod vcf;
pub mod whole;
pub mod xz_blocks;
