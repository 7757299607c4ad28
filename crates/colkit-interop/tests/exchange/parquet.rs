//! Parquet files.

use super::sample::{found, noise, plain, rich};
use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Int32Array,
    Int64Array, ListArray, StringArray, Time32SecondArray, TimestampMillisecondArray, TimestampSecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int32Type, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance::{self, Laws};
use colkit_core::drive::blocking;
use colkit_core::{
    BoundPredicate, ColumnRef, Counting, Format, Literal, Op, Predicate, Projection, ReadOptions, Scan, Setting,
    TableFile, Value, WriteOptions, coalesce,
};
use colkit_interop::{Parquet, ParquetCompression};
use parquet::arrow::ArrowWriter;
use parquet::data_type::FixedLenByteArray;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;
use std::sync::Arc;

const APART: Laws = Laws { columns_apart: true };

fn format() -> Arc<dyn Format> {
    Arc::new(Parquet::default())
}

/// A file with these settings of the crate's own writer.
fn file_with(batch: &RecordBatch, properties: WriterProperties) -> Bytes {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes.into()
}

#[test]
fn everything_comes_back() {
    use ParquetCompression as C;
    for compression in [C::None, C::Snappy, C::Zstd, C::Lz4, C::Gzip, C::Brotli] {
        let format: Arc<dyn Format> = Arc::new(Parquet { compression });
        conformance::round_trip(&format, &plain(2000), APART);
    }
    conformance::round_trip(&format(), &rich(600), APART);
    conformance::round_trip(&format(), &rich(0), APART);
    for column in rich(0).columns() {
        assert!(format().stores(column.data_type()));
    }
}

#[test]
fn the_laws_hold_over_many_row_groups_with_and_without_a_page_index() {
    for indexed in [true, false] {
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(300))
            .set_data_page_row_count_limit(70)
            .set_write_batch_size(35)
            .set_offset_index_disabled(!indexed);
        let properties = if indexed { properties } else { properties.set_statistics_enabled(EnabledStatistics::Chunk) };
        let bytes = file_with(&rich(1000), properties.build());
        let read = conformance::reads(&format(), &bytes, APART);
        assert_eq!(read.columns(), rich(1000).columns());
    }
}

/// 10,000 rows in order, in row groups of 2,500 and pages of 250.
fn ordered() -> Bytes {
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(0..10_000)) as ArrayRef),
        ("n", Arc::new(Int32Array::from_iter_values((0..10_000).map(noise)))),
        ("t", Arc::new(StringArray::from_iter_values((0..10_000).map(|i| format!("{}", noise(i)))))),
    ]);
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(2500))
        .set_data_page_row_count_limit(250)
        .set_write_batch_size(250)
        .set_dictionary_enabled(false)
        .build();
    file_with(&batch.unwrap(), properties)
}

#[test]
fn a_condition_reads_only_the_pages_that_may_match_and_what_is_planned() {
    let bytes = ordered();
    let source = Arc::new(Counting::remembering(bytes.clone()));
    let file = TableFile::open(format(), source.clone(), &ReadOptions::default()).unwrap();
    let opening = source.ranges().len();
    let predicate = Predicate::compare(0, Op::Eq, Value::Int(6000)).bind(&file.schema()).unwrap();
    let scan = Scan { projection: Projection::columns([2, 0]), predicate: Some(predicate), ..Scan::default() };
    let splits = blocking::run(file.table().splits(&scan).unwrap(), source.as_ref()).unwrap();
    assert_eq!(splits.len(), 1);
    assert_eq!(splits[0].rows, 6000..6250, "one page of one row group");
    let rows: Vec<RecordBatch> = file.scan(&scan).unwrap().map(|b| b.unwrap()).collect();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    assert_eq!(rows[0].column(0).as_string::<i32>().value(0), format!("{}", noise(6000)));
    let read = coalesce(&source.ranges()[opening..], 0);
    assert_eq!(read, coalesce(&splits[0].ranges, 0), "what was planned is what was read");
    let size: u64 = read.iter().map(|r| r.len()).sum();
    assert!(size * 40 < bytes.len() as u64, "{size} of {}", bytes.len());
}

#[test]
fn dates_times_and_decimals_are_ruled_out_by_what_people_write() {
    let days = Date32Array::from_iter_values(0..10_000);
    let times = TimestampMillisecondArray::from_iter_values((0..10_000).map(|d| d * 86_400_000));
    let money = Decimal128Array::from_iter_values(0..10_000).with_precision_and_scale(12, 2).unwrap();
    let batch = RecordBatch::try_from_iter([
        ("day", Arc::new(days) as ArrayRef),
        ("time", Arc::new(times.with_timezone("UTC"))),
        ("money", Arc::new(money)),
    ]);
    let properties = WriterProperties::builder().set_data_page_row_count_limit(500).set_write_batch_size(500).build();
    let bytes = file_with(&batch.unwrap(), properties);
    let file = TableFile::open(format(), Arc::new(bytes), &ReadOptions::default()).unwrap();
    for (condition, rows) in [
        ("day = \"1980-01-01\"", 1),
        ("time >= \"1997-05-18T00:00:00Z\"", 1),
        ("money < 0.05", 5),
        ("money in (1.25, 99.99)", 2),
    ] {
        let predicate = Some(Predicate::parse(condition, &file.schema()).unwrap().bind(&file.schema()).unwrap());
        let scan = Scan { predicate, ..Scan::default() };
        let splits = blocking::run(file.table().splits(&scan).unwrap(), file.source().as_ref()).unwrap();
        let read: u64 = splits.iter().map(|s| s.rows.end - s.rows.start).sum();
        assert!(read <= 1000, "{condition}: {splits:?}");
        let found: usize = file.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(found, rows, "{condition}");
    }
}

/// A hundred values of a type, in order.
fn in_order(data_type: &DataType) -> ArrayRef {
    let text = || StringArray::from_iter_values((0..100).map(|i| format!("{i:03}")));
    match data_type {
        DataType::Dictionary(_, values) => cast(&in_order(values), data_type).unwrap(),
        DataType::Date64 => cast(&in_order(&DataType::Date32), data_type).unwrap(),
        DataType::FixedSizeBinary(_) => {
            Arc::new(FixedSizeBinaryArray::try_from_iter(text().iter().flatten().map(str::as_bytes)).unwrap())
        }
        t if t.is_numeric() || t.primitive_width() == Some(8) => {
            cast(&Int64Array::from_iter_values(0..100), data_type).unwrap()
        }
        t if t.primitive_width() == Some(4) => cast(&Int32Array::from_iter_values(0..100), t).unwrap(),
        t => cast(&text(), t).unwrap(),
    }
}

#[test]
fn every_type_with_an_order_rules_out_row_groups_and_pages() {
    use DataType::*;
    for data_type in [
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Nanosecond),
        Timestamp(TimeUnit::Second, None),
        Timestamp(TimeUnit::Microsecond, Some("Europe/Paris".into())),
        Decimal32(9, 2),
        Decimal64(18, 3),
        Decimal128(30, 2),
        Decimal256(60, 3),
        Utf8,
        LargeUtf8,
        Binary,
        LargeBinary,
        FixedSizeBinary(3),
        Dictionary(Box::new(Int32), Box::new(Utf8)),
    ] {
        let batch = RecordBatch::try_from_iter([("c", in_order(&data_type))]).unwrap();
        let groups = WriterProperties::builder().set_max_row_group_row_count(Some(25));
        let pages = WriterProperties::builder().set_data_page_row_count_limit(25).set_write_batch_size(25);
        for (what, properties) in [("row groups", groups.build()), ("pages", pages.build())] {
            let file = TableFile::open(format(), Arc::new(file_with(&batch, properties)), &ReadOptions::default());
            let file = file.unwrap();
            let own = match file.schema().field(0).data_type() {
                Dictionary(_, values) => values.as_ref().clone(),
                other => other.clone(),
            };
            let literal = Literal::new(in_order(&own).slice(30, 1));
            let predicate = Some(BoundPredicate::Compare { column: 0, op: Op::Eq, literal });
            let scan = Scan { predicate, ..Scan::default() };
            let splits = blocking::run(file.table().splits(&scan).unwrap(), file.source().as_ref()).unwrap();
            let rows: Vec<_> = splits.iter().map(|split| (split.rows.start, split.rows.end)).collect();
            assert_eq!(rows, [(25, 50)], "{what} of {data_type}");
            assert_eq!(file.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum::<usize>(), 1, "{data_type}");
        }
    }
}

/// The file with other statistics of its only column, in all row groups.
fn restated(bytes: &Bytes, statistics: &Statistics) -> Bytes {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(bytes).unwrap();
    let mut builder = metadata.into_builder();
    for group in builder.take_row_groups() {
        let chunk = group.column(0).clone().into_builder().set_statistics(statistics.clone()).build().unwrap();
        builder = builder.add_row_group(group.into_builder().set_column_metadata(vec![chunk]).build().unwrap());
    }
    let (front, end) = bytes.split_at(bytes.len() - 8);
    let footer = u32::from_le_bytes(end[..4].try_into().unwrap()) as usize;
    let mut file = front[..front.len() - footer].to_vec();
    let mut written = Vec::new();
    ParquetMetaDataWriter::new(&mut written, &builder.build()).finish().unwrap();
    file.append(&mut written);
    file.into()
}

#[test]
fn bounds_that_make_no_sense_rule_out_nothing() {
    let decimals = Decimal128Array::from_iter_values(0..100).with_precision_and_scale(30, 2).unwrap();
    let batch = RecordBatch::try_from_iter([("c", Arc::new(decimals) as ArrayRef)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(25))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build();
    let bytes = file_with(&batch, properties);
    for length in [0, 1, 16, 17, 33] {
        let bound = FixedLenByteArray::from(vec![0xFF; length]);
        let stated = Statistics::fixed_len_byte_array(Some(bound.clone()), Some(bound), None, Some(0), false);
        let file = TableFile::open(format(), Arc::new(restated(&bytes, &stated)), &ReadOptions::default()).unwrap();
        // Bytes of a decimal's length are one, here -1.
        let believed = [1, 16].contains(&length);
        let expected = believed.then_some(Value::Int(-1));
        assert_eq!(file.table().statistics()[0].min, expected, "{length} bytes");
        let predicate = Predicate::parse("c = 0.30", &file.schema()).unwrap().bind(&file.schema()).unwrap();
        let scan = Scan { predicate: Some(predicate), ..Scan::default() };
        let found: usize = file.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(found, usize::from(!believed), "{length} bytes");
    }
}

#[test]
fn values_that_do_not_repeat_get_no_dictionary() {
    let (bytes, _) = conformance::write(&format(), &plain(5000), 5000, &WriteOptions::default()).unwrap();
    let file = TableFile::open(format(), Arc::new(bytes), &ReadOptions::default()).unwrap();
    let encodings: Vec<String> = file.layout().unwrap().regions.iter().filter_map(|r| r.encoding.clone()).collect();
    assert!(!encodings[0].contains("DICTIONARY") && encodings[2].contains("DICTIONARY"), "{encodings:?}");
}

#[test]
fn rows_are_taken_from_their_pages() {
    let bytes = ordered();
    let source = Arc::new(Counting::remembering(bytes.clone()));
    let file = TableFile::open(format(), source.clone(), &ReadOptions::default()).unwrap();
    let before = source.count().bytes;
    let taken = file.take(&[9999, 17, 17, 5000], &Projection::columns([0])).unwrap();
    let ids = taken.column(0).as_primitive::<arrow::datatypes::Int64Type>().values().to_vec();
    assert_eq!(ids, [9999, 17, 17, 5000]);
    let read = source.count().bytes - before;
    assert!(read < 3 * 250 * 8 + 500, "three pages of 250 numbers, not {read} bytes");
}

#[test]
fn the_footer_answers_for_the_bounds() {
    let file = TableFile::open(format(), Arc::new(ordered()), &ReadOptions::default()).unwrap();
    let statistics = file.table().statistics();
    assert_eq!((statistics[0].min.clone(), statistics[0].max.clone()), (Some(Value::Int(0)), Some(Value::Int(9999))));
    assert!(statistics[0].exact);
    assert_eq!(statistics[0].null_count, Some(0));
}

#[test]
fn little_memory_cuts_row_groups_where_pages_start() {
    let file = TableFile::open(format(), Arc::new(big()), &ReadOptions::default()).unwrap();
    let scan = Scan { memory: 16 << 20, ..Scan::default() };
    let splits = blocking::run(file.table().splits(&scan).unwrap(), file.source().as_ref()).unwrap();
    assert!(splits.len() > 1, "{splits:?}");
    let rows: usize = file.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(rows, 500_000);
}

#[test]
fn a_row_group_that_cannot_be_cut_must_fit_into_memory() {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    let file = TableFile::open(format(), Arc::new(big_with(properties.build())), &ReadOptions::default()).unwrap();
    let read = |memory: u64| {
        let scan = Scan { memory, ..Scan::default() };
        file.scan(&scan).map(|batches| batches.map(|b| b.unwrap().num_rows()).sum::<usize>())
    };
    let error = read(2 << 20).unwrap_err();
    assert_eq!((error.code(), error.part_name()), ("limit_exceeded", Some("row group 0")));
    assert!(error.advice().unwrap().settings().eq([Setting::Memory]));
    assert_eq!(read(8 << 20).unwrap(), 500_000);
}

/// One row group of 4 MB.
fn big() -> Bytes {
    big_with(WriterProperties::builder().set_dictionary_enabled(false).build())
}

fn big_with(properties: WriterProperties) -> Bytes {
    let numbers = Int64Array::from_iter_values((0..500_000).map(|i| i64::from(noise(i)) * 7919));
    let batch = RecordBatch::try_from_iter([("n", Arc::new(numbers) as ArrayRef)]).unwrap();
    file_with(&batch, properties)
}

#[test]
fn parts_of_structs_are_read_alone() {
    let batch = rich(300);
    let column = batch.schema().index_of("struct").unwrap();
    let (bytes, _) = conformance::write(&format(), &batch, 300, &WriteOptions::default()).unwrap();
    let read = |within: Vec<Vec<usize>>| {
        let source = Arc::new(Counting::new(bytes.clone()));
        let file = TableFile::open(format(), source.clone(), &ReadOptions::default()).unwrap();
        let before = source.count().bytes;
        let projection = Projection::parts(vec![ColumnRef { index: column, within }]);
        let batches: Vec<_> = file.scan(&Scan::of(projection)).unwrap().map(|b| b.unwrap()).collect();
        let whole = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
        (whole.column(0).as_struct().clone(), source.count().bytes - before)
    };
    let (whole, all_bytes) = read(vec![]);
    let (part, bytes) = read(vec![vec![1]]);
    assert_eq!(part.column_names(), ["b"]);
    assert_eq!(part.column(0), whole.column_by_name("b").unwrap());
    assert!(bytes * 2 < all_bytes, "{bytes} of {all_bytes}");
    let (part, _) = read(vec![vec![2], vec![0]]);
    assert_eq!(part.column_names(), ["a", "l"]);
}

#[test]
fn a_dictionary_of_views_is_written_as_one_of_text() {
    let words: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let views = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8View));
    let column = cast(&words, &views).unwrap();
    assert!(!format().stores(&views));
    let batch = RecordBatch::try_from_iter([("w", column)]).unwrap();
    let (bytes, summary) = conformance::write(&format(), &batch, 3, &WriteOptions::default()).unwrap();
    assert!(summary.notes[0].contains("\"w\""), "{:?}", summary.notes);
    assert_eq!(conformance::read_all(&format(), &bytes).unwrap().column(0).as_ref(), &words as &dyn Array);
}

/// What scanning, taking, filtering and verifying a file say: the same as of the good one, or that it is damaged.
fn answers(bytes: &Bytes, whole: &RecordBatch) -> [Result<(), &'static str>; 4] {
    const AT: [u64; 2] = [7, 1];
    let same = |what: &str, found: colkit_core::Result<RecordBatch>, wanted: RecordBatch| match found {
        Ok(found) => {
            assert_eq!(found, wanted, "{what}");
            Ok(())
        }
        Err(error) => Err(error.code()),
    };
    let file = match TableFile::open(format(), Arc::new(bytes.clone()), &ReadOptions::default()) {
        Ok(file) => file,
        Err(error) => return [Err(error.code()); 4],
    };
    let scan = |scan: &Scan| {
        let batches = file.scan(scan)?.collect::<colkit_core::Result<Vec<_>>>()?;
        Ok(arrow::compute::concat_batches(&file.schema(), &batches)?)
    };
    let condition = Predicate::compare(0, Op::Gt, Value::Int(5)).bind(&file.schema());
    let filtered = condition.and_then(|c| scan(&Scan { predicate: Some(c), ..Scan::default() }));
    let some = arrow::compute::filter_record_batch(
        whole,
        &whole.column(0).as_primitive::<Int32Type>().iter().map(|n| n.map(|n| n > 5)).collect(),
    );
    let taken = arrow::compute::take_record_batch(whole, &arrow::array::UInt64Array::from(AT.to_vec()));
    let scanned = same("scan", scan(&Scan::default()), whole.clone());
    [
        scanned,
        same("filter", filtered, some.unwrap()),
        same("take", file.take(&AT, &Projection::all()), taken.unwrap()),
        // What `verify` does: the format's own checks, and reading everything.
        file.verify().map(drop).map_err(|e| e.code()).and(scanned),
    ]
}

#[test]
fn no_bit_of_a_file_that_we_wrote_changes_unseen() {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..10));
    let words: StringArray = (0..10).map(|i| (i % 5 != 0).then(|| ["red", "green"][i % 2])).collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..10).map(|i| (i % 7 != 0).then(|| (0..i % 3).map(Some).collect::<Vec<_>>())),
    );
    let others: [(_, ArrayRef); 2] =
        [(ParquetCompression::None, Arc::new(words)), (ParquetCompression::Zstd, Arc::new(lists))];
    for (compression, other) in others {
        let columns = [("n", numbers.clone(), false), ("o", other, true)];
        let whole = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let format: Arc<dyn Format> = Arc::new(Parquet { compression });
        let (good, _) = conformance::write(&format, &whole, 10, &WriteOptions::default()).unwrap();
        assert_eq!(answers(&good, &whole), [Ok(()); 4]);
        for bit in 0..good.len() * 8 {
            let mut bad = good.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            let found = answers(&Bytes::from(bad), &whole);
            assert!(found[3].is_err(), "bit {} of byte {} of {}", bit % 8, bit / 8, good.len());
        }
    }
}

#[test]
fn seconds_are_written_as_milliseconds_with_their_zone() {
    let seconds = TimestampSecondArray::from(vec![Some(-1), None, Some(253_402_300_799)]).with_timezone("Asia/Tokyo");
    let clock = Time32SecondArray::from(vec![0, 86_399, 1]);
    let columns = [("s", Arc::new(seconds) as ArrayRef), ("c", Arc::new(clock) as ArrayRef)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let (bytes, summary) = conformance::write(&format(), &batch, 3, &WriteOptions::default()).unwrap();
    assert_eq!(summary.notes.len(), 2, "{:?}", summary.notes);
    let read = conformance::read_all(&format(), &bytes).unwrap();
    assert_eq!(read.column(0).data_type(), &DataType::Timestamp(TimeUnit::Millisecond, Some("Asia/Tokyo".into())));
    assert_eq!(&cast(read.column(0), batch.column(0).data_type()).unwrap(), batch.column(0));
    assert_eq!(&cast(read.column(1), batch.column(1).data_type()).unwrap(), batch.column(1));
    let beyond = TimestampSecondArray::from(vec![i64::MAX / 10]);
    let batch = RecordBatch::try_from_iter([("s", Arc::new(beyond) as ArrayRef)]).unwrap();
    conformance::write(&format(), &batch, 1, &WriteOptions::default()).unwrap_err();
}

#[test]
fn timestamps_of_96_bits_have_a_unit_that_reaches_them_or_are_refused() {
    let spark = conformance::read_all(&format(), &found("int96_from_spark.parquet")).unwrap();
    assert_eq!(
        spark.column(0).as_primitive::<TimestampMicrosecondType>().iter().collect::<Vec<_>>(),
        [
            Some(1_704_141_296_123_456),
            Some(1_704_070_800_000_000),
            Some(253_402_225_200_000_000),
            Some(1_735_599_600_000_000),
            None,
            Some(9_089_380_393_200_000_000),
        ]
    );
    assert_eq!(conformance::refused(&format(), &found("int96_year_9999.parquet")), "timestamp_out_of_range");
    let near = conformance::read_all(&format(), &found("int96_nanoseconds.parquet")).unwrap();
    let near = near.column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(near.iter().collect::<Vec<_>>(), [Some(1), None, Some(-1), Some(i64::MAX - 854_775_807)]);
}

#[test]
fn zones_are_kept_where_units_differ() {
    let read = conformance::read_all(&format(), &found("zones.parquet")).unwrap();
    let zone = || Some("Europe/Zurich".into());
    let types: Vec<DataType> = read.schema().fields().iter().map(|f| f.data_type().clone()).collect();
    let inside = Arc::new(Field::new("element", DataType::Timestamp(TimeUnit::Millisecond, zone()), true));
    assert_eq!(types[0], DataType::Timestamp(TimeUnit::Millisecond, zone()));
    assert_eq!(types[1], DataType::Timestamp(TimeUnit::Microsecond, zone()));
    assert_eq!(types[2], DataType::List(inside));
}

#[test]
fn levels_are_checked_against_the_compression() {
    use ParquetCompression as C;
    let write = |compression, level| {
        let format: Arc<dyn Format> = Arc::new(Parquet { compression });
        let options = WriteOptions { level: Some(level), ..WriteOptions::default() };
        conformance::write(&format, &plain(10), 10, &options).map(drop).map_err(|e| e.code())
    };
    assert_eq!(write(C::Zstd, 19), Ok(()));
    assert_eq!(write(C::Gzip, 9), Ok(()));
    assert_eq!(write(C::Zstd, 99), Err("bad_level"));
    assert_eq!(write(C::Snappy, 1), Err("bad_level"));
}

/// Integers of 8 and 16 bits are stored in 32, where others may have left more.
#[test]
fn small_integers_beyond_their_type_are_refused() {
    use parquet::data_type::Int32Type;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let file = |declared: &str, values: &[i32]| {
        let flat = format!("message m {{ required int32 a ({declared}); }}");
        let list = format!(
            "message m {{ required group a (LIST) {{ repeated group list {{ required int32 element ({declared}); }} }} }}"
        );
        [(flat, None), (list, Some((vec![1; values.len()], vec![0; values.len()])))].map(|(schema, levels)| {
            let schema = Arc::new(parse_message_type(&schema).unwrap());
            let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let (present, repeated) = levels.unzip();
            column.typed::<Int32Type>().write_batch(values, present.as_deref(), repeated.as_deref()).unwrap();
            column.close().unwrap();
            group.close().unwrap();
            Bytes::from(writer.into_inner().unwrap())
        })
    };
    for (declared, least, most) in [
        ("INTEGER(8,true)", -128, 127),
        ("INTEGER(16,true)", -32768, 32767),
        ("INTEGER(8,false)", 0, 255),
        ("INTEGER(16,false)", 0, 65535),
        ("INT_8", -128, 127),
        ("UINT_16", 0, 65535),
    ] {
        for bytes in file(declared, &[least, 1, most]) {
            assert_eq!(conformance::read_all(&format(), &bytes).unwrap().num_rows(), 3, "{declared}");
        }
        for value in [least - 1, most + 1, i32::MIN, i32::MAX] {
            for bytes in file(declared, &[least, value, most]) {
                assert_eq!(conformance::refused(&format(), &bytes), "bad_number", "{declared}: {value}");
            }
        }
    }
}
