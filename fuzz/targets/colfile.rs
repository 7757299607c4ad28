//! Any `.colfile` file.
#![no_main]

colkit_fuzz::reader!(colkit_plain::Colm, colkit_fuzz::plain::change);
