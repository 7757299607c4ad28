//! Text cells: inferring the type of a column from its cells, and parsing them.
//!
//! Shared by CSV and packed tables, so that a table reads the same in both. Each cell has some [`Kinds`]; a column
//! collects the kinds of its cells; its type is a function of that set and of what the destination supports
//! ([`Inference`]); a [`CellColumn`] builds the array. The rules are in `docs/formats/csv.md`.

mod column;
mod date_format;
mod found;
mod inference;
mod kinds;
mod number;
mod spelling;
mod time;

pub use column::{CellColumn, CellText, is_cell_type};
pub use date_format::DateFormat;
pub use found::FittingSpellings;
pub use inference::Inference;
pub use kinds::Kinds;
pub use number::{parse_float, parse_int};
pub use spelling::{NumberSpelling, Spelling};
