//! What contestants answer, and the one form in which answers are compared.

use crate::contest::Result;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, TimeUnit};
use std::sync::Arc;

/// Batches in the version of arrow that the contestant speaks, bytes, or a file.
pub enum Answer {
    Arrow59(Vec<RecordBatch>),
    Arrow58(Vec<arrow58::array::RecordBatch>),
    Bytes(Vec<u8>),
    /// A file that was written.
    File(String),
    /// Nothing was kept: the answer stayed in another process.
    Elsewhere,
}

impl Answer {
    /// Bytes of the file that was written.
    pub fn size(&self) -> Option<u64> {
        match self {
            Answer::File(path) => std::fs::metadata(path).ok().map(|m| m.len()),
            _ => None,
        }
    }
}

/// An answer in plain types.
#[derive(PartialEq)]
pub enum Normal {
    Table(RecordBatch),
    Bytes(Vec<u8>),
}

impl Normal {
    pub fn table(batches: &[RecordBatch]) -> Result<Normal> {
        let first = batches.first().ok_or("no batch")?;
        let whole = arrow::compute::concat_batches(&first.schema(), batches)?;
        let columns = whole.columns().iter().map(plain).collect::<Result<Vec<_>>>()?;
        let names = whole.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
        let named = names.into_iter().zip(columns).map(|(n, c)| (n, c, true));
        Ok(Normal::Table(RecordBatch::try_from_iter_with_nullable(named)?))
    }

    /// Where another answer differs, to find out why.
    pub fn unlike(&self, other: &Normal) -> String {
        let (Normal::Table(a), Normal::Table(b)) = (self, other) else { return String::new() };
        if a.num_rows() != b.num_rows() {
            return format!(": {} rows, not {}", b.num_rows(), a.num_rows());
        }
        if a.schema() != b.schema() {
            return format!(": {:?}, not {:?}", b.schema().fields(), a.schema().fields());
        }
        let differs = |i: &usize| a.column(*i) != b.column(*i);
        let places: Vec<usize> = (0..a.num_columns()).filter(differs).collect();
        format!(": columns {places:?}")
    }
}

/// A table among answers; a file that was written is read by `read`.
pub fn normal(answer: Answer, read: &dyn Fn(&str) -> Result<Vec<RecordBatch>>) -> Result<Normal> {
    match answer {
        Answer::Arrow59(batches) => Normal::table(&batches),
        Answer::Arrow58(batches) => Normal::table(&carried_over(&batches)?),
        Answer::File(path) => Normal::table(&read(&path)?),
        Answer::Bytes(bytes) => Ok(Normal::Bytes(bytes)),
        Answer::Elsewhere => Err("there is no answer".into()),
    }
}

pub fn carried_over(batches: &[arrow58::array::RecordBatch]) -> Result<Vec<RecordBatch>> {
    let first = batches.first().ok_or("no batch")?;
    let mut writer = arrow58::ipc::writer::StreamWriter::try_new(Vec::new(), &first.schema())?;
    for batch in batches {
        writer.write(batch)?;
    }
    let bytes = writer.into_inner()?;
    Ok(arrow::ipc::reader::StreamReader::try_new(bytes.as_slice(), None)?.collect::<std::result::Result<_, _>>()?)
}

/// Tools differ in taste where values do not: views or text, lists with a fixed or any length, units of time.
fn plain(column: &ArrayRef) -> Result<ArrayRef> {
    let to = match column.data_type() {
        DataType::Utf8View | DataType::LargeUtf8 | DataType::Dictionary(_, _) => DataType::Utf8,
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::Timestamp(_, _) => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Decimal128(_, scale) => DataType::Decimal128(38, *scale),
        DataType::FixedSizeList(item, _) | DataType::List(item) | DataType::LargeList(item) => {
            DataType::List(Arc::new(Field::new("item", item.data_type().clone(), true)))
        }
        other => other.clone(),
    };
    Ok(arrow::compute::cast(column, &to)?)
}
