//! The container: what a file consists of, found without unpacking anything.
//!
//! ```text
//! 0..4  magic   "AT1" 02 whole-file        "AT1" 03 streaming
//! 4     codec   see [`crate::codec`]
//! 5..   body    whole-file: a stream set ([`crate::stream_set`]), or for RAW one payload
//!               streaming:  uv chunk_lines, then frames: uv length, byte method, payload[length - 1]
//! -36.. trailer sha256 of the original (32), A1 53 36 01; optional, not in a bundle
//! ```
//!
//! A payload (RAW, raw frames) is a backend byte and data in the reference framing, or an xz stream directly in the
//! published framing. The two cannot be confused: xz begins with FD.

use crate::backend::{Backend, XZ_MAGIC};
use crate::checksum::is_one_bit_off;
use crate::codec::Codec;
use crate::stream_set::{Entry, Next, SetWalk, read_uv};
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Limits, Machine, Result, Step};

/// Whether the backend of packed bytes is written in front of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// With a backend byte, as the reference decoder reads it.
    Reference,
    /// Without one: always xz, as the published text has it.
    Published,
}

impl Framing {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Framing::Reference => "reference",
            Framing::Published => "published",
        }
    }
}

/// Packed bytes with their backend.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    /// Whether a backend byte lies before the data.
    pub framing: Framing,
    /// How the data is packed.
    pub backend: Backend,
    /// Where the data lies.
    pub data: ByteRange,
}

impl Payload {
    /// The payload that lies at `range` and starts with `head` (its first six bytes, or all if it is shorter).
    pub fn parse(head: &[u8], range: ByteRange) -> Result<Self> {
        let bad = |m: &str| Error::corrupt("bad_backend", m).at(range.start()).part("payload");
        match head.first() {
            None => Err(Error::corrupt("truncated", "expected a payload, found nothing").at(range.start())),
            Some(&id) => match Backend::from_id(id) {
                Some(backend) => {
                    let data = ByteRange::between(range.start() + 1, range.end());
                    Ok(Payload { framing: Framing::Reference, backend, data })
                }
                None if head.starts_with(&XZ_MAGIC) => {
                    Ok(Payload { framing: Framing::Published, backend: Backend::Xz, data: range })
                }
                None => Err(bad(&format!("expected a backend (0, 1, 2) or an xz stream, found {id:#04x}"))),
            },
        }
    }
}

/// A frame of a streaming container.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Length and method.
    pub header: ByteRange,
    /// Whether it is a stream set (else a payload like RAW).
    pub structured: bool,
    /// What follows the method.
    pub payload: ByteRange,
}

/// What a file consists of.
#[derive(Clone, Debug)]
pub enum Content {
    /// Whole-file RAW.
    Raw(Payload),
    /// A whole-file stream set.
    Streams(Vec<Entry>),
    /// A streaming container.
    Frames {
        /// Lines per frame, as the writer meant it.
        chunk_lines: u64,
        /// Where the first frame begins.
        start: u64,
        /// What stands before it.
        head: Bytes,
        /// The frames.
        frames: Vec<Frame>,
    },
}

/// An AT-1 file, walked through once.
#[derive(Clone, Debug)]
pub struct Container {
    /// The file's length.
    pub size: u64,
    /// How the content was taken apart.
    pub codec: Codec,
    /// The hash of the original, if the file carries one.
    pub trailer: Option<[u8; 32]>,
    /// Where the body ends.
    pub body_end: u64,
    /// What is in it.
    pub content: Content,
}

impl Container {
    /// Whether the file is a streaming container.
    pub fn is_streaming(&self) -> bool {
        matches!(self.content, Content::Frames { .. })
    }

    /// The entries of a whole-file stream set; none for other contents.
    pub fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Streams(entries) => entries,
            _ => &[],
        }
    }
}

/// Length of the trailer.
pub const TRAILER: u64 = 36;
/// How a trailer ends.
pub const TRAILER_MAGIC: [u8; 4] = [0xA1, 0x53, 0x36, 0x01];
/// Magic and codec.
pub const HEAD: u64 = 5;
/// What is read first: the head, and as much of a payload as tells its framing.
const FIRST_READ: u64 = HEAD + 6;
/// What is read at a time to find frames.
const FRAME_READ: u64 = 4 << 10;

/// Walks through a file of a known size.
pub struct Walk {
    size: u64,
    /// Bytes to fetch at a time at least.
    prefetch: u64,
    memory: u64,
    /// Which streams to fetch while at it.
    want: fn(Codec, &Entry) -> bool,
    /// The bytes fetched last, and where they lie.
    window: (u64, Bytes),
    state: State,
}

enum State {
    Start,
    Head,
    Streams { head: Head, walk: SetWalk, waiting: Option<Entry>, fetched: u64, entries: Vec<Entry> },
    ChunkLines(Head),
    Frames { head: Head, chunk_lines: u64, before: Bytes, at: u64, frames: Vec<Frame> },
    Done,
}

#[derive(Clone, Copy)]
struct Head {
    codec: Codec,
    trailer: Option<[u8; 32]>,
    body_end: u64,
}

enum Advance {
    Need(ByteRange),
    Go(State),
    Done(Container),
}

impl Walk {
    /// Walks a file of `size` bytes, and fetches the data of the streams that are wanted.
    pub fn new(size: u64, prefetch: u64, limits: &Limits, want: fn(Codec, &Entry) -> bool) -> Self {
        Walk { size, prefetch, memory: limits.memory, want, window: (0, Bytes::new()), state: State::Start }
    }

    /// The bytes at hand from `at` on.
    fn at_hand(&self, at: u64) -> &[u8] {
        let skip = at.checked_sub(self.window.0).and_then(|n| usize::try_from(n).ok());
        skip.and_then(|skip| self.window.1.get(skip..)).unwrap_or_default()
    }

    /// The range to ask for to have `n` bytes from `at`: more if that is cheap, never beyond `end`.
    fn range(&self, at: u64, n: u64, end: u64) -> ByteRange {
        ByteRange::between(at, at.saturating_add(n.max(self.prefetch)).min(end))
    }

    fn head(&self, tail: &[u8]) -> Result<Head> {
        let head = self.at_hand(0);
        let bad = |m: String| Error::corrupt("bad_magic", m).at(0).part("header");
        let (Some(magic), Some(&id)) = (head.get(..4), head.get(4)) else {
            return Err(Error::corrupt("truncated", format!("{} bytes are too few for a header", self.size)).at(0));
        };
        if !magic.starts_with(b"AT1") || !matches!(magic.get(3), Some(2 | 3)) {
            return Err(bad(format!("expected \"AT1\" and 2 or 3, found {magic:02x?}")));
        }
        let codec = Codec::from_id(id).ok_or_else(|| {
            Error::unsupported("unknown_codec", format!("codec {id} is not known")).at(4).part("header")
        })?;
        if codec == Codec::Bundle && magic.ends_with(&[3]) {
            return Err(Error::corrupt("bad_codec", "a streaming container cannot be a bundle").at(4).part("header"));
        }
        if codec != Codec::Bundle && tail.last_chunk::<4>().is_some_and(|mark| is_one_bit_off(mark, &TRAILER_MAGIC)) {
            // Taken for the end of the content, a damaged trailer would be restored with it.
            return Err(Error::corrupt("bad_trailer", "the mark of the trailer is damaged: one bit of it is another")
                .at(self.size - 4)
                .part("trailer"));
        }
        // A bundle has no trailer of its own; its last bytes may be the trailer of its last entry.
        let trailer = match tail.split_last_chunk::<4>() {
            Some((hash, &TRAILER_MAGIC)) if codec != Codec::Bundle => <[u8; 32]>::try_from(hash).ok(),
            _ => None,
        };
        let body_end = if trailer.is_some() { self.size - TRAILER } else { self.size };
        if body_end < HEAD {
            return Err(Error::corrupt("truncated", "there is nothing but a trailer").at(0));
        }
        Ok(Head { codec, trailer, body_end })
    }

    fn container(&self, head: Head, content: Content) -> Container {
        Container { size: self.size, codec: head.codec, trailer: head.trailer, body_end: head.body_end, content }
    }

    fn advance(&mut self, state: State) -> Result<Advance> {
        match state {
            State::Start | State::Head | State::Done => {
                Err(Error::internal("the machine has given its result already"))
            }
            State::Streams { head, walk, waiting, fetched, entries } => {
                self.advance_streams(head, walk, waiting, fetched, entries)
            }
            State::ChunkLines(head) => match read_uv(self.at_hand(HEAD), HEAD, head.body_end)? {
                Err(n) => {
                    self.state = State::ChunkLines(head);
                    Ok(Advance::Need(self.range(HEAD, n, head.body_end)))
                }
                Ok((chunk_lines, length)) => {
                    let at = HEAD + length;
                    let before = usize::try_from(at).ok().and_then(|at| self.at_hand(0).get(..at)).unwrap_or_default();
                    let before = Bytes::copy_from_slice(before);
                    Ok(Advance::Go(State::Frames { head, chunk_lines, before, at, frames: Vec::new() }))
                }
            },
            State::Frames { head, chunk_lines, before, at, mut frames } => {
                if at == head.body_end {
                    let content = Content::Frames { chunk_lines, start: before.len() as u64, head: before, frames };
                    return Ok(Advance::Done(self.container(head, content)));
                }
                match read_frame(self.at_hand(at), at, head.body_end)? {
                    Err(n) => {
                        self.state = State::Frames { head, chunk_lines, before, at, frames };
                        // Frames may be as short as their headers: those that follow come with this one.
                        Ok(Advance::Need(self.range(at, n.max(FRAME_READ), head.body_end)))
                    }
                    Ok(frame) => {
                        frames.push(frame);
                        let held = (frames.len() * size_of::<Frame>()) as u64;
                        Limits::check_memory("the list of frames", held, self.memory)?;
                        Ok(Advance::Go(State::Frames { head, chunk_lines, before, at: frame.payload.end(), frames }))
                    }
                }
            }
        }
    }

    fn advance_streams(
        &mut self,
        head: Head,
        mut walk: SetWalk,
        waiting: Option<Entry>,
        mut fetched: u64,
        mut entries: Vec<Entry>,
    ) -> Result<Advance> {
        if let Some(mut entry) = waiting {
            let packed = entry.data.len_usize()?;
            let Some(data) = self.at_hand(entry.data.start()).get(..packed) else {
                // One byte more: the length of the next stream's name.
                let range = self.range(entry.data.start(), entry.data.len() + 1, head.body_end);
                self.state = State::Streams { head, walk, waiting: Some(entry), fetched, entries };
                return Ok(Advance::Need(range));
            };
            entry.packed = Some(self.window.1.slice_ref(data));
            walk.took(&entry);
            entries.push(entry);
        }
        match walk.next(self.at_hand(walk.at()))? {
            Next::More(n) => {
                let range = self.range(walk.at(), n, head.body_end);
                self.state = State::Streams { head, walk, waiting: None, fetched, entries };
                Ok(Advance::Need(range))
            }
            Next::Entry(entry) if (self.want)(head.codec, &entry) => {
                fetched = fetched.saturating_add(entry.data.len());
                Limits::check_memory("the packed streams of a file", fetched, self.memory)?;
                Ok(Advance::Go(State::Streams { head, walk, waiting: Some(entry), fetched, entries }))
            }
            Next::Entry(entry) => {
                walk.took(&entry);
                entries.push(entry);
                Ok(Advance::Go(State::Streams { head, walk, waiting: None, fetched, entries }))
            }
            Next::End => {
                walk.check(&entries)?;
                Ok(Advance::Done(self.container(head, Content::Streams(entries))))
            }
        }
    }
}

/// Reads the header of the frame at `at`, or says how many bytes from there are needed.
fn read_frame(bytes: &[u8], at: u64, end: u64) -> Result<std::result::Result<Frame, u64>> {
    let (length, used) = match read_uv(bytes, at, end).map_err(|e| e.part("frame"))? {
        Err(n) => return Ok(Err(n)),
        Ok(read) => read,
    };
    let method_at = at + used;
    let payload_end = method_at.checked_add(length).filter(|e| *e <= end);
    let (Some(payload_end), true) = (payload_end, length > 0) else {
        let found = end - method_at;
        let message = format!("a frame of {length} bytes, expected 1 to {found} that remain");
        return Err(Error::corrupt("bad_frame", message).at(at).part("frame"));
    };
    let Some(method) = usize::try_from(used).ok().and_then(|used| bytes.get(used)) else { return Ok(Err(used + 1)) };
    if *method > 1 {
        let message = format!("frame method {method}, expected 0 (structured) or 1 (raw)");
        return Err(Error::corrupt("bad_frame", message).at(method_at).part("frame"));
    }
    Ok(Ok(Frame {
        header: ByteRange::between(at, method_at + 1),
        structured: *method == 0,
        payload: ByteRange::between(method_at + 1, payload_end),
    }))
}

impl Machine for Walk {
    type Output = Container;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Container>> {
        let mut got = got.into_iter();
        let mut state = match std::mem::replace(&mut self.state, State::Done) {
            State::Start => {
                self.state = State::Head;
                let first = ByteRange::between(0, self.size.min(FIRST_READ.max(self.prefetch)));
                let tail = ByteRange::between(self.size.saturating_sub(TRAILER), self.size);
                return Ok(Step::Need(vec![first, tail]));
            }
            State::Head => {
                self.window = (0, got.next().unwrap_or_default());
                let head = self.head(&got.next().unwrap_or_default())?;
                let body = ByteRange::between(HEAD, head.body_end);
                if self.at_hand(3).first() == Some(&3) {
                    State::ChunkLines(head)
                } else if head.codec == Codec::Raw {
                    let known = usize::try_from(body.len().min(6)).unwrap_or(6);
                    let start = self.at_hand(HEAD).get(..known).unwrap_or_default();
                    let content = Content::Raw(Payload::parse(start, body)?);
                    return Ok(Step::Ready(self.container(head, content)));
                } else {
                    let walk = SetWalk::new(body, self.at_hand(0).first_chunk::<5>().map_or(&[][..], |head| head));
                    State::Streams { head, walk, waiting: None, fetched: 0, entries: Vec::new() }
                }
            }
            state => {
                self.window.1 = got.next().unwrap_or_default();
                state
            }
        };
        loop {
            match self.advance(state)? {
                Advance::Go(next) => state = next,
                Advance::Done(container) => return Ok(Step::Ready(container)),
                Advance::Need(range) => {
                    self.window.0 = range.start();
                    return Ok(Step::Need(vec![range]));
                }
            }
        }
    }
}
