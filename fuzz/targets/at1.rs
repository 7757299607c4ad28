//! Any `.at1` file, as a table.
#![no_main]

colkit_fuzz::reader!(colkit_at1::At1, colkit_fuzz::at1::change);
