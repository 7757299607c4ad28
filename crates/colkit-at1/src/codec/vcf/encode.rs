//! Vcf (5), written. See [`super`] for the streams.

use super::FIELDS;
use super::Vcf;
use crate::codec::Codec;
use crate::encode::groups::Settings;
use crate::encode::lines;
use crate::encode::plan::{Confidence, Encoder, Layout, Plan};
use crate::encode::put::{Joined, Vocabulary, put_deltas, put_lp, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use crate::number::parse_int;
use colkit_core::Result;
use std::collections::HashMap;

impl Encoder for Vcf {
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        if !sample.is_text() || !sample.head.starts_with(b"##fileformat=VCF") {
            return None;
        }
        let table = sample.table_after_comments().map(|table| Plan::table(Codec::Columnar, table));
        Some((Confidence::Signature, [Plan::of(Codec::Vcf)].into_iter().chain(table).collect()))
    }

    fn encode(&self, text: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        Ok(encode(text).into())
    }
}

/// The streams of a file of variant calls.
fn encode(text: &[u8]) -> Vec<Stream> {
    let (lines, trailing) = lines::split(text);
    let is_variant = |line: &&[u8]| !line.starts_with(b"#");
    let mut widths: HashMap<usize, usize> = HashMap::new();
    for line in lines.iter().copied().filter(is_variant) {
        *widths.entry(memchr::memchr_iter(b'\t', line).count() + 1).or_insert(0) += 1;
    }
    widths.retain(|width, _| *width > FIELDS.len());
    let width = widths.into_iter().max_by_key(|(width, uses)| (*uses, *width)).map(|(width, _)| width);
    let is_row = |line: &[u8]| {
        !line.starts_with(b"#") && width.is_some_and(|w| memchr::memchr_iter(b'\t', line).count() + 1 == w)
    };
    let samples = width.map_or(0, |w| w - FIELDS.len());
    let rows = || lines.iter().copied().filter(|l| is_row(l));
    let mut uses: HashMap<&[u8], u64> = HashMap::new();
    for token in rows().flat_map(|l| l.split(|b| *b == b'\t').skip(FIELDS.len())) {
        *uses.entry(token).or_insert(0) += 1;
    }
    let most_used = uses.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)));
    let ref_token = most_used.map(|(token, _)| token).unwrap_or_default();
    let position = |line: &[u8]| line.split(|b| *b == b'\t').nth(1).and_then(parse_int);
    let positions: Option<Vec<i64>> = rows().map(position).collect();
    let mut tokens = Vocabulary::default();
    let mut columns: [Joined; FIELDS.len()] = Default::default();
    let (mut flags, mut genotypes, mut verbatim) = (Vec::with_capacity(lines.len()), Vec::new(), Joined::default());
    let mut differing: Vec<(u64, u64)> = Vec::new();
    for line in &lines {
        let structured = is_row(line);
        flags.push(u8::from(structured));
        if !structured {
            verbatim.push(line);
            continue;
        }
        let mut fields = line.split(|b| *b == b'\t');
        columns.iter_mut().zip(&mut fields).for_each(|(column, cell)| column.push(cell));
        differing.clear();
        let mut before = 0;
        for (i, token) in (0u64..).zip(fields).filter(|(_, token)| *token != ref_token) {
            differing.push((i - before, tokens.number(token)));
            before = i;
        }
        put_uv(differing.len() as u64, &mut genotypes);
        for (step, token) in &differing {
            put_uv(*step, &mut genotypes);
            put_uv(*token, &mut genotypes);
        }
    }
    let mut meta = Vec::new();
    put_uv(lines.len() as u64, &mut meta);
    meta.push(u8::from(trailing));
    put_uv(samples as u64, &mut meta);
    let deltas = positions.filter(|p| !p.is_empty());
    meta.push(u8::from(deltas.is_some()));
    put_lp(ref_token, &mut meta);
    put_uv(tokens.texts().len() as u64, &mut meta);
    tokens.texts().for_each(|t| put_lp(t, &mut meta));
    let mut streams = vec![
        Stream::new("meta", meta),
        Stream::new("flags", flags),
        Stream::new("verbatim", verbatim.into_bytes()),
        Stream::new("gt", genotypes),
    ];
    for (name, column) in FIELDS.iter().zip(columns) {
        let bytes = match &deltas {
            Some(values) if *name == "pos" => {
                let mut bytes = Vec::new();
                put_deltas(values.iter().copied(), &mut bytes);
                bytes
            }
            _ => column.into_bytes(),
        };
        streams.push(Stream::new(*name, bytes));
    }
    streams
}
