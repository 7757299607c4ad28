//! What is written comes back.

use crate::random::Random;
use crate::vectors::{expected, lance, names, same};
use arrow::array::*;
use arrow::datatypes::*;
use arrow::record_batch::RecordBatch;
use colkit_core::conformance::{self, Laws};
use colkit_core::drive::blocking;
use colkit_core::{Format, ReadOptions, Types, WriteOptions};
use colkit_lance::container::Version;
use colkit_lance::{Lance, LanceWriteOptions, Prefer};
use std::sync::Arc;

const LAWS: Laws = Laws { columns_apart: true };

/// Writes a table in pieces and compares what is read.
fn comes_back(format: &Arc<dyn Format>, batch: &RecordBatch, piece: usize, name: &str) {
    let options = WriteOptions { memory: 1 << 20, ..WriteOptions::default() };
    let (bytes, _) = conformance::write(format, batch, piece, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    same(&conformance::read_all(format, &bytes).unwrap_or_else(|e| panic!("{name}: {e}")), batch, name);
}

/// Lance that writes this version.
fn version(version: Version) -> Arc<dyn Format> {
    Arc::new(Lance::new().with_write_options(LanceWriteOptions::new().with_version(version)))
}

#[test]
fn every_vectors_table() {
    let mut refused = Vec::new();
    for folder in ["v2_0", "v2_1"] {
        for name in names(folder) {
            let batch = expected(folder, &name);
            for to in [Version::V2_0, Version::V2_1, Version::V2_2] {
                match conformance::write(&version(to), &batch, usize::MAX, &WriteOptions::default()) {
                    Ok((bytes, _)) => {
                        let name = format!("{name} as {to}");
                        same(&conformance::read_all(&lance(), &bytes).unwrap(), &batch, &name);
                        comes_back(&version(to), &batch, 100, &name);
                    }
                    Err(e) => {
                        assert_eq!(e.code(), "type_not_supported", "{name}: {e}");
                        refused.push(format!("{name} as {to}"));
                    }
                }
            }
        }
    }
    // Version 2.0 has no null structs; 2.2 alone has maps and fixed-size lists of structs.
    for name in refused.iter().filter(|n| n.ends_with("2.2")) {
        assert!(
            ["packed", "empty", "blob", "fsl"].iter().any(|k| name.contains(k)),
            "{name}; all refused: {refused:?}"
        );
    }
    let known = ["map", "fsl", "fixed_size_list_struct", "empty", "packed", "blob"];
    for name in refused.iter().filter(|n| n.ends_with("2.1")) {
        assert!(known.iter().any(|k| name.contains(k)), "{name}; all refused: {refused:?}");
    }
}

#[test]
fn random_tables() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let batch = random.table();
        let name = format!("seed {seed}: {:?}", batch.schema().fields());
        for prefer in [Prefer::Balance, Prefer::Size, Prefer::Speed, Prefer::RandomAccess] {
            let format: Arc<dyn Format> =
                Arc::new(Lance::new().with_write_options(LanceWriteOptions::new().with_prefer(prefer)));
            comes_back(&format, &batch, [usize::MAX, 700, 64][random.below(3)], &name);
        }
        comes_back(&version(Version::V2_2), &batch, [usize::MAX, 700, 64][random.below(3)], &name);
        let options = WriteOptions { memory: 1 << 20, ..WriteOptions::default() };
        match conformance::write(&version(Version::V2_0), &batch, 300, &options) {
            Ok((bytes, _)) => same(&conformance::read_all(&lance(), &bytes).unwrap(), &batch, &name),
            Err(e) => assert_eq!(e.code(), "type_not_supported", "{name}: {e}"),
        }
    }
}

/// A field with the metadata that Lance's own writers look at.
fn asking(field: Field, asked: &[(&str, &str)]) -> Field {
    let metadata = asked.iter().map(|(k, v)| (format!("lance-encoding:{k}"), (*v).to_owned()));
    field.with_metadata(metadata.collect())
}

/// How the first page of the only column is stored.
fn stored(field: Field, array: ArrayRef, version: Version) -> String {
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    let format = Lance::new().with_write_options(LanceWriteOptions::new().with_version(version));
    let (bytes, _) =
        conformance::write(&(Arc::new(format) as Arc<dyn Format>), &batch, 10_000, &WriteOptions::default()).unwrap();
    same(&conformance::read_all(&lance(), &bytes).unwrap(), &batch, "asked");
    let table = blocking::run(Lance::new().open_table(bytes.len() as u64, &ReadOptions::default()), &bytes).unwrap();
    let columns = blocking::run(table.describe(), &bytes).unwrap();
    format!("{:?}", columns[0].pages[0].summary.as_ref().unwrap())
}

/// Lance cannot unpack a value of no bytes with lz4, and takes nulls for such values.
#[test]
fn long_texts_with_empty_ones_are_never_lz4() {
    let long = "abc ".repeat(5000);
    let text = |middle: Option<&str>| -> ArrayRef {
        Arc::new(StringArray::from(vec![Some(long.as_str()), middle, Some(long.as_str())]))
    };
    let full_zip = |middle: Option<&str>| {
        let asked = [("compression", "lz4"), ("structural-encoding", "fullzip")];
        stored(asking(Field::new("t", DataType::Utf8, true), &asked), text(middle), Version::V2_1)
    };
    assert!(full_zip(Some("abcd")).contains("lz4(variable"), "{}", full_zip(Some("abcd")));
    for middle in [Some(""), None] {
        assert!(full_zip(middle).contains("zstd(variable"), "{}", full_zip(middle));
    }
}

#[test]
fn what_metadata_asks_for_is_done() {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..20_000).map(|i| format!("https://example.org/{}", i * 7919 % 20_011)),
    ));
    let text = |asked: &[(&str, &str)]| {
        stored(asking(Field::new("t", DataType::Utf8, true), asked), texts.clone(), Version::V2_1)
    };
    assert!(text(&[("compression", "zstd")]).contains("zstd(variable"), "{}", text(&[("compression", "zstd")]));
    assert!(text(&[("compression", "lz4")]).contains("lz4(variable"));
    assert!(text(&[("compression", "fsst")]).contains("fsst"));
    let plain = text(&[("compression", "none")]);
    assert!(plain.contains("variable") && !plain.contains("fsst") && !plain.contains("zstd"), "{plain}");
    assert!(text(&[("structural-encoding", "fullzip"), ("compression", "none")]).to_lowercase().contains("full"));

    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..20_000).map(|i| i * i % 1000)));
    let number = |asked: &[(&str, &str)]| {
        stored(asking(Field::new("n", DataType::Int64, true), asked), numbers.clone(), Version::V2_2)
    };
    assert!(number(&[("compression", "none"), ("dict-divisor", "1000000")]).contains("flat(64)"));
    assert!(
        number(&[("compression", "zstd"), ("bss", "on"), ("dict-divisor", "1000000")]).contains("byte_stream_split")
    );
    let bad = asking(Field::new("n", DataType::Int64, true), &[("compression", "gzip")]);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![bad])), vec![numbers.clone()]).unwrap();
    let error = conformance::write(&lance(), &batch, 10, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.code(), "bad_encoding_key");
}

/// What is chosen weighs bytes against the time that they take, so nothing slow is put before a scan that needs it not.
#[test]
fn encodings_are_chosen_by_what_they_cost() {
    let stored = |array: ArrayRef| stored(Field::new("n", array.data_type().clone(), false), array, Version::V2_1);
    let mixed = |i: i64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15u64.cast_signed()).cast_unsigned();
    let numbers = |value: &dyn Fn(i64) -> i64| stored(Arc::new(Int64Array::from_iter_values((0..100_000).map(value))));
    // Keys in order, each several times.
    let keys = numbers(&|i| i / 5 * 3 + (i / 5) % 2);
    assert!(keys.contains("rle(64)"), "{keys}");
    // Keys without order have the bits that they have.
    let bits = numbers(&|i| i64::try_from(mixed(i) >> 47).unwrap());
    assert!(bits.contains("\"bitpacked(64)\""), "{bits}");
    // Decimals that differ in three low bytes.
    let price = |shift: u32| {
        let values = (0..100_000).map(|i| i128::from(mixed(i) >> shift));
        stored(Arc::new(Decimal128Array::from_iter_values(values).with_precision_and_scale(38, 2).unwrap()))
    };
    assert!(price(40).contains("lz4(flat(128))"), "{}", price(40));
    for encoding in [keys, bits, price(40), price(1)] {
        assert!(!encoding.contains("zstd"), "{encoding}");
    }
}

#[test]
fn packed_structs_blobs_and_what_only_2_2_has() {
    let rows = 3000usize;
    let ints: ArrayRef = Arc::new(Int32Array::from_iter_values(0..3000));
    let floats: ArrayRef = Arc::new(Float64Array::from_iter_values((0..3000).map(f64::from)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..3000).map(|i| "x".repeat(i % 50))));
    let member = |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), false);
    let nulls = Some(arrow::buffer::NullBuffer::from_iter((0..rows).map(|i| i % 9 > 0)));
    let fixed = StructArray::new(
        vec![member("a", &ints), member("b", &floats)].into(),
        vec![ints.clone(), floats.clone()],
        None,
    );
    let mixed = StructArray::new(
        vec![member("a", &ints), member("t", &texts)].into(),
        vec![ints.clone(), texts.clone()],
        nulls.clone(),
    );
    let packed = |array: &StructArray| asking(Field::new("p", array.data_type().clone(), true), &[("packed", "true")]);
    for v in [Version::V2_0, Version::V2_1, Version::V2_2] {
        assert!(stored(packed(&fixed), Arc::new(fixed.clone()), v).to_lowercase().contains("packed"), "{v}");
    }
    assert!(stored(packed(&mixed), Arc::new(mixed.clone()), Version::V2_2).to_lowercase().contains("packed"));

    let values = |i: usize| (!i.is_multiple_of(4)).then(|| vec![u8::try_from(i % 251).unwrap(); i % 700]);
    let blobs: ArrayRef = Arc::new(LargeBinaryArray::from_iter((0..500).map(values)));
    let blob = asking(Field::new("b", DataType::LargeBinary, true), &[("blob", "true")]);
    for v in [Version::V2_0, Version::V2_1, Version::V2_2] {
        // In 2.0 the column is a blob, its pages are packed structs like others.
        let expected = if v == Version::V2_0 { "packed" } else { "blob" };
        assert!(stored(blob.clone(), blobs.clone(), v).to_lowercase().contains(expected), "{v}");
    }

    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in 0..2000 {
        for entry in 0..row % 4 {
            maps.keys().append_value(format!("k{entry}"));
            maps.values().append_option((row % 3 > 0).then_some(row));
        }
        maps.append(row % 7 > 0).unwrap();
    }
    let maps: ArrayRef = Arc::new(maps.finish());
    stored(Field::new("m", maps.data_type().clone(), true), maps.clone(), Version::V2_2);

    let item = Arc::new(Field::new("item", fixed.data_type().clone(), true));
    let lists: ArrayRef = Arc::new(FixedSizeListArray::new(
        item,
        3,
        Arc::new(fixed),
        Some(arrow::buffer::NullBuffer::from_iter((0..rows / 3).map(|i| i % 5 > 0))),
    ));
    stored(Field::new("l", lists.data_type().clone(), true), lists.clone(), Version::V2_2);

    for array in [maps, lists] {
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        let error = conformance::write(&lance(), &batch, 10, &WriteOptions::default()).unwrap_err();
        assert!(error.to_string().contains("2.2"), "{error}");
    }
}

#[test]
fn the_laws_hold() {
    for seed in [1, 5, 9, 14, 22, 31] {
        let batch = Random(1000 + seed).table();
        conformance::round_trip(&lance(), &batch, LAWS);
    }
}

#[test]
fn vectors_wide_texts_and_empty_tables() {
    let mut random = Random(7);
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let vector = DataType::FixedSizeList(item, 768);
    let texts = DataType::Struct(vec![Field::new("t", DataType::Utf8, true)].into());
    let fields = vec![Field::new("v", vector.clone(), true), Field::new("s", texts.clone(), true)];
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let long: StringArray = (0..600).map(|i| (i % 7 > 0).then(|| format!("{i} ").repeat(i * 3))).collect();
    let structs = StructArray::new(
        vec![Field::new("t", DataType::Utf8, true)].into(),
        vec![Arc::new(long)],
        Some((0..600).map(|i| i % 5 > 0).collect::<Vec<bool>>().into()),
    );
    let batch = RecordBatch::try_new(schema.clone(), vec![random.array(&vector, 600, 10), Arc::new(structs)]).unwrap();
    conformance::round_trip(&lance(), &batch, LAWS);
    conformance::round_trip(&lance(), &RecordBatch::new_empty(schema), LAWS);
}

#[test]
fn many_empty_lists_between_two_values() {
    let mut lists = ListBuilder::new(BooleanBuilder::new());
    for row in 0..200_000 {
        if row % 150_000 == 7 {
            lists.values().append_value(true);
        }
        lists.append(row % 3 > 0 || row % 150_000 == 7);
    }
    let batch = RecordBatch::try_from_iter([("l", Arc::new(lists.finish()) as ArrayRef)]).unwrap();
    comes_back(&lance(), &batch, usize::MAX, "sparse lists");
}

#[test]
fn types_that_the_file_lacks() {
    let views: ArrayRef = Arc::new(StringViewArray::from_iter([Some("a"), None, Some("longer than twelve bytes")]));
    let batch = RecordBatch::try_from_iter([("v", views)]).unwrap();
    let write = |types| conformance::write(&lance(), &batch, 2, &WriteOptions { types, ..WriteOptions::default() });
    let error = write(Types::Refuse).unwrap_err();
    assert_eq!((error.code(), error.part_name()), ("type_not_supported", Some("column 0 \"v\"")));
    let (bytes, summary) = write(Types::Exact).unwrap();
    assert_eq!(summary.notes.len(), 1);
    let read = conformance::read_all(&lance(), &bytes).unwrap();
    assert_eq!(read.column(0).as_string::<i32>().iter().collect::<Vec<_>>()[2], Some("longer than twelve bytes"));

    let interval: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("i", interval)]).unwrap();
    let options = WriteOptions { types: Types::Lossy, ..WriteOptions::default() };
    assert_eq!(conformance::write(&lance(), &batch, 1, &options).unwrap_err().code(), "type_not_supported");
}

#[test]
fn what_lies_under_nulls_is_not_written() {
    let nulls = arrow::buffer::NullBuffer::from(vec![true, false, true]);
    let number =
        |hidden: i32| -> ArrayRef { Arc::new(Int32Array::new(vec![1, hidden, 3].into(), Some(nulls.clone()))) };
    let file = |hidden| {
        let batch = RecordBatch::try_from_iter([("n", number(hidden))]).unwrap();
        conformance::write(&lance(), &batch, 3, &WriteOptions::default()).unwrap().0
    };
    assert_eq!(file(77), file(1234));
}

#[test]
fn columns_share_their_descriptions() {
    let column = |c: i32| Arc::new(Int32Array::from_iter_values((0..200).map(|i| i * c))) as ArrayRef;
    let batch = RecordBatch::try_from_iter((0..40).map(|c| (format!("c{c}"), column(c)))).unwrap();
    let deferred = LanceWriteOptions::new().with_deferred_encodings(true);
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        let plain: Arc<dyn Format> = self::version(version);
        let shared: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(deferred.clone().with_version(version)));
        let (before, _) = conformance::write(&plain, &batch, 100, &WriteOptions::default()).unwrap();
        let (after, summary) = conformance::write(&shared, &batch, 100, &WriteOptions::default()).unwrap();
        assert!(after.len() + 40 * 60 < before.len(), "{} against {} bytes", after.len(), before.len());
        assert_eq!(summary.notes.len(), 1, "{:?}", summary.notes);
        same(&conformance::reads(&shared, &after, LAWS), &batch, "shared");
        // Where there is nothing to share, nothing is.
        let one = batch.project(&[1]).unwrap();
        let (alone, summary) = conformance::write(&shared, &one, 100, &WriteOptions::default()).unwrap();
        assert!(summary.notes.is_empty());
        assert_eq!(alone, conformance::write(&plain, &one, 100, &WriteOptions::default()).unwrap().0);
    }
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(deferred));
    let small = batch.slice(0, 50).project(&[3, 4, 5, 6]).unwrap();
    conformance::hostile(&format, &conformance::write(&format, &small, 100, &WriteOptions::default()).unwrap().0);
}
