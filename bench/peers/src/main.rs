//! Reading columnar files: colkit beside the tools people use today, in one process, taking turns.
//!
//!     colkit-peers FOLDER [--rounds N] [--json FILE] [--only WORD]
//!
//! FOLDER holds the tables that `bench/read_data.py` makes; what colkit and Vortex need is written beside them. Every
//! contestant's answer is compared with the others' before its time counts.

mod contest;
mod ipc;
mod lance;
mod ours;
mod parquet;
mod vortex;

use contest::{Contestant, Cost, Open, Result, evict, measured};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// A file mapped into memory.
pub fn mapped(path: &str) -> Result<bytes::Bytes> {
    // SAFETY: nobody changes the file while the benchmark runs.
    let map = unsafe { memmap2::Mmap::map(&std::fs::File::open(path)?)? };
    Ok(bytes::Bytes::from_owner(map))
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let (mut folder, mut rounds, mut json_file, mut only) = (None, 9, None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => rounds = words.next().ok_or("--rounds N")?.parse()?,
            "--json" => json_file = Some(words.next().ok_or("--json FILE")?),
            "--only" => only = Some(words.next().ok_or("--only WORD")?),
            _ => folder = Some(word),
        }
    }
    let folder = folder.ok_or("which folder?")?;
    let runtime = Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?);
    let session = vortex::session(&runtime);
    for table in ["lineitem", "vectors", "wide"] {
        make_ours(&format!("{folder}/{table}"))?;
        let path = format!("{folder}/{table}.vortex");
        if !Path::new(&path).exists() {
            let part = format!("{path}.part");
            vortex::write(&session, &runtime, &part, arrow_batches(&format!("{folder}/{table}.arrow"))?, false)?;
            std::fs::rename(part, path)?;
        }
    }

    let lance = |name, file| Box::new(lance::LanceFile { name, file, runtime: runtime.clone() });
    let ours = |name, file, mapped| Box::new(ours::Ours { name, file, mapped });
    let vortex =
        |name, mapped| Box::new(vortex::Vortex { name, mapped, runtime: runtime.clone(), session: session.clone() });
    let contestants: Vec<Box<dyn Contestant>> = vec![
        ours("colkit", ".colkit.lance", false),
        ours("colkit, mapped", ".colkit.lance", true),
        ours("colkit on Lance 2.1", "-2.1.lance", false),
        ours("colkit on Lance 2.2", "-2.2.lance", false),
        ours("colkit on Lance 2.2, mapped", "-2.2.lance", true),
        lance("lance on Lance 2.1", "-2.1.lance"),
        lance("lance on Lance 2.2", "-2.2.lance"),
        vortex("vortex", false),
        vortex("vortex, mapped", true),
        Box::new(parquet::Parquet),
        Box::new(ipc::Ipc),
    ];
    let mut bench = Bench { folder, rounds, only, contestants, report: Vec::new() };
    for (table, rows) in [("lineitem", None), ("vectors", Some(100_000))] {
        let rows = match rows {
            Some(rows) => rows,
            None => bench.rows(table)?,
        };
        for count in [1, 100, 1000] {
            let lists = (0..rounds).map(|round| random_rows(rows, count, round)).collect::<Vec<_>>();
            bench.run(table, &format!("take {count}"), When::Open, |file, round| file.take(&lists[round]))?;
            bench.run(table, &format!("open, take {count}"), When::Anew, |file, round| file.take(&lists[round]))?;
            bench
                .run(table, &format!("evicted, take {count}"), When::Evicted, |file, round| file.take(&lists[round]))?;
        }
        bench.run(table, "scan", When::Open, |file, _| file.scan(None))?;
    }
    bench.run("lineitem", "scan of 2 numbers", When::Open, |f, _| f.scan(Some(&["l_partkey", "l_extendedprice"])))?;
    bench.run("lineitem", "scan of 2 texts", When::Open, |f, _| f.scan(Some(&["l_shipmode", "l_comment"])))?;
    bench.run("wide", "open, 1 of 10,000 columns", When::AnewOneColumn, |f, _| f.scan(Some(&["c5000"])))?;
    if let Some(path) = json_file {
        std::fs::write(path, serde_json::to_string_pretty(&bench.report)?)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum When {
    /// The file has been open for a while.
    Open,
    /// Opening is part of the work.
    Anew,
    /// So it is, and only one column is wanted, known in advance.
    AnewOneColumn,
    /// Opening is part of the work, and no page of the file is in memory.
    Evicted,
}

struct Bench {
    folder: String,
    rounds: usize,
    only: Option<String>,
    contestants: Vec<Box<dyn Contestant>>,
    report: Vec<Value>,
}

impl Bench {
    fn rows(&self, table: &str) -> Result<u64> {
        let file = std::fs::File::open(format!("{}/{table}.parquet", self.folder))?;
        let metadata = ::parquet::file::metadata::ParquetMetaDataReader::new().parse_and_finish(&file)?;
        Ok(u64::try_from(metadata.file_metadata().num_rows())?)
    }

    fn run<W>(&mut self, table: &str, job: &str, when: When, work: W) -> Result<()>
    where
        W: Fn(&dyn Open, usize) -> Result<contest::Answer>,
    {
        let title = format!("{table}, {job}");
        if self.only.as_ref().is_some_and(|word| !title.contains(word.as_str())) {
            return Ok(());
        }
        let paths: Vec<_> = self.contestants.iter().map(|c| format!("{}/{table}{}", self.folder, c.file())).collect();
        let open = self.contestants.iter().zip(&paths).map(|(c, p)| c.open(p)).collect::<Result<Vec<_>>>()?;
        let mut expected = None;
        for (contestant, file) in self.contestants.iter().zip(&open) {
            let answer = work(file.as_ref(), 0)?.plain()?;
            match &expected {
                None => expected = Some(answer),
                Some(other) if *other == answer => {}
                Some(_) => return Err(format!("{title}: {} answers differently", contestant.name()).into()),
            }
        }
        drop(expected);
        let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); open.len()];
        for round in 0..self.rounds {
            for (index, contestant) in self.contestants.iter().enumerate() {
                let path = &paths[index];
                if when == When::Evicted {
                    evict(path)?;
                }
                let (answer, cost) = match when {
                    When::Open => measured(|| work(open[index].as_ref(), round))?,
                    When::AnewOneColumn => measured(|| contestant.open_and_scan(path, ("c5000", 5000)))?,
                    _ => measured(|| work(contestant.open(path)?.as_ref(), round))?,
                };
                std::hint::black_box(answer.rows());
                drop(answer);
                costs[index].push(cost);
            }
        }
        println!(
            "\n## {title}\n\n| contestant | wall | CPU | wall / colkit | CPU / colkit | from disk |\n|---|---|---|---|---|---|"
        );
        let best: Vec<Cost> = costs.iter().map(|c| best_of(c)).collect();
        for (contestant, cost) in self.contestants.iter().zip(&best) {
            println!(
                "| {} | {} | {} | {:.2} | {:.2} | {} |",
                contestant.name(),
                shown(cost.wall),
                shown(cost.cpu),
                cost.wall / best[0].wall,
                cost.cpu / best[0].cpu,
                cost.disk
            );
            self.report.push(json!({ "table": table, "job": job, "contestant": contestant.name(), "wall": cost.wall,
                "cpu": cost.cpu, "disk_bytes": cost.disk }));
        }
        Ok(())
    }
}

/// The least of each: noise only ever adds.
fn best_of(costs: &[Cost]) -> Cost {
    let least = |f: fn(&Cost) -> f64| costs.iter().map(f).fold(f64::MAX, f64::min);
    let mut disk: Vec<u64> = costs.iter().map(|c| c.disk).collect();
    disk.sort_unstable();
    Cost { wall: least(|c| c.wall), cpu: least(|c| c.cpu), disk: disk[disk.len() / 2] }
}

fn shown(seconds: f64) -> String {
    if seconds < 1e-3 { format!("{:.0} us", seconds * 1e6) } else { format!("{:.2} ms", seconds * 1e3) }
}

/// Distinct sorted row numbers, the same for every contestant.
fn random_rows(rows: u64, count: usize, round: usize) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(round as u64 + 1);
    let mut picked = std::collections::BTreeSet::new();
    while picked.len() < count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        picked.insert((state >> 20) % rows);
    }
    picked.into_iter().collect()
}

fn arrow_batches(path: &str) -> Result<Vec<arrow::array::RecordBatch>> {
    let reader = arrow::ipc::reader::FileReader::try_new(std::fs::File::open(path)?, None)?;
    Ok(reader.collect::<std::result::Result<_, _>>()?)
}

/// colkit's own Lance file, as it writes by default.
fn make_ours(table: &str) -> Result<()> {
    use colkit_core::{FileSink, Format, WriteOptions};
    // Made anew each time: the writer is what changes.
    let path = format!("{table}.colkit.lance");
    let batches = arrow_batches(&format!("{table}.arrow"))?;
    let schema = batches.first().ok_or("no batch")?.schema();
    let mut writer =
        colkit_lance::Lance::new().writer(schema, Box::new(FileSink::create(&path)?), &WriteOptions::default())?;
    for batch in &batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(())
}
