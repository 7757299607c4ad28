//! Scans two columns of a file, where a condition holds. `--example write` makes the file.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

fn main() -> colkit::Result<()> {
    let file = colkit::open("trades.lance")?;
    for batch in file.scan().columns(["sym", "price"]).filter("price > 100").batches()? {
        println!("{} rows", batch?.num_rows());
    }
    Ok(())
}
