//! Writing NDJSON: one object per row, every column in it, nulls as `null`.
//!
//! JSON has numbers, text, booleans, lists, objects and null. Decimals are numbers with all their digits, dates and
//! timestamps the text of ISO 8601. What has no form (bytes, a time of day, not a number) is refused unless a loss is
//! allowed; then it is written as its text, and NaN and infinity as null.

use crate::text::{TextOutput, refuse_all};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, Float16Type, Float32Type, Float64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit_core::{
    Error, Result, Setting, Sink, TableWriter, Types, WriteOptions, WriteSummary, check_batch, json, unique_names,
};

pub(super) struct NdjsonWriter {
    schema: SchemaRef,
    out: TextOutput,
    lossy: bool,
    keys: Vec<Vec<u8>>,
    summary: WriteSummary,
    not_finite: u64,
}

impl NdjsonWriter {
    pub fn new(schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Self> {
        let mut summary = WriteSummary::default();
        if schema.fields().is_empty() {
            return Err(Error::data("no_columns", "a line of JSON needs at least one column"));
        }
        let lossy = options.types == Types::Lossy;
        refuse_all(
            schema
                .fields()
                .iter()
                .filter_map(|f| Some(check_type(f, lossy).err()?.part(format!("column {:?}", f.name())))),
        )?;
        let names = unique_names(&schema, options.rename_duplicates, &mut summary.notes)?;
        let keys = names.iter().map(|name| json::key(name)).collect::<Result<Vec<_>>>()?;
        Ok(NdjsonWriter { schema, out: TextOutput::new(sink), lossy, keys, summary, not_finite: 0 })
    }
}

impl TableWriter for NdjsonWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch)?;
        for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
            let count = not_finite(column);
            if count > 0 && !self.lossy {
                return Err(Error::data("value_out_of_range", "JSON has no NaN and no infinity")
                    .part(format!("column {:?}", field.name()))
                    .hint(Setting::LossyTypes.does("writes null instead")));
            }
            self.not_finite += count;
        }
        let rows = json::rows(&self.keys, batch)?;
        for row in 0..batch.num_rows() {
            rows(row, &mut self.out.text)?;
            self.out.text.push(b'\n');
            self.out.flush_if_full()?;
        }
        self.summary.rows += batch.num_rows() as u64;
        // So that a reader at the other end of a pipe sees each batch when it is there.
        self.out.flush()
    }

    fn finish(mut self: Box<Self>) -> Result<WriteSummary> {
        if self.summary.rows == 0 {
            self.summary.notes.push("no rows, so the file does not say which columns there are".into());
        }
        if self.not_finite > 0 {
            self.summary.notes.push(format!("{} times NaN or infinity written as null", self.not_finite));
        }
        self.summary.bytes = self.out.commit()?;
        Ok(self.summary)
    }
}

/// Whether JSON has a form for values of this type.
fn check_type(field: &Field, lossy: bool) -> Result<()> {
    match field.data_type() {
        t if t.is_integer() || t.is_floating() || t.is_decimal() => Ok(()),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Ok(()),
        DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(()),
        DataType::Dictionary(_, values) => check_type(&Field::new("", values.as_ref().clone(), true), lossy),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => check_type(item, lossy),
        DataType::Struct(fields) => {
            fields.iter().try_for_each(|f| check_type(f, lossy).map_err(|e| e.part(format!("member {:?}", f.name()))))
        }
        t if lossy && !t.is_run_ends_type() => match t {
            DataType::Union(..) | DataType::ListView(_) | DataType::LargeListView(_) => Err(no_form(t)),
            _ => Ok(()),
        },
        other => Err(no_form(other).hint(Setting::LossyTypes.does("writes its text"))),
    }
}

fn no_form(data_type: &DataType) -> Error {
    Error::data("type_not_supported", format!("JSON has no form for values of type {data_type}"))
}

/// How many values, inside of lists and structs too, are NaN or infinite.
fn not_finite(array: &ArrayRef) -> u64 {
    let count = |flags: &mut dyn Iterator<Item = bool>| flags.filter(|finite| !finite).count() as u64;
    match array.data_type() {
        DataType::Float64 => count(&mut array.as_primitive::<Float64Type>().iter().flatten().map(f64::is_finite)),
        DataType::Float32 => count(&mut array.as_primitive::<Float32Type>().iter().flatten().map(f32::is_finite)),
        DataType::Float16 => count(&mut array.as_primitive::<Float16Type>().iter().flatten().map(|x| x.is_finite())),
        DataType::Dictionary(..) => not_finite(array.as_any_dictionary().values()),
        DataType::List(_) => not_finite(array.as_list::<i32>().values()),
        DataType::LargeList(_) => not_finite(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => not_finite(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(not_finite).sum(),
        DataType::Map(..) => array.as_map().entries().columns().iter().map(not_finite).sum(),
        _ => 0,
    }
}
