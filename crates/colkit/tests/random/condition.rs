//! Random conditions, for which rows they hold, and how they are written.

use super::literal::{Literal, order};
use super::{Random, Raw, Table};
use colkit::arrow::datatypes::DataType;
use std::cmp::Ordering;

#[derive(Debug)]
pub enum Condition {
    Compare(usize, &'static str, Literal),
    In(usize, bool, Vec<Literal>),
    Between(usize, bool, Literal, Literal),
    IsNull(usize, bool),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

const OPS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];

fn holds(op: &str, order: Ordering) -> bool {
    match op {
        "=" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}

fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

#[allow(dead_code, reason = "each test asks in one of the two ways")]
impl Condition {
    /// A condition on some of these columns.
    pub fn new(random: &mut Random, table: &Table, columns: &[usize], depth: usize) -> Condition {
        let some = |random: &mut Random| {
            let count = 2 + random.below(2);
            (0..count).map(|_| Condition::new(random, table, columns, depth + 1)).collect()
        };
        if depth < 2 && random.one_in(3) {
            return match random.below(3) {
                0 => Condition::And(some(random)),
                1 => Condition::Or(some(random)),
                _ => Condition::Not(Box::new(Condition::new(random, table, columns, depth + 1))),
            };
        }
        let c = random.pick(columns);
        let column = &table.columns[c];
        let literal = |random: &mut Random| column.literal(random);
        match random.below(10) {
            0 => Condition::IsNull(c, random.one_in(2)),
            1 | 2 => {
                let count = random.pick(&[1, 2, 4, 5]);
                let negated = random.one_in(3);
                Condition::In(c, negated, (0..count).map(|_| literal(random)).collect())
            }
            3 if column.data_type != DataType::Boolean => {
                Condition::Between(c, random.one_in(3), literal(random), literal(random))
            }
            _ => Condition::Compare(c, random.pick(&OPS), literal(random)),
        }
    }

    /// Whether it holds for a row.
    #[allow(clippy::manual_try_fold, reason = "unknown does not end it: what follows may still be false")]
    pub fn truth(&self, table: &Table, row: usize) -> Option<bool> {
        let test = |c: usize, op: &str, literal: &Literal| {
            order(&table.columns[c].meaning(row), &literal.meaning).map(|o| holds(op, o))
        };
        let not = |truth: Option<bool>| truth.map(|t| !t);
        let all = |of: &[Condition]| of.iter().fold(Some(true), |sum, c| both(sum, c.truth(table, row)));
        match self {
            Condition::Compare(c, op, literal) => test(*c, op, literal),
            Condition::In(c, negated, list) => {
                let absent = list.iter().fold(Some(true), |sum, l| both(sum, test(*c, "!=", l)));
                if *negated { absent } else { not(absent) }
            }
            Condition::Between(c, negated, low, high) => {
                let inside = both(test(*c, ">=", low), test(*c, "<=", high));
                if *negated { not(inside) } else { inside }
            }
            Condition::IsNull(c, negated) => Some((table.columns[*c].rows[row] == Raw::Null) != *negated),
            Condition::And(of) => all(of),
            Condition::Or(of) => not(of.iter().fold(Some(true), |sum, c| both(sum, not(c.truth(table, row))))),
            Condition::Not(of) => not(of.truth(table, row)),
        }
    }

    /// The rows for which it is true.
    pub fn rows(&self, table: &Table) -> Vec<usize> {
        (0..table.rows).filter(|row| self.truth(table, *row) == Some(true)).collect()
    }

    /// As `--where` takes it.
    pub fn condition(&self, table: &Table) -> String {
        self.text(table, &|l| &l.condition)
    }

    /// As SQL has it.
    pub fn sql(&self, table: &Table) -> String {
        self.text(table, &|l| &l.sql)
    }

    fn text(&self, table: &Table, literal: &dyn Fn(&Literal) -> &String) -> String {
        let name = |c: &usize| &table.columns[*c].name;
        let not = |negated: &bool| if *negated { "not " } else { "" };
        let join = |of: &[Condition], with: &str| {
            let parts: Vec<String> = of.iter().map(|c| format!("({})", c.text(table, literal))).collect();
            parts.join(with)
        };
        match self {
            Condition::Compare(c, op, l) => format!("{} {op} {}", name(c), literal(l)),
            Condition::In(c, negated, list) => {
                let list: Vec<&str> = list.iter().map(|l| literal(l).as_str()).collect();
                format!("{} {}in ({})", name(c), not(negated), list.join(", "))
            }
            Condition::Between(c, negated, low, high) => {
                format!("{} {}between {} and {}", name(c), not(negated), literal(low), literal(high))
            }
            Condition::IsNull(c, negated) => format!("{} is {}null", name(c), not(negated)),
            Condition::And(of) => join(of, " and "),
            Condition::Or(of) => join(of, " or "),
            Condition::Not(of) => format!("not ({})", of.text(table, literal)),
        }
    }
}
