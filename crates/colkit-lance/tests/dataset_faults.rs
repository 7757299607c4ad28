//! Manifests that are made here: of those of others, damaged ones too, and large ones.

use bytes::Bytes;
use colkit_core::{Counting, FolderSource, Limits, Objects, ReadOptions, TableFile};
use colkit_lance::container::Version;
use colkit_lance::dataset::{Base, Change, NewFile, NewTable, Seen, Start, Writer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn manifests() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/datasets");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let versions = entry.unwrap().path().join("_versions");
        let names = std::fs::read_dir(versions).into_iter().flatten().map(|e| e.unwrap().path());
        found.extend(names.filter(|path| path.extension().is_some_and(|e| e == "manifest")));
    }
    found.sort();
    found
}

fn start(read_version: u64) -> Start {
    Start { uuid: "00000000-0000-4000-8000-000000000000".into(), read_version }
}

const BY: Writer = Writer { time: 1_700_000_000_000_000_000 };

/// The version after this one, with more rows.
fn appended(base: &Base) -> colkit_core::Result<Bytes> {
    base.check_writable()?;
    let columns: Vec<usize> = (0..base.schema().fields().len()).collect();
    let file = NewFile { name: "new.lance".into(), rows: 7, bytes: 100 };
    let change = Change::Append(base.file_columns(&columns)?, vec![file]);
    let transaction = change.transaction(Some(base), &start(base.version()))?;
    assert_eq!(Seen::of(transaction.bytes()), Seen::Rows);
    Ok(change.next(Some(base), &transaction, base.version(), BY)?.manifest)
}

#[test]
fn the_next_version_keeps_all_of_the_one_before() {
    let (mut made, limits) = (0, Limits::default());
    for path in manifests() {
        let Ok(base) = Base::parse(&std::fs::read(&path).unwrap().into(), &limits) else { continue };
        let Ok(manifest) = appended(&base) else { continue };
        let next = Base::parse(&manifest, &limits).unwrap();
        assert_eq!(next.version(), base.version() + 1, "{path:?}");
        assert_eq!((next.schema(), next.has_indices()), (base.schema(), base.has_indices()), "{path:?}");
        assert_eq!(next.has_stable_row_ids(), base.has_stable_row_ids(), "{path:?}");
        let (old, new) = (base.fragments().unwrap(), next.fragments().unwrap());
        assert_eq!(new[..old.len()], old[..], "{path:?}");
        assert_eq!((new.len(), new.last().unwrap().rows), (old.len() + 1, 7), "{path:?}");
        assert!(new.is_sorted_by_key(|f| f.id), "{path:?}");
        let all: Vec<u64> = old.iter().map(|f| f.id).collect();
        assert!(base.has_same(&all, &next) && next.is_made_by("00000000-0000-4000"), "{path:?}");
        if next.has_stable_row_ids() && !next.has_spilled_rows() {
            let lineage = next.lineage(new.last().unwrap().id, None, &limits).unwrap();
            assert_eq!(lineage.rows(), 7, "{path:?}");
        }
        made += 1;
    }
    assert!(made > 100, "{made}");
}

#[test]
fn flips_and_cuts_are_errors_or_versions() {
    let limits = Limits::default();
    let some = manifests().into_iter().step_by(9);
    for path in some {
        let good = std::fs::read(&path).unwrap();
        for cut in (0..good.len()).step_by(13) {
            assert!(Base::parse(&good[..cut].to_vec().into(), &limits).is_err(), "{path:?} cut at {cut}");
        }
        for at in (0..good.len()).step_by(3) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            let Ok(base) = Base::parse(&bad.into(), &limits) else { continue };
            let _ = (base.needed(), base.transaction());
            if let Ok(next) = appended(&base) {
                let _ = Base::parse(&next, &limits);
            }
        }
    }
}

#[test]
fn a_new_table() {
    use arrow::datatypes::{DataType, Field, Fields, Schema};
    let place = Fields::from(vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Utf8, true)]);
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("place", DataType::Struct(place), true),
        Field::new("tags", DataType::new_list(DataType::Utf8, true), true),
        Field::new("word", DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()), true),
    ]);
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        let table = NewTable::new(&schema, version, colkit_core::Types::Refuse, &mut Vec::new()).unwrap();
        let file = NewFile { name: "a.lance".into(), rows: 3, bytes: 9 };
        let change = Change::Overwrite(table, vec![file]);
        let transaction = change.transaction(None, &start(0)).unwrap();
        let manifest = change.next(None, &transaction, 0, BY).unwrap();
        let base = Base::parse(&manifest.manifest, &Limits::default()).unwrap();
        assert_eq!((base.version(), base.file_version().unwrap(), base.schema().as_ref()), (1, version, &schema));
        let needed = [("data", "a.lance".to_owned()), ("_transactions", transaction.file_name())];
        assert_eq!(base.needed().unwrap(), needed);
    }
    for (name, code) in [("a.b", "type_not_supported"), ("id", "duplicate_column")] {
        let bad = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new(name, DataType::Int8, true)]);
        let refused = NewTable::new(&bad, Version::V2_1, colkit_core::Types::Refuse, &mut Vec::new());
        assert_eq!(refused.err().unwrap().code(), code);
    }
}

/// A table of many fragments opens with one read, and its rows are counted by that.
#[test]
fn ten_thousand_fragments_are_one_read() {
    use arrow::datatypes::{DataType, Field, Schema};
    let schema = Schema::new((0..20).map(|i| Field::new(format!("c{i}"), DataType::Int64, true)).collect::<Vec<_>>());
    let table = NewTable::new(&schema, Version::V2_1, colkit_core::Types::Refuse, &mut Vec::new()).unwrap();
    let file = |i: u64| NewFile { name: format!("{i:050}.lance"), rows: 3, bytes: 9 };
    let change = Change::Overwrite(table, (0..10_000).map(file).collect());
    let transaction = change.transaction(None, &start(0)).unwrap();
    let next = change.next(None, &transaction, 0, BY).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("_versions")).unwrap();
    let manifest = folder.path().join("_versions").join(colkit_lance::dataset::file_name(1, &[]));
    std::fs::write(&manifest, &next.manifest).unwrap();
    let objects = Objects::inside(folder.path().display().to_string());
    let options = ReadOptions { objects: objects.clone(), ..ReadOptions::default() };
    let source = Arc::new(Counting::new(FolderSource::open(&manifest, folder.path(), objects).unwrap()));
    let file = TableFile::open(crate::vectors::lance(), source.clone(), &options).unwrap();
    assert_eq!((file.row_count(), source.count().requests), (30_000, 1));
}
