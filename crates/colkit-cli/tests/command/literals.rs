//! Literals are compared as they are written, in conditions and in SQL, whatever the column can hold.

use super::run::Folder;

const FORMATS: [&str; 2] = ["parquet", "lance"];

/// A folder with `t` in several formats: what a query gives.
fn tables(query: &str) -> Folder {
    let folder = Folder::new();
    for format in FORMATS {
        let said = folder.run(&["sql", query, "--out", &format!("t.{format}")]);
        assert_eq!(said.code, 0, "{query}: {}", said.err);
    }
    folder
}

fn rows(text: &str) -> String {
    text.lines().skip(1).collect::<Vec<_>>().join(" ")
}

/// The values of column `c` for which a condition holds, by `--where` and by SQL.
fn finds(folder: &Folder, condition: &str, expected: &str) {
    for format in FORMATS {
        let file = format!("t.{format}");
        let said = folder.run(&["cat", &file, "--columns", "c", "--where", condition, "--as", "csv"]);
        assert_eq!((said.code, rows(&said.out).as_str()), (0, expected), "{file} where {condition}: {}", said.err);
        let sql = condition.replace('"', "'");
        let said = folder.run(&["sql", &format!("SELECT c FROM '{file}' WHERE {sql}"), "--as", "csv"]);
        assert_eq!((said.code, rows(&said.out).as_str()), (0, expected), "{file}: WHERE {sql}: {}", said.err);
    }
}

/// What a query over `t.parquet` gives.
fn gives(folder: &Folder, query: &str, expected: &str) {
    let said = folder.run(&["sql", query, "--as", "csv"]);
    assert_eq!((said.code, rows(&said.out).as_str()), (0, expected), "{query}: {}", said.err);
}

#[test]
fn decimals_are_compared_with_all_their_digits() {
    let folder = tables(
        "SELECT CAST(column1 AS DECIMAL(15, 2)) AS c FROM (VALUES ('1.55'), ('1.56'), ('573.95'), ('0.07'), (NULL))",
    );
    finds(&folder, "c = 573.95", "573.95");
    finds(&folder, "c > 1.555", "1.56 573.95");
    finds(&folder, "c = 1.555", "");
    finds(&folder, "c != 1.555", "1.55 1.56 573.95 0.07");
    finds(&folder, "c in (573.95, 1.555, 0.070000, 1e99)", "573.95 0.07");
    finds(&folder, "c not in (573.95, 1.555)", "1.55 1.56 0.07");
    finds(&folder, "c > 0.0000006127 and c < 0.0700000000000000000000000000000000000000000000000000000000001", "0.07");
    finds(&folder, "c between 1.5500001 and 12345678901234567890123456789012345678901234567890", "1.56 573.95");
    // Decimals so long that no decimal type holds both them and the column's values.
    finds(&folder, "not (c > 1.5500000000000000000000000000000000000000000000000000000000001)", "1.55 0.07");
    finds(&folder, "c = 57395e-2", "573.95");
    gives(&folder, "SELECT c FROM 't.parquet' WHERE c BETWEEN 0.06 - 0.01 AND 0.06 + 0.01", "0.07");
    gives(&folder, "SELECT 0.1 + 0.2 AS s", "0.3");
    gives(&folder, "SELECT c / 3 AS s FROM 't.parquet' WHERE c = 0.07", "0.023333333333333334");
    gives(&folder, "SELECT 1 / 8.0 AS s, 1e300 AS t", "0.125,1e300");
}

#[test]
fn times_are_compared_beyond_the_unit_of_the_column() {
    let folder = tables(
        "SELECT arrow_cast(column1, 'Timestamp(Second, None)') AS c FROM \
         (VALUES ('1970-01-01T00:00:01'), ('1970-01-01T00:00:02'), ('9999-12-31T00:00:00'))",
    );
    finds(&folder, "c = \"1970-01-01T00:00:01.5\"", "");
    finds(&folder, "c > \"1970-01-01T00:00:01.5\"", "1970-01-01T00:00:02 9999-12-31T00:00:00");
    finds(&folder, "c <= \"1970-01-01 00:00:01.0000000001\"", "1970-01-01T00:00:01");
    finds(&folder, "c in (\"1970-01-01T00:00:01.5\", \"9999-12-31\")", "9999-12-31T00:00:00");
}

#[test]
fn floats_have_one_order() {
    let folder = tables(
        "SELECT * FROM (VALUES (CAST('-0.0' AS DOUBLE)), (-('NaN'::double)), ('NaN'::double), (1.5e0), (0.1e0)) AS v(c)",
    );
    finds(&folder, "c in (0, 1, 2, 3)", "-0.0");
    finds(&folder, "c = 0", "-0.0");
    finds(&folder, "c > 1", "NaN NaN 1.5");
    finds(&folder, "not c > 1", "-0.0 0.1");
    finds(&folder, "c = 0.1", "0.1");
    gives(&folder, "SELECT c FROM 't.parquet' ORDER BY c", "-0.0 0.1 1.5 NaN NaN");
    gives(&folder, "SELECT c, count(*) AS n FROM 't.lance' GROUP BY c HAVING count(*) > 1", "NaN,2");
    let said = folder.run(&["cat", "t.lance", "--where", "c >= nan", "--as", "csv"]);
    assert_eq!((said.code, rows(&said.out).as_str()), (0, "NaN NaN"));
    let short = tables("SELECT arrow_cast(column1, 'Float32') AS c FROM (VALUES ('0.1'), ('3.4e38'))");
    finds(&short, "c = 0.1", "0.1");
    finds(&short, "c < 1e39", "0.1 3.4e38");
}

#[test]
fn sums_do_not_wrap_around() {
    let folder = tables(
        "SELECT column1 AS c, column2 AS k FROM (VALUES (9223372036854775807, 'a'), (1, 'a'), (-2, 'b'), (5, 'b'))",
    );
    for query in [
        "SELECT sum(c) FROM 't.parquet' WHERE c > 0",
        "SELECT k, sum(c) FROM 't.parquet' GROUP BY k",
        "SELECT sum(DISTINCT c) FROM 't.parquet' WHERE c > 0",
        "SELECT sum(c) OVER (ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM 't.parquet'",
    ] {
        let said = folder.run(&["sql", query]);
        assert!(said.code != 0 && said.err.contains("beyond 64 bits"), "{query}: {} {}", said.out, said.err);
    }
    gives(&folder, "SELECT sum(c) AS s FROM 't.parquet' WHERE c <> 5", "9223372036854775806");
    gives(&folder, "SELECT k, sum(c) AS s FROM 't.parquet' WHERE c < 9 GROUP BY k ORDER BY k", "a,1 b,3");
    gives(&folder, "SELECT sum(CAST(c AS DECIMAL(38, 0))) AS s FROM 't.parquet' WHERE c > 0", "9223372036854775813");
    gives(&folder, "SELECT sum(c) AS s FROM 't.parquet' WHERE c > 9223372036854775807", "\"\"");
}

#[test]
fn no_type_need_hold_both_the_column_and_the_literal() {
    let folder = tables("SELECT CAST(column1 AS DECIMAL(76, 0)) AS c FROM (VALUES ('7'), ('-7'), (NULL))");
    finds(&folder, "not (c < 0.5)", "7");
    finds(&folder, "not (c < -0.0002 and not (c >= 6.99999999999999999999999999999999))", "7");
}

#[test]
fn lists_on_the_same_column_leave_null_unknown() {
    let folder = tables("SELECT column1 AS c FROM (VALUES (1), (2), (3), (NULL))");
    finds(&folder, "c not in (1, 7) or c not in (2, 8)", "1 2 3");
    finds(&folder, "not (c in (1, 7)) or c not in (2, 8)", "1 2 3");
    finds(&folder, "not (c in (1.5, 7.5)) or c not in (2.5, 8.5)", "1 2 3");
    finds(&folder, "not (c in (1, 7) and (c in (2, 8) or c in (5, 6)))", "1 2 3");
    finds(&folder, "not (c in (1, 7) or c not in (2, 8)) or c not in (3)", "1 2");
    finds(&folder, "not (c not in (1, 7) and c not in (2, 8)) and c in (1, 2, 9)", "1 2");
    finds(&folder, "c in (1) or c not in (1, 2)", "1 3");
    finds(&folder, "not (c in (1, 2) and c in (3, 4))", "1 2 3");
    finds(&folder, "not (c in (1, 2) and c not in (1, 2, 3))", "1 2 3");
    finds(&folder, "c not in (1, 2) or c not in (2, 3) or c in (9, 8)", "1 3");
    finds(&folder, "c in (1, 2, 3) and c in (2, 3, 4) and c not in (3)", "2");
    finds(&folder, "c not in (1) or c not in (2, null)", "2 3");
    finds(&folder, "c in (1, null) and c in (1, 2)", "1");
}
