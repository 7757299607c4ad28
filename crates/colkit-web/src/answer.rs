//! What the host is told, in the JSON of the command.

use crate::hints::hint;
use colkit::arrow::record_batch::RecordBatch;
use colkit::core::json::encoder;
use colkit::hosted::HostedFile;
use colkit::report::{ErrorReport, FileReport};
use colkit::{Error, Result};
use serde::Serialize;
use serde_json::{Value, json};

/// What went wrong.
pub fn problem(error: &Error) -> Vec<u8> {
    serde_json::to_vec(&ErrorReport::new(error, hint(error))).unwrap_or_default()
}

/// Any document.
pub fn document(value: &impl Serialize) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(value).map_err(std::io::Error::from)?)
}

/// The document with whole numbers that JavaScript would round as texts.
pub fn without_large_numbers(value: Value) -> Value {
    const EXACT: u64 = 1 << 53;
    match value {
        Value::Number(number) => match (number.as_i64().map(i64::unsigned_abs), number.as_u64()) {
            (Some(large), _) | (None, Some(large)) if large > EXACT => number.to_string().into(),
            _ => number.into(),
        },
        Value::Array(items) => items.into_iter().map(without_large_numbers).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, without_large_numbers(value))).collect()
        }
        other => other,
    }
}

/// What a file is, and how much of it was read if that is not all.
pub fn inspection(report: FileReport, file: &HostedFile) -> Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Sample {
        bytes: u64,
    }
    #[derive(Serialize)]
    struct Inspection {
        #[serde(flatten)]
        report: FileReport,
        #[serde(skip_serializing_if = "Option::is_none")]
        sample: Option<Sample>,
    }
    document(&Inspection { report, sample: file.start().map(|bytes| Sample { bytes }) })
}

/// Rows: a line of JSON with the names of the columns, the number of each row and the first row not looked at; then a line for
/// each cell, row by row.
pub fn rows(batch: &RecordBatch, numbers: &[u64], next: Option<u64>) -> Result<Vec<u8>> {
    let schema = batch.schema();
    let columns: Vec<&String> = schema.fields().iter().map(|f| f.name()).collect();
    let mut head = json!({"columns": columns, "numbers": numbers});
    if let (Some(head), Some(next)) = (head.as_object_mut(), next) {
        head.insert("next".into(), Value::from(next));
    }
    let mut out = document(&head)?;
    let encoders = batch.columns().iter().map(encoder).collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        for encode in &encoders {
            out.push(b'\n');
            encode(row, &mut out)?;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_all_their_digits() {
        let document = json!({"min": [-9007199254740993_i64, 1.5, 7], "max": u64::MAX});
        let expected = json!({"min": ["-9007199254740993", 1.5, 7], "max": "18446744073709551615"});
        assert_eq!(without_large_numbers(document), expected);
    }
}
