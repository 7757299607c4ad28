//! A reader that knows none of the extended encodings reads files that use them, by the modules in these files.
//!
//! The files are what `colkit convert TABLE.csv TABLE.lance --encodings extended` made of the tables below, with `--prefer size` for
//! the second. They are never regenerated.

use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::{
    Format, PluginState, Projection, ReadOptions, Result, Scan, Setting, TableFile, WriteOptions, conformance,
};
use colkit_lance::Lance;
use colkit_lance::encoding::Registry;
use colkit_plugin::Plugins;
use std::sync::Arc;

const ROWS: u64 = 30_000;
const SQUARES: u64 = 120_000;

/// Numbers without a pattern.
fn scrambled(i: u64) -> u64 {
    let once = (i ^ i >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let twice = (once ^ once >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    twice ^ twice >> 31
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap()
}

/// Keys near each other, times that ascend, and prices with two digits.
fn prices() -> RecordBatch {
    let rows = || (0..ROWS).map(|i| (i, scrambled(i << 32)));
    let keys = rows().map(|(_, random)| signed(1_000_000_000_000 + random % 4000));
    let times = rows().map(|(i, random)| i32::try_from(1_700_000_000 + i * 3 + random % 3).unwrap());
    let prices = rows().map(|(_, random)| ((random >> 40 & 511) * 100 + (random >> 20 & 63)) as f64 / 100.0);
    let columns: [(&str, ArrayRef); 3] = [
        ("key", Arc::new(Int64Array::from_iter_values(keys))),
        ("time", Arc::new(Int32Array::from_iter_values(times))),
        ("price", Arc::new(Float64Array::from_iter_values(prices))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Numbers whose differences ascend evenly.
fn squares() -> RecordBatch {
    let squares = (0..SQUARES).map(|i| signed(i * i * 977 + scrambled(i) % 3));
    let squares: ArrayRef = Arc::new(Int64Array::from_iter_values(squares));
    RecordBatch::try_from_iter([("square", squares)]).unwrap()
}

fn whole(file: &TableFile) -> RecordBatch {
    let batches: Vec<_> = file.scan(&Scan::default()).unwrap().map(|b| b.unwrap()).collect();
    arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// A file, opened with the encodings of Lance alone and these plugins.
fn open(bytes: &Bytes, plugins: &Plugins) -> Result<TableFile> {
    let mut encodings = Registry::standard();
    plugins.add_to(&mut encodings);
    TableFile::open(Arc::new(Lance::with_encodings(encodings)), Arc::new(bytes.clone()), &ReadOptions::default())
}

/// The same rows in a file without any of these encodings.
fn plain(rows: &RecordBatch) -> TableFile {
    let format: Arc<dyn Format> = Arc::new(Lance::new());
    let bytes = conformance::write(&format, rows, 10_000, &WriteOptions::default()).unwrap().0;
    open(&bytes, &Plugins::new()).unwrap()
}

fn reads_by_modules(bytes: &'static [u8], rows: &RecordBatch, needed: &[(&str, &str)]) {
    let bytes = Bytes::from_static(bytes);
    let refused = open(&bytes, &Plugins::new()).unwrap();
    let layout = refused.layout().unwrap();
    let names: Vec<_> = layout.plugins.iter().map(|plugin| (plugin.name.as_str(), plugin.state)).collect();
    let all_refused: Vec<_> = needed.iter().map(|(name, _)| (*name, PluginState::Refused)).collect();
    assert_eq!(names, all_refused, "a reader that knows these encodings?");
    for (plugin, (name, column)) in layout.plugins.iter().zip(needed) {
        let index = rows.schema().index_of(column).unwrap();
        let error = refused.take(&[0], &Projection::columns([index])).unwrap_err();
        assert_eq!(error.code(), "plugin_refused");
        let said = error.to_string();
        let hash = plugin.sha256.as_deref().unwrap();
        for part in [*name, hash, column] {
            assert!(said.contains(part), "{said:?} lacks {part:?}");
        }
        assert_eq!(error.advice().unwrap().settings().collect::<Vec<_>>(), [Setting::EmbeddedPlugins]);
    }
    let scanned = refused.scan(&Scan::default()).and_then(|scan| scan.collect::<Result<Vec<_>>>());
    assert_eq!(scanned.unwrap_err().code(), "plugin_refused");

    let (allowed, plain) = (open(&bytes, &Plugins::new().allow_embedded()).unwrap(), plain(rows));
    let (by_modules, plainly) = (whole(&allowed), whole(&plain));
    assert_eq!(by_modules.schema(), plainly.schema());
    for (column, (by_module, plain)) in by_modules.columns().iter().zip(plainly.columns()).enumerate() {
        assert!(by_module == plain, "other values in column {column}");
    }
    assert!(plainly == *rows, "other values in the plain file");
    let count = rows.num_rows() as u64;
    let taken: Vec<u64> = (0..count).step_by(997).chain([count - 1, 0, 1023, 1024]).collect();
    let take = |file: &TableFile| file.take(&taken, &Projection::all()).unwrap();
    assert_eq!(take(&allowed), take(&plain));
}

#[test]
fn a_reader_without_the_encodings_reads_them_by_their_modules() {
    let needed = [("colkit.Alp", "price"), ("colkit.Frame", "key")];
    reads_by_modules(include_bytes!("data/prices.lance"), &prices(), &needed);
    reads_by_modules(include_bytes!("data/squares.lance"), &squares(), &[("colkit.Pco", "square")]);
}
