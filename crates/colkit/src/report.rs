//! What is known about files, as JSON: one form for the command, the explorer and whoever else prints it.

use crate::hosted::HostedFile;
use crate::{Cell, ColumnStats, Difference, OpenFile, TableStats, Verdict, type_name};
use arrow::datatypes::SchemaRef;
use colkit_core::{Checksums, Error, Layout, PluginNeed, PluginState, Result};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// What a file is made of.
#[derive(Serialize)]
#[non_exhaustive]
pub struct FileReport {
    /// The file's name.
    pub file: String,
    /// Its format.
    pub format: &'static str,
    /// Facts about the format and this file.
    #[serde(serialize_with = "as_map")]
    pub properties: Vec<(&'static str, String)>,
    /// Its length in bytes.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub columns: Vec<ColumnReport>,
    /// Bytes outside column data: headers, metadata, padding, gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_bytes: Option<u64>,
    /// Bytes that belong to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_bytes: Option<u64>,
    /// Plugins that columns need.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginReport>,
    /// The byte map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// A column of a file.
#[derive(Serialize)]
#[non_exhaustive]
pub struct ColumnReport {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it may hold nulls.
    pub nullable: bool,
    /// Bytes of its data as stored, if the byte map is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes: Option<u64>,
    /// Bytes of its data once decoded, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_bytes: Option<u64>,
    /// How it is encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// A plugin that columns need.
#[derive(Serialize)]
#[non_exhaustive]
pub struct PluginReport {
    /// The encoding that it decodes.
    pub name: String,
    /// Whether it is there.
    pub state: PluginState,
    /// The SHA-256 of the plugin that is loaded, or that the file brings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The columns.
    pub columns: Vec<String>,
}

impl PluginReport {
    fn new(need: &PluginNeed, columns: &[ColumnReport]) -> Self {
        let names = need.columns.iter().filter_map(|c| Some(columns.get(*c)?.name.clone()));
        PluginReport {
            name: need.name.clone(),
            state: need.state,
            sha256: need.sha256.clone(),
            columns: names.collect(),
        }
    }
}

fn as_map<S: Serializer>(pairs: &[(&'static str, String)], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

impl FileReport {
    /// What a file is made of, as its byte map says.
    pub fn new(file: &OpenFile, layout: Layout) -> Self {
        let report = FileReport {
            file: file.input().name().into(),
            format: file.format().name(),
            properties: file.properties(),
            bytes: file.bytes(),
            rows: file.row_count(),
            columns: columns(&file.schema()),
            other_bytes: None,
            gap_bytes: None,
            plugins: Vec::new(),
            layout: None,
        };
        report.with_layout(layout, &file.schema())
    }

    /// What is known about a file without its byte map.
    pub fn of_hosted(file: &HostedFile) -> Self {
        FileReport {
            file: file.name().into(),
            format: file.format().name(),
            properties: file.properties(),
            bytes: file.bytes(),
            rows: file.row_count(),
            columns: columns(&file.schema()),
            other_bytes: None,
            gap_bytes: None,
            plugins: Vec::new(),
            layout: None,
        }
    }

    /// The same with the byte map, and what that says about columns.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout, schema: &SchemaRef) -> Self {
        let regions = layout.columns(schema.fields(), self.rows);
        for (column, regions) in self.columns.iter_mut().zip(regions) {
            column.stored_bytes = Some(regions.stored_bytes);
            column.raw_bytes = regions.raw_bytes;
            column.encoding = (!regions.encodings.is_empty()).then(|| regions.encodings.join(", "));
        }
        let stored = self.columns.iter().filter_map(|c| c.stored_bytes).sum();
        self.other_bytes = Some(layout.size.saturating_sub(stored));
        self.gap_bytes = Some(layout.gaps().map(|g| g.range.len()).sum());
        self.plugins = layout.plugins.iter().map(|need| PluginReport::new(need, &self.columns)).collect();
        self.layout = Some(layout);
        self
    }

    /// The same without the byte map.
    #[must_use]
    pub fn without_layout(self) -> Self {
        FileReport { layout: None, ..self }
    }
}

fn columns(schema: &SchemaRef) -> Vec<ColumnReport> {
    let column = |field: &arrow::datatypes::FieldRef| ColumnReport {
        name: field.name().clone(),
        kind: type_name(field.data_type()),
        nullable: field.is_nullable(),
        stored_bytes: None,
        raw_bytes: None,
        encoding: None,
    };
    schema.fields().iter().map(column).collect()
}

/// An error.
#[derive(Serialize)]
#[non_exhaustive]
pub struct ErrorReport<'a> {
    /// What kind of trouble.
    pub class: &'a str,
    /// Its stable name.
    pub code: &'a str,
    /// What happened.
    pub message: &'a str,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'a str>,
    /// The byte of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'a str>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl<'a> ErrorReport<'a> {
    /// An error, and what to do about it in the words of who shows it.
    pub fn new(error: &'a Error, hint: Option<String>) -> Self {
        ErrorReport {
            class: error.class().name(),
            code: error.code(),
            message: error.message(),
            file: error.file_name(),
            offset: error.offset(),
            part: error.part_name(),
            hint,
        }
    }
}

/// What checking a file gave, with hints in the words of who shows them.
pub fn verdict(verdict: &Verdict, hint: impl Fn(&Error) -> Option<String>) -> Value {
    json!({
        "file": verdict.file,
        "valid": verdict.is_valid(),
        "format": verdict.format,
        "bytes": verdict.bytes,
        "rows": verdict.rows,
        "columns": verdict.columns,
        "checked": verdict.checked,
        "checksums": verdict.checksums.as_ref().map(Checksums::name),
        "coverage": verdict.checksums.as_ref().map(Checksums::to_string),
        "findings": verdict.findings,
        "errors": verdict.errors.iter().map(|e| ErrorReport::new(e, hint(e))).collect::<Vec<_>>(),
    })
}

/// How two files of these names differ.
pub fn difference(left: &str, right: &str, difference: &Difference) -> Result<Value> {
    let mut document = json!({"left": left, "right": right, "equal": difference.is_equal()});
    let report = serde_json::to_value(difference).map_err(std::io::Error::from)?;
    if let (Some(document), Value::Object(report)) = (document.as_object_mut(), report) {
        document.extend(report);
    }
    Ok(document)
}

/// What is known about the columns of a file of this name and format.
pub fn statistics(file: &str, format: &str, stats: &TableStats) -> Result<Value> {
    let columns = stats.columns.iter().map(column_statistics).collect::<Result<Vec<_>>>()?;
    Ok(json!({"file": file, "format": format, "rows": stats.rows, "columns": columns}))
}

fn column_statistics(column: &ColumnStats) -> Result<Value> {
    let value = |cell: &Cell| -> Result<Value> { Ok(serde_json::from_str(&cell.json()?).unwrap_or(Value::Null)) };
    let mut all = Map::new();
    all.insert("name".into(), column.name.clone().into());
    all.insert("type".into(), type_name(&column.data_type).into());
    all.insert("rows".into(), column.rows.into());
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            all.insert(name.into(), value);
        }
    };
    put("nulls", column.nulls.map(Value::from));
    put("nan", column.nans.map(Value::from));
    let distinct = column.distinct.map(|n| match n.exact {
        true => json!({"value": n.value, "exact": true}),
        false => json!({"value": n.value, "exact": false, "standard_error": n.error}),
    });
    put("distinct", distinct);
    put("min", column.min.as_ref().map(value).transpose()?);
    put("max", column.max.as_ref().map(value).transpose()?);
    put("mean", column.mean.as_ref().map(value).transpose()?);
    put("std", column.std.map(Value::from));
    if let Some(quantiles) = &column.quantiles {
        let mut values = Map::new();
        values.insert("exact".into(), quantiles.exact.into());
        for (share, cell) in &quantiles.values {
            values.insert(quantile_name(*share), value(cell)?);
        }
        put("quantiles", Some(values.into()));
    }
    if let Some(top) = &column.top {
        let values = top.values.iter().map(|(cell, n)| Ok(json!({"value": value(cell)?, "count": n})));
        put("top", Some(json!({"exact": top.exact, "values": values.collect::<Result<Vec<_>>>()?})));
    }
    put("histogram", column.histogram.as_ref().map(|h| json!({"exact": h.exact, "counts": h.counts})));
    put("lengths", column.lengths.map(|l| json!({"shortest": l.shortest, "longest": l.longest, "mean": l.mean})));
    Ok(all.into())
}

/// What a quantile is called: `p25`.
pub fn quantile_name(share: f64) -> String {
    format!("p{}", share * 100.0)
}
