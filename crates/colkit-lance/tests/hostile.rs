//! Damaged files. Lance has no checksums, so other values may come out of a flipped byte; what may not happen is a
//! panic, a read that does not end, or memory out of proportion to the file.

use crate::vectors::{bytes, lance, names};
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{Format, Limits, Projection, ReadOptions, Result, Scan, Source, Table, conformance};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Bytes at the end of a file of which every second is damaged.
const METADATA: usize = 600;

/// Places that are damaged before that.
const DATA_PLACES: usize = 60;

/// Everything that can be asked of a file.
fn use_everything(format: &Arc<dyn Format>, bytes: &Bytes) -> Result<()> {
    let table = blocking::run(format.open(bytes.size(), &ReadOptions::default()), bytes)?;
    let layout = blocking::run(table.layout()?, bytes)?;
    let covered = layout.regions.iter().map(|r| r.range.len()).sum::<u64>();
    assert_eq!(covered, bytes.size(), "the layout of any file that opens covers it");
    let rows: Vec<u64> = [table.row_count().checked_sub(1), table.row_count().checked_div(2)]
        .into_iter()
        .flatten()
        .filter(|r| *r < table.row_count())
        .collect();
    let source: Arc<dyn Source> = Arc::new(bytes.clone());
    // After an error, the rest is still to be tried.
    let mut first_error = blocking::take(table.clone(), source, &rows, &Projection::all(), &Limits::default(), 1).err();
    for column in 0..table.schema().fields().len().min(20) {
        if let Err(e) = scan(&table, bytes, &Scan::of(Projection::columns([column]))) {
            first_error.get_or_insert(e);
        }
    }
    first_error.map_or(Ok(()), Err)
}

fn scan(table: &Arc<dyn Table>, bytes: &Bytes, scan: &Scan) -> Result<()> {
    let mut batches = blocking::scan(table.clone(), Arc::new(bytes.clone()), scan, 1, u64::MAX)?;
    batches.try_for_each(|batch| batch.map(drop))
}

/// Memory that reading may hold: a multiple of what the good file needs, and some room.
const ROOM: usize = 64 << 20;

/// Flips and cuts. The metadata at the end of a file decides most, so more of it is damaged.
fn damaged(good: &Bytes) -> Vec<(String, Bytes)> {
    let tail = good.len().saturating_sub(METADATA);
    // With this set, every byte: minutes instead of seconds.
    let all = std::env::var_os("COLKIT_EVERY_BYTE").is_some();
    let (data_step, tail_step) = if all { (1, 1) } else { ((tail / DATA_PLACES).max(1), 2) };
    let places = (0..tail).step_by(data_step).chain((tail..good.len()).step_by(tail_step));
    let case = |(number, at): (usize, usize)| {
        let mask = [0x01, 0x80, 0xFF, 0x10, 0x04, 0x7F][number % 6];
        if number % 11 == 10 {
            return (format!("cut to {at} bytes"), good.slice(..at));
        }
        let mut bytes = good.to_vec();
        bytes[at] ^= mask;
        (format!("byte {at} xor {mask:#x}"), Bytes::from(bytes))
    };
    places.enumerate().map(case).collect()
}

/// Damages every small vector of a folder.
fn check(version: &str) {
    let mut failed = Vec::new();
    for name in names(version) {
        let good = bytes(version, &name);
        if good.len() > 20_000 {
            continue;
        }
        use_everything(&lance(), &good).unwrap();
        let (send, receive) = mpsc::channel();
        let cases = damaged(&good);
        let worker = std::thread::spawn(move || {
            for (what, bytes) in cases {
                let before = crate::MEMORY.current_usage();
                crate::MEMORY.reset_peak_usage();
                let _ = use_everything(&lance(), &bytes);
                let used = crate::MEMORY.peak_usage().saturating_sub(before);
                if send.send((what, used)).is_err() {
                    return;
                }
            }
        });
        let mut last = "the first".to_owned();
        loop {
            match receive.recv_timeout(Duration::from_secs(30)) {
                Ok((what, used)) if used > ROOM => failed.push(format!("{name}: {what}: {used} bytes of memory")),
                Ok((what, _)) => last = what,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    failed.push(format!("{name}: the case after {last} does not end"));
                    break;
                }
            }
        }
        if worker.is_finished() && worker.join().is_err() {
            failed.push(format!("{name}: the case after {last} panicked"));
        }
    }
    assert!(failed.is_empty(), "{} cases failed: {failed:#?}", failed.len());
}

#[test]
fn malformed_files_are_refused_for_their_reason() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/malformed");
    conformance::malformed(&folder, |_, bytes| conformance::refused(&lance(), bytes));
}

#[test]
fn damaged_2_0_files_do_no_harm() {
    check("v2_0");
}

#[test]
fn damaged_2_1_files_do_no_harm() {
    check("v2_1");
}

#[test]
fn failures_in_the_middle_come_through() {
    for version in ["v2_0", "v2_1"] {
        for name in names(version).into_iter().step_by(7) {
            let good = bytes(version, &name);
            if good.len() < 20_000 {
                conformance::faulty_reads(&lance(), &good);
            }
        }
    }
    let rows = conformance::read_all(&lance(), &bytes("v2_1", "prim_decimal")).unwrap();
    conformance::full_disk(&lance(), &rows);
}
