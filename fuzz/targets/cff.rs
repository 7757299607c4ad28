//! Any `.cff` file.
#![no_main]

colkit_fuzz::reader!(colkit_plain::Cff, colkit_fuzz::plain::change);
