//! One value, or none at all. Pages of one value have a layout of their own; nothing else uses this.

use super::BuiltIn;
use crate::encoding::{Compression, Form};
use std::fmt;
use std::sync::Arc;

pub(super) static ENCODING: BuiltIn =
    BuiltIn { number: 3, name: "lance.encodings21.Constant", parse: |_, _| Ok(Arc::new(Constant)) };

struct Constant;

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "constant")
    }
}

impl Compression for Constant {
    fn form(&self) -> Form {
        Form::Nothing
    }
}
