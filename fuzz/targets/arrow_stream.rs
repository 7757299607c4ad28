//! Any Arrow IPC stream.
#![no_main]

colkit_fuzz::reader!(colkit_interop::ArrowStream::default(), colkit_fuzz::change::anywhere);
