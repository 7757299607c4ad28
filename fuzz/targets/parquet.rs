//! Any Parquet file.
#![no_main]

colkit_fuzz::reader!(colkit_interop::Parquet::default(), colkit_fuzz::change::anywhere);
