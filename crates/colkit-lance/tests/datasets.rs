//! Every version of every dataset equals the table that goes with it; what is wrong is refused.

use crate::vectors::{lance, same};
use arrow::array::{AsArray, BooleanArray, UInt64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::UInt64Type;
use arrow::ipc::reader::FileReader;
use arrow::record_batch::RecordBatch;
use colkit_core::{
    Class, Counting, Error, FolderSource, Objects, Predicate, Projection, ReadOptions, Result, Scan, Source, TableFile,
};
use colkit_lance::dataset::{VERSIONS, versions};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/datasets")
}

/// The versions of a dataset and their manifests.
fn manifests(root: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let names = std::fs::read_dir(root.join(VERSIONS))?.map(|e| e.unwrap().file_name().into_string().unwrap());
    Ok(versions(names)?.into_iter().map(|v| (v.version, root.join(VERSIONS).join(v.name))).collect())
}

/// Where base paths of the vectors were when they were made.
const MADE_IN: &str = "/tmp/lance-dataset-vectors";

fn source(root: &Path, manifest: &Path) -> Result<(FolderSource, ReadOptions)> {
    let moved = vec![(MADE_IN.to_owned(), folder().display().to_string())];
    let objects = Objects::inside_moved(root.display().to_string(), moved);
    let options = ReadOptions { objects: objects.clone(), ..ReadOptions::default() };
    Ok((FolderSource::open(manifest, root, objects)?, options))
}

fn open(root: &Path, manifest: &Path, row_ids: bool) -> Result<TableFile> {
    let (source, options) = source(root, manifest)?;
    TableFile::open(lance(), Arc::new(source), &ReadOptions { row_ids, ..options })
}

fn read(file: &TableFile, scan: &Scan) -> Result<RecordBatch> {
    let batches = file.scan(scan)?.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(&scan.projection.schema(&file.schema())?, &batches)?)
}

fn expected(name: &str) -> Option<RecordBatch> {
    let file = std::fs::File::open(folder().join(format!("{name}.arrow"))).ok()?;
    let reader = FileReader::try_new(file, None).unwrap();
    let schema = reader.schema();
    Some(concat_batches(&schema, &reader.map(std::result::Result::unwrap).collect::<Vec<_>>()).unwrap())
}

fn all() -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap().as_object().unwrap().clone()
}

fn root_of(name: &str, stated: &Value) -> PathBuf {
    folder().join(stated["root"].as_str().map_or_else(|| format!("{name}.lance"), ToOwned::to_owned))
}

/// All versions of all datasets that can be read.
fn readable(mut check: impl FnMut(&str, u64, &Path, &Path, &Value)) -> usize {
    let mut count = 0;
    for (name, stated) in all() {
        if stated["verdict"] == "refuse" {
            continue;
        }
        let root = root_of(&name, &stated);
        let found = manifests(&root).unwrap();
        let wanted = stated["versions"].as_object().unwrap();
        assert_eq!(found.len(), wanted.len(), "{name}");
        for (version, manifest) in found {
            check(&name, version, &root, &manifest, &wanted[&version.to_string()]);
            count += 1;
        }
    }
    count
}

#[test]
fn every_version_of_every_dataset() {
    let mut failed = Vec::new();
    let count = readable(|name, version, root, manifest, stated| {
        let check = std::panic::catch_unwind(|| {
            let file = open(root, manifest, false).unwrap();
            assert_eq!(file.row_count(), stated["rows"].as_u64().unwrap());
            let name = format!("{name}.v{version}");
            let table = expected(&name).unwrap();
            same(&read(&file, &Scan::default()).unwrap(), &table, &name);
            assert_eq!(file.schema().metadata(), table.schema().metadata(), "{name}");
        });
        if check.is_err() {
            failed.push(format!("{name}.v{version}"));
        }
    });
    assert!(failed.is_empty(), "{} of {count} versions failed: {failed:?}", failed.len());
    assert_eq!(count, 165);
}

#[test]
fn row_ids_and_addresses() {
    let mut compared = 0;
    readable(|name, version, root, manifest, _| {
        let Some(ids) = expected(&format!("{name}.v{version}.ids")) else { return };
        let file = open(root, manifest, true).unwrap();
        let scan = Scan::of(Projection::named(&file.schema(), ["_rowid", "_rowaddr"]).unwrap());
        let found = read(&file, &scan).unwrap();
        for column in ["_rowid", "_rowaddr"] {
            let values =
                |b: &RecordBatch| b.column_by_name(column).unwrap().as_primitive::<UInt64Type>().values().to_vec();
            assert_eq!(values(&found), values(&ids), "{name}.v{version}: {column}");
        }
        compared += 1;
    });
    assert_eq!(compared, 48);
}

/// Positions, ranges and conditions give what the whole table has there.
#[test]
fn parts_agree_with_the_whole() {
    readable(|name, version, root, manifest, _| {
        let file = open(root, manifest, true).unwrap();
        let whole = read(&file, &Scan::default()).unwrap();
        let rows = whole.num_rows() as u64;
        let wanted: Vec<u64> = (0..rows).rev().step_by(3).chain(0..rows.min(2)).collect();
        let taken = file.take(&wanted, &Projection::all()).unwrap();
        let expected = arrow::compute::take_record_batch(&whole, &UInt64Array::from(wanted)).unwrap();
        same(&taken, &expected, &format!("{name}.v{version}: take"));
        for range in [0..rows / 2, rows / 3..rows, rows / 2..(rows / 2 + 1).min(rows)] {
            let (start, length) = (range.start as usize, (range.end - range.start) as usize);
            let scan = Scan { rows: Some(range), batch_rows: 3, ..Scan::default() };
            same(&read(&file, &scan).unwrap(), &whole.slice(start, length), &format!("{name}.v{version}: rows"));
        }
        for threads in [1, 3] {
            let file = file.clone().with_threads(threads);
            let predicate = Predicate::parse("_rowaddr >= 3", &file.schema()).unwrap();
            let scan = Scan { predicate: Some(predicate.bind(&file.schema()).unwrap()), ..Scan::default() };
            let addresses = whole.column_by_name("_rowaddr").unwrap().as_primitive::<UInt64Type>();
            let mask = addresses.values().iter().map(|a| Some(*a >= 3)).collect::<BooleanArray>();
            let expected = arrow::compute::filter_record_batch(&whole, &mask).unwrap();
            same(&read(&file, &scan).unwrap(), &expected, &format!("{name}.v{version}: condition"));
        }
    });
}

/// Opening reads the manifest and nothing else.
#[test]
fn opening_reads_the_manifest_alone() {
    for name in ["fragments_p14", "del_few_p14", "stable_p14", "nested_22_p14"] {
        let root = folder().join(format!("{name}.lance"));
        let (_, manifest) = manifests(&root).unwrap().pop().unwrap();
        let (source, options) = source(&root, &manifest).unwrap();
        let size = source.size();
        let counting = Arc::new(Counting::new(source));
        TableFile::open(lance(), counting.clone(), &options).unwrap();
        assert_eq!((counting.count().requests, counting.count().bytes), (1, size), "{name}");
    }
}

/// Every byte of every file is in the map, and every version is sound.
#[test]
fn maps_and_checks() {
    readable(|name, version, root, manifest, _| {
        let file = open(root, manifest, false).unwrap();
        let layout = file.layout().unwrap();
        assert!(layout.covers_exactly_once(), "{name}.v{version}");
        let verified = file.verify().unwrap();
        assert!(verified.errors.is_empty(), "{name}.v{version}: {:?}", verified.errors);
    });
}

#[test]
fn legacy_data_files_are_refused() {
    let root = folder().join("legacy_p4.lance");
    for (version, manifest) in manifests(&root).unwrap() {
        let file = open(&root, &manifest, false).unwrap();
        assert_eq!(file.row_count(), [12, 17][version as usize - 1]);
        let error = read(&file, &Scan::default()).unwrap_err();
        assert_eq!((error.class(), error.code()), (Class::Unsupported, "unknown_version"), "{error}");
        assert!(error.to_string().contains("pylance"), "{error}");
    }
}

/// Where it is noticed that something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Find,
    Open,
    Read,
    RowIds,
}

/// What is wrong with a dataset, when that is noticed, and words of the message.
const BAD: [(&str, Stage, Class, &str, &str); 24] = [
    ("base_id_unknown", Stage::Read, Class::Corrupt, "bad_dataset", "base path 4"),
    ("both_name_schemes", Stage::Find, Class::Corrupt, "bad_dataset", "1.manifest"),
    ("column_out_of_range", Stage::Read, Class::Corrupt, "missing_column", "column 9 of 2"),
    ("deletion_bitmap_cut", Stage::Read, Class::Corrupt, "buffer_too_short", "_deletions/"),
    ("deletion_count_wrong", Stage::Read, Class::Corrupt, "bad_deletions", "_deletions/"),
    ("deletion_out_of_range", Stage::Read, Class::Corrupt, "bad_deletions", "row 99"),
    ("empty_manifest", Stage::Open, Class::Corrupt, "truncated", "at byte 0: manifest"),
    ("fields_without_columns", Stage::Read, Class::Corrupt, "bad_dataset", "2 fields in 1 columns"),
    ("length", Stage::Open, Class::Corrupt, "block_out_of_range", "2147483648 bytes"),
    ("magic", Stage::Open, Class::Corrupt, "bad_magic", "LANC"),
    ("missing_data_file", Stage::Read, Class::Io, "not_found", "data/"),
    ("negative_position", Stage::Open, Class::Corrupt, "block_out_of_range", "byte -5"),
    ("parent_cycle", Stage::Open, Class::Corrupt, "bad_schema", "parent"),
    ("path_absolute", Stage::Read, Class::Corrupt, "bad_name", "/etc/passwd"),
    ("path_dotdot", Stage::Read, Class::Corrupt, "bad_name", "\"../"),
    ("position", Stage::Open, Class::Corrupt, "block_out_of_range", "byte 1099511627776"),
    ("reader_flag_fragment_tree", Stage::Open, Class::Unsupported, "unknown_feature", "tree of fragments"),
    ("reader_flag_overlay", Stage::Open, Class::Unsupported, "unknown_feature", "overlay"),
    ("reader_flag_unknown", Stage::Open, Class::Unsupported, "unknown_feature", "1099511627776"),
    ("rowids_huge_range", Stage::RowIds, Class::Corrupt, "bad_row_ids", "for 3 rows"),
    ("rowids_missing", Stage::Read, Class::Corrupt, "bad_row_ids", "without row ids"),
    ("rowids_too_few", Stage::RowIds, Class::Corrupt, "bad_row_ids", "2 row ids for 3 rows"),
    ("rows_wrong", Stage::Read, Class::Corrupt, "row_count_mismatch", "5 rows, the file has 3"),
    ("truncated", Stage::Open, Class::Corrupt, "bad_magic", "cut off"),
];

fn attempt(root: &Path) -> std::result::Result<(), (Stage, Error)> {
    let found = manifests(root).map_err(|e| (Stage::Find, e))?;
    let (_, manifest) = found.last().unwrap();
    let file = open(root, manifest, false).map_err(|e| (Stage::Open, e))?;
    read(&file, &Scan::default()).map_err(|e| (Stage::Read, e))?;
    let file = open(root, manifest, true).map_err(|e| (Stage::RowIds, e))?;
    read(&file, &Scan::default()).map_err(|e| (Stage::RowIds, e))?;
    Ok(())
}

#[test]
fn what_is_wrong_is_refused() {
    let folders = std::fs::read_dir(folder().join("bad")).unwrap().map(|e| e.unwrap().path());
    let mut there: Vec<String> = folders.map(|p| p.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    there.sort();
    assert!(there.iter().map(String::as_str).eq(BAD.iter().map(|b| b.0)), "{there:?}");
    for (name, stage, class, code, words) in BAD {
        let (at, error) = attempt(&folder().join("bad").join(format!("{name}.lance"))).unwrap_err();
        assert_eq!((at, error.class(), error.code()), (stage, class, code), "{name}: {error}");
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

/// Any byte of a manifest or a deletion file may be wrong, and any end may be missing: rows come, or an error does.
#[test]
fn damage_gives_rows_or_an_error() {
    for name in ["del_few_p4", "hand_rowids", "hand_history"] {
        let work = tempfile::tempdir().unwrap();
        let root = work.path().join("t.lance");
        copy(&folder().join(format!("{name}.lance")), &root);
        let (_, manifest) = manifests(&root).unwrap().pop().unwrap();
        let mut files = vec![manifest];
        files.extend(std::fs::read_dir(root.join("_deletions")).into_iter().flatten().map(|e| e.unwrap().path()));
        for file in files {
            let good = std::fs::read(&file).unwrap();
            for at in (0..good.len()).step_by(1 + good.len() / 100) {
                let mut flipped = good.clone();
                flipped[at] ^= 1 << (at % 8);
                for damaged in [flipped.as_slice(), &good[..at]] {
                    std::fs::write(&file, damaged).unwrap();
                    let _ = attempt(&root);
                }
            }
            std::fs::write(&file, good).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
