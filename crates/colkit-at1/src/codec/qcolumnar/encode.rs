//! Qcolumnar (7), written row by row. See [`crate::queryable::shape`] for the streams.

use super::Qcolumnar;
use crate::codec::Codec;
use crate::encode::groups::{CellsOf, Finished, Given, Groups, Settings};
use crate::encode::lines::{field_count, fields, is_csv};
use crate::encode::plan::{Confidence, Encoder, Layout, LineEncoder, Plan, TableLayout, encode_lines};
use crate::encode::put::{Joined, put_lp, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use crate::queryable::typing::{self, Typing};
use colkit_core::{Error, Result};

impl Encoder for Qcolumnar {
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        let table = sample.certain_table().filter(|_| sample.queryable)?;
        Some((Confidence::Likely, vec![Plan::table(Codec::Qcolumnar, table)]))
    }

    fn layout(&self, sample: &Sample<'_>) -> Layout {
        Layout::Table(sample.any_table())
    }

    fn encode(&self, text: &[u8], layout: Layout, settings: &Settings) -> Result<EncodedStreams> {
        encode_lines(Box::new(TableEncoder::new(layout.table(), settings.clone())), text)
    }

    fn line_encoder(
        &self,
        _: &dyn Fn() -> Result<Vec<u8>>,
        layout: Layout,
        settings: &Settings,
    ) -> Result<Option<Box<dyn LineEncoder>>> {
        Ok(Some(Box::new(TableEncoder::new(layout.table(), settings.clone()))))
    }

    fn without_queries(&self) -> Option<Codec> {
        Some(Codec::Columnar)
    }
}

/// Takes lines and makes a queryable table of them.
pub struct TableEncoder {
    table: TableLayout,
    groups: Groups,
    group_rows: usize,
    modes: Vec<u8>,
    verbatim: Joined,
    /// So far the lines are a CSV file: a header, and a record on each line.
    is_csv: bool,
    /// The header ends with CR.
    crlf: bool,
}

/// More lines that are not rows than this are no table any more.
const MOST_VERBATIM: usize = 128 << 20;

impl TableEncoder {
    /// No lines yet.
    pub fn new(table: TableLayout, settings: Settings) -> Self {
        let group_rows = settings.group_rows;
        TableEncoder {
            table,
            groups: Groups::new(table.columns, settings),
            group_rows,
            modes: Vec::new(),
            verbatim: Joined::default(),
            is_csv: table.header,
            crlf: false,
        }
    }

    /// Columns of these types, whatever is in them.
    pub fn with_types(self, types: Vec<Given>) -> Self {
        TableEncoder { groups: self.groups.with_types(types), is_csv: false, ..self }
    }

    /// Appends a line that is not a row.
    pub fn verbatim(&mut self, line: &[u8]) -> Result<()> {
        self.modes.push(0);
        self.verbatim.push(line);
        if self.verbatim.bytes().len() > MOST_VERBATIM {
            return Err(Error::data("too_irregular", "too many lines do not have the columns of the others"));
        }
        Ok(())
    }

    /// Appends a row, cell by cell: texts without line end, quoted where they need it.
    pub fn row<'c>(&mut self, cells: impl Iterator<Item = &'c [u8]>) -> Result<()> {
        self.modes.push(1);
        self.groups.push(cells)
    }

    /// The rows so far, to be written in another way.
    pub fn into_rows(self) -> Result<Finished> {
        self.groups.finish()
    }
}

impl LineEncoder for TableEncoder {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<()> {
        let TableLayout { delimiter, columns, header } = self.table;
        let is_header = header && self.modes.is_empty();
        let is_row = field_count(line, delimiter) == columns;
        if is_header {
            self.crlf = line.ends_with(b"\r");
            self.groups.text = CellsOf::Csv { crlf: self.crlf };
            self.is_csv &= !line.starts_with(b"\xEF\xBB\xBF");
        }
        self.is_csv = self.is_csv && is_row && is_csv(line, delimiter, columns, self.crlf);
        if is_header || !is_row {
            return self.verbatim(line);
        }
        self.modes.push(1);
        self.groups.push(fields(line, self.table.delimiter).map(|f| f.raw))
    }

    fn finish(self: Box<Self>, trailing: bool) -> Result<EncodedStreams> {
        let mut meta = Vec::new();
        put_uv(self.modes.len() as u64, &mut meta);
        meta.push(u8::from(trailing));
        put_lp(&[self.table.delimiter], &mut meta);
        let finished = self.groups.finish()?;
        finished.put_meta(self.group_rows, &mut meta);
        let mut streams = vec![
            Stream::new("meta", meta),
            Stream::new("row_modes", self.modes),
            Stream::new("verbatim", self.verbatim.into_bytes()),
            Stream::new("index", finished.index),
        ];
        let typing = finished.cells.filter(|_| self.is_csv).map(Typing::Text);
        streams.extend(typing.map(|typing| Stream::new(typing::NAME, typing.to_bytes())));
        Ok(EncodedStreams { streams, stored: vec![("blocks".into(), finished.blocks)] })
    }
}
