//! What a reader must be able to do, and the jobs that readers are given.

use crate::answer::{Answer, normal};
use crate::contest::{Contest, Entry, Job, Result};
use crate::{Bench, ipc, lance, ours, parquet, vortex};
use ::parquet::file::statistics::Statistics;
use serde_json::{Value, json};
use std::cell::OnceCell;

/// One tool with one kind of file.
pub trait Reader {
    fn name(&self) -> &'static str;
    /// How the name of its file ends, after the name of the table.
    fn file(&self) -> &'static str;
    fn open(&self, path: &str) -> Result<Box<dyn Open>>;

    /// One column of a file that was not open yet, by name (and place, for who needs it).
    fn open_and_scan(&self, path: &str, column: (&str, u32)) -> Result<Answer> {
        self.open(path)?.scan(Some(&[column.0]))
    }
}

/// A file that has been opened, ready to be asked again and again.
pub trait Open {
    /// Rows by number: sorted, without repeats (what every contestant takes).
    fn take(&self, rows: &[u64]) -> Result<Answer>;
    /// The whole table, or some columns of it.
    fn scan(&self, columns: Option<&[&str]>) -> Result<Answer>;
    /// Some columns of the rows in a range of values.
    fn filter(&self, columns: &[&str], range: &Range) -> Result<Answer>;
}

/// Rows whose `column` (64-bit integers) is between `low` and `high`, both included.
pub struct Range {
    pub column: &'static str,
    pub low: i64,
    pub high: i64,
}

/// What is asked of a reader.
enum Question {
    Take(Vec<Vec<u64>>),
    Scan(Option<Vec<&'static str>>),
    Filter(Vec<&'static str>, Range),
    OneColumn(&'static str, u32),
}

#[derive(Clone, Copy, PartialEq)]
enum When {
    /// The file has been open for a while.
    Open,
    /// Opening is part of the work.
    Anew,
    /// Opening is part of the work, and no page of the file is in memory.
    Evicted,
}

impl Question {
    fn ask(&self, file: &dyn Open, round: usize) -> Result<Answer> {
        match self {
            Question::Take(lists) => file.take(&lists[round]),
            Question::Scan(columns) => file.scan(columns.as_deref()),
            Question::Filter(columns, range) => file.filter(columns, range),
            Question::OneColumn(name, _) => file.scan(Some(&[name])),
        }
    }

    /// The same for the worker in Python.
    fn request(&self, path: &str, when: When, round: usize) -> Value {
        let anew = when != When::Open;
        match self {
            Question::Take(lists) => json!({"job": "take", "file": path, "anew": anew, "rows": lists[round]}),
            Question::Scan(columns) => json!({"job": "scan", "file": path, "anew": anew, "columns": columns}),
            Question::Filter(columns, Range { column, low, high }) => {
                json!({"job": "filter", "file": path, "anew": anew, "columns": columns, "column": column, "low": low, "high": high})
            }
            Question::OneColumn(name, _) => json!({"job": "scan", "file": path, "anew": true, "columns": [name]}),
        }
    }
}

/// The readers written in Rust, ours first.
fn readers(bench: &Bench) -> Vec<Box<dyn Reader>> {
    let ours = |name, file, mapped| Box::new(ours::Ours { name, file, mapped, views: false });
    let views = |name, file, mapped| Box::new(ours::Ours { name, file, mapped, views: true });
    let vortex = |name, mapped| {
        Box::new(vortex::Vortex { name, mapped, runtime: bench.runtime.clone(), session: bench.session.clone() })
    };
    vec![
        ours("colkit", ".colkit.lance", false),
        ours("colkit, mapped", ".colkit.lance", true),
        ours("colkit extended", ".extended.lance", false),
        ours("colkit extended, mapped", ".extended.lance", true),
        views("colkit extended, views", ".extended.lance", false),
        views("colkit extended, views, mapped", ".extended.lance", true),
        ours("colkit on Lance's file", ".lance", false),
        Box::new(lance::LanceFile { runtime: bench.runtime.clone() }),
        vortex("vortex", false),
        vortex("vortex, mapped", true),
        Box::new(parquet::Parquet),
        Box::new(ipc::Ipc),
    ]
}

/// Contestants in Python: name, tool, and the files they read.
const IN_PYTHON: [(&str, &str, &str); 5] = [
    ("pylance", "pylance", ".lance"),
    ("pylance on colkit's file", "pylance", ".colkit.lance"),
    ("duckdb", "duckdb", ".parquet"),
    ("polars", "polars", ".parquet"),
    ("pandas", "pandas", ".parquet"),
];

/// Everything that is read, from the files that the writing jobs left behind.
pub fn run(bench: &Bench, contest: &mut Contest) -> Result<()> {
    for table in ["lineitem", "vectors"] {
        let rows = u64::try_from(bench.known(table)?.file_metadata().num_rows())?;
        let takes = |count| Question::Take((0..contest.rounds).map(|r| random_rows(rows, count, r)).collect());
        let takes = [1, 100, 1000].map(|count| (count, takes(count)));
        ask(bench, contest, "scan", table, "scan", When::Open, &Question::Scan(None))?;
        for (count, take) in &takes {
            ask(bench, contest, "take", table, &format!("take {count}"), When::Open, take)?;
        }
        for (count, take) in &takes {
            ask(bench, contest, "open", table, &format!("open, take {count}"), When::Anew, take)?;
        }
        for (count, take) in &takes {
            ask(bench, contest, "cold", table, &format!("take {count}"), When::Evicted, take)?;
        }
    }
    for table in ["flights", "packages", "trades"] {
        ask(bench, contest, "scan", table, "scan", When::Open, &Question::Scan(None))?;
    }
    for (table, columns) in [
        ("flights", ["dep_delay", "distance"]),
        ("packages", ["Installed-Size", "Size"]),
        ("trades", ["price", "quantity"]),
    ] {
        let numbers = Question::Scan(Some(columns.to_vec()));
        ask(bench, contest, "scan", table, "scan of 2 columns", When::Open, &numbers)?;
    }
    let table = "lineitem";
    let numbers = Question::Scan(Some(vec!["l_partkey", "l_extendedprice"]));
    let texts = Question::Scan(Some(vec!["l_shipmode", "l_comment"]));
    ask(bench, contest, "scan", table, "scan of 2 columns", When::Open, &numbers)?;
    ask(bench, contest, "scan", table, "scan of 2 texts", When::Open, &texts)?;
    ask(bench, contest, "cold", table, "scan of 2 columns", When::Evicted, &numbers)?;
    for (job, column) in [("filter, sorted", "l_orderkey"), ("filter, unsorted", "l_partkey")] {
        let wanted = vec!["l_orderkey", "l_partkey", "l_extendedprice"];
        let question = Question::Filter(wanted, thousandth(bench, table, column)?);
        ask(bench, contest, "filter", table, job, When::Open, &question)?;
        ask(bench, contest, "cold", table, job, When::Evicted, &question)?;
    }
    ask(bench, contest, "open", "wide-1000", "open, 1 of 1000 columns", When::Anew, &Question::OneColumn("c500", 500))?;
    ask(
        bench,
        contest,
        "open",
        "wide-10000",
        "open, 1 of 10000 columns",
        When::Anew,
        &Question::OneColumn("c5000", 5000),
    )
}

fn ask(
    bench: &Bench,
    contest: &mut Contest,
    section: &str,
    table: &str,
    job: &str,
    when: When,
    question: &Question,
) -> Result<()> {
    let memory = when == When::Open && matches!(job, "scan" | "take 1000" | "filter, unsorted");
    let job = Job { section, table, job, memory };
    if !contest.wants(job) {
        return Ok(());
    }
    let path = |ending: &str| bench.file(table, ending);
    let mut entries: Vec<Entry> = Vec::new();
    for reader in readers(bench) {
        let path = path(reader.file());
        let evict = (when == When::Evicted).then(|| path.clone());
        let name = reader.name();
        let opened = OnceCell::new();
        let mut entry = Entry::new(name, move |round| match (when, question) {
            (_, Question::OneColumn(name, place)) => reader.open_and_scan(&path, (name, *place)),
            (When::Open, _) => {
                if opened.get().is_none() {
                    let _ = opened.set(reader.open(&path)?);
                }
                question.ask(opened.get().ok_or("not open")?.as_ref(), round)
            }
            _ => question.ask(reader.open(&path)?.as_ref(), round),
        });
        entry.evict = evict;
        entries.push(entry);
    }
    for (name, tool, ending) in IN_PYTHON {
        // To take rows, pandas reads the table; a file of Lance without a dataset has no filter.
        if matches!((tool, question), ("pandas", Question::Take(_)) | ("pylance", Question::Filter(_, _))) {
            continue;
        }
        let path = path(ending);
        let evict = (when == When::Evicted).then(|| path.clone());
        let mut entry = bench.python.entry(name, move |round| {
            let mut request = question.request(&path, when, round);
            request["tool"] = tool.into();
            request
        });
        entry.evict = evict;
        entries.push(entry);
    }
    contest.run(job, entries, &|answer| normal(answer, &crate::arrow_batches), None)
}

/// A range that about a thousandth of all rows is in, if values are spread evenly.
fn thousandth(bench: &Bench, table: &str, column: &'static str) -> Result<Range> {
    let known = bench.known(table)?;
    let columns = known.row_groups().iter().flat_map(|group| group.columns());
    let most = columns.filter(|c| c.column_path().string() == column).filter_map(|c| match c.statistics() {
        Some(Statistics::Int64(s)) => s.max_opt().copied(),
        _ => None,
    });
    let most = most.max().ok_or("no bounds")?;
    let low = most / 2;
    Ok(Range { column, low, high: low + most / 1000 })
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
