//! Files that were damaged: no panic gets out, nothing hangs, no byte is unaccounted for.
//!
//! Neither Parquet nor Arrow files need checksums, so a flipped byte among the values may give other values; what is
//! tested is that it does no harm.

use super::sample::{plain, rich};
use arrow::array::RecordBatch;
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{Format, Limits, Projection, ReadOptions, Result, Scan, Source, WriteOptions, conformance};
use colkit_interop::{ArrowFile, ArrowStream, CsvFormat, IpcCompression, NdjsonFormat, Parquet, ParquetCompression};
use std::sync::{Arc, Once, mpsc};
use std::time::Duration;

/// Asks everything of a file that may be any bytes.
fn use_everything(format: &Arc<dyn Format>, bytes: &Bytes) -> Result<()> {
    let table = blocking::run(format.open(bytes.len() as u64, &ReadOptions::default()), bytes)?;
    assert!(blocking::run(table.layout()?, bytes)?.covers_exactly_once(), "the layout of any file that opens");
    blocking::run(table.verify()?, bytes)?;
    table.statistics();
    table.properties();
    let last = table.row_count().checked_sub(1);
    let source: Arc<dyn Source> = Arc::new(bytes.clone());
    let rows: Vec<u64> = last.into_iter().collect();
    // After an error, the rest is still to be tried.
    let taken = blocking::take(table.clone(), source.clone(), &rows, &Projection::all(), &Limits::default(), 1);
    let mut first_error = taken.err();
    for projection in (0..table.schema().fields().len()).map(|c| Projection::columns([c])) {
        let scan = Scan::of(projection);
        for split in blocking::run(table.splits(&scan)?, bytes)? {
            let scan = Scan { rows: Some(split.rows), ..scan.clone() };
            let batches = blocking::scan(table.clone(), source.clone(), &scan, 1, u64::MAX);
            let error = batches.map_or_else(Some, |batches| batches.filter_map(Result::err).reduce(|first, _| first));
            first_error = first_error.or(error);
        }
    }
    first_error.map_or(Ok(()), Err)
}

/// Decoders of others may panic inside; that becomes an error, and its message need not be printed here.
fn quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !colkit_interop::inside_decoder() {
                before(info);
            }
        }));
    });
}

fn survives(format: Arc<dyn Format>, batch: &RecordBatch, every: usize) {
    quietly();
    let (good, _) = conformance::write(&format, batch, batch.num_rows() / 2, &WriteOptions::default()).unwrap();
    use_everything(&format, &good).unwrap();
    let flips = (0..good.len()).step_by(every).flat_map(|at| [0x01, 0x80, 0xFF, 0x10].map(|mask| (at, mask)));
    let flipped = flips.map(|(at, mask)| {
        let mut bytes = good.to_vec();
        bytes[at] ^= mask;
        (format!("{}: byte {at} xor {mask:#x}", format.name()), Bytes::from(bytes))
    });
    let cut = (0..good.len()).step_by(every).map(|at| (format!("{}: cut to {at}", format.name()), good.slice(..at)));
    let cases: Vec<(String, Bytes)> = flipped.chain(cut).collect();
    let names: Vec<String> = cases.iter().map(|(name, _)| name.clone()).collect();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for (_, bytes) in cases {
            let _ = use_everything(&format, &bytes);
            if send.send(()).is_err() {
                return;
            }
        }
    });
    for name in names {
        receive.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|e| panic!("{name}: panicked or hangs ({e})"));
    }
}

/// A few rows of everything that the format stores.
fn few(format: &dyn Format) -> RecordBatch {
    let batch = rich(8);
    let kept: Vec<usize> =
        (0..batch.num_columns()).filter(|c| format.stores(batch.schema().field(*c).data_type())).collect();
    batch.project(&kept).unwrap()
}

#[test]
fn parquet() {
    for compression in [ParquetCompression::None, ParquetCompression::Zstd] {
        let format = Parquet { compression };
        survives(Arc::new(format), &plain(20), 2);
        survives(Arc::new(format), &few(&format), 23);
    }
}

#[test]
fn arrow_files_and_streams() {
    for compression in [IpcCompression::None, IpcCompression::Lz4] {
        survives(Arc::new(ArrowFile { compression }), &plain(20), 3);
        survives(Arc::new(ArrowFile { compression }), &few(&ArrowFile::default()), 37);
        survives(Arc::new(ArrowStream { compression }), &plain(20), 3);
        survives(Arc::new(ArrowStream { compression }), &few(&ArrowStream::default()), 37);
    }
}

#[test]
fn ndjson() {
    survives(Arc::new(NdjsonFormat::default()), &plain(6), 1);
}

#[test]
fn malformed_files_are_refused_for_their_reason() {
    quietly();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/malformed");
    conformance::malformed(&folder, |name, bytes| {
        let format: Arc<dyn Format> = match name.rsplit('.').next() {
            Some("parquet") => Arc::new(Parquet::default()),
            Some("arrow") => Arc::new(ArrowFile::default()),
            Some("arrows") => Arc::new(ArrowStream::default()),
            Some("ndjson") => Arc::new(NdjsonFormat::default()),
            Some("csv") => Arc::new(CsvFormat::default()),
            other => panic!("no format for {other:?}"),
        };
        conformance::refused(&format, bytes)
    });
}

#[test]
fn failures_in_the_middle_come_through() {
    let formats: [Arc<dyn Format>; 5] = [
        Arc::new(Parquet::default()),
        Arc::new(ArrowFile::default()),
        Arc::new(ArrowStream::default()),
        Arc::new(NdjsonFormat::default()),
        Arc::new(CsvFormat::default()),
    ];
    quietly();
    for format in formats {
        let (good, _) = conformance::write(&format, &plain(300), 100, &WriteOptions::default()).unwrap();
        conformance::faulty_reads(&format, &good);
        conformance::full_disk(&format, &plain(300));
    }
}
