//! Which columns of two tables belong together.

use super::Comparand;
use super::comparable::{Comparable, comparable};
use crate::{ColumnName, type_name};
use arrow::datatypes::Schema;
use colkit_core::Result;
use std::collections::HashSet;

/// Two columns that are compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub name: String,
    pub left: usize,
    pub right: usize,
    /// What each side is made into, so that they are of the same type.
    pub comparable: (Comparable, Comparable),
}

/// What the schemas do not agree on, and the columns that can be compared.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Matched {
    pub differences: Vec<String>,
    /// Types that differ although the values can be compared.
    pub types: Vec<String>,
    pub pairs: Vec<Pair>,
}

impl Matched {
    /// Adds two columns that belong together.
    fn add(&mut self, a: &Side<'_>, left: usize, b: &Side<'_>, right: usize) {
        let (Some(l), Some(r)) = (a.schema.fields().get(left), b.schema.fields().get(right)) else { return };
        let types = || {
            let (lt, rt) = (type_name(l.data_type()), type_name(r.data_type()));
            format!("column {:?} has type {lt} on the left and {rt} on the right", l.name())
        };
        let Some(comparable) = comparable((l.data_type(), a.text), (r.data_type(), b.text)) else {
            self.differences.push(types());
            return;
        };
        // The types of a text file are those that were inferred or asked for, not its own.
        if l.data_type() != r.data_type() && !a.text && !b.text {
            self.types.push(types());
        }
        self.pairs.push(Pair { name: l.name().clone(), left, right, comparable });
    }
}

/// The columns of one side, and whether they are those of a text.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub schema: &'a Schema,
    pub text: bool,
}

pub(super) fn match_columns(a: Side<'_>, b: Side<'_>) -> Matched {
    if unique_names(a.schema) && unique_names(b.schema) { match_by_name(a, b) } else { match_by_position(a, b) }
}

fn match_by_name(a: Side<'_>, b: Side<'_>) -> Matched {
    let mut matched = Matched::default();
    let mut order = Vec::new();
    for (i, field) in a.schema.fields().iter().enumerate() {
        match b.schema.fields().find(field.name()) {
            None => matched.differences.push(format!("column {:?} is only on the left", field.name())),
            Some((j, _)) => {
                order.push(j);
                matched.add(&a, i, &b, j);
            }
        }
    }
    for field in b.schema.fields().iter().filter(|f| a.schema.fields().find(f.name()).is_none()) {
        matched.differences.push(format!("column {:?} is only on the right", field.name()));
    }
    if !order.is_sorted() {
        matched.differences.push("the columns are in another order".into());
    }
    matched
}

/// Names that repeat identify nothing: position does.
fn match_by_position(a: Side<'_>, b: Side<'_>) -> Matched {
    let mut matched = Matched::default();
    let (left, right) = (a.schema.fields().len(), b.schema.fields().len());
    if left != right {
        matched.differences.push(format!("{left} columns on the left and {right} on the right"));
    }
    for (i, (l, r)) in a.schema.fields().iter().zip(b.schema.fields()).enumerate() {
        if l.name() != r.name() {
            let names = format!("{:?} on the left and {:?} on the right", l.name(), r.name());
            matched.differences.push(format!("column {i} is called {names}"));
        }
        matched.add(&a, i, &b, i);
    }
    matched
}

/// The columns of these names on both sides. One that is missing is a wrong request.
pub(super) fn chosen_columns<T: Comparand>(names: &[ColumnName], a: (&T, bool), b: (&T, bool)) -> Result<Matched> {
    let indices = |file: &T| {
        let schema = file.schema();
        ColumnName::projection(names, &schema).and_then(|p| p.indices(&schema)).map_err(|e| e.file(file.name()))
    };
    let (left, right) = (indices(a.0)?, indices(b.0)?);
    let schemas = (a.0.schema(), b.0.schema());
    let (a, b) = (Side { schema: &schemas.0, text: a.1 }, Side { schema: &schemas.1, text: b.1 });
    let mut matched = Matched::default();
    for (i, j) in left.into_iter().zip(right) {
        matched.add(&a, i, &b, j);
    }
    Ok(matched)
}

fn unique_names(schema: &Schema) -> bool {
    let mut seen = HashSet::new();
    schema.fields().iter().all(|f| seen.insert(f.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field};

    #[test]
    fn columns_are_matched_by_name_where_names_say_something() {
        let schema = |names: &[(&str, DataType)]| {
            Schema::new(names.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect::<Vec<_>>())
        };
        let matched = |a: &Schema, b: &Schema| {
            let matched = match_columns(Side { schema: a, text: false }, Side { schema: b, text: false });
            (matched.pairs.iter().map(|p| (p.left, p.right)).collect::<Vec<_>>(), matched.differences)
        };
        let int = DataType::Int32;
        let a = schema(&[("x", int.clone()), ("y", int.clone()), ("z", int.clone())]);
        let b = schema(&[("y", int.clone()), ("x", int.clone()), ("z", DataType::Int64)]);
        let (pairs, differences) = matched(&a, &b);
        assert_eq!(pairs, [(0, 1), (1, 0), (2, 2)]);
        assert_eq!(differences.len(), 1, "{differences:?}");
        let twins = schema(&[("x", int.clone()), ("x", int.clone())]);
        assert_eq!(matched(&twins, &twins), (vec![(0, 0), (1, 1)], vec![]));
    }
}
