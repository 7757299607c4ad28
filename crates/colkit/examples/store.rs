//! Reads an object of a store without blocking: `--example store s3://bucket/trades.lance`.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

#[tokio::main]
async fn main() -> colkit::Result<()> {
    let url = std::env::args().nth(1).unwrap_or("s3://bucket/trades.lance".into());
    let file = colkit::open_url(&url).await?;
    let mut batches = file.scan().columns(["sym", "price"]).filter("price > 100").stream()?;
    while let Some(batch) = batches.next().await {
        println!("{} rows", batch?.num_rows());
    }
    Ok(())
}
