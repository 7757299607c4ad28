//! Serves the folders in FOLDER as buckets of S3 and over HTTP, and prints what is asked: to try commands by hand.
//!
//! ```text
//! serve FOLDER
//! ```

#![allow(clippy::print_stdout, reason = "a program to be run by hand")]

use colkit_test_servers::Server;
use std::path::PathBuf;
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let (s3, http) = (Server::s3(&folder)?, Server::http(&folder)?);
    for (name, value) in s3.s3_environment() {
        println!("export {name}={value}");
    }
    println!("# {}", http.url());
    loop {
        for (name, server) in [("s3", &s3), ("http", &http)] {
            for asked in server.take_log() {
                let range = asked.range.as_deref().unwrap_or("-");
                println!("{name} {} {} {range} {} {}", asked.method, asked.path, asked.status, asked.bytes);
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
