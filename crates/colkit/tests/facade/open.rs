use super::sample::{batch, formats, input, native_formats, write};
use colkit::{OpenOptions, Registry, TextOptions, target_format};
use std::path::Path;

#[test]
fn content_decides_and_the_extension_only_settles_ties() {
    for format in formats().into_iter().filter(|f| f.name() != "tsv") {
        let file = write(format.as_ref(), &batch());
        for name in ["nameless", "wrong.png", "upper.CSV"] {
            let opened = OpenOptions::new().open_input(&input(name, file.clone())).unwrap();
            assert_eq!(opened.format().name(), format.name(), "{name}");
            assert_eq!(opened.row_count(), 1000);
        }
    }
    let tsv = OpenOptions::new().open_input(&input("t.tsv", "a\tb\n1\t2\n")).unwrap();
    assert_eq!((tsv.format().name(), tsv.schema().fields().len()), ("tsv", 2));
}

#[test]
fn a_file_nobody_knows_gets_the_error_of_the_format_its_name_promises() {
    for format in native_formats() {
        let name = format!("bad.{}", format.extensions()[0]);
        let error = OpenOptions::new().open_input(&input(&name, vec![0xEE; 300])).err().unwrap();
        assert!(!error.message().contains("no known format"), "{error}");
        assert_eq!(error.file_name(), Some(name.as_str()), "{error}");
        let error = OpenOptions::new().open_input(&input("bad.bin", vec![0xEE; 300])).err().unwrap();
        assert_eq!((error.code(), error.file_name()), ("unknown_format", Some("bad.bin")));
    }
}

#[test]
fn a_named_format_is_not_questioned() {
    let options = OpenOptions::new().with_format("tsv");
    let opened = options.open_input(&input("x.csv", "a\tb\n1\t2\n")).unwrap();
    assert_eq!(opened.schema().fields().len(), 2);
    let options = OpenOptions::new().with_format("nope");
    assert_eq!(options.open_input(&input("x.csv", "a\n")).err().unwrap().code(), "no_such_format");
}

#[test]
fn errors_of_a_scan_carry_the_name() {
    for format in native_formats() {
        let mut file = write(format.as_ref(), &batch());
        let name = "damaged";
        let layout = OpenOptions::new().open_input(&input(name, file.clone())).unwrap().layout().unwrap();
        for region in layout.regions.iter().filter(|r| r.column.is_some()) {
            let middle = usize::try_from(region.range.start() + region.range.len() / 2).unwrap();
            file[middle] ^= 0xFF;
        }
        let opened = match OpenOptions::new().open_input(&input(name, file)) {
            Err(error) => return assert_eq!(error.file_name(), Some(name)),
            Ok(opened) => opened,
        };
        let error = opened.scan().batches().and_then(|b| Ok(b.collect::<Result<Vec<_>, _>>()?)).err().unwrap();
        assert_eq!(error.file_name(), Some(name), "{}: {error}", format.name());
        assert_ne!(error.code(), "arrow", "{}: an error that arrow carried is what it was", format.name());
    }
}

#[test]
fn targets_are_named_by_extension_or_by_hand() {
    let registry = Registry::default();
    let target = |to: Option<&str>, path: Option<&str>| {
        target_format(&registry, to, path.map(Path::new), "--to").map(|f| f.name()).map_err(|e| e.code())
    };
    for format in formats() {
        for extension in format.extensions() {
            assert_eq!(target(None, Some(&format!("x.{extension}"))), Ok(format.name()));
        }
        assert_eq!(target(Some(format.name()), None), Ok(format.name()));
    }
    assert_eq!(target(None, Some("X.CSV")), Ok("csv"));
    assert_eq!(target(Some("tsv"), Some("x.csv")), Ok("tsv"));
    assert_eq!(target(None, Some("x")), Err("no_format_named"));
    assert_eq!(target(None, Some("x.nope")), Err("no_such_format"));
    assert_eq!(target(Some("nope"), Some("x.csv")), Err("no_such_format"));
}

#[test]
fn names_and_extensions_are_unique() {
    let mut seen = std::collections::HashSet::new();
    for format in Registry::default().formats(&TextOptions::default()) {
        assert!(seen.insert(format.name().to_string()), "{}", format.name());
        for extension in format.extensions() {
            assert!(seen.insert(format!(".{extension}")), ".{extension}");
        }
    }
}
