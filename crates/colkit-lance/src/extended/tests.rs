//! Groups of all widths and lengths come back; groups of any bytes do no harm.

#![allow(clippy::cast_possible_truncation, reason = "test code")]

use super::alp_encode;
use super::decode::alp::Alp;
use super::decode::frame::Frame;
use super::decode::words::Word;
use super::decode::{GROUP, Group};
use super::frame_encode::{encode_group, numbers};
use super::{pco, text};
use crate::encoding::{
    Chunk, Compression, CompressiveEncoding, Output, PageTexts, PageValues, ValueEncoding, ValueEncodings, collector,
};
use crate::values::Values;
use crate::write::Variable;
use arrow::array::AsArray;
use arrow::datatypes::DataType;
use colkit_core::pool::Pooled;
use colkit_core::{Limits, Result};
use std::ops::Range;
use std::sync::Arc;

/// All values of a chunk.
#[expect(clippy::single_range_in_vec_init, reason = "a list of ranges")]
fn decode_chunk(compression: &dyn Compression, bytes: &[u8], count: usize, out: &mut Values) -> Result<()> {
    decode_parts(compression, &[bytes], count, &[0..count], out)
}

/// Some values of a chunk.
fn decode_parts(
    compression: &dyn Compression,
    buffers: &[&[u8]],
    count: usize,
    wanted: &[Range<usize>],
    out: &mut Values,
) -> Result<()> {
    let (limits, mut scratch) = (Limits::default(), Pooled::default());
    let chunk = Chunk { buffers, count, wanted, limits: &limits, scratch: &mut scratch, validity: None };
    compression.in_chunks().unwrap().append(chunk, Output(out))
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Numbers of many kinds.
fn kinds(random: &mut Random, count: usize) -> Vec<Vec<u64>> {
    let mut kinds: Vec<Vec<u64>> = vec![
        vec![7; count],
        (0..count as u64).collect(),
        (0..count as u64).map(|i| 1_600_000_000_000_000 + i * 1_000_000).collect(),
        (0..count as u64).map(|i| u64::MAX - i * i).collect(),
        (0..count as u64).map(|i| if i % 100 == 50 { i << 40 } else { i % 13 }).collect(),
        (0..count as u64).map(|i| if i % 100 == 50 { 3 } else { 1_000_000 + i % 13 * 250 }).collect(),
        (0..count as u64).map(|i| if i % 2 == 0 { u64::MAX / 2 } else { u64::MAX / 2 + 1 }).collect(),
        (0..count as u64).map(|i| if i % 2 == 0 { 0x8000_0000 } else { 0x7FFF_FFFF }).collect(),
    ];
    for width in 0..=64u32 {
        kinds.push((0..count).map(|_| random.next().checked_shr(64 - width).unwrap_or(0)).collect());
    }
    let mut at = 1 << 45;
    kinds.push(
        (0..count)
            .map(|_| {
                at += random.next() % 5000;
                at
            })
            .collect(),
    );
    kinds
}

fn frames<T: Word + std::fmt::Debug>(values: &[u64], signed: bool) -> usize {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(T::BYTES)).collect();
    let mut encoded = Vec::new();
    encode_group(&numbers(&bytes, u8::try_from(T::BYTES).unwrap(), signed), T::BITS, &mut encoded);
    assert_eq!(encoded.len() % 8, 0);
    let (group, rest) = Frame::<T>::split(&encoded, values.len()).unwrap();
    assert!(rest.is_empty());
    let mut out = vec![T::default(); values.len()];
    group.decode(&mut out).unwrap();
    let expected: Vec<T> = bytes.chunks_exact(T::BYTES).map(T::read).collect();
    assert_eq!(out, expected, "{} words of {} bits", values.len(), T::BITS);
    encoded.len()
}

#[test]
fn numbers_come_back() {
    let mut random = Random(1);
    for count in [1, 2, 3, 63, 64, 65, 500, 1000, 1023, 1024] {
        for values in kinds(&mut random, count) {
            for signed in [false, true] {
                frames::<u8>(&values, signed);
                frames::<u16>(&values, signed);
                frames::<u32>(&values, signed);
                frames::<u64>(&values, signed);
            }
        }
    }
}

#[test]
fn regular_numbers_take_next_to_nothing() {
    let size = |value: fn(u64) -> u64| frames::<u64>(&(0..1024).map(value).collect::<Vec<u64>>(), true);
    assert_eq!(size(|_| 99), 16);
    assert_eq!(size(|i| (1 << 50) + i * 1_000_000), 24, "equal steps");
    assert!(size(|i| (1 << 50) + i * i % 16 * 1_000_000) <= 24 + 128 * 4, "multiples");
    assert!(size(|i| if i == 77 { 0 } else { (1 << 50) + i * 977 % 256 }) <= 16 + 128 * 8 + 16, "one that is far away");
}

fn floats<T: Word + super::decode::alp::FloatWord + std::fmt::Debug>(values: &[T], bytes: &[u8]) -> usize {
    let width = u8::try_from(T::BYTES).unwrap();
    let powers = alp_encode::find_powers(bytes, width);
    let mut encoded = Vec::new();
    alp_encode::encode_group(bytes, width, &powers, &mut encoded);
    let (group, rest) = Alp::<T>::split(&encoded, values.len()).unwrap();
    assert!(rest.is_empty());
    let mut out = vec![T::default(); values.len()];
    group.decode(&mut out).unwrap();
    assert_eq!(out, values);
    encoded.len()
}

fn doubles(values: &[f64]) -> usize {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    floats(&values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>(), &bytes)
}

fn singles(values: &[f32]) -> usize {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    floats(&values.iter().map(|v| v.to_bits()).collect::<Vec<u32>>(), &bytes)
}

#[test]
fn every_bit_of_a_float_comes_back() {
    let strange = [
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7FF0_0000_0000_0001),
        f64::from_bits(0xFFF8_1234_5678_9ABC),
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        -f64::from_bits(77),
        f64::MAX,
        f64::MIN,
        2f64.powi(51),
        -2f64.powi(53),
        1e300,
        0.1 + 0.2,
    ];
    doubles(&strange);
    let few: Vec<f64> = (0..1024).map(|i| if i % 50 == 0 { strange[i / 50 % 17] } else { i as f64 / 100.0 }).collect();
    assert!(doubles(&few) < 3000);
    let strange: Vec<f32> = (0..4096u32).map(|i| f32::from_bits(i.wrapping_mul(0x0010_0401))).collect();
    for group in strange.chunks(GROUP) {
        singles(group);
    }
    let mut random = Random(9);
    for count in [1, 2, 100, 1023, 1024] {
        doubles(&(0..count).map(|_| f64::from_bits(random.next())).collect::<Vec<_>>());
        for digits in 0..16 {
            let scale = 10f64.powi(digits);
            doubles(&(0..count).map(|_| (random.next() % 1_000_000) as f64 / scale).collect::<Vec<_>>());
            singles(&(0..count).map(|_| ((random.next() % 100_000) as f64 / scale) as f32).collect::<Vec<_>>());
        }
    }
}

#[test]
fn short_decimals_are_small() {
    let mut random = Random(3);
    let prices: Vec<f64> = (0..1024).map(|_| (random.next() % 100_000) as f64 / 100.0).collect();
    assert!(doubles(&prices) < 128 * 17 + 100, "{}", doubles(&prices));
    let singles_of: Vec<f32> = prices.iter().map(|p| *p as f32).collect();
    assert!(singles(&singles_of) < 128 * 17 + 100, "{}", singles(&singles_of));
}

#[test]
fn floats_of_any_digits_are_smaller_if_their_exponents_are_near() {
    let mut random = Random(7);
    let mut normal = || (0..12).map(|_| (random.next() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0;
    for count in [1024, 1000, 3] {
        let values: Vec<f64> = (0..count).map(|_| normal()).collect();
        let singles_of: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        let (wide, narrow) = (doubles(&values), singles(&singles_of));
        assert!(count < 1000 || wide * 10 < count * 8 * 9, "{wide} bytes");
        assert!(count < 1000 || narrow * 10 < count * 4 * 9, "{narrow} bytes");
    }
    // Of all exponents, with both signs.
    singles(&(0..1024u32).map(|i| f32::from_bits(i << 22 | i)).collect::<Vec<_>>());
    doubles(&(0..1024u64).map(|i| f64::from_bits(i << 54 | i)).collect::<Vec<_>>());
}

/// Texts of many lengths, some of them empty.
fn texts(count: usize, random: &mut Random) -> Variable {
    let words = ["carefully ", "final ", "deposits ", "é", "\u{10FFFF}", "sleep ", "0123456789abcdef"];
    let mut texts = Variable { offsets: vec![0], data: Vec::new(), large: false };
    for _ in 0..count {
        for _ in 0..random.next() % 9 {
            texts.data.extend_from_slice(words[usize::try_from(random.next() % 7).unwrap()].as_bytes());
        }
        texts.offsets.push(texts.data.len());
    }
    texts
}

#[test]
fn texts_come_back_and_any_bytes_do_no_harm() {
    let mut random = Random(13);
    let mut known = ValueEncodings::default();
    known.add(Arc::new(text::TextEncoding));
    for count in [1, 5, 1024, 3000] {
        let texts = texts(count, &mut random);
        let page = PageTexts { data_type: &DataType::Utf8, texts: &texts };
        let encoders = text::TextEncoding.text_encoders(page).unwrap();
        assert!(count < 3000 || encoders.len() == 2, "with symbols and without");
        for encoder in encoders {
            let message = CompressiveEncoding::named("colkit.Text", encoder.message());
            let compression = known.parse(&message, &Limits::default()).unwrap();
            let buffers = encoder.encode(0..count).unwrap();
            let decoded = |buffers: &[Vec<u8>], wanted: &[Range<usize>]| {
                let mut out = collector(&compression.form(), &DataType::Utf8, count)?;
                let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
                decode_parts(compression.as_ref(), &buffers, count, wanted, &mut out)?;
                out.array(&DataType::Utf8, None)
            };
            for wanted in [std::iter::once(0..count).collect(), Vec::from([0..1, count / 2..count])] {
                let array = decoded(&buffers, &wanted).unwrap();
                let got: Vec<&[u8]> = array.as_string::<i32>().iter().map(|t| t.unwrap().as_bytes()).collect();
                let expected: Vec<&[u8]> = wanted.iter().cloned().flatten().map(|i| texts.get(i)).collect();
                assert!(got == expected, "{count} texts as {compression}");
            }
            for _ in 0..300 {
                let mut bad = buffers.clone();
                let buffer = &mut bad[usize::try_from(random.next() % 2).unwrap()];
                if !buffer.is_empty() {
                    let at = usize::try_from(random.next()).unwrap() % buffer.len();
                    buffer[at] ^= random.next().to_le_bytes()[0];
                    buffer.truncate(buffer.len() - usize::try_from(random.next() % 2).unwrap());
                }
                let _ = decoded(&bad, std::slice::from_ref(&(0..count)));
            }
        }
    }
    for bad in [&[][..], &[1u8], &[1, 9], &[1, 2, 65], &[1, 1, 65, 66], &[0, 1]] {
        let message = CompressiveEncoding::named("colkit.Text", bad.to_vec());
        assert_eq!(known.parse(&message, &Limits::default()).err().unwrap().code(), "bad_encoding", "{bad:?}");
    }
}

#[test]
fn any_bytes_do_no_harm() {
    let mut random = Random(5);
    for round in 0..20_000u64 {
        let length = usize::try_from(random.next() % 600).unwrap();
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next().to_le_bytes()[0]).collect();
        // Heads that make sense let more of them through.
        if let Some(head) = bytes.first_chunk_mut::<8>() {
            (head[0], head[1]) = if round % 7 == 0 { (255, 0) } else { (head[0] % 65, head[1] % 4) };
            head[3] = 0;
            head[4..].fill(0);
        }
        let count = usize::try_from(1 + random.next() % 1024).unwrap();
        let count = if round % 3 == 0 { GROUP } else { count };
        let (mut words, mut small, mut tiny) = (vec![0u64; count], vec![0u32; count], vec![0u8; count]);
        let _ = Frame::split(&bytes, count).and_then(|(g, _)| g.decode(&mut words));
        let _ = Frame::split(&bytes, count).and_then(|(g, _)| g.decode(&mut tiny));
        let _ = Alp::split(&bytes, count).and_then(|(g, _)| g.decode(&mut words));
        let _ = Alp::split(&bytes, count).and_then(|(g, _)| g.decode(&mut small));
    }
}

#[test]
fn pco_takes_all_kinds_and_any_bytes() {
    let mut random = Random(11);
    for (data_type, width) in [
        (DataType::UInt16, 2),
        (DataType::Int32, 4),
        (DataType::Int64, 8),
        (DataType::UInt64, 8),
        (DataType::Float32, 4),
        (DataType::Float64, 8),
        (DataType::Decimal128(20, 2), 16),
    ] {
        for count in [1, 2, 255, 1024, 3000] {
            let value = |random: &mut Random| (random.next() >> (random.next() % 60)).to_le_bytes();
            let bytes: Vec<u8> = match width {
                16 => (0..count).flat_map(|_| i128::from(random.next() >> 20).to_le_bytes()).collect(),
                _ => (0..count).flat_map(|_| value(&mut random).into_iter().take(width)).collect(),
            };
            let values = PageValues { data_type: &data_type, width, bytes: &bytes };
            let encoding = pco::PcoEncoding;
            let encoder = encoding.encoder(values).unwrap().unwrap();
            let mut known = ValueEncodings::default();
            known.add(Arc::new(pco::PcoEncoding));
            let message = CompressiveEncoding::named("colkit.Pco", encoder.message());
            let compression = known.parse(&message, &Limits::default()).unwrap();
            let chunk = encoder.encode(0..count).unwrap().remove(0);
            let decoded = |chunk: &[u8]| {
                let mut out = Values::fixed(width as u64 * 8, count)?;
                decode_chunk(compression.as_ref(), chunk, count, &mut out)?;
                let Values::Fixed { data, .. } = out else { panic!("another form") };
                Ok::<_, colkit_core::Error>(data.as_slice().to_vec())
            };
            assert_eq!(decoded(&chunk).unwrap(), bytes, "{data_type}");
            for _ in 0..60 {
                let mut bad = chunk.clone();
                for _ in 0..1 + random.next() % 3 {
                    let at = usize::try_from(random.next()).unwrap() % bad.len();
                    bad[at] ^= random.next().to_le_bytes()[0];
                }
                let _ = decoded(&bad);
                bad.truncate(usize::try_from(random.next()).unwrap() % bad.len());
                let _ = decoded(&bad);
            }
        }
    }
}
