//! Limits on what a file may demand: output size, columns, nesting.

use crate::human::parse_size;
use clap::Args;
use colkit::Limits;

/// Limits other than memory. The defaults are generous; lower them for untrusted files.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Maximum decompressed size of a file [default: 16 TiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub limit_output: Option<u64>,
    /// Maximum ratio of decompressed to stored size, beyond the first GiB [default: 1048576]
    #[arg(long, value_name = "N")]
    pub limit_expansion: Option<u64>,
    /// Maximum number of columns [default: 1048576]
    #[arg(long, value_name = "N")]
    pub limit_columns: Option<u64>,
    /// Maximum nesting depth of types and JSON documents [default: 100]
    #[arg(long, value_name = "N")]
    pub limit_nesting: Option<u32>,
    /// Maximum size of a column or field name [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub limit_name: Option<u64>,
    /// Maximum size of one value [default: 2G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub limit_value: Option<u64>,
    /// Maximum rows per batch [default: 1048576]
    #[arg(long, value_name = "N")]
    pub limit_batch_rows: Option<usize>,
}

impl LimitArgs {
    /// All limits, with this much memory.
    pub fn with_memory(&self, memory: u64) -> Limits {
        let default = Limits::default();
        Limits {
            memory,
            output_bytes: self.limit_output.unwrap_or(default.output_bytes),
            expansion: self.limit_expansion.unwrap_or(default.expansion),
            columns: self.limit_columns.unwrap_or(default.columns),
            nesting: self.limit_nesting.unwrap_or(default.nesting),
            name_bytes: self.limit_name.unwrap_or(default.name_bytes),
            value_bytes: self.limit_value.unwrap_or(default.value_bytes),
            batch_rows: self.limit_batch_rows.unwrap_or(default.batch_rows),
        }
    }
}
