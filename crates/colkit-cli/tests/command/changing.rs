//! Stores that misbehave: objects that change while they are read, sizes that are wrong, answers that never end.

use super::run::{Folder, Said};
use colkit_test_servers::{Object, Server};
use std::time::{Duration, Instant};

/// A table that takes several requests, every value of which is `value`.
fn csv(value: &str) -> Vec<u8> {
    let row = format!("{value},{value}\n").repeat(100);
    format!("a,b\n{}", row.repeat(400)).into_bytes()
}

/// The commands that read all of an object.
fn reading(folder: &Folder, url: &str, options: &[&str]) -> Vec<Said> {
    let query = format!("SELECT min(a), max(a), count(*) FROM '{url}'");
    let commands =
        [vec!["cat", url], vec!["convert", url, "-", "--to", "csv"], vec!["sql", &query], vec!["verify", url]];
    commands.iter().map(|c| folder.run(&[c.as_slice(), options].concat())).collect()
}

fn failed(said: &Said, code: &str) {
    assert_eq!(said.code, 1, "{}", said.err);
    // `verify` tells on standard output.
    assert!(said.err.contains(code) || said.out.contains(code), "expected {code}: {}", said.err);
}

#[test]
fn an_object_that_changes_while_it_is_read_is_an_error() {
    let folder = Folder::new();
    let tagged = |tag: &str, new: bool, compares| Object {
        bytes: csv(if new { "2" } else { "1" }),
        e_tag: Some(tag.replace('N', if new { "2" } else { "1" })),
        compares,
        ..Object::default()
    };
    let dated = |new: bool| Object {
        bytes: csv(if new { "2" } else { "1" }),
        modified: Some(format!("Mon, 0{} Jan 2024 00:00:00 GMT", if new { 8 } else { 1 })),
        ..Object::default()
    };
    type Versions = std::sync::Arc<dyn Fn(bool) -> Object + Send + Sync>;
    let versions: [(&str, Versions); 4] = [
        ("the server compares tags", std::sync::Arc::new(move |new| tagged("\"N\"", new, true))),
        ("the server tells tags", std::sync::Arc::new(move |new| tagged("\"N\"", new, false))),
        ("weak tags match nothing", std::sync::Arc::new(move |new| tagged("W/\"N\"", new, true))),
        ("the server tells times", std::sync::Arc::new(dated)),
    ];
    for (how, version) in versions {
        for command in ["cat", "convert", "sql", "verify"] {
            // The first request is of the old object, every later one of the new, which has the same size.
            let version = version.clone();
            let server = Server::of_object(move |number| version(number > 0)).unwrap();
            let url = format!("{}/t.csv", server.url());
            let query = format!("SELECT min(a), max(a), count(*) FROM '{url}'");
            let said = match command {
                "convert" => folder.run(&["convert", &url, "out.cff"]),
                "sql" => folder.run(&["sql", &query]),
                _ => folder.run(&[command, &url]),
            };
            assert_eq!(said.code, 1, "{how}, {command}: {}", said.err);
            failed(&said, "object_changed");
        }
    }
    assert!(folder.names().is_empty());
}

#[test]
fn an_object_that_stays_the_same_is_read() {
    let folder = Folder::new();
    for e_tag in [None, Some("\"1\"".to_owned()), Some("W/\"1\"".to_owned())] {
        let object = Object { bytes: csv("7"), e_tag, compares: true, ..Object::default() };
        let server = Server::of_object(move |_| object.clone()).unwrap();
        for said in reading(&folder, &format!("{}/t.csv", server.url()), &[]) {
            assert_eq!(said.code, 0, "{}", said.err);
        }
    }
}

#[test]
fn a_size_that_is_too_short_cuts_nothing_in_silence() {
    let folder = Folder::new();
    let whole = csv("1");
    let object = Object { told_size: Some(whole.len() - 400), bytes: whole, ..Object::default() };
    let server = Server::of_object(move |_| object.clone()).unwrap();
    for said in reading(&folder, &format!("{}/t.csv", server.url()), &[]) {
        failed(&said, "object_changed");
    }
    // And an object that shrinks.
    let server =
        Server::of_object(|n| Object { bytes: csv(if n > 0 { "1" } else { "22" }), ..Object::default() }).unwrap();
    failed(&folder.run(&["cat", &format!("{}/t.csv", server.url())]), "object_changed");
}

#[test]
fn nobody_waits_for_ever() {
    let folder = Folder::new();
    let object = Object { bytes: csv("1"), e_tag: Some("\"1\"".into()), drips: true, ..Object::default() };
    let dripping = Server::of_object(move |_| object.clone()).unwrap();
    let began = Instant::now();
    for said in reading(&folder, &format!("{}/t.csv", dripping.url()), &["--timeout", "1"]) {
        failed(&said, "timed_out");
        assert!(said.err.contains("--timeout") || said.out.contains("seconds"), "{said:?}");
    }
    let endless = Server::of_endless_lists().unwrap();
    let query = ["sql", "SELECT count(*) FROM 's3://bucket/all/*.csv'", "--timeout", "1"];
    let said = folder.run_in(&endless.s3_environment(), &query, b"");
    failed(&said, "timed_out");
    assert!(said.err.contains("list its objects") && said.err.contains("--timeout"), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
