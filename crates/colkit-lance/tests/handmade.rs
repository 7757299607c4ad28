//! Files made by hand: what no writer at hand produces, and what must be seen byte by byte.

use crate::vectors::{bytes, lance};
use arrow::array::{ArrayRef, AsArray, Int32Array};
use arrow::datatypes::Int32Type;
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{
    Boxed, Counting, Limits, Projection, ReadOptions, RegionKind, Scan, Source, Table, TableFile, conformance, ready,
};
use colkit_lance::container::{Container, Version};
use colkit_lance::encoding::{Decoded, Page, PageContext, PageEncoding, PageSummary, Registry, Target};
use colkit_lance::{Lance, Rows};
use std::sync::Arc;

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(u8::try_from(n & 0x7F).unwrap() | 0x80);
        n >>= 7;
    }
    out.push(u8::try_from(n).unwrap());
}

/// A protobuf field that holds a number.
fn number(tag: u64, n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(tag << 3, &mut out);
    varint(n, &mut out);
    out
}

/// A protobuf field that holds bytes: a text, a message, packed numbers.
fn field(tag: u64, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    varint(tag << 3 | 2, &mut out);
    varint(bytes.as_ref().len() as u64, &mut out);
    out.extend_from_slice(bytes.as_ref());
    out
}

fn any(name: &str, message: &[u8]) -> Vec<u8> {
    [field(1, format!("/{name}")), field(2, message)].concat()
}

const VALUES: (&str, &[u8]) = ("lance.encodings.ColumnEncoding", &[0x0A, 0x00]);

/// Nullable { no_nulls { values { flat { 32 bits, buffer 0 } } } }
fn flat_32() -> Vec<u8> {
    let flat = field(1, [number(1, 32), field(2, [])].concat());
    field(2, field(1, field(1, flat)))
}

/// How a page's encoding is given.
enum Given {
    /// In place.
    Direct(Vec<u8>),
    /// Somewhere in the file; shared by all who say so.
    Deferred(Vec<u8>),
}

/// A 2.0 file of int32 columns of one page each.
fn file(columns: &[(String, Vec<i32>, Given)]) -> Bytes {
    let mut file = Vec::new();
    let mut shared: Vec<(Vec<u8>, u64)> = Vec::new();
    let mut metadata = Vec::new();
    for (_, values, given) in columns {
        let position = file.len() as u64;
        file.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        let size = file.len() as u64 - position;
        file.resize(file.len().next_multiple_of(64), b'H');
        let encoding = match given {
            Given::Direct(any) => field(2, field(1, any)),
            Given::Deferred(any) => {
                let known = shared.iter().find(|(known, _)| known == any).map(|(_, at)| *at);
                let at = known.unwrap_or_else(|| {
                    let at = file.len() as u64;
                    file.extend_from_slice(any);
                    file.resize(file.len().next_multiple_of(64), b'H');
                    shared.push((any.clone(), at));
                    at
                });
                field(1, [number(1, at), number(2, any.len() as u64)].concat())
            }
        };
        let packed = |n: u64| {
            let mut out = Vec::new();
            varint(n, &mut out);
            out
        };
        let page =
            [field(1, packed(position)), field(2, packed(size)), number(3, values.len() as u64), field(4, encoding)];
        let column = field(2, field(1, any(VALUES.0, VALUES.1)));
        metadata.push([field(1, column), field(2, page.concat())].concat());
    }
    let fields: Vec<u8> = columns
        .iter()
        .enumerate()
        .flat_map(|(id, (name, ..))| {
            let minus_one = [0x20, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01].to_vec();
            field(1, [field(2, name), number(3, id as u64), minus_one, field(5, "int32"), number(6, 1)].concat())
        })
        .collect();
    let descriptor = [field(1, fields), number(2, columns.first().map_or(0, |c| c.1.len() as u64))].concat();
    let descriptor_at = file.len() as u64;
    file.extend_from_slice(&descriptor);
    let metadata_at = file.len() as u64;
    let mut table = Vec::new();
    for column in &metadata {
        table.extend((file.len() as u64).to_le_bytes());
        table.extend((column.len() as u64).to_le_bytes());
        file.extend_from_slice(column);
    }
    let table_at = file.len() as u64;
    file.extend_from_slice(&table);
    let globals_at = file.len() as u64;
    file.extend(descriptor_at.to_le_bytes());
    file.extend((descriptor.len() as u64).to_le_bytes());
    for n in [metadata_at, table_at, globals_at] {
        file.extend(n.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    file.extend(u32::try_from(columns.len()).unwrap().to_le_bytes());
    file.extend([0, 0, 3, 0]);
    file.extend(b"LANC");
    file.into()
}

fn direct() -> Given {
    Given::Direct(any("lance.encodings.ArrayEncoding", &flat_32()))
}

#[test]
fn three_of_ten_thousand_columns_cost_three() {
    let columns: Vec<_> = (0..10_000).map(|i| (format!("c{i}"), vec![i, i + 1, i + 2], direct())).collect();
    let bytes = file(&columns);
    let source = Arc::new(Counting::new(bytes.clone()));
    let table = blocking::run(Lance::new().open_table(bytes.size(), &ReadOptions::default()), source.as_ref()).unwrap();
    assert_eq!(table.container().parsed_columns(), 0);
    let opened = source.count().bytes;
    let columns = Projection::columns([7, 9_999, 5_000]);
    let taken = blocking::take(table.clone(), source.clone(), &[2, 0], &columns, &Limits::default(), 1).unwrap();
    assert_eq!(taken.column(1).as_primitive::<Int32Type>().values(), &[10_001, 9_999]);
    assert_eq!(table.container().parsed_columns(), 3);
    assert!(source.count().bytes - opened < 600, "three descriptors and six values");
    assert!(opened < bytes.size() / 4, "opening reads the schema, not the columns' metadata");
}

#[test]
fn the_container_is_useful_alone() {
    let bytes = bytes("v2_0", "global_buffers");
    let container = blocking::run(Container::open(bytes.size(), &ReadOptions::default()), &bytes).unwrap();
    assert_eq!(container.version(), Version::V2_0);
    assert_eq!(container.global_buffers().len(), 3, "the schema and two that only their writer understands");
    let extra = bytes.read(container.global_buffers()[1]).unwrap();
    assert!(!extra.is_empty());
    let columns = blocking::run(container.columns(vec![0]), &bytes).unwrap();
    assert!(columns[0].ranges().all(|r| r.end() <= bytes.size()));
    let table = blocking::run(lance().open(bytes.size(), &ReadOptions::default()), &bytes).unwrap();
    let layout = blocking::run(table.layout().unwrap(), &bytes).unwrap();
    assert!(layout.regions.iter().any(|r| r.name == "global buffer 2" && r.kind == RegionKind::Metadata));
}

#[test]
fn shared_encodings_are_found() {
    let shared = || Given::Deferred(any("lance.encodings.ArrayEncoding", &flat_32()));
    let bytes = file(&[
        ("a".into(), vec![1, 2, 3], shared()),
        ("b".into(), vec![4, 5, 6], direct()),
        ("c".into(), vec![7, 8, 9], shared()),
    ]);
    let read = conformance::reads(&lance(), &bytes, conformance::Laws { columns_apart: true });
    assert_eq!(read.column(2).as_primitive::<Int32Type>().values(), &[7, 8, 9]);
}

/// An encoding that stores nothing: value `i` of a page is `i` times what its message says.
struct Multiples;

struct MultiplesPage {
    factor: i32,
    buffers: usize,
}

impl PageEncoding for Multiples {
    fn name(&self) -> &'static str {
        "example.Multiples"
    }

    fn page(&self, context: PageContext) -> colkit_core::Result<Arc<dyn Page>> {
        let factor = context.message.first().copied().unwrap_or(0).into();
        Ok(Arc::new(MultiplesPage { factor, buffers: context.buffers.len() }))
    }
}

impl Page for MultiplesPage {
    fn summary(&self) -> PageSummary {
        let buffers = vec!["unused".into(); self.buffers];
        PageSummary { layout: "example".into(), encoding: "multiples".into(), buffers, values: None }
    }

    fn read(self: Arc<Self>, rows: Rows, _: Target) -> Boxed<Decoded> {
        let rows = rows.ranges().iter().flat_map(|r| r.clone());
        let values: Int32Array = rows.map(|r| i32::try_from(r).unwrap() * self.factor).collect();
        let values: ArrayRef = Arc::new(values);
        ready(Decoded::Array(values))
    }
}

#[test]
fn an_encoding_is_added_by_one_trait() {
    let bytes = file(&[
        ("plain".into(), vec![1, 2, 3, 4], direct()),
        ("other".into(), vec![0; 4], Given::Direct(any("example.Multiples", &[5]))),
    ]);
    // Unknown, it fails the column that uses it and no other.
    let open = |format| TableFile::open(Arc::new(format), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap();
    let file = open(Lance::new());
    let plain = file.scan(&Scan::of(Projection::columns([0]))).unwrap().next().unwrap().unwrap();
    assert_eq!(plain.column(0).as_primitive::<Int32Type>().values(), &[1, 2, 3, 4]);
    let error = file.scan(&Scan::default()).unwrap().next().unwrap().unwrap_err();
    assert_eq!(error.code(), "unknown_encoding");
    assert!(error.to_string().contains("example.Multiples"), "{error}");
    assert!(file.layout().unwrap().covers_exactly_once());
    // Registered, it is read like any other.
    let mut registry = Registry::standard();
    registry.add_page(Arc::new(Multiples));
    let format = Lance::with_encodings(registry);
    let read = conformance::reads(&(Arc::new(format) as _), &bytes, conformance::Laws { columns_apart: true });
    assert_eq!(read.column(1).as_primitive::<Int32Type>().values(), &[0, 5, 10, 15]);
}

#[test]
fn taking_a_row_reads_its_chunk_only() {
    let bytes = bytes("v2_1", "mb_bitpack");
    let source = Arc::new(Counting::new(bytes.clone()));
    let table = blocking::run(Lance::new().open_table(bytes.size(), &ReadOptions::default()), source.as_ref()).unwrap();
    let take = |row: u64| {
        let before = source.count();
        let bytes: Arc<dyn Source> = source.clone();
        blocking::take(table.clone(), bytes, &[row], &Projection::columns([0]), &Limits::default(), 1).unwrap();
        let after = source.count();
        (after.requests - before.requests, after.bytes - before.bytes)
    };
    take(0);
    let column = table.container().known_column(0).unwrap();
    let chunks = column.pages[0].buffers[1].len();
    let (requests, read) = take(table.row_count() - 1);
    assert_eq!(requests, 1, "what is needed to find rows is kept");
    assert!(read < chunks, "{read} of {chunks} bytes");
}

#[test]
fn pages_are_described() {
    let bytes = bytes("v2_1", "ex_dict_utf8");
    let table = blocking::run(Lance::new().open_table(bytes.size(), &ReadOptions::default()), &bytes).unwrap();
    let columns = blocking::run(table.describe(), &bytes).unwrap();
    let page = &columns[0].pages[0];
    let summary = page.summary.as_ref().unwrap();
    assert_eq!((page.rows, summary.layout.as_str(), summary.buffers.len()), (120, "mini_block", 3));
    assert_eq!(summary.encoding, "dictionary(bitpacked(32), variable(32), 4 items), definition bitpacked(16)");
    assert!(table.properties().iter().any(|(key, value)| *key == "version" && value == "2.1"));
}
