//! How files are read.

use super::{FormatName, LimitArgs};
use crate::human::parse_size;
use clap::{Args, ValueEnum};
use colkit::{DateFormat, Quote, TextEncoding};
use std::num::NonZeroUsize;

/// How files are read.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Reading")]
pub struct ReadingArgs {
    /// Input format, or lines to read any text as one column [default: detected from the content]
    #[arg(long, value_name = "FORMAT", value_parser = FormatName::read(), hide_possible_values = true)]
    pub from: Option<String>,
    /// CSV: field delimiter: one character, or tab, semicolon, pipe, space [default: found]
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    pub delimiter: Option<u8>,
    /// CSV: character around cells: one character, or none [default: found]
    #[arg(long, value_name = "CHAR|none", value_parser = parse_quote)]
    pub quote: Option<Quote>,
    /// CSV: whether the first line has the column names; without them, they are c0, c1, ... [default: found]
    #[arg(long, value_name = "YES|NO")]
    pub header: Option<YesNo>,
    /// CSV: the same as --header no
    #[arg(long, conflicts_with = "header")]
    pub no_header: bool,
    /// Text: encoding, such as utf-16, windows-1252 or latin1 [default: found]
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    pub encoding: Option<TextEncoding>,
    /// CSV: decimal separator: a point or a comma [default: found]
    #[arg(long, value_name = "CHAR", value_parser = parse_decimal)]
    pub decimal: Option<u8>,
    /// CSV: character between groups of three digits, such as . or , or '
    #[arg(long, value_name = "CHAR")]
    pub thousands: Option<char>,
    /// CSV: format of dates, such as %d.%m.%Y or '%m/%d/%Y %H:%M' [default: found, beside ISO 8601]
    #[arg(long, value_name = "FORMAT", value_parser = parse_date_format)]
    pub date_format: Option<DateFormat>,
    /// CSV, NDJSON: column types, such as id:int32,note:string, instead of inferring them
    #[arg(long, value_name = "NAME:TYPE,...")]
    pub schema: Option<String>,
    /// CSV: values read as null, such as NA,-; empty cells are null except in string columns
    #[arg(long, value_name = "WORDS", value_delimiter = ',', allow_hyphen_values = true)]
    pub null_values: Vec<String>,
    /// CSV: fill in missing trailing fields instead of failing
    #[arg(long)]
    pub pad_short_rows: bool,
    /// Rename duplicate column names (a, a_2, ...) instead of failing
    #[arg(long)]
    pub rename_duplicates: bool,
    /// Lance: skip checksum verification while reading
    #[arg(long)]
    pub no_checksums: bool,
    /// Maximum memory to use
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_size)]
    pub memory: u64,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[cfg(feature = "plugins")]
    #[command(flatten)]
    pub plugins: super::PluginArgs,
}

/// A delimiter by its character or its name.
pub fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "comma" => Ok(b','),
        "semicolon" => Ok(b';'),
        "pipe" => Ok(b'|'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
            _ => Err("expected one ASCII character other than a quote or line break, or a name such as tab".into()),
        },
    }
}

fn parse_quote(text: &str) -> Result<Quote, String> {
    match (text, text.as_bytes()) {
        ("none", _) => Ok(Quote::Never),
        ("double", _) => Ok(Quote::Char(b'"')),
        ("single", _) => Ok(Quote::Char(b'\'')),
        (_, [byte]) if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Ok(Quote::Char(*byte)),
        _ => Err("expected one ASCII character other than a line break, or none".into()),
    }
}

fn parse_encoding(text: &str) -> Result<TextEncoding, String> {
    TextEncoding::named(text).map_err(|e| e.message().to_string())
}

fn parse_decimal(text: &str) -> Result<u8, String> {
    match text {
        "," | "comma" => Ok(b','),
        "." | "point" => Ok(b'.'),
        _ => Err("expected a point or a comma".into()),
    }
}

fn parse_date_format(text: &str) -> Result<DateFormat, String> {
    DateFormat::parse(text).map_err(|e| e.message().to_string())
}

/// Yes or no.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum YesNo {
    /// Yes
    Yes,
    /// No
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_characters_or_names() {
        assert_eq!(parse_delimiter("tab"), Ok(b'\t'));
        assert_eq!(parse_delimiter("\\t"), Ok(b'\t'));
        assert_eq!(parse_delimiter(";"), Ok(b';'));
        assert_eq!(parse_quote("'"), Ok(Quote::Char(b'\'')));
        assert_eq!(parse_quote("none"), Ok(Quote::Never));
        assert!(parse_quote("''").is_err() && parse_quote("").is_err());
        assert!(parse_delimiter("::").is_err() && parse_delimiter("\"").is_err() && parse_delimiter("é").is_err());
    }
}
