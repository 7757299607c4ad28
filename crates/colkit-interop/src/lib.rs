//! Other people's formats behind colkit's traits.

pub mod csv;

pub use csv::{CsvFormat, CsvOptions, parse_schema};
