//! The crates that define bytes of Lance files, against bytes that are committed.
//!
//! `fastlanes` and `fsst-rs` are dependencies by range. The order of packed bits and the codes of compressed strings are
//! part of the file format; a release of either crate that changes them fails here. What is expected was not made by these
//! crates, but computed from the description of the format by another program.

use fastlanes::BitPacking;
use std::fmt::Debug;

const GROUP: usize = 1024;

/// Groups of 8, 16, 32 and 64 bits, each packed to two widths, one after the other.
const PACKED: &[u8] = include_bytes!("data/golden/bitpacked.bin");
const WIDTHS: [(usize, [usize; 2]); 4] = [(8, [3, 7]), (16, [5, 11]), (32, [13, 31]), (64, [9, 37])];

/// CRC-32 of the groups of 8, 16, 32 and 64 bits, packed to every width in turn.
const ALL_WIDTHS: [u32; 4] = [0x8A87_305D, 0x4CF3_4A6B, 0x9549_84BD, 0x90CA_3AC5];

/// Symbols in the order that the crate asks for: those of two bytes first, those of one byte last.
const SYMBOLS: [&[u8]; 12] =
    [b"ml", b"e.", b"org", b".ht", b"ampl", b"index", b"https:", b"://www.", b"/files/a", b"/", b"0", b"\n"];
const TEXT: &str = "https://example.org/0/index.html\nhttp://www.example.org/files/abc/10.html?q=\u{e9}\n";
/// A code is the number of a symbol, or 255 and a byte that is none.
const CODES: [u8; 55] = [
    6, 9, 9, 255, 101, 255, 120, 4, 1, 2, 9, 10, 9, 5, 3, 0, 11, 255, 104, 255, 116, 255, 116, 255, 112, 7, 255, 101,
    255, 120, 4, 1, 2, 8, 255, 98, 255, 99, 9, 255, 49, 10, 3, 0, 255, 63, 255, 113, 255, 61, 255, 195, 255, 169, 11,
];

fn number(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

trait Word: BitPacking + bytemuck::Pod + Default + Debug + PartialEq {
    fn low_bits(of: u64, width: usize) -> Self;
}

macro_rules! word {
    ($($t:ty),*) => {$(
        impl Word for $t {
            fn low_bits(of: u64, width: usize) -> Self {
                if width == 0 { 0 } else { (of >> (64 - width)) as $t }
            }
        }
    )*};
}
word!(u8, u16, u32, u64);

fn values<T: Word>(width: usize) -> [T; GROUP] {
    std::array::from_fn(|i| T::low_bits(number(i), width))
}

#[expect(unsafe_code, reason = "the function that the codec uses")]
fn pack<T: Word>(width: usize) -> Vec<u8> {
    let mut packed = vec![T::default(); GROUP * width / T::T];
    // SAFETY: 1024 values, and room for 1024 of `width` bits.
    unsafe { T::unchecked_pack(width, &values::<T>(width), &mut packed) };
    bytemuck::cast_slice(&packed).to_vec()
}

#[expect(unsafe_code, reason = "the functions that the codec uses")]
fn assert_unpacks<T: Word>(width: usize, bytes: &[u8]) {
    let packed: Vec<T> = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
    assert_eq!(packed.len(), GROUP * width / T::T);
    let mut unpacked = [T::default(); GROUP];
    // SAFETY: the lengths are those of a group of this width.
    unsafe { T::unchecked_unpack(width, &packed, &mut unpacked) };
    assert_eq!(unpacked, values::<T>(width));
    // SAFETY: as above.
    let single = |i| unsafe { T::unchecked_unpack_single(width, &packed, i) };
    assert!((0..GROUP).all(|i| single(i) == unpacked[i]));
}

#[test]
fn packed_bits_are_those_committed() {
    let mut rest = PACKED;
    for (bits, widths) in WIDTHS {
        for width in widths {
            let (expected, behind) = rest.split_at(width * GROUP / 8);
            rest = behind;
            let packed = match bits {
                8 => pack::<u8>(width),
                16 => pack::<u16>(width),
                32 => pack::<u32>(width),
                _ => pack::<u64>(width),
            };
            assert!(packed == expected, "{bits} bits packed to {width} differ from the committed bytes");
            match bits {
                8 => assert_unpacks::<u8>(width, expected),
                16 => assert_unpacks::<u16>(width, expected),
                32 => assert_unpacks::<u32>(width, expected),
                _ => assert_unpacks::<u64>(width, expected),
            }
        }
    }
    assert!(rest.is_empty());
}

#[test]
fn every_width_has_its_committed_checksum() {
    fn all<T: Word>() -> u32 {
        let packed: Vec<u8> = (0..=T::T).flat_map(pack::<T>).collect();
        crc32fast::hash(&packed)
    }
    assert_eq!([all::<u8>(), all::<u16>(), all::<u32>(), all::<u64>()], ALL_WIDTHS);
}

#[test]
fn compressed_strings_are_those_committed() {
    let symbol = |bytes: &[u8]| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        fsst::Symbol::from_slice(&padded)
    };
    let (symbols, lengths): (Vec<_>, Vec<_>) = SYMBOLS.iter().map(|s| (symbol(s), s.len() as u8)).unzip();
    let compressor = fsst::Compressor::rebuild_from(&symbols, &lengths);
    assert_eq!((compressor.symbol_table(), compressor.symbol_lengths()), (symbols.as_slice(), lengths.as_slice()));
    assert_eq!(compressor.compress(TEXT.as_bytes()), CODES);
    assert_eq!(compressor.decompressor().decompress(&CODES), TEXT.as_bytes());
}
