//! `unpack`: what an AT-1 file packs, restored.

use crate::args::UnpackArgs;
use crate::human::{bytes, plural};
use crate::progress::Progress;
use crate::request::{input, is_stream};
use crate::{Io, Outcome};
use colkit::at1::{Integrity, RestoreOptions, Restored, is_bundle, restore, restore_bundle};
use colkit::{ByteRange, Error, FileSink, FolderSink, Input, Result, Sink, StreamSink, already_there, create};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub fn run(args: &UnpackArgs, io: &mut Io) -> Result<Outcome> {
    let began = Instant::now();
    let packed = input(&args.file, io)?;
    let named = |e: Error| e.file(packed.name());
    let options = RestoreOptions {
        limits: args.limits.with_memory(args.memory),
        threads: args.threads.map_or_else(colkit::available_threads, Into::into),
        integrity: if args.no_verify { Integrity::Skip } else { Integrity::Verify },
    };
    let output = output_name(args)?;
    let source = packed.bytes();
    let head = source.read(ByteRange::between(0, packed.size().min(5)))?;
    let progress = Progress::watch(io, "unpacking", std::slice::from_ref(&packed), packed.size());
    let restored = if is_bundle(&head) {
        let folder = output.as_deref().ok_or_else(|| {
            Error::request("is_a_bundle", "a bundle holds several files, which do not fit one stream")
                .file(packed.name())
                .hint("name a folder to restore them to")
        })?;
        to_folder(folder, args.force.force, |create| restore_bundle(&source, &options, create)).map_err(named)?
    } else {
        let sink: Box<dyn Sink> = match output.as_deref() {
            None => Box::new(StreamSink(io.stdout.raw())),
            Some(path) => create(path, packed.place(), args.force.existing())?,
        };
        let name = output.as_deref().map_or("standard output".into(), |p| p.display().to_string());
        vec![(name, restore(source.as_ref(), sink, &options).map_err(named)?)]
    };
    drop(progress);
    tell(args, &packed, output.as_deref(), &restored, began.elapsed().as_secs_f64(), io)?;
    Ok(Outcome::Yes)
}

/// Where to restore to; `None` is standard output.
fn output_name(args: &UnpackArgs) -> Result<Option<PathBuf>> {
    match &args.output {
        Some(output) if is_stream(output) => Ok(None),
        Some(output) => Ok(Some(output.clone())),
        None if is_stream(&args.file) => Ok(None),
        None if args.file.extension().is_some_and(|e| e.eq_ignore_ascii_case("at1")) => {
            Ok(Some(args.file.with_extension("")))
        }
        None => {
            Err(Error::request("no_output_named", "the name does not end with .at1, so there is none for the output")
                .file(args.file.display().to_string())
                .hint("name the output, or - for standard output"))
        }
    }
}

type Create<'a> = &'a mut dyn FnMut(&str) -> Result<Box<dyn Sink>>;

/// Restores files into a folder beside the target, which then gets its name: all files appear or none.
fn to_folder(
    target: &Path,
    force: bool,
    restore: impl FnOnce(Create<'_>) -> Result<Vec<(String, Restored)>>,
) -> Result<Vec<(String, Restored)>> {
    if target.exists() && !(force && target.is_dir()) {
        return Err(already_there(target));
    }
    let named = |e: std::io::Error| Error::from(e).file(target.display().to_string());
    let temporary = FolderSink::create(target).map_err(named)?;
    let restored = restore(&mut |name| {
        let path = temporary.path().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(named)?;
        }
        Ok(Box::new(FileSink::create(&path)?))
    })?;
    if target.exists() {
        // The folder is there: its other files stay.
        for (name, _) in &restored {
            let path = target.join(name);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(named)?;
            }
            std::fs::rename(temporary.path().join(name), path).map_err(named)?;
        }
        return Ok(restored);
    }
    temporary.commit(target).map_err(named)?;
    Ok(restored)
}

fn tell(
    args: &UnpackArgs,
    packed: &Input,
    output: Option<&Path>,
    restored: &[(String, Restored)],
    seconds: f64,
    io: &mut Io,
) -> Result<()> {
    let name = output.map_or("standard output".to_string(), |p| p.display().to_string());
    let total: u64 = restored.iter().map(|(_, r)| r.bytes).sum();
    let verified = restored.iter().all(|(_, r)| r.verified);
    if args.script.json {
        let file = |(name, r): &(String, Restored)| json!({"name": name, "bytes": r.bytes, "verified": r.verified});
        let document = json!({
            "input": packed.name(), "output": name, "bytes": total, "verified": verified, "seconds": seconds,
            "files": restored.iter().map(file).collect::<Vec<_>>(),
        });
        let stream = if output.is_none() { &mut io.stderr } else { &mut io.stdout };
        writeln!(stream, "{document}")?;
        return Ok(());
    }
    if !verified && !args.no_verify {
        let label = io.stderr.yellow("note:");
        writeln!(io.stderr, "{label} the file carries no SHA-256 to compare with")?;
    }
    if output.is_none() && io.stdout.width.is_some() {
        return Ok(());
    }
    let files =
        if restored.len() == 1 { String::new() } else { format!("{}, ", plural(restored.len() as u64, "file")) };
    let verdict = if verified { ", SHA-256 as the original's" } else { "" };
    writeln!(io.stderr, "{name}: {files}{}{verdict} in {seconds:.2} s", bytes(total))?;
    Ok(())
}
