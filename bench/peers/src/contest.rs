//! How contestants meet: everyone's answer is compared first, then they take turns, and the least cost of each counts.

use crate::answer::{Answer, Normal};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// One contestant of one job.
pub struct Entry<'a> {
    pub name: String,
    /// Does the job once; the number of the round chooses the rows where they differ.
    pub work: Box<dyn FnMut(usize) -> Result<Done> + 'a>,
    /// The file that is dropped from the page cache before each turn.
    pub evict: Option<String>,
}

impl<'a> Entry<'a> {
    pub fn new(name: impl Into<String>, mut work: impl FnMut(usize) -> Result<Answer> + 'a) -> Self {
        let work = Box::new(move |round| Ok(Done { answer: work(round)?, cost: None }));
        Entry { name: name.into(), work, evict: None }
    }

    fn turn(&mut self, round: usize) -> Result<(Answer, Cost)> {
        if let Some(path) = &self.evict {
            evict(path)?;
        }
        let (done, cost) = measured(|| (self.work)(round))?;
        Ok((done.answer, done.cost.unwrap_or(cost)))
    }
}

/// What a turn gave.
pub struct Done {
    pub answer: Answer,
    /// What it cost, if it was done in another process; else it is measured here.
    pub cost: Option<Cost>,
}

/// Wall and CPU seconds (all threads of the process), bytes that came from the disk, and page faults: memory that the
/// kernel had to clear or map.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub wall: f64,
    pub cpu: f64,
    pub disk: u64,
    pub faults: u64,
}

/// One row of the report to come.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub section: &'a str,
    pub table: &'a str,
    pub job: &'a str,
    /// Whether peak memory is of interest: every contestant is then run once more, in a process of its own.
    pub memory: bool,
}

/// Only this job and contestant, once, for its peak memory.
pub struct Alone {
    pub title: String,
    pub contestant: String,
}

pub struct Contest {
    pub rounds: usize,
    /// Seconds after which a contestant takes no further turn in a job: what takes long varies little.
    pub patience: f64,
    pub only: Option<String>,
    /// Only contestants whose names begin with one of these words, if there are any; their peak memory is left out.
    pub among: Vec<String>,
    pub alone: Option<Alone>,
    pub jobs: Vec<Value>,
    pub left_out: Vec<String>,
}

impl Contest {
    /// Whether anything of this job is to be done now.
    pub fn wants(&self, job: Job) -> bool {
        let title = title(job);
        match (&self.alone, &self.only) {
            (Some(alone), _) => alone.title == title,
            (None, Some(word)) => title.contains(word.as_str()),
            (None, None) => true,
        }
    }

    /// Whether this contestant takes part.
    pub fn admits(&self, name: &str) -> bool {
        self.among.is_empty() || self.among.iter().any(|word| name.starts_with(word.as_str()))
    }

    /// Runs a job. `normal` brings answers into a form in which they can be compared; `expected` is what they must be,
    /// or the first contestant's answer. The first contestant is ours: it must not fail. A peer that fails or answers
    /// differently is left out, and that is said.
    pub fn run(
        &mut self,
        job: Job,
        mut entries: Vec<Entry>,
        normal: &dyn Fn(Answer) -> Result<Normal>,
        mut expected: Option<Normal>,
    ) -> Result<()> {
        if !self.wants(job) {
            return Ok(());
        }
        let title = title(job);
        entries.retain(|entry| self.admits(&entry.name));
        if let Some(alone) = &self.alone {
            let entry = entries.iter_mut().find(|e| e.name == alone.contestant).ok_or("no such contestant")?;
            std::hint::black_box((entry.work)(0)?);
            println!("{}", peak_memory());
            return Ok(());
        }
        eprintln!("{title}");
        let (mut sizes, mut costs) = (Vec::new(), Vec::new());
        let mut index = 0;
        while let Some(entry) = entries.get_mut(index) {
            let checked = entry.turn(0).and_then(|(done, cost)| {
                let size = done.size();
                Ok((normal(done)?, size, cost))
            });
            let wrong = match checked {
                Ok((answer, size, cost)) if expected.as_ref().is_none_or(|e| *e == answer) => {
                    expected.get_or_insert(answer);
                    sizes.push(size);
                    costs.push(vec![cost]);
                    None
                }
                Ok((answer, _, _)) => Some(format!(
                    "{} answers differently{}",
                    entry.name,
                    expected.as_ref().map_or(String::new(), |e| e.unlike(&answer))
                )),
                Err(error) => Some(format!("{} fails: {error}", entry.name)),
            };
            match wrong {
                None => index += 1,
                Some(what) if entry.name.starts_with("colkit") => return Err(format!("{title}: {what}").into()),
                Some(what) => {
                    let what = format!("{title}: {}", what.chars().take(300).collect::<String>());
                    eprintln!("  left out: {what}");
                    self.left_out.push(what);
                    entries.remove(index);
                }
            }
        }
        drop(expected);
        for round in 1..=self.rounds {
            let mut turns: Vec<_> = entries.iter_mut().zip(&mut costs).collect();
            // There and back again: who comes before leaves memory and caches behind, for better or worse.
            if round % 2 == 0 {
                turns.reverse();
            }
            for (entry, costs) in turns {
                // The first turn made everybody's memory and files warm; it does not use up patience.
                if costs.iter().skip(1).map(|c| c.wall).sum::<f64>() < self.patience {
                    costs.push(entry.turn(round - 1)?.1);
                }
            }
        }
        let mut results = Vec::new();
        for ((entry, costs), size) in entries.iter().zip(&costs).zip(sizes) {
            let best = best_of(costs);
            let mut result =
                json!({"contestant": entry.name, "wall": best.wall, "cpu": best.cpu, "faults": best.faults});
            if entry.evict.is_some() {
                result["disk"] = best.disk.into();
            }
            if let Some(size) = size {
                result["size"] = size.into();
            }
            // What some contestants need tells little.
            if job.memory && self.among.is_empty() {
                result["peak"] = alone(&title, &entry.name)?.into();
            }
            eprintln!(
                "  {:<28} {:>10}  CPU {:>10}  {:>8} faults",
                entry.name,
                shown(best.wall),
                shown(best.cpu),
                best.faults
            );
            results.push(result);
        }
        self.jobs.push(json!({"section": job.section, "table": job.table, "job": job.job, "results": results}));
        Ok(())
    }
}

fn title(job: Job) -> String {
    format!("{}: {}: {}", job.section, job.table, job.job)
}

/// Runs this program again for one job and contestant; its peak memory.
fn alone(title: &str, contestant: &str) -> Result<u64> {
    let program = std::env::current_exe()?;
    let output = Command::new(program).args(std::env::args().skip(1)).args(["--alone", title, contestant]).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let last = said.lines().last().unwrap_or_default();
    last.parse().map_err(|_| format!("{title}: {contestant} alone: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// The most memory this process ever held, or that the worker it used did, in bytes.
fn peak_memory() -> u64 {
    let ours = status_line("VmHWM:");
    crate::python::peak().unwrap_or(ours)
}

fn status_line(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

pub fn measured<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Cost)> {
    let (disk, faults, cpu, start) = (bytes_from_disk(), page_faults(), cpu_seconds(), Instant::now());
    let answer = work()?;
    let wall = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu;
    Ok((answer, Cost { wall, cpu, disk: bytes_from_disk() - disk, faults: page_faults() - faults }))
}

fn page_faults() -> u64 {
    // SAFETY: all zeros are a valid `rusage`, which the call only writes.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    u64::try_from(usage.ru_minflt + usage.ru_majflt).unwrap_or(0)
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call, which only writes it.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn bytes_from_disk() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("read_bytes: "));
    line.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Drops the file from the page cache.
fn evict(path: &str) -> Result<()> {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open(path)?;
    file.sync_all()?;
    // SAFETY: a call on an open descriptor, which touches no memory of ours.
    let failed = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if failed == 0 { Ok(()) } else { Err("posix_fadvise refused".into()) }
}

/// The least of each, since noise only ever adds; of bytes and faults the middle, since rows differ from round to round.
fn best_of(costs: &[Cost]) -> Cost {
    let least = |f: fn(&Cost) -> f64| costs.iter().map(f).fold(f64::MAX, f64::min);
    let middle = |f: fn(&Cost) -> u64| {
        let mut all: Vec<u64> = costs.iter().map(f).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    Cost { wall: least(|c| c.wall), cpu: least(|c| c.cpu), disk: middle(|c| c.disk), faults: middle(|c| c.faults) }
}

fn shown(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}
