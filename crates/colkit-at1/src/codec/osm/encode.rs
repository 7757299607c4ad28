//! Osm (2), written. See [`super`] for the streams.
//!
//! An element is taken apart only if it is written exactly as it would be printed. All other lines are kept as they are.

use super::{Osm, TIMES, push_coordinate, push_time};
use crate::codec::Codec;
use crate::encode::groups::Settings;
use crate::encode::lines;
use crate::encode::plan::{Confidence, Encoder, Layout, Plan};
use crate::encode::put::{Vocabulary, put_lp, put_sv, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use crate::number::parse_int;
use colkit_core::Result;
use std::collections::BTreeMap;

impl Encoder for Osm {
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        let start = sample.head.get(..sample.head.len().min(4096)).unwrap_or_default();
        let is_osm = sample.is_text() && memchr::memmem::find(start, b"<osm ").is_some();
        is_osm.then(|| (Confidence::Signature, vec![Plan::of(Codec::Osm), Plan::of(Codec::Log)]))
    }

    fn encode(&self, text: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        Ok(encode(text).into())
    }
}

/// The numbers at the beginning of an element.
struct Start<'a> {
    id: i64,
    version: u64,
    time: i64,
    rest: &'a [u8],
}

/// Cuts the text up to the next quote off, after `before`.
fn attribute<'a>(text: &'a [u8], before: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let text = text.strip_prefix(before)?;
    let end = memchr::memchr(b'"', text)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

fn start<'a>(line: &'a [u8], name: &str) -> Option<Start<'a>> {
    let rest = line.strip_prefix(b"  <")?.strip_prefix(name.as_bytes())?;
    let (id, rest) = attribute(rest, b" id=\"")?;
    let (version, rest) = attribute(rest, b" version=\"")?;
    let (time, rest) = attribute(rest, b" timestamp=\"")?;
    let version = u64::try_from(parse_int(version)?).ok()?;
    Some(Start { id: parse_int(id)?, version, time: parse_time(time)?, rest })
}

/// The time that prints as this text.
fn parse_time(text: &[u8]) -> Option<i64> {
    let &[a, b, c, d, b'-', e, f, b'-', g, h, b'T', i, j, b':', k, l, b':', m, n, b'Z'] = text else { return None };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0i64, |n, b| Some(n * 10 + i64::from(b.checked_sub(b'0').filter(|d| *d <= 9)?)))
    };
    let (year, month, day) = (number(&[a, b, c, d])?, number(&[e, f])?, number(&[g, h])?);
    // Days since 1970 in the Gregorian calendar, years counted from March.
    let (y, m2) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (y.div_euclid(400), y.rem_euclid(400));
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * m2 + 2) / 5 + day - 1 - 719_468;
    let time = ((days * 24 + number(&[i, j])?) * 60 + number(&[k, l])?) * 60 + number(&[m, n])?;
    let mut printed = Vec::new();
    if TIMES.contains(&time) {
        push_time(time, &mut printed);
    }
    (printed == text).then_some(time)
}

/// The coordinate that prints as this text.
fn parse_coordinate(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut parts = digits.splitn(2, |b| *b == b'.');
    let (whole, fraction) = (parts.next()?, parts.next().unwrap_or_default());
    if fraction.len() > 7 || whole.len() > 8 {
        return None;
    }
    let padded = [whole, fraction, b"0000000".get(fraction.len()..)?].concat();
    let units: i64 = std::str::from_utf8(&padded).ok()?.parse().ok()?;
    let units = if negative { -units } else { units };
    let mut printed = Vec::new();
    push_coordinate(units, &mut printed);
    (printed == text).then_some(units)
}

/// What is inside an element.
#[derive(Default)]
struct Children<'a> {
    nodes: Vec<i64>,
    members: Vec<(u64, i64, &'a [u8])>,
    tags: Vec<(&'a [u8], &'a [u8])>,
}

/// The children of an element that begins with the line before `lines`, and how many lines they and the end take.
fn children<'a>(lines: &[&'a [u8]], name: &str) -> Option<(Children<'a>, usize)> {
    let end = [b"  </", name.as_bytes(), b">"].concat();
    let mut found = Children::default();
    for (i, line) in lines.iter().enumerate() {
        if *line == &end[..] {
            // An empty element would have been printed on one line.
            return (i > 0).then_some((found, i + 1));
        }
        if let Some((key, rest)) = attribute(line, b"    <tag k=\"") {
            let (value, b"/>") = attribute(rest, b" v=\"")? else { return None };
            found.tags.push((key, value));
            continue;
        }
        if !found.tags.is_empty() {
            return None;
        }
        match name {
            "way" => {
                let (node, b"/>") = attribute(line, b"    <nd ref=\"")? else { return None };
                found.nodes.push(parse_int(node)?);
            }
            "relation" => {
                let (kind, rest) = attribute(line, b"    <member type=\"")?;
                let (member, rest) = attribute(rest, b" ref=\"")?;
                let (role, b"/>") = attribute(rest, b" role=\"")? else { return None };
                let kind = [&b"node"[..], b"way", b"relation"].iter().position(|k| *k == kind)?;
                found.members.push((kind as u64, parse_int(member)?, role));
            }
            _ => return None,
        }
    }
    None
}

/// All streams by name, and the sums that run over the file.
#[derive(Default)]
struct Streams {
    bytes: BTreeMap<String, Vec<u8>>,
    sums: BTreeMap<String, i64>,
    keys: Vocabulary,
    roles: Vocabulary,
}

impl Streams {
    fn of(&mut self, name: &str) -> &mut Vec<u8> {
        self.bytes.entry(name.to_string()).or_default()
    }

    fn delta(&mut self, name: &str, value: i64) {
        let sum = self.sums.entry(name.to_string()).or_default();
        let delta = value.wrapping_sub(std::mem::replace(sum, value));
        put_sv(delta, self.of(name));
    }

    /// Takes the element that begins with the first line; says how many lines that was.
    fn element(&mut self, lines: &[&[u8]]) -> Option<(u8, usize)> {
        let (first, after) = lines.split_first()?;
        let (opcode, name, prefix) = match first {
            l if l.starts_with(b"  <node ") => (1, "node", "n_"),
            l if l.starts_with(b"  <way ") => (2, "way", "w_"),
            l if l.starts_with(b"  <relation ") => (3, "relation", "r_"),
            _ => return None,
        };
        let start = start(first, name)?;
        let mut rest = start.rest;
        let mut place = None;
        if opcode == 1 {
            let (lat, after) = attribute(rest, b" lat=\"")?;
            let (lon, after) = attribute(after, b" lon=\"")?;
            place = Some((parse_coordinate(lat)?, parse_coordinate(lon)?));
            rest = after;
        }
        let (found, used) = match rest {
            b"/>" => (Children::default(), 0),
            b">" => children(after, name)?,
            _ => return None,
        };
        if found.tags.iter().any(|(k, _)| k.contains(&0)) || found.members.iter().any(|(_, _, r)| r.contains(&0)) {
            return None;
        }
        let named = |stream: &str| format!("{prefix}{stream}");
        self.delta(&named("id"), start.id);
        put_uv(start.version, self.of(&named("ver")));
        self.delta(&named("ts"), start.time);
        if let Some((lat, lon)) = place {
            self.delta("n_lat", lat);
            self.delta("n_lon", lon);
        }
        if opcode == 2 {
            put_uv(found.nodes.len() as u64, self.of("w_ndcnt"));
            found.nodes.iter().for_each(|node| self.delta("w_ndref", *node));
        }
        if opcode == 3 {
            put_uv(found.members.len() as u64, self.of("r_memcnt"));
            for (kind, member, role) in &found.members {
                put_uv(*kind, self.of("r_memtype"));
                self.delta("r_memref", *member);
                let role = self.roles.number(role);
                put_uv(role, self.of("r_memrole"));
            }
        }
        put_uv(found.tags.len() as u64, self.of(&named("tagcnt")));
        for (key, value) in &found.tags {
            let key = self.keys.number(key);
            put_uv(key, self.of(&named("tagkey")));
            put_lp(value, self.of(&named("tagval")));
        }
        Some((opcode, used + 1))
    }
}

fn vocabulary(texts: &Vocabulary) -> Vec<u8> {
    let mut out = Vec::new();
    put_uv(texts.texts().len() as u64, &mut out);
    for text in texts.texts() {
        out.extend_from_slice(text);
        out.push(0);
    }
    out
}

/// The streams of a map.
fn encode(text: &[u8]) -> Vec<Stream> {
    let (lines, trailing) = lines::split(text);
    let mut streams = Streams::default();
    let (mut opcodes, mut verbatim) = (Vec::new(), Vec::new());
    let mut odd: Vec<&[u8]> = Vec::new();
    let mut flush = |odd: &mut Vec<&[u8]>, opcodes: &mut Vec<u8>| {
        if !odd.is_empty() {
            opcodes.push(0);
            put_lp(&odd.join(&b'\n'), &mut verbatim);
            odd.clear();
        }
    };
    let mut at = 0;
    while let Some(rest) = lines.get(at..).filter(|rest| !rest.is_empty()) {
        match streams.element(rest) {
            Some((opcode, used)) => {
                flush(&mut odd, &mut opcodes);
                opcodes.push(opcode);
                at += used;
            }
            None => {
                odd.extend(rest.first());
                at += 1;
            }
        }
    }
    flush(&mut odd, &mut opcodes);
    let mut all = vec![
        Stream::new("meta", vec![u8::from(trailing)]),
        Stream::new("opcodes", opcodes),
        Stream::new("tag_keys", vocabulary(&streams.keys)),
        Stream::new("roles", vocabulary(&streams.roles)),
        Stream::new("verbatim", verbatim),
    ];
    all.extend(streams.bytes.into_iter().map(|(name, bytes)| Stream::new(name, bytes)));
    all
}
