use super::sample::{batch, formats, input, native_formats, write};
use colkit::{OpenOptions, RegionKind, verify};

const MEMORY: u64 = 64 << 20;

#[test]
fn good_files_are_valid_and_clean() {
    for format in formats() {
        let name = format!("good.{}", format.extensions()[0]);
        let verdict = verify(&input(&name, write(format.as_ref(), &batch())), &OpenOptions::new(), MEMORY);
        assert!(verdict.is_clean(), "{verdict:?}");
        assert_eq!((verdict.format, verdict.rows, verdict.columns), (Some(format.name()), Some(1000), Some(3)));
        assert_eq!(verdict.checked.len(), 3, "{verdict:?}");
    }
}

#[test]
fn a_broken_column_does_not_hide_the_others() {
    let mut broken = 0;
    for format in native_formats() {
        let mut file = write(format.as_ref(), &batch());
        let layout = OpenOptions::new().open_input(&input("good", file.clone())).unwrap().layout().unwrap();
        let data = |column: usize| {
            // The longest: a block that has one checksum may hold the ends of two columns.
            let regions = layout.regions.iter().filter(|r| r.column == Some(column) && r.kind == RegionKind::Data);
            regions.map(|r| r.range).max_by_key(|range| range.len())
        };
        let (Some(first), Some(last)) = (data(0), data(2)) else { continue };
        broken += 1;
        for range in [first, last] {
            file[usize::try_from(range.start() + range.len() / 2).unwrap()] ^= 0xFF;
        }
        let verdict = verify(&input("broken", file), &OpenOptions::new(), MEMORY);
        // One per column; a file with checksums also says which of its bytes were changed.
        assert!((2..=3).contains(&verdict.errors.len()), "{}: {verdict:?}", format.name());
        assert!(verdict.errors.iter().all(|e| e.file_name() == Some("broken")), "{verdict:?}");
        assert!(verdict.checked.iter().any(|c| c.contains("\"x\"")), "{verdict:?}");
    }
    assert!(broken >= 4, "the plain formats and Lance have their columns apart");
}

#[test]
fn what_cannot_be_opened_is_an_error_not_a_panic() {
    let verdict = verify(&input("empty", vec![]), &OpenOptions::new(), MEMORY);
    assert_eq!((verdict.is_valid(), verdict.format, verdict.bytes), (false, None, 0));
    for format in native_formats() {
        let file = write(format.as_ref(), &batch());
        let verdict = verify(&input("cut", &file[..file.len() / 2]), &OpenOptions::new(), MEMORY);
        assert!(!verdict.is_valid(), "{}: {verdict:?}", format.name());
    }
}

#[test]
fn bytes_that_belong_to_nothing_are_findings() {
    for name in ["gppcol", "cff", "colfile"] {
        let format = native_formats().into_iter().find(|f| f.name() == name).unwrap();
        let mut file = write(format.as_ref(), &batch());
        file.extend_from_slice(b"more");
        let verdict = verify(&input("longer", file), &OpenOptions::new(), MEMORY);
        assert!(verdict.is_valid(), "{verdict:?}");
        assert_eq!(verdict.findings.len(), 1, "{verdict:?}");
    }
}
