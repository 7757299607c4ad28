//! One flipped bit anywhere in a file that we wrote: what is restored or read is right, or an error; and `verify` finds it.

use crate::packs::STREAM_SETS;
use crate::tables::at1;
use crate::vectors::{strict, unpack};
use bytes::Bytes;
use colkit_at1::{BundleFile, Codec, Effort, PackOptions, pack, pack_bundle};
use colkit_core::conformance::{Flips, flipped_bits};
use colkit_core::{Attributes, Checksums, MemorySink, ReadOptions, TableFile};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A text for each codec.
fn text(codec: Codec) -> Bytes {
    let lines = |line: &dyn Fn(u32) -> String| (0..40).map(|i| line(i) + "\n").collect::<String>();
    let text = match codec {
        Codec::Json | Codec::Qjson => lines(&|i| format!("{{\"id\":{i},\"v\":{}.5,\"s\":\"k{}\"}}", i * 7 % 10, i % 3)),
        Codec::Qjson2 => lines(&|i| match i % 2 {
            0 => format!("{{\"id\":{i},\"a\":{}}}", i * 3),
            _ => format!("{{\"id\":{i},\"b\":\"x{}\"}}", i % 5),
        }),
        Codec::Jsondoc => format!("[{}]", lines(&|i| format!("{{\"id\": {i}, \"s\": \"v{}\"}},", i % 4)) + "0"),
        Codec::Ssh => {
            lines(&|i| format!("Dec 10 06:55:{:02} host sshd[{}]: Failed password for u{} port {i}", i, 100 + i, i % 3))
        }
        Codec::Log => lines(&|i| format!("INFO took {}ms for request {i} of user u{}", i * 7 % 30, i % 3)),
        Codec::Osm => format!(
            "<osm>\n{}</osm>\n",
            lines(&|i| format!(
                "  <node id=\"{i}\" version=\"1\" timestamp=\"2020-01-01T00:00:{i:02}Z\" lat=\"1.{i}\" lon=\"2\"/>"
            ))
        ),
        Codec::Vcf => {
            "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tA\tB\n".to_string()
                + &lines(&|i| format!("1\t{}\t.\tA\tC\t{}\tPASS\t.\tGT\t0/0\t0/{}", 100 + i * 3, i, i % 2))
        }
        Codec::Embed | Codec::Dicom => {
            return (0..800u32).flat_map(|i| (i * i / 3 % 900).to_le_bytes()).collect::<Vec<_>>().into();
        }
        _ => "id,v,s\n".to_string() + &lines(&|i| format!("{i},{}.25,k{}", i * 7 % 10, i % 3)),
    };
    text.into()
}

/// One bit of every byte, another one each time; all of them with `COLKIT_ALL_BITS`, which takes minutes.
fn bits(at: usize) -> Vec<u8> {
    if std::env::var_os("COLKIT_ALL_BITS").is_some() { (0..8).collect() } else { vec![(at * 5 % 8) as u8] }
}

fn packed(text: &Bytes, options: &PackOptions) -> Bytes {
    let sink = MemorySink::new();
    let summary = pack(text, Box::new(sink.clone()), options).unwrap();
    assert_eq!(Some(summary.codec), options.codec);
    sink.bytes().unwrap()
}

fn covered(good: &Bytes) -> Checksums {
    let file = TableFile::open(at1(), Arc::new(good.clone()), &ReadOptions::default()).unwrap();
    file.verify().unwrap().into_result().unwrap().checksums
}

/// Flips bits, and checks that nothing wrong is read or restored.
fn flip(what: &str, good: &Bytes) -> Flips {
    let flips = flipped_bits(&at1(), good, bits);
    assert_eq!(flips.wrong, [], "{what}: read something else without an error");
    let right = unpack(good, &strict(1)).unwrap();
    for at in 0..good.len() {
        for bit in bits(at) {
            let mut bytes = good.to_vec();
            bytes[at] ^= 1 << bit;
            match unpack(&bytes.into(), &strict(1)) {
                Ok(restored) => assert!(restored == right, "{what}: bit {bit} of byte {at} restored to something else"),
                Err(_) => assert!(!flips.unnoticed.contains(&(at, bit)), "{what}: {bit} of {at} fails, verify passes"),
            }
        }
    }
    flips
}

/// Everything but RAW and frames has room for checksums over every byte.
fn all_found(effort: Effort) {
    for codec in STREAM_SETS {
        let good = packed(&text(codec), &PackOptions { codec: Some(codec), effort, threads: 1, ..Default::default() });
        assert_eq!(covered(&good), Checksums::All, "{codec:?}");
        let flips = flip(&format!("{codec:?}"), &good);
        assert_eq!(flips.unnoticed, [], "{codec:?}: of {} flips", flips.count);
    }
}

#[test]
fn every_flip_in_a_stream_set_is_found() {
    all_found(Effort::Fast);
}

#[test]
fn every_flip_in_a_smaller_stream_set_is_found() {
    all_found(Effort::Default);
}

/// The format has no room for more than the hash of the content: what `verify` passes restores to the same bytes.
#[test]
fn flips_in_raw_files_and_frames_are_found_or_change_nothing() {
    let (mut count, mut unnoticed) = (0, 0);
    for codec in STREAM_SETS.into_iter().chain([Codec::Raw]) {
        for (stream, effort) in [(true, Effort::Fast), (true, Effort::Default), (false, Effort::Fast)] {
            if !stream && codec != Codec::Raw {
                continue;
            }
            let options = PackOptions { codec: Some(codec), effort, stream, threads: 1, ..PackOptions::default() };
            let good = packed(&text(codec), &options);
            assert_eq!(covered(&good), Checksums::Parts("the restored content (SHA-256)".into()), "{codec:?}");
            let flips = flip(&format!("{codec:?} {options:?}"), &good);
            count += flips.count;
            unnoticed += flips.unnoticed.len();
        }
    }
    assert!(unnoticed * 50 < count, "{unnoticed} of {count}");
    if std::env::var_os("COLKIT_ALL_BITS").is_some() {
        println!("{unnoticed} of {count} flips change nothing that is restored");
    }
}

#[test]
fn every_flip_in_a_bundle_is_found() {
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let attributes = Attributes { mode: Some(0o640), modified: Some(modified) };
    let file = |name: &str, codec| BundleFile { name: name.into(), source: Arc::new(text(codec)), attributes };
    let noise: Bytes = (0..90u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect::<Vec<_>>().into();
    let files = [
        file("a/table.csv", Codec::Qcolumnar),
        file("lines.ndjson", Codec::Qjson),
        BundleFile { name: "noise".into(), source: Arc::new(noise), attributes },
        BundleFile { name: "empty".into(), source: Arc::new(Bytes::new()), attributes },
    ];
    let sink = MemorySink::new();
    let folders = [("a".to_string(), attributes), ("b".to_string(), attributes)];
    pack_bundle(&files, &folders, Box::new(sink.clone()), &PackOptions { threads: 1, ..Default::default() }).unwrap();
    let good = sink.bytes().unwrap();
    assert_eq!(covered(&good), Checksums::All);
    let flips = flip("bundle", &good);
    assert_eq!(flips.unnoticed, [], "of {} flips", flips.count);
}

/// Stored entries at the end, a trailer that is nearly one: what reads on would restore the hash as content.
#[test]
fn a_damaged_mark_of_the_trailer_is_no_content() {
    let text = Bytes::from_static(b"x7");
    let options = PackOptions { codec: Some(Codec::Raw), ..PackOptions::default() };
    let good = packed(&text, &options);
    for bit in 0..32 {
        let mut bytes = good.to_vec();
        let at = bytes.len() - 4 + bit / 8;
        bytes[at] ^= 1 << (bit % 8);
        let error = unpack(&bytes.into(), &strict(1)).unwrap_err();
        assert_eq!(error.code(), "bad_trailer", "{error}");
    }
}
