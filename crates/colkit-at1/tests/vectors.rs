//! Every conformance file: good ones restore to the byte, malformed ones are refused with a place.

use bytes::Bytes;
use colkit_at1::{Bundle, Integrity, RestoreOptions, is_bundle, restore, restore_entries};
use colkit_core::{Class, Error, Limits, MemorySink, Result, Sink, Source, conformance};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// All AT-1 files in a folder, with their names.
pub fn files(folder: &Path) -> Vec<(String, Bytes)> {
    let mut all: Vec<(String, Bytes)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "at1"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_string(), std::fs::read(&path).unwrap().into()))
        .collect();
    all.sort();
    all
}

/// Small ceilings, as for files from strangers.
pub fn strict(threads: usize) -> RestoreOptions {
    let limits = Limits { memory: 64 << 20, output_bytes: 64 << 20, ..Limits::default() };
    RestoreOptions { limits, threads, integrity: Integrity::Verify }
}

/// The restored file under the empty name, or the files of a bundle under theirs.
pub fn unpack(bytes: &Bytes, options: &RestoreOptions) -> Result<BTreeMap<String, Bytes>> {
    let mut sinks: BTreeMap<String, MemorySink> = BTreeMap::new();
    let mut create = |name: &str| -> Result<Box<dyn Sink>> {
        let sink = sinks.entry(name.to_string()).or_default();
        Ok(Box::new(sink.clone()))
    };
    if is_bundle(bytes) {
        let source: Arc<dyn Source> = Arc::new(bytes.clone());
        let all = restore_entries(Bundle::open(&source, &options.limits)?.entries, options, &mut |entry| {
            create(&entry.name)
        })?;
        all.into_iter().try_for_each(|(_, restored)| restored.map(drop))?;
    } else {
        let sink = create("")?;
        restore(bytes, sink, options)?;
    }
    Ok(sinks.into_iter().map(|(name, sink)| (name, sink.bytes().expect("committed"))).collect())
}

fn original(name: &str) -> BTreeMap<String, Bytes> {
    fn read(folder: &Path, prefix: &str, into: &mut BTreeMap<String, Bytes>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                read(&path, &format!("{name}/"), into);
            } else {
                into.insert(name, std::fs::read(path).unwrap().into());
            }
        }
    }
    let path = data().join(format!("{name}.orig"));
    let mut all = BTreeMap::new();
    if path.is_dir() {
        read(&path, "", &mut all);
    } else {
        all.insert(String::new(), std::fs::read(path).unwrap().into());
    }
    all
}

#[test]
fn every_good_file_restores_to_the_byte() {
    let files = files(&data());
    assert_eq!(files.len(), 125);
    for (name, bytes) in files {
        for threads in [1, 3] {
            let restored = unpack(&bytes, &strict(threads)).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(restored == original(&name), "{name} on {threads} threads: {restored:?}");
        }
    }
}

#[test]
fn every_malformed_file_is_refused_with_its_place() {
    let files = files(&data().join("malformed"));
    assert_eq!(files.len(), 128);
    for (name, bytes) in files {
        let error = unpack(&bytes, &strict(2)).err().unwrap_or_else(|| panic!("{name} was accepted"));
        println!("{name}: {error}");
        let class = match name.as_str() {
            n if n.starts_with("limit_") => Class::Limit,
            "vcf_nsamp_huge" => Class::Limit,
            "dicom_image_codec" => Class::Unsupported,
            n if n.starts_with("unknown_codec") => Class::Unsupported,
            _ => Class::Corrupt,
        };
        assert_eq!(error.class(), class, "{name}: {error}");
        let located = |e: &Error| e.offset().is_some() || e.part_name().is_some();
        assert!(class == Class::Limit || located(&error), "{name}: {error} has no place");
    }
}

#[test]
fn every_malformed_file_is_listed_with_its_error() {
    conformance::malformed(&data().join("malformed"), |name, bytes| {
        unpack(bytes, &strict(2)).err().unwrap_or_else(|| panic!("{name} was accepted")).code()
    });
}

#[test]
fn the_trailer_decides_whether_anything_is_handed_out() {
    let wrong: Bytes = std::fs::read(data().join("malformed/trailer_wrong_sha256.at1")).unwrap().into();
    let with = |integrity| RestoreOptions { integrity, ..strict(2) };
    let sink = MemorySink::new();
    let error = restore(&wrong, Box::new(sink.clone()), &with(Integrity::Verify)).unwrap_err();
    assert_eq!((error.code(), sink.bytes()), ("checksum_mismatch", None), "nothing is committed");
    assert!(!unpack(&wrong, &with(Integrity::Skip)).unwrap()[""].is_empty());

    let without: Bytes = std::fs::read(data().join("col_int.at1")).unwrap().into();
    assert_eq!(unpack(&without, &with(Integrity::Require)).unwrap_err().code(), "trailer_missing");
    let trailer: Bytes = std::fs::read(data().join("col_no_trailing_newline.at1")).unwrap().into();
    let sink = MemorySink::new();
    assert!(restore(&trailer, Box::new(sink), &with(Integrity::Require)).unwrap().verified);
}

#[test]
fn a_bundle_lists_its_files() {
    let bytes: Bytes = std::fs::read(data().join("bundle_ref.at1")).unwrap().into();
    let source: Arc<dyn Source> = Arc::new(bytes.clone());
    let names: Vec<String> =
        Bundle::open(&source, &Limits::default()).unwrap().entries.into_iter().map(|e| e.name).collect();
    let mut expected: Vec<String> = original("bundle_ref").into_keys().collect();
    expected.sort();
    let mut sorted = names;
    sorted.sort();
    assert_eq!(sorted, expected);
    let error = restore(&bytes, Box::new(MemorySink::new()), &strict(1)).unwrap_err();
    assert_eq!(error.code(), "is_a_bundle");
    let one_too_many = RestoreOptions { limits: Limits { output_bytes: 4551, ..Limits::default() }, ..strict(1) };
    assert_eq!(unpack(&bytes, &one_too_many).unwrap_err().code(), "limit_exceeded", "the limit is for all together");
}
