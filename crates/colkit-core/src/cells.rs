//! Cells of text: what each could be, the type of a column of them, and the column.
//!
//! CSV and packed tables share this, so that a table reads the same however it is kept. Each cell is of some kinds
//! ([`Kinds`]); a column collects the kinds of its cells; its type is a function of that set and of what the target has
//! ([`Inference`]); a [`CellColumn`] makes the array. The rules are in `docs/formats/csv.md`.

mod column;
mod inference;
mod kinds;
mod number;
mod time;

pub use column::{CellColumn, CellText, is_cell_type};
pub use inference::Inference;
pub use kinds::Kinds;
pub use number::{parse_float, parse_int};
