//! Writing tables from memory: time and size. The files stay, for those who read them.

use crate::answer::{Answer, Normal, normal};
use crate::contest::{Contest, Entry, Job, Result};
use crate::{Bench, arrow_batches, ipc, lance, ours, parquet, vortex};
use ::parquet::basic::{Compression, ZstdLevel};
use arrow::array::RecordBatch;
use colkit::lance::{EncodingSet, Prefer};
use serde_json::json;
use std::cell::OnceCell;

/// Tables whose writing is of interest; those of many columns are only read.
const TABLES: [&str; 5] = ["lineitem", "flights", "packages", "trades", "vectors"];
const WIDE: [&str; 2] = ["wide-1000", "wide-10000"];

/// Tools in Python, and how their files end.
const IN_PYTHON: [(&str, &str); 3] =
    [("duckdb", ".duckdb.parquet"), ("polars", ".polars.parquet"), ("pandas", ".pandas.parquet")];

/// A table in memory, for the versions of arrow that writers speak; loaded when the first one wants it.
struct Source {
    path: String,
    arrow59: OnceCell<Vec<RecordBatch>>,
    arrow58: OnceCell<Vec<arrow58::array::RecordBatch>>,
}

impl Source {
    fn arrow59(&self) -> Result<&[RecordBatch]> {
        if self.arrow59.get().is_none() {
            let _ = self.arrow59.set(arrow_batches(&self.path)?);
        }
        Ok(self.arrow59.get().ok_or("not loaded")?)
    }

    fn arrow58(&self) -> Result<&[arrow58::array::RecordBatch]> {
        if self.arrow58.get().is_none() {
            let reader = arrow58::ipc::reader::FileReader::try_new(std::fs::File::open(&self.path)?, None)?;
            let _ = self.arrow58.set(reader.collect::<std::result::Result<_, _>>()?);
        }
        Ok(self.arrow58.get().ok_or("not loaded")?)
    }
}

type Write<'a> = Box<dyn Fn(&str, &Source) -> Result<()> + 'a>;

/// The writers in Rust: name, how the file ends, what it does. Those whose files others read come first and are six.
fn writers(bench: &Bench) -> Vec<(&'static str, &'static str, Write<'_>)> {
    let with = |prefer, set| -> Write { Box::new(move |path, table| ours::write(path, table.arrow59()?, prefer, set)) };
    let ours = |prefer| with(prefer, EncodingSet::Stock);
    let vortex = |compact| -> Write {
        Box::new(move |path, table| vortex::write(&bench.session, &bench.runtime, path, table.arrow59()?, compact))
    };
    let parquet = |c| -> Write { Box::new(move |path, table| parquet::write(path, table.arrow59()?, c)) };
    vec![
        ("colkit", ".colkit.lance", ours(Prefer::default())),
        ("colkit extended", ".extended.lance", with(Prefer::default(), EncodingSet::Extended)),
        ("lance", ".lance", Box::new(|path, table| lance::write(&bench.runtime, path, table.arrow58()?))),
        ("vortex", ".vortex", vortex(false)),
        ("parquet", ".parquet", parquet(Compression::ZSTD(ZstdLevel::default()))),
        ("arrow ipc", ".ipc", Box::new(|path, table| ipc::write(path, table.arrow59()?))),
        ("colkit size", ".size.lance", ours(Prefer::Size)),
        ("colkit extended size", ".extended-size.lance", with(Prefer::Size, EncodingSet::Extended)),
        ("colkit speed", ".speed.lance", ours(Prefer::Speed)),
        ("colkit random-access", ".rows.lance", ours(Prefer::RandomAccess)),
        ("vortex compact", ".compact.vortex", vortex(true)),
        ("parquet snappy", ".snappy.parquet", parquet(Compression::SNAPPY)),
    ]
}

pub fn run(bench: &Bench, contest: &mut Contest) -> Result<()> {
    for table in TABLES {
        let path = bench.source(table);
        if !std::fs::exists(&path)? {
            continue;
        }
        let job = Job { section: "write", table, job: "write", memory: table == "lineitem" };
        if !contest.wants(job) {
            continue;
        }
        let source = Source { path: path.clone(), arrow59: OnceCell::new(), arrow58: OnceCell::new() };
        let mut entries = Vec::new();
        for (name, ending, write) in writers(bench) {
            let (out, source) = (bench.file(table, ending), &source);
            entries.push(Entry::new(name, move |_| {
                write(&out, source)?;
                Ok(Answer::File(out.clone()))
            }));
        }
        for (tool, ending) in IN_PYTHON {
            let (out, path) = (bench.file(table, ending), path.clone());
            entries.push(
                bench.python.entry(tool, move |_| json!({"tool": tool, "job": "write", "table": path, "out": out})),
            );
        }
        // The table itself is what every file must read back as. Loaded in advance, so that loading is nobody's time; alone,
        // a writer loads only what it needs.
        let expected = if contest.alone.is_some() {
            None
        } else {
            source.arrow58()?;
            Some(Normal::table(source.arrow59()?)?)
        };
        contest.run(job, entries, &|answer| normal(answer, &|path| read_back(bench, path)), expected)?;
    }
    Ok(())
}

/// The files that reading jobs need and no writing job made.
pub fn missing(bench: &Bench) -> Result<()> {
    for table in TABLES.into_iter().chain(WIDE) {
        let source = Source { path: bench.source(table), arrow59: OnceCell::new(), arrow58: OnceCell::new() };
        if !std::fs::exists(&source.path)? {
            continue;
        }
        for (_, ending, write) in writers(bench).into_iter().take(6) {
            let out = bench.file(table, ending);
            if !std::fs::exists(&out)? {
                let part = bench.file(table, &format!(".part{ending}"));
                write(&part, &source)?;
                std::fs::rename(part, out)?;
            }
        }
    }
    Ok(())
}

/// Every file is read by the crate of its format, never by who wrote it if that is Python.
fn read_back(bench: &Bench, path: &str) -> Result<Vec<RecordBatch>> {
    use crate::reading::Reader;
    let answer = match path.rsplit_once('.').map(|(_, ending)| ending) {
        // Nobody else reads these.
        Some("lance") if path.contains(".extended") => {
            ours::Ours { name: "colkit", file: "", mapped: false, views: false }.open(path)?.scan(None)?
        }
        Some("lance") => lance::LanceFile { runtime: bench.runtime.clone() }.open(path)?.scan(None)?,
        Some("vortex") => {
            let (runtime, session) = (bench.runtime.clone(), bench.session.clone());
            vortex::Vortex { name: "vortex", mapped: false, runtime, session }.open(path)?.scan(None)?
        }
        Some("parquet") => parquet::read(path)?,
        _ => Answer::Arrow59(arrow_batches(path)?),
    };
    match answer {
        Answer::Arrow59(batches) => Ok(batches),
        Answer::Arrow58(batches) => crate::answer::carried_over(&batches),
        _ => Err("not a table".into()),
    }
}
