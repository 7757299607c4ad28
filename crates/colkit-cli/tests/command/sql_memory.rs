//! Queries over more than fits into memory.

use super::run::Folder;

fn table(rows: u64) -> Folder {
    let folder = Folder::new();
    let row = |i: u64| format!("{},{},name {}\n", i * 7_919 % 1_000_003, i % 1000, i * 104_729 % 500_009);
    let rows: String = (0..rows).map(row).collect();
    folder.write("t.csv", format!("id,k,name\n{rows}"));
    folder.ok(&["convert", "t.csv", "t.lance"]);
    std::fs::create_dir(folder.path("spill")).unwrap();
    folder
}

#[test]
fn little_memory_is_enough_to_sort_group_and_join() {
    let folder = table(250_000);
    let little = |query: &str, out: &str| {
        let said = folder.run(&["sql", query, "--out", out, "--memory", "32M", "--spill-dir", "spill"]);
        assert_eq!(said.code, 0, "{query}: {}", said.err);
        assert_eq!(std::fs::read_dir(folder.path("spill")).unwrap().count(), 0, "{query} leaves nothing");
    };
    little("SELECT * FROM 't.lance' ORDER BY name, id", "sorted.parquet");
    let check = "SELECT count(*) AS n, min(name) AS first FROM 'sorted.parquet'";
    assert_eq!(folder.ok(&["sql", check]).out, "n,first\n250000,name 0\n");
    assert!(folder.ok(&["head", "-n", "1", "sorted.parquet"]).out.ends_with(",name 0\n"));
    little("SELECT name, count(*) AS n FROM 't.lance' GROUP BY name", "grouped.parquet");
    assert_eq!(folder.ok(&["sql", "SELECT sum(n) AS n FROM 'grouped.parquet'"]).out, "n\n250000\n");
    little("SELECT a.id, b.name FROM 't.lance' a JOIN 't.lance' b ON a.id = b.id", "joined.parquet");
    assert_eq!(folder.ok(&["count", "joined.parquet"]).out, "250000\n");
}

#[test]
fn too_little_is_said_in_our_words() {
    let folder = table(250_000);
    let said = folder.run(&["sql", "SELECT array_agg(name) FROM 't.lance'", "--memory", "4M"]);
    assert_ne!(said.code, 0);
    assert!(said.err.contains("--memory"), "{}", said.err);
    assert!(!said.err.contains("datafusion") && !said.err.contains("ExternalSorter"), "{}", said.err);
}
