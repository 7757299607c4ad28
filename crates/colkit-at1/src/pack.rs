//! Packing: a file becomes an AT-1 file, as small as can be and never believed until it has been restored.
//!
//! 1. Sniff the beginning; a few codecs are worth trying.
//! 2. Try them on a sample if there are several.
//! 3. Encode the whole: queryable codecs by row groups, others at once or, beyond a size, in frames.
//! 4. Compare with RAW; keep the smaller.
//! 5. Restore what was made and compare its length and hash with the original's. Only then does the sink get it.
//!
//! What is made depends on the input and the options only, not on the number of threads.

use crate::backend::Backend;
use crate::codec::Codec;
use crate::encode::compress::{self, Effort, XZ_6};
use crate::encode::groups::Settings;
use crate::encode::plan::{Layout, LineEncoder, Plan};
use crate::encode::sample::Sample;
use crate::encode::spool::{Chunks, Parts, Spool, each_piece};
use crate::encode::whole::{EncodedStreams, head, streaming_head, trailer, whole_file};
use crate::encode::{lines, put};
use crate::restore::{Integrity, RestoreOptions, restore_with};
use colkit_core::{ByteRange, Class, Error, Result, Sink, Source, available_threads};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// What matters most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PackPriority {
    /// Tables and JSON lines can be queried while packed.
    #[default]
    Queryable,
    /// The fewest bytes.
    Smallest,
}

/// How to pack.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// The codec to use, instead of finding it.
    pub codec: Option<Codec>,
    /// What matters most.
    pub aim: PackPriority,
    /// It is a table in text, by its name: codecs that would show something else of it are not chosen.
    pub is_table: bool,
    /// How hard to try.
    pub effort: Effort,
    /// Write frames even if the file is small. Long files are written in frames anyway, unless they are queryable.
    pub stream: bool,
    /// Threads to use.
    pub threads: usize,
    /// Memory to use, roughly, in bytes. Decides how long frames are and beyond which length files are written in them.
    pub memory: u64,
    /// Where to keep what does not fit into memory; `None` is the system's folder for temporary files.
    pub spill_folder: Option<PathBuf>,
}

impl Default for PackOptions {
    fn default() -> Self {
        PackOptions {
            codec: None,
            aim: PackPriority::default(),
            is_table: false,
            effort: Effort::default(),
            stream: false,
            threads: available_threads(),
            memory: 512 << 20,
            spill_folder: None,
        }
    }
}

/// What packing did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackSummary {
    /// How the content was taken apart.
    pub codec: Codec,
    /// Whether it was written in frames.
    pub streaming: bool,
    /// Bytes before.
    pub input_bytes: u64,
    /// Bytes after.
    pub output_bytes: u64,
}

impl PackOptions {
    /// Longest file that is encoded in one piece by codecs that hold all of it, several times over.
    fn longest_whole(&self) -> u64 {
        self.memory / 8
    }

    /// Bytes of a frame.
    fn frame_bytes(&self) -> u64 {
        (self.memory / 32).clamp(64 << 10, 64 << 20)
    }

    /// What of a file in frames stays in memory.
    fn spool_bytes(&self) -> usize {
        usize::try_from(self.memory / 16).unwrap_or(usize::MAX)
    }

    /// Text of a group at most, and of groups that wait to be packed.
    fn group_bytes(&self) -> usize {
        usize::try_from(self.memory / 24).unwrap_or(usize::MAX).clamp(64 << 10, 64 << 20)
    }
}

/// What is looked at to find the codec.
const HEAD: u64 = 1 << 20;
/// What is encoded to compare codecs: all of them on the first length, and of a long file those that are close on the second,
/// because dictionaries pay off late.
const SAMPLES: [u64; 2] = [512 << 10, 3 << 20];
/// Rows of a group, where rows are not very long.
const GROUP_ROWS: usize = 65_536;

/// A packed file that has not been verified yet.
struct Packed {
    codec: Codec,
    streaming: bool,
    body: Parts,
}

impl Packed {
    fn size(&self) -> u64 {
        self.body.size()
    }
}

/// Packs the file at `source`. The sink is committed once the packed file has been restored and found equal.
pub fn pack(source: &dyn Source, mut sink: Box<dyn Sink>, options: &PackOptions) -> Result<PackSummary> {
    let (file, summary) = pack_verified(source, options)?;
    file.copy_to(sink.as_mut())?;
    sink.commit()?;
    Ok(summary)
}

/// The packed and verified file.
pub(crate) fn pack_verified(source: &dyn Source, options: &PackOptions) -> Result<(Parts, PackSummary)> {
    let packer = Packer { source, options, hash: hash(source)? };
    let plan = packer.choose()?;
    let packed = match packer.encode(plan) {
        Ok(packed) => packer.or_smaller(plan, packed)?,
        // The text is not what its beginning promised.
        Err(e) if e.class() == Class::Data => packer.raw()?,
        Err(e) => return Err(e),
    };
    if let Some(done) = packer.verified(packed)? {
        return Ok(done);
    }
    let raw = packer.raw()?;
    packer.verified(raw)?.ok_or_else(|| {
        Error::data("not_exact", "the packed file does not restore to the original")
            .hint("the input may have changed while it was packed")
    })
}

fn hash(source: &dyn Source) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    each_piece(source, |piece| {
        hash.update(piece);
        Ok(())
    })?;
    Ok(hash.finalize().into())
}

struct Packer<'a> {
    source: &'a dyn Source,
    options: &'a PackOptions,
    hash: [u8; 32],
}

impl Packer<'_> {
    fn read(&self, start: u64, length: u64) -> Result<Vec<u8>> {
        let start = start.min(self.source.size());
        let end = self.source.size().min(start.saturating_add(length));
        Ok(self.source.read(ByteRange::between(start, end))?.into())
    }

    /// The plan that makes the smallest file, as far as a sample tells.
    fn choose(&self) -> Result<Plan> {
        let mut start = self.read(0, HEAD)?;
        if start.len() as u64 == HEAD && self.source.size() > HEAD {
            start.truncate(memchr::memrchr(b'\n', &start).map_or(start.len(), |at| at + 1));
        }
        // Frames cannot be read in parts, so nothing is lost by choosing only by size.
        let queryable = self.options.aim == PackPriority::Queryable && !self.options.stream;
        let sample = Sample::new(&start, queryable);
        if let Some(codec) = self.options.codec {
            return Ok(Plan::for_codec(codec, &sample));
        }
        let mut plans = Plan::candidates(&sample);
        if self.options.stream {
            plans.retain(|p| !p.codec.is_queryable());
        }
        if self.options.is_table {
            plans.retain(|p| p.codec.coder().is_table_text());
            if plans.is_empty() {
                plans.push(Plan::for_codec(Codec::Columnar, &sample));
            }
        }
        for length in SAMPLES {
            if plans.len() > 1 && (length == SAMPLES[0] || length * 16 <= self.source.size()) {
                plans = self.best_of(plans, length)?;
            }
        }
        Ok(plans.first().copied().unwrap_or(Plan::of(Codec::Raw)))
    }

    /// The plans that pack the first `length` bytes about as well as the best of them, which comes first.
    fn best_of(&self, plans: Vec<Plan>, length: u64) -> Result<Vec<Plan>> {
        let mut sample = self.read(0, length)?;
        if self.source.size() > length {
            sample.truncate(memchr::memrchr(b'\n', &sample).map_or(sample.len(), |at| at + 1));
        }
        let mut sizes = Vec::with_capacity(plans.len());
        for plan in plans {
            sizes.push((plan.encode(&sample, &self.settings(&sample))?.measured(self.options.threads)?, plan));
        }
        sizes.sort_by_key(|(size, _)| *size);
        let least = sizes.first().map_or(0, |(size, _)| *size);
        sizes.retain(|(size, _)| size * 100 <= least * 115);
        Ok(sizes.into_iter().map(|(_, plan)| plan).collect())
    }

    fn settings(&self, text: &[u8]) -> Settings {
        let lines = memchr::memchr_iter(b'\n', text).count() + 1;
        let batch_bytes = self.options.group_bytes();
        let group_rows = (batch_bytes / (text.len() / lines + 1)).clamp(64, GROUP_ROWS);
        let PackOptions { effort, threads, spill_folder, .. } = self.options.clone();
        let quick = self.options.aim == PackPriority::Queryable;
        Settings { group_rows, batch_bytes, effort, quick, threads, spill_folder }
    }

    fn encode(&self, plan: Plan) -> Result<Packed> {
        let PackOptions { effort, threads, stream, .. } = *self.options;
        if plan.codec == Codec::Raw {
            return self.raw();
        }
        if stream {
            return self.frames(plan);
        }
        let set = if self.source.size() <= self.options.longest_whole() {
            let text = self.read(0, self.source.size())?;
            plan.encode(&text, &self.settings(&text))?
        } else {
            match self.line_encoder(plan)? {
                Some(encoder) => self.encode_lines(encoder)?,
                None => return self.frames(plan),
            }
        };
        let body = whole_file(plan.codec, set, effort, threads)?;
        Ok(Packed { codec: plan.codec, streaming: false, body })
    }

    /// What encodes a long text line by line, if the codec can do that.
    fn line_encoder(&self, plan: Plan) -> Result<Option<Box<dyn LineEncoder>>> {
        let settings = self.settings(&self.read(0, HEAD)?);
        plan.codec.coder().line_encoder(&|| self.lines_from_all_over(), plan.layout, &settings)
    }

    /// Lines from places all over the file: shapes may come late.
    fn lines_from_all_over(&self) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        for i in 0..16 {
            let piece = self.read(self.source.size() / 16 * i, HEAD)?;
            let from = if i == 0 { 0 } else { memchr::memchr(b'\n', &piece).map_or(piece.len(), |at| at + 1) };
            let to = memchr::memrchr(b'\n', &piece).unwrap_or(0).max(from);
            lines.extend_from_slice(piece.get(from..to).unwrap_or_default());
            lines.push(b'\n');
        }
        Ok(lines)
    }

    /// A file that is read and packed piece by piece.
    fn encode_lines(&self, mut encoder: Box<dyn LineEncoder>) -> Result<EncodedStreams> {
        let mut chunks = Chunks::new(self.source, 4 << 20);
        let mut trailing = false;
        while let Some(chunk) = chunks.next()? {
            let (lines, end) = lines::split(&chunk);
            lines.into_iter().try_for_each(|line| encoder.line(line))?;
            trailing = end;
        }
        encoder.finish(trailing)
    }

    /// Structured frames, one after another; any that is smaller raw is written raw, but the first: its checksums cover what
    /// stands before it.
    fn frames(&self, plan: Plan) -> Result<Packed> {
        let PackOptions { effort, threads, .. } = *self.options;
        let mut spool = Spool::new(self.options.spool_bytes(), self.options.spill_folder.clone());
        let mut head = streaming_head(plan.codec);
        spool.write(&head)?;
        let mut frames = Frames::new(self.source, plan, self.options);
        while let Some((plan, text)) = frames.next()? {
            let set = plan.encode(&text, &self.settings(&text))?;
            let structured = set.pack(&head, effort, threads)?;
            let raw = match head.is_empty() {
                true => raw_if_smaller(&text, structured.size(), self.options)?,
                false => None,
            };
            head.clear();
            let (method, payload) = match raw {
                Some(raw) => (1, raw),
                None => (0, structured.read(ByteRange::between(0, structured.size()))?.to_vec()),
            };
            put_frame(method, &payload, &mut spool)?;
        }
        let mut body = Parts::default();
        body.push(spool.into_source()?);
        Ok(Packed { codec: plan.codec, streaming: true, body })
    }

    /// The file as it is, packed.
    fn raw(&self) -> Result<Packed> {
        let (size, effort) = (self.source.size(), self.options.effort);
        let mut body = Parts::default();
        if size <= self.options.longest_whole() && !self.options.stream {
            body.push_bytes(head(Codec::Raw));
            body.push_bytes(raw_payload(&self.read(0, size)?, effort)?);
            return Ok(Packed { codec: Codec::Raw, streaming: false, body });
        }
        let mut spool = Spool::new(self.options.spool_bytes(), self.options.spill_folder.clone());
        spool.write(&streaming_head(Codec::Raw))?;
        // Several frames at once, so many that it does not depend on the number of threads.
        const AT_ONCE: u64 = 4;
        let frame = self.options.frame_bytes();
        let mut at = 0;
        while at < size {
            let starts: Vec<u64> = (0..AT_ONCE).map(|i| at + i * frame).filter(|start| *start < size).collect();
            at += AT_ONCE * frame;
            let pack = |start| {
                let text = self.read(start, frame)?;
                self_checking(raw_payload(&text, effort)?, &text)
            };
            for payload in colkit_core::drive::parallel::map(starts, self.options.threads.min(4), pack)? {
                put_frame(1, &payload, &mut spool)?;
            }
        }
        body.push(spool.into_source()?);
        Ok(Packed { codec: Codec::Raw, streaming: true, body })
    }

    /// What was made, unless RAW is smaller and no codec was asked for. Then, if giving up queries makes it smaller than RAW, that is
    /// what is done, and otherwise it is RAW.
    fn or_smaller(&self, plan: Plan, packed: Packed) -> Result<Packed> {
        // Frames have been compared one by one.
        if packed.codec == Codec::Raw || self.options.codec.is_some() || packed.streaming {
            return Ok(packed);
        }
        let size = self.source.size();
        if size > self.options.longest_whole() {
            // Of a long table a few places tell whether it is close; pieces are larger as RAW than they are in the whole.
            let places = 4;
            let (mut sampled, mut as_raw) = (0u64, 0u64);
            for i in 0..places {
                let piece = self.read(size / places * i, HEAD)?;
                sampled += piece.len() as u64;
                as_raw += compress::smallest(&piece, Effort::Default)?.1.len() as u64;
            }
            let close =
                u128::from(packed.size()) * u128::from(sampled) * 20 > u128::from(as_raw) * u128::from(size) * 17;
            if !close {
                return Ok(packed);
            }
            let packed = self.with_smallest_blocks(plan, packed)?;
            let raw = self.raw()?;
            return if raw.size() < packed.size() { self.without_queries(plan, None, raw) } else { Ok(packed) };
        }
        let text = self.read(0, size)?;
        let expected = raw_size(&text, self.options)?;
        if expected.is_more_than(packed.size()) {
            return Ok(packed);
        }
        let packed = self.with_smallest_blocks(plan, packed)?;
        // A queryable file that RAW will most likely beat: if giving up queries makes it small beyond doubt, RAW need not be made.
        let mut plain = None;
        if expected.is_hardly_more_than(packed.size())
            && let Some(plan) = plan.without_queries()
        {
            let smaller = self.encode(plan)?;
            if expected.is_more_than(smaller.size()) {
                return Ok(smaller);
            }
            plain = Some(smaller);
        }
        let payload = match expected {
            RawSize::Packed(payload) => payload,
            RawSize::About(_) => raw_payload(&text, self.options.effort)?,
        };
        let mut body = Parts::default();
        body.push_bytes(head(Codec::Raw));
        body.push_bytes(payload);
        if body.size() >= packed.size() {
            return Ok(packed);
        }
        self.without_queries(plan, plain, Packed { codec: Codec::Raw, streaming: false, body })
    }

    /// A queryable file that RAW comes close to, packed again: it is better to be slow to query than not to be queryable.
    fn with_smallest_blocks(&self, plan: Plan, packed: Packed) -> Result<Packed> {
        let PackOptions { aim, effort, .. } = *self.options;
        if !plan.codec.is_queryable() || aim == PackPriority::Smallest || effort != Effort::Default {
            return Ok(packed);
        }
        let options = PackOptions { aim: PackPriority::Smallest, ..self.options.clone() };
        let smaller = Packer { source: self.source, options: &options, hash: self.hash }.encode(plan)?;
        Ok(if smaller.size() < packed.size() { smaller } else { packed })
    }

    /// What can be made by giving up queries, unless it has been made already, if it is smaller than RAW.
    fn without_queries(&self, plan: Plan, made: Option<Packed>, raw: Packed) -> Result<Packed> {
        let Some(plan) = plan.without_queries() else { return Ok(raw) };
        let smaller = made.map_or_else(|| self.encode(plan), Ok)?;
        Ok(if smaller.size() <= raw.size() { smaller } else { raw })
    }

    /// The complete file, if restoring it gives the original.
    fn verified(&self, packed: Packed) -> Result<Option<(Parts, PackSummary)>> {
        let Packed { codec, streaming, body: mut file } = packed;
        file.push_bytes(trailer(self.hash));
        let options = RestoreOptions {
            threads: self.options.threads,
            integrity: Integrity::Require,
            ..RestoreOptions::default()
        };
        let restored = restore_with(&file, &options, &mut |_| Ok(()));
        if !restored.is_ok_and(|r| r.verified && r.bytes == self.source.size()) {
            return Ok(None);
        }
        let summary = PackSummary { codec, streaming, input_bytes: self.source.size(), output_bytes: file.size() };
        Ok(Some((file, summary)))
    }
}

/// A backend byte and packed bytes.
fn raw_payload(text: &[u8], effort: Effort) -> Result<Vec<u8>> {
    let method = match effort {
        Effort::Default if text.len() > 64 << 10 => {
            let (backend, bytes) = XZ_6.pack(text)?;
            if bytes.len() < text.len() { (backend, bytes) } else { (Backend::Stored, text.to_vec()) }
        }
        effort => compress::smallest(text, effort)?,
    };
    Ok([&[method.0.id()][..], &method.1].concat())
}

/// A raw payload of a frame: not stored. Frames are read as parts of a table, without the hash of the whole, so they must
/// check themselves, as xz and zstd do.
fn self_checking(payload: Vec<u8>, text: &[u8]) -> Result<Vec<u8>> {
    if payload.first() != Some(&Backend::Stored.id()) {
        return Ok(payload);
    }
    let (backend, bytes) = compress::Method::Zstd(1).pack(text)?;
    Ok([&[backend.id()][..], &bytes].concat())
}

/// Below this RAW is tried, not estimated.
const ESTIMATE: usize = 512 << 10;

/// How large a text is as RAW.
enum RawSize {
    /// So large, and here it is.
    Packed(Vec<u8>),
    /// About so large.
    About(u64),
}

impl RawSize {
    /// Whether it is larger than `size`, beyond doubt: what is expected is mostly a tenth too much, because the longer a text is, the
    /// better xz is compared with the quick method.
    fn is_more_than(&self, size: u64) -> bool {
        match self {
            RawSize::Packed(payload) => payload.len() as u64 > size,
            RawSize::About(expected) => u128::from(size) * 100 < u128::from(*expected) * 82,
        }
    }

    /// Whether it is not known, but most likely less than `size`, by the same reasoning.
    fn is_hardly_more_than(&self, size: u64) -> bool {
        match self {
            RawSize::Packed(_) => false,
            RawSize::About(expected) => u128::from(size) * 100 > u128::from(*expected) * 92,
        }
    }
}

/// How large a text is as RAW. Packing all of it would take longer than everything else, so a long one is only looked at: all
/// of it in a quick way that sees far back, and a part from its middle in both ways, to know how they compare.
fn raw_size(text: &[u8], options: &PackOptions) -> Result<RawSize> {
    if options.effort != Effort::Default || text.len() <= ESTIMATE {
        return Ok(RawSize::Packed(raw_payload(text, options.effort)?));
    }
    let length = ESTIMATE.max(text.len() / 16);
    let middle = text.get((text.len() - length) / 2..).and_then(|t| t.get(..length)).unwrap_or_default();
    let (quick, exact) = (compress::quick_size(middle)?.max(1) as u64, XZ_6.pack(middle)?.1.len() as u64);
    let expected = u128::from(compress::quick_size(text)? as u64) * u128::from(exact) / u128::from(quick);
    Ok(RawSize::About(u64::try_from(expected).unwrap_or(u64::MAX)))
}

/// The raw payload of a frame of this text, if it is smaller than `size`.
fn raw_if_smaller(text: &[u8], size: u64, options: &PackOptions) -> Result<Option<Vec<u8>>> {
    let payload = match raw_size(text, options)? {
        RawSize::Packed(payload) => payload,
        about if about.is_more_than(size) => return Ok(None),
        RawSize::About(_) => raw_payload(text, options.effort)?,
    };
    let payload = self_checking(payload, text)?;
    Ok((payload.len() as u64 <= size).then_some(payload))
}

fn put_frame(method: u8, payload: &[u8], spool: &mut Spool) -> Result<()> {
    let mut header = Vec::new();
    put::put_uv(payload.len() as u64 + 1, &mut header);
    header.push(method);
    spool.write(&header)?;
    spool.write(payload)
}

/// Cuts a file into what frames are made of.
struct Frames<'a> {
    chunks: Chunks<'a>,
    source: &'a dyn Source,
    plan: Plan,
    at: u64,
    /// Bytes of a frame.
    length: u64,
    /// Bytes of a frame that cannot be cut.
    most: u64,
}

impl<'a> Frames<'a> {
    fn new(source: &'a dyn Source, plan: Plan, options: &PackOptions) -> Self {
        let (length, most) = (options.frame_bytes(), options.longest_whole());
        Frames { chunks: Chunks::new(source, length), source, plan, at: 0, length, most }
    }

    /// The next piece, and how to encode it.
    fn next(&mut self) -> Result<Option<(Plan, Vec<u8>)>> {
        let text = match self.plan.layout {
            Layout::Array { header, width } => {
                let elements = self.length / width as u64 * width as u64;
                self.read(elements.saturating_add(header as u64))?
            }
            _ if self.plan.codec.coder().can_be_cut() => self.chunks.next()?.unwrap_or_default(),
            _ if self.source.size() <= self.most => self.read(self.most)?,
            _ => return Err(Error::data("too_irregular", "a document of this length is not taken apart")),
        };
        let plan = self.plan;
        // Only the first piece has a header.
        self.plan = plan.continued();
        Ok((!text.is_empty()).then_some((plan, text)))
    }

    fn read(&mut self, length: u64) -> Result<Vec<u8>> {
        let range = ByteRange::between(self.at, self.source.size().min(self.at.saturating_add(length)));
        self.at = range.end();
        Ok(self.source.read(range)?.into())
    }
}
