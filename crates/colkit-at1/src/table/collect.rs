//! The tables in the codecs that are unpacked as a whole.
//!
//! | codec    | columns |
//! |----------|---------|
//! | columnar | one per column, named by the header line |
//! | vcf      | the nine fields and one per sample, named by the `#CHROM` line |
//! | ssh      | month, day, time, host, pid, template, message |
//! | log      | line, template, variables |
//! | json     | one per key of the outermost object |

use super::rows::{Rows, append, header_names};
use super::text::json_text;
use crate::codec::columnar::{Columnar, Row};
use crate::codec::columns::Cell;
use crate::codec::{json, log, ssh, vcf};
use crate::container::Codec;
use crate::stream_set::Streams;
use arrow::array::{ArrayRef, ListBuilder, StringBuilder};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use colkit_core::plan::batch_of;
use colkit_core::{Error, Limits, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Collects the rows of one or several stream sets of a codec.
pub struct Collector {
    codec: Codec,
    limits: Limits,
    rows: Rows,
    log: LogColumns,
    /// The delimiter and the kind of line end of the last table.
    delimiter: Option<Vec<u8>>,
    crlf: bool,
    /// Columns by key and how often the key came before in its object.
    keys: HashMap<(Vec<u8>, usize), usize>,
    header_lines: usize,
    /// The last line is not ended; nothing may follow.
    unended: bool,
}

impl Collector {
    /// Whether the codec has rows.
    pub fn knows(codec: Codec) -> bool {
        matches!(codec, Codec::Columnar | Codec::Vcf | Codec::Ssh | Codec::Log | Codec::Json)
    }

    /// For a file of this codec.
    pub fn new(codec: Codec, limits: &Limits) -> Self {
        Collector {
            codec,
            limits: limits.clone(),
            rows: Rows::new(limits),
            log: LogColumns::default(),
            delimiter: None,
            crlf: false,
            keys: HashMap::new(),
            header_lines: 0,
            unended: false,
        }
    }

    fn begin(&mut self, trailing: bool) -> Result<()> {
        if std::mem::replace(&mut self.unended, !trailing) {
            let message = "a frame ends in the middle of a line, so its rows cannot be told apart";
            return Err(Error::unsupported("no_table_view", message).hint("unpack the file instead"));
        }
        Ok(())
    }

    /// Adds the rows of a stream set.
    pub fn push(&mut self, streams: &Streams) -> Result<()> {
        match self.codec {
            Codec::Columnar => self.columnar(streams),
            Codec::Vcf => self.vcf(streams),
            Codec::Ssh => self.ssh(streams),
            Codec::Log => self.log(streams),
            Codec::Json => self.json(streams),
            codec => Err(Error::unsupported("no_table_view", format!("{} has no rows", codec.name()))),
        }
    }

    /// Adds the lines of a frame that was not taken apart.
    pub fn push_raw(&mut self, text: &[u8]) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.begin(text.ends_with(b"\n"))?;
        if self.codec == Codec::Log {
            let lines = text.strip_suffix(b"\n").unwrap_or(text);
            return lines.split(|b| *b == b'\n').try_for_each(|line| self.log.push(line, None, &self.limits));
        }
        self.rows.push_raw(text, self.delimiter.as_deref())
    }

    /// The table, and what else is to be said about it.
    pub fn finish(self) -> Result<(RecordBatch, Vec<(&'static str, String)>)> {
        if self.codec == Codec::Log {
            return Ok((self.log.finish()?, Vec::new()));
        }
        let properties = vec![
            ("header_lines", self.header_lines.to_string()),
            ("lines_not_taken_apart", self.rows.verbatim().to_string()),
        ];
        Ok((self.rows.finish()?, properties))
    }

    fn columnar(&mut self, streams: &Streams) -> Result<()> {
        let memory = crate::codec::columnar::Chunks::open(streams)?.memory();
        Limits::check_memory("the columns in memory", memory, self.limits.memory)?;
        let table = Columnar::open(streams)?;
        self.begin(table.trailing())?;
        self.rows.widen(table.width())?;
        self.delimiter = Some(table.delimiter.to_vec());
        if let Some(header) = table.header {
            if self.rows.has_names() || self.rows.len() > 0 {
                // Only the first line of a file can be its header; a later one is a line like others.
                self.rows.push_line(header)?;
            } else {
                self.crlf = header.ends_with(b"\r");
                self.header_lines = 1;
                self.rows.set_names(header_names(header, table.delimiter))?;
            }
        }
        for piece in 0..table.pieces() {
            table.visit(piece, |_, row, cursors| match row {
                Row::Verbatim(line) => self.rows.push_line(line),
                Row::Fields(fields) => {
                    for (i, (cell, _)) in table.cells(fields, cursors).enumerate() {
                        let Some(column) = self.rows.column(i) else { continue };
                        match cell {
                            Cell::Int(n) => column.push_int(n),
                            Cell::Fixed(n, 0) => column.push(format!("{n}.").as_bytes()),
                            Cell::Fixed(n, scale) => column.push_fixed(n, scale),
                            Cell::Text(text) if self.crlf && i + 1 == fields => {
                                column.push(text.strip_suffix(b"\r").unwrap_or(text));
                            }
                            Cell::Text(text) => column.push(text),
                        }
                    }
                    self.rows.finish_row()
                }
            })?;
        }
        Ok(())
    }

    fn vcf(&mut self, streams: &Streams) -> Result<()> {
        let table = vcf::Vcf::open(streams)?;
        Limits::check_memory("the samples in memory", table.cells().saturating_mul(9), self.limits.memory)?;
        self.begin(table.meta.trailing)?;
        let width = usize::try_from(table.samples).unwrap_or(usize::MAX).saturating_add(vcf::FIELDS.len());
        self.limits.check_columns(width as u64)?;
        let mut names = Vec::new();
        table.visit(|line| match line {
            // Header lines come before the first variant; the last of them names the columns.
            vcf::Line::Verbatim(text) if text.starts_with(b"#") && self.rows.len() == 0 => {
                self.header_lines += 1;
                names = header_names(text.strip_prefix(b"#").unwrap_or(text), b"\t");
                Ok(())
            }
            vcf::Line::Verbatim(text) => self.rows.push_line(text),
            vcf::Line::Variant(fields, samples) => {
                if !self.rows.has_names() {
                    let own = std::mem::take(&mut names);
                    self.rows.set_names(if own.len() == width { own } else { default_vcf_names(width) })?;
                }
                self.rows.widen(width)?;
                for (i, field) in fields.into_iter().enumerate() {
                    match (self.rows.column(i), field) {
                        (Some(column), vcf::Field::Int(n)) => column.push_int(n),
                        (Some(column), vcf::Field::Text(text)) => column.push(text),
                        (None, _) => {}
                    }
                }
                let mut i = vcf::FIELDS.len();
                samples.visit(|sample| {
                    if let Some(column) = self.rows.column(i) {
                        column.push(sample);
                    }
                    i += 1;
                    Ok(())
                })?;
                self.rows.finish_row()
            }
        })
    }

    fn ssh(&mut self, streams: &Streams) -> Result<()> {
        let table = ssh::Ssh::open(streams)?;
        self.begin(table.meta.trailing)?;
        if !self.rows.has_names() {
            let names = ["month", "day", "time", "host", "pid", "template", "message"];
            self.rows.set_names(names.map(String::from).to_vec())?;
        }
        table.visit(|line| match line {
            ssh::Line::Verbatim(text) => self.rows.push_line(text),
            ssh::Line::Entry { columns: [month, day, time, host], pid, message } => {
                let mut text = Vec::new();
                message.print(|piece| {
                    text.extend_from_slice(piece);
                    Ok(())
                })?;
                let template = match message {
                    ssh::Message::Templated(template, _) => Some(template),
                    ssh::Message::Plain(_) => None,
                };
                let texts = [Some(month), None, Some(time), Some(host), None, template, Some(&text[..])];
                for (i, cell) in texts.into_iter().enumerate() {
                    if let (Some(column), Some(cell)) = (self.rows.column(i), cell) {
                        column.push_text(cell);
                    }
                }
                if let Some(column) = self.rows.column(1) {
                    column.push(day.trim_ascii_start());
                }
                if let Some(column) = self.rows.column(4) {
                    match i64::try_from(pid) {
                        Ok(pid) => column.push_int(pid),
                        Err(_) => column.push(pid.to_string().as_bytes()),
                    }
                }
                self.rows.finish_row()
            }
        })
    }

    fn log(&mut self, streams: &Streams) -> Result<()> {
        let lines = log::Log::open(streams)?;
        self.begin(lines.meta.trailing)?;
        lines.visit(|line| match line {
            log::Line::Verbatim(text) => self.log.push(text, None, &self.limits),
            log::Line::Templated(template, vars) => {
                let markers = memchr::memchr_iter(0, template).count();
                let vars = (0..markers).map(|_| vars.take()).collect::<Result<Vec<_>>>()?;
                self.log.push(&[], Some((template, &vars)), &self.limits)
            }
        })
    }

    fn json(&mut self, streams: &Streams) -> Result<()> {
        let lines = json::Json::open(streams)?;
        self.begin(lines.meta.trailing)?;
        let mut printer = JsonRows { to: self, line: Vec::new(), starts: Vec::new(), verbatim: None };
        lines.print(&mut printer)?;
        printer.finish_line()
    }
}

fn default_vcf_names(width: usize) -> Vec<String> {
    let fields = vcf::FIELDS.iter().map(|name| name.to_uppercase());
    fields.chain((0..width.saturating_sub(vcf::FIELDS.len())).map(|i| format!("sample_{i}"))).collect()
}

/// The columns of a log: `line`, `template` with its variables shown as `<*>`, and the `variables`.
#[derive(Default)]
struct LogColumns {
    line: StringBuilder,
    template: StringBuilder,
    variables: ListBuilder<StringBuilder>,
    bytes: u64,
    scratch: String,
}

impl LogColumns {
    fn push(&mut self, line: &[u8], templated: Option<(&[u8], &[&[u8]])>, limits: &Limits) -> Result<()> {
        let mut whole = line.to_vec();
        let mut shown = Vec::new();
        if let Some((template, vars)) = templated {
            let mut vars = vars.iter();
            for (i, piece) in template.split(|b| *b == 0).enumerate() {
                if i > 0 {
                    whole.extend_from_slice(vars.next().copied().unwrap_or_default());
                    shown.extend_from_slice(b"<*>");
                }
                whole.extend_from_slice(piece);
                shown.extend_from_slice(piece);
            }
        }
        // Latin-1 may double a cell, and offsets are 32 bits wide.
        self.bytes += 2 * (whole.len() + shown.len()) as u64 + 24;
        Limits::check_memory("the table in memory", self.bytes, limits.memory.min(1 << 30))?;
        append(&mut self.line, &whole, &mut self.scratch);
        match templated {
            None => {
                self.template.append_null();
                self.variables.append(false);
            }
            Some((_, vars)) => {
                append(&mut self.template, &shown, &mut self.scratch);
                for var in vars {
                    append(self.variables.values(), var, &mut self.scratch);
                }
                self.variables.append(true);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let arrays: Vec<ArrayRef> =
            vec![Arc::new(self.line.finish()), Arc::new(self.template.finish()), Arc::new(self.variables.finish())];
        let field = |(name, array): (&str, &ArrayRef)| Field::new(name, array.data_type().clone(), name != "line");
        let fields: Vec<Field> = ["line", "template", "variables"].into_iter().zip(&arrays).map(field).collect();
        let rows = arrays.first().map_or(0, |a| a.len());
        batch_of(&Arc::new(Schema::new(fields)), arrays, rows)
    }
}

/// Cuts printed lines at the keys of their outermost object.
struct JsonRows<'c> {
    to: &'c mut Collector,
    line: Vec<u8>,
    /// Each key, and where its value begins.
    starts: Vec<(Vec<u8>, usize)>,
    /// What kind of line is being printed, if any.
    verbatim: Option<bool>,
}

impl JsonRows<'_> {
    fn finish_line(&mut self) -> Result<()> {
        let Some(verbatim) = self.verbatim.take() else { return Ok(()) };
        if verbatim || !self.line.starts_with(b"{") {
            return self.to.rows.push_line(&self.line);
        }
        let starts = std::mem::take(&mut self.starts);
        // A value ends before the comma, the next key and its colon; the last one before the brace.
        let ends = starts.iter().skip(1).map(|(key, start)| start - key.len() - 2);
        let ends: Vec<usize> = ends.chain([self.line.len() - 1]).collect();
        let mut seen: HashMap<Vec<u8>, usize> = HashMap::with_capacity(starts.len());
        for ((key, start), end) in starts.into_iter().zip(ends) {
            let repeat = seen.entry(key.clone()).and_modify(|n| *n += 1).or_insert(0);
            let column = self.column(key, *repeat)?;
            let value = self.line.get(start..end).unwrap_or_default();
            let Some(column) = self.to.rows.column(column) else { continue };
            match (value.first(), json_text(value)) {
                (_, None) => column.fill(column.len() + 1),
                (Some(b'"' | b'{' | b'['), Some(text)) => column.push_text(&text),
                (_, Some(text)) => column.push(&text),
            }
        }
        self.to.rows.finish_row()
    }

    /// The column of a key; a key that repeats in one object has a column for each time.
    fn column(&mut self, key: Vec<u8>, repeat: usize) -> Result<usize> {
        let next = self.to.keys.len();
        match self.to.keys.entry((key, repeat)) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(new) => {
                let name = super::text::text(&json_text(&new.key().0).unwrap_or_default());
                new.insert(next);
                self.to.rows.add_name(name)?;
                Ok(next)
            }
        }
    }
}

impl json::Printer for JsonRows<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.line.extend_from_slice(bytes);
        Limits::check_memory("a line", self.line.len() as u64, self.to.limits.value_bytes.min(self.to.limits.memory))
    }

    fn key(&mut self, key: &[u8]) -> Result<()> {
        self.starts.push((key.to_vec(), self.line.len()));
        Ok(())
    }

    fn line(&mut self, verbatim: bool) -> Result<()> {
        self.finish_line()?;
        self.line.clear();
        self.starts.clear();
        self.verbatim = Some(verbatim);
        Ok(())
    }
}
