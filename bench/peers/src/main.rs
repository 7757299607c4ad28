//! colkit beside the tools people use today: the same jobs, in turns, on the same data.
//!
//!     colkit-peers FOLDER --python PYTHON --worker bench/python_peers.py --out bench/results/NAME.json [--quick]
//!         [--only WORDS] [--among NAME,...]
//!
//! FOLDER holds the data that `bench/data.py` makes; files that contestants write lie in FOLDER/files. `--only` runs the
//! jobs whose title contains the words, such as "take: lineitem", `--among` contestants whose names begin so; `--quick` repeats less. Answers are compared before time
//! counts.

mod answer;
mod bare;
mod contest;
mod ipc;
mod lance;
mod ours;
mod parquet;
mod python;
mod reading;
mod text;
mod vortex;
mod writing;

use arrow::array::RecordBatch;
use contest::{Alone, Contest, Result};
use python::Python;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// What all jobs share.
pub struct Bench {
    pub folder: String,
    pub runtime: Arc<tokio::runtime::Runtime>,
    pub session: ::vortex::session::VortexSession,
    pub python: Python,
}

impl Bench {
    /// The table as everyone gets it.
    pub fn source(&self, table: &str) -> String {
        format!("{}/{table}.arrow", self.folder)
    }

    /// A file that a contestant writes.
    pub fn file(&self, table: &str, ending: &str) -> String {
        format!("{}/files/{table}{ending}", self.folder)
    }

    /// What its Parquet file knows about a table, which costs no memory.
    pub fn known(&self, table: &str) -> Result<::parquet::file::metadata::ParquetMetaData> {
        let file = std::fs::File::open(self.file(table, ".parquet"))?;
        Ok(::parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(&file)?)
    }

    /// The names of the texts to be packed, sorted.
    pub fn texts(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(format!("{}/text", self.folder))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.ends_with(".part") && !name.ends_with(".json") {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// All batches of an Arrow file.
pub fn arrow_batches(path: &str) -> Result<Vec<RecordBatch>> {
    let reader = arrow::ipc::reader::FileReader::try_new_buffered(std::fs::File::open(path)?, None)?;
    Ok(reader.collect::<std::result::Result<_, _>>()?)
}

/// A file mapped into memory.
pub fn mapped(path: &str) -> Result<bytes::Bytes> {
    // SAFETY: nobody changes the file while the benchmark runs.
    let map = unsafe { memmap2::Mmap::map(&std::fs::File::open(path)?)? };
    Ok(bytes::Bytes::from_owner(map))
}

fn main() -> Result<()> {
    let began = Instant::now();
    let mut words = std::env::args().skip(1);
    let (mut folder, mut python, mut worker, mut out) = (None, "python3".to_owned(), None, None);
    let (mut quick, mut only, mut among, mut alone) = (false, None, Vec::new(), None);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--python" => python = next()?,
            "--worker" => worker = Some(next()?),
            "--out" => out = Some(next()?),
            "--quick" => quick = true,
            "--only" => only = Some(next()?),
            "--among" => among = next()?.split(',').map(str::to_owned).collect(),
            "--alone" => alone = Some(Alone { title: next()?, contestant: next()? }),
            _ => folder = Some(word),
        }
    }
    let (folder, worker, out) = (folder.ok_or("which folder?")?, worker.ok_or("--worker?")?, out.ok_or("--out?")?);
    let rounds = if quick { 3 } else { 7 };
    std::fs::create_dir_all(format!("{folder}/files"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let runtime = Arc::new(runtime);
    let session = vortex::session(&runtime);
    let bench = Bench { python: Python::new(&python, &worker, &folder), folder, runtime, session };
    let patience = if quick { 1.0 } else { 5.0 };
    let mut contest = Contest { rounds, patience, only, among, alone, jobs: Vec::new(), left_out: Vec::new() };
    writing::run(&bench, &mut contest)?;
    writing::missing(&bench)?;
    reading::run(&bench, &mut contest)?;
    text::run(&bench, &mut contest)?;
    bare::run(&mut contest, if quick { 200_000 } else { 1_000_000 })?;
    if contest.alone.is_some() {
        return Ok(());
    }
    let name = Path::new(&out).file_stem().map(|n| n.to_string_lossy().into_owned());
    let mut left_out: Vec<String> = match std::fs::read(format!("{}/left_out.json", bench.folder)) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(_) => Vec::new(),
    };
    left_out.append(&mut contest.left_out);
    let report = json!({
        "name": name, "made": said("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]), "commit": commit(), "machine": machine(),
        "versions": versions(&bench)?, "rounds": rounds, "seconds": began.elapsed().as_secs_f64().round(),
        "tables": tables(&bench)?, "left_out": left_out, "jobs": contest.jobs,
    });
    if let Some(folder) = Path::new(&out).parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&out, serde_json::to_string_pretty(&report)? + "\n")?;
    Ok(())
}

/// What a command prints, if it can be run.
fn said(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
}

fn commit() -> String {
    let changed = !said("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    said("git", &["rev-parse", "--short", "HEAD"]) + if changed { "+" } else { "" }
}

fn machine() -> Value {
    let first = |path: &str, name: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default().to_owned();
        line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let memory = first("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024;
    json!({"cpu": first("/proc/cpuinfo", "model name"), "cores": colkit::available_threads(), "memory_bytes": memory,
        "system": said("uname", &["-srm"])})
}

/// Versions of all contestants: crates as this program was built, packages as the worker has them.
fn versions(bench: &Bench) -> Result<Value> {
    let lock = include_str!("../Cargo.lock");
    let mut versions = bench.python.ask(&json!({"job": "versions"}))?["versions"].clone();
    for name in ["colkit", "lance-file", "vortex", "parquet", "arrow", "at1", "libdeflater", "liblzma", "zstd"] {
        let entry = lock.split("[[package]]").filter(|e| e.contains(&format!("name = \"{name}\"\n"))).last();
        let version = entry.and_then(|e| e.split_once("version = \"")).and_then(|(_, rest)| rest.split('"').next());
        versions[name] = version.into();
    }
    versions["rustc"] = said("rustc", &["--version"]).into();
    Ok(versions)
}

fn tables(bench: &Bench) -> Result<Value> {
    let mut tables = json!({});
    for name in ["lineitem", "flights", "packages", "trades", "vectors", "wide-1000", "wide-10000"] {
        if std::fs::exists(bench.source(name))? {
            let batches = arrow_batches(&bench.source(name))?;
            // Without compression, the file is what the table has in memory.
            let bytes = std::fs::metadata(bench.source(name))?.len();
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            tables[name] =
                json!({"rows": rows, "columns": batches.first().map(RecordBatch::num_columns), "bytes": bytes});
        }
    }
    let texts = bench.texts()?.into_iter().map(|name| (format!("text/{name}"), name));
    for (path, name) in texts.chain([("table.csv".to_owned(), "table.csv".to_owned())]) {
        tables[name] = json!({"bytes": std::fs::metadata(format!("{}/{path}", bench.folder))?.len()});
    }
    Ok(tables)
}
