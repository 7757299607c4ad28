//! `pack`: files become an AT-1 file.

use crate::args::PackArgs;
use crate::human::{bytes, plural, ratio, share};
use crate::progress::Progress;
use crate::request::{input, is_stream};
use crate::{Io, Outcome};
use colkit::at1::{Aim, Codec, Effort, PackOptions, PackSummary, pack, pack_bundle};
use colkit::{Error, Input, Registry, Result, Sink, Source, StreamSink, TextReading, create};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub fn run(args: &PackArgs, io: &mut Io) -> Result<Outcome> {
    let began = Instant::now();
    let (names, output) = split_output(&args.files)?;
    let options = PackOptions {
        codec: args.codec,
        is_table: matches!(names, [only] if is_text_table(only)),
        aim: if args.smallest { Aim::Smallest } else { Aim::Queryable },
        effort: match (args.fast, args.best) {
            (true, _) => Effort::Fast,
            (_, true) => Effort::Best,
            _ => Effort::Default,
        },
        stream: args.stream,
        threads: args.threads.map_or_else(colkit::available_threads, Into::into),
        memory: args.memory,
        spill_folder: None,
    };
    let mut files: Vec<(String, Input)> = Vec::new();
    let is_bundle = names.len() > 1 || names.first().is_some_and(|n| n.is_dir());
    for name in names {
        collect(name, names.len() > 1, &mut files, io)?;
    }
    let inputs: Vec<Input> = files.iter().map(|(_, input)| input.clone()).collect();
    let sink = open_sink(output.as_deref(), args.force, &inputs, io)?;
    // Every byte is read to hash it and again to pack it.
    let total = inputs.iter().map(|i| i.size().saturating_mul(2)).fold(0, u64::saturating_add);
    let progress = Progress::watch(io, "packing", &inputs, total);
    let packed: Vec<(String, PackSummary)> = if is_bundle {
        let sources = files.iter().map(|(name, input)| (name.clone(), input.bytes()));
        let sources: Vec<(String, Arc<dyn Source>)> = sources.collect();
        pack_bundle(&sources, sink, &options)?
    } else {
        let (name, input) = files.first().ok_or_else(|| Error::request("no_input", "there is nothing to pack"))?;
        let summary = pack(input.bytes().as_ref(), sink, &options).map_err(|e| e.file(name.clone()))?;
        vec![(name.clone(), summary)]
    };
    drop(progress);
    let seconds = began.elapsed().as_secs_f64();
    tell(args, output.as_deref(), is_bundle, &packed, seconds, io)?;
    Ok(Outcome::Yes)
}

/// Whether the name is that of a table in text.
fn is_text_table(name: &Path) -> bool {
    let registry = Registry::default();
    let extension = name.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let format = extension.and_then(|e| registry.with_extension(&e, &TextReading::default()));
    format.is_some_and(|f| registry.is_text(f.name()))
}

/// What is read, and what is written: `None` is standard output.
fn split_output(files: &[PathBuf]) -> Result<(&[PathBuf], Option<PathBuf>)> {
    if let Some((last, inputs @ [_, ..])) = files.split_last()
        && (is_stream(last) || last.extension().is_some_and(|e| e.eq_ignore_ascii_case("at1")))
    {
        return Ok((inputs, (!is_stream(last)).then(|| last.clone())));
    }
    match files {
        [only] if is_stream(only) => Ok((files, None)),
        [only] => {
            // A folder may be named with a slash at its end; components do not have it.
            let mut name = only.components().as_path().as_os_str().to_os_string();
            name.push(".at1");
            Ok((files, Some(name.into())))
        }
        _ => Err(Error::request("no_output_named", "several files make a bundle, which needs a name")
            .hint("end with the name of the output, such as all.at1")),
    }
}

/// Adds a file, or all files in a folder, under the names they get in a bundle.
fn collect(path: &Path, several: bool, files: &mut Vec<(String, Input)>, io: &mut Io) -> Result<()> {
    let name = path.display().to_string();
    if is_stream(path) || !path.is_dir() {
        let own = path.file_name().map(|n| n.to_string_lossy().into_owned());
        let own = if is_stream(path) { "stdin".to_string() } else { own.unwrap_or_else(|| name.clone()) };
        files.push((own, input(path, io)?));
        return Ok(());
    }
    let named = |e: std::io::Error| Error::from(e).file(name.clone());
    // One folder is the bundle; several keep their names in it.
    let prefix = path.canonicalize().map_err(named)?.file_name().and_then(|n| n.to_str()).map(str::to_string);
    let prefix = prefix.filter(|_| several).map(|p| format!("{p}/")).unwrap_or_default();
    let mut folders: Vec<(PathBuf, String)> = vec![(path.to_path_buf(), prefix)];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(named)? {
            let entry = entry.map_err(named)?;
            let own = entry.file_name();
            let own = own.to_str().ok_or_else(|| {
                Error::request("unsafe_name", "a file name that is not UTF-8 cannot be kept in a bundle")
                    .file(entry.path().display().to_string())
            })?;
            // Links to folders may lead back here.
            if entry.file_type().map_err(named)?.is_dir() {
                folders.push((entry.path(), format!("{prefix}{own}/")));
            } else if entry.path().is_file() {
                files.push((format!("{prefix}{own}"), Input::path(entry.path())?));
            }
        }
    }
    if files.is_empty() {
        return Err(Error::request("no_input", "there is no file in the folder").file(name));
    }
    Ok(())
}

fn open_sink(output: Option<&Path>, force: bool, inputs: &[Input], io: &Io) -> Result<Box<dyn Sink>> {
    let Some(path) = output else { return Ok(Box::new(StreamSink(io.stdout.clone()))) };
    let sink = create(path, inputs)?;
    if path.exists() && !force {
        return Err(already_there(path));
    }
    Ok(sink)
}

/// The error for files that would be lost.
pub fn already_there(path: &Path) -> Error {
    Error::request("already_there", "a file of this name is there already")
        .file(path.display().to_string())
        .hint("--force overwrites it")
}

fn tell(
    args: &PackArgs,
    output: Option<&Path>,
    is_bundle: bool,
    packed: &[(String, PackSummary)],
    seconds: f64,
    io: &mut Io,
) -> Result<()> {
    let before: u64 = packed.iter().map(|(_, s)| s.input_bytes).sum();
    let after: u64 = packed.iter().map(|(_, s)| s.output_bytes).sum();
    let name = output.map_or("standard output".to_string(), |p| p.display().to_string());
    let codec = match packed {
        [(_, only)] if !is_bundle => only.codec,
        _ => Codec::Bundle,
    };
    if args.script.json {
        let file = |(name, s): &(String, PackSummary)| {
            json!({
                "name": name, "codec": s.codec.name(), "frames": s.streaming,
                "input_bytes": s.input_bytes, "output_bytes": s.output_bytes,
            })
        };
        let document = json!({
            "output": name, "codec": codec.name(), "input_bytes": before, "output_bytes": after,
            "ratio": ratio(before, after), "seconds": seconds, "files": packed.iter().map(file).collect::<Vec<_>>(),
        });
        // Standard output may carry the packed file.
        let stream = if output.is_none() { &mut io.stderr } else { &mut io.stdout };
        writeln!(stream, "{document}")?;
        return Ok(());
    }
    if is_bundle {
        for (name, s) in packed {
            let (codec, size) = (s.codec.name(), bytes(s.output_bytes));
            writeln!(io.stderr, "  {name}: {codec}, {size} ({})", share(s.output_bytes, s.input_bytes))?;
        }
    }
    if args.codec.is_some_and(|asked| packed.iter().any(|(_, s)| s.codec != asked)) {
        let label = io.stderr.yellow("note:");
        writeln!(io.stderr, "{label} the codec asked for cannot hold everything; see what was used instead")?;
    }
    let what = if is_bundle { plural(packed.len() as u64, "file") } else { codec.name().to_string() };
    let frames = if packed.iter().any(|(_, s)| s.streaming) { " in frames" } else { "" };
    let (size, share, before) = (bytes(after), share(after, before), bytes(before));
    writeln!(io.stderr, "{name}: {what}{frames}, {size} ({share} of {before}) in {seconds:.2} s")?;
    Ok(())
}
