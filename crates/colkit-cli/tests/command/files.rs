//! What is at the name of an output: refused, replaced or written through, the same in every verb.

use super::run::{Folder, Said, TRADES, error};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

/// Every way to write a file, with what it may be asked for twice.
fn writers() -> Vec<(&'static str, Vec<&'static str>)> {
    vec![
        ("o.cff", vec!["convert", "trades.csv", "o.cff"]),
        ("o.csv", vec!["convert", "trades.csv", "o.csv"]),
        ("p-00000.csv", vec!["convert", "trades.csv", "p.csv", "--split-rows", "2"]),
        ("p-00001.csv", vec!["convert", "trades.csv", "p.csv", "--split-rows", "2"]),
        ("o.parquet", vec!["cat", "trades.csv", "--out", "o.parquet"]),
        ("o.ndjson", vec!["head", "trades.csv", "--out", "o.ndjson"]),
        ("o.lance", vec!["take", "trades.csv", "--rows", "0", "--out", "o.lance"]),
        ("o.arrow", vec!["sql", "SELECT sym FROM 'trades.csv'", "--out", "o.arrow"]),
        ("c.csv", vec!["sql", "COPY (SELECT sym FROM 'trades.csv') TO 'c.csv'"]),
        ("c.lance", vec!["sql", "COPY (SELECT sym FROM 'trades.csv') TO 'c.lance'"]),
        ("o.at1", vec!["pack", "trades.csv", "o.at1"]),
        ("o.txt", vec!["unpack", "packed.at1", "o.txt"]),
        ("kept/trades.lance", vec!["tour", "--rows", "10", "--keep", "kept"]),
        ("pages/colkit-sql.1", vec!["man", "--dir", "pages"]),
    ]
}

fn with_packed() -> Folder {
    let folder = Folder::with_trades();
    folder.ok(&["pack", "trades.csv", "packed.at1"]);
    for name in ["kept", "pages"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    folder
}

fn mode(folder: &Folder, name: &str) -> u32 {
    std::fs::metadata(folder.path(name)).unwrap().mode() & 0o777
}

fn chmod(folder: &Folder, name: &str, mode: u32) {
    std::fs::set_permissions(folder.path(name), PermissionsExt::from_mode(mode)).unwrap();
}

fn refused(said: &Said, code: &str) {
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains(&format!("[{code}]")), "{said:?}");
}

#[test]
fn nothing_is_overwritten_unless_force_says_so() {
    for (target, arguments) in writers() {
        let folder = with_packed();
        folder.write(target, "precious");
        let before = folder.names();
        let said = folder.run(&arguments);
        refused(&said, "already_exists");
        assert!(said.err.contains(target) && said.err.contains("--force"), "{said:?}");
        assert_eq!(folder.read(target), b"precious", "{arguments:?}");
        assert_eq!(folder.names(), before, "{arguments:?}: refused before anything is written");
        folder.ok(&[arguments.as_slice(), &["--force"]].concat());
        assert_ne!(folder.read(target), b"precious", "{arguments:?}");
        let help = folder.ok(&[arguments[0], "--help"]).out;
        assert!(help.contains("--force") && help.contains("Overwrite the output"), "{help}");
    }
}

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let folder = Folder::new();
    let rows: String = (0..200_000).map(|i| format!("{i},{}\n", i * 7)).collect();
    folder.write("in.csv", format!("a,b\n{rows}"));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_colkit"))
        .args(["convert", "in.csv", "out.lance"])
        .current_dir(folder.path(""))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none(), "it was done too soon to be disturbed");
    folder.write("out.lance", "somebody else's");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("already_exists"));
    assert_eq!(folder.read("out.lance"), b"somebody else's");
    assert_eq!(folder.names(), ["in.csv", "out.lance"]);
}

#[test]
fn parts_of_an_earlier_conversion_are_told() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "p-{}.csv", "--split-rows", "1"]);
    refused(&folder.run(&["convert", "trades.csv", "p-{}.csv", "--split-rows", "2"]), "already_exists");
    let said = folder.ok(&["convert", "trades.csv", "p-{}.csv", "--split-rows", "2", "-f"]);
    assert!(said.err.contains("p-00002.csv remains from an earlier conversion"), "{said:?}");
    assert!(said.err.contains("p-00003.csv") && !said.err.contains("p-00001.csv"), "{said:?}");
}

#[test]
fn pipes_and_devices_are_written_through() {
    let folder = with_packed();
    folder.ok(&["convert", "trades.csv", "plain.lance"]);
    let lance = folder.read("plain.lance");
    assert_eq!(folder.shell("mkfifo pipe").code, 0);
    let through =
        |command: &str| folder.shell(&format!("timeout 20 cat pipe > got & {command}; code=$?; wait; exit $code"));
    for (command, expected) in [
        ("colkit convert trades.csv pipe --to lance", lance.as_slice()),
        ("colkit cat trades.csv --out pipe --as csv", TRADES.as_bytes()),
        ("colkit sql \"SELECT * FROM 'trades.csv'\" --out pipe --as csv", TRADES.as_bytes()),
        ("colkit sql \"COPY (SELECT * FROM 'trades.csv') TO 'pipe' STORED AS CSV\"", TRADES.as_bytes()),
        ("colkit unpack -f packed.at1 pipe", TRADES.as_bytes()),
    ] {
        let said = through(command);
        assert_eq!(said.code, 0, "{command}: {said:?}");
        assert_eq!(folder.read("got"), expected, "{command}");
        let kind = std::fs::symlink_metadata(folder.path("pipe")).unwrap().file_type();
        assert!(kind.is_fifo(), "{command} left {kind:?}");
    }
    // A copy of the null device. Only root may make one, and not everywhere.
    if folder.shell("mknod null c 1 3 2>&1 && echo > null").code != 0 {
        return;
    }
    let before = folder.names();
    for command in [
        "colkit convert trades.csv null --to parquet",
        "colkit convert -f trades.csv null --to gppcol",
        "colkit cat trades.csv --out null --as csv",
        "colkit sql \"SELECT 1\" --out null --as csv --force",
        "colkit unpack -f packed.at1 null",
        "colkit pack -f trades.csv null.at1",
    ] {
        symlink("null", folder.path("null.at1")).unwrap();
        let said = folder.shell(command);
        assert_eq!(said.code, 0, "{command}: {said:?}");
        let kind = std::fs::symlink_metadata(folder.path("null")).unwrap().file_type();
        assert!(kind.is_char_device(), "{command} left {kind:?}");
        std::fs::remove_file(folder.path("null.at1")).unwrap();
        assert_eq!(folder.names(), before, "{command}");
    }
}

#[test]
fn a_pipe_can_be_read_by_its_name() {
    let folder = Folder::with_trades();
    let said = folder.shell("colkit cat <(cat trades.csv)");
    assert_eq!((said.code, said.out.as_str()), (0, TRADES), "{said:?}");
}

#[test]
fn a_socket_is_refused() {
    let folder = Folder::with_trades();
    let _listening = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
    refused(&folder.run(&["convert", "-f", "trades.csv", "socket", "--to", "csv"]), "is_a_socket");
    assert!(std::fs::symlink_metadata(folder.path("socket")).unwrap().file_type().is_socket());
}

#[test]
fn what_is_replaced_keeps_its_links_and_rights() {
    let folder = with_packed();
    for (number, arguments) in [
        &["convert", "trades.csv", "link.csv", "-f"][..],
        &["cat", "trades.csv", "--out", "link.csv", "-f"],
        &["sql", "SELECT * FROM 'trades.csv'", "--out", "link.csv", "--force"],
        &["unpack", "-f", "packed.at1", "link.csv"],
    ]
    .into_iter()
    .enumerate()
    {
        folder.write("file.csv", "a much longer text than the new one is, so that its end would show\n".repeat(9));
        symlink("file.csv", folder.path("link.csv")).unwrap();
        chmod(&folder, "file.csv", 0o600);
        let inode = std::fs::metadata(folder.path("file.csv")).unwrap().ino();
        if number % 2 == 1 {
            std::fs::hard_link(folder.path("file.csv"), folder.path("twin.csv")).unwrap();
        }
        folder.ok(arguments);
        assert!(folder.path("link.csv").is_symlink(), "{arguments:?}");
        assert_eq!(folder.read("file.csv"), TRADES.as_bytes(), "{arguments:?}");
        assert_eq!(mode(&folder, "file.csv"), 0o600, "{arguments:?}");
        if number % 2 == 1 {
            assert_eq!(folder.read("twin.csv"), TRADES.as_bytes(), "{arguments:?}");
            assert_eq!(std::fs::metadata(folder.path("file.csv")).unwrap().ino(), inode);
            std::fs::remove_file(folder.path("twin.csv")).unwrap();
        }
        std::fs::remove_file(folder.path("link.csv")).unwrap();
    }
}

#[test]
fn what_is_made_from_a_private_file_is_private() {
    let folder = Folder::with_trades();
    folder.write("public.csv", TRADES);
    folder.ok(&["convert", "public.csv", "usual.cff"]);
    chmod(&folder, "trades.csv", 0o600);
    for (target, arguments) in [
        ("o.cff", &["convert", "public.csv", "trades.csv", "o.cff"][..]),
        ("p-00001.csv", &["convert", "trades.csv", "p.csv", "--split-rows", "2"]),
        ("o.csv", &["cat", "trades.csv", "--out", "o.csv"]),
        ("s.csv", &["sql", "SELECT count(*) FROM 'trades.csv'", "--out", "s.csv"]),
        (
            "c.csv",
            &["sql", "COPY (SELECT sym FROM 'public.csv' WHERE sym IN (SELECT sym FROM 'trades.csv')) TO 'c.csv'"],
        ),
        ("o.at1", &["pack", "trades.csv", "o.at1"]),
    ] {
        folder.ok(arguments);
        assert_eq!(mode(&folder, target), mode(&folder, "usual.cff") & 0o700, "{arguments:?}");
    }
    folder.ok(&["unpack", "o.at1", "back.csv"]);
    assert_eq!(mode(&folder, "back.csv"), 0o600);
}

/// Only root can give files away.
#[test]
fn owners_are_kept() {
    let folder = Folder::with_trades();
    folder.write("owned.csv", "old");
    if folder.shell("chown 12345:23456 owned.csv").code == 0 {
        folder.ok(&["convert", "-f", "trades.csv", "owned.csv"]);
        let kept = std::fs::metadata(folder.path("owned.csv")).unwrap();
        assert_eq!((kept.uid(), kept.gid()), (12345, 23456));
        assert_eq!(folder.read("owned.csv"), TRADES.as_bytes());
    }
}

#[test]
fn a_query_never_replaces_what_it_reads() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("all/deep")).unwrap();
    for name in ["s.csv", "all/s.csv"] {
        folder.write(name, TRADES);
    }
    symlink("s.csv", folder.path("soft.csv")).unwrap();
    symlink("all", folder.path("every")).unwrap();
    std::fs::hard_link(folder.path("s.csv"), folder.path("hard.csv")).unwrap();
    let absolute = folder.path("s.csv").display().to_string();
    let url = format!("file://{absolute}");
    for out in ["s.csv", "./s.csv", "all/../s.csv", "soft.csv", "hard.csv", &absolute, &url] {
        for query in [
            "SELECT * FROM 's.csv' LIMIT 3",
            "SELECT count(*) FROM 's.csv'",
            "WITH t AS (SELECT * FROM 's.csv') SELECT sym FROM 'all' WHERE price < (SELECT max(price) FROM t)",
            "CREATE VIEW v AS SELECT * FROM 's.csv'; SELECT * FROM v",
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 's.csv' OPTIONS ('has_header' 'true'); SELECT * FROM t",
        ] {
            let said = folder.run(&["sql", query, "--out", out, "--force", "--as", "csv"]);
            refused(&said, "output_is_input");
        }
        let said = folder.run(&["sql", &format!("COPY (SELECT * FROM 's.csv' LIMIT 1) TO '{out}'"), "--force"]);
        refused(&said, "output_is_input");
        let said = folder.run(&["sql", "--table", "t=s.csv", "SELECT * FROM t", "--out", out, "--force"]);
        refused(&said, "output_is_input");
    }
    for (table, out) in [("all", "every/s.csv"), ("every", "all/s.csv"), ("all/*.csv", "all/deep/../s.csv")] {
        let query = format!("SELECT sym FROM '{table}'");
        refused(&folder.run(&["sql", &query, "--out", out, "--force"]), "output_is_input");
    }
    for name in ["s.csv", "all/s.csv"] {
        assert_eq!(folder.read(name), TRADES.as_bytes(), "{name}");
    }
    // EXPLAIN ANALYZE would run it.
    let said = folder.run(&["sql", "EXPLAIN ANALYZE COPY (SELECT 1) TO 'new.csv'"]);
    assert_eq!(said.code, 2, "{said:?}");
    folder.ok(&["sql", "EXPLAIN COPY (SELECT 1) TO 'new.csv'"]);
    assert!(!folder.path("new.csv").exists());
}

#[test]
fn a_copy_is_written_like_any_other_output() {
    let folder = Folder::with_trades();
    for format in ["csv", "parquet", "arrow", "lance", "cff", "gppcol"] {
        let said = folder.ok(&["sql", &format!("COPY (SELECT sym, quantity FROM 'trades.csv') TO 'o.{format}'")]);
        assert_eq!(said.out, "count\n4\n");
        let back = folder.ok(&["sql", &format!("SELECT sum(quantity) s FROM 'o.{format}'")]);
        assert_eq!(back.out, "s\n21\n", "{format}");
    }
    folder.ok(&["sql", "COPY (SELECT * FROM 'trades.csv') TO 'by' STORED AS PARQUET PARTITIONED BY (sym)"]);
    assert_eq!(folder.ok(&["sql", "SELECT count(*) n FROM 'by' WHERE sym = 'BTC'"]).out, "n\n2\n");
    let again = "COPY (SELECT * FROM 'trades.csv') TO 'by' STORED AS PARQUET PARTITIONED BY (sym)";
    refused(&folder.run(&["sql", again]), "already_exists");
    folder.ok(&["sql", again, "--force"]);
    let other = "COPY (SELECT * FROM 'trades.csv') TO 'o.csv' OPTIONS ('format.delimiter' ';')";
    refused(&folder.run(&["sql", other, "--force"]), "no_such_option");
}

#[test]
fn an_ending_that_says_nothing_is_refused() {
    let folder = Folder::with_trades();
    for (arguments, code) in [
        (&["cat", "trades.csv", "--out", "r.xlsx"][..], "no_such_format"),
        (&["head", "trades.csv", "--out", "r.json"], "no_such_format"),
        (&["take", "trades.csv", "--rows", "0", "--out", "r"], "no_format_named"),
        (&["sql", "SELECT 1 a", "--out", "r.xlsx"], "no_such_format"),
        (&["sql", "SELECT 1 a", "--out", "r.json"], "no_such_format"),
        (&["sql", "COPY (SELECT 1 a) TO 'r.json'"], "no_such_format"),
    ] {
        let said = folder.run(arguments);
        refused(&said, code);
        assert!(said.err.contains("known formats"), "{said:?}");
    }
    let said = folder.run(&["cat", "trades.csv", "--json", "--out", "r.parquet"]);
    assert_eq!((said.code, &error(&said)["code"]), (2, &"conflicting_options".into()));
    assert_eq!(folder.names(), ["trades.csv"]);
    folder.ok(&["cat", "trades.csv", "--json", "--out", "r.json"]);
    assert!(folder.read("r.json").starts_with(b"{"));
    assert_eq!(folder.ok(&["cat", "trades.csv", "--out", "-"]).out, TRADES);
    folder.ok(&["cat", "trades.csv", "--out", "r.xlsx", "--as", "csv"]);
    assert_eq!(folder.read("r.xlsx"), TRADES.as_bytes());
}

#[test]
fn names_may_be_as_long_as_the_system_allows() {
    let folder = Folder::with_trades();
    for length in [236, 250, 255] {
        let name = format!("{}.cff", "n".repeat(length - 4));
        folder.ok(&["convert", "trades.csv", &name]);
        folder.ok(&["convert", "-f", "trades.csv", &name]);
        folder.ok(&["diff", "trades.csv", &name]);
    }
}

/// What standard input is copied to has no name, so that nothing is left however the process ends.
#[test]
fn standard_input_is_copied_to_a_file_without_a_name() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("tmp")).unwrap();
    for signal in ["-INT", "-KILL"] {
        // A shell's background jobs ignore SIGINT, and so would the command in tests that one of them runs.
        let mut child = std::process::Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_colkit"), "sql", "SELECT sum(a) FROM '-'"])
            .env("TMPDIR", folder.path("tmp"))
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than a pipe holds: when all of it is taken, most has been copied.
        stdin.write_all(format!("a\n{}", "1\n".repeat(1 << 20)).as_bytes()).unwrap();
        let copied = || std::fs::read_dir(folder.path("tmp")).unwrap().count();
        assert_eq!(copied(), 0, "it has no name while it is written");
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(copied(), 0, "{signal}");
    }
    let said = folder.run_with(&["sql", "SELECT a.x FROM '-' a JOIN '-' b ON a.x = b.x"], b"x\n1\n2\n");
    assert_eq!(said.out.lines().count(), 3, "{said:?}");
}

#[test]
fn objects_follow_the_same_rule() {
    let folder = Folder::with_trades();
    std::fs::create_dir(folder.path("bucket")).unwrap();
    let server = colkit_test_servers::Server::s3(&folder.path("")).unwrap();
    let run = |arguments: &[&str]| folder.run_in(&server.s3_environment(), arguments, b"");
    for arguments in [
        &["convert", "trades.csv", "s3://bucket/t.csv"][..],
        &["cat", "trades.csv", "--out", "s3://bucket/t.csv"],
        &["sql", "SELECT * FROM 'trades.csv'", "--out", "s3://bucket/t.csv"],
    ] {
        let _ = std::fs::remove_file(folder.path("bucket/t.csv"));
        assert_eq!(run(arguments).code, 0, "{arguments:?}");
        let said = run(&[arguments, &["--json"]].concat());
        assert!(
            ["already_exists", "conflicting_options"].contains(&error(&said)["code"].as_str().unwrap()),
            "{said:?}"
        );
        refused(&run(arguments), "already_exists");
        assert_eq!(run(&[arguments, &["--force"]].concat()).code, 0, "{arguments:?}");
    }
    refused(&run(&["convert", "s3://bucket/t.csv", "s3://bucket/t.csv", "--force"]), "output_is_input");
    let query = "SELECT * FROM 's3://bucket/*.csv' LIMIT 1";
    refused(&run(&["sql", query, "--out", "s3://bucket/t.csv", "--force"]), "output_is_input");
    assert_eq!(folder.read("bucket/t.csv"), TRADES.as_bytes());
}
