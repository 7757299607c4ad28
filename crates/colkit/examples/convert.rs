//! Converts a file to another format. `--example write` makes the file.

#![allow(clippy::print_stdout, reason = "an example shows what it did")]

fn main() -> colkit::Result<()> {
    let converted = colkit::convert("trades.lance", "trades.parquet")?;
    println!("{} rows, {} bytes", converted.rows, converted.output_bytes);
    Ok(())
}
