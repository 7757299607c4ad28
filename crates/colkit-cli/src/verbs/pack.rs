//! `pack`: compresses files into an AT-1 file.

use crate::args::PackArgs;
use crate::human::{bytes, plural, ratio, share};
use crate::progress::Progress;
use crate::request::{is_stream, places};
use crate::verbs::bundle::BundleContents;
use crate::{Io, Outcome};
use colkit::at1::{
    BundleFile, Codec, Effort, PackOptions, PackPriority, PackSummary, pack, pack_bundle, unportable_names,
};
use colkit::core::Attributes;
use colkit::{Compression, Error, Existing, Input, Registry, Result, Sink, StreamSink, TextOptions, create};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub fn run(args: &PackArgs, io: &mut Io) -> Result<Outcome> {
    let began = Instant::now();
    let (names, output) = split_output(&args.files, args.decompress)?;
    let options = PackOptions {
        codec: args.codec,
        is_table: matches!(names, [only] if is_text_table(only)),
        aim: if args.smallest { PackPriority::Smallest } else { PackPriority::Queryable },
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
    let is_bundle = names.len() > 1 || names.first().is_some_and(|n| n.is_dir());
    let mut contents = BundleContents::default();
    for name in names {
        contents.add(name, names.len() > 1, io)?;
    }
    let mut notes = contents.losses(args.lossy)?;
    let decompressed = contents.decompressed(args.decompress.then(|| args.limits.with_memory(args.memory)))?;
    notes.extend(decompressed);
    let BundleContents { files, folders, .. } = contents;
    if let (true, [name, ..]) = (files.is_empty(), names) {
        return Err(Error::request("no_input", "there is no file in the folder").file(name.display().to_string()));
    }
    if is_bundle {
        let folder_names = folders.iter().map(|(name, _)| name.as_str());
        notes.extend(unportable_names(&files.iter().map(|f| f.0.as_str()).chain(folder_names).collect::<Vec<_>>()));
    }
    let inputs: Vec<Input> = files.iter().map(|(_, input, _)| input.clone()).collect();
    let sink = open_sink(output.as_deref(), args.force.existing(), &inputs, io)?;
    // Every byte is read to hash it and again to pack it.
    let total = inputs.iter().map(|i| i.size().saturating_mul(2)).fold(0, u64::saturating_add);
    let progress = Progress::watch_reading(io, "packing", &inputs, total);
    let packed: Vec<(String, PackSummary)> = if is_bundle {
        let file = |(name, input, attributes): &(String, Input, Attributes)| BundleFile {
            name: name.clone(),
            source: input.bytes(),
            attributes: *attributes,
        };
        pack_bundle(&files.iter().map(file).collect::<Vec<_>>(), &folders, sink, &options)?
    } else {
        let (name, input, _) = files.first().ok_or_else(|| Error::request("no_input", "there is nothing to pack"))?;
        let summary = pack(input.bytes().as_ref(), sink, &options).map_err(|e| e.file(name.clone()))?;
        vec![(name.clone(), summary)]
    };
    drop(progress);
    let seconds = began.elapsed().as_secs_f64();
    let report = PackReport { output: output.as_deref(), is_bundle, packed: &packed, notes: &notes, seconds };
    report.print(args, io)?;
    Ok(Outcome::Success)
}

/// Whether the name is that of a table in text.
fn is_text_table(name: &Path) -> bool {
    let registry = Registry::default();
    let name = Compression::in_name(name).map_or(name, |(_, inner)| inner);
    let extension = name.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let format = extension.and_then(|e| registry.with_extension(&e, &TextOptions::default()));
    format.is_some_and(|f| registry.is_text(f.name()))
}

/// What is read, and what is written: `None` is standard output.
fn split_output(files: &[PathBuf], decompress: bool) -> Result<(&[PathBuf], Option<PathBuf>)> {
    if let Some((last, inputs @ [_, ..])) = files.split_last()
        && (is_stream(last) || last.extension().is_some_and(|e| e.eq_ignore_ascii_case("at1")))
    {
        return Ok((inputs, (!is_stream(last)).then(|| last.clone())));
    }
    match files {
        [only] if is_stream(only) => Ok((files, None)),
        [only] => {
            // A folder may be named with a slash at its end; components do not have it.
            let path = only.components().as_path();
            let inner = Compression::in_name(path).filter(|_| decompress).map(|(_, inner)| path.with_file_name(inner));
            let mut name = inner.map_or_else(|| path.as_os_str().to_os_string(), PathBuf::into_os_string);
            name.push(".at1");
            Ok((files, Some(name.into())))
        }
        _ => Err(Error::request("no_output_named", "several files make a bundle, which needs a name")
            .hint("end with the name of the output, such as all.at1")),
    }
}

fn open_sink(output: Option<&Path>, existing: Existing, inputs: &[Input], io: &Io) -> Result<Box<dyn Sink>> {
    match output {
        Some(path) => Ok(io.stop.sink(create(path, places(inputs), existing)?)),
        None => Ok(Box::new(StreamSink(io.stdout.raw()))),
    }
}

/// The summary of a `pack`.
struct PackReport<'a> {
    output: Option<&'a Path>,
    is_bundle: bool,
    packed: &'a [(String, PackSummary)],
    notes: &'a [String],
    seconds: f64,
}

impl PackReport<'_> {
    fn print(&self, args: &PackArgs, io: &mut Io) -> Result<()> {
        let PackReport { output, is_bundle, packed, notes, seconds } = *self;
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
                "notes": notes,
            });
            // Stdout may carry the packed file.
            let stream = if output.is_none() { &mut io.stderr.loud() } else { &mut io.stdout };
            writeln!(stream, "{document}")?;
            return Ok(());
        }
        if is_bundle {
            for (name, s) in packed {
                let (codec, size) = (s.codec.name(), bytes(s.output_bytes));
                writeln!(io.stderr, "  {name}: {codec}, {size} ({})", share(s.output_bytes, s.input_bytes))?;
            }
        }
        for note in notes {
            let label = io.stderr.yellow("note:");
            writeln!(io.stderr, "{label} {note}")?;
        }
        if args.codec.is_some_and(|asked| packed.iter().any(|(_, s)| s.codec != asked)) {
            let label = io.stderr.yellow("note:");
            writeln!(io.stderr, "{label} the requested codec could not be used for every file; another one was")?;
        }
        let what = if is_bundle { plural(packed.len() as u64, "file") } else { codec.name().to_string() };
        let frames = if packed.iter().any(|(_, s)| s.streaming) { " in frames" } else { "" };
        let (size, share, before) = (bytes(after), share(after, before), bytes(before));
        writeln!(io.stderr, "{name}: {what}{frames}, {size} ({share} of {before}) in {seconds:.2} s")?;
        Ok(())
    }
}
