//! `unpack`: restores the files in an AT-1 file.

use crate::args::UnpackArgs;
use crate::grid::{self, Align};
use crate::human::{bytes, plural};
use crate::progress::Progress;
use crate::report;
use crate::request::{is_stream, one_file};
use crate::{Io, Outcome};
use colkit::arrow::temporal_conversions::timestamp_s_to_datetime;
use colkit::at1::{
    Bundle, BundleEntry, Integrity, RestoreOptions, Restored, is_bundle, restore, restore_entries, unportable_names,
};
use colkit::core::{TreeSink, already_exists};
use colkit::{ByteRange, Error, Input, Result, Sink, StreamSink, create};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

pub fn run(args: &UnpackArgs, io: &mut Io) -> Result<Outcome> {
    let began = Instant::now();
    let packed = one_file(&args.file, io)?;
    let named = |e: Error| e.file(packed.name());
    let options = RestoreOptions {
        limits: args.limits.with_memory(args.memory),
        threads: args.threads.map_or_else(colkit::available_threads, Into::into),
        integrity: if args.no_verify { Integrity::Skip } else { Integrity::Verify },
    };
    let source = packed.bytes();
    let head = source.read(ByteRange::between(0, packed.size().min(5)))?;
    let mut summary = if is_bundle(&head) {
        let bundle = Bundle::open(&source, &options.limits).map_err(named)?;
        if args.list {
            return list(&bundle.entries, args, io);
        }
        let chosen = BundleSelection::of(args, bundle).map_err(named)?;
        let _progress = Progress::watch(io, "unpacking", std::slice::from_ref(&packed), packed.size());
        chosen.restore(args.force.force, &options, io).map_err(named)?
    } else {
        let output = args.out.as_deref().or(args.words.first().map(PathBuf::as_path));
        let words = args.words.len() + usize::from(args.out.is_some());
        if args.list || words > 1 {
            return Err(named(Error::request("not_a_bundle", "the file is not a bundle: there are no entries in it")));
        }
        let output = output_name(&args.file, output)?;
        let sink: Box<dyn Sink> = match output.as_deref() {
            None => Box::new(StreamSink(io.stdout.raw())),
            Some(path) => io.stop.sink(create(path, packed.place(), args.force.existing())?),
        };
        let name = output.as_deref().map_or("standard output".into(), |p| p.display().to_string());
        let _progress = Progress::watch(io, "unpacking", std::slice::from_ref(&packed), packed.size());
        let restored = restore(source.as_ref(), sink, &options).map_err(named)?;
        UnpackReport { output, files: vec![(name, Ok(restored))], notes: Vec::new() }
    };
    if !args.no_verify && summary.restored().any(|r| !r.verified) {
        summary.notes.push("the file has no SHA-256; the restored content was not verified".into());
    }
    summary.print(args, &packed, began.elapsed().as_secs_f64(), io)?;
    Ok(if summary.errors().next().is_some() { Outcome::Failure } else { Outcome::Success })
}

/// Where to restore to; `None` is standard output.
fn output_name(file: &Path, output: Option<&Path>) -> Result<Option<PathBuf>> {
    match output {
        Some(output) if is_stream(output) => Ok(None),
        Some(output) => Ok(Some(output.to_path_buf())),
        None if is_stream(file) => Ok(None),
        None if file.extension().is_some_and(|e| e.eq_ignore_ascii_case("at1")) => Ok(Some(file.with_extension(""))),
        None => {
            Err(Error::request("no_output_named", "the name does not end with .at1, so there is none for the output")
                .file(file.display().to_string())
                .hint("name the output, or - for standard output"))
        }
    }
}

/// The entries of a bundle to restore, and the output.
struct BundleSelection {
    output: Option<PathBuf>,
    bundle: Bundle,
}

/// Whether a name of an entry or folder is this one, or inside it.
fn is_in(name: &str, chosen: &str) -> bool {
    name.strip_prefix(chosen).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl BundleSelection {
    fn of(args: &UnpackArgs, mut bundle: Bundle) -> Result<Self> {
        let words: Vec<&str> =
            args.words.iter().map(|w| w.to_str().unwrap_or_default().trim_end_matches('/')).collect();
        let is_there = |word: &str| {
            let names = bundle.entries.iter().map(|e| &e.name).chain(bundle.folders.iter().map(|f| &f.0));
            !word.is_empty() && names.into_iter().any(|name| is_in(name, word))
        };
        let (output, names) = match (&args.out, args.words.first(), words.split_first()) {
            (None, Some(first), Some((word, rest))) if !is_there(word) => (Some(first), rest),
            (out, ..) => (out.as_ref(), words.as_slice()),
        };
        if let Some(missing) = names.iter().find(|name| !is_there(name)) {
            return Err(Error::request("no_such_entry", format!("there is nothing called {missing:?} in the bundle"))
                .hint("--list shows what is"));
        }
        let output = output_name(&args.file, output.map(PathBuf::as_path))?;
        if !names.is_empty() {
            bundle.entries.retain(|e| names.iter().any(|name| is_in(&e.name, name)));
            let entries = &bundle.entries;
            let needed = |folder: &str| {
                names.iter().any(|name| is_in(folder, name)) || entries.iter().any(|e| is_in(&e.name, folder))
            };
            bundle.folders.retain(|(folder, _)| needed(folder));
        }
        Ok(BundleSelection { output, bundle })
    }

    fn restore(self, force: bool, options: &RestoreOptions, io: &mut Io) -> Result<UnpackReport> {
        let BundleSelection { output, bundle: Bundle { entries, folders } } = self;
        let Some(target) = output.as_deref() else {
            if entries.len() > 1 {
                return Err(Error::request("is_a_bundle", "a bundle holds several files, which do not fit one stream")
                    .hint("name one of them after --out -, or a folder to restore them to"));
            }
            let stdout = io.stdout.raw();
            let restored = restore_entries(entries, options, &mut |_| Ok(Box::new(StreamSink(stdout.clone()))))?;
            return Ok(UnpackReport::of(None, restored, Vec::new()));
        };
        if target.exists() && !(force && target.is_dir()) {
            return Err(already_exists(target));
        }
        let names = entries.iter().map(|e| e.name.as_str()).chain(folders.iter().map(|f| f.0.as_str()));
        let notes = unportable_names(&names.collect::<Vec<_>>());
        let mut tree = TreeSink::create(target)?;
        let restored = restore_entries(entries, options, &mut |entry| {
            Ok(io.stop.sink(tree.file(&entry.name, entry.attributes)?))
        })?;
        io.stop.check()?;
        let summary = UnpackReport::of(output.clone(), restored, notes);
        let intact: Vec<&str> =
            summary.files.iter().filter(|(_, r)| r.is_ok()).map(|(name, _)| name.as_str()).collect();
        if !intact.is_empty() || summary.files.is_empty() {
            folders.into_iter().try_for_each(|(name, attributes)| tree.folder(&name, attributes))?;
            tree.commit(&intact)?;
        }
        Ok(summary)
    }
}

/// The summary of an `unpack`.
struct UnpackReport {
    output: Option<PathBuf>,
    files: Vec<(String, Result<Restored>)>,
    notes: Vec<String>,
}

impl UnpackReport {
    fn of(output: Option<PathBuf>, restored: Vec<(BundleEntry, Result<Restored>)>, notes: Vec<String>) -> Self {
        UnpackReport {
            output,
            files: restored.into_iter().map(|(entry, result)| (entry.name, result)).collect(),
            notes,
        }
    }

    fn restored(&self) -> impl Iterator<Item = &Restored> {
        self.files.iter().filter_map(|(_, result)| result.as_ref().ok())
    }

    fn errors(&self) -> impl Iterator<Item = &Error> {
        self.files.iter().filter_map(|(_, result)| result.as_ref().err())
    }

    fn print(&self, args: &UnpackArgs, packed: &Input, seconds: f64, io: &mut Io) -> Result<()> {
        let name = self.output.as_deref().map_or("standard output".to_string(), |p| p.display().to_string());
        let total: u64 = self.restored().map(|r| r.bytes).sum();
        let verified = self.errors().next().is_none() && self.restored().all(|r| r.verified);
        if args.script.json {
            let file = |(name, result): &(String, Result<Restored>)| match result {
                Ok(r) => json!({"name": name, "bytes": r.bytes, "verified": r.verified}),
                Err(e) => json!({"name": name, "error": report::for_json(e)}),
            };
            let document = json!({
                "input": packed.name(), "output": name, "bytes": total, "verified": verified, "seconds": seconds,
                "files": self.files.iter().map(file).collect::<Vec<_>>(), "notes": self.notes,
            });
            let stream = if self.output.is_none() { &mut io.stderr.loud() } else { &mut io.stdout };
            writeln!(stream, "{document}")?;
            return Ok(());
        }
        for error in self.errors() {
            report::error(&error.again().file(packed.name()), false, &mut io.stderr);
        }
        for note in &self.notes {
            let label = io.stderr.yellow("note:");
            writeln!(io.stderr, "{label} {note}")?;
        }
        if self.output.is_none() && io.stdout.width.is_some() {
            return Ok(());
        }
        let (intact, broken) = (self.restored().count() as u64, self.errors().count() as u64);
        if broken > 0 {
            let files = plural(intact, "file");
            writeln!(io.stderr, "{name}: {files} restored ({}), {broken} damaged", bytes(total))?;
            return Ok(());
        }
        let files = if intact == 1 { String::new() } else { format!("{}, ", plural(intact, "file")) };
        let verdict = if verified { ", SHA-256 verified" } else { "" };
        writeln!(io.stderr, "{name}: {files}{}{verdict} in {seconds:.2} s", bytes(total))?;
        Ok(())
    }
}

/// Lists the entries of a bundle.
fn list(entries: &[BundleEntry], args: &UnpackArgs, io: &mut Io) -> Result<Outcome> {
    let seconds = |time: SystemTime| {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).ok()
    };
    let modified = |entry: &BundleEntry| entry.attributes.modified.and_then(seconds).and_then(timestamp_s_to_datetime);
    let mode = |entry: &BundleEntry| entry.attributes.mode.map(|mode| format!("{mode:04o}"));
    let codecs = entries.iter().map(|e| Ok(e.codec()?.map(|codec| codec.name()))).collect::<Result<Vec<_>>>()?;
    let listed = || entries.iter().zip(&codecs);
    if args.script.json {
        let file = |(entry, codec): (&BundleEntry, &Option<&str>)| {
            json!({
                "name": entry.name, "bytes": entry.size, "packed_bytes": entry.source.size(), "codec": codec,
                "mode": mode(entry), "modified": modified(entry).map(|m| m.and_utc().to_rfc3339()),
            })
        };
        writeln!(io.stdout, "{}", json!({"files": listed().map(file).collect::<Vec<_>>()}))?;
        return Ok(Outcome::Success);
    }
    let titles = [
        ("bytes", Align::Right),
        ("packed", Align::Right),
        ("codec", Align::Left),
        ("mode", Align::Left),
        ("modified", Align::Left),
        ("name", Align::Left),
    ];
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    grid::print(&titles, &mut io.stdout, |line| {
        listed().try_for_each(|(entry, codec)| {
            line(&[
                or_none(entry.size.map(bytes)),
                bytes(entry.source.size()),
                or_none(codec.map(str::to_string)),
                or_none(mode(entry)),
                or_none(modified(entry).map(|m| m.to_string())),
                entry.name.clone(),
            ])
        })
    })?;
    Ok(Outcome::Success)
}
