//! Integer arithmetic in SQL is exact, or an error that names the expression.

use super::run::{Folder, error};

fn answer(folder: &Folder, query: &str) -> String {
    let said = folder.run(&["sql", query]);
    assert_eq!(said.code, 0, "{query}: {}", said.err);
    said.out
}

/// Sums of products that no 32-bit integer holds, and the ends of the 64-bit integers.
fn numbers() -> Folder {
    let folder = Folder::new();
    folder.write("q.csv", "qty,price\n50000,50000\n3,4\n");
    folder.ok(&[
        "sql",
        "COPY (SELECT CAST(50000 AS INT) AS i, CAST(-128 AS TINYINT) AS t, CAST(7 AS TINYINT UNSIGNED) AS b, \
         9223372036854775807 AS high, -9223372036854775808 AS low, 18446744073709551615 AS most) TO 'n.parquet'",
    ]);
    folder
}

#[test]
fn narrow_integers_are_computed_in_64_bits() {
    let folder = numbers();
    assert_eq!(answer(&folder, "SELECT sum(qty * price) AS s FROM 'q.csv'"), "s\n2500000012\n");
    assert_eq!(answer(&folder, "SELECT qty FROM 'q.csv' WHERE qty * price > 2400000000"), "qty\n50000\n");
    assert_eq!(answer(&folder, "SELECT max(qty) * max(qty) AS m FROM 'q.csv'"), "m\n2500000000\n");
    let one = |expr: &str| answer(&folder, &format!("SELECT {expr} AS x FROM 'n.parquet'"));
    for (expr, expected) in [
        ("i * i", "2500000000"),
        ("-t", "128"),
        ("-(CAST(-128 AS TINYINT))", "128"),
        ("abs(t)", "128"),
        ("t / -1", "128"),
        ("t - b", "-135"),
        ("b - CAST(8 AS TINYINT UNSIGNED)", "-1"),
        ("low % 10", "-8"),
        ("i << 20", "52428800000"),
        ("t >> 70", "-1"),
        ("most - 1", "18446744073709551614"),
        ("most + t", "18446744073709551487"),
        ("most / t", "-144115188075855871"),
        // Computed in 128 bits, and still integers.
        ("(most + t) / 2", "9223372036854775743"),
        ("sum(low)", "-9223372036854775808"),
        ("TRY_CAST(high AS INT)", "\"\""),
    ] {
        assert_eq!(one(expr), format!("x\n{expected}\n"), "{expr}");
    }
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_expression() {
    let folder = numbers();
    for (query, named) in [
        ("SELECT high + 1 FROM 'n.parquet'", "high + 1"),
        ("SELECT low - i FROM 'n.parquet'", "low - i"),
        ("SELECT (high - 1) * 2 FROM 'n.parquet'", "(high - 1) * 2"),
        ("SELECT i FROM 'n.parquet' WHERE high * i > 0", "high * i"),
        ("SELECT i FROM 'n.parquet' ORDER BY -low", "-low"),
        ("SELECT abs(low) FROM 'n.parquet'", "abs(low)"),
        ("SELECT low / -1 FROM 'n.parquet'", "low / -1"),
        ("SELECT most + 1 FROM 'n.parquet'", "most + 1"),
        ("SELECT most - most - 1 FROM 'n.parquet'", "(most - most) - 1"),
        ("SELECT high << 1 FROM 'n.parquet'", "high << 1"),
        ("SELECT 9223372036854775807 + 1", "9223372036854775807 + 1"),
        ("SELECT sum(high) FROM (SELECT high FROM 'n.parquet' UNION ALL SELECT 1)", "sum(high)"),
    ] {
        let said = folder.run(&["sql", query, "--json"]);
        let error = error(&said);
        assert_eq!((said.code, error["code"].as_str()), (1, Some("arithmetic_overflow")), "{query}: {said:?}");
        assert!(error["message"].as_str().unwrap().contains(named), "{query}: {said:?}");
    }
    let said = folder.run(&["sql", "SELECT i / (b - b) FROM 'n.parquet'", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (1, Some("division_by_zero")), "{said:?}");
    for query in ["SELECT CAST(high AS INT) FROM 'n.parquet'", "SELECT 1e19::BIGINT", "SELECT -(low) FROM 'n.parquet'"]
    {
        assert_ne!(folder.run(&["sql", query]).code, 0, "{query}");
    }
}
