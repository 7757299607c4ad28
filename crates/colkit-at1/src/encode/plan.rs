//! How a text is encoded: the half of a codec that writes, and what it has to know about the text in advance.

use super::groups::Settings;
use super::lines;
use super::sample::Sample;
use super::whole::EncodedStreams;
use crate::codec::Codec;
use colkit_core::Result;

/// The half of a codec that writes. Whether its streams give the text back is seen by restoring them, not believed.
pub trait Encoder {
    /// What is worth trying on a text that begins like this, if it looks like one for this codec. Other codecs may be among
    /// it: a sample decides.
    fn sniff(&self, _: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        None
    }

    /// What has to be known to encode a text that begins like this, whether it suits the codec or not.
    fn layout(&self, _: &Sample<'_>) -> Layout {
        Layout::None
    }

    /// The streams of a text. Any text can be encoded, if perhaps not well.
    fn encode(&self, text: &[u8], layout: Layout, settings: &Settings) -> Result<EncodedStreams>;

    /// For codecs that need not hold the whole text: takes it line by line. `sample_lines` gives lines from all over it.
    fn line_encoder(
        &self,
        _sample_lines: &dyn Fn() -> Result<Vec<u8>>,
        _: Layout,
        _: &Settings,
    ) -> Result<Option<Box<dyn LineEncoder>>> {
        Ok(None)
    }

    /// Whether a long text can be cut, at line ends or between elements, and each part encoded on its own.
    fn can_be_cut(&self) -> bool {
        true
    }

    /// The codec that holds the same in fewer bytes, but not for queries.
    fn without_queries(&self) -> Option<Codec> {
        None
    }
}

/// Takes a text line by line.
pub trait LineEncoder {
    /// Appends a line.
    fn line(&mut self, line: &[u8]) -> Result<()>;

    /// All streams. `trailing`: whether a line end follows the last line.
    fn finish(self: Box<Self>, trailing: bool) -> Result<EncodedStreams>;
}

/// Gives the lines of a text to an encoder.
pub fn encode_lines(mut encoder: Box<dyn LineEncoder>, text: &[u8]) -> Result<EncodedStreams> {
    let (lines, trailing) = lines::split(text);
    lines.into_iter().try_for_each(|line| encoder.line(line))?;
    encoder.finish(trailing)
}

/// How sure a codec is that a text is one for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It may be.
    Guess,
    /// Most of its lines look like it.
    Likely,
    /// It begins with the syntax.
    Structure,
    /// It begins with a signature.
    Signature,
}

/// What a codec must know in advance about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Nothing.
    None,
    /// How it is a table.
    Table(TableLayout),
    /// An array: the bytes before the first element, and the bytes of each.
    Array {
        /// Bytes before the first element.
        header: usize,
        /// Bytes of an element.
        width: usize,
    },
}

/// How a table is written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLayout {
    /// What is between fields.
    pub delimiter: u8,
    /// Whether the first line names the columns.
    pub header: bool,
    /// The number of columns; lines with more fields are kept as they are.
    pub columns: usize,
}

impl TableLayout {
    /// That of a text that is no table.
    pub const ONE_COLUMN: Self = TableLayout { delimiter: b',', header: false, columns: 1 };
}

impl Layout {
    /// That of a table.
    pub fn table(self) -> TableLayout {
        match self {
            Layout::Table(table) => table,
            Layout::None | Layout::Array { .. } => TableLayout::ONE_COLUMN,
        }
    }

    /// That of what follows the first part of a text.
    fn continued(self) -> Self {
        match self {
            Layout::Table(table) => Layout::Table(TableLayout { header: false, ..table }),
            Layout::Array { width, .. } => Layout::Array { header: 0, width },
            Layout::None => Layout::None,
        }
    }
}

/// A codec with what it must know in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The codec.
    pub codec: Codec,
    /// What it must know.
    pub layout: Layout,
}

impl Plan {
    /// A codec that need not know anything.
    pub fn of(codec: Codec) -> Self {
        Plan { codec, layout: Layout::None }
    }

    /// A codec for tables.
    pub fn table(codec: Codec, table: TableLayout) -> Self {
        Plan { codec, layout: Layout::Table(table) }
    }

    /// The plan for a codec that was asked for.
    pub fn for_codec(codec: Codec, sample: &Sample<'_>) -> Self {
        // A text is no bundle.
        let codec = if codec == Codec::Bundle { Codec::Raw } else { codec };
        Plan { codec, layout: codec.coder().layout(sample) }
    }

    /// The plans worth trying on a text: those of the codec that is surest, by its number if several are.
    pub fn candidates(sample: &Sample<'_>) -> Vec<Self> {
        let mut best: Option<(Confidence, Vec<Plan>)> = None;
        for codec in Codec::ALL {
            if let Some(found) = codec.coder().sniff(sample)
                && best.as_ref().is_none_or(|(confidence, _)| found.0 > *confidence)
            {
                best = Some(found);
            }
        }
        best.map_or_else(|| vec![Plan::of(Codec::Raw)], |(_, plans)| plans)
    }

    /// The plan that holds the same as this one in fewer bytes, but not for queries.
    pub fn without_queries(self) -> Option<Self> {
        Some(Plan { codec: self.codec.coder().without_queries()?, ..self })
    }

    /// The plan for what follows the first part of a text.
    pub fn continued(self) -> Self {
        Plan { layout: self.layout.continued(), ..self }
    }

    /// The streams of a text that is in memory.
    pub fn encode(self, text: &[u8], settings: &Settings) -> Result<EncodedStreams> {
        self.codec.coder().encode(text, self.layout, settings)
    }
}
