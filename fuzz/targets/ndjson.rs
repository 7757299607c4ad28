//! Any NDJSON.
#![no_main]

colkit_fuzz::reader!(colkit_interop::NdjsonFormat::default(), colkit_fuzz::change::anywhere);
