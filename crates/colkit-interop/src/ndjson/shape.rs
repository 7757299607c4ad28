//! What the values of a column look like, and the type that keeps all of them.
//!
//! Each kind of value is a bit; a column collects the bits of its values, and the type follows from the set alone.
//!
//! ```text
//! true false           bool                       1 2 -3          int32
//! 3000000000           int64                      2^63 ..         uint64, or with negative ones decimal(38, 0)
//! 1.5, 1 beside 1.5    float64                    "x"             string
//! [..]                 list of what is inside     {..}            struct of what is inside
//! anything else        string: strings as they are, other values as the JSON they are written in
//! ```

use super::NdjsonOptions;
use super::cursor::{Cursor, Kind};
use crate::text::{Fault, Parsed};
use arrow::datatypes::{DataType, Field, Fields};
use colkit_core::cells::parse_float;
use colkit_core::{Error, Limits, Result};

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds(u16);

const NULL: u16 = 1;
const BOOL: u16 = 2;
/// An integer within 32 bits.
const INT32: u16 = 4;
/// Another integer that float64 holds exactly.
const INT53: u16 = 8;
/// Another integer within 64 bits with a sign.
const INT64: u16 = 16;
/// Another integer within 64 bits.
const UINT64: u16 = 32;
/// Another integer of at most 38 digits.
const INT128: u16 = 64;
/// An integer below zero.
const NEGATIVE: u16 = 128;
/// A number with a fraction or an exponent, or `-0`.
const REAL: u16 = 256;
const STRING: u16 = 512;
const LIST: u16 = 1024;
const OBJECT: u16 = 2048;
/// A number that none of the types above holds.
const HUGE: u16 = 4096;

/// What is known of the values at one place: a column, the items of a list, a member of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    kinds: Kinds,
    /// How many values there were, nulls included.
    values: u64,
    /// How many of them were objects.
    objects: u64,
    /// The number of the object, among those at its place, that it was last seen in.
    object: u64,
    items: Option<Box<Shape>>,
    members: Members,
}

/// The members of the objects at one place, in the order they first appeared.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    list: Vec<(String, Shape)>,
    /// Objects seen so far.
    objects: u64,
    by_name: std::collections::HashMap<String, usize>,
}

impl Members {
    pub fn iter(&self) -> impl Iterator<Item = &(String, Shape)> {
        self.list.iter()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The member of this name, expected at a position. A new one is added.
    fn position(&mut self, expected: usize, name: &[u8], count: &mut MemberCount, at: usize) -> Parsed<usize> {
        if self.list.get(expected).is_some_and(|(known, _)| known.as_bytes() == name) {
            return Ok(expected);
        }
        let name = String::from_utf8_lossy(name);
        if let Some(position) = self.by_name.get(name.as_ref()) {
            return Ok(*position);
        }
        count.add(&name).map_err(|error| Fault::new(at, error))?;
        self.by_name.insert(name.clone().into_owned(), self.list.len());
        self.list.push((name.into_owned(), Shape::default()));
        Ok(self.list.len() - 1)
    }
}

/// Reads values and adds them to shapes.
pub(super) struct Shapes {
    count: MemberCount,
    scratch: Vec<u8>,
}

/// How many members are known, at all places together, and how many there may be.
struct MemberCount {
    members: u64,
    limits: Limits,
}

impl MemberCount {
    fn add(&mut self, name: &str) -> Result<()> {
        self.members += 1;
        Limits::check("a column name", name.len() as u64, self.limits.name_bytes)?;
        self.limits.check_columns(self.members)
    }
}

impl Shapes {
    pub fn new(limits: &Limits) -> Self {
        Shapes { count: MemberCount { members: 0, limits: limits.clone() }, scratch: Vec::new() }
    }

    /// Adds the object at the cursor to its members' shapes.
    pub fn object(&mut self, members: &mut Members, cursor: &mut Cursor<'_>) -> Parsed<()> {
        members.objects += 1;
        let mut expected = 0;
        cursor.object(|cursor, name| {
            let at = cursor.at();
            let position = members.position(expected, name, &mut self.count, at)?;
            expected = position + 1;
            let Some((name, shape)) = members.list.get_mut(position) else { return Ok(()) };
            if std::mem::replace(&mut shape.object, members.objects) == members.objects {
                let message = format!("a second member called {name:?} in one object");
                return Err(Fault::new(at, Error::corrupt("duplicate_name", message)));
            }
            self.value(shape, cursor)
        })
    }

    fn value(&mut self, shape: &mut Shape, cursor: &mut Cursor<'_>) -> Parsed<()> {
        shape.values += 1;
        let kind = match cursor.kind()? {
            Kind::Null => NULL,
            Kind::Bool(_) => BOOL,
            Kind::Number => {
                let (text, integer) = cursor.number()?;
                if integer { integer_kind(text) } else { real_kind(text) }
            }
            Kind::String => {
                cursor.string(&mut self.scratch)?;
                STRING
            }
            Kind::List => {
                let mut items = shape.items.take().unwrap_or_default();
                cursor.list(|cursor| self.value(&mut items, cursor))?;
                shape.items = Some(items);
                LIST
            }
            Kind::Object => {
                shape.objects += 1;
                let mut members = std::mem::take(&mut shape.members);
                self.object(&mut members, cursor)?;
                shape.members = members;
                OBJECT
            }
        };
        shape.kinds.0 |= kind;
        Ok(())
    }
}

fn integer_kind(text: &[u8]) -> u16 {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (NEGATIVE, digits),
        digits => (0, digits),
    };
    if digits.len() > 38 {
        return HUGE;
    }
    let magnitude = digits.iter().fold(0u128, |sum, d| sum * 10 + u128::from(d & 15));
    let beyond = u128::from(sign != 0);
    let size = match magnitude {
        // An integer has no negative zero.
        0 if sign != 0 => return REAL,
        m if m <= (1 << 31) - 1 + beyond => INT32,
        m if m <= 1 << 53 => INT53,
        m if m <= (1 << 63) - 1 + beyond => INT64,
        m if m <= u128::from(u64::MAX) && sign == 0 => UINT64,
        _ => INT128,
    };
    size | sign
}

fn real_kind(text: &[u8]) -> u16 {
    // What would become infinite, or zero without being zero, stays as it is written.
    if parse_float(text).is_some() { REAL } else { HUGE }
}

impl Shape {
    /// The type that keeps every value.
    pub fn data_type(&self, options: &NdjsonOptions) -> DataType {
        let filled = self.kinds.0 & !NULL;
        let only = |allowed: u16| filled & !allowed == 0;
        match filled {
            0 => DataType::Null,
            BOOL if options.booleans => DataType::Boolean,
            STRING => DataType::Utf8,
            LIST => {
                let item = self.items.as_deref().cloned().unwrap_or_default();
                DataType::List(Field::new("item", item.data_type(options), item.kinds.0 & NULL != 0).into())
            }
            OBJECT => DataType::Struct(fields(&self.members, self.objects, options)),
            _ if only(INT32 | NEGATIVE) => DataType::Int32,
            _ if options.integers64 && only(INT32 | INT53 | INT64 | NEGATIVE) => DataType::Int64,
            _ if options.integers64 && only(INT32 | INT53 | INT64 | UINT64) => DataType::UInt64,
            _ if options.integers64 && only(INT32 | INT53 | INT64 | UINT64 | INT128 | NEGATIVE) => {
                DataType::Decimal128(38, 0)
            }
            _ if only(INT32 | INT53 | NEGATIVE | REAL) => DataType::Float64,
            _ => DataType::Utf8,
        }
    }

    /// Whether the column is text only because no type holds all its values, whatever the target has.
    pub fn is_mixed(&self) -> bool {
        self.kinds.0 & !NULL != STRING && self.data_type(&NdjsonOptions::default()) == DataType::Utf8
    }
}

/// The members of `objects` objects as fields.
pub(super) fn fields(members: &Members, objects: u64, options: &NdjsonOptions) -> Fields {
    let field = |(name, shape): &(String, Shape)| {
        let nullable = shape.kinds.0 & NULL != 0 || shape.values < objects;
        Field::new(name, shape.data_type(options), nullable)
    };
    members.iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(lines: &[&str]) -> String {
        let mut members = Members::default();
        let mut shapes = Shapes::new(&Limits::default());
        for line in lines {
            let mut cursor = Cursor::new(line.as_bytes(), 0, 20);
            cursor.kind().unwrap();
            shapes.object(&mut members, &mut cursor).unwrap();
        }
        let fields = fields(&members, lines.len() as u64, &NdjsonOptions::default());
        let one = |f: &std::sync::Arc<Field>| {
            format!("{}:{}{}", f.name(), f.data_type(), if f.is_nullable() { "?" } else { "" })
        };
        fields.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_type_keeps_every_value() {
        assert_eq!(schema(&["{\"a\":1,\"b\":true}", "{\"b\":false,\"a\":-2147483648}"]), "a:Int32 b:Boolean");
        assert_eq!(schema(&["{\"a\":1}", "{\"a\":-2147483649}"]), "a:Int64");
        assert_eq!(schema(&["{\"a\":0}", "{\"a\":18446744073709551615}"]), "a:UInt64");
        assert_eq!(schema(&["{\"a\":-1}", "{\"a\":18446744073709551615}"]), "a:Decimal128(38, 0)");
        assert_eq!(schema(&["{\"a\":1}", "{\"a\":1.0}"]), "a:Float64");
        assert_eq!(schema(&["{\"a\":9007199254740993}", "{\"a\":0.5}"]), "a:Utf8", "float64 would change it");
        assert_eq!(schema(&["{\"a\":1e999}"]), "a:Utf8");
        assert_eq!(schema(&["{\"a\":-0}"]), "a:Float64");
        assert_eq!(schema(&["{\"a\":1}", "{\"a\":\"1\"}"]), "a:Utf8");
    }

    #[test]
    fn what_is_missing_or_null_makes_a_column_nullable() {
        assert_eq!(schema(&["{\"a\":1}", "{\"b\":2}"]), "a:Int32? b:Int32?");
        assert_eq!(schema(&["{\"a\":null}"]), "a:Null?");
        assert!(schema(&["{\"a\":[1,null]}"]).contains("List(Int32"));
    }
}
