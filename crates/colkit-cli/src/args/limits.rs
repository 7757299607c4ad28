//! What a file may make the command do.

use crate::human::parse_size;
use clap::Args;
use colkit::Limits;

/// Ceilings beyond memory. The defaults are generous; files from strangers deserve less.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Bytes that a file may unpack to [default: 16 TiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub limit_output: Option<u64>,
    /// Bytes that may come out for each byte of a file, beyond the first GiB [default: 1048576]
    #[arg(long, value_name = "N")]
    pub limit_expansion: Option<u64>,
    /// Columns of a table [default: 1048576]
    #[arg(long, value_name = "N")]
    pub limit_columns: Option<u64>,
    /// Levels of nesting in types and documents [default: 100]
    #[arg(long, value_name = "N")]
    pub limit_nesting: Option<u32>,
    /// Bytes of a name [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub limit_name: Option<u64>,
    /// Bytes of a value [default: 2G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub limit_value: Option<u64>,
    /// Rows read at a time [default: 1048576]
    #[arg(long, value_name = "N")]
    pub limit_batch_rows: Option<usize>,
}

impl LimitArgs {
    /// All ceilings, with this much memory.
    pub fn with_memory(&self, memory: u64) -> Limits {
        let usual = Limits::default();
        Limits {
            memory,
            output_bytes: self.limit_output.unwrap_or(usual.output_bytes),
            expansion: self.limit_expansion.unwrap_or(usual.expansion),
            columns: self.limit_columns.unwrap_or(usual.columns),
            nesting: self.limit_nesting.unwrap_or(usual.nesting),
            name_bytes: self.limit_name.unwrap_or(usual.name_bytes),
            value_bytes: self.limit_value.unwrap_or(usual.value_bytes),
            batch_rows: self.limit_batch_rows.unwrap_or(usual.batch_rows),
        }
    }
}
