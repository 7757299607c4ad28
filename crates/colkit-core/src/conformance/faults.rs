//! Conformance tests for I/O failures: the error is reported promptly, and nothing is left behind.

use super::{in_time, write};
use crate::{
    ByteRange, Counting, Error, Format, Projection, ReadOptions, Result, Scan, Sink, Source, TableFile, WriteOptions,
};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What goes wrong with a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The system says so.
    Error,
    /// Fewer bytes come than there should be.
    Short,
    /// Somebody is writing the file: other bytes come.
    Changed,
}

/// A source that goes wrong from the read of this number on.
struct Faulty {
    bytes: Bytes,
    fault: Fault,
    from: u64,
    reads: AtomicU64,
}

impl Source for Faulty {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let right = self.bytes.read(range)?;
        if self.reads.fetch_add(1, Ordering::Relaxed) < self.from {
            return Ok(right);
        }
        match self.fault {
            Fault::Error => Err(std::io::Error::other("the disk is on fire").into()),
            Fault::Short => Ok(right.slice(..right.len() / 2)),
            Fault::Changed => Ok(right.iter().map(|b| b ^ 0x55).collect::<Vec<u8>>().into()),
        }
    }
}

/// Everything that reads, on several threads, ended by the first error.
fn read(format: &Arc<dyn Format>, source: Arc<dyn Source>) -> Result<u64> {
    let file = TableFile::open(format.clone(), source, &ReadOptions::default())?.with_threads(3);
    let mut rows = 0;
    for batch in file.scan(&Scan { batch_rows: 100, ..Scan::default() })? {
        rows += batch?.num_rows() as u64;
    }
    if let Some(last) = file.row_count().checked_sub(1) {
        rows += file.take(&[last, 0], &Projection::all())?.num_rows() as u64;
    }
    file.layout()?;
    Ok(rows)
}

/// Lets each read of a good file go wrong in every way.
pub fn faulty_reads(format: &Arc<dyn Format>, good: &Bytes) {
    let counting = Arc::new(Counting::new(good.clone()));
    read(format, counting.clone()).expect("a good file reads");
    let reads = counting.count().requests;
    for from in (0..reads).step_by(usize::try_from(reads / 50 + 1).unwrap()) {
        for fault in [Fault::Error, Fault::Short, Fault::Changed] {
            let source = Faulty { bytes: good.clone(), fault, from, reads: AtomicU64::new(0) };
            let format = format.clone();
            let result = in_time(&format!("{fault:?} from read {from} on"), move || read(&format, Arc::new(source)));
            match (fault, result) {
                (Fault::Error, Err(e)) => assert!(e.to_string().contains("on fire"), "{e}"),
                (Fault::Short, Err(e)) => assert_eq!(e.code(), "short_read", "{e}"),
                // Empty reads cannot be short, and whoever overwrites a file with another good one is not found out.
                (Fault::Short | Fault::Changed, _) => {}
                (Fault::Error, Ok(_)) => panic!("an error of the source, at read {from}, was not reported"),
            }
        }
    }
}

/// A disk that is full after so many bytes, or fails at the very end.
#[derive(Clone)]
struct FullDisk {
    room: Arc<Mutex<u64>>,
    committed: Arc<AtomicBool>,
}

impl Sink for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut room = self.room.lock().unwrap();
        match room.checked_sub(bytes.len() as u64) {
            Some(left) => *room = left,
            None => return Err(Error::io("disk_full", "the disk is full")),
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.committed.store(true, Ordering::Relaxed);
        Err(Error::io("disk_full", "the disk is full"))
    }
}

/// Writes `batch` to disks that are full after a while: the error comes through, and nothing is committed before.
pub fn full_disk(format: &Arc<dyn Format>, batch: &RecordBatch) {
    let (whole, _) = write(format, batch, 100, &WriteOptions::default()).expect("the batch can be written");
    let length = whole.len() as u64;
    for room in [0, 1, length / 3, length / 2, length - 1, length] {
        let disk = FullDisk { room: Arc::new(Mutex::new(room)), committed: Arc::default() };
        let (format, batch, sink) = (format.clone(), batch.clone(), disk.clone());
        let result = in_time(&format!("a disk with room for {room} of {length} bytes"), move || {
            let mut writer = format.writer(batch.schema(), Box::new(sink), &WriteOptions::default())?;
            for at in (0..batch.num_rows()).step_by(100) {
                writer.write(&batch.slice(at, 100.min(batch.num_rows() - at)))?;
            }
            writer.finish()
        });
        let error = result.expect_err("a full disk was not reported");
        assert!(error.to_string().contains("the disk is full"), "{error}");
        let committed = disk.committed.load(Ordering::Relaxed);
        assert_eq!(committed, room == length, "with room for {room} of {length} bytes");
    }
}
