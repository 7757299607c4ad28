//! Osm (2): OpenStreetMap XML.
//!
//! | stream     | content |
//! |------------|---------|
//! | `meta`     | byte trailing |
//! | `opcodes`  | one byte per element: 0 verbatim, 1 node, 2 way, 3 relation |
//! | `verbatim` | one `lp` per opcode 0; may hold several lines |
//! | `tag_keys` `roles` | `uv` n, n texts each ended by 00 |
//! | `n_` `w_` `r_` + `id` `ts` | `sv` deltas that run over the whole file; time in Unix seconds |
//! | ... + `ver` `tagcnt` `tagkey` | `uv` |
//! | ... + `tagval` | `lp` |
//! | `n_lat` `n_lon` | `sv` deltas, units of 1e-7 degree |
//! | `w_ndcnt` `w_ndref` | `uv`; `sv` deltas |
//! | `r_memcnt` `r_memtype` `r_memref` `r_memrole` | `uv`; 0 node 1 way 2 relation; `sv` deltas; `uv` |
//!
//! ```text
//!   <node id="I" version="V" timestamp="T" lat="A" lon="O"/>
//!   <way id="I" version="V" timestamp="T">
//!     <nd ref="R"/>                                        first the children,
//!     <tag k="K" v="X"/>                                   then the tags
//!   </way>
//!     <member type="node" ref="R" role="L"/>               children of a relation
//! ```
//!
//! An element without children and tags ends with `/>`. Elements are joined with line ends.

#[cfg(feature = "write")]
mod encode;

use super::Coder;
use crate::cursor::Cursor;
use crate::number::{push_int, push_uint};
use crate::output::Output;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use colkit_core::Result;
use memchr::memchr;

/// The codec.
pub struct Osm;

impl Coder for Osm {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        host.print(|out| print(streams, out))
    }

    fn metadata(&self) -> &'static [&'static str] {
        &["meta", "opcodes"]
    }
}

/// The times that print as four-digit years from 1000 on.
const TIMES: std::ops::RangeInclusive<i64> = -30_610_224_000..=253_402_300_799;

/// A stream of deltas and their running sum.
struct Deltas<'a>(Cursor<'a>, i64);

impl Deltas<'_> {
    fn next(&mut self) -> Result<i64> {
        self.1 = self.1.wrapping_add(self.0.sv()?);
        Ok(self.1)
    }
}

/// What nodes, ways and relations have in common.
struct Elements<'a> {
    name: &'static str,
    id: Deltas<'a>,
    version: Cursor<'a>,
    time: Deltas<'a>,
    tag_count: Cursor<'a>,
    tag_key: Cursor<'a>,
    tag_value: Cursor<'a>,
}

impl<'a> Elements<'a> {
    /// The streams, in the order id, ver, ts, tagcnt, tagkey, tagval.
    fn new(streams: &'a Streams, name: &'static str, [id, ver, ts, count, key, value]: [&'static str; 6]) -> Self {
        Elements {
            name,
            id: Deltas(streams.cursor(id), 0),
            version: streams.cursor(ver),
            time: Deltas(streams.cursor(ts), 0),
            tag_count: streams.cursor(count),
            tag_key: streams.cursor(key),
            tag_value: streams.cursor(value),
        }
    }

    /// `  <node id="I" version="V" timestamp="T"`
    fn start(&mut self, out: &mut Output<'_>) -> Result<()> {
        let (id, version) = (self.id.next()?, self.version.uv()?);
        let before = self.time.0.clone();
        let time = self.time.next()?;
        if !TIMES.contains(&time) {
            return Err(before.corrupt("bad_time", format!("time {time} is outside of the years 1000 to 9999")));
        }
        out.with(|b| {
            b.extend_from_slice(b"  <");
            b.extend_from_slice(self.name.as_bytes());
            b.extend_from_slice(b" id=\"");
            push_int(id, b);
            b.extend_from_slice(b"\" version=\"");
            push_uint(version, b);
            b.extend_from_slice(b"\" timestamp=\"");
            push_time(time, b);
            b.push(b'"');
        })
    }

    /// The tags and the end. `open` says whether the start was closed because there were children before.
    fn finish(&mut self, mut open: bool, keys: &[&[u8]], out: &mut Output<'_>) -> Result<()> {
        let count = self.tag_count.count("tags", self.tag_key.left())?;
        for _ in 0..count {
            open_element(&mut open, out)?;
            let key = self.tag_key.index("tag key", keys.len())?;
            out.put(b"\n    <tag k=\"")?;
            out.put(keys.get(key).copied().unwrap_or_default())?;
            out.put(b"\" v=\"")?;
            out.put(self.tag_value.lp()?)?;
            out.put(b"\"/>")?;
        }
        if !open {
            return out.put(b"/>");
        }
        out.put(b"\n  </")?;
        out.put(self.name.as_bytes())?;
        out.put(b">")
    }
}

/// Closes the start of an element before its first child.
fn open_element(open: &mut bool, out: &mut Output<'_>) -> Result<()> {
    if std::mem::replace(open, true) { Ok(()) } else { out.put(b">") }
}

fn vocabulary<'a>(streams: &'a Streams, name: &'static str) -> Result<Vec<&'a [u8]>> {
    let mut cursor = streams.cursor(name);
    let count = cursor.count("entries", cursor.left())?;
    let entries = (0..count).map(|_| {
        let Some(end) = memchr(0, cursor.rest()) else {
            return Err(cursor.corrupt("truncated", "expected 00 at the end of an entry"));
        };
        let entry = cursor.take(end as u64)?;
        cursor.byte()?;
        Ok(entry)
    });
    entries.collect()
}

/// `YYYY-MM-DDTHH:MM:SSZ`
fn push_time(time: i64, out: &mut Vec<u8>) {
    let (days, seconds) = (time.div_euclid(86_400), time.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    push_two(year / 100, out);
    for (n, after) in [
        (year % 100, b'-'),
        (month, b'-'),
        (day, b'T'),
        (seconds / 3600, b':'),
        (seconds / 60 % 60, b':'),
        (seconds % 60, b'Z'),
    ] {
        push_two(n, out);
        out.push(after);
    }
}

fn push_two(n: i64, out: &mut Vec<u8>) {
    out.extend([n / 10 % 10, n % 10].map(|digit| b'0' + u8::try_from(digit).unwrap_or(0)));
}

/// Year, month and day of a number of days since 1970, counted in eras of 400 years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let civil_month = if month < 10 { month + 3 } else { month - 9 };
    let civil_year = era * 400 + year + i64::from(civil_month <= 2);
    (civil_year, civil_month, day_of_year - (153 * month + 2) / 5 + 1)
}

/// Below this a division in floating point gives the seven decimals that the whole numbers say. No place on Earth is beyond.
const EXACT: u64 = 1 << 40;

/// Units of 1e-7 with trailing zeros, and a trailing point, left out.
fn push_coordinate(units: i64, out: &mut Vec<u8>) {
    if units.unsigned_abs() > EXACT {
        // The format divides in floating point, so its digits are those that this gives.
        #[expect(clippy::cast_precision_loss, reason = "that is what the format does")]
        let text = format!("{:.7}", units as f64 / 1e7);
        out.extend_from_slice(text.trim_end_matches('0').trim_end_matches('.').as_bytes());
        return;
    }
    if units < 0 {
        out.push(b'-');
    }
    let units = units.unsigned_abs();
    push_uint(units / 10_000_000, out);
    let (mut fraction, mut digits) = (units % 10_000_000, 7usize);
    if fraction == 0 {
        return;
    }
    while fraction % 10 == 0 {
        fraction /= 10;
        digits -= 1;
    }
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(fraction);
    out.push(b'.');
    out.extend(std::iter::repeat_n(b'0', digits.saturating_sub(text.len())));
    out.extend_from_slice(text.as_bytes());
}

fn print(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
    let mut meta = streams.cursor("meta");
    let trailing = meta.flag("trailing")?;
    meta.finish()?;
    let (keys, roles) = (vocabulary(streams, "tag_keys")?, vocabulary(streams, "roles")?);
    let mut verbatim = streams.cursor("verbatim");
    let mut nodes = Elements::new(streams, "node", ["n_id", "n_ver", "n_ts", "n_tagcnt", "n_tagkey", "n_tagval"]);
    let mut ways = Elements::new(streams, "way", ["w_id", "w_ver", "w_ts", "w_tagcnt", "w_tagkey", "w_tagval"]);
    let mut relations =
        Elements::new(streams, "relation", ["r_id", "r_ver", "r_ts", "r_tagcnt", "r_tagkey", "r_tagval"]);
    let (mut lat, mut lon) = (Deltas(streams.cursor("n_lat"), 0), Deltas(streams.cursor("n_lon"), 0));
    let mut node_counts = streams.cursor("w_ndcnt");
    let mut node_refs = Deltas(streams.cursor("w_ndref"), 0);
    let mut members = Members {
        counts: streams.cursor("r_memcnt"),
        types: streams.cursor("r_memtype"),
        refs: Deltas(streams.cursor("r_memref"), 0),
        roles: streams.cursor("r_memrole"),
    };
    let (opcodes, place) = streams.get("opcodes");
    let mut first = true;
    for (at, opcode) in opcodes.iter().enumerate() {
        out.line_end(&mut first)?;
        match opcode {
            0 => out.put(verbatim.lp()?)?,
            1 => {
                nodes.start(out)?;
                let (lat, lon) = (lat.next()?, lon.next()?);
                out.with(|b| {
                    b.extend_from_slice(b" lat=\"");
                    push_coordinate(lat, b);
                    b.extend_from_slice(b"\" lon=\"");
                    push_coordinate(lon, b);
                    b.push(b'"');
                })?;
                nodes.finish(false, &keys, out)?;
            }
            2 => {
                ways.start(out)?;
                let count = node_counts.count("nodes", node_refs.0.left())?;
                let mut open = false;
                for _ in 0..count {
                    open_element(&mut open, out)?;
                    let node = node_refs.next()?;
                    out.put(b"\n    <nd ref=\"")?;
                    out.with(|b| push_int(node, b))?;
                    out.put(b"\"/>")?;
                }
                ways.finish(open, &keys, out)?;
            }
            3 => {
                relations.start(out)?;
                let open = members.print(&roles, out)?;
                relations.finish(open, &keys, out)?;
            }
            _ => return Err(place.corrupt(at, "bad_flag", format!("opcode {opcode}, expected 0 to 3"))),
        }
    }
    if trailing { out.put(b"\n") } else { Ok(()) }
}

/// The members of relations.
struct Members<'a> {
    counts: Cursor<'a>,
    types: Cursor<'a>,
    refs: Deltas<'a>,
    roles: Cursor<'a>,
}

impl Members<'_> {
    /// Prints the members of the next relation; says whether there were any.
    fn print(&mut self, roles: &[&[u8]], out: &mut Output<'_>) -> Result<bool> {
        let count = self.counts.count("members", self.types.left())?;
        let mut open = false;
        for _ in 0..count {
            open_element(&mut open, out)?;
            let kind = match self.types.index("member type", 3)? {
                0 => "node",
                1 => "way",
                _ => "relation",
            };
            let member = self.refs.next()?;
            let role = self.roles.index("role", roles.len())?;
            out.put(b"\n    <member type=\"")?;
            out.put(kind.as_bytes())?;
            out.put(b"\" ref=\"")?;
            out.with(|b| push_int(member, b))?;
            out.put(b"\" role=\"")?;
            out.put(roles.get(role).copied().unwrap_or_default())?;
            out.put(b"\"/>")?;
        }
        Ok(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"x".to_vec();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times() {
        for (time, expected) in [
            (0, "x1970-01-01T00:00:00Z"),
            (-1, "x1969-12-31T23:59:59Z"),
            (951_782_400, "x2000-02-29T00:00:00Z"),
            (*TIMES.start(), "x1000-01-01T00:00:00Z"),
            (*TIMES.end(), "x9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(text(|b| push_time(time, b)), expected);
        }
    }

    #[test]
    fn coordinates() {
        for (units, expected) in [
            (0, "x0"),
            (1, "x0.0000001"),
            (-1, "x-0.0000001"),
            (10_000_000, "x1"),
            (100_000_000, "x10"),
            (-900_000_000, "x-90"),
            (515_001_230, "x51.500123"),
            (1 << 40, "x109951.1627776"),
            (-(1 << 41), "x-219902.3255552"),
            (2_305_843_009_212_218_213, "x230584300921.2218018"),
            (i64::MIN, "x-922337203685.4775391"),
        ] {
            assert_eq!(text(|b| push_coordinate(units, b)), expected);
        }
    }
}
