//! Lance datasets in object stores: what is asked of the store, and several writers at once.

use super::run::{Folder, Said, error};
use colkit_test_servers::{Asked, Server};

fn count(log: &[Asked], method: &str) -> usize {
    log.iter().filter(|asked| asked.method == method).count()
}

struct Bucket {
    folder: Folder,
    server: Server,
}

impl Bucket {
    fn new() -> Self {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("bucket")).unwrap();
        let server = Server::s3(&folder.path("")).unwrap();
        Bucket { folder, server }
    }

    fn try_run(&self, arguments: &[&str]) -> Said {
        self.folder.run_in(&self.server.s3_environment(), arguments, b"")
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let said = self.try_run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
        said
    }

    fn rows(&self, dataset: &str) -> u64 {
        self.run(&["count", dataset, "--json"]).json()["rows"].as_u64().unwrap()
    }
}

#[test]
fn versions_are_made_with_few_requests() {
    let bucket = Bucket::new();
    bucket.folder.write("t.csv", "id,word\n1,a\n2,b\n3,c\n");
    let url = "s3://bucket/t.lance/";
    bucket.run(&["convert", "t.csv", url]);
    let log = bucket.server.take_log();
    // The data file, the transaction twice (the second must be refused), and the manifest.
    assert_eq!((count(&log, "PUT"), count(&log, "DELETE")), (4, 0), "{log:#?}");
    assert_eq!(log.iter().filter(|asked| asked.method == "PUT" && asked.status == 412).count(), 1, "{log:#?}");
    bucket.run(&["convert", "t.csv", url, "--append"]);
    let log = bucket.server.take_log();
    assert_eq!(count(&log, "PUT"), 4, "{log:#?}");
    assert!(log.len() <= 10, "{log:#?}");
    bucket.run(&["delete", url, "--where", "id = 2"]);
    bucket.run(&["tag", url, "two", "2"]);
    assert_eq!([1, 2, 3].map(|v| bucket.rows(&format!("s3://bucket/t.lance@{v}"))), [3, 6, 4]);
    assert_eq!(bucket.rows("s3://bucket/t.lance@two"), 6);
    bucket.server.take_log();
    assert_eq!(bucket.rows(url), 4);
    // A list, the manifest's size, the manifest.
    assert_eq!(bucket.server.take_log().len(), 3);
    bucket.run(&["compact", url]);
    bucket.run(&["verify", url]);
    bucket.run(&["cleanup", url, "--older-than", "0s", "--yes"]);
    assert_eq!((bucket.rows(url), bucket.rows("s3://bucket/t.lance@two")), (4, 6));
    assert!(bucket.try_run(&["count", "s3://bucket/t.lance@3"]).code != 0, "it was removed");
    let said = bucket.try_run(&["convert", "t.csv", url, "--json"]);
    assert_eq!(error(&said)["code"], "already_exists", "{said:?}");
}

#[test]
fn a_url_needs_no_slash_at_its_end() {
    let bucket = Bucket::new();
    bucket.folder.write("t.csv", "id,word\n1,a\n2,b\n3,c\n");
    let url = "s3://bucket/t.lance";
    bucket.run(&["convert", "t.csv", url, "--dataset"]);
    bucket.run(&["convert", "t.csv", url, "--append"]);
    bucket.run(&["delete", url, "--where", "id = 2"]);
    assert_eq!(bucket.rows(url), 4);
    assert_eq!(bucket.run(&["versions", url, "--json"]).out.lines().count(), 3);
    assert_eq!(bucket.run(&["count", url, "--at", "1", "--json"]).json()["rows"], 3);
    assert!(bucket.run(&["head", url]).out.contains("word"));
    let query = format!("SELECT sum(id) AS total FROM '{url}' UNION ALL SELECT sum(id) FROM '{url}/' ORDER BY total");
    assert_eq!(bucket.run(&["sql", &query, "--as", "csv"]).out, "total\n8\n8\n");
    let said = bucket.try_run(&["convert", "t.csv", url, "--json"]);
    assert_eq!(error(&said)["code"], "already_exists", "{said:?}");
}

#[test]
fn writers_at_once_lose_nothing() {
    let bucket = Bucket::new();
    bucket.folder.write("start.csv", "id\n0\n");
    let url = "s3://bucket/t.lance/";
    bucket.run(&["convert", "start.csv", url]);
    std::thread::scope(|scope| {
        for writer in 1..3 {
            let bucket = &bucket;
            scope.spawn(move || {
                for round in 0..4 {
                    let name = format!("{writer}{round}.csv");
                    bucket.folder.write(&name, format!("id\n{writer}{round}\n"));
                    bucket.run(&["convert", &name, url, "--append"]);
                }
            });
        }
    });
    let out = bucket.run(&["cat", url, "--as", "csv"]).out;
    let mut found: Vec<&str> = out.lines().skip(1).collect();
    found.sort_unstable();
    assert_eq!(found, ["0", "10", "11", "12", "13", "20", "21", "22", "23"]);
}

#[test]
fn a_store_that_cannot_keep_objects_is_refused() {
    let bucket = Bucket::new();
    bucket.folder.write("t.csv", "id\n1\n");
    let mut environment = bucket.server.s3_environment();
    environment.push(("AWS_CONDITIONAL_PUT", "disabled".to_owned()));
    let run = |arguments: &[&str]| bucket.folder.run_in(&environment, arguments, b"");
    let said = run(&["convert", "t.csv", "s3://bucket/t.lance/", "--json"]);
    assert_eq!((said.code, &error(&said)["code"]), (1, &"no_exclusive_create".into()), "{said:?}");
    assert!(said.err.contains("unsafe-commit"), "{said:?}");
    let said = run(&["convert", "t.csv", "s3://bucket/t.lance/", "--unsafe-commit"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(bucket.rows("s3://bucket/t.lance/"), 1);
}
