//! `convert` to a Lance dataset.

use super::convert::create_options;
use crate::args::ConvertArgs;
use crate::human::{bytes, plural};
use crate::progress::Progress;
use crate::request::{inputs, is_stream};
use crate::{Io, Outcome};
use colkit::arrow::record_batch::RecordBatchReader;
use colkit::{Conversion, DatasetMode, DatasetSummary, DatasetWriteOptions, Error, Input, Result};
use serde_json::json;
use std::io::Write;
use std::time::Instant;

/// How the dataset is written, if the output is one.
pub fn options(args: &ConvertArgs) -> Result<Option<DatasetWriteOptions>> {
    let Some(mut options) = args.writing.options(&args.output) else {
        // Not what was asked for, but what is there.
        let may_be = !is_stream(&args.output) && args.output.extension().is_some_and(|extension| extension == "lance");
        let there = may_be && colkit::is_dataset(&args.output)?;
        let only = args.writing.rows_per_file.is_some() || args.writing.max_bytes_per_file.is_some();
        if !there && (only || args.writing.commit.unsafe_commit) {
            let what = "--rows-per-file, --max-bytes-per-file and --unsafe-commit are for Lance datasets";
            return Err(Error::request("option_of_another_format", what)
                .hint("a dataset has a / at the end of its name; --split-rows writes several files"));
        }
        return Ok(there.then(|| DatasetWriteOptions::new(DatasetMode::Create)));
    };
    let refused = |option: &str| {
        let what = format!("{option} is not for Lance datasets");
        Err(Error::request("option_of_another_format", what))
    };
    match () {
        () if args.to.as_deref().is_some_and(|format| format != "lance") => return refused("--to"),
        () if args.split_rows.is_some() => return refused("--split-rows"),
        () if args.compression.is_some() => return refused("--compression"),
        () if args.force.force => {
            return Err(Error::request("option_of_another_format", "--force is not for Lance datasets")
                .hint("--overwrite makes a new version, and keeps the old ones"));
        }
        () if is_stream(&args.output) => return refused("standard output"),
        () => {}
    }
    if let Some(lance) = args.lance.write_options() {
        options.lance = lance;
    }
    Ok(Some(options))
}

pub fn run(args: &ConvertArgs, options: &DatasetWriteOptions, io: &mut Io) -> Result<Outcome> {
    let began = Instant::now();
    let open_options = args.reading.open_options()?.with_row_ids(args.ids.with_row_id).with_filename(args.filename);
    let columns = args.columns.names()?;
    let inputs = inputs(args.inputs.iter().map(|file| (file, &args.dataset)), io)?;
    inputs.iter().try_for_each(|input| args.ids.check(input))?;
    let conversion = Conversion::new(inputs.clone()).open_options(open_options).create_options(create_options(args));
    let conversion = columns.into_iter().fold(conversion, Conversion::columns);
    let conversion = args.select.select.iter().fold(conversion, Conversion::select);
    let conversion = args.condition.iter().fold(conversion, Conversion::filter);
    let total = inputs.iter().map(Input::size).sum();
    let progress = Progress::watch(io, "converting", &inputs, total);
    let summary = conversion.write_dataset(&args.output, options)?;
    drop(progress);
    print_summary(args, &summary, began.elapsed().as_secs_f64(), io)?;
    Ok(Outcome::Success)
}

/// Writes the batches of a reader to a dataset.
pub fn write(
    args: &ConvertArgs,
    options: &DatasetWriteOptions,
    reader: Box<dyn RecordBatchReader + Send>,
    io: &mut Io,
) -> Result<()> {
    let began = Instant::now();
    let summary = colkit::write_dataset(&args.output, reader, options)?;
    print_summary(args, &summary, began.elapsed().as_secs_f64(), io)
}

fn print_summary(args: &ConvertArgs, summary: &DatasetSummary, seconds: f64, io: &mut Io) -> Result<()> {
    let output = args.output.display().to_string();
    if args.script.json {
        let document = json!({
            "output": output,
            "format": "lance",
            "version": summary.version,
            "rows": summary.rows,
            "columns": summary.columns,
            "files": summary.files,
            "input_bytes": summary.input_bytes,
            "output_bytes": summary.output_bytes,
            "seconds": seconds,
            "notes": summary.notes,
        });
        return Ok(writeln!(io.stdout, "{document}")?);
    }
    for note in &summary.notes {
        let label = io.stderr.yellow("note:");
        writeln!(io.stderr, "{label} {note}")?;
    }
    let (rows, files) = (plural(summary.rows, "row"), plural(summary.files as u64, "data file"));
    let size = bytes(summary.output_bytes);
    writeln!(io.stderr, "{output}: version {}: {rows} in {files}, {size} in {seconds:.2} s", summary.version)?;
    Ok(())
}
