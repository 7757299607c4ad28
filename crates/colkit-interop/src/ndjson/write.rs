//! Writing NDJSON: one object per row, every column in it, nulls as `null`.
//!
//! JSON has numbers, text, booleans, lists, objects and null. What it has no form for (a date, bytes, a decimal, not a
//! number) is refused unless a loss is allowed; then it is written as its text, and NaN and infinity as null.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, Float16Type, Float32Type, Float64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit_core::{
    Error, Result, Setting, Sink, TableWriter, Types, WriteOptions, WriteSummary, check_batch, first_repeated, json,
    make_unique,
};

/// What is collected before it goes to the sink.
const BUFFER_BYTES: usize = 64 << 10;

pub(super) struct NdjsonWriter {
    schema: SchemaRef,
    sink: Box<dyn Sink>,
    lossy: bool,
    keys: Vec<Vec<u8>>,
    out: Vec<u8>,
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
        for field in schema.fields() {
            check_type(field, lossy).map_err(|e| e.part(format!("column {:?}", field.name())))?;
        }
        let mut names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        if options.rename_duplicates {
            let renamed = make_unique(&mut names);
            if renamed > 0 {
                summary.notes.push(format!("{renamed} columns renamed because their names repeat"));
            }
        } else if let Some((_, name)) = first_repeated(&names) {
            return Err(Error::data("duplicate_column", format!("a second column called {name:?}"))
                .hint(Setting::RenameDuplicates.does("writes the second as another name")));
        }
        let keys = names.iter().map(|name| json::key(name)).collect::<Result<Vec<_>>>()?;
        let out = Vec::with_capacity(BUFFER_BYTES * 2);
        Ok(NdjsonWriter { schema, sink, lossy, keys, out, summary, not_finite: 0 })
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.write(&self.out)?;
        self.summary.bytes += self.out.len() as u64;
        self.out.clear();
        Ok(())
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
        let encoders = batch.columns().iter().map(json::encoder).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            self.out.push(b'{');
            for (index, (key, value)) in self.keys.iter().zip(&encoders).enumerate() {
                if index > 0 {
                    self.out.push(b',');
                }
                self.out.extend_from_slice(key);
                value(row, &mut self.out)?;
            }
            self.out.extend_from_slice(b"}\n");
            if self.out.len() >= BUFFER_BYTES {
                self.sink.write(&self.out)?;
                self.summary.bytes += self.out.len() as u64;
                self.out.clear();
            }
        }
        self.summary.rows += batch.num_rows() as u64;
        // So that a reader at the other end of a pipe sees each batch when it is there.
        self.flush()
    }

    fn finish(mut self: Box<Self>) -> Result<WriteSummary> {
        self.flush()?;
        if self.summary.rows == 0 {
            self.summary.notes.push("no rows, so the file does not say which columns there are".into());
        }
        if self.not_finite > 0 {
            self.summary.notes.push(format!("{} times NaN or infinity written as null", self.not_finite));
        }
        self.sink.commit()?;
        Ok(self.summary)
    }
}

/// Whether JSON has a form for values of this type.
fn check_type(field: &Field, lossy: bool) -> Result<()> {
    match field.data_type() {
        t if t.is_integer() || t.is_floating() => Ok(()),
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
