//! Writes Arrow batches to a file, in the format that its extension stands for.

#![allow(clippy::print_stdout, reason = "an example shows what it did")]

use colkit::arrow::array::{ArrayRef, Float64Array, StringArray};
use colkit::arrow::record_batch::{RecordBatch, RecordBatchIterator};
use std::sync::Arc;

fn main() -> colkit::Result<()> {
    let sym: ArrayRef = Arc::new(StringArray::from(vec!["BTC", "ETH", "SOL", "ADA"]));
    let price: ArrayRef = Arc::new(Float64Array::from(vec![64000.5, 3100.25, 99.5, 0.4]));
    let batch = RecordBatch::try_from_iter([("sym", sym), ("price", price)])?;
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    let written = colkit::write("trades.lance", reader)?;
    println!("{} rows, {} bytes", written.rows, written.bytes);
    Ok(())
}
