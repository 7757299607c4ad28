//! SQL as people type it, in the words of other engines.

use super::run::{Folder, error};

fn answer(folder: &Folder, query: &str) -> String {
    let said = folder.run(&["sql", query]);
    assert_eq!(said.code, 0, "{query}: {}", said.err);
    said.out
}

/// People with a date, a time, something in JSON and a kind.
fn people() -> Folder {
    let folder = Folder::new();
    folder.write(
        "p.csv",
        r#"id,name,day,at,price,js,time,kind
1,ann,2024-01-01,2024-01-01T10:00:00,1.5,"{""a"":1,""b"":{""c"":""x""},""l"":[1,2,3]}",12:30:00,a
2,bob,2024-02-15,2024-02-15T11:30:00,2.5,"{""a"":2}",08:00:00,b
3,cyd,2024-03-31,2024-03-31T23:59:59,4.0,"{""a"":""s"",""n"":null}",23:00:00,a
"#,
    );
    folder
}

#[test]
fn json_in_text_is_reached() {
    let folder = people();
    let rows = |expr: &str| answer(&folder, &format!("SELECT {expr} AS x FROM 'p.csv' ORDER BY id"));
    assert_eq!(rows("js -> 'a'"), "x\n1\n2\n\"\"\"s\"\"\"\n");
    assert_eq!(rows("js ->> 'a'"), "x\n1\n2\ns\n");
    assert_eq!(rows("js -> 'b' ->> 'c'"), "x\nx\n\"\"\n\"\"\n");
    assert_eq!(rows("js ->> '$.l[1]'"), rows("json_extract_string(js, '/l/1')"));
    assert_eq!(rows("json_extract(js, '$.b')"), "x\n\"{\"\"c\"\":\"\"x\"\"}\"\n\"\"\n\"\"\n");
    assert_eq!(rows("json_array_length(js, '$.l')"), "x\n3\n\"\"\n\"\"\n");
    assert_eq!(rows("json_type(js, '$.a')"), "x\nUBIGINT\nUBIGINT\nVARCHAR\n");
    assert_eq!(answer(&folder, "SELECT id FROM 'p.csv' WHERE js ->> 'a' = '2'"), "id\n2\n");
    assert_eq!(answer(&folder, "SELECT json_valid('{}') AS y, json_valid('{') AS n"), "y,n\ntrue,false\n");
    let said = folder.run(&["sql", "SELECT name -> 'a' FROM 'p.csv'", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (1, Some("not_json")), "{said:?}");
    folder.write("n.ndjson", "{\"s\":{\"a\":{\"b\":7}}}\n");
    assert_eq!(answer(&folder, "SELECT s -> 'a' -> 'b' AS x, s -> 'a' ->> 'b' AS y FROM 'n.ndjson'"), "x,y\n7,7\n");
}

#[test]
fn times_are_counted_and_written() {
    let folder = people();
    let one = |expr: &str| answer(&folder, &format!("SELECT {expr} AS x FROM 'p.csv' WHERE id = 2"));
    for (unit, expected) in [("day", 76), ("week", 11), ("month", 3), ("quarter", 1), ("year", 0), ("hour", 76 * 24)] {
        assert_eq!(one(&format!("date_diff('{unit}', day, DATE '2024-05-01')")), format!("x\n{expected}\n"), "{unit}");
    }
    assert_eq!(one("datediff(day, day, '2024-02-14')"), "x\n-1\n");
    assert_eq!(one("strftime(at, '%Y-%m')"), "x\n2024-02\n");
    assert_eq!(one("strftime('%d.%m.%Y', day)"), "x\n15.02.2024\n");
    assert_eq!(one("day - DATE '2024-01-01'"), "x\n45\n");
    assert_eq!(answer(&folder, "SELECT id FROM 'p.csv' WHERE day - DATE '2024-01-01' > 50"), "id\n3\n");
    for literal in ["TIME '12:00'", "'12:00'", "TIME '12:00:00'"] {
        let query = format!("SELECT id FROM 'p.csv' WHERE time > {literal} ORDER BY id");
        assert_eq!(answer(&folder, &query), "id\n1\n3\n", "{literal}");
    }
    let said = folder.run(&["sql", "SELECT date_diff('fortnight', day, day) FROM 'p.csv'"]);
    assert!(said.code != 0 && said.err.contains("millisecond"), "{said:?}");
}

#[test]
fn patterns_lists_and_orders() {
    let folder = people();
    assert_eq!(
        answer(&folder, "SELECT id FROM 'p.csv' WHERE regexp_matches(name, '^[ab]') ORDER BY ALL"),
        "id\n1\n2\n"
    );
    assert_eq!(answer(&folder, "SELECT id FROM 'p.csv' WHERE id = ANY([1, 3]) ORDER BY ALL DESC"), "id\n3\n1\n");
    let grouped = "SELECT kind, count(*) FROM 'p.csv' GROUP BY ALL ORDER BY ALL";
    assert_eq!(answer(&folder, grouped), "kind,count(*)\na,2\nb,1\n");
    let said = folder.run(&["sql", "SELECT * FROM 'p.csv' ORDER BY ALL"]);
    assert!(said.code == 1 && said.err.contains("by name"), "{said:?}");
    assert_eq!(answer(&folder, "SELECT 'p.csv'.name FROM 'p.csv' WHERE 'p.csv'.id = 1"), "name\nann\n");
}

#[test]
fn columns_become_rows_and_back() {
    let folder = people();
    let query = "SELECT * FROM (SELECT kind, price FROM 'p.csv') PIVOT (sum(price) FOR kind IN ('a', 'b', 'c'))";
    assert_eq!(answer(&folder, query), "a,b,c\n5.5,2.5,\n");
    let query = "SELECT * FROM (SELECT id % 2 AS odd, kind, price FROM 'p.csv') \
                 PIVOT (sum(price), count(*) AS n FOR kind IN ('a' AS first, 'b')) ORDER BY odd";
    assert_eq!(answer(&folder, query), "odd,first_sum(price),first_n,b_sum(price),b_n\n0,,0,2.5,1\n1,5.5,2,,0\n");
    folder.write("w.csv", "id,x,y\n1,10,20\n2,,40\n");
    let query = "SELECT * FROM 'w.csv' UNPIVOT (value FOR name IN (x, y)) ORDER BY id, name";
    assert_eq!(answer(&folder, query), "id,name,value\n1,x,10\n1,y,20\n2,y,40\n");
    let said = folder.run(&["sql", "PIVOT 'p.csv' ON kind USING sum(price)"]);
    assert!(said.code == 2 && said.err.contains("FOR k IN"), "{said:?}");
}

#[test]
fn a_summary_has_a_row_for_each_column() {
    let folder = people();
    let rows = answer(&folder, "SUMMARIZE 'p.csv'");
    let lines: Vec<&str> = rows.lines().collect();
    assert_eq!(lines.len(), 9, "{rows}");
    assert_eq!(lines[0], "column_name,column_type,min,max,approx_unique,avg,std,q25,q50,q75,count,null_percentage");
    assert!(lines[1].starts_with("id,int32,1,3,3,2.0,1.0,"), "{rows}");
    assert!(lines[2].starts_with("name,string,ann,cyd,3,,,,,,3,0.0"), "{rows}");
    let some = answer(&folder, "SUMMARIZE SELECT id, CASE WHEN id > 1 THEN price END AS p FROM 'p.csv'");
    assert!(some.lines().nth(2).unwrap().starts_with("p,float64,2.5,4.0,2,3.25,"), "{some}");
    assert!(some.lines().nth(2).unwrap().ends_with(",2,33.33"), "{some}");
    folder.write("n.ndjson", "{\"s\":{\"a\":1},\"l\":[1]}\n");
    assert_eq!(answer(&folder, "SUMMARIZE 'n.ndjson'").lines().count(), 3);
}

#[test]
fn samples_are_as_large_as_asked() {
    let folder = Folder::new();
    let rows: String = (0..10_000).map(|i| format!("{i}\n")).collect();
    folder.write("t.csv", format!("n\n{rows}"));
    for sample in ["USING SAMPLE 100 ROWS", "USING SAMPLE 100", "TABLESAMPLE (100 ROWS)"] {
        let query = format!("SELECT count(*) AS c, count(DISTINCT n) AS d FROM 't.csv' {sample}");
        assert_eq!(answer(&folder, &query), "c,d\n100,100\n", "{sample}");
    }
    for sample in
        ["USING SAMPLE 10%", "USING SAMPLE 10 PERCENT", "TABLESAMPLE (10 PERCENT)", "TABLESAMPLE BERNOULLI (10)"]
    {
        let query = format!("SELECT count(*) AS c FROM 't.csv' AS t {sample}");
        let count: u32 = answer(&folder, &query).lines().nth(1).unwrap().parse().unwrap();
        assert!((700..1300).contains(&count), "{sample}: {count}");
    }
    let query = "SELECT count(*) AS c FROM 't.csv' WHERE n < 0 OR n >= 0 USING SAMPLE 10%";
    let count: u32 = answer(&folder, query).lines().nth(1).unwrap().parse().unwrap();
    assert!((700..1300).contains(&count), "{count}");
    assert_ne!(
        answer(&folder, "FROM 't.csv' USING SAMPLE 5 ROWS"),
        answer(&folder, "FROM 't.csv' USING SAMPLE 5 ROWS")
    );
}

#[test]
fn headers_read_like_what_was_typed() {
    let folder = people();
    let header = |query: &str| answer(&folder, query).lines().next().unwrap().to_owned();
    assert_eq!(header("SELECT count(*), sum(price), max(id)+1 FROM 'p.csv'"), "count(*),sum(price),max(id) + 1");
    assert_eq!(header("SELECT p.id, p.price*2, upper(name) FROM 'p.csv' p"), "id,p.price * 2,upper(name)");
    assert_eq!(header("SELECT 1, 'x', 1.5, 1e3, NULL, TRUE"), "1,'x',1.5,1e3,NULL,true");
    assert_eq!(header("SELECT id::text, CAST(id AS text), id::int FROM 'p.csv'"), "id::TEXT,CAST(id AS TEXT),id::INT");
    assert_eq!(header("SELECT id + 1, id + 1 FROM 'p.csv'"), "id + 1,id + 1_2");
    assert_eq!(
        header("SELECT kind, count(*) FROM 'p.csv' GROUP BY kind HAVING count(*) > 1 ORDER BY count(*)"),
        "kind,count(*)"
    );
    assert_eq!(header("SELECT DISTINCT id % 2 FROM 'p.csv' ORDER BY id % 2"), "id % 2");
    assert_eq!(header("SELECT * FROM (SELECT max(price) FROM 'p.csv')"), "max(price)");
    folder.ok(&["sql", "SELECT avg(price) FROM 'p.csv'", "--out", "o.lance"]);
    assert_eq!(folder.ok(&["cat", "o.lance"]).out, "avg(price)\n2.6666666666666665\n");
    folder.ok(&["sql", "COPY (SELECT avg(price) FROM 'p.csv') TO 'c.parquet'"]);
    assert_eq!(folder.ok(&["cat", "c.parquet"]).out, "avg(price)\n2.6666666666666665\n");
}

#[test]
fn tables_are_shown_and_described() {
    let folder = people();
    let all = answer(&folder, "CREATE TABLE x AS SELECT 1 AS a; SHOW TABLES; DESCRIBE x");
    assert_eq!(all, "table_name,table_type\nx,BASE TABLE\ncolumn_name,column_type,null\na,int64,NO\n");
    let columns = answer(&folder, "DESCRIBE 'p.csv'");
    assert!(columns.starts_with("column_name,column_type,null\nid,int32,NO\nname,string,NO\nday,date32,"), "{columns}");
    assert_eq!(answer(&folder, "DESCRIBE SELECT id FROM 'p.csv'"), "column_name,column_type,null\nid,int32,NO\n");
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let folder = people();
    let said = folder.run(&["sql", "SELECT id,\n  name FRO 'p.csv'"]);
    assert_eq!(said.code, 2);
    assert_eq!(
        said.err,
        "error: expected end of statement, found 'p.csv' [bad_sql]\n  2:   name FRO 'p.csv'\n                ^\n"
    );
    let said = folder.run(&["sql", "SELECT nam FROM 'p.csv'"]);
    assert!(
        said.err.starts_with(
            "error: there is no column nam [bad_sql]\n  hint: did you mean name? the columns are id, name,"
        ),
        "{}",
        said.err
    );
    folder.write("short.csv", "a,b\n1,2\n3\n");
    let said = folder.run(&["sql", "SELECT * FROM 'short.csv'"]);
    let named = format!("error: {}: at byte 8: line 3", folder.path("short.csv").display());
    assert!(said.err.starts_with(&named), "{}", said.err);
    let file = folder.path("p.csv").display().to_string();
    for query in [
        format!("SELECT nam FROM '{file}'"),
        format!("SELECT nofunction(id) FROM '{file}'"),
        format!("SELECT id FROM '{file}' MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS true)"),
        format!("SELECT id FROM '{file}x'"),
        "SELECT a.b.c.d[1].e FROM 'p.csv'".into(),
        "SELECT * FROM nothing".into(),
        "SELECT (SELECT 1, 2)".into(),
        "SELECT 'p.csv'.a.b FROM 'p.csv'".into(),
    ] {
        let said = folder.run(&["sql", &query]);
        assert_ne!(said.code, 0, "{query}");
        for word in ["Ident {", "Span(", "Location(", "datafusion.", "Error during planning", "Schema error"] {
            assert!(!said.err.contains(word), "{query}: {}", said.err);
        }
    }
}

#[test]
fn unknown_functions_and_operators_say_what_to_type() {
    let folder = Folder::new();
    let said = |query: &str| folder.run(&["sql", query]).err;
    let near = said("SELECT lenght('a')");
    assert!(near.contains("there is no function lenght") && near.contains("did you mean length?"), "{near}");
    let far = said("SELECT foobarbaz(1)");
    assert!(far.contains("SHOW FUNCTIONS") && !far.contains("did you mean"), "{far}");
    let divided = said("SELECT 7 // 2");
    assert!(divided.contains("not_implemented") && divided.contains("7 / 2 is 3"), "{divided}");
}

#[test]
fn moments_need_no_seconds() {
    let folder = people();
    for query in [
        "SELECT id FROM 'p.csv' WHERE at > TIMESTAMP '2024-02-15 11:30'",
        "SELECT id FROM 'p.csv' WHERE at > '2024-02-15 11:30'",
        "SELECT id FROM 'p.csv' WHERE at > '2024-02-15T11:30Z'",
    ] {
        assert_eq!(answer(&folder, query), "id\n3\n", "{query}");
    }
    let said = answer(&folder, "SELECT TIMESTAMP '2024-02-15 11:30' AS t");
    assert!(said.contains("2024-02-15T11:30:00"), "{said}");
    for condition in ["at > \"2024-02-15 11:30\"", "at = \"2024-03-31T23:59:59\"", "at > \"2024-02-15T11:30\""] {
        assert_eq!(folder.ok(&["cat", "p.csv", "--where", condition, "--columns", "id"]).out, "id\n3\n", "{condition}");
    }
}

#[test]
fn bytes_are_summarized() {
    let folder = Folder::new();
    let said = answer(&folder, "SUMMARIZE SELECT arrow_cast(decode('ff00', 'hex'), 'Binary') AS b");
    assert!(said.contains("b,binary,ff00,ff00,1,"), "{said}");
}

#[test]
fn messages_are_about_what_was_typed() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "t.lance"]);
    for (query, said) in [
        ("SELECT sum(sym) FROM 'trades.csv'", "sum(...) does not take text"),
        ("SELECT a FROM (SELECT 1 AS a, 1 AS a)", "two columns are called a"),
        ("SELECT * FROM trades.csv", "there is no table trades.csv"),
        ("SELECT * FROM trades.csv", "FROM 'trades.csv'"),
        ("INSERT INTO 'trades.csv' SELECT * FROM 'trades.csv'", "INSERT does not change files"),
        ("DROP TABLE 'trades.csv'", "trades.csv is a file, and SQL does not remove files"),
        ("DROP TABLE IF EXISTS 't.lance'", "t.lance is a file, and SQL does not remove files"),
    ] {
        let answer = folder.run(&["sql", query]);
        assert_ne!(answer.code, 0, "{query}");
        assert!(answer.err.contains(said), "{query}: {}", answer.err);
        assert!(!answer.err.contains("Listing") && !answer.err.contains("datafusion"), "{query}: {}", answer.err);
    }
    assert!(folder.path("trades.csv").exists() && folder.path("t.lance").exists());
    answer(&folder, "CREATE TABLE a AS SELECT 1 AS x; DROP TABLE a; CREATE VIEW v AS SELECT 1 AS x; DROP VIEW v");
}
