//! Texts by a table of symbols.

use super::{BuiltIn, known, unsupported, variable};
use crate::codec::fsst::SymbolTable;
use crate::encoding::{Chunk, Compression, CompressiveEncoding, Form, InChunks, Output, PerValue, mismatch};
use crate::values::Values;
use arrow::array::ArrayRef;
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::{Limits, Result};
use prost::Message;
use std::fmt;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 6,
    name: "lance.encodings21.Fsst",
    parse: |message, encodings| {
        let fsst: FsstMessage = ENCODING.message(message)?;
        let inner = encodings.child(fsst.values.as_ref(), "fsst")?;
        let Some(texts) = known::<variable::AnyLength>(inner.as_ref()) else {
            return Err(unsupported(format!("fsst of {inner}")));
        };
        let table = SymbolTable::parse(&fsst.symbol_table)?;
        Ok(Arc::new(Fsst { table, offset_width: texts.offset_width }))
    },
};

#[derive(Clone, PartialEq, Message)]
struct FsstMessage {
    #[prost(bytes = "bytes", tag = "1")]
    symbol_table: Bytes,
    #[prost(message, optional, tag = "2")]
    values: Option<CompressiveEncoding>,
}

/// What describes texts by these symbols, with offsets of 64 bits, or 32.
pub(crate) fn describe(symbol_table: Bytes, large: bool) -> CompressiveEncoding {
    ENCODING.describe(&FsstMessage { symbol_table, values: Some(variable::describe(large)) })
}

struct Fsst {
    table: SymbolTable,
    offset_width: usize,
}

impl fmt::Display for Fsst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fsst(variable({}))", self.offset_width * 8)
    }
}

impl Compression for Fsst {
    fn form(&self) -> Form {
        Form::Variable
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }

    fn per_value(&self) -> Option<&dyn PerValue> {
        Some(self)
    }
}

impl InChunks for Fsst {
    fn append(&self, chunk: Chunk<'_>, out: Output<'_>) -> Result<()> {
        let Values::Variable(out) = out.0 else { return Err(mismatch()) };
        variable::append(chunk.buffer(0)?, self.offset_width, chunk.wanted, Some(&self.table), out)
    }
}

impl PerValue for Fsst {
    fn append(&self, value: &[u8], _: &Limits, out: Output<'_>) -> Result<()> {
        let Values::Variable(out) = out.0 else { return Err(mismatch()) };
        self.table.decode(value, &mut out.data)?;
        out.end_value()
    }

    fn fixed(&self, _: Buffer, _: usize, _: &DataType, _: Option<NullBuffer>, _: &Limits) -> Result<ArrayRef> {
        Err(unsupported(format!("{self} in a full-zip page of fixed width")))
    }
}
