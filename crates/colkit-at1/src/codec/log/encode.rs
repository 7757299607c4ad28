//! Log (3), written. See [`super`] for the streams.
//!
//! A line is cut into words and what is between them. Words with a digit are variables, the rest is the template. Where
//! templates differ in one word only, and there are many of them, that word becomes a variable too.

use super::Log;
use crate::codec::Codec;
use crate::encode::groups::Settings;
use crate::encode::lines;
use crate::encode::plan::{Confidence, Encoder, Layout, Plan};
use crate::encode::put::{Joined, Vocabulary, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use colkit_core::Result;
use std::collections::HashMap;

impl Encoder for Log {
    /// Any lines may be a log; or a table after all.
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        sample.text_lines()?;
        let table = |codec| sample.table().map(|table| Plan::table(codec, table));
        let mut plans: Vec<Plan> = table(Codec::Qcolumnar).into_iter().filter(|_| sample.queryable).collect();
        plans.extend(table(Codec::Columnar));
        plans.push(Plan::of(Codec::Log));
        // Requests, referrers and agents of an access log stand in quotes, with spaces in them.
        let tables = [b' ', b'"', b':'].into_iter().filter_map(|delimiter| sample.widest_table(delimiter));
        plans.extend(tables.map(|table| Plan::table(Codec::Columnar, table)));
        Some((Confidence::Guess, plans))
    }

    fn encode(&self, text: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        Ok(encode(text).into())
    }
}

/// Whether a byte separates words.
fn separates(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'='
            | b','
            | b';'
            | b':'
            | b'['
            | b']'
            | b'('
            | b')'
            | b'"'
            | b'\''
            | b'/'
            | b'\r'
            | b'<'
            | b'>'
            | b'{'
            | b'}'
            | b'|'
            | b'?'
            | b'&'
    )
}

/// A line as the ranges of its words.
fn words(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = line.get(at..)?;
        let start = at + rest.iter().position(|b| !separates(*b))?;
        let word = line.get(start..)?;
        let length = word.iter().position(|b| separates(*b)).unwrap_or(word.len());
        at = start + length;
        Some((start, line.get(start..at)?))
    })
}

fn is_variable(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit)
}

/// Builds a template, and collects the variables.
fn template<'a>(line: &'a [u8], variable: impl Fn(usize, &[u8]) -> bool, out: &mut Vec<u8>, vars: &mut Vec<&'a [u8]>) {
    out.clear();
    vars.clear();
    let mut at = 0;
    for (i, (start, word)) in words(line).enumerate() {
        out.extend_from_slice(line.get(at..start).unwrap_or_default());
        if variable(i, word) {
            out.push(0);
            vars.push(word);
        } else {
            out.extend_from_slice(word);
        }
        at = start + word.len();
    }
    out.extend_from_slice(line.get(at..).unwrap_or_default());
}

/// A template needs so many uses to be worth its place.
const FEWEST_USES: u32 = 2;
/// A rare template is one with fewer uses than this; its words are candidates for variables.
const RARE: u32 = 8;

/// The streams of a log.
fn encode(text: &[u8]) -> Vec<Stream> {
    let (lines, trailing) = lines::split(text);
    let (mut key, mut vars) = (Vec::new(), Vec::new());
    let mut uses: HashMap<Vec<u8>, u32> = HashMap::new();
    for line in lines.iter().filter(|l| memchr::memchr(0, l).is_none()) {
        template(line, |_, word| is_variable(word), &mut key, &mut vars);
        match uses.get_mut(&key[..]) {
            Some(count) => *count += 1,
            None => {
                uses.insert(key.clone(), 1);
            }
        }
    }
    // Lines of rare templates get a second, coarser template: every word but the first is a variable unless it is
    // frequent at its place among the rare lines.
    let rare = |key: &[u8]| uses.get(key).is_some_and(|n| *n < RARE);
    let mut frequent: HashMap<(usize, Vec<u8>), u32> = HashMap::new();
    let mut rare_lines = 0u32;
    for line in lines.iter().filter(|l| memchr::memchr(0, l).is_none()) {
        template(line, |_, word| is_variable(word), &mut key, &mut vars);
        if rare(&key) {
            rare_lines += 1;
            for (i, (_, word)) in words(line).enumerate().filter(|(_, (_, w))| !is_variable(w)) {
                *frequent.entry((i, word.to_vec())).or_insert(0) += 1;
            }
        }
    }
    let fixed = (rare_lines / 200).max(3);
    let coarse_variable =
        |i: usize, word: &[u8]| is_variable(word) || frequent.get(&(i, word.to_vec())).is_none_or(|n| *n < fixed);
    let mut coarse_uses: HashMap<Vec<u8>, u32> = HashMap::new();
    for line in lines.iter().filter(|l| memchr::memchr(0, l).is_none()) {
        template(line, |_, word| is_variable(word), &mut key, &mut vars);
        if rare(&key) {
            template(line, coarse_variable, &mut key, &mut vars);
            *coarse_uses.entry(key.clone()).or_insert(0) += 1;
        }
    }
    let mut known = Vocabulary::default();
    let (mut flags, mut ids) = (Vec::with_capacity(lines.len()), Vec::new());
    let (mut all_vars, mut verbatim) = (Joined::default(), Joined::default());
    for line in &lines {
        let mut worth = false;
        if memchr::memchr(0, line).is_none() {
            template(line, |_, word| is_variable(word), &mut key, &mut vars);
            worth = true;
            if rare(&key) {
                template(line, coarse_variable, &mut key, &mut vars);
                worth = coarse_uses.get(&key[..]).is_some_and(|n| *n >= FEWEST_USES);
            }
        }
        flags.push(u8::from(worth));
        if worth {
            put_uv(known.number(&key), &mut ids);
            vars.iter().for_each(|v| all_vars.push(v));
        } else {
            verbatim.push(line);
        }
    }
    let mut templates = Joined::default();
    known.texts().for_each(|t| templates.push(t));
    let mut meta = Vec::new();
    put_uv(lines.len() as u64, &mut meta);
    meta.push(u8::from(trailing));
    vec![
        Stream::new("meta", meta),
        Stream::new("templates", templates.into_bytes()),
        Stream::new("flags", flags),
        Stream::new("tids", ids),
        Stream::new("vars", all_vars.into_bytes()),
        Stream::new("verbatim", verbatim.into_bytes()),
    ]
}
