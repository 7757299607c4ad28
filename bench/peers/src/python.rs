//! Contestants in Python: one worker process that is asked one thing at a time, over its standard input.
//!
//! It measures its own time, so that neither the interpreter nor the pipe counts.

use crate::answer::Answer;
use crate::contest::{Cost, Done, Entry, Result};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

static PEAK: AtomicU64 = AtomicU64::new(0);

/// The most memory that the worker held, if it did anything.
pub fn peak() -> Option<u64> {
    Some(PEAK.load(Ordering::Relaxed)).filter(|p| *p > 0)
}

/// The worker, started when it is first needed.
#[derive(Clone)]
pub struct Python {
    command: Rc<[String; 2]>,
    running: Rc<RefCell<Option<Worker>>>,
    /// Where answers are put when they are to be compared.
    kept: String,
}

struct Worker {
    _process: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Python {
    pub fn new(python: &str, script: &str, folder: &str) -> Self {
        let kept = format!("{folder}/python-{}.arrow", std::process::id());
        Python { command: Rc::new([python.into(), script.into()]), running: Rc::default(), kept }
    }

    pub fn ask(&self, request: &Value) -> Result<Value> {
        let mut running = self.running.borrow_mut();
        let worker = match &mut *running {
            Some(worker) => worker,
            none => none.insert(self.start()?),
        };
        writeln!(worker.ask, "{request}")?;
        worker.ask.flush()?;
        let mut line = String::new();
        worker.answers.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line).map_err(|_| format!("the worker ended at {request}"))?;
        if let Some(peak) = answer["peak"].as_u64() {
            PEAK.store(peak, Ordering::Relaxed);
        }
        match answer["error"].as_str() {
            Some(error) => Err(error.into()),
            None => Ok(answer),
        }
    }

    fn start(&self) -> Result<Worker> {
        let mut process = Command::new(&self.command[0])
            .arg(&self.command[1])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ask = process.stdin.take().ok_or("no standard input")?;
        let answers = BufReader::new(process.stdout.take().ok_or("no standard output")?);
        Ok(Worker { _process: process, ask, answers })
    }

    /// A contestant whose request for each round is made by `request`. The first turn of all is the one that is
    /// compared, so its answer is kept.
    pub fn entry<'a>(&self, name: &str, request: impl Fn(usize) -> Value + 'a) -> Entry<'a> {
        let (python, mut compared) = (self.clone(), false);
        let work = Box::new(move |round| {
            let mut request = request(round);
            if !std::mem::replace(&mut compared, true) && request["out"].is_null() {
                request["keep"] = json!(python.kept);
            }
            let said = python.ask(&request)?;
            let number = |key: &str| said[key].as_f64().ok_or("no cost");
            let count = |name: &str| said[name].as_u64().unwrap_or(0);
            let cost =
                Cost { wall: number("wall")?, cpu: number("cpu")?, disk: count("disk"), faults: count("faults") };
            let answer = match (request["out"].as_str(), request["keep"].as_str()) {
                (Some(path), _) => Answer::File(path.into()),
                (None, Some(path)) => {
                    let batches = crate::arrow_batches(path)?;
                    std::fs::remove_file(path)?;
                    Answer::Arrow59(batches)
                }
                (None, None) => Answer::Elsewhere,
            };
            Ok(Done { answer, cost: Some(cost) })
        });
        Entry { name: name.into(), work, evict: None }
    }
}
