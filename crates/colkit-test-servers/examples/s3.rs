//! The S3-compatible server as a process, for tests that start others: serves a folder, writes a line for each request to a file,
//! and fails every so many of them if told to.
//!
//! ```text
//! s3 FOLDER LOG [FAIL_EVERY]
//! ```
//!
//! Prints its address. Ends when its standard input does.

use colkit_test_servers::Server;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, log) = match words.as_slice() {
        [folder, log, ..] => (Path::new(folder), Path::new(log)),
        _ => return Err(std::io::Error::other("expected FOLDER LOG [FAIL_EVERY]")),
    };
    let fail_every = words.get(2).and_then(|word| word.parse().ok()).unwrap_or(0);
    let server = if fail_every > 0 { Server::failing_s3(folder, fail_every)? } else { Server::s3(folder)? };
    let mut lines = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
    writeln!(std::io::stdout(), "{}", server.url())?;
    let ended = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    while !ended.is_finished() {
        for asked in server.take_log() {
            let range = asked.range.as_deref().unwrap_or("-");
            writeln!(lines, "{} {} {range} {} {}", asked.method, asked.path, asked.status, asked.bytes)?;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
