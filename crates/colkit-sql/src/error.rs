//! Converts errors between colkit and DataFusion.

use colkit::{Class, Error, Setting};
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;

/// An error of ours as DataFusion carries it.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// What DataFusion says, as an error of ours. One that was ours to begin with comes back as it was, out of whatever
/// operators have wrapped around it.
pub fn plain(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::External(root) => match root.downcast_ref::<Error>() {
            Some(ours) => ours.again(),
            None => Error::data("query_failed", message(error)),
        },
        DataFusionError::SchemaError(wrong, _) => {
            schema_error(wrong).unwrap_or_else(|| Error::request("bad_sql", message(error)))
        }
        DataFusionError::SQL(..) | DataFusionError::Plan(_) => {
            let message = message(error);
            match message.strip_prefix("table '").and_then(|rest| rest.strip_suffix("' not found")) {
                Some(name) => {
                    let name = name.trim_start_matches("datafusion.");
                    let example = if name.contains('.') { name } else { "trades.csv" };
                    Error::request("bad_sql", format!("there is no table {name}"))
                        .hint(format!("files are tables in single quotes: FROM '{example}'"))
                }
                None => no_function(&message)
                    .or_else(|| wrong_type(&message))
                    .or_else(|| same_names(&message))
                    .unwrap_or_else(|| Error::request("bad_sql", message)),
            }
        }
        DataFusionError::NotImplemented(what) if what.starts_with("Operator DIV") => {
            Error::unsupported("not_implemented", "there is no operator // or DIV")
                .hint("integers divide to integers: 7 / 2 is 3; for other numbers there is trunc(a / b)")
        }
        DataFusionError::NotImplemented(_) => Error::unsupported("not_implemented", message(error)),
        DataFusionError::ResourcesExhausted(_) => out_of_memory(),
        DataFusionError::ObjectStore(e) => colkit_core::drive::store::failed(e),
        DataFusionError::IoError(e) => std::io::Error::new(e.kind(), message(error)).into(),
        _ => Error::data("query_failed", message(error)),
    }
}

/// What the engine says, without its names for kinds of errors and without what is meant for its authors.
fn message(error: &DataFusionError) -> String {
    let root = error.find_root();
    let text = match root {
        DataFusionError::SQL(error, _) => error.to_string(),
        _ => root.strip_backtrace(),
    };
    let text = text.split("\nThis issue was likely caused by").next().unwrap_or_default();
    let kinds = [
        "Error during planning: ",
        "This feature is not implemented: ",
        "Schema error: ",
        "SQL error: ",
        "Execution error: ",
        "Arrow error: ",
        "Optimizer rule 'optimize_projections' failed\ncaused by\n",
        "sql parser error: ",
    ];
    let mut text = text;
    while let Some(rest) = kinds.iter().find_map(|kind| text.strip_prefix(kind)) {
        text = rest;
    }
    // What a function says of its arguments.
    if let Some((_, why)) = text.split_once("user-defined coercion failed with: ") {
        let why = why.split(" No function matches").next().unwrap_or(why);
        return why.trim_start_matches("Error during planning: ").trim_end_matches('.').to_owned();
    }
    let text = text.replace("datafusion.public.", "");
    without_syntax_tree(&text).replace("'.\nDid you mean '", "', did you mean '")
}

/// The part of a message before a dump of the syntax tree.
fn without_syntax_tree(text: &str) -> String {
    let Some(dump) = text.find("Span(").or_else(|| text.find("Ident {")) else { return text.to_owned() };
    let before = text.get(..dump).unwrap_or_default();
    let end = before.find(['{', '(']).unwrap_or(before.len());
    let said = before.get(..end).unwrap_or_default();
    format!("{} is not supported here", said.trim_end_matches([':', ' ']))
}

/// What a function says that was given something else than it takes: one reason for each thing that it would take.
fn wrong_type(message: &str) -> Option<Error> {
    let function = message.split_once("Function '")?.1.split_once('\'')?.0;
    let given = message.split_once("but received ")?.1;
    let given = given.split([',', '(', '.']).next()?.trim();
    if !message.contains("failed to match any signature") {
        return None;
    }
    let given = if given == "String" { "text" } else { given };
    Some(Error::request("bad_sql", format!("{function}(...) does not take {given}")))
}

/// Two columns that are called the same.
fn same_names(message: &str) -> Option<Error> {
    let rest = message.strip_prefix("Projections require unique expression names but the expression \"")?;
    let expression = rest.split_once("\" at position")?.0;
    let name = expression.rsplit_once(" AS ").map_or(expression, |(_, name)| name);
    Some(Error::request("bad_sql", format!("two columns are called {name}")).hint("AS gives one of them another name"))
}

/// The engine suggests the nearest name, however far it is.
fn no_function(message: &str) -> Option<Error> {
    let (name, rest) = message.strip_prefix("Invalid function '")?.split_once('\'')?;
    let near = rest.strip_prefix(", did you mean '").and_then(|rest| rest.strip_suffix("'?"));
    let near = near.filter(|near| distance(near, name) <= 2.min(name.chars().count() / 2));
    let error = Error::request("bad_sql", format!("there is no function {name}"));
    Some(match near {
        Some(near) => error.hint(format!("did you mean {near}? SHOW FUNCTIONS lists all of them")),
        None => error.hint("SHOW FUNCTIONS lists all of them"),
    })
}

fn out_of_memory() -> Error {
    Error::new(Class::Limit, "limit_exceeded", "the query needs more memory than it may use").hint(
        Setting::Memory
            .does("gives the query more")
            .and(Setting::SpillFolder.does("names a folder with room for what does not fit")),
    )
}

/// Columns named in a message at most.
const MOST_NAMED: usize = 30;

fn schema_error(error: &SchemaError) -> Option<Error> {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let message = format!("there is no column {}", shown(field));
            let error = Error::request("bad_sql", message);
            if valid_fields.is_empty() {
                return Some(error.hint("there are no columns here: FROM names a table"));
            }
            Some(error.hint(valid_columns(field, valid_fields)))
        }
        SchemaError::AmbiguousReference { field } => {
            let message = format!("the column {} is in several tables", field.name());
            Some(Error::request("bad_sql", message).hint(format!("say which: t.{}", field.name())))
        }
        _ => None,
    }
}

/// A column as somebody would type it.
fn shown(column: &Column) -> String {
    match &column.relation {
        Some(table) => format!("{}.{}", table.table(), column.name),
        None => column.name.clone(),
    }
}

/// What to type instead.
fn valid_columns(field: &Column, valid: &[Column]) -> String {
    let mut names: Vec<&str> = valid.iter().map(|c| c.name.as_str()).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    let other_case = names.iter().find(|n| n.eq_ignore_ascii_case(&field.name));
    if let Some(name) = other_case.filter(|n| **n != field.name) {
        return format!("names in double quotes keep their case: \"{name}\"");
    }
    let close =
        names.iter().map(|n| (distance(n, &field.name), *n)).min().filter(|(d, _)| *d <= 2.max(field.name.len() / 3));
    let meant = close.map(|(_, name)| format!("did you mean {name}? ")).unwrap_or_default();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{meant}the columns are {}{more}", names.join(", "))
}

/// How many letters are to be changed, added or left out to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut last = i + 1;
        let mut next = vec![last];
        for (y, pair) in b.iter().zip(row.windows(2)) {
            let [above_left, above] = pair else { continue };
            last = (above_left + usize::from(x != *y)).min(above + 1).min(last + 1);
            next.push(last);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_trees_are_not_shown() {
        let text =
            "Unsupported ast node Pivot { table: Table { name: ObjectName([Identifier(Ident { value: \"t\" })]) }";
        assert_eq!(without_syntax_tree(text), "Unsupported ast node Pivot is not supported here");
        assert_eq!(without_syntax_tree("all is well"), "all is well");
    }

    #[test]
    fn only_near_functions_are_suggested() {
        let said = |text: &str| no_function(text).unwrap().to_string();
        assert!(said("Invalid function 'lenght', did you mean 'length'?").contains("did you mean length?"));
        let far = said("Invalid function 'foobarbaz', did you mean 'overlay'?");
        assert!(far.contains("no function foobarbaz") && !far.contains("overlay"), "{far}");
        assert!(no_function("something else").is_none());
    }

    #[test]
    fn wrong_arguments_are_told_in_short() {
        let long = "Internal error: Function 'sum' failed to match any signature, errors: Error during planning: \
                    Function 'sum' requires Decimal, but received String (DataType: Utf8View).,Error during planning";
        assert_eq!(wrong_type(long).unwrap().message(), "sum(...) does not take text");
        let twice =
            "Projections require unique expression names but the expression \"Int64(1) AS a\" at position 0 and";
        assert_eq!(same_names(twice).unwrap().message(), "two columns are called a");
        assert!(wrong_type("all is well").is_none() && same_names("all is well").is_none());
    }

    #[test]
    fn names_are_near_one_another() {
        assert_eq!(distance("price", "pirce"), 2);
        assert_eq!(distance("Name", "nam"), 1);
        assert_eq!(distance("", "ab"), 2);
    }
}
