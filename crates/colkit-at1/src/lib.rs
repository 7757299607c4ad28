//! The AT-1 format.
