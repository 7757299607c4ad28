//! Damaged files: an error or the right bytes; never a panic, a hang or a large allocation.

use crate::tables::{at1, is_table};
use crate::vectors::{data, files, strict, unpack};
use bytes::Bytes;
use colkit_at1::{Integrity, RestoreOptions, is_bundle};
use colkit_core::{ByteRange, Class, Error, MemorySink, Result, Sink, Source, conformance};

/// Every damage of one byte (one of four ways) or one cut.
fn damages(good: &Bytes) -> impl Iterator<Item = (String, Bytes)> + '_ {
    let flips = (0..good.len()).zip([0x01, 0x80, 0xFF, 0x10, 0x24].into_iter().cycle());
    let flipped = flips.map(|(at, mask)| {
        let mut bytes = good.to_vec();
        bytes[at] ^= mask;
        (format!("byte {at} xor {mask:#x}"), Bytes::from(bytes))
    });
    flipped.chain((0..good.len()).map(|at| (format!("cut to {at} bytes"), good.slice(..at))))
}

#[test]
fn flips_and_cuts_give_an_error_or_the_original() {
    for (name, good) in files(&data()) {
        let trailer = good.ends_with(&[0xA1, 0x53, 0x36, 0x01]) && !is_bundle(&good);
        let original = unpack(&good, &strict(1)).unwrap();
        let require = RestoreOptions { integrity: Integrity::Require, ..strict(1) };
        let options = if trailer { require } else { strict(1) };
        let step = if good.len() > 1000 { 5 } else { 1 };
        for (what, damaged) in damages(&good).step_by(step) {
            if let Ok(restored) = unpack(&damaged, &options) {
                assert!(!trailer || restored == original, "{name}, {what}: wrong bytes without an error");
            }
        }
    }
}

#[test]
fn damaged_tables_with_a_hash_never_lie() {
    for (name, good) in files(&data()) {
        let trailer = good.ends_with(&[0xA1, 0x53, 0x36, 0x01]);
        // A streaming container that is cut between two frames is a shorter one.
        if trailer && is_table(&name) && !name.starts_with("stream_") && good.len() < 800 {
            conformance::hostile(&at1(), &good);
        }
    }
}

#[test]
fn hostile_files_get_no_memory() {
    for (name, bytes) in files(&data().join("malformed")) {
        crate::MEMORY.reset_peak_usage();
        let before = crate::MEMORY.current_usage();
        assert!(unpack(&bytes, &strict(2)).is_err());
        let used = crate::MEMORY.peak_usage().saturating_sub(before);
        // The sink keeps what it got, up to the ceiling of 64 MiB and the doubling of its buffer.
        assert!(used < 220 << 20, "{name} took {} MiB", used >> 20);
    }
}

#[test]
fn malformed_files_cannot_be_tables_either() {
    for (name, bytes) in files(&data().join("malformed")) {
        if name.starts_with("limit_") || name.starts_with("bundle_") || name.starts_with("raw_") {
            continue;
        }
        let code = conformance::refused(&at1(), &bytes);
        assert!(!code.is_empty(), "{name}");
    }
}

#[test]
fn failures_in_the_middle_come_through() {
    for (name, good) in files(&data()) {
        if is_table(&name) && good.len() < 2000 {
            conformance::faulty_reads(&at1(), &good);
        }
    }
    let rows = conformance::read_all(&at1(), &crate::tables::file("example_qcolumnar")).unwrap();
    conformance::full_disk(&at1(), &rows);
}

/// Restoring, too, says so when a read fails or the disk is full, and commits nothing.
#[test]
fn a_restore_that_fails_leaves_nothing() {
    struct Full;
    impl Sink for Full {
        fn write(&mut self, _: &[u8]) -> Result<()> {
            Err(Error::new(Class::Io, "io", "the disk is full"))
        }
        fn commit(self: Box<Self>) -> Result<()> {
            panic!("committed what could not be written")
        }
    }
    /// A file that was cut while it was being read.
    struct Cut(Bytes, u64);
    impl Source for Cut {
        fn size(&self) -> u64 {
            self.0.size()
        }
        fn read(&self, range: ByteRange) -> Result<Bytes> {
            self.0.slice(..usize::try_from(self.1).unwrap()).read(range)
        }
    }
    for (name, good) in files(&data()) {
        if is_bundle(&good) || unpack(&good, &strict(1)).unwrap().values().all(Bytes::is_empty) {
            continue;
        }
        for threads in [1, 3] {
            let error = colkit_at1::restore(&good, Box::new(Full), &strict(threads)).unwrap_err();
            assert!(error.to_string().contains("the disk is full"), "{name}: {error}");
            let sink = MemorySink::new();
            let cut = Cut(good.clone(), good.size() - 1);
            let error = colkit_at1::restore(&cut, Box::new(sink.clone()), &strict(threads)).unwrap_err();
            assert_eq!((error.code(), sink.bytes()), ("short_read", None), "{name}: {error}");
        }
    }
}
