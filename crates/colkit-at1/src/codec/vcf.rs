//! Vcf (5): variant calls, with genotypes that mostly equal one token.
//!
//! | stream     | content |
//! |------------|---------|
//! | `meta`     | `uv` nlines, byte trailing, `uv` nsamp, byte pos_delta, `lp` ref_token, `uv` n, n x `lp` token |
//! | `flags`    | nlines bytes: 0 verbatim, 1 a variant |
//! | `chrom` `pos` `id` `ref` `alt` `qual` `filter` `info` `format` | cells; `pos` is `sv` deltas if pos_delta is 1 |
//! | `gt`       | per variant: `uv` n, n x (`uv` step, `uv` token): the samples that differ from ref_token |
//! | `verbatim` | cells |
//!
//! A line is its nine fields, each followed by TAB, then the samples joined with TAB.

#[cfg(feature = "write")]
mod encode;
mod rows;

use super::{Coder, LineMeta, View};
use crate::cursor::{Cells, Cursor};
use crate::number::push_int;
use crate::output::Output;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use crate::table::rows::collect;
use colkit_core::Result;

/// The codec.
pub struct Vcf;

impl Coder for Vcf {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        host.print(|out| print(streams, out))
    }

    fn view(&self) -> View {
        View::Rows(collect::<rows::VariantRows>)
    }
}

/// The streams of the nine fields, as the header line names them.
const FIELDS: [&str; 9] = ["chrom", "pos", "id", "ref", "alt", "qual", "filter", "info", "format"];

enum Positions<'a> {
    Text(Cells<'a>),
    Deltas(Cursor<'a>, i64),
}

/// One of the nine fields of a line.
#[derive(Clone, Copy)]
pub enum Field<'a> {
    /// As it is.
    Text(&'a [u8]),
    /// A position.
    Int(i64),
}

/// The lines of the file.
struct Lines<'a> {
    /// Lines and last line end.
    meta: LineMeta,
    /// Samples per line.
    pub samples: u64,
    ref_token: &'a [u8],
    tokens: Vec<&'a [u8]>,
    flags: &'a [u8],
    before_pos: Cells<'a>,
    positions: Positions<'a>,
    after_pos: [Cells<'a>; 7],
    genotypes: Cursor<'a>,
    verbatim: Cells<'a>,
}

/// A line of the file.
pub enum Line<'a, 'l> {
    /// Not taken apart.
    Verbatim(&'a [u8]),
    /// A variant.
    Variant([Field<'a>; 9], Samples<'a, 'l>),
}

/// The samples of a variant: all of them must be taken.
pub struct Samples<'a, 'l> {
    vcf: &'l mut Lines<'a>,
}

impl<'a> Lines<'a> {
    /// Reads the streams.
    pub fn open(streams: &'a Streams) -> Result<Self> {
        let mut meta = streams.cursor("meta");
        let lines = LineMeta::read(&mut meta)?;
        let samples = meta.uv()?;
        let pos_delta = meta.flag("pos_delta")?;
        let ref_token = meta.lp()?;
        let tokens = meta.texts("tokens")?;
        meta.finish()?;
        let [chrom, _, id, reference, alt, qual, filter, info, format] = FIELDS;
        let positions =
            if pos_delta { Positions::Deltas(streams.cursor("pos"), 0) } else { Positions::Text(streams.cells("pos")) };
        Ok(Lines {
            flags: streams.per_line("flags", lines.lines, 1)?,
            meta: lines,
            samples,
            ref_token,
            tokens,
            before_pos: streams.cells(chrom),
            positions,
            after_pos: [id, reference, alt, qual, filter, info, format].map(|name| streams.cells(name)),
            genotypes: streams.cursor("gt"),
            verbatim: streams.cells("verbatim"),
        })
    }

    /// How many samples there are in all.
    pub fn cells(&self) -> u64 {
        (self.flags.iter().filter(|f| **f == 1).count() as u64).saturating_mul(self.samples)
    }

    fn fields(&mut self) -> Result<[Field<'a>; 9]> {
        let chrom = self.before_pos.take()?;
        let pos = match &mut self.positions {
            Positions::Text(cells) => Field::Text(cells.take()?),
            Positions::Deltas(deltas, sum) => {
                *sum = sum.wrapping_add(deltas.sv()?);
                Field::Int(*sum)
            }
        };
        let mut fields = [Field::Text(chrom), pos, pos, pos, pos, pos, pos, pos, pos];
        for (field, column) in fields.iter_mut().skip(2).zip(&mut self.after_pos) {
            *field = Field::Text(column.take()?);
        }
        Ok(fields)
    }

    /// Goes through the lines.
    pub fn visit(mut self, mut visit: impl FnMut(Line<'a, '_>) -> Result<()>) -> Result<()> {
        for flag in self.flags {
            if *flag == 0 {
                visit(Line::Verbatim(self.verbatim.take()?))?;
            } else {
                let fields = self.fields()?;
                visit(Line::Variant(fields, Samples { vcf: &mut self }))?;
            }
        }
        if let Positions::Deltas(deltas, _) = &self.positions {
            deltas.finish()?;
        }
        self.genotypes.finish()
    }
}

impl<'a> Samples<'a, '_> {
    /// Gives each sample in order.
    pub fn visit(self, mut visit: impl FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
        let Lines { samples, ref_token, tokens, genotypes, .. } = self.vcf;
        let samples = *samples;
        let before = genotypes.clone();
        let differing = genotypes.uv()?;
        if differing > samples {
            return Err(before.corrupt("bad_count", format!("{differing} genotypes for {samples} samples")));
        }
        let mut next = 0u64;
        for i in 0..differing {
            let before = genotypes.clone();
            let step = genotypes.uv()?;
            // The first step counts from the first sample, the others from the last one that differed.
            let sample = if i == 0 { Some(step) } else { (next - 1).checked_add(step).filter(|s| *s >= next) };
            let Some(sample) = sample.filter(|s| *s < samples) else {
                return Err(before.corrupt("bad_index", format!("a genotype {step} samples further, of {samples}")));
            };
            let token = genotypes.index("token", tokens.len())?;
            (next..sample).try_for_each(|_| visit(ref_token))?;
            visit(tokens.get(token).copied().unwrap_or_default())?;
            next = sample + 1;
        }
        (next..samples).try_for_each(|_| visit(ref_token))
    }
}

fn print(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
    let vcf = Lines::open(streams)?;
    // Every sample takes at least the TAB before it.
    out.announce(vcf.cells())?;
    let meta = vcf.meta;
    let mut first = true;
    vcf.visit(|line| {
        out.line_end(&mut first)?;
        match line {
            Line::Verbatim(text) => out.put(text),
            Line::Variant(fields, samples) => {
                for field in fields {
                    match field {
                        Field::Text(text) => out.put(text)?,
                        Field::Int(n) => out.with(|buffer| push_int(n, buffer))?,
                    }
                    out.put(b"\t")?;
                }
                let mut first = true;
                samples.visit(|sample| {
                    if !std::mem::replace(&mut first, false) {
                        out.put(b"\t")?;
                    }
                    out.put(sample)
                })
            }
        }
    })?;
    meta.finish(out)
}
