//! `convert --cluster`: many files to many files, each by a task of its own.

use crate::args::ConvertArgs;
use crate::human::{bytes, plural, share};
use crate::verbs::sql::QueryRuntime;
use crate::{Io, Outcome, Stream};
use colkit::store::Stores;
use colkit::{Error, Input, Result, check_target};
use colkit_cluster::{Cluster, Converted, Converter, Folders, Part};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What stands for the name of the input in the name of the output.
const NAME: &str = "{}";

/// Options that an executor decides about, or that are about the command and not about files.
const NOT_SENT: [&str; 8] = ["cluster", "force", "json", "memory", "threads", "limit", "plugin", "allow"];

/// Options that mean something else, or nothing, when files are converted one by one.
const NOT_HERE: [&str; 8] =
    ["split_rows", "append", "overwrite", "at", "with_row_id", "row_ids", "filename", "base_path"];

pub fn run(args: &ConvertArgs, address: &str, io: &mut Io) -> Result<Outcome> {
    let began = Instant::now();
    let options = args.given.others(&NOT_SENT);
    if let Some((name, _)) = options.iter().find(|(name, _)| NOT_HERE.contains(&name.as_str())) {
        let what = format!("--{} does not go with --cluster", name.replace('_', "-"));
        return Err(Error::request("conflicting_options", what));
    }
    let runtime = QueryRuntime::start(args.reading.thread_count())?;
    let parts = parts(args, &runtime)?;
    let tls = super::tls(args.cluster_tls.as_deref())?;
    let cluster = runtime.block_on(Cluster::connect(address, tls.as_ref()))?;
    cluster.check_executors()?;
    for part in &parts {
        check_target(Path::new(&part.output), args.force.existing())?;
    }
    let process = super::process(args.reading.clone()).with_tls(tls);
    let files = parts.len() as u64;
    writeln!(
        io.stderr,
        "{} to convert on {}",
        plural(files, "file"),
        plural(cluster.about().executors.len() as u64, "executor")
    )?;
    let converted = runtime.block_on(async {
        tokio::select! {
            () = super::asked_to_stop() => {
                Err(Error::io("interrupted", "this command was stopped; the cluster goes on with the conversion"))
            }
            done = cluster.convert(parts, options, &process) => done,
        }
    });
    tell(args, &converted?, began.elapsed().as_secs_f64(), io)?;
    Ok(Outcome::Success)
}

/// Which file becomes which.
fn parts(args: &ConvertArgs, runtime: &QueryRuntime) -> Result<Vec<Part>> {
    let output = args.output.to_str().filter(|output| output.contains(NAME)).ok_or_else(|| {
        let what = "on a cluster, each input becomes a file of its own, so the output needs a place for its name";
        Error::request("bad_output", what)
            .file(args.output.display().to_string())
            .hint("such as 's3://bucket/out/{}.lance'")
    })?;
    let mut inputs = Vec::new();
    let plain = |e: colkit_sql::datafusion::error::DataFusionError| colkit_sql::plain(&e);
    let session = colkit_sql::SessionOptions::new().start().map_err(plain)?;
    for pattern in &args.inputs {
        inputs.extend(match pattern.to_str().filter(|name| colkit::store::is_url(name)) {
            Some(url) => runtime.block_on(colkit_sql::files_at(url, &session.state())).map_err(plain)?,
            None => Input::list(pattern)?,
        });
    }
    let whole = |path: &PathBuf| match path.to_str() {
        Some(text) if text.contains("://") => Ok(text.to_owned()),
        _ => {
            let absolute = std::path::absolute(path)?;
            let text = absolute.to_str().map(str::to_owned);
            text.ok_or_else(|| {
                Error::unsupported("not_on_cluster", "its name is not UTF-8").file(path.display().to_string())
            })
        }
    };
    let inputs = inputs.iter().map(whole).collect::<Result<Vec<String>>>()?;
    let output = whole(&PathBuf::from(output))?;
    let above = common_folder(&inputs);
    let mut outputs: BTreeMap<String, String> = BTreeMap::new();
    let mut parts = Vec::new();
    for input in inputs {
        let name = input.get(above..).unwrap_or(&input);
        let (folder, file) = name.rsplit_once('/').map_or(("", name), |(folder, file)| (folder, file));
        let stem = file.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(file);
        let name = if folder.is_empty() { stem.to_owned() } else { format!("{folder}/{stem}") };
        let output = output.replace(NAME, &name);
        if let Some(other) = outputs.insert(output.clone(), input.clone()) {
            let what = format!("{other} and {input} would both become this file");
            return Err(Error::request("same_output", what).file(output));
        }
        parts.push(Part { input, output });
    }
    Ok(parts)
}

/// How much of all names is the folder that they have in common.
fn common_folder(names: &[String]) -> usize {
    let Some(first) = names.first() else { return 0 };
    let folder = |name: &str| name.rfind('/').map_or(0, |slash| slash + 1);
    names.iter().fold(folder(first), |common, name| {
        // Characters, not bytes: names may differ within one.
        let same =
            first.chars().zip(name.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum::<usize>();
        folder(first.get(..same.min(common)).unwrap_or_default())
    })
}

fn tell(args: &ConvertArgs, converted: &[Converted], seconds: f64, io: &mut Io) -> Result<()> {
    let sum = |of: fn(&Converted) -> u64| converted.iter().map(of).sum::<u64>();
    let (rows, before, after) = (sum(|c| c.rows), sum(|c| c.input_bytes), sum(|c| c.output_bytes));
    let output = args.output.display().to_string();
    if args.script.json {
        let document = json!({
            "output": output, "rows": rows, "files": converted.len(), "input_bytes": before, "output_bytes": after,
            "seconds": seconds,
        });
        writeln!(io.stdout, "{document}")?;
        return Ok(());
    }
    let files = plural(converted.len() as u64, "file");
    let (size, share) = (bytes(after), share(after, before));
    writeln!(
        io.stderr,
        "{output}: {} in {files}, {size} ({share} of {}) in {seconds:.2} s",
        plural(rows, "row"),
        bytes(before)
    )?;
    Ok(())
}

/// Converts a file as the command would, on behalf of a client. Each of `tasks` that run at once gets its share of the memory
/// and one thread.
pub fn converter(folders: Folders, memory: u64, tasks: usize) -> Converter {
    let memory = memory / tasks.max(1) as u64;
    Arc::new(move |part, options| {
        folders.check_place(&part.output)?;
        folders.check_place(&part.input)?;
        if !colkit::store::is_url(&part.input) {
            // What a pattern or a folder stands for may lead elsewhere.
            Input::list(&part.input)?.iter().try_for_each(|file| folders.check(file))?;
        }
        if let Some(folder) = Path::new(&part.output).parent().filter(|_| !colkit::store::is_url(&part.output)) {
            std::fs::create_dir_all(folder).map_err(|e| Error::from(e).file(folder.display().to_string()))?;
        }
        let arguments = arguments(part, options, memory)?;
        let (stdout, written) = captured();
        let io = &mut Io::new(Box::new(std::io::empty()), stdout, Stream::new(Box::new(std::io::sink())));
        crate::embed::run(&arguments, io)?;
        io.flush()?;
        let text = written.lock().unwrap_or_else(PoisonError::into_inner);
        let summary: serde_json::Value = serde_json::from_slice(&text).map_err(|e| Error::internal(e.to_string()))?;
        let count = |name: &str| summary.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
        Ok(Converted {
            output: part.output.clone(),
            rows: count("rows"),
            input_bytes: count("input_bytes"),
            output_bytes: count("output_bytes"),
        })
    })
}

/// The arguments of a `convert`. A lost task may have written the file already, hence `--force`.
fn arguments(part: &Part, options: &[(String, String)], memory: u64) -> Result<Vec<OsString>> {
    let not: Vec<String> = NOT_SENT.iter().chain(&NOT_HERE).map(|name| name.replace('_', "-")).collect();
    let not: Vec<&str> = not.iter().map(String::as_str).collect();
    let flags = crate::verbs::sql::flags::<ConvertArgs>("convert", options, &not)?;
    let mut words: Vec<OsString> = ["colkit", "convert", "--json", "--force"].map(OsString::from).into();
    let (memory, timeout) = (format!("--memory={memory}"), Stores::shared().timeout());
    words.extend([memory, "--threads=1".into(), format!("--timeout={timeout}")].map(OsString::from));
    words.extend(flags.into_iter().map(OsString::from));
    words.extend(["--", &part.input, &part.output].map(OsString::from));
    Ok(words)
}

type Written = Arc<Mutex<Vec<u8>>>;

struct Captured(Written);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A stream, and what was written to it.
fn captured() -> (Stream, Written) {
    let written = Written::default();
    (Stream::new(Box::new(Captured(written.clone()))), written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_named_after_inputs() {
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(common_folder(&names(&["s3://b/in/part-1.csv", "s3://b/in/part-2.csv"])), "s3://b/in/".len());
        assert_eq!(common_folder(&names(&["s3://b/in/y=1/p.csv", "s3://b/in/y=2/p.csv"])), "s3://b/in/".len());
        assert_eq!(common_folder(&names(&["/data/one.csv"])), "/data/".len());
        assert_eq!(common_folder(&names(&["/data/ä/x.csv", "/data/ö/x.csv"])), "/data/".len());
        assert_eq!(common_folder(&[]), 0);
    }

    #[test]
    fn only_options_about_files_are_taken_from_others() {
        let part = Part { input: "/in.csv".into(), output: "/out.lance".into() };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let words = arguments(&part, &[pair("delimiter", ";"), pair("prefer", "size")], 64 << 20).unwrap();
        assert!(words.iter().any(|w| w == "--memory=67108864") && words.iter().any(|w| w == "--threads=1"));
        assert!(words.iter().any(|w| w == "--delimiter=;") && words.iter().any(|w| w == "--prefer=size"));
        for bad in ["plugin", "memory", "allow_embedded_plugins", "cluster", "append", "no_such"] {
            assert!(arguments(&part, &[pair(bad, "x")], 64 << 20).is_err(), "{bad}");
        }
    }
}
