//! Packing bytes: the smallest of what is tried.
//!
//! | effort  | tried |
//! |---------|-------|
//! | fast    | zstd 3 |
//! | default | a few settings of xz and zstd 19 on the first part, then the best of them on the whole; a slow one must gain |
//! | best    | extreme settings of xz and zstd 22 on the whole |
//!
//! Stored is always among them (but not for blocks, which have no tag for it). The result depends on the bytes and the
//! effort alone.
//!
//! Blocks of tables that are to be queried are different at the default effort: zstd unpacks ten times as fast as xz, which is
//! what a query waits for, so xz must be smaller by more than a third ([`quick_way`]).

use super::xz_blocks;
use crate::backend::Backend;
use colkit_core::{Error, Result};
use liblzma::stream::{Action, Check, Filters, LzmaOptions, Status, Stream as Xz};
use zstd::zstd_safe::{CCtx, CParameter, Strategy};

/// How hard to try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Fast: zstd.
    Fast,
    /// Much smaller, in reasonable time.
    #[default]
    Default,
    /// As small as can be, however long it takes.
    Best,
}

/// One method of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// zstd at this level.
    Zstd(i32),
    /// zstd that tries as hard as at level 19, but only for matches of six bytes and more. Where digits are nearly random,
    /// shorter ones cost more than they save; among counters they hide the long ones.
    ZstdLong,
    /// xz with this preset; literal context bits, position bits, and the match length that is good enough.
    Xz { preset: u32, lc: u32, pb: u32, nice: Option<u32> },
}

const EXTREME: u32 = 1 << 31;
/// The settings of `xz -6`.
pub const XZ_6: Method = Method::Xz { preset: 6, lc: 3, pb: 2, nice: None };
/// Cheap enough to measure with, close enough to the rest to rank by.
pub const MEASURE: Method = Method::Xz { preset: 4, lc: 3, pb: 2, nice: None };

const DEFAULT_METHODS: [Method; 4] = [
    XZ_6,
    Method::Zstd(19),
    Method::Xz { preset: 6, lc: 3, pb: 2, nice: Some(16) },
    Method::Xz { preset: 6, lc: 4, pb: 0, nice: None },
];
/// For streams in which much comes again after many megabytes: the settings of `xz -6`, with a longer memory.
const XZ_FAR: Method = Method::Xz { preset: 8, lc: 4, pb: 0, nice: None };
const BEST_METHODS: [Method; 6] = [
    Method::Xz { preset: 9 | EXTREME, lc: 3, pb: 2, nice: None },
    Method::Xz { preset: 9 | EXTREME, lc: 4, pb: 0, nice: None },
    Method::Xz { preset: 9 | EXTREME, lc: 0, pb: 0, nice: None },
    Method::Xz { preset: 9 | EXTREME, lc: 3, pb: 2, nice: Some(16) },
    Method::Xz { preset: 9 | EXTREME, lc: 1, pb: 3, nice: None },
    Method::Zstd(22),
];
/// Ways to unpack quickly. Each of them is by far the best for some columns: the last one where the same few long texts come
/// again and again, in which the others find too much to choose from.
const QUICK_METHODS: [Method; 3] = [Method::Zstd(19), Method::ZstdLong, Method::Zstd(3)];

impl Effort {
    /// The methods worth trying.
    pub fn methods(self) -> &'static [Method] {
        match self {
            Effort::Fast => &[Method::Zstd(3)],
            Effort::Default => &DEFAULT_METHODS,
            Effort::Best => &BEST_METHODS,
        }
    }
}

impl Method {
    /// What is compared at default effort: the size of a probe, in thousandths of a byte, slow methods handicapped. zstd takes
    /// several times as long as xz where much can be packed away, and hardly longer elsewhere; short matches are found sooner.
    fn worth(self, size: usize, of: usize) -> usize {
        size.saturating_mul(match self {
            Method::Zstd(_) | Method::ZstdLong if size.saturating_mul(4) < of => 1080,
            Method::Zstd(_) | Method::ZstdLong => 1020,
            Method::Xz { nice: Some(_), .. } => 988,
            Method::Xz { .. } => 1000,
        })
    }

    /// Packs.
    pub fn pack(self, data: &[u8]) -> Result<(Backend, Vec<u8>)> {
        match self {
            Method::Zstd(level) => Ok((Backend::Zstd, zstd(data, level, &[])?)),
            Method::ZstdLong => {
                let long = [CParameter::Strategy(Strategy::ZSTD_btopt), CParameter::MinMatch(6)];
                Ok((Backend::Zstd, zstd(data, 19, &long)?))
            }
            Method::Xz { preset, lc, pb, nice } => Ok((Backend::Xz, xz(data, preset, lc, pb, nice)?)),
        }
    }
}

fn failed_xz(e: liblzma::stream::Error) -> Error {
    Error::internal(format!("xz: {e}")).caused_by(e)
}

fn xz(data: &[u8], preset: u32, lc: u32, pb: u32, nice: Option<u32>) -> Result<Vec<u8>> {
    let mut options = LzmaOptions::new_preset(preset).map_err(failed_xz)?;
    // No larger than the data: what decoders reserve goes by it.
    let most = match preset & !EXTREME {
        9 => 64 << 20,
        8 => 32 << 20,
        _ => 8 << 20,
    };
    let size = u32::try_from(data.len()).unwrap_or(most).clamp(4096, most);
    options.dict_size(size.checked_next_power_of_two().unwrap_or(most).min(most));
    options.literal_context_bits(lc).literal_position_bits(0).position_bits(pb);
    if let Some(nice) = nice {
        options.nice_len(nice);
    }
    let mut filters = Filters::new();
    filters.lzma2(&options);
    let mut stream = Xz::new_stream_encoder(&filters, Check::Crc32).map_err(failed_xz)?;
    let mut out = Vec::with_capacity(data.len() / 4 + 128);
    loop {
        let done = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
        let rest = data.get(done..).unwrap_or_default();
        match stream.process_vec(rest, &mut out, Action::Finish).map_err(failed_xz)? {
            Status::StreamEnd => return Ok(out),
            _ => out.reserve(out.len() / 2 + 1024),
        }
    }
}

fn zstd(data: &[u8], level: i32, more: &[CParameter]) -> Result<Vec<u8>> {
    let failed = |code| Error::internal(format!("zstd: {}", zstd::zstd_safe::get_error_name(code)));
    let mut context = CCtx::create();
    let mut set = |p| context.set_parameter(p).map_err(failed);
    set(CParameter::CompressionLevel(level))?;
    set(CParameter::ContentSizeFlag(true))?;
    // What is read in parts is not covered by the hash at the end of the file.
    set(CParameter::ChecksumFlag(true))?;
    for parameter in more {
        set(*parameter)?;
    }
    let mut out = Vec::with_capacity(zstd::zstd_safe::compress_bound(data.len()));
    context.compress2(&mut out, data).map_err(failed)?;
    out.shrink_to_fit();
    Ok(out)
}

/// How many bytes of `data` take, packed in a way that is quick and sees far back: to compare inputs by.
pub fn quick_size(data: &[u8]) -> Result<usize> {
    let failed = |code| Error::internal(format!("zstd: {}", zstd::zstd_safe::get_error_name(code)));
    let mut context = CCtx::create();
    let mut set = |p| context.set_parameter(p).map_err(failed);
    set(CParameter::CompressionLevel(5))?;
    // As far back as `xz -6` sees, with tables that have room for all of it.
    set(CParameter::WindowLog(23))?;
    set(CParameter::HashLog(21))?;
    set(CParameter::ChainLog(22))?;
    let mut out = Vec::with_capacity(zstd::zstd_safe::compress_bound(data.len()));
    context.compress2(&mut out, data).map_err(failed)
}

/// Below this everything is tried on the whole.
const PROBE_BELOW: usize = 96 << 10;
/// How much is tried of what is longer.
const PROBE: usize = 64 << 10;

/// The method that packs `data` best, as far as a part of it tells.
pub fn best_method(data: &[u8], effort: Effort) -> Result<Method> {
    let methods = effort.methods();
    let probe = data.get(..PROBE).filter(|_| effort != Effort::Best).unwrap_or(data);
    let mut best = (usize::MAX, XZ_6);
    for method in methods {
        // A single method needs no measuring.
        let size = if methods.len() > 1 { method.pack(probe)?.1.len() } else { 0 };
        let worth = if effort == Effort::Default { method.worth(size, probe.len()) } else { size };
        if worth < best.0 {
            best = (worth, *method);
        }
    }
    Ok(best.1)
}

/// What is tried of a longer block. Counters begin with fewer digits than they go on with, so it is taken from the middle.
const BLOCK_PROBE: usize = 128 << 10;

/// The method for blocks like this one, if they are to be unpacked quickly.
pub fn quick_method(block: &[u8]) -> Result<Method> {
    let start = block.len().saturating_sub(BLOCK_PROBE) / 2;
    let probe = block.get(start..).and_then(|rest| rest.get(..BLOCK_PROBE)).unwrap_or(block);
    let best = |methods: &[Method]| -> Result<(usize, Method)> {
        let mut best = (usize::MAX, XZ_6);
        for method in methods {
            let size = method.pack(probe)?.1.len();
            if size < best.0 {
                best = (size, *method);
            }
        }
        Ok(best)
    };
    let xz = DEFAULT_METHODS.into_iter().filter(|method| matches!(method, Method::Xz { .. })).collect::<Vec<_>>();
    let (quick, small) = (best(&QUICK_METHODS)?, best(&xz)?);
    Ok(if small.0.saturating_mul(3) < quick.0.saturating_mul(2) { small.1 } else { quick.1 })
}

/// Packs by the best of all methods, without storing.
pub fn smallest_packed(data: &[u8], effort: Effort) -> Result<(Backend, Vec<u8>)> {
    if effort == Effort::Default && data.len() > PROBE_BELOW {
        return best_method(data, effort)?.pack(data);
    }
    let mut best: Option<(Backend, Vec<u8>)> = None;
    // For what is tiny, even `fast` can afford the best zstd.
    let methods = if effort == Effort::Fast && data.len() < 4096 { &[Method::Zstd(19)] } else { effort.methods() };
    for method in methods {
        let packed = method.pack(data)?;
        if best.as_ref().is_none_or(|b| packed.1.len() < b.1.len()) {
            best = Some(packed);
        }
    }
    best.map_or_else(|| XZ_6.pack(data), Ok)
}

/// Packs by the method that gives the fewest bytes.
pub fn smallest(data: &[u8], effort: Effort) -> Result<(Backend, Vec<u8>)> {
    let packed = smallest_packed(data, effort)?;
    if packed.1.len() < data.len() { Ok(packed) } else { Ok((Backend::Stored, data.to_vec())) }
}

/// Packs what has much in common far apart.
pub fn smallest_far(data: &[u8]) -> Result<(Backend, Vec<u8>)> {
    if data.len() > PROBE_BELOW { XZ_FAR.pack(data) } else { smallest(data, Effort::Default) }
}

/// Packs by the best method that parts can be joined from: xz.
pub fn smallest_xz(data: &[u8], effort: Effort) -> Result<(Backend, Vec<u8>)> {
    let is_xz = |method: &&Method| matches!(method, Method::Xz { .. });
    let probe = data.get(..PROBE).filter(|_| effort != Effort::Best).unwrap_or(data);
    let mut best = (usize::MAX, XZ_6);
    for method in effort.methods().iter().filter(is_xz) {
        let size = method.pack(probe)?.1.len();
        if size < best.0 {
            best = (size, *method);
        }
    }
    best.1.pack(data)
}

/// Puts packed parts that follow each other together to one payload, if they are all xz; otherwise `None`.
pub fn join(parts: &[(Backend, Vec<u8>)]) -> Option<Vec<u8>> {
    let all = parts.iter().map(|(backend, bytes)| (*backend == Backend::Xz).then_some(&bytes[..]));
    xz_blocks::join(&all.collect::<Option<Vec<_>>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn every_way_gives_the_bytes_back() {
        let data: Vec<u8> = (0..60_000u32).flat_map(|i| format!("{}\n", i * 7 % 1000).into_bytes()).collect();
        for effort in [Effort::Fast, Effort::Default, Effort::Best] {
            for method in effort.methods() {
                for data in [&data[..], b"", b"x"] {
                    let (backend, packed) = method.pack(data).unwrap();
                    assert_eq!(backend.unpack(&Bytes::from(packed), 1 << 30).unwrap(), data, "{method:?}");
                }
            }
            let (backend, packed) = smallest(&data, effort).unwrap();
            assert!(packed.len() * 3 < data.len());
            assert_eq!(backend.unpack(&packed.into(), 1 << 30).unwrap(), data);
            assert_eq!(smallest(b"", effort).unwrap(), (Backend::Stored, Vec::new()));
        }
        for method in QUICK_METHODS {
            let (backend, packed) = method.pack(&data).unwrap();
            assert_eq!(backend.unpack(&packed.into(), 1 << 30).unwrap(), data, "{method:?}");
        }
    }

    #[test]
    fn xz_must_be_worth_the_wait() {
        let size = |method: Method, data: &[u8]| method.pack(data).unwrap().1.len();
        let lines = |line: &dyn Fn(u32) -> String| (0..60_000).map(|i| line(i) + "\n").collect::<String>().into_bytes();
        let scrambled = |i: u32| i.wrapping_mul(0x9E37_79B9) >> 7;
        for data in [
            lines(&|i| (1_000_000 + i).to_string()),
            lines(&|i| scrambled(i).to_string()),
            lines(&|i| ["alpha", "beta", "gamma"][scrambled(i) as usize % 3].to_string()),
            b"x".to_vec(),
            Vec::new(),
        ] {
            let method = quick_method(&data).unwrap();
            if matches!(method, Method::Xz { .. }) {
                let quick = QUICK_METHODS.map(|method| size(method, &data)).into_iter().min().unwrap();
                assert!(size(method, &data) * 4 < quick * 3, "{method:?}");
            }
        }
        assert!(!matches!(quick_method(&lines(&|i| scrambled(i).to_string())).unwrap(), Method::Xz { .. }));
    }
}
