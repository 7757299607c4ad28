//! JSON in text columns: `js -> 'a'`, `js ->> '$.a.b[0]'`, `json_extract(js, '$.a')` and the like.
//!
//! `->` and `json_extract` give JSON as text, just as it is written there; `->>` and `json_extract_string` give text without
//! quotes. What is missing is null. Text that is not JSON is an error.

mod operators;
mod path;
mod scan;

pub(crate) use operators::Arrows;

use crate::error::external;
use arrow::array::{Array, ArrayRef, AsArray, BooleanBuilder, Int64Builder, StringBuilder, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use path::Path;
use scan::{element_count, kind, unquoted};
use std::sync::Arc;

/// All functions.
pub(crate) fn functions() -> Vec<ScalarUDF> {
    [Answer::Json, Answer::Text, Answer::Valid, Answer::Length, Answer::Kind]
        .map(|a| JsonFunction::new(a).into())
        .into()
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Answer {
    Json,
    Text,
    Valid,
    Length,
    Kind,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonFunction {
    answer: Answer,
    aliases: Vec<String>,
    signature: Signature,
}

impl JsonFunction {
    fn new(answer: Answer) -> Self {
        let aliases: &[&str] = match answer {
            Answer::Json => &["json_extract_path", "json_get"],
            Answer::Text => &["json_extract_path_text", "json_get_str", "json_value"],
            Answer::Valid | Answer::Length | Answer::Kind => &[],
        };
        let aliases = aliases.iter().map(ToString::to_string).collect();
        JsonFunction { answer, aliases, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for JsonFunction {
    fn name(&self) -> &str {
        match self.answer {
            Answer::Json => "json_extract",
            Answer::Text => "json_extract_string",
            Answer::Valid => "json_valid",
            Answer::Length => "json_array_length",
            Answer::Kind => "json_type",
        }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.answer {
            Answer::Json | Answer::Text | Answer::Kind => DataType::Utf8,
            Answer::Valid => DataType::Boolean,
            Answer::Length => DataType::Int64,
        })
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name();
        let (least, most) = match self.answer {
            Answer::Json | Answer::Text => (2, 2),
            Answer::Valid => (1, 1),
            Answer::Length | Answer::Kind => (1, 2),
        };
        if !(least..=most).contains(&types.len()) {
            return plan_err!("{name} takes {most} arguments: a text and a path such as '$.a.b[0]'");
        }
        let coerced = types.iter().enumerate().map(|(place, data_type)| match data_type {
            DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(DataType::Utf8View),
            number if place == 1 && number.is_integer() => Ok(DataType::Utf8View),
            other => plan_err!("{name} takes text, found {}", colkit::type_name(&colkit::without_views(other))),
        });
        coerced.collect()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let mut arrays = args.args.iter().map(|value| -> Result<StringViewArray> {
            let array = value.clone().into_array(rows)?;
            Ok(cast(&array, &DataType::Utf8View)?.as_string_view().clone())
        });
        let Some(texts) = arrays.next().transpose()? else { return exec_err!("{} needs a text", self.name()) };
        let paths = Paths::new(arrays.next().transpose()?, args.args.get(1));
        let answer = self.answer(&texts, &paths)?;
        let constant = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        if constant && !answer.is_empty() {
            return Ok(ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&answer, 0)?));
        }
        Ok(ColumnarValue::Array(answer))
    }
}

impl JsonFunction {
    fn answer(&self, texts: &StringViewArray, paths: &Paths) -> Result<ArrayRef> {
        if self.answer == Answer::Valid {
            let mut out = BooleanBuilder::with_capacity(texts.len());
            texts.iter().for_each(|text| out.append_option(text.map(|t| scan::check(t).is_ok())));
            return Ok(Arc::new(out.finish()));
        }
        let found = |row: usize| -> Result<Option<&str>> {
            if texts.is_null(row) {
                return Ok(None);
            }
            let text = texts.value(row);
            scan::check(text).map_err(|why| not_json(text, &why))?;
            paths.find(row, text)
        };
        if self.answer == Answer::Length {
            let mut out = Int64Builder::with_capacity(texts.len());
            for row in 0..texts.len() {
                out.append_option(found(row)?.and_then(element_count));
            }
            return Ok(Arc::new(out.finish()));
        }
        let mut out = StringBuilder::with_capacity(texts.len(), 0);
        for row in 0..texts.len() {
            let value = found(row)?;
            match self.answer {
                Answer::Text => out.append_option(value.and_then(unquoted)),
                Answer::Kind => out.append_option(value.map(kind)),
                _ => out.append_option(value),
            }
        }
        Ok(Arc::new(out.finish()))
    }
}

fn not_json(text: &str, why: &str) -> datafusion::error::DataFusionError {
    let shown: String = text.chars().take(60).collect();
    let dots = if shown.len() < text.len() { "..." } else { "" };
    let error = colkit::Error::data("not_json", format!("expected JSON, found {shown:?}{dots}: {why}"));
    external(error.hint("CASE WHEN json_valid(x) THEN x -> 'a' END leaves out what is not JSON"))
}

/// The path for each row: the same for all, or one of its own.
enum Paths {
    Whole,
    Same(Option<Path>),
    Each(StringViewArray),
}

impl Paths {
    fn new(paths: Option<StringViewArray>, typed: Option<&ColumnarValue>) -> Self {
        match (paths, typed) {
            (None, _) => Paths::Whole,
            (Some(paths), Some(ColumnarValue::Scalar(_))) if !paths.is_empty() => {
                Paths::Same(paths.is_valid(0).then(|| Path::parse(paths.value(0))))
            }
            (Some(paths), _) => Paths::Each(paths),
        }
    }

    fn find<'a>(&self, row: usize, text: &'a str) -> Result<Option<&'a str>> {
        Ok(match self {
            Paths::Whole => Some(text.trim()),
            Paths::Same(path) => path.as_ref().and_then(|path| path.find(text)),
            Paths::Each(paths) if paths.is_null(row) => None,
            Paths::Each(paths) => Path::parse(paths.value(row)).find(text),
        })
    }
}
