//! Json (1), written. See [`super`] for the streams.

use super::Json;
use crate::codec::Codec;
use crate::codec::qjson::encode as qjson;
use crate::encode::groups::Settings;
use crate::encode::json_text::{Places, Token, Tokens};
use crate::encode::lines;
use crate::encode::plan::{Confidence, Encoder, Layout, Plan};
use crate::encode::put::{Joined, Vocabulary, put_lp, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use colkit_core::Result;
use std::collections::HashMap;

impl Encoder for Json {
    /// JSON lines, in one of three codecs, or else a document.
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        let first = sample.head.iter().find(|b| !b.is_ascii_whitespace());
        if !sample.is_text() || !matches!(first, Some(b'{' | b'[')) {
            return None;
        }
        Some((Confidence::Structure, sniff_lines(sample).into_iter().map(Plan::of).collect()))
    }

    fn encode(&self, text: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        Ok(encode_lines(text).into())
    }
}

fn sniff_lines(sample: &Sample<'_>) -> Vec<Codec> {
    let lines = sample.lines();
    let templates = qjson::templates(lines.iter().copied());
    let parsed: u64 = templates.iter().map(|t| t.uses).sum();
    if parsed * 2 < lines.len() as u64 || lines.len() < 2 {
        return vec![Codec::Jsondoc, Codec::Log];
    }
    let covered = |n: usize| templates.iter().take(n).map(|t| t.uses).sum::<u64>() * 100 / parsed.max(1);
    let queryable = if covered(1) >= 98 { Codec::Qjson } else { Codec::Qjson2 };
    if sample.queryable && covered(qjson::MOST_SHAPES) >= 80 {
        return vec![queryable];
    }
    vec![Codec::Json, queryable]
}

/// The columns of values.
#[derive(Default)]
pub struct Columns(Vec<Joined>);

impl Columns {
    /// Appends a value to a column.
    pub fn push(&mut self, column: usize, value: &[u8]) {
        if column >= self.0.len() {
            self.0.resize_with(column + 1, Joined::default);
        }
        if let Some(column) = self.0.get_mut(column) {
            column.push(value);
        }
    }

    /// `value_index` and `values`, with `separator` between the columns.
    pub fn streams(self, separator: &[u8]) -> [Stream; 2] {
        let (mut index, mut values, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
        put_uv(self.0.len() as u64, &mut index);
        for (k, column) in self.0.into_iter().enumerate() {
            if k > 0 {
                values.extend_from_slice(separator);
            }
            cuts.push(values.len());
            put_uv(column.bytes().len() as u64, &mut index);
            values.extend_from_slice(column.bytes());
        }
        [Stream::new("value_index", index), Stream { name: "values".into(), bytes: values, cuts }]
    }
}

/// A string made of literals and of what columns gave last.
struct Rule {
    literals: Vec<Vec<u8>>,
    sources: Vec<usize>,
}

/// A value that rules may refer to has at least so many bytes.
const SHORTEST_SOURCE: usize = 3;
/// A value worth a rule has at least so many bytes.
const SHORTEST_DERIVED: usize = 10;
/// A rule is kept if it explains this share of the first occurrences, in percent.
const EXPLAINS: usize = 90;
/// How many occurrences a rule is judged by.
const TRIALS: usize = 200;

impl Rule {
    /// The rule by which `content` could be made of what came last.
    fn find(content: &[u8], last: &[Vec<u8>]) -> Option<Rule> {
        let mut sources: Vec<(usize, &Vec<u8>)> =
            last.iter().enumerate().filter(|(_, v)| v.len() >= SHORTEST_SOURCE).collect();
        sources.sort_by_key(|(i, v)| (std::cmp::Reverse(v.len()), *i));
        // Pieces that are still literal, and sources between them.
        let mut pieces: Vec<(Vec<u8>, Option<usize>)> = vec![(content.to_vec(), None)];
        for (column, value) in sources.into_iter().take(64) {
            let found = pieces.iter().enumerate().find_map(|(i, (text, source))| {
                source.is_none().then(|| memchr::memmem::find(text, value).map(|at| (i, at))).flatten()
            });
            let Some((i, at)) = found else { continue };
            let (text, _) = pieces.remove(i);
            let before = text.get(..at).unwrap_or_default().to_vec();
            let after = text.get(at + value.len()..).unwrap_or_default().to_vec();
            pieces.splice(i..i, [(before, None), (Vec::new(), Some(column)), (after, None)]);
        }
        let sources: Vec<usize> = pieces.iter().filter_map(|(_, s)| *s).collect();
        let literals = pieces.into_iter().filter(|(_, s)| s.is_none()).map(|(t, _)| t).collect();
        (!sources.is_empty()).then_some(Rule { literals, sources })
    }

    fn makes(&self, content: &[u8], last: &[Vec<u8>]) -> bool {
        let mut rest = content;
        let mut sources = self.sources.iter();
        for literal in &self.literals {
            let Some(after) = rest.strip_prefix(&literal[..]) else { return false };
            rest = after;
            if let Some(source) = sources.next() {
                let value = last.get(*source).map_or(&[][..], Vec::as_slice);
                let Some(after) = rest.strip_prefix(value) else { return false };
                rest = after;
            }
        }
        rest.is_empty()
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inside @ .., _] => inside,
        _ => value,
    }
}

fn remember(last: &mut Vec<Vec<u8>>, column: usize, value: &[u8]) {
    if column >= last.len() {
        last.resize_with(column + 1, Vec::new);
    }
    if let Some(last) = last.get_mut(column) {
        last.clear();
        last.extend_from_slice(unquoted(value));
    }
}

/// The rules that hold for most of the first lines, by the place of the string they make.
fn find_rules(lines: &[&[u8]]) -> HashMap<usize, Rule> {
    struct Trial {
        rule: Option<Rule>,
        seen: usize,
        explained: usize,
    }
    let mut trials: HashMap<usize, Trial> = HashMap::new();
    let (mut tokens, mut places, mut last) = (Tokens::default(), Places::default(), Vec::new());
    for line in lines.iter().take(TRIALS * 2) {
        // Exactly the lines that are taken apart later, so that the places get the same numbers.
        if tokens.read(line).is_none() || tokens.spaced {
            continue;
        }
        places.visit(line, tokens.tokens(), |token, place| {
            let (Token::Scalar(span), Some(place)) = (token, place) else { return };
            let value = span.of(line);
            if value.first() == Some(&b'"') && value.len() >= SHORTEST_DERIVED {
                let content = unquoted(value);
                let trial = trials.entry(place).or_insert_with(|| {
                    let mut rule = Rule::find(content, &last);
                    // A string is not made of itself.
                    if rule.as_ref().is_some_and(|r| r.sources.contains(&place)) {
                        rule = None;
                    }
                    Trial { rule, seen: 0, explained: 0 }
                });
                trial.seen += 1;
                trial.explained += usize::from(trial.rule.as_ref().is_some_and(|r| r.makes(content, &last)));
            }
            remember(&mut last, place, value);
        });
    }
    let kept = trials.into_iter().filter(|(_, t)| t.seen >= 2 && t.explained * 100 >= t.seen * EXPLAINS);
    let mut kept: HashMap<usize, Rule> = kept.filter_map(|(place, t)| Some((place, t.rule?))).collect();
    // What is derived is not remembered, so nothing may be derived from it.
    let derived: Vec<usize> = kept.keys().copied().collect();
    kept.retain(|_, rule| !rule.sources.iter().any(|s| derived.contains(s)));
    kept
}

/// The streams of JSON lines.
fn encode_lines(text: &[u8]) -> Vec<Stream> {
    let (lines, trailing) = lines::split(text);
    let found = find_rules(&lines);
    // Places are numbered anew, but in the same order: the rules still fit.
    let (mut tokens, mut places) = (Tokens::default(), Places::default());
    let (mut keys, mut columns, mut verbatim) = (Vocabulary::default(), Columns::default(), Joined::default());
    let (mut flags, mut tape) = (Vec::with_capacity(lines.len()), Vec::new());
    let (mut last, mut order): (Vec<Vec<u8>>, Vec<usize>) = (Vec::new(), Vec::new());
    for line in &lines {
        let read = tokens.read(line).is_some() && !tokens.spaced;
        let found_tokens = if read { tokens.tokens() } else { &[] };
        flags.push(u8::from(read));
        if !read {
            verbatim.push(line);
            continue;
        }
        places.visit(line, found_tokens, |token, place| match (token, place) {
            (Token::Open { object, members }, _) => {
                tape.push(if object { 1 } else { 2 });
                put_uv(u64::from(members), &mut tape);
            }
            (Token::Close, _) => {}
            (Token::Key(span), _) => put_uv(keys.number(span.of(line)), &mut tape),
            (Token::Scalar(span), place) => {
                let (value, place) = (span.of(line), place.unwrap_or_default());
                if let Some(rule) = found.get(&place)
                    && value.first() == Some(&b'"')
                    && rule.makes(unquoted(value), &last)
                {
                    let id = order.iter().position(|p| *p == place).unwrap_or_else(|| {
                        order.push(place);
                        order.len() - 1
                    });
                    tape.push(3);
                    put_uv(id as u64, &mut tape);
                    return;
                }
                columns.push(place, value);
                remember(&mut last, place, value);
                tape.push(0);
                put_uv(place as u64, &mut tape);
            }
        });
    }
    let width = places.len();
    columns.0.resize_with(width, Joined::default);
    let mut rules = Vec::new();
    put_uv(order.len() as u64, &mut rules);
    for rule in order.iter().filter_map(|place| found.get(place)) {
        put_uv(rule.literals.len() as u64, &mut rules);
        rule.literals.iter().for_each(|l| put_lp(l, &mut rules));
        put_uv(rule.sources.len() as u64, &mut rules);
        rule.sources.iter().for_each(|s| put_uv(*s as u64, &mut rules));
    }
    let mut vocabulary = Joined::default();
    keys.texts().for_each(|k| vocabulary.push(k));
    let mut meta = Vec::new();
    put_uv(lines.len() as u64, &mut meta);
    meta.push(u8::from(trailing));
    let [value_index, values] = columns.streams(b"\n");
    vec![
        Stream::new("meta", meta),
        Stream::new("flags", flags),
        Stream::new("keyvocab", vocabulary.into_bytes()),
        Stream::new("verbatim", verbatim.into_bytes()),
        Stream::new("rules", rules),
        value_index,
        values,
        Stream::new("tape", tape),
    ]
}
