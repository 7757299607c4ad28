//! Any Arrow IPC file.
#![no_main]

colkit_fuzz::reader!(colkit_interop::ArrowFile::default(), colkit_fuzz::change::anywhere);
