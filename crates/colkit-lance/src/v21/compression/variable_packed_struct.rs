//! Structs of any members: the members of a row lie together, those without a width after their length.

use super::{BuiltIn, bad, flat, per_value, unsupported, variable};
use crate::bytes_at::{size, slice_at, uint_at};
use crate::encoding::{Compression, CompressiveEncoding, Encodings, Form, Output, PerValue, mismatch};
use crate::values::{bad_values, byte_width, wrong_type};
use arrow::array::{ArrayRef, StructArray};
use arrow::buffer::{Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::DataType;
use colkit_core::{Error, Limits, Result};
use prost::{Message, Oneof};
use std::fmt;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 13,
    name: "lance.encodings21.VariablePackedStruct",
    parse: |message, encodings| {
        let packed: PackedMessage = ENCODING.message(message)?;
        let fields = packed.fields.iter().map(|f| PackedField::parse(f, encodings)).collect::<Result<_>>()?;
        Ok(Arc::new(VariablePackedStruct { fields }))
    },
};

#[derive(Clone, PartialEq, Message)]
struct PackedMessage {
    #[prost(message, repeated, tag = "1")]
    fields: Vec<FieldEncoding>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldEncoding {
    #[prost(message, optional, tag = "1")]
    value: Option<CompressiveEncoding>,
    #[prost(oneof = "FieldLayout", tags = "2, 3")]
    layout: Option<FieldLayout>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
enum FieldLayout {
    #[prost(uint64, tag = "2")]
    BitsPerValue(u64),
    #[prost(uint64, tag = "3")]
    BitsPerLength(u64),
}

/// A member of a packed struct: so many bits, or of any length (counted by 64 bits, or 32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    Fixed(u64),
    Variable(bool),
}

/// What describes records of these members.
pub(crate) fn describe(members: &[Member]) -> CompressiveEncoding {
    let field = |member: &Member| match member {
        Member::Fixed(bits) => {
            FieldEncoding { value: Some(flat::describe(*bits)), layout: Some(FieldLayout::BitsPerValue(*bits)) }
        }
        Member::Variable(large) => FieldEncoding {
            value: Some(variable::describe(*large)),
            layout: Some(FieldLayout::BitsPerLength(if *large { 64 } else { 32 })),
        },
    };
    ENCODING.describe(&PackedMessage { fields: members.iter().map(field).collect() })
}

struct VariablePackedStruct {
    fields: Vec<PackedField>,
}

struct PackedField {
    value: Arc<dyn Compression>,
    form: PackedForm,
}

/// How a member's bytes are delimited.
#[derive(Clone, Copy, Debug)]
enum PackedForm {
    /// So many bytes.
    Fixed(usize),
    /// A length of so many bytes in front.
    Length(usize),
}

impl PackedField {
    fn parse(message: &FieldEncoding, encodings: &Encodings<'_>) -> Result<Self> {
        let value = encodings.child(message.value.as_ref(), "a member of a packed struct")?;
        let form = match message.layout {
            Some(FieldLayout::BitsPerValue(bits)) => PackedForm::Fixed(byte_width(bits)?),
            Some(FieldLayout::BitsPerLength(32)) => PackedForm::Length(4),
            Some(FieldLayout::BitsPerLength(64)) => PackedForm::Length(8),
            _ => return Err(bad("a member of a packed struct lacks its width")),
        };
        Ok(PackedField { value, form })
    }
}

impl fmt::Display for VariablePackedStruct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<String> = self.fields.iter().map(|m| m.value.to_string()).collect();
        write!(f, "packed_struct({})", members.join(", "))
    }
}

impl Compression for VariablePackedStruct {
    fn form(&self) -> Form {
        Form::Nothing
    }

    fn per_value(&self) -> Option<&dyn PerValue> {
        Some(self)
    }
}

impl PerValue for VariablePackedStruct {
    fn append(&self, _: &[u8], _: &Limits, _: Output<'_>) -> Result<()> {
        Err(mismatch())
    }

    fn fixed(&self, _: Buffer, _: usize, _: &DataType, _: Option<NullBuffer>, _: &Limits) -> Result<ArrayRef> {
        Err(unsupported(format!("{self} in a full-zip page of fixed width")))
    }

    /// A null record has no bytes; its members get stand-ins.
    fn variable(
        &self,
        raw: &[&[u8]],
        data_type: &DataType,
        nulls: Option<NullBuffer>,
        limits: &Limits,
    ) -> Result<ArrayRef> {
        let DataType::Struct(types) = data_type else { return Err(wrong_type("packed structs", data_type)) };
        if types.len() != self.fields.len() {
            return Err(wrong_type(&format!("packed structs of {} members", self.fields.len()), data_type));
        }
        let mut rest: Vec<&[u8]> = raw.to_vec();
        let mut members = Vec::with_capacity(self.fields.len());
        for (field, member) in self.fields.iter().zip(types) {
            members.push(match field.form {
                PackedForm::Fixed(width) => {
                    let mut data = MutableBuffer::new(0);
                    for (record, whole) in rest.iter_mut().zip(raw) {
                        if whole.is_empty() {
                            data.extend_zeros(width);
                            continue;
                        }
                        data.extend_from_slice(slice_at(record, 0, width)?);
                        *record = record.get(width..).unwrap_or_default();
                    }
                    per_value(field.value.as_ref())?.fixed(data.into(), width, member.data_type(), None, limits)?
                }
                PackedForm::Length(width) => {
                    let mut values: Vec<&[u8]> = Vec::with_capacity(raw.len());
                    for (record, whole) in rest.iter_mut().zip(raw) {
                        if whole.is_empty() {
                            values.push(&[]);
                            continue;
                        }
                        let length = size(uint_at(record, 0, width)?)?;
                        values.push(slice_at(record, width, length)?);
                        *record = record.get(width + length..).unwrap_or_default();
                    }
                    per_value(field.value.as_ref())?.variable(&values, member.data_type(), None, limits)?
                }
            });
        }
        if rest.iter().any(|r| !r.is_empty()) {
            return Err(Error::corrupt("bad_values", "a packed struct with bytes left over"));
        }
        if types.is_empty() {
            return Ok(Arc::new(StructArray::new_empty_fields(raw.len(), nulls)));
        }
        let nulls = nulls.filter(|n| n.null_count() > 0);
        Ok(Arc::new(StructArray::try_new(types.clone(), members, nulls).map_err(bad_values)?))
    }
}
