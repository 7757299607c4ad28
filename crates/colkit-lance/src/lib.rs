//! The Lance file format, version 2.
