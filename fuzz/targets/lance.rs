//! Any `.lance` file: container, schema, every page decoder; single rows against the scan.
#![no_main]

colkit_fuzz::reader!(colkit_lance::Lance::default(), colkit_fuzz::lance::change);
