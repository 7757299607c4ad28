//! `diff`: compares two tables.

use crate::args::{DatasetArgs, DiffArgs};
use crate::human::{count, plural};
use crate::progress::Progress;
use crate::request::inputs;
use crate::{Io, Outcome};
use colkit::{ByKey, CellDifference, ColumnName, DiffOptions, Difference, Input, Key, OpenFile, OpenOptions, Result};
use std::io::Write;

pub fn run(args: &DiffArgs, io: &mut Io) -> Result<Outcome> {
    let open = args.reading.open_options()?;
    let places = args.places.clone();
    let side = |at: Option<&String>| DatasetArgs { at: at.cloned(), places: places.clone() };
    let (left, right) = match args.at.as_slice() {
        [] => (side(None), side(None)),
        [left, right] => (side(Some(left)), side(Some(right))),
        _ => return Err(colkit::Error::request("usage", "--at is given twice: for the left and for the right file")),
    };
    let second = args.right.as_ref().unwrap_or(&args.left);
    let inputs = inputs([(&args.left, &left), (second, &right)], io)?;
    let [left, right] = inputs.as_slice() else {
        return Err(colkit::Error::request("no_input", "expected two files"));
    };
    let mut options =
        DiffOptions::new().with_rows(args.limit.max(1)).with_cells(args.show).with_memory(args.reading.memory);
    options.strict_types = args.strict_types;
    options.columns = args.columns.names()?;
    options.key = args.key.as_deref().map(ColumnName::parse_list).transpose()?;
    let mut open = open;
    if args.right.is_none() && options.key.is_none() && options.columns.is_none() {
        let by_id = open.clone().with_row_ids(true);
        if let Some(columns) = columns_with_ids(left, right, &by_id)? {
            (open, options.columns) = (by_id, Some(columns));
            options.key = Some(vec![ROW_ID.into()]);
        }
    }
    let total = inputs.iter().map(Input::size).sum();
    let progress = Progress::watch(io, "comparing", &inputs, total);
    let difference = colkit::diff(left, right, &open, &options)?;
    drop(progress);
    let equal = difference.is_equal();
    if args.script.json {
        writeln!(io.stdout, "{}", colkit::report::difference(left.name(), right.name(), &difference)?)?;
    } else {
        print_text(left, right, &difference, io)?;
    }
    Ok(if equal { Outcome::Success } else { Outcome::Failure })
}

/// The column of row ids.
const ROW_ID: &str = "_rowid";

/// All columns of two versions of a dataset, with row ids, if rows keep theirs and the columns are the same.
fn columns_with_ids(left: &Input, right: &Input, open: &OpenOptions) -> Result<Option<Vec<ColumnName>>> {
    if !left.objects().are_there() || !right.objects().are_there() {
        return Ok(None);
    }
    let (left, right) = (open.open_input(left)?, open.open_input(right)?);
    let is_stable =
        |file: &OpenFile| file.properties().iter().any(|(name, value)| *name == "row ids" && value == "stable");
    if !is_stable(&left) || !is_stable(&right) || left.schema().fields() != right.schema().fields() {
        return Ok(None);
    }
    let schema = left.schema();
    let places = schema.fields().iter().enumerate().filter(|(_, field)| field.name() != "_rowaddr");
    Ok(Some(places.map(|(place, _)| place.into()).collect()))
}

fn print_text(left: &Input, right: &Input, difference: &Difference, io: &mut Io) -> Result<()> {
    let (rows, columns) = (difference.compared_rows, difference.compared_columns as u64);
    let compared = format!("{}, {}", plural(rows, "row"), plural(columns, "column"));
    let out = &mut io.stdout;
    if difference.is_equal() {
        let label = out.green("equal");
        writeln!(out, "{label}: {compared}")?;
        return print_types(difference, out);
    }
    let label = out.red("different:");
    writeln!(out, "{label} {} (left) and {} (right)", left.name(), right.name())?;
    for line in &difference.schema {
        writeln!(out, "  {line}")?;
    }
    print_types(difference, out)?;
    if let Some(rows) = &difference.by_key {
        return tell_rows(rows, &difference.first, out);
    }
    let (l, r) = difference.row_counts;
    if l != r {
        writeln!(out, "  row counts differ: {} (left), {} (right)", count(l), count(r))?;
    }
    if difference.differing_rows > 0 {
        let differ = if difference.differing_rows == 1 { "differs" } else { "differ" };
        let more = if difference.stopped { " (stopped at --limit)" } else { "" };
        let differing = plural(difference.differing_rows, "row");
        writeln!(out, "  {differing} {differ}; compared {compared}{more}")?;
        for cell in &difference.first {
            tell_cell(cell, out)?;
        }
    }
    Ok(())
}

/// Prints which types differ where values are equal or can be.
fn print_types(difference: &Difference, out: &mut crate::Stream) -> Result<()> {
    difference.types.iter().try_for_each(|line| Ok(writeln!(out, "  {line}; values were compared")?))
}

/// Prints the differences of rows matched by key.
fn tell_rows(rows: &ByKey, changed: &[CellDifference], out: &mut crate::Stream) -> Result<()> {
    let (added, removed) = (plural(rows.added, "row"), count(rows.removed));
    let (changed_rows, unchanged) = (count(rows.changed), count(rows.unchanged));
    let by = rows.columns.join(", ");
    writeln!(out, "  by {by}: {added} added, {removed} removed, {changed_rows} changed, {unchanged} unchanged")?;
    let key = |key: &Key| {
        let column = |(name, value): (&String, &Option<String>)| format!("{name} {}", shown(value));
        key.iter().map(column).collect::<Vec<_>>().join(", ")
    };
    for row in &rows.first_added {
        writeln!(out, "    added: {}", key(row))?;
    }
    for row in &rows.first_removed {
        writeln!(out, "    removed: {}", key(row))?;
    }
    for cell in changed {
        let (left, right) = (shown(&cell.left), shown(&cell.right));
        let row = cell.key.as_ref().map(key).unwrap_or_default();
        writeln!(out, "    changed: {row}, column {:?}: {left} (left), {right} (right)", cell.column)?;
    }
    Ok(())
}

fn tell_cell(cell: &CellDifference, out: &mut crate::Stream) -> Result<()> {
    let (left, right) = (shown(&cell.left), shown(&cell.right));
    writeln!(out, "    row {}, column {:?}: {left} (left), {right} (right)", cell.row, cell.column)?;
    Ok(())
}

/// A value as it is printed. Long text is cut to its start and length.
fn shown(value: &Option<String>) -> String {
    match value {
        None => "null".to_string(),
        Some(text) if text.chars().count() > 60 => {
            format!("{:?}... ({} characters)", text.chars().take(57).collect::<String>(), text.chars().count())
        }
        Some(text) if !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "+-.:".contains(c)) => {
            text.clone()
        }
        Some(text) => format!("{text:?}"),
    }
}
