//! Asks a file in SQL. `cargo run -p colkit --example write` makes the file.

use colkit_sql::datafusion::error::Result;

#[tokio::main]
async fn main() -> Result<()> {
    let rows = colkit_sql::query("SELECT sym, price FROM 'trades.lance' ORDER BY price LIMIT 2").await?;
    rows.show().await
}
