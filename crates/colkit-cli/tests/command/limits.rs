//! Queries that ask for too much: each ends by itself, with a message.

use super::run::{Folder, Said, error};

/// What `sql` says of a query, which it gets as a file.
fn asked(folder: &Folder, query: &str) -> Said {
    folder.write("q.sql", query);
    folder.run(&["sql", "-f", "q.sql", "--json"])
}

fn too_large(folder: &Folder, query: &str) {
    let said = asked(folder, query);
    assert_eq!((said.code, error(&said)["class"].as_str()), (1, Some("limit")), "{}: {said:?}", &query[..40]);
}

#[test]
fn long_and_deep_queries_are_refused_or_answered() {
    let folder = Folder::new();
    folder.write("t.csv", "x\n1\n2\n3\n");
    let chain = |n: usize, term: &str, by: &str| vec![term; n].join(by);
    // Within the limit all is well, deep trees dropped and all.
    let sum = asked(&folder, &format!("SELECT {} AS s FROM 't.csv' LIMIT 1", chain(300, "x", "+")));
    assert_eq!(sum.json()["rows"][0][0], 300, "{}", sum.err);
    let any = asked(&folder, &format!("SELECT count(*) AS n FROM 't.csv' WHERE {}", chain(1000, "x = 2", " OR ")));
    assert_eq!(any.json()["rows"][0][0], 1, "{}", any.err);
    let list = asked(&folder, &format!("SELECT count(*) AS n FROM 't.csv' WHERE x IN ({})", chain(20_000, "2", ",")));
    assert_eq!(list.json()["rows"][0][0], 1, "{}", list.err);
    let union = asked(&folder, &format!("SELECT count(*) AS n FROM ({})", chain(100, "SELECT 1", " UNION ALL ")));
    assert_eq!(union.json()["rows"][0][0], 100, "{}", union.err);

    too_large(&folder, &format!("SELECT {}", chain(20_000, "1", "+")));
    too_large(&folder, &format!("SELECT count(*) FROM 't.csv' WHERE {}", chain(20_000, "x = 1", " OR ")));
    too_large(&folder, &chain(5_000, "SELECT 1", " UNION ALL "));
    too_large(&folder, &format!("SELECT {}1", "NOT ".repeat(20_000)));
    too_large(&folder, &format!("SELECT 1 FROM {}", chain(20_000, "'t.csv'", ",")));
    too_large(&folder, &format!("SELECT '{}'", "a".repeat(5 << 20)));
}

#[test]
fn results_of_functions_are_bounded() {
    let folder = Folder::new();
    for query in [
        "SELECT repeat('a', 2000000000)",
        "SELECT length(lpad('a', 2000000000))",
        "SELECT replace(repeat('a', 100000), 'a', repeat('b', 100000))",
        "SELECT array_repeat(1, 2000000000)                    ",
        "SELECT generate_series(1, 2000000000)                 ",
        "SELECT repeat('a', value * 100000) FROM range(8000)",
    ] {
        too_large(&folder, query);
    }
    let said = asked(&folder, "SELECT length(repeat('ab', 1000000)) AS n, replace('a-b', '-', '+') AS r");
    assert_eq!(said.json()["rows"][0], serde_json::json!([2_000_000, "a+b"]), "{said:?}");
}

#[test]
fn brackets_that_are_nested_too_deeply_are_refused() {
    let folder = Folder::new();
    too_large(&folder, &format!("SELECT {}1{}", "array[".repeat(100), "]".repeat(100)));
    too_large(&folder, &format!("SELECT {}1{}", "(".repeat(1000), ")".repeat(1000)));
    let said = asked(&folder, &format!("SELECT {}1{} AS n", "(".repeat(20), ")".repeat(20)));
    assert_eq!(said.json()["rows"][0][0], 1, "{said:?}");
}

/// The answer must not take a time that grows with the square of the rows: that would be minutes here.
#[test]
fn asking_for_a_match_takes_one_of_each() {
    let folder = Folder::new();
    let rows = |n: usize| (0..n).map(|i| format!("{},{i}\n", i % 3)).collect::<String>();
    folder.write("a.csv", format!("k,v\n{}", rows(100_000)));
    folder.write("b.csv", format!("k,v\n{}", rows(99_999)));
    for (query, expected) in [
        ("SELECT count(*) AS n FROM 'a.csv' WHERE k IN (SELECT k FROM 'b.csv')", 100_000),
        ("SELECT count(*) AS n FROM 'a.csv' WHERE k NOT IN (SELECT k FROM 'b.csv')", 0),
        ("SELECT count(*) AS n FROM 'a.csv' a WHERE EXISTS (SELECT 1 FROM 'b.csv' b WHERE b.k + 1 = a.k)", 66_666),
        ("SELECT count(*) AS n FROM 'a.csv' a WHERE NOT EXISTS (SELECT 1 FROM 'b.csv' b WHERE b.k = a.k + 1)", 33_333),
        ("SELECT count(*) AS n FROM 'a.csv' WHERE EXISTS (SELECT 1 FROM 'b.csv')", 100_000),
        ("SELECT count(*) AS n FROM 'a.csv' WHERE v = 7 OR k IN (SELECT k - 2 FROM 'b.csv')", 33_335),
        ("SELECT count(*) AS n FROM (SELECT k FROM 'a.csv' INTERSECT ALL SELECT k FROM 'b.csv')", 100_000),
        ("SELECT count(*) AS n FROM (SELECT k FROM 'a.csv' EXCEPT ALL SELECT k FROM 'b.csv' WHERE k > 0)", 33_334),
    ] {
        let said = folder.run(&["sql", query, "--json"]);
        assert_eq!(said.json()["rows"][0][0], expected, "{query}: {said:?}");
    }
}
