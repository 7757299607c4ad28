//! Which rows: a small language of comparisons that every format understands.
//!
//! A predicate is used twice: against zone maps, to leave out whole parts of a file ([`Predicate::may_match`],
//! conservative), and on decoded rows, exactly ([`Predicate::evaluate`]). Nulls follow SQL: a comparison with null
//! is unknown, and only rows for which the whole predicate is true are kept. Floats follow IEEE 754: NaN equals
//! nothing and -0.0 equals 0.0.

mod evaluate;
mod parse;

use crate::{ColumnStatistics, Value};
use std::cmp::Ordering;

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Op {
    /// Whether `left op right` holds when the two compare like this.
    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            Op::Eq => ordering.is_eq(),
            Op::Ne => ordering.is_ne(),
            Op::Lt => ordering.is_lt(),
            Op::Le => ordering.is_le(),
            Op::Gt => ordering.is_gt(),
            Op::Ge => ordering.is_ge(),
        }
    }
}

/// A condition on a row. Columns are positions in the table's schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// The column compares to the value like this.
    Compare {
        /// Which column.
        column: usize,
        /// How.
        op: Op,
        /// With what.
        value: Value,
    },
    /// The column is one of the values.
    In {
        /// Which column.
        column: usize,
        /// The values.
        values: Vec<Value>,
    },
    /// The column is null.
    IsNull {
        /// Which column.
        column: usize,
    },
    /// All of these. Without any: true.
    And(Vec<Predicate>),
    /// One of these. Without any: false.
    Or(Vec<Predicate>),
    /// Not this.
    Not(Box<Predicate>),
}

impl Predicate {
    /// Column `column` compared with `value`.
    pub fn compare(column: usize, op: Op, value: Value) -> Self {
        Predicate::Compare { column, op, value }
    }

    /// The columns it looks at, sorted, each once.
    pub fn columns(&self) -> Vec<usize> {
        fn collect(p: &Predicate, into: &mut Vec<usize>) {
            match p {
                Predicate::Compare { column, .. } | Predicate::In { column, .. } | Predicate::IsNull { column } => {
                    into.push(*column);
                }
                Predicate::And(all) | Predicate::Or(all) => all.iter().for_each(|p| collect(p, into)),
                Predicate::Not(p) => collect(p, into),
            }
        }
        let mut columns = Vec::new();
        collect(self, &mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Whether some row of a part of a file may match, going by what `statistics` says about the part's columns.
    /// `false` is a promise that none does; `true` promises nothing.
    pub fn may_match(&self, statistics: &dyn Fn(usize) -> Option<ColumnStatistics>) -> bool {
        match self {
            Predicate::Compare { column, op, value } => {
                statistics(*column).is_none_or(|s| compare_may_match(&s, *op, value))
            }
            Predicate::In { column, values } => {
                statistics(*column).is_none_or(|s| values.iter().any(|value| compare_may_match(&s, Op::Eq, value)))
            }
            Predicate::IsNull { column } => statistics(*column).is_none_or(|s| s.null_count != Some(0)),
            Predicate::And(all) => all.iter().all(|p| p.may_match(statistics)),
            Predicate::Or(all) => all.iter().any(|p| p.may_match(statistics)),
            // A zone map says what the values are, not what they are not: NaN and null make it unsafe to turn the
            // comparison around.
            Predicate::Not(_) => true,
        }
    }
}

fn compare_may_match(s: &ColumnStatistics, op: Op, value: &Value) -> bool {
    let min = s.min.as_ref().and_then(|min| min.compare(value));
    let max = s.max.as_ref().and_then(|max| max.compare(value));
    match op {
        Op::Eq => min.is_none_or(Ordering::is_le) && max.is_none_or(Ordering::is_ge),
        Op::Lt => min.is_none_or(Ordering::is_lt),
        Op::Le => min.is_none_or(Ordering::is_le),
        Op::Gt => max.is_none_or(Ordering::is_gt),
        Op::Ge => max.is_none_or(Ordering::is_ge),
        // Values outside the map (NaN) differ from everything.
        Op::Ne => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zone_maps_rule_out_only_what_they_can() {
        let zone = |column: usize| {
            (column == 0).then_some(ColumnStatistics {
                min: Some(Value::Int(10)),
                max: Some(Value::Int(20)),
                null_count: Some(0),
                exact: true,
            })
        };
        let may = |op, v| Predicate::compare(0, op, v).may_match(&zone);
        assert!(may(Op::Eq, Value::Int(10)) && may(Op::Eq, Value::Float(19.5)));
        assert!(!may(Op::Eq, Value::Int(21)) && !may(Op::Lt, Value::Int(10)) && !may(Op::Gt, Value::Float(20.0)));
        assert!(may(Op::Le, Value::Int(10)) && may(Op::Ge, Value::Int(20)) && may(Op::Ne, Value::Int(10)));
        assert!(may(Op::Gt, Value::Text("x".into())), "what cannot be compared is kept");
        assert!(!Predicate::IsNull { column: 0 }.may_match(&zone));
        assert!(Predicate::IsNull { column: 1 }.may_match(&zone));
        let out = Predicate::compare(0, Op::Eq, Value::Int(99));
        let unknown = Predicate::compare(1, Op::Eq, Value::Int(99));
        assert!(!Predicate::And(vec![out.clone(), unknown.clone()]).may_match(&zone));
        assert!(Predicate::Or(vec![out.clone(), unknown]).may_match(&zone));
        assert!(Predicate::Not(Box::new(out)).may_match(&zone));
    }
}
