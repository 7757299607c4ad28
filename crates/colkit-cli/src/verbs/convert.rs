//! `convert`: converts between any two formats.

use crate::args::{CompressionArg, ConvertArgs};
use crate::human::{bytes, plural, share};
use crate::progress::Progress;
use crate::request::{inputs, is_stream, places};
use crate::{Io, Outcome};
use colkit::arrow::record_batch::RecordBatchReader;
use colkit::interop::{ArrowFile, ArrowStream, IpcCompression, Parquet, ParquetCompression};
use colkit::lance::Lance;
use colkit::{
    Compression, Conversion, ConversionSummary, CreateOptions, Error, Format, Input, Registry, Result, Sink,
    StreamSink, WriteOptions, WriteSummary, check_target, create, target_format,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub fn run(args: &ConvertArgs, io: &mut Io) -> Result<Outcome> {
    let began = Instant::now();
    #[cfg(feature = "cluster")]
    if let Some(cluster) = &args.cluster {
        return super::cluster::convert::run(args, cluster, io);
    }
    if let Some(dataset) = super::convert_dataset::options(args)? {
        return super::convert_dataset::run(args, &dataset, io);
    }
    let path = (!is_stream(&args.output)).then_some(args.output.as_path());
    let output = path.map_or("standard output".into(), |p| p.display().to_string());
    let open_options = args.reading.open_options()?.with_row_ids(args.ids.with_row_id).with_filename(args.filename);
    let target = target(args, path)?;
    let columns = args.columns.names()?;
    let inputs = inputs(args.inputs.iter().map(|file| (file, &args.dataset)), io)?;
    inputs.iter().try_for_each(|input| args.ids.check(input))?;
    let existing = args.force.existing();
    let stop = io.stop.clone();
    let open = |path: &Path| Ok(stop.sink(create(path, places(&inputs), existing)?));
    // Before anything is read: a bad output name should not cost a pass over the inputs.
    let mut first: Option<Box<dyn Sink>> = Some(match (path, args.split_rows) {
        (Some(path), Some(_)) => {
            for part in parts_there(path) {
                check_target(&part_name(path, part), existing)?;
            }
            open(&part_name(path, 0))?
        }
        (Some(path), None) => open(path)?,
        (None, None) => Box::new(StreamSink(io.stdout.raw())),
        (None, Some(_)) => {
            return Err(Error::request("conflicting_options", "standard output cannot be split into files")
                .hint("name a file to write"));
        }
    });
    let conversion = Conversion::new(inputs.clone()).open_options(open_options).create_options(create_options(args));
    let conversion = columns.into_iter().fold(conversion, Conversion::columns);
    let conversion = args.select.select.iter().fold(conversion, Conversion::select);
    let conversion = args.condition.iter().fold(conversion, Conversion::filter);
    let total = inputs.iter().map(Input::size).sum();
    let progress = Progress::watch(io, "analysing", &inputs, total);
    let prepared = conversion.prepare(target.clone())?;
    drop(progress);
    // Other bytes than before, if they were decompressed.
    let opened = prepared.file().input().clone();
    let progress = Progress::watch(io, "converting", std::slice::from_ref(&opened), opened.size());
    let rows = args.split_rows.map_or(u64::MAX, Into::into);
    let summary = prepared.write_parts(rows, &mut |part| match (first.take(), path) {
        (Some(sink), _) => Ok(sink),
        (None, Some(path)) => open(&part_name(path, part)),
        (None, None) => Err(Error::internal("there is only one output")),
    });
    let mut summary = summary.map_err(|e| e.file(output.clone()))?;
    drop(progress);
    if let (Some(path), Some(_)) = (path, args.split_rows) {
        let left = parts_there(path).into_iter().filter(|part| *part >= summary.files);
        let told = left.map(|part| format!("{} remains from an earlier conversion", part_name(path, part).display()));
        summary.notes.extend(told);
    }
    let seconds = began.elapsed().as_secs_f64();
    print_summary(args, &output, target.name(), &summary, seconds, io)?;
    Ok(Outcome::Success)
}

/// The format that is written.
fn target(args: &ConvertArgs, path: Option<&Path>) -> Result<Arc<dyn Format>> {
    let lance = args.lance.write_options();
    let registry = match &lance {
        Some(options) => Registry::default().configured(writer(args)?.with_write_options(options.clone())),
        None => Registry::default(),
    };
    let target = target_format(&registry, args.to.as_deref(), path, "--to")?;
    if lance.is_some() && target.name() != Lance::new().name() {
        let what = format!("options such as --prefer and --encodings are for Lance files, not {}", target.name());
        return Err(Error::request("option_of_another_format", what));
    }
    compressed(target, args.compression)
}

/// Lance with all encodings that may be written.
#[cfg(feature = "plugins")]
fn writer(args: &ConvertArgs) -> Result<Lance> {
    Ok(Lance::with_encodings(args.reading.plugins.encodings()?))
}

#[cfg(not(feature = "plugins"))]
fn writer(_: &ConvertArgs) -> Result<Lance> {
    Ok(Lance::new())
}

/// Writes the batches of a reader, as the arguments about writing say.
pub fn write(args: &ConvertArgs, reader: Box<dyn RecordBatchReader + Send>, io: &mut Io) -> Result<()> {
    let began = Instant::now();
    let (path, existing, schema) = (args.output.as_path(), args.force.existing(), reader.schema());
    let (target, options) = (target(args, Some(path))?, create_options(args));
    let start = |part: usize| {
        let path = if args.split_rows.is_some() { &part_name(path, part) } else { path };
        let sink = io.stop.sink(create(path, [], existing)?);
        options.create_in(target.as_ref(), sink, &schema, &path.display().to_string())
    };
    if args.split_rows.is_some() {
        parts_there(path).into_iter().try_for_each(|part| check_target(&part_name(path, part), existing))?;
    }
    let most = args.split_rows.map_or(usize::MAX, |rows| usize::try_from(rows.get()).unwrap_or(usize::MAX));
    let mut summary = ConversionSummary::default();
    summary.columns = schema.fields().len();
    let (mut writer, mut room) = (start(0)?, most);
    for batch in reader {
        let (mut batch, _) = (batch?, io.stop.check()?);
        while batch.num_rows() > room {
            writer.write(&batch.slice(0, room))?;
            batch = batch.slice(room, batch.num_rows() - room);
            let full = std::mem::replace(&mut writer, start(summary.files + 1)?);
            add(&mut summary, full.finish()?);
            room = most;
        }
        writer.write(&batch)?;
        room -= batch.num_rows();
    }
    add(&mut summary, writer.finish()?);
    let output = path.display().to_string();
    print_summary(args, &output, target.name(), &summary, began.elapsed().as_secs_f64(), io)
}

/// Adds what was written of one file.
fn add(summary: &mut ConversionSummary, written: WriteSummary) {
    summary.rows += written.rows;
    summary.output_bytes += written.bytes;
    summary.files += 1;
    summary.notes.extend(written.notes);
}

/// The file name before and after the part number.
fn around_number(path: &Path) -> (String, String) {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some((before, after)) = name.split_once("{}") {
        return (before.to_owned(), after.to_owned());
    }
    // The extensions are those of the format and of the compression: `out.csv.gz`.
    let inner = Compression::in_name(path).map_or(Path::new(&name), |(_, inner)| inner);
    let stem = inner.file_stem().map_or(name.clone(), |stem| stem.to_string_lossy().into_owned());
    let extensions = name.strip_prefix(&stem).unwrap_or_default().to_owned();
    (format!("{stem}-"), extensions)
}

/// The path of one part.
fn part_name(path: &Path, part: usize) -> PathBuf {
    let (before, after) = around_number(path);
    path.with_file_name(format!("{before}{part:05}{after}"))
}

/// The numbers of parts that already exist.
fn parts_there(path: &Path) -> Vec<usize> {
    let (before, after) = around_number(path);
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let number = |name: String| {
        let digits = name.strip_prefix(&before)?.strip_suffix(&after)?;
        digits.parse().ok().filter(|part: &usize| format!("{part:05}") == digits)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut parts: Vec<usize> = entries.filter_map(|e| number(e.file_name().into_string().ok()?)).collect();
    parts.sort_unstable();
    parts
}

/// The format with this compression codec.
pub(crate) fn compressed(target: Arc<dyn Format>, codec: Option<CompressionArg>) -> Result<Arc<dyn Format>> {
    use CompressionArg as C;
    let Some(codec) = codec else { return Ok(target) };
    let ipc = match codec {
        C::None => Some(IpcCompression::None),
        C::Lz4 => Some(IpcCompression::Lz4),
        C::Zstd => Some(IpcCompression::Zstd),
        C::Snappy | C::Gzip | C::Brotli => None,
    };
    let pages = match codec {
        C::None => ParquetCompression::None,
        C::Snappy => ParquetCompression::Snappy,
        C::Zstd => ParquetCompression::Zstd,
        C::Lz4 => ParquetCompression::Lz4,
        C::Gzip => ParquetCompression::Gzip,
        C::Brotli => ParquetCompression::Brotli,
    };
    match (target.name(), ipc) {
        ("parquet", _) => Ok(Arc::new(Parquet { compression: pages })),
        ("arrow", Some(compression)) => Ok(Arc::new(ArrowFile { compression })),
        ("arrow-stream", Some(compression)) => Ok(Arc::new(ArrowStream { compression })),
        ("arrow" | "arrow-stream", None) => {
            Err(Error::request("bad_compression", "Arrow files are compressed by lz4, zstd or not at all"))
        }
        (name, _) => Err(Error::request("bad_compression", format!("{name} has no choice of compression"))
            .hint("--compression is for parquet and arrow")),
    }
}

pub(super) fn create_options(args: &ConvertArgs) -> CreateOptions {
    let write = WriteOptions {
        level: args.level,
        memory: args.reading.memory,
        threads: args.reading.thread_count(),
        nulls: args.fit.nulls(),
        types: args.fit.types(),
        rename_duplicates: args.reading.rename_duplicates,
        spill_folder: None,
    };
    CreateOptions::new().with_write_options(write).with_drop_metadata(args.fit.drop_metadata)
}

fn print_summary(
    args: &ConvertArgs,
    output: &str,
    format: &str,
    summary: &ConversionSummary,
    seconds: f64,
    io: &mut Io,
) -> Result<()> {
    let to_stdout = is_stream(&args.output);
    if args.script.json {
        let document = json!({
            "output": output,
            "format": format,
            "rows": summary.rows,
            "columns": summary.columns,
            "files": summary.files,
            "input_bytes": summary.input_bytes,
            "output_bytes": summary.output_bytes,
            "seconds": seconds,
            "notes": summary.notes,
        });
        // Stdout may carry the table itself.
        let stream = if to_stdout { &mut io.stderr.loud() } else { &mut io.stdout };
        writeln!(stream, "{document}")?;
        return Ok(());
    }
    // Several files may have the same to say.
    let mut said = BTreeSet::new();
    for note in summary.notes.iter().filter(|note| said.insert(note.as_str())) {
        let label = io.stderr.yellow("note:");
        writeln!(io.stderr, "{label} {note}")?;
    }
    if to_stdout && io.stdout.width.is_some() {
        return Ok(());
    }
    let rows = plural(summary.rows, "row");
    let size = bytes(summary.output_bytes);
    let share = share(summary.output_bytes, summary.input_bytes);
    let before = bytes(summary.input_bytes);
    let files =
        if args.split_rows.is_some() { format!(" in {}", plural(summary.files as u64, "file")) } else { String::new() };
    writeln!(io.stderr, "{output}: {rows} as {format}{files}, {size} ({share} of {before}) in {seconds:.2} s")?;
    Ok(())
}
