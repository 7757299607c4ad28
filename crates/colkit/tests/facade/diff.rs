use super::sample::{batch, formats, input, native_formats, write};
use colkit::{DiffOptions, Difference, Input, OpenOptions, diff};

fn compare(a: &Input, b: &Input) -> Difference {
    diff(a, b, &OpenOptions::new(), &DiffOptions::default()).unwrap()
}

#[test]
fn one_changed_value_is_found_in_any_format() {
    let csv = formats().into_iter().find(|f| f.name() == "csv").unwrap();
    let text = String::from_utf8(write(csv.as_ref(), &batch())).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let (n, rest) = lines[701].split_once(',').map(|(n, rest)| (n.to_string(), rest.to_string())).unwrap();
    lines[701] = format!("{},{rest}", n.parse::<i32>().unwrap() ^ 1);
    let changed = input("changed.csv", lines.join("\n") + "\n");
    for format in formats() {
        let good = input(&format!("good.{}", format.extensions()[0]), write(format.as_ref(), &batch()));
        let report = compare(&good, &changed);
        assert_eq!(
            (report.differing_rows, report.compared_rows, report.stopped),
            (1, 1000, false),
            "{}",
            format.name()
        );
        assert_eq!(report.first.len(), 1);
        assert_eq!((report.first[0].row, report.first[0].column.as_str()), (700, "n"));
        assert_eq!(report.first[0].left.as_deref(), Some(n.as_str()));
    }
}

#[test]
fn text_that_does_not_fit_the_types_is_a_difference_not_an_error() {
    for format in native_formats() {
        let typed = input("typed", write(format.as_ref(), &batch()));
        let report = compare(&typed, &input("other.csv", "n,x,t\nmany,1.5,a\n"));
        assert!(!report.is_equal());
        assert_eq!(report.schema.len(), 0, "{report:?}");
        assert_eq!(
            (report.first[0].column.as_str(), report.first[0].right.as_deref()),
            ("n", Some("many")),
            "{report:?}"
        );
        let report = compare(&input("other.csv", "x,n\n1.5,1\n"), &typed);
        assert!(report.schema.iter().any(|s| s.contains("\"t\" is only on the right")), "{report:?}");
        assert!(report.schema.iter().any(|s| s.contains("another order")), "{report:?}");
    }
}

#[test]
fn looking_stops_at_the_limit() {
    let rows = |from: i32| (from..from + 500).map(|i| format!("{i}\n")).collect::<String>();
    let (a, b) = (input("a.csv", format!("n\n{}", rows(0))), input("b.csv", format!("n\n{}", rows(1))));
    let options = DiffOptions::new().with_rows(7).with_cells(3);
    let report = diff(&a, &b, &OpenOptions::new(), &options).unwrap();
    assert!(report.differing_rows >= 7);
    assert_eq!(report.first.len(), 3);
    let report = compare(&a, &input("longer.csv", format!("n\n{}", rows(0)) + "9\n"));
    assert_eq!((report.row_counts, report.differing_rows, report.is_equal()), ((500, 501), 0, false));
}

#[test]
fn only_chosen_columns_are_compared() {
    let (a, b) = (input("a.csv", "x,y\n1,a\n2,b\n"), input("b.csv", "z,y,x\n9,a,1\n9,c,2\n"));
    let with = |list: &str| diff(&a, &b, &OpenOptions::new(), &DiffOptions::new().with_columns(list.split(',')));
    assert!(with("x").unwrap().is_equal());
    assert_eq!(with("x,y").unwrap().differing_rows, 1);
    let error = with("z").unwrap_err();
    assert_eq!((error.code(), error.file_name()), ("no_such_column", Some("a.csv")));
}

#[test]
fn rows_are_matched_by_key_however_little_memory_there_is() {
    const ROWS: u64 = 40_000;
    let row = |i: u64| format!("{i},{}\n", i % 7);
    let a = input("a.csv", format!("k,v\n{}", (0..ROWS).map(row).collect::<String>()));
    let b = input(
        "b.csv",
        format!("k,v\n{}", (5..ROWS + 3).rev().map(row).collect::<String>().replace("\n777,0\n", "\n777,9\n")),
    );
    let by_key = |memory: u64| {
        diff(&a, &b, &OpenOptions::new(), &DiffOptions::new().with_key(["k"]).with_memory(memory)).unwrap()
    };
    let once = by_key(512 << 20);
    let rows = once.by_key.clone().unwrap();
    assert_eq!((rows.added, rows.removed, rows.changed, rows.unchanged), (3, 5, 1, ROWS - 6), "{rows:?}");
    assert_eq!((once.first.len(), once.first[0].row), (1, 777));
    assert_eq!(rows.first_removed[4]["k"].as_deref(), Some("4"));
    // 40 bytes a row, half of the memory: four times through the files.
    assert_eq!(by_key(1 << 20), once);
}
