//! Which rows of a table, or items of a page.

pub use colkit_core::Selection as Rows;
