//! Takes two rows of a file by their numbers. `--example write` makes the file.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use colkit::arrow::util::pretty::pretty_format_batches;

fn main() -> colkit::Result<()> {
    let file = colkit::open("trades.lance")?;
    let rows = file.take([3, 0]).columns(["sym", "price"]).batch()?;
    println!("{}", pretty_format_batches(&[rows])?);
    Ok(())
}
