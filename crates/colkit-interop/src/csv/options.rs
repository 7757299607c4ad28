//! How CSV is read and written.

use super::tokens::Dialect;
use crate::text::{Pieces, record_limit};
use arrow::datatypes::{DataType, TimeUnit};
use colkit_core::cells::{Inference, Spelling, is_cell_type};
use colkit_core::{Error, Limits, Result};

/// How CSV is read and written. Writing only looks at `delimiter` and `header`, and quotes by `"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// What stands between cells: one ASCII character.
    pub delimiter: u8,
    /// What may stand around a cell; `None` if nothing does.
    pub quote: Option<u8>,
    /// The first line has the names. Without it they are `c0`, `c1`, ... and the first line is a row.
    pub header: bool,
    /// Types of some columns, instead of what their cells suggest: integers, floats, decimals, text, bool, dates,
    /// timestamps.
    pub schema: Vec<(String, DataType)>,
    /// How the types of the others follow from their cells. Unless told otherwise, by the rules for targets that have no
    /// nulls: int32, float64, bool and text.
    pub inference: Inference,
    /// How numbers and dates are written.
    pub spelling: Spelling,
    /// What is found by looking at the whole file.
    pub look_for: LookFor,
    /// Rows with too few fields get empty cells at their end instead of being refused.
    pub pad_short_rows: bool,
    /// Columns whose names repeat are renamed (`a`, `a_2`, ...) instead of being refused.
    pub rename_duplicates: bool,
    /// In what pieces files are read.
    #[doc(hidden)]
    pub pieces: Pieces,
}

/// What is found by looking at the whole file, instead of being what [`CsvOptions`] say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookFor {
    /// What stands between cells: the option, a comma, tab, semicolon or bar.
    pub delimiter: bool,
    /// Whether the first line has the names.
    pub header: bool,
    /// Whether cells stand in single quotes instead.
    pub quote: bool,
    /// Whether there are no cells, as in a log. Then the table has one column, `line`.
    pub lines: bool,
    /// Decimal commas, and dates in other formats, where one spelling fits a column and no other does.
    pub spelling: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions {
            delimiter: b',',
            quote: Some(b'"'),
            header: true,
            schema: Vec::new(),
            inference: Inference::plain(),
            spelling: Spelling::default(),
            look_for: LookFor::default(),
            pad_short_rows: false,
            rename_duplicates: false,
            pieces: Pieces::default(),
        }
    }
}

impl CsvOptions {
    /// The dialect, if the options make sense.
    pub(super) fn dialect(&self, limits: &Limits) -> Result<Dialect> {
        if !self.delimiter.is_ascii() || matches!(self.delimiter, b'"' | b'\r' | b'\n' | 0) {
            return Err(Error::request(
                "bad_delimiter",
                format!("{:?} cannot separate cells", char::from(self.delimiter)),
            )
            .hint("use one ASCII character other than a quote or a line end"));
        }
        if let Some(quote) = self.quote
            && (!quote.is_ascii() || matches!(quote, b'\r' | b'\n' | 0) || quote == self.delimiter)
        {
            return Err(Error::request("bad_quote", format!("{:?} cannot stand around cells", char::from(quote)))
                .hint("use one ASCII character other than the delimiter or a line end"));
        }
        for (name, data_type) in &self.schema {
            if !is_cell_type(data_type) {
                return Err(Error::request("no_such_type", format!("column {name:?} cannot be read as {data_type}"))
                    .hint(format!("types are {}", type_names())));
            }
        }
        let record_bytes = usize::try_from(record_limit(limits)).unwrap_or(usize::MAX);
        let CsvOptions { delimiter, quote, pad_short_rows, .. } = *self;
        Ok(Dialect { delimiter, quote, pad_short_rows, perhaps: None, record_bytes })
    }
}

/// The types a column can be given, by name.
const TYPES: [(&str, DataType); 8] = [
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint64", DataType::UInt64),
    ("float64", DataType::Float64),
    ("string", DataType::Utf8),
    ("bool", DataType::Boolean),
    ("date", DataType::Date32),
    ("timestamp", DataType::Timestamp(TimeUnit::Microsecond, None)),
];

/// A type as messages call it.
pub(super) fn type_name(data_type: &DataType) -> String {
    let named = TYPES.iter().find(|(_, t)| t == data_type);
    named.map_or_else(|| data_type.to_string(), |(name, _)| (*name).to_string())
}

fn type_names() -> String {
    TYPES.map(|(name, _)| name).join(", ")
}

/// Reads types as a person writes them: `id:int32,name:string`. It is a CSV record, so a name with a comma is put in
/// quotes together with its type: `"last, first:string"`. The last colon counts.
pub fn parse_schema(text: &str) -> Result<Vec<(String, DataType)>> {
    let bad = |message: String| {
        Err(Error::request("bad_column_types", message)
            .hint("write name:type, separated by commas, as in id:int32,name:string"))
    };
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let dialect = CsvOptions::default().dialect(&Limits::default())?;
    let (cells, end) = match dialect.first(text.as_bytes(), 0, text.len() + 1, true) {
        Ok(record) => record.unwrap_or_default(),
        Err(fault) => return bad(fault.error.message().to_string()),
    };
    if end != text.len() {
        return bad("more than one line".into());
    }
    let mut schema: Vec<(String, DataType)> = Vec::with_capacity(cells.len());
    for cell in cells {
        let mut entry = Vec::new();
        cell.text(text.as_bytes()).append_to(&mut entry);
        let entry = String::from_utf8_lossy(&entry);
        let Some((name, type_text)) = entry.rsplit_once(':') else {
            return bad(format!("{entry:?} has no colon"));
        };
        let Some((_, data_type)) = TYPES.iter().find(|(known, _)| *known == type_text.trim()) else {
            return Err(Error::request("no_such_type", format!("column {name:?}: there is no type {type_text:?}"))
                .hint(format!("types are {}", type_names())));
        };
        if schema.iter().any(|(known, _)| known == name) {
            return bad(format!("column {name:?} is there twice"));
        }
        schema.push((name.to_string(), data_type.clone()));
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_read_as_people_write_them() {
        let named = |name: &str, t| (name.to_string(), t);
        assert_eq!(
            parse_schema("id:int32,\"last, first:string\",a:b:float64,:bool").unwrap(),
            [
                named("id", DataType::Int32),
                named("last, first", DataType::Utf8),
                named("a:b", DataType::Float64),
                named("", DataType::Boolean)
            ]
        );
        assert_eq!(parse_schema("").unwrap(), []);
        let code = |text| parse_schema(text).unwrap_err().code();
        assert_eq!(code("id"), "bad_column_types");
        assert_eq!(code("a:int32,a:bool"), "bad_column_types");
        assert_eq!(code("a:int32\nb:bool"), "bad_column_types");
        assert_eq!(code("\"a:int32"), "bad_column_types");
        let error = parse_schema("a:int").unwrap_err();
        assert_eq!(error.code(), "no_such_type");
        let types = "int32, int64, uint64, float64, string, bool, date, timestamp";
        assert!(error.advice().unwrap().to_string().contains(types), "{error}");
    }
}
