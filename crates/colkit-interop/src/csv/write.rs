//! Writing CSV: RFC 4180 with LF line ends, quotes only where they are needed, one row after another to the sink.
//!
//! What is written reads back as the same values wherever CSV can say them: floats are printed with as many digits as
//! they need and always with a point or an exponent, so that they stay floats; an empty cell that stands alone on its
//! line is written `""`, so that it stays a row.

use super::CsvOptions;
use crate::text::{TextOutput, column_label, refuse_all};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array, LargeStringArray, StringArray,
    StringViewArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit_core::{
    Error, Hint, Limits, Nulls, Result, Setting, Sink, TableWriter, Types, WriteOptions, WriteSummary, check_batch,
    json, unique_names,
};
use std::fmt::Write;

pub(super) struct CsvWriter {
    schema: SchemaRef,
    nulls: Nulls,
    text: CsvText,
    summary: WriteSummary,
    filled: u64,
}

impl CsvWriter {
    pub fn new(csv: &CsvOptions, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Self> {
        csv.dialect(&Limits::default())?;
        if schema.fields().is_empty() {
            return Err(Error::data("no_columns", "a CSV file cannot hold a table without columns"));
        }
        let lossy = options.types == Types::Lossy;
        refuse_all(schema.fields().iter().enumerate().filter_map(|(index, field)| {
            Some(check_type(field.data_type(), lossy).err()?.part(column_label(index, Some(field.name()))))
        }))?;
        let mut text = CsvText { out: TextOutput::new(sink), delimiter: csv.delimiter };
        let mut summary = WriteSummary::default();
        if csv.header {
            text.header(&unique_names(&schema, options.rename_duplicates, &mut summary.notes)?);
        }
        Ok(CsvWriter { schema, nulls: options.nulls, text, summary, filled: 0 })
    }

    /// The nulls of a column, if that is all right. An empty cell is read as null but in text, where it is empty text.
    fn nulls_of(&mut self, index: usize, array: &ArrayRef) -> Result<Option<NullBuffer>> {
        let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
        if let Some(nulls) = nulls.as_ref().filter(|_| !reads_empty_as_null(array.data_type())) {
            if self.nulls == Nulls::Refuse {
                let first = nulls.iter().position(|valid| !valid).unwrap_or(0) as u64;
                let name = self.schema.fields().get(index).map(|f| f.name().as_str());
                let message = format!("row {} is null; in a text column CSV has no null", self.summary.rows + first);
                return Err(Error::data("null_not_supported", message)
                    .part(column_label(index, name))
                    .hint(Setting::FillNulls.does("writes empty cells")));
            }
            self.filled += nulls.null_count() as u64;
        }
        Ok(nulls)
    }
}

impl TableWriter for CsvWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch)?;
        let arrays = batch.columns().iter().map(plain).collect::<Result<Vec<_>>>()?;
        let mut columns = Vec::with_capacity(arrays.len());
        for (index, array) in arrays.iter().enumerate() {
            columns.push(PrintedColumn { nulls: self.nulls_of(index, array)?, values: PrintedValues::of(array)? });
        }
        for row in 0..batch.num_rows() {
            self.text.row(&columns, row)?;
            self.text.out.flush_if_full()?;
        }
        self.summary.rows += batch.num_rows() as u64;
        // So that a reader at the other end of a pipe sees each batch when it is there.
        self.text.out.flush()
    }

    fn finish(mut self: Box<Self>) -> Result<WriteSummary> {
        if self.filled > 0 {
            self.summary.notes.push(format!("{} nulls written as empty cells", self.filled));
        }
        self.summary.bytes = self.text.out.commit()?;
        Ok(self.summary)
    }
}

/// Whether an empty cell of a column of this type comes back as null.
fn reads_empty_as_null(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || data_type.is_decimal()
        || matches!(data_type, DataType::Boolean | DataType::Date32 | DataType::Timestamp(..))
}

/// Whether values of a type have a text of one cell that says all there is to say: numbers, decimals, booleans, dates,
/// timestamps, text. Of the others (times of day, bytes) the type is lost, of nested values the shape too.
fn check_type(data_type: &DataType, lossy: bool) -> Result<()> {
    let refused = |hint: Hint| {
        Error::data("type_not_supported", format!("a CSV cell cannot hold a value of type {data_type}")).hint(hint)
    };
    match data_type {
        DataType::Dictionary(_, values) => check_type(values, lossy),
        DataType::Union(..) | DataType::RunEndEncoded(..) => {
            Err(refused(Setting::Columns.does("can leave the column out")))
        }
        t if t.is_integer() || t.is_floating() || t.is_decimal() => Ok(()),
        DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(()),
        DataType::Date32 | DataType::Timestamp(..) => Ok(()),
        _ if lossy => Ok(()),
        t if t.is_nested() => Err(refused(Setting::LossyTypes.does("writes its JSON"))),
        _ => Err(refused(Setting::LossyTypes.does("writes its text"))),
    }
}

/// Dictionaries as their values, nested values as their JSON, everything else as it is.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) => Ok(cast(array, values)?),
        t if t.is_nested() => Ok(std::sync::Arc::new(json::texts(array)?)),
        _ => Ok(array.clone()),
    }
}

struct PrintedColumn<'a> {
    nulls: Option<NullBuffer>,
    values: PrintedValues<'a>,
}

enum PrintedValues<'a> {
    Int32(&'a Int32Array),
    Int64(&'a Int64Array),
    Float64(&'a Float64Array),
    Bool(&'a BooleanArray),
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Other(ArrayFormatter<'a>),
}

impl<'a> PrintedValues<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self> {
        static FORMAT: FormatOptions<'static> = FormatOptions::new().with_display_error(false);
        Ok(match array.data_type() {
            DataType::Int32 => PrintedValues::Int32(array.as_primitive::<Int32Type>()),
            DataType::Int64 => PrintedValues::Int64(array.as_primitive::<Int64Type>()),
            DataType::Float64 => PrintedValues::Float64(array.as_primitive::<Float64Type>()),
            DataType::Boolean => PrintedValues::Bool(array.as_boolean()),
            DataType::Utf8 => PrintedValues::Utf8(array.as_string::<i32>()),
            DataType::LargeUtf8 => PrintedValues::LargeUtf8(array.as_string::<i64>()),
            DataType::Utf8View => PrintedValues::Utf8View(array.as_string_view()),
            _ => PrintedValues::Other(ArrayFormatter::try_new(array.as_ref(), &FORMAT)?),
        })
    }
}

/// The text under way.
struct CsvText {
    out: TextOutput,
    delimiter: u8,
}

impl CsvText {
    fn header(&mut self, names: &[String]) {
        for (index, name) in names.iter().enumerate() {
            if index > 0 {
                self.out.text.push(self.delimiter);
            }
            // In the very first place U+FEFF would be taken for a byte order mark; in quotes it is not.
            if index == 0 && name.starts_with('\u{feff}') {
                self.quoted(name.as_bytes());
            } else {
                self.cell(name.as_bytes());
            }
        }
        self.end_of_row(0);
    }

    fn row(&mut self, columns: &[PrintedColumn<'_>], row: usize) -> Result<()> {
        let start = self.out.text.len();
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                self.out.text.push(self.delimiter);
            }
            if column.nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                continue;
            }
            match &column.values {
                PrintedValues::Int32(a) => self.number(itoa::Buffer::new().format(a.value(row))),
                PrintedValues::Int64(a) => self.number(itoa::Buffer::new().format(a.value(row))),
                PrintedValues::Float64(a) => self.float(a.value(row)),
                PrintedValues::Bool(a) => self.number(if a.value(row) { "true" } else { "false" }),
                PrintedValues::Utf8(a) => self.cell(a.value(row).as_bytes()),
                PrintedValues::LargeUtf8(a) => self.cell(a.value(row).as_bytes()),
                PrintedValues::Utf8View(a) => self.cell(a.value(row).as_bytes()),
                PrintedValues::Other(formatter) => {
                    let mut text = String::new();
                    write!(text, "{}", formatter.value(row)).map_err(|_| no_text(index, row))?;
                    self.cell(text.as_bytes());
                }
            }
        }
        self.end_of_row(start);
        Ok(())
    }

    /// Ends the row that started at `start`. A row that is one empty cell would be a blank line.
    fn end_of_row(&mut self, start: usize) {
        if self.out.text.len() == start {
            self.out.text.extend_from_slice(b"\"\"");
        }
        self.out.text.push(b'\n');
    }

    /// Text that needs no quotes, unless digits, signs or letters are delimiters here.
    fn number(&mut self, text: &str) {
        if self.delimiter.is_ascii_alphanumeric() || matches!(self.delimiter, b'-' | b'.' | b'+') {
            self.cell(text.as_bytes());
        } else {
            self.out.text.extend_from_slice(text.as_bytes());
        }
    }

    fn float(&mut self, value: f64) {
        if value.is_finite() {
            self.number(ryu::Buffer::new().format_finite(value));
        } else {
            self.number(match (value.is_nan(), value > 0.0) {
                (true, _) => "NaN",
                (false, true) => "inf",
                (false, false) => "-inf",
            });
        }
    }

    fn cell(&mut self, text: &[u8]) {
        let special = |b: &u8| matches!(b, b'"' | b'\n' | b'\r') | (*b == self.delimiter);
        if text.iter().fold(false, |any, b| any | special(b)) {
            self.quoted(text);
        } else {
            self.out.text.extend_from_slice(text);
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        self.out.text.push(b'"');
        let mut rest = text;
        while let Some((head, tail)) = memchr::memchr(b'"', rest).map(|i| rest.split_at(i + 1)) {
            self.out.text.extend_from_slice(head);
            self.out.text.push(b'"');
            rest = tail;
        }
        self.out.text.extend_from_slice(rest);
        self.out.text.push(b'"');
    }
}

fn no_text(column: usize, row: usize) -> Error {
    Error::data("value_out_of_range", format!("the value in row {row} of this batch has no text form"))
        .part(column_label(column, None))
}
