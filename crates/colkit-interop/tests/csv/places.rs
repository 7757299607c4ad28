//! Errors say where: line, column, byte.

use super::{in_pieces, open, read};
use colkit_core::RegionKind;
use colkit_interop::CsvOptions;

#[test]
fn errors_name_line_column_and_byte() {
    let cases: [(&[u8], &str, &str, u64); 9] = [
        (b"a,b\n1,\"x\ny\"\n\"q\"z,2\n", "csv_quote", "line 4, column 1 (\"a\")", 15),
        (b"a,b\n1,2\n3,\"open\n\n", "csv_quote", "line 3, column 2 (\"b\")", 10),
        (b"a,b\n1,2\r3,4\r", "csv_bare_cr", "line 2, column 2 (\"b\")", 7),
        (b"a,b\n\n1,2\n\"3\n\"\n", "csv_ragged", "line 4", 9),
        (b"a,b,a\n", "duplicate_name", "line 1, column 3", 4),
        (b"a\nx\n\xE9\n", "bad_utf8", "line 3", 4),
        (b"a\nx\n\xC3", "bad_utf8", "line 3", 4),
        (b"\xEF\xBB\xBF\na\n", "csv_no_header", "line 1", 3),
        (b"\"a\"x\n", "csv_quote", "line 1, column 1", 3),
    ];
    for (text, code, part, offset) in cases {
        for chunk in [1, 2, 3, 1 << 20] {
            let error = open(text, in_pieces(chunk, 1)).err().expect(code);
            let found = (error.code(), error.part_name().unwrap(), error.offset().unwrap());
            assert_eq!(found, (code, part, offset), "{error}");
        }
    }
}

#[test]
fn utf16_is_called_by_its_name() {
    let error = read(b"\xFF\xFEa\0\n\0", CsvOptions::default()).unwrap_err();
    assert_eq!(error.code(), "bad_utf8");
    assert!(error.to_string().contains("UTF-16"), "{error}");
}

#[test]
fn the_layout_names_mark_header_and_rows() {
    let file = open(b"\xEF\xBB\xBFa,b\n1,2\n3,4\n5,6\n", in_pieces(4, 8)).unwrap();
    let layout = file.layout().unwrap();
    let regions: Vec<(&str, u64, RegionKind)> =
        layout.regions.iter().map(|r| (r.name.as_str(), r.range.end(), r.kind)).collect();
    assert_eq!(
        regions,
        [
            ("byte order mark", 3, RegionKind::Header),
            ("header record", 7, RegionKind::Header),
            ("rows 0..2", 15, RegionKind::Data),
            ("rows 2..3", 19, RegionKind::Data)
        ]
    );
    let file = open("a,b\n\n\n", CsvOptions::default()).unwrap();
    assert_eq!(file.layout().unwrap().regions[1].name, "blank lines");
}
