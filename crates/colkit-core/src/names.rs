//! Column names: looking them up, and making them unique.

use crate::{Error, Result, Setting};
use arrow::datatypes::Schema;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// The columns of a schema by their names, for whoever asks for many of them.
pub struct ColumnNames<'a> {
    schema: &'a Schema,
    /// The first column of each name, and the second where there is one.
    places: HashMap<&'a str, (usize, Option<usize>)>,
}

impl<'a> ColumnNames<'a> {
    /// The names of this schema.
    pub fn new(schema: &'a Schema) -> Self {
        let mut places = HashMap::with_capacity(schema.fields().len());
        for (index, field) in schema.fields().iter().enumerate() {
            match places.entry(field.name().as_str()) {
                Entry::Vacant(free) => {
                    free.insert((index, None));
                }
                Entry::Occupied(mut taken) => {
                    taken.get_mut().1.get_or_insert(index);
                }
            }
        }
        ColumnNames { schema, places }
    }

    /// The first column called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.places.get(name).map(|(first, _)| *first)
    }

    /// The position of the column called `name`. A name that is missing or stands for several columns is an error.
    pub fn index(&self, name: &str) -> Result<usize> {
        match self.places.get(name) {
            Some((index, None)) => Ok(*index),
            Some((first, Some(second))) => Err(ambiguous(name, *first, *second)),
            None => Err(missing(self.schema, name)),
        }
    }
}

/// The position of the column called `name`.
pub fn column_index(schema: &Schema, name: &str) -> Result<usize> {
    let mut matches = schema.fields().iter().enumerate().filter(|(_, f)| f.name() == name).map(|(i, _)| i);
    match (matches.next(), matches.next()) {
        (Some(index), None) => Ok(index),
        (Some(first), Some(second)) => Err(ambiguous(name, first, second)),
        (None, _) => Err(missing(schema, name)),
    }
}

fn ambiguous(name: &str, first: usize, second: usize) -> Error {
    let columns = format!("the name {name:?} stands for several columns (numbers {first}, {second}, ...)");
    Error::request("ambiguous_column", columns)
}

fn missing(schema: &Schema, name: &str) -> Error {
    let mut known: Vec<String> = schema.fields().iter().take(12).map(|f| format!("{:?}", f.name())).collect();
    if schema.fields().len() > known.len() {
        known.push("...".into());
    }
    Error::request("no_such_column", format!("there is no column {name:?}"))
        .hint(format!("columns are {}", known.join(", ")))
}

/// The first name that is there twice, and the position of its second appearance.
pub fn first_repeated(names: &[String]) -> Option<(usize, &str)> {
    let mut seen = HashSet::with_capacity(names.len());
    names.iter().enumerate().find(|(_, name)| !seen.insert(name.as_str())).map(|(i, name)| (i, name.as_str()))
}

/// Renames what repeats: `a`, `a_2`, `a_3`, ... leaving out names that are taken. Returns how many were renamed.
pub fn make_unique(names: &mut [String]) -> usize {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut renamed = 0;
    for name in names {
        let Some(last) = seen.get_mut(name.as_str()) else {
            seen.insert(name.clone(), 1);
            continue;
        };
        *name = loop {
            *last += 1;
            let candidate = format!("{name}_{last}");
            if taken.insert(candidate.clone()) {
                break candidate;
            }
        };
        renamed += 1;
    }
    renamed
}

/// The names under which to write columns, each once. Those that repeat are an error, unless they may be renamed; then the
/// notes say how.
pub fn unique_names(schema: &Schema, rename: bool, notes: &mut Vec<String>) -> Result<Vec<String>> {
    let mut names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    if rename {
        make_unique(&mut names);
    } else if let Some((number, name)) = first_repeated(&names) {
        return Err(Error::data("duplicate_column", format!("two columns are called {name:?}"))
            .part(format!("column {number}"))
            .hint(Setting::RenameDuplicates.does("writes the second as another name")));
    }
    for (number, (field, name)) in schema.fields().iter().zip(&names).enumerate() {
        if field.name() != name {
            notes.push(format!("column {number} {:?} written as {name:?}", field.name()));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field};

    #[test]
    fn many_names_are_found_like_one() {
        let schema = Schema::new(["a", "b", "a", "c", "a"].map(|n| Field::new(n, DataType::Null, true)).to_vec());
        let names = ColumnNames::new(&schema);
        for name in ["a", "b", "c", "d"] {
            let (one, many) = (column_index(&schema, name), names.index(name));
            assert_eq!(many.map_err(|e| e.to_string()), one.map_err(|e| e.to_string()), "{name}");
        }
    }

    #[test]
    fn repeated_names_get_numbers_that_are_free() {
        let mut names: Vec<String> = ["a", "a", "a_2", "b", "a", ""].map(String::from).into();
        assert_eq!(first_repeated(&names), Some((1, "a")));
        assert_eq!(make_unique(&mut names), 2);
        assert_eq!(names, ["a", "a_3", "a_2", "b", "a_4", ""]);
        assert_eq!(first_repeated(&names), None);
    }
}
