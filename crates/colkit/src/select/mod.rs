//! `select`: columns renamed, cast, left out and in another order, while they are read.

mod parse;

use crate::columns::reference;
use crate::type_name;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{CastOptions, can_cast_types, cast, cast_with_options, is_null, nullif};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit_core::plan::batch_of;
use colkit_core::{ColumnNames, ColumnRef, Error, Projection, Result, Setting};
use parse::{Item, parse};
use std::sync::Arc;

/// What is selected of a table: what is read, and what is made of it.
#[derive(Debug)]
pub(crate) struct Selected {
    /// The columns that are read, one for each that comes out.
    pub projection: Projection,
    /// The columns that come out.
    pub schema: SchemaRef,
    columns: Vec<Made>,
    lossy: bool,
}

/// How a column is made of one that is read.
#[derive(Debug)]
struct Made {
    /// How many structs it lies in.
    depth: usize,
    cast: bool,
}

impl Selected {
    /// What `text` selects of a table with this schema. `lossy` takes the nearest value, or none, for one that does not fit.
    pub fn new(text: &str, schema: &Schema, lossy: bool) -> Result<Self> {
        let items = parse(text)?;
        let known = ColumnNames::new(schema);
        let mut columns: Vec<(ColumnRef, FieldRef, Made)> = Vec::new();
        let mut mentioned: Vec<ColumnRef> = Vec::new();
        for item in &items {
            match item {
                Item::All(except) => {
                    let except =
                        except.iter().map(|name| reference(name, schema, &known)).collect::<Result<Vec<_>>>()?;
                    columns.extend(whole_columns(schema, &except));
                }
                Item::Without(name) => {
                    let gone = reference(name, schema, &known)?;
                    columns.retain(|(column, ..)| *column != gone);
                    mentioned.push(gone);
                }
                Item::Column { column, to, name } => {
                    let found = reference(column, schema, &known)?;
                    let (field, depth) = leaf(schema, &found)?;
                    let from = field.data_type().clone();
                    let mut field = field.as_ref().clone();
                    if let Some(name) = name {
                        field = field.with_name(name);
                    }
                    if let Some(to) = to.as_ref().filter(|to| **to != from) {
                        if !can_cast_types(&from, to) {
                            let (from, to) = (type_name(&from), type_name(to));
                            return Err(Error::request(
                                "bad_select",
                                format!("column {column}: {from} cannot become {to}"),
                            ));
                        }
                        field = field.with_data_type(to.clone()).with_nullable(true);
                    }
                    let cast = *field.data_type() != from;
                    columns.push((found.clone(), Arc::new(field), Made { depth, cast }));
                    mentioned.push(found);
                }
            }
        }
        // To leave out a column is to want the others.
        let some_without = items.iter().any(|item| matches!(item, Item::Without(_)));
        if some_without && !items.iter().any(|item| matches!(item, Item::All(_))) {
            columns.extend(whole_columns(schema, &mentioned));
        }
        if columns.is_empty() {
            return Err(Error::request("bad_select", "no column is left"));
        }
        let (mut read, mut fields, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for (column, field, how) in columns {
            read.push(column);
            fields.push(field);
            made.push(how);
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        Ok(Selected { projection: Projection::parts(read), schema, columns: made, lossy })
    }

    /// The columns that come out of a batch that was read. Its first row is the one of this number, for messages.
    pub fn apply(&self, batch: &RecordBatch, first: u64) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for ((array, made), field) in batch.columns().iter().zip(&self.columns).zip(self.schema.fields()) {
            let mut array = array.clone();
            for _ in 0..made.depth {
                array = only_child(&array)?;
            }
            columns.push(if made.cast { self.cast(&array, field, first)? } else { array });
        }
        batch_of(&self.schema, columns, batch.num_rows())
    }

    fn cast(&self, array: &ArrayRef, field: &Field, first: u64) -> Result<ArrayRef> {
        let options = CastOptions { safe: true, format_options: FormatOptions::new() };
        let rounded = if self.lossy && field.data_type().is_integer() { nearest_whole(array)? } else { None };
        let cast = cast_with_options(rounded.as_ref().unwrap_or(array), field.data_type(), &options)?;
        if !self.lossy
            && let Some(row) = first_changed(array, &cast)?
        {
            let format = FormatOptions::new().with_display_error(true);
            let value = ArrayFormatter::try_new(array.as_ref(), &format)?.value(row).to_string();
            let to = type_name(field.data_type());
            let message = format!("row {}, column {:?}: {value:?} does not fit {to}", first + row as u64, field.name());
            let hint = Setting::LossyTypes.does("takes the nearest value, or null where there is none");
            return Err(Error::data("does_not_fit", message).hint(hint));
        }
        Ok(cast)
    }
}

/// Numbers with a fraction rounded to whole ones, halves away from zero; `None` if they have none.
fn nearest_whole(array: &ArrayRef) -> Result<Option<ArrayRef>> {
    Ok(match array.data_type() {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let floats = cast(array, &DataType::Float64)?;
            Some(Arc::new(floats.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round)))
        }
        DataType::Decimal128(precision, scale) if *scale > 0 => {
            Some(cast(array, &DataType::Decimal128(*precision, 0))?)
        }
        DataType::Decimal256(precision, scale) if *scale > 0 => {
            Some(cast(array, &DataType::Decimal256(*precision, 0))?)
        }
        _ => None,
    })
}

/// All columns of a table but these.
fn whole_columns(schema: &Schema, except: &[ColumnRef]) -> Vec<(ColumnRef, FieldRef, Made)> {
    let columns = schema.fields().iter().enumerate();
    let columns = columns
        .map(|(index, field)| (ColumnRef { index, within: Vec::new() }, field.clone(), Made { depth: 0, cast: false }));
    columns.filter(|(column, ..)| !except.contains(column)).collect()
}

/// The field that a reference leads to through structs, and through how many.
fn leaf(schema: &Schema, column: &ColumnRef) -> Result<(FieldRef, usize)> {
    let lost = || Error::request("no_such_column", format!("column number {} is not there", column.index));
    let mut field = schema.fields().get(column.index).ok_or_else(lost)?.clone();
    let mut nullable = field.is_nullable();
    let Some(path) = column.within.first() else { return Ok((field, 0)) };
    for child in path {
        let DataType::Struct(children) = field.data_type() else {
            let message =
                format!("{:?} holds several values in a row; only what is in structs can be selected", field.name());
            return Err(Error::request("bad_select", message).hint("select the whole column"));
        };
        let next = children.get(*child).ok_or_else(lost)?.clone();
        nullable |= next.is_nullable();
        field = next;
    }
    Ok((Arc::new(field.as_ref().clone().with_nullable(nullable)), path.len()))
}

/// The only child of a column of structs, null where the struct is.
fn only_child(array: &ArrayRef) -> Result<ArrayRef> {
    let lost = || Error::internal("a part of a column was not read");
    let structs = array.as_struct_opt().ok_or_else(lost)?;
    let child = structs.columns().first().ok_or_else(lost)?;
    if structs.null_count() == 0 {
        return Ok(child.clone());
    }
    Ok(nullif(child, &is_null(structs)?)?)
}

/// The first row whose value is not the same as before. What is read from text is the same if it can be read.
fn first_changed(before: &ArrayRef, after: &ArrayRef) -> Result<Option<usize>> {
    let first = |mask: &BooleanArray| mask.values().set_indices().next();
    if after.null_count() > before.logical_null_count() {
        let lost = |row: &usize| after.is_null(*row) && before.is_valid(*row);
        return Ok((0..after.len()).find(lost));
    }
    let is_text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let comparable = !is_text(before.data_type()) && !is_text(after.data_type()) && !before.data_type().is_nested();
    if !comparable || !can_cast_types(after.data_type(), before.data_type()) {
        return Ok(None);
    }
    let options = CastOptions { safe: true, format_options: FormatOptions::new() };
    let back = cast_with_options(after, before.data_type(), &options)?;
    Ok(first(&distinct(before, &back)?))
}
