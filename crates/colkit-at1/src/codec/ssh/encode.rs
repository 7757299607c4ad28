//! Ssh (0), written. See [`super`] for the streams.

use super::{MARKER, Ssh};
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

impl Encoder for Ssh {
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        let lines = sample.text_lines()?;
        let entries = lines.iter().filter(|l| is_entry(l)).count();
        let plans = || vec![Plan::of(Codec::Ssh), Plan::of(Codec::Log)];
        (entries * 2 >= lines.len()).then(|| (Confidence::Likely, plans()))
    }

    fn encode(&self, text: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        Ok(encode(text).into())
    }
}

/// A line taken apart.
struct Entry<'a> {
    /// Month, day, time, host.
    columns: [&'a [u8]; 4],
    pid: u64,
    message: &'a [u8],
}

/// Whether a line is an entry of an sshd log.
fn is_entry(line: &[u8]) -> bool {
    entry(line).is_some()
}

fn entry(line: &[u8]) -> Option<Entry<'_>> {
    let (month, rest) = line.split_at_checked(3)?;
    let rest = rest.strip_prefix(b" ")?;
    // The day may be padded with a space.
    let day_length = if rest.first() == Some(&b' ') { 2 } else { memchr::memchr(b' ', rest)? };
    let (day, rest) = rest.split_at_checked(day_length)?;
    let rest = rest.strip_prefix(b" ")?;
    let (time, rest) = rest.split_at_checked(8)?;
    let rest = rest.strip_prefix(b" ")?;
    let (host, rest) = rest.split_at_checked(memchr::memchr(b' ', rest)?)?;
    let rest = rest.strip_prefix(b" sshd[")?;
    let (pid, rest) = rest.split_at_checked(memchr::memchr(b']', rest)?)?;
    let message = rest.strip_prefix(b"]: ")?;
    let canonical = matches!(pid, [b'0'] | [b'1'..=b'9', ..]) && pid.iter().all(u8::is_ascii_digit);
    let pid = std::str::from_utf8(pid).ok().filter(|_| canonical)?.parse().ok()?;
    let plausible = day.len() <= 2 && memchr::memchr(b':', time) == Some(2);
    plausible.then_some(Entry { columns: [month, day, time, host], pid, message })
}

/// Builds the template of a message and collects its variables: words with a digit, and those after `user` and `for`.
fn template<'a>(message: &'a [u8], out: &mut Vec<u8>, vars: &mut Vec<&'a [u8]>) {
    out.clear();
    vars.clear();
    let mut before: &[u8] = &[];
    let mut first = true;
    for word in message.split(|b| *b == b' ') {
        if !std::mem::replace(&mut first, false) {
            out.push(b' ');
        }
        // `rhost=1.2.3.4`: the name is literal, the value a variable.
        let value_at = memchr::memchr(b'=', word).map_or(0, |at| at + 1);
        let (name, value) = word.split_at_checked(value_at).unwrap_or((&[], word));
        let named = !value.is_empty() && matches!(before, b"user" | b"for") && word != b"invalid" && word != b"user";
        let is_variable = value.iter().any(u8::is_ascii_digit)
            || named
            || memchr::memmem::find(value, MARKER).is_some()
            || (name == b"user=" && !value.is_empty());
        if is_variable && memchr::memmem::find(name, MARKER).is_none() {
            out.extend_from_slice(name);
            out.extend_from_slice(MARKER);
            vars.push(value);
        } else if memchr::memmem::find(word, MARKER).is_some() {
            out.extend_from_slice(MARKER);
            vars.push(word);
        } else {
            out.extend_from_slice(word);
        }
        before = word;
    }
}

/// The streams of an sshd log.
fn encode(text: &[u8]) -> Vec<Stream> {
    let (lines, trailing) = lines::split(text);
    let (mut key, mut vars) = (Vec::new(), Vec::new());
    let mut uses: HashMap<Vec<u8>, u32> = HashMap::new();
    let entries: Vec<Option<Entry<'_>>> = lines.iter().map(|l| entry(l)).collect();
    for entry in entries.iter().flatten() {
        template(entry.message, &mut key, &mut vars);
        *uses.entry(key.clone()).or_insert(0) += 1;
    }
    let mut known = Vocabulary::default();
    let mut columns: [Joined; 4] = Default::default();
    let (mut flags, mut pids, mut ids) = (Vec::with_capacity(lines.len()), Vec::new(), Vec::new());
    let (mut all_vars, mut messages, mut verbatim) = (Joined::default(), Joined::default(), Joined::default());
    for (line, entry) in lines.iter().zip(entries) {
        let Some(entry) = entry else {
            flags.push(0);
            verbatim.push(line);
            continue;
        };
        columns.iter_mut().zip(entry.columns).for_each(|(column, cell)| column.push(cell));
        put_uv(entry.pid, &mut pids);
        template(entry.message, &mut key, &mut vars);
        let worth = uses.get(&key[..]).is_some_and(|n| *n >= 2);
        if !worth || memchr::memchr(0, entry.message).is_some() {
            flags.push(1);
            messages.push(entry.message);
            continue;
        }
        flags.push(2);
        put_uv(known.number(&key), &mut ids);
        let cell = all_vars.begin();
        for (i, var) in vars.iter().enumerate() {
            if i > 0 {
                cell.push(0);
            }
            cell.extend_from_slice(var);
        }
    }
    let mut templates = Joined::default();
    known.texts().for_each(|t| templates.push(t));
    let mut meta = Vec::new();
    put_uv(lines.len() as u64, &mut meta);
    meta.push(u8::from(trailing));
    let [months, days, times, hosts] = columns.map(Joined::into_bytes);
    vec![
        Stream::new("meta", meta),
        Stream::new("templates", templates.into_bytes()),
        Stream::new("flags", flags),
        Stream::new("months", months),
        Stream::new("days", days),
        Stream::new("times", times),
        Stream::new("hosts", hosts),
        Stream::new("pids", pids),
        Stream::new("template_ids", ids),
        Stream::new("vars", all_vars.into_bytes()),
        Stream::new("rawmsgs", messages.into_bytes()),
        Stream::new("verbatim", verbatim.into_bytes()),
    ]
}
