//! Any `.gppcol` file.
#![no_main]

colkit_fuzz::reader!(colkit_plain::Gpp, colkit_fuzz::plain::change);
