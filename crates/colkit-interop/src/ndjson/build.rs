//! From values in the text to arrays of their type.

use super::cursor::{Cursor, Kind};
use crate::text::{Fault, Parsed};
use arrow::array::{
    ArrayRef, BooleanBuilder, Decimal128Builder, Float64Builder, Int32Builder, Int64Builder, ListArray, NullArray,
    NullBufferBuilder, StringBuilder, StructArray, UInt64Builder,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, FieldRef, Fields};
use colkit_core::cells::{parse_float, parse_int};
use colkit_core::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// An error unless values can be read as this type.
pub(super) fn check_type(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Null | DataType::Boolean | DataType::Int32 | DataType::Int64 | DataType::UInt64 => Ok(()),
        DataType::Float64 | DataType::Utf8 | DataType::Decimal128(38, 0) => Ok(()),
        DataType::List(item) => check_type(item.data_type()),
        DataType::Struct(fields) => fields.iter().try_for_each(|f| check_type(f.data_type())),
        other => Err(Error::request("no_such_type", format!("JSON values cannot be read as {other}"))
            .hint("types are int32, int64, float64, string, bool")),
    }
}

/// The values of one column, or of one place inside it.
pub(super) struct ValueBuilder {
    values: TypedBuilder,
    length: usize,
}

enum TypedBuilder {
    Null,
    Bool(BooleanBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Float64(Float64Builder),
    Decimal(Decimal128Builder),
    Text(StringBuilder),
    List { item: FieldRef, offsets: Vec<i32>, nulls: NullBufferBuilder, items: Box<ValueBuilder> },
    Struct { fields: Fields, by_name: HashMap<Vec<u8>, usize>, nulls: NullBufferBuilder, children: Vec<ValueBuilder> },
}

impl ValueBuilder {
    /// A column of a type that [`check_type`] lets pass, for about so many rows.
    pub fn new(data_type: &DataType, rows: usize) -> Self {
        let values = match data_type {
            DataType::Boolean => TypedBuilder::Bool(BooleanBuilder::with_capacity(rows)),
            DataType::Int32 => TypedBuilder::Int32(Int32Builder::with_capacity(rows)),
            DataType::Int64 => TypedBuilder::Int64(Int64Builder::with_capacity(rows)),
            DataType::UInt64 => TypedBuilder::UInt64(UInt64Builder::with_capacity(rows)),
            DataType::Float64 => TypedBuilder::Float64(Float64Builder::with_capacity(rows)),
            DataType::Decimal128(..) => TypedBuilder::Decimal(
                Decimal128Builder::with_capacity(rows).with_data_type(DataType::Decimal128(38, 0)),
            ),
            DataType::Utf8 => TypedBuilder::Text(StringBuilder::with_capacity(rows, rows)),
            DataType::List(item) => TypedBuilder::List {
                item: item.clone(),
                offsets: vec![0],
                nulls: NullBufferBuilder::new(0),
                items: Box::new(ValueBuilder::new(item.data_type(), rows)),
            },
            DataType::Struct(fields) => TypedBuilder::Struct {
                by_name: fields.iter().enumerate().map(|(i, f)| (f.name().as_bytes().to_vec(), i)).collect(),
                fields: fields.clone(),
                nulls: NullBufferBuilder::new(0),
                children: fields.iter().map(|f| ValueBuilder::new(f.data_type(), rows)).collect(),
            },
            _ => TypedBuilder::Null,
        };
        ValueBuilder { values, length: 0 }
    }

    /// How many values there are since the last array.
    pub fn len(&self) -> usize {
        self.length
    }

    pub fn append_null(&mut self) {
        self.length += 1;
        match &mut self.values {
            TypedBuilder::Null => {}
            TypedBuilder::Bool(b) => b.append_null(),
            TypedBuilder::Int32(b) => b.append_null(),
            TypedBuilder::Int64(b) => b.append_null(),
            TypedBuilder::UInt64(b) => b.append_null(),
            TypedBuilder::Float64(b) => b.append_null(),
            TypedBuilder::Decimal(b) => b.append_null(),
            TypedBuilder::Text(b) => b.append_null(),
            TypedBuilder::List { offsets, nulls, .. } => {
                offsets.extend(offsets.last().copied());
                nulls.append_null();
            }
            TypedBuilder::Struct { nulls, children, .. } => {
                nulls.append_null();
                children.iter_mut().for_each(ValueBuilder::append_null);
            }
        }
    }

    /// Appends the value at the cursor.
    pub fn append(&mut self, cursor: &mut Cursor<'_>, scratch: &mut Vec<u8>) -> Parsed<()> {
        let kind = cursor.kind()?;
        if kind == Kind::Null {
            self.append_null();
            return Ok(());
        }
        self.length += 1;
        match (&mut self.values, kind) {
            (TypedBuilder::Text(b), Kind::String) => {
                let at = cursor.at();
                b.append_value(utf8(cursor.string(scratch)?, at)?);
            }
            (TypedBuilder::Text(b), kind) => {
                let start = cursor.at();
                let text = match kind {
                    Kind::Bool(true) => &b"true"[..],
                    Kind::Bool(false) => &b"false"[..],
                    _ => {
                        cursor.skip(scratch)?;
                        cursor.raw(start, cursor.at())
                    }
                };
                b.append_value(utf8(text, start)?);
            }
            (TypedBuilder::Bool(b), Kind::Bool(value)) => b.append_value(value),
            (TypedBuilder::Int32(b), Kind::Number) => {
                b.append_value(number(cursor, "int32", |t| i32::try_from(parse_int(t)?).ok())?)
            }
            (TypedBuilder::Int64(b), Kind::Number) => b.append_value(number(cursor, "int64", parse_int)?),
            (TypedBuilder::UInt64(b), Kind::Number) => b.append_value(number(cursor, "uint64", whole)?),
            (TypedBuilder::Decimal(b), Kind::Number) => {
                let fits = |v: &i128| v.unsigned_abs() < 10u128.pow(38);
                b.append_value(number(cursor, "decimal(38, 0)", |t| whole(t).filter(fits))?)
            }
            (TypedBuilder::Float64(b), Kind::Number) => b.append_value(number(cursor, "float64", parse_float)?),
            (TypedBuilder::List { offsets, nulls, items, .. }, Kind::List) => {
                let at = cursor.at();
                cursor.list(|cursor| items.append(cursor, scratch))?;
                let end = i32::try_from(items.length);
                offsets.push(end.map_err(|_| Fault::new(at, Error::limit("items of a batch", "2^31", "2^31 - 1")))?);
                nulls.append_non_null();
            }
            (TypedBuilder::Struct { fields, by_name, nulls, children }, Kind::Object) => {
                members(cursor, scratch, (fields, by_name), children, self.length)?;
                nulls.append_non_null();
            }
            (_, kind) => return Err(unexpected(cursor, kind, &self.values)),
        }
        Ok(())
    }

    /// The array of what was appended since the last time.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let length = std::mem::take(&mut self.length);
        Ok(match &mut self.values {
            TypedBuilder::Null => Arc::new(NullArray::new(length)),
            TypedBuilder::Bool(b) => Arc::new(b.finish()),
            TypedBuilder::Int32(b) => Arc::new(b.finish()),
            TypedBuilder::Int64(b) => Arc::new(b.finish()),
            TypedBuilder::UInt64(b) => Arc::new(b.finish()),
            TypedBuilder::Float64(b) => Arc::new(b.finish()),
            TypedBuilder::Decimal(b) => Arc::new(b.finish()),
            TypedBuilder::Text(b) => Arc::new(b.finish()),
            TypedBuilder::List { item, offsets, nulls, items } => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(offsets, vec![0])));
                Arc::new(ListArray::try_new(item.clone(), offsets, items.finish()?, nulls.finish())?)
            }
            TypedBuilder::Struct { fields, nulls, children, .. } => {
                let children = children.iter_mut().map(ValueBuilder::finish).collect::<Result<Vec<_>>>()?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), children, nulls.finish(), length)?)
            }
        })
    }
}

/// The members of the object that is the `length`th of its place.
fn members(
    cursor: &mut Cursor<'_>,
    scratch: &mut Vec<u8>,
    (fields, by_name): (&Fields, &HashMap<Vec<u8>, usize>),
    children: &mut [ValueBuilder],
    length: usize,
) -> Parsed<()> {
    let mut expected = 0;
    cursor.object(|cursor, name| {
        let at_hand = fields.get(expected).filter(|f| f.name().as_bytes() == name).map(|_| expected);
        let index = at_hand.or_else(|| by_name.get(name).copied());
        // Members that a given type leaves out.
        let Some((index, child)) = index.and_then(|i| Some((i, children.get_mut(i)?))) else {
            return cursor.skip(scratch);
        };
        expected = index + 1;
        if child.length >= length {
            let message = format!("a second member called {:?} in one object", String::from_utf8_lossy(name));
            return Err(Fault::new(cursor.at(), Error::corrupt("duplicate_name", message)));
        }
        child.append(cursor, scratch)
    })?;
    for child in children.iter_mut().filter(|c| c.length < length) {
        child.append_null();
    }
    Ok(())
}

fn utf8(bytes: &[u8], at: usize) -> Parsed<&str> {
    std::str::from_utf8(bytes).map_err(|e| Fault::new(at, Error::corrupt("bad_utf8", "text is not UTF-8").caused_by(e)))
}

fn whole<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn number<T>(cursor: &mut Cursor<'_>, type_name: &str, parse: impl FnOnce(&[u8]) -> Option<T>) -> Parsed<T> {
    let at = cursor.at();
    let (text, _) = cursor.number()?;
    parse(text).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(text).chars().take(60).collect();
        let error = Error::data("bad_cell", format!("expected {type_name}, found {shown}"));
        Fault::new(at, error)
    })
}

#[cold]
fn unexpected(cursor: &Cursor<'_>, kind: Kind, values: &TypedBuilder) -> Fault {
    let expected = match values {
        TypedBuilder::Null => "null",
        TypedBuilder::Bool(_) => "bool",
        TypedBuilder::Int32(_) => "int32",
        TypedBuilder::Int64(_) => "int64",
        TypedBuilder::UInt64(_) => "uint64",
        TypedBuilder::Float64(_) => "float64",
        TypedBuilder::Decimal(_) => "decimal(38, 0)",
        TypedBuilder::Text(_) => "string",
        TypedBuilder::List { .. } => "a list",
        TypedBuilder::Struct { .. } => "an object",
    };
    let found = match kind {
        Kind::Null => "null",
        Kind::Bool(_) => "true or false",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::List => "a list",
        Kind::Object => "an object",
    };
    let error = Error::data("bad_cell", format!("expected {expected}, found {found}"));
    Fault::new(cursor.at(), error)
}
