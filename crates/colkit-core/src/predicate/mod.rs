//! Predicates: a small comparison language that every format supports.
//!
//! A [`Predicate`] has its literals as written. Bound to a schema, it is a [`BoundPredicate`], whose literals are
//! values of their columns. That is used twice: to prune parts of a file by zone maps ([`BoundPredicate::prune`],
//! conservative), and on decoded rows ([`BoundPredicate::evaluate`], exact).
//!
//! Nulls follow SQL: a comparison with null is unknown, and only rows for which the whole predicate is true are kept.
//! Floats have a total order in which NaN equals NaN and is greater than every number, and -0.0 equals 0.0.

mod bind;
mod bound;
mod mask;
mod parse;
mod prune;

use crate::Value;
use std::cmp::Ordering;

pub use bind::{Comparison, with_seconds};
pub use bound::{BoundPredicate, Literal};
pub use prune::ZoneMap;

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

    /// What holds where this does not.
    pub(crate) fn denied(self) -> Op {
        match self {
            Op::Eq => Op::Ne,
            Op::Ne => Op::Eq,
            Op::Lt => Op::Ge,
            Op::Le => Op::Gt,
            Op::Gt => Op::Le,
            Op::Ge => Op::Lt,
        }
    }
}

/// A condition on a row, as it was asked. Columns are positions in the table's schema.
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
}
