//! Packing: whatever goes in comes out to the byte, in every codec, and is never larger than plain compression.

use crate::vectors::{data, strict, unpack};
use bytes::Bytes;
use colkit_at1::{BundleFile, Codec, Effort, PackOptions, PackPriority, PackSummary, pack, pack_bundle};
use colkit_core::MemorySink;
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// Every codec that holds one file, but RAW.
pub const STREAM_SETS: [Codec; 12] = [
    Codec::Ssh,
    Codec::Json,
    Codec::Osm,
    Codec::Log,
    Codec::Columnar,
    Codec::Vcf,
    Codec::Jsondoc,
    Codec::Qcolumnar,
    Codec::Qjson,
    Codec::Dicom,
    Codec::Embed,
    Codec::Qjson2,
];

/// Every codec that holds one file.
fn codecs() -> impl Iterator<Item = Codec> {
    STREAM_SETS.into_iter().chain([Codec::Raw])
}

fn packed(text: &Bytes, options: &PackOptions) -> (Bytes, PackSummary) {
    let sink = MemorySink::new();
    let summary = pack(text, Box::new(sink.clone()), options).unwrap();
    let bytes = sink.bytes().unwrap();
    assert_eq!(bytes.len() as u64, summary.output_bytes);
    assert_eq!(text.len() as u64, summary.input_bytes);
    (bytes, summary)
}

fn fast(codec: Option<Codec>) -> PackOptions {
    PackOptions { codec, effort: Effort::Fast, threads: 2, ..PackOptions::default() }
}

/// Packs and restores; the codec asked for must have been used, not the fallback.
fn round_trip(name: &str, text: &Bytes, options: &PackOptions) -> PackSummary {
    let (bytes, summary) = packed(text, options);
    let restored = unpack(&bytes, &strict(2)).unwrap_or_else(|e| panic!("{name} {:?}: {e}", options.codec));
    assert!(restored[""] == *text, "{name} {:?}", options.codec);
    if let Some(codec) = options.codec {
        assert_eq!(summary.codec, codec, "{name}");
    }
    summary
}

fn every_codec(name: &str, text: &Bytes) {
    for codec in codecs() {
        round_trip(name, text, &fast(Some(codec)));
        round_trip(name, text, &PackOptions { stream: true, ..fast(Some(codec)) });
    }
    for aim in [PackPriority::Queryable, PackPriority::Smallest] {
        round_trip(name, text, &PackOptions { aim, ..fast(None) });
    }
}

fn files(folder: &Path, extension: &str) -> Vec<(String, Bytes)> {
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.extension().is_some_and(|e| e == extension))
        .map(|path| (path.display().to_string(), Bytes::from(std::fs::read(&path).unwrap())))
        .collect();
    all.sort();
    all
}

#[test]
fn every_conformance_text_in_every_codec() {
    let originals = files(&data(), "orig");
    assert!(originals.len() > 100);
    let mut seen = std::collections::HashSet::new();
    for (name, text) in originals {
        if seen.insert(text.clone()) {
            every_codec(&name, &text);
        }
    }
}

#[test]
fn every_csv_vector() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../colkit-interop/tests/data/csv");
    let texts = files(&folder, "csv");
    assert!(!texts.is_empty());
    for (name, text) in texts {
        for codec in [Codec::Columnar, Codec::Qcolumnar, Codec::Log] {
            round_trip(&name, &text, &fast(Some(codec)));
        }
        for effort in [Effort::Fast, Effort::Default, Effort::Best] {
            round_trip(&name, &text, &PackOptions { effort, ..fast(None) });
        }
    }
}

/// Texts that are easy to get wrong.
fn odd_texts() -> Vec<(&'static str, Vec<u8>)> {
    let numbers =
        "a,b\n007,1.50\n+5,1e3\n-0,-0.00\n123456789012345678901234567890,.5\n 1,5.\n9223372036854775807,0.1\n";
    let quotes = "\"a\",b\"c,\"d\n\"\"\"\",\"x\"y,z\"\n\"\",\"a,b\",\"\"\"\n,,\"\"\"\"\"\"\n\"open,1\n\"a\" ,\"b\"\n";
    vec![
        ("empty", vec![]),
        ("one byte", vec![b'x']),
        ("one NUL", vec![0]),
        ("no line end", b"a,b\nc,d".to_vec()),
        ("one line end", b"\n".to_vec()),
        ("only line ends", vec![b'\n'; 1000]),
        ("CRLF", b"a,b\r\n1,2\r\n3,\"x\"\r\n".to_vec()),
        ("mixed line ends", b"a,b\r\n1,2\n3,4\r5,6\n\r\n".to_vec()),
        ("NULs", b"a,\0,b\n\0\0,1\nc,d,\0\n".to_vec()),
        ("invalid UTF-8", b"a,\xff\xfe\nb,\xc3\n\x80,c\n{\"a\":\"\xff\"}\n".to_vec()),
        ("all bytes", (0..=255u8).cycle().take(5000).collect()),
        ("numbers", numbers.as_bytes().to_vec()),
        ("numbers many times", numbers.repeat(200).into_bytes()),
        ("quotes", quotes.as_bytes().to_vec()),
        ("quotes many times", quotes.repeat(100).into_bytes()),
        ("many columns", [vec![b','; 99_999], b"\n".to_vec()].concat()),
        ("a long line", b"abc def 123, ".repeat(20_000)),
        ("markers", b"<*> a 1\n<*> b 2\nuser <*> c<*>d=<*> 3\n".repeat(3)),
        ("json", b"{\"a\":1,\"b\":\"x\"}\n{\"a\":2, \"b\":null}\n{}\n[]\n[1,[2,{\"c\":1e5}]]\nnot json\n\n".repeat(4)),
        ("json once", b"{\"a\":[1,2,{\"b\":\"\\u00e9\"}],\n \"c\" : -0.0}".to_vec()),
        ("deep json", [vec![b'['; 3000], vec![b']'; 3000], b"\n".to_vec()].concat().repeat(3)),
        ("like a trailer", [vec![7; 40], vec![0xA1, 0x53, 0x36, 0x01]].concat()),
        ("packed already", b"AT1\x02\xff\x02hello".to_vec()),
    ]
}

#[test]
fn odd_texts_in_every_codec() {
    for (name, text) in odd_texts() {
        every_codec(name, &text.into());
    }
}

#[test]
fn every_effort_and_any_number_of_threads_make_the_same_file() {
    let csv: String =
        (0..3000).map(|i| format!("{i},{}.{:02},{}\n", i * 7 % 100, i % 100, ["x", "yy"][i % 2])).collect();
    let text = Bytes::from(format!("id,price,kind\n{csv}"));
    for effort in [Effort::Fast, Effort::Default, Effort::Best] {
        for aim in [PackPriority::Queryable, PackPriority::Smallest] {
            for stream in [false, true] {
                let options = |threads| PackOptions { effort, aim, stream, threads, ..PackOptions::default() };
                let one = packed(&text, &options(1)).0;
                assert!(one == packed(&text, &options(3)).0, "{effort:?} {aim:?} {stream}");
                round_trip("table", &text, &options(2));
            }
        }
    }
}

#[test]
fn groups_and_frames_do_not_depend_on_the_number_of_threads() {
    let row = |i: u32| format!("{i},{},user {} did {}\n", i.wrapping_mul(2_654_435_761) % 977, i % 31, i % 7);
    let text = Bytes::from((0..20_000).map(row).collect::<String>());
    for (codec, effort) in [
        (None, Effort::Default),
        (Some(Codec::Columnar), Effort::Fast),
        (Some(Codec::Log), Effort::Fast),
        (Some(Codec::Raw), Effort::Fast),
    ] {
        let options = |threads| PackOptions { codec, effort, threads, memory: 1 << 20, ..PackOptions::default() };
        let (one, summary) = packed(&text, &options(1));
        assert_eq!(summary.streaming, codec.is_some());
        assert!(one == packed(&text, &options(5)).0, "{codec:?}");
    }
}

#[test]
fn a_line_of_fifty_megabytes() {
    let mut line: Vec<u8> = (0u32..).flat_map(|i| format!("{} ", i % 1000).into_bytes()).take(50 << 20).collect();
    round_trip("the only line", &line.clone().into(), &fast(None));
    round_trip("the only line", &line.clone().into(), &PackOptions { stream: true, ..fast(None) });
    line.splice(0..0, b"a,b\n1,2\n3,4\n".iter().copied());
    line.extend_from_slice(b",x\n5,6\n");
    let table = Bytes::from(line);
    for codec in [None, Some(Codec::Columnar), Some(Codec::Qcolumnar)] {
        round_trip("a row", &table, &fast(codec));
    }
    round_trip("a row", &table, &PackOptions { memory: 16 << 20, ..fast(None) });
}

#[test]
fn never_larger_than_plain_compression() {
    use liblzma::write::XzEncoder;
    use std::io::Write;
    let noise = |n: u32| -> Vec<u8> {
        (0..n).map(|i| (i.wrapping_mul(2_654_435_761) ^ (i >> 3).wrapping_mul(40_503)).to_le_bytes()[2]).collect()
    };
    let mut texts = odd_texts();
    texts.push(("noise", noise(50_000)));
    // Columns that say the same in other words, and not as a function of each other: lines compress better than columns.
    let flight = |i: u32| {
        let (n, delay) = (i * 7919 % 613, i.wrapping_mul(2_654_435_761) >> 27);
        format!("{n},AB{n},from {} to {},{},{delay}\n", n % 17, n % 29, n * 31 % 1000 + (delay & 1))
    };
    texts.push(("columns with much in common", (0..30_000).map(flight).collect::<String>().into_bytes()));
    let request = |i: u32| {
        let n = i.wrapping_mul(2_654_435_761) >> 22;
        format!("10.0.{}.{} - [{i}] \"GET /{n}, HTTP\" {} \"a (like b, c)\"\n", n % 7, n % 250, 200 + n % 5)
    };
    texts.push(("a log with commas", (0..20_000).map(request).collect::<String>().into_bytes()));
    // What was there a megabyte ago comes again.
    let block: Vec<u8> = noise(1 << 20).iter().flat_map(|b| format!("{b},").into_bytes()).collect();
    texts.push(("repeated", [&block[..1 << 20], b"\n"].concat().repeat(3)));
    for (name, text) in texts {
        let mut xz = XzEncoder::new(Vec::new(), 6);
        xz.write_all(&text).unwrap();
        let plain = xz.finish().unwrap().len().min(text.len());
        let (bytes, _) = packed(&text.clone().into(), &PackOptions { threads: 2, ..PackOptions::default() });
        assert!(bytes.len() <= plain + 42, "{name}: {} bytes, xz {plain}", bytes.len());
    }
}

/// Tables long enough that RAW is estimated: from columns that have nothing to do with each other to rows that come again whole,
/// which independent columns cannot see and RAW can.
#[test]
fn never_larger_where_rows_come_again() {
    let mut state = 1u64;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for (pool, fresh) in [(300, 20), (3000, 10), (9000, 30), (1, 100)] {
        let row = |key: u64| {
            let mix = |by: u64| key.wrapping_mul(by) >> 20;
            format!(
                "{},{},{},{}",
                mix(0x9E37_79B9) % 9_000,
                mix(0xBF58_476D) % 700,
                mix(0x94D0_49BB) % 5_000,
                mix(0xD6E8_FEB8)
            )
        };
        let mut text = String::from("a,b,c,d\n");
        while text.len() < 700_000 {
            let key = if random(100) < fresh { random(u64::MAX >> 2) } else { random(pool) * 7919 };
            text += &row(key);
            text.push('\n');
        }
        let text = Bytes::from(text);
        let (as_raw, _) = packed(&text, &PackOptions { codec: Some(Codec::Raw), ..PackOptions::default() });
        let (ours, summary) = packed(&text, &PackOptions::default());
        let case = format!("pool {pool}, fresh {fresh}: {:?} {} as RAW {}", summary.codec, ours.len(), as_raw.len());
        assert!(ours.len() <= as_raw.len() + 32, "{case}");
    }
}

#[test]
fn long_files_are_written_in_frames_or_groups() {
    let line = |i: u32| format!("{i},{},{}\n", i.wrapping_mul(2_654_435_761) % 1000, ["a", "b", "c"][i as usize % 3]);
    let text: String = (0..200_000).map(line).collect();
    let text = Bytes::from(text);
    assert!(text.len() > 2 << 20);
    let limits = |bytes: &Bytes| {
        let options = colkit_at1::RestoreOptions { threads: 2, ..Default::default() };
        let sink = MemorySink::new();
        colkit_at1::restore(bytes, Box::new(sink.clone()), &options).unwrap();
        sink.bytes().unwrap()
    };
    let small = PackOptions { memory: 16 << 20, ..fast(None) };
    let (bytes, summary) = packed(&text, &small);
    assert_eq!((summary.codec, summary.streaming), (Codec::Qcolumnar, false));
    assert!(limits(&bytes) == text);
    let (bytes, summary) = packed(&text, &PackOptions { aim: PackPriority::Smallest, ..small.clone() });
    assert_eq!((summary.codec, summary.streaming), (Codec::Columnar, true));
    assert!(limits(&bytes) == text);
    for codec in codecs() {
        let (bytes, summary) = packed(&text, &PackOptions { codec: Some(codec), ..small.clone() });
        let queryable = matches!(codec, Codec::Qcolumnar | Codec::Qjson | Codec::Qjson2);
        assert_eq!(summary.streaming, !queryable, "{codec:?}");
        assert!(limits(&bytes) == text, "{codec:?}");
    }
}

#[test]
fn bundles_hold_files_under_their_names() {
    let file = |name: &str, content: &'static [u8]| BundleFile {
        name: name.into(),
        source: Arc::new(Bytes::from_static(content)),
        attributes: Default::default(),
    };
    let files = [file("b/table.csv", b"a,b\n1,2\n3,4\n"), file("a.txt", b"hello"), file("empty", b"")];
    let sink = MemorySink::new();
    let summaries = pack_bundle(&files, &[], Box::new(sink.clone()), &PackOptions::default()).unwrap();
    assert_eq!(summaries.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["a.txt", "b/table.csv", "empty"]);
    let restored = unpack(&sink.bytes().unwrap(), &strict(1)).unwrap();
    assert_eq!(restored["b/table.csv"], &b"a,b\n1,2\n3,4\n"[..]);
    assert_eq!((&restored["a.txt"][..], &restored["empty"][..]), (&b"hello"[..], &b""[..]));
    for name in ["../x", "/x", "a\\b", ""] {
        let error =
            pack_bundle(&[file(name, b"")], &[], Box::new(MemorySink::new()), &PackOptions::default()).unwrap_err();
        assert_eq!(error.code(), "bad_entry_name");
    }
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        (-1000i64..1000).prop_map(|n| n.to_string()),
        (-10_000i64..10_000).prop_map(|n| format!("{}.{:02}", n / 100, (n % 100).abs())),
        "[a-c]{0,3}",
        "\"[a-c,]{0,4}\"",
        "[\"',; \\r0-9.e+-]{0,5}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn tables(rows in prop::collection::vec(prop::collection::vec(cell(), 1..5), 0..40), end in "\n?", times in 1usize..20) {
        let text: String = rows.iter().map(|r| r.join(",")).collect::<Vec<_>>().join("\n").repeat(times) + &end;
        for codec in [Codec::Columnar, Codec::Qcolumnar, Codec::Log] {
            round_trip("table", &text.clone().into(), &fast(Some(codec)));
        }
        round_trip("table", &text.into(), &PackOptions { effort: Effort::Default, aim: PackPriority::Smallest, ..fast(None) });
    }

    #[test]
    fn logs(lines in prop::collection::vec("(Dec| Jan)  ?[0-9]{1,2} [0-9:]{8} host sshd\\[[0-9]{1,4}\\]: [a-c<*>=]{0,6} (user|for) [a-z0-9]{1,4}|[a-c =:0-9\\x00]{0,12}", 0..40)) {
        let text = lines.join("\n").repeat(2);
        for codec in [Codec::Ssh, Codec::Log, Codec::Columnar] {
            round_trip("log", &text.clone().into(), &fast(Some(codec)));
        }
    }

    #[test]
    fn json(lines in prop::collection::vec(r#"\{"a":("[a-z]{0,12}"|[0-9]{1,3}|null),"b":(\[1, ?2\]|"x\\n[a-z]{3,9}")\}|[\[\]{}:,"0-9 ]{0,9}"#, 0..40)) {
        let text = lines.join("\n").repeat(2);
        for codec in [Codec::Json, Codec::Jsondoc, Codec::Qjson, Codec::Qjson2] {
            round_trip("json", &text.clone().into(), &fast(Some(codec)));
        }
    }

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for codec in codecs() {
            round_trip("bytes", &bytes.clone().into(), &fast(Some(codec)));
        }
    }
}
