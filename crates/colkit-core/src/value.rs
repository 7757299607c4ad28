//! A single value outside of an array: a literal in a predicate, a bound in a zone map.

use std::cmp::Ordering;
use std::fmt;

/// One value. Integers and floats compare with each other exactly, other kinds only with their own.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// Any integer, also dates and times in their own unit.
    Int(i128),
    /// A floating point number.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// How two values compare; `None` for null, NaN and values of different kinds.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Value::Int(a), Value::Float(b)) => compare_int_float(*a, *b),
            (Value::Float(a), Value::Int(b)) => compare_int_float(*b, *a).map(Ordering::reverse),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// Compares without rounding the integer: 2^53 + 1 is larger than the float 2^53.
fn compare_int_float(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // Every i128 lies strictly inside +-2^127; beyond that the float decides.
    const BOUND: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float >= BOUND {
        return Some(Ordering::Less);
    }
    if float < -BOUND {
        return Some(Ordering::Greater);
    }
    let floor = float.floor();
    #[expect(clippy::cast_possible_truncation, reason = "the bounds were just checked")]
    let whole = floor as i128;
    Some(int.cmp(&whole).then(if float > floor { Ordering::Less } else { Ordering::Equal }))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Text(s) => write!(f, "{s:?}"),
            Value::Bytes(b) => write!(f, "{} bytes", b.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        let big = (1i128 << 53) + 1;
        assert_eq!(Value::Int(big).compare(&Value::Float(9_007_199_254_740_992.0)), Some(Ordering::Greater));
        assert_eq!(Value::Int(-3).compare(&Value::Float(-2.5)), Some(Ordering::Less));
        assert_eq!(Value::Float(2.5).compare(&Value::Int(2)), Some(Ordering::Greater));
        assert_eq!(Value::Int(2).compare(&Value::Float(2.0)), Some(Ordering::Equal));
        assert_eq!(Value::Int(2).compare(&Value::Float(f64::NAN)), None);
        assert_eq!(Value::Int(2).compare(&Value::Float(f64::NEG_INFINITY)), Some(Ordering::Greater));
        assert_eq!(Value::Int(2).compare(&Value::Text("2".into())), None);
    }
}
