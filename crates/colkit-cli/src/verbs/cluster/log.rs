//! What a process of a cluster tells on stderr: a line each, with the time.

use crate::args::LogLevel;
use colkit::arrow::temporal_conversions::timestamp_ms_to_datetime;
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

struct Lines {
    role: &'static str,
    level: LevelFilter,
}

/// Tells from now on what is at least so important. Of what the libraries say, a step more.
pub fn start(level: LogLevel, role: &'static str) {
    let level = match level {
        LogLevel::Error => LevelFilter::Error,
        LogLevel::Warn => LevelFilter::Warn,
        LogLevel::Info => LevelFilter::Info,
        LogLevel::Debug => LevelFilter::Debug,
    };
    log::set_max_level(level);
    let _ = log::set_boxed_logger(Box::new(Lines { role, level }));
}

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let ours = metadata.target().starts_with("colkit");
        // Ballista tells of every task at the level of information.
        let enough = if ours || self.level > Level::Info { self.level } else { self.level.min(LevelFilter::Warn) };
        metadata.level() <= enough
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let now = i64::try_from(now).ok().and_then(timestamp_ms_to_datetime);
        let now = now.map(|now| now.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()).unwrap_or_default();
        let (level, text) = (record.level(), crate::escape::one_line(&record.args().to_string()).into_owned());
        let _ = writeln!(std::io::stderr().lock(), "{now} {level} {}: {text}", self.role);
    }

    fn flush(&self) {}
}
