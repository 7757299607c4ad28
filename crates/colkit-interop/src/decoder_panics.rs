//! The border to decoders that are not ours.
//!
//! They are given ranges that were checked against the file, but what is inside a page or a message they check
//! themselves, and some of their checks are assertions. A panic there says that the file is broken, not the program.

use colkit_core::{Error, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside of a decoder whose panics become errors. A program's panic hook may then stay silent.
pub fn inside_decoder() -> bool {
    INSIDE.get()
}

/// Runs a decoder. What it refuses, by an error or by a panic, is a corrupt file.
pub(crate) fn guarded<T, E: Into<Refusal>>(
    what: &str,
    decode: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    let outer = INSIDE.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    INSIDE.set(outer);
    match decoded {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(refusal)) => Err(refusal.into().0.part(what)),
        Err(panic) => {
            // What a programmer wrote for programmers: kept for whoever debugs, not told to whoever has a broken file.
            let reason = panic.downcast::<String>().map(|text| *text);
            let reason = reason.or_else(|panic| panic.downcast::<&str>().map(|text| text.to_string()));
            let error = Error::corrupt("decoder_failed", "its bytes do not make sense: the decoder could not go on");
            Err(match reason {
                Ok(reason) => error.caused_by(reason),
                Err(_) => error,
            }
            .part(what))
        }
    }
}

/// What a decoder says when it cannot go on.
pub(crate) struct Refusal(Error);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal(error)
    }
}

impl From<arrow::error::ArrowError> for Refusal {
    fn from(e: arrow::error::ArrowError) -> Self {
        Refusal(Error::corrupt("decoder_failed", e.to_string()).caused_by(e))
    }
}

#[cfg(feature = "parquet")]
impl From<::parquet::errors::ParquetError> for Refusal {
    fn from(e: ::parquet::errors::ParquetError) -> Self {
        use ::parquet::errors::ParquetError as P;
        Refusal(match &e {
            P::NYI(what) => Error::unsupported("not_implemented", format!("not supported yet: {what}")).caused_by(e),
            _ => Error::corrupt("decoder_failed", e.to_string()).caused_by(e),
        })
    }
}
