//! `convert`: from any format to any other.

use crate::args::{ConvertArgs, NullsArg, TypesArg};
use crate::human::{bytes, plural, share};
use crate::progress::Progress;
use crate::request::{inputs, is_stream};
use crate::{Io, Outcome};
use colkit::lance::Lance;
use colkit::{
    Conversion, ConversionSummary, Error, Format, Input, Nulls, Result, Sink, StreamSink, Types, WriteOptions, create,
    target_format,
};
use serde_json::json;
use std::io::Write;
use std::time::Instant;

pub fn run(args: &ConvertArgs, io: &mut Io) -> Result<Outcome> {
    let began = Instant::now();
    let path = (!is_stream(&args.output)).then_some(args.output.as_path());
    let output = path.map_or("standard output".into(), |p| p.display().to_string());
    let mut opening = args.reading.opening()?;
    let writing = args.lance.writing();
    let registry = match &writing {
        Some(writing) => opening.registry.clone().configured(Lance::new().writing(writing.clone())),
        None => opening.registry.clone(),
    };
    let target = target_format(&registry, args.to.as_deref(), path)?;
    if writing.is_some() && target.name() != Lance::new().name() {
        let what =
            format!("--prefer, --lance-version, --bloom and --page-size are for Lance files, not {}", target.name());
        return Err(Error::request("option_of_another_format", what));
    }
    let write = write_options(args);
    opening.text.nulls = write.nulls;
    let columns = args.columns.names()?;
    let inputs = inputs(&args.inputs, io)?;
    // Before anything is read: a wrong name for the output should not cost a pass over the inputs.
    let sink: Box<dyn Sink> = match path {
        Some(path) => create(path, &inputs)?,
        None => Box::new(StreamSink(io.stdout.clone())),
    };
    let conversion = Conversion { inputs: inputs.clone(), opening, columns, condition: args.condition.clone(), write };
    let total = inputs.iter().map(Input::size).sum();
    let progress = Progress::watch(io, "looking", &inputs, total);
    let prepared = conversion.prepare(target.clone())?;
    drop(progress);
    let progress = Progress::watch(io, "converting", &inputs, total);
    let summary = prepared.write(sink).map_err(|e| e.file(output.clone()))?;
    drop(progress);
    let seconds = began.elapsed().as_secs_f64();
    tell(args, &output, target.name(), &summary, seconds, io)?;
    Ok(Outcome::Yes)
}

fn write_options(args: &ConvertArgs) -> WriteOptions {
    WriteOptions {
        level: args.level,
        memory: args.reading.memory,
        threads: args.reading.thread_count(),
        nulls: match args.nulls {
            NullsArg::Refuse => Nulls::Refuse,
            NullsArg::Fill => Nulls::Fill,
        },
        types: match args.types {
            TypesArg::Refuse => Types::Refuse,
            TypesArg::Exact => Types::Exact,
            TypesArg::Lossy => Types::Lossy,
        },
        rename_duplicates: args.reading.rename_duplicates,
        spill_folder: None,
    }
}

fn tell(
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
            "input_bytes": summary.input_bytes,
            "output_bytes": summary.output_bytes,
            "seconds": seconds,
            "notes": summary.notes,
        });
        // Standard output may carry the table itself.
        let stream = if to_stdout { &mut io.stderr } else { &mut io.stdout };
        writeln!(stream, "{document}")?;
        return Ok(());
    }
    for note in &summary.notes {
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
    writeln!(io.stderr, "{output}: {rows} as {format}, {size} ({share} of {before}) in {seconds:.2} s")?;
    Ok(())
}
