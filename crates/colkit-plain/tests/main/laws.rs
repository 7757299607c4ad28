//! Damaged files give the right values or an error, and cost next to nothing.

use crate::{MEMORY, column_files, data, format_of, read};
use colkit_core::conformance;

/// More than any small file may cost, and far less than what a lying header can ask for.
const ALLOWED: usize = 64 << 20;

#[test]
fn no_damage_to_a_small_file_does_harm() {
    let mut files = column_files(&data());
    files.extend(column_files(&data().join("malformed")));
    let small = files.into_iter().filter(|p| p.metadata().unwrap().len() <= 700);
    let mut tried = 0;
    for path in small {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let bytes = read(&path);
        if conformance::read_all(&format_of(&path), &bytes).is_ok() {
            conformance::hostile(&format_of(&path), &bytes);
            tried += 1;
        }
        let peak = MEMORY.peak_usage().saturating_sub(before);
        assert!(peak < ALLOWED, "{}: {peak} bytes allocated", path.display());
    }
    assert!(tried > 40, "only {tried} files were tried");
}

#[test]
fn failures_in_the_middle_come_through() {
    for path in column_files(&data()).into_iter().filter(|p| p.metadata().unwrap().len() <= 4000) {
        let (format, bytes) = (format_of(&path), read(&path));
        conformance::faulty_reads(&format, &bytes);
        let rows = conformance::read_all(&format, &bytes).unwrap();
        let names: std::collections::HashSet<String> =
            rows.schema().fields().iter().map(|f| f.name().clone()).collect();
        if names.len() == rows.num_columns() && rows.num_columns() > 0 {
            conformance::full_disk(&format, &rows);
        }
    }
}
