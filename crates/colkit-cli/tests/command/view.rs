//! The server of the explorer, asked by HTTP as a browser would, and as others would.

use super::run::{Folder, TRADES};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `colkit view`, until the test ends.
struct Viewer {
    child: Child,
    port: u16,
    token: String,
}

struct Answer {
    status: u16,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

impl Viewer {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        Self::start_in(folder, &[], arguments)
    }

    fn start_in(folder: &Folder, environment: &[(&str, String)], arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_colkit"));
        command.args(["view", "--no-open", "--json"]).args(arguments).current_dir(folder.path(""));
        command.envs(environment.iter().map(|(name, value)| (*name, value.as_str())));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let document: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        let url = document["url"].as_str().unwrap();
        let rest = url.strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{url}"));
        let (port, token) = rest.strip_suffix('/').unwrap().split_once('/').unwrap();
        assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{url}");
        Viewer { child, port: port.parse().unwrap(), token: token.to_owned() }
    }

    /// Sends a request as it is.
    fn send(&self, head: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
            .write_all(format!("{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes())
            .unwrap();
        stream.write_all(body).unwrap();
        stream
    }

    fn raw(&self, head: &str, body: &[u8]) -> Answer {
        let mut all = Vec::new();
        let _ = self.send(head, body).read_to_end(&mut all);
        Answer::parse(&all)
    }

    /// A request below the token, by the right name.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        self.raw(&format!("{method} /{}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{}{headers}", self.token, self.port), body)
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", b"")
    }

    fn range(&self, file: usize, range: &str) -> Answer {
        self.ask("GET", &format!("files/{file}"), &format!("\r\nRange: {range}"), b"")
    }

    fn sql(&self, query: &str) -> Answer {
        self.ask("POST", "api/sql", "", query.as_bytes())
    }

    /// Presses Ctrl-C.
    fn interrupt(mut self) -> Option<i32> {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(began.elapsed() < Duration::from_secs(10), "Ctrl-C does not end it");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    fn parse(all: &[u8]) -> Self {
        let end = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or_else(|| panic!("{all:?}"));
        let head = String::from_utf8(all[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let pair = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_lowercase(), v.to_owned())).unwrap();
        let headers: HashMap<String, String> = lines.map(pair).collect();
        let mut body = all[end + 4..].to_vec();
        if headers.get("transfer-encoding").is_some_and(|e| e == "chunked") {
            body = unchunked(&body);
        }
        Answer { status, headers, body }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|w| w == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 4 + length..];
    }
    body
}

#[test]
fn only_who_knows_the_token_is_answered() {
    let folder = Folder::with_trades();
    let viewer = Viewer::start(&folder, &["trades.csv"]);
    let (port, token) = (viewer.port, viewer.token.clone());
    let ask = |path: &str, headers: &str| viewer.raw(&format!("GET {path} HTTP/1.1{headers}"), b"").status;
    let own = format!("\r\nHost: 127.0.0.1:{port}");
    assert_eq!(ask(&format!("/{token}/"), &own), 200);
    assert_eq!(ask(&format!("/{token}"), &own), 303);
    for path in [
        "/",
        "/files/0",
        "/api/files",
        "//",
        &format!("/{}/", &token[1..]),
        &format!("/{token}0/"),
        "/open/",
        "/open/x",
    ] {
        assert_eq!(ask(path, &own), 404, "{path}");
    }
    // Names of this machine, with the port.
    for host in ["localhost", "LOCALHOST", "[::1]", "127.0.0.1"] {
        assert_eq!(ask(&format!("/{token}/"), &format!("\r\nHost: {host}:{port}")), 200, "{host}");
    }
    let others = [
        "\r\nHost: evil.example".to_owned(),
        format!("\r\nHost: evil.example:{port}"),
        format!("\r\nHost: 127.0.0.1.evil.example:{port}"),
        "\r\nHost: 127.0.0.1".to_owned(),
        format!("\r\nHost: 127.0.0.1:{}", port ^ 1),
        format!("{own}\r\nHost: evil.example"),
        String::new(),
    ];
    for host in &others {
        let status = ask(&format!("/{token}/"), host);
        assert!(matches!(status, 400 | 403), "{host:?}: {status}");
    }
    // Pages of elsewhere, even if they know the token.
    for origin in ["http://evil.example", "null", "https://localhost", "file://", &format!("https://127.0.0.1:{port}")]
    {
        assert_eq!(ask(&format!("/{token}/api/files"), &format!("{own}\r\nOrigin: {origin}")), 403, "{origin}");
    }
    assert_eq!(ask(&format!("/{token}/api/files"), &format!("{own}\r\nOrigin: http://127.0.0.1:{port}")), 200);
}

#[test]
fn every_answer_is_strict() {
    let folder = Folder::with_trades();
    let viewer = Viewer::start(&folder, &["trades.csv"]);
    let page = viewer.get("");
    assert_eq!(page.header("content-type"), "text/html; charset=windows-1252");
    assert!(page.text().contains("<!DOCTYPE html>"), "{}", page.text());
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; connect-src 'self' blob: data:; frame-ancestors 'none'"),
        "{policy}"
    );
    assert!(policy.contains("script-src 'sha256-") && !policy.contains("http"), "{policy}");
    let refused = viewer.raw(&format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}", viewer.port), b"");
    for answer in [&page, &refused, &viewer.get("api/files"), &viewer.get("files/0"), &viewer.get("nothing")] {
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
    }
    let module = viewer.get("colkit.wasm.gz");
    assert_eq!((module.status, &module.body[..2]), (200, &[0x1f, 0x8b][..]));
    for (method, path, allowed) in [
        ("POST", "", "GET, HEAD"),
        ("PUT", "files/0", "GET, HEAD"),
        ("DELETE", "api/files", "GET, HEAD"),
        ("OPTIONS", "api/sql", "POST"),
        ("GET", "api/sql", "POST"),
    ] {
        let answer = viewer.ask(method, path, "", b"");
        assert_eq!((answer.status, answer.header("allow")), (405, allowed), "{method} {path}");
    }
}

#[test]
fn files_are_read_in_ranges() {
    let folder = Folder::new();
    // More than is held at a time.
    let content: Vec<u8> = (0..10_000_000u32).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    folder.write("big.bin.csv", &content);
    folder.write("empty.csv", "");
    let viewer = Viewer::start(&folder, &["big.bin.csv", "empty.csv"]);
    let list = viewer.get("api/files").json();
    let files = json!([
        {"name": "big.bin.csv", "url": format!("/{}/files/0", viewer.token), "bytes": content.len()},
        {"name": "empty.csv", "url": format!("/{}/files/1", viewer.token), "bytes": 0},
    ]);
    assert_eq!(list["files"], files);
    let all = viewer.get("files/0");
    assert_eq!((all.status, all.header("accept-ranges")), (200, "bytes"));
    assert!(all.body == content);
    for (range, expected) in
        [("bytes=0-0", 0..1), ("bytes=100-199", 100..200), ("bytes=9999990-", 9_999_990..10_000_000)]
    {
        let answer = viewer.range(0, range);
        assert_eq!(answer.status, 206, "{range}");
        let place = format!("bytes {}-{}/10000000", expected.start, expected.end - 1);
        assert_eq!(answer.header("content-range"), place);
        assert!(answer.body == content[expected], "{range}");
    }
    assert!(viewer.range(0, "bytes=-5").body == content[9_999_995..]);
    assert!(viewer.range(0, "bytes=1000000-9000000").body == content[1_000_000..=9_000_000]);
    for beyond in ["bytes=10000000-", "bytes=99999999999999999999-"] {
        let answer = viewer.range(0, beyond);
        assert_eq!((answer.status, answer.header("content-range")), (416, "bytes */10000000"), "{beyond}");
    }
    let head = viewer.ask("HEAD", "files/0", "\r\nRange: bytes=5-14", b"");
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (206, "10", 0));
    let head = viewer.ask("HEAD", "files/0", "", b"");
    assert_eq!((head.status, head.header("content-length")), (200, "10000000"));
    assert_eq!((viewer.get("files/1").status, viewer.range(1, "bytes=0-").status), (200, 416));
    assert_eq!(viewer.ask("GET", "files/0", "\r\nRange: bytes=0-9\r\nIf-Range: \"x\"", b"").status, 200);
}

#[test]
fn nothing_is_served_that_was_not_given() {
    let folder = Folder::with_trades();
    folder.write("secret.csv", "word\nhush\n");
    let viewer = Viewer::start(&folder, &["trades.csv"]);
    for path in [
        "files/1",
        "files/-1",
        "files/00x",
        "files/",
        "files/99999999999999999999",
        "files/../secret.csv",
        "files/0/../1",
        "secret.csv",
        "../secret.csv",
        "files//etc/passwd",
        "files/%2e%2e/secret.csv",
        "files/secret.csv",
        "api/",
        "api/files/0",
    ] {
        let answer = viewer.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
    let secret = folder.path("secret.csv");
    let secret = secret.display();
    for query in [
        &format!("SELECT * FROM '{secret}'"),
        "SELECT * FROM 'secret.csv'",
        "SELECT * FROM \"secret.csv\"",
        "SELECT * FROM csv('secret.csv')",
        "SELECT * FROM read_csv('secret.csv')",
        "SELECT * FROM trades WHERE sym IN (SELECT word FROM 'secret.csv')",
        "WITH x AS (SELECT * FROM 'secret.csv') SELECT * FROM x",
        &format!("CREATE EXTERNAL TABLE s STORED AS CSV LOCATION '{secret}'"),
        "CREATE TABLE s AS SELECT 1",
        "CREATE VIEW s AS SELECT * FROM trades",
        "COPY trades TO 'out.csv'",
        "COPY (SELECT * FROM 'secret.csv') TO 'out.csv'",
        "EXPLAIN ANALYZE COPY trades TO 'out.csv'",
        "INSERT INTO trades VALUES ('a', 1, 1, '')",
        "DROP TABLE trades",
        "DROP TABLE 'secret.csv'",
        "SET datafusion.execution.batch_size = 1",
        "DESCRIBE 'secret.csv'",
        "SUMMARIZE 'secret.csv'",
        "SELECT 1; SELECT 2",
        "",
    ] {
        let answer = viewer.sql(query);
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
        assert!(
            !answer.text().contains("hush") && answer.json()["error"]["code"].is_string(),
            "{query}: {}",
            answer.text()
        );
        assert_eq!(viewer.ask("POST", "api/plan", "", query.as_bytes()).status, 400, "{query}");
    }
    assert_eq!(folder.names(), ["secret.csv", "trades.csv"]);
}

#[test]
fn queries_answer_with_arrow() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "Other.lance"]);
    let viewer = Viewer::start(&folder, &["trades.csv", "Other.lance"]);
    let list = viewer.get("api/files").json();
    assert_eq!((&list["sql"], &list["tables"]), (&json!(true), &json!(["trades", "Other"])));
    for query in [
        "SELECT sym, price FROM trades WHERE price > 100 ORDER BY price",
        "SELECT sym, price FROM 'trades.csv' WHERE price > 100 ORDER BY price;",
        "SELECT sym, price FROM other WHERE price > 100 ORDER BY price",
        "SELECT sym, price FROM \"Other\" WHERE price > 100 ORDER BY price",
        "SELECT t.sym, t.price FROM trades t JOIN other o ON t.price = o.price WHERE o.price > 100 ORDER BY 2",
    ] {
        let answer = viewer.sql(query);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, "application/vnd.apache.arrow.stream"),
            "{query}: {}",
            answer.text()
        );
        folder.write("answer.arrows", &answer.body);
        let rows = folder.ok(&["cat", "answer.arrows", "--as", "csv"]).out;
        assert_eq!(rows, "sym,price\nETH,2500.25\nBTC,44000.5\nBTC,44001.0\n", "{query}");
    }
    let none = viewer.sql("SELECT sym FROM trades WHERE price > 1e9");
    folder.write("none.arrows", &none.body);
    assert_eq!(folder.ok(&["cat", "none.arrows", "--as", "csv"]).out, "sym\n");
    assert_eq!(viewer.sql("SHOW TABLES").status, 200);
    assert_eq!(viewer.sql("DESCRIBE trades").status, 200);
    let wrong = viewer.sql("SELECT nothing FROM trades");
    assert_eq!((wrong.status, &wrong.json()["error"]["class"]), (400, &json!("request")), "{}", wrong.text());
    let late = viewer.sql("SELECT 1 / (quantity - 3) FROM trades");
    assert_eq!(late.status, 400, "{}", late.text());
    let query = "SELECT max(price) FROM other";
    let before = viewer.ask("POST", "api/plan", "", query.as_bytes()).json();
    assert_eq!(
        (&before["ran"], before["plan"].as_str().is_some_and(|p| p.contains("Exec"))),
        (&json!(false), true),
        "{before}"
    );
    let scan = "SELECT sum(price * 2) FROM other";
    assert_eq!(viewer.sql(scan).status, 200);
    let after = viewer.ask("POST", "api/plan", "", scan.as_bytes()).json();
    let size = folder.read("Other.lance").len();
    assert_eq!(
        (&after["ran"], &after["tables"][0]["name"], &after["tables"][0]["total"]),
        (&json!(true), &json!("Other"), &json!(size))
    );
    assert!(after["tables"][0]["bytes"].as_u64().is_some_and(|b| b > 0), "{after}");
}

/// The processor time that a process has used, in hundredths of a second.
#[cfg(target_os = "linux")]
fn processor_time(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

const NEVER_ENDS: &[u8] = b"SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.value * b.value = 3";

#[cfg(target_os = "linux")]
#[test]
fn a_query_ends_when_nobody_waits_for_it() {
    let folder = Folder::with_trades();
    let viewer = Viewer::start(&folder, &["trades.csv"]);
    let head = format!("POST /{}/api/sql HTTP/1.1\r\nHost: localhost:{}", viewer.token, viewer.port);
    let stream = viewer.send(&head, NEVER_ENDS);
    let process = viewer.child.id();
    let began = Instant::now();
    while processor_time(process) < 50 {
        assert!(began.elapsed() < Duration::from_secs(60), "the query does not run");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Others are answered meanwhile.
    assert_eq!(viewer.get("api/files").status, 200);
    drop(stream);
    let began = Instant::now();
    loop {
        let before = processor_time(process);
        std::thread::sleep(Duration::from_millis(500));
        if processor_time(process) - before <= 2 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "the query goes on");
    }
    assert_eq!(viewer.sql("SELECT 1").status, 200);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_at_once() {
    let folder = Folder::with_trades();
    let viewer = Viewer::start(&folder, &["trades.csv"]);
    assert_eq!(viewer.get("").status, 200);
    let head = format!("POST /{}/api/sql HTTP/1.1\r\nHost: localhost:{}", viewer.token, viewer.port);
    let _stream = viewer.send(&head, NEVER_ENDS);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(viewer.interrupt(), Some(130));
    assert_eq!(folder.names(), ["trades.csv"]);
}

#[test]
fn folders_patterns_and_compressed_files_are_files() {
    let folder = Folder::with_trades();
    std::fs::create_dir_all(folder.path("data/more")).unwrap();
    folder.ok(&["convert", "trades.csv", "data/a.lance"]);
    folder.ok(&["convert", "trades.csv", "data/b.csv.gz"]);
    folder.ok(&["convert", "trades.csv", "data/more/c.parquet"]);
    folder.write("data/notes.txt", "nothing to see");
    folder.write("data/.hidden.csv", "a\n1\n");
    let viewer = Viewer::start(&folder, &["data"]);
    let list = viewer.get("api/files").json();
    let names: Vec<&str> = list["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a.lance", "b.csv.gz", "more/c.parquet"]);
    assert_eq!(list["tables"], json!(["a", "b", "c", "data"]));
    // What is compressed is served as what is in it.
    assert_eq!(viewer.get("files/1").text(), folder.ok(&["cat", "data/b.csv.gz", "--as", "csv"]).out);
    for table in ["a", "b", "c"] {
        assert_eq!(viewer.sql(&format!("SELECT count(*) FROM {table}")).status, 200, "{table}");
    }
    let viewer = Viewer::start(&folder, &["data/*.*e*"]);
    assert_eq!(viewer.get("api/files").json()["files"].as_array().unwrap().len(), 1);
    let said = folder.run(&["view", "--json", "missing.csv"]);
    assert_eq!((said.code, super::run::error(&said)["code"].as_str()), (1, Some("not_found")));
}

#[test]
fn remote_files_are_read_through_the_library() {
    let folder = Folder::with_trades();
    let http = colkit_test_servers::Server::http(&folder.path("")).unwrap();
    let viewer = Viewer::start(&folder, &[&format!("{}/trades.csv", http.url())]);
    let list = viewer.get("api/files").json();
    assert_eq!((&list["files"][0]["name"], &list["files"][0]["bytes"]), (&json!("trades.csv"), &json!(TRADES.len())));
    http.take_log();
    assert_eq!(viewer.range(0, "bytes=4-8").text(), "price");
    let log = http.take_log();
    assert!(log.iter().any(|asked| asked.bytes == 5), "{log:?}");
    assert_eq!(viewer.sql("SELECT sum(quantity) FROM trades").status, 200);
}

#[test]
fn a_port_can_be_chosen_and_may_be_taken() {
    let folder = Folder::with_trades();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = folder.run(&["view", "--no-open", "--json", "--port", &port, "trades.csv"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(super::run::error(&said)["part"].as_str().unwrap().contains(&port), "{said:?}");
    drop(taken);
    let viewer = Viewer::start(&folder, &["--port", &port, "trades.csv"]);
    assert_eq!(viewer.port.to_string(), port);
}
