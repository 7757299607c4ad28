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
