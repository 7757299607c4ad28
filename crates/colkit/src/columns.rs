//! Naming columns the way people do: by name, by position (`#3`), or a part of a nested column by its path (`a.b`).

use arrow::datatypes::{DataType, Schema};
use colkit_core::{ColumnNames, ColumnRef, Error, Projection, Result};
use std::fmt;
use std::str::FromStr;

/// A column as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnName {
    /// By its name, or by the path to a part of it.
    Name(String),
    /// By its position, counted from 0.
    Position(usize),
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnName::Name(name) => f.write_str(name),
            ColumnName::Position(position) => write!(f, "#{position}"),
        }
    }
}

impl From<&str> for ColumnName {
    fn from(name: &str) -> Self {
        ColumnName::Name(name.into())
    }
}

impl From<String> for ColumnName {
    fn from(name: String) -> Self {
        ColumnName::Name(name)
    }
}

impl From<&String> for ColumnName {
    fn from(name: &String) -> Self {
        name.as_str().into()
    }
}

impl From<usize> for ColumnName {
    fn from(position: usize) -> Self {
        ColumnName::Position(position)
    }
}

impl ColumnName {
    /// Reads a list such as `sym,"last, first",#3`: separated by commas, quoted like a field of CSV where a name
    /// contains a comma or starts with `#`.
    pub fn parse_list(list: &str) -> Result<Vec<ColumnName>> {
        let mut names = Vec::new();
        let mut rest = list;
        loop {
            let (name, after) = match rest.strip_prefix('"') {
                None => {
                    let (word, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                    (Self::bare(word)?, after)
                }
                Some(quoted) => {
                    let (content, after) = unquote(quoted).ok_or_else(|| {
                        Error::request(
                            "bad_columns",
                            format!("a quote in the list of columns {list:?} is never closed"),
                        )
                    })?;
                    (ColumnName::Name(content), after)
                }
            };
            names.push(name);
            if after.is_empty() {
                return Ok(names);
            }
            rest = after.strip_prefix(',').ok_or_else(|| {
                Error::request("bad_columns", format!("expected a comma after a quoted name in the list {list:?}"))
            })?;
        }
    }

    fn bare(word: &str) -> Result<ColumnName> {
        let Some(position) = word.strip_prefix('#') else { return Ok(ColumnName::Name(word.into())) };
        usize::from_str(position).map(ColumnName::Position).map_err(|_| {
            Error::request("bad_columns", format!("expected a position such as #3, found {word:?}"))
                .hint("a column whose name starts with # is named in quotes: '\"#name\"'")
        })
    }

    /// The projection of a table with this schema to these columns.
    pub(crate) fn projection(names: &[ColumnName], schema: &Schema) -> Result<Projection> {
        let known = ColumnNames::new(schema);
        let columns = names.iter().map(|n| n.resolve(schema, &known)).collect::<Result<Vec<_>>>()?;
        Ok(Projection::parts(columns))
    }

    fn resolve(&self, schema: &Schema, known: &ColumnNames<'_>) -> Result<ColumnRef> {
        let name = match self {
            ColumnName::Position(index) => return Ok(ColumnRef { index: *index, within: Vec::new() }),
            ColumnName::Name(name) => name,
        };
        known
            .index(name)
            .map(|index| ColumnRef { index, within: Vec::new() })
            .or_else(|error| part_of_column(schema, known, name).ok_or(error))
    }
}

/// The column that a name stands for.
pub(crate) fn reference(name: &ColumnName, schema: &Schema, known: &ColumnNames<'_>) -> Result<ColumnRef> {
    name.resolve(schema, known)
}

/// The content of a quoted name, two quotes standing for one, and what comes after the closing quote.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut content = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        content.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                content.push('"');
                rest = more;
            }
            None => return Some((content, after)),
        }
    }
}

/// A part of a nested column: `a.b` is field `b` of the column `a`, whether `a` is a struct or a list of them.
fn part_of_column(schema: &Schema, known: &ColumnNames<'_>, path: &str) -> Option<ColumnRef> {
    let dots = path.match_indices('.').map(|(at, _)| at);
    dots.rev().find_map(|dot| {
        let (column, below) = path.split_at(dot);
        let index = known.index(column).ok()?;
        let within = child_path(schema.fields().get(index)?.data_type(), below.strip_prefix('.')?)?;
        Some(ColumnRef { index, within: vec![within] })
    })
}

fn child_path(data_type: &DataType, path: &str) -> Option<Vec<usize>> {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let mut below = child_path(item.data_type(), path)?;
            below.insert(0, 0);
            Some(below)
        }
        DataType::Struct(fields) => {
            if let Some(index) = fields.iter().position(|f| f.name() == path) {
                return Some(vec![index]);
            }
            let (first, rest) = path.split_once('.')?;
            let (index, field) = fields.find(first)?;
            let mut below = child_path(field.data_type(), rest)?;
            below.insert(0, index);
            Some(below)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Field, Fields};

    fn name(s: &str) -> ColumnName {
        ColumnName::Name(s.into())
    }

    #[test]
    fn lists_are_read_like_csv() {
        assert_eq!(ColumnName::parse_list("a,b c").unwrap(), [name("a"), name("b c")]);
        assert_eq!(
            ColumnName::parse_list("\"a,b\",#3,\"#4\",\"say \"\"x\"\"\"").unwrap(),
            [name("a,b"), ColumnName::Position(3), name("#4"), name("say \"x\"")]
        );
        for bad in ["\"a", "\"a\"b", "#x", "#"] {
            assert_eq!(ColumnName::parse_list(bad).unwrap_err().code(), "bad_columns", "{bad}");
        }
    }

    #[test]
    fn parts_are_found_by_path_and_whole_names_win() {
        let inner = Fields::from(vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Int32, true)]);
        let item = Field::new("item", DataType::Struct(inner), true);
        let schema = Schema::new(vec![
            Field::new("a", DataType::List(item.into()), true),
            Field::new("a.x", DataType::Int32, true),
        ]);
        let resolve = |s| name(s).resolve(&schema, &ColumnNames::new(&schema));
        assert_eq!(resolve("a.x").unwrap(), ColumnRef { index: 1, within: vec![] });
        assert_eq!(resolve("a.y").unwrap(), ColumnRef { index: 0, within: vec![vec![0, 1]] });
        assert_eq!(resolve("a.z").unwrap_err().code(), "no_such_column");
    }
}
