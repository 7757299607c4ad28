//! `tour`: writes a sample table in every native format, reads part of it back and compares it, and shows the commands
//! that do the same.
//!
//! The formats come from the registry, so a new format appears in the tour without a change here.

use super::formats::writes;
use crate::args::TourArgs;
use crate::grid::{self, Align};
use crate::human::{bytes, count, plural, share};
use crate::{Io, Outcome, Stream};
use colkit::arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use colkit::arrow::datatypes::{DataType, Field, Schema};
use colkit::arrow::record_batch::RecordBatch;
use colkit::{
    Conversion, DiffOptions, Error, Existing, Format, Input, OpenOptions, Registry, Result, TextOptions, WriteOptions,
    check_target, create, type_name,
};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn run(args: &TourArgs, io: &mut Io) -> Result<Outcome> {
    // Removed when the tour ends.
    let temporary = if args.keep.is_none() { Some(tempfile::tempdir()?) } else { None };
    let folder = match (&args.keep, &temporary) {
        (Some(folder), _) => folder.as_path(),
        (None, Some(temporary)) => temporary.path(),
        (None, None) => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(|e| Error::from(e).file(folder.display().to_string()))?;
    let registry = Registry::default();
    let formats: Vec<_> = registry.native_formats().into_iter().filter(|f| writes(f.as_ref())).collect();
    // Checked before the first file is written, so that a conflict with the last one costs nothing.
    for format in &formats {
        check_target(&file_of(format, folder), args.force.existing())?;
    }
    let mut printer = TourPrinter { out: (!args.script.json).then_some(&mut io.stdout), kept: args.keep.is_some() };
    let existing = args.force.existing();
    let sample = folder.join("trades.csv");
    let csv = registry.named("csv", &TextOptions::default())?;
    write_sample(csv.as_ref(), args.rows, &sample, existing)?;
    let sample_bytes = Input::path(&sample)?.size();
    let (rows, size) = (plural(args.rows, "row"), bytes(sample_bytes));
    let place = if args.keep.is_some() { "" } else { " (in a temporary directory; --keep DIR keeps the files)" };
    printer.say(&format!("Sample table of trades: {rows}, {size} as CSV{place}"))?;
    printer.command(&format!("colkit head -n 3 {}", printer.name(&sample)))?;
    printer.head(&sample)?;
    let results =
        formats.iter().map(|f| try_format(f, folder, &sample, existing, &mut printer)).collect::<Result<Vec<_>>>()?;
    let equal = results.iter().all(|s| s.equal);
    if args.script.json {
        let formats: Vec<_> = results.iter().map(FormatResult::to_json).collect();
        let document = json!({"rows": args.rows, "csv_bytes": sample_bytes, "formats": formats, "all_equal": equal});
        writeln!(io.stdout, "{document}")?;
    } else {
        print_summary(&results, sample_bytes, &mut io.stdout)?;
    }
    Ok(if equal { Outcome::Success } else { Outcome::Failure })
}

/// Prints the steps of the tour, or nothing with `--json`.
struct TourPrinter<'a> {
    out: Option<&'a mut Stream>,
    /// The files are kept, so their full paths are shown.
    kept: bool,
}

impl TourPrinter<'_> {
    fn say(&mut self, text: &str) -> Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        Ok(writeln!(out, "{text}")?)
    }

    fn command(&mut self, command: &str) -> Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let line = out.bold(&format!("  $ {command}"));
        Ok(writeln!(out, "{line}")?)
    }

    /// The first lines of a text file.
    fn head(&mut self, path: &Path) -> Result<()> {
        let file = std::io::BufReader::new(std::fs::File::open(path)?);
        for line in std::io::BufRead::lines(file).take(4) {
            self.say(&format!("  {}", line?))?;
        }
        Ok(())
    }

    fn name(&self, path: &Path) -> String {
        let short = path.file_name().map(|name| name.to_string_lossy().into_owned());
        short.filter(|_| !self.kept).unwrap_or_else(|| path.display().to_string())
    }
}

/// The result for one format.
struct FormatResult {
    format: &'static str,
    file: PathBuf,
    /// Columns stored as another type than in the sample.
    changed: Vec<String>,
    bytes: u64,
    /// Bytes read to scan two columns.
    pruned: u64,
    equal: bool,
}

impl FormatResult {
    fn to_json(&self) -> serde_json::Value {
        json!({
            "format": self.format, "bytes": self.bytes, "changed_types": self.changed,
            "two_column_bytes": self.pruned, "equal": self.equal,
        })
    }
}

/// The sample in this format.
fn file_of(format: &Arc<dyn Format>, folder: &Path) -> PathBuf {
    let extension = format.extensions().first().copied().unwrap_or(format.name());
    folder.join(format!("trades.{extension}"))
}

/// Converts the sample, reads two columns of the result, and compares all of it with the sample.
fn try_format(
    format: &Arc<dyn Format>,
    folder: &Path,
    sample: &Path,
    existing: Existing,
    printer: &mut TourPrinter,
) -> Result<FormatResult> {
    let file = file_of(format, folder);
    let (from, to) = (printer.name(sample), printer.name(&file));
    printer.say(&format!("\n{}", format.name()))?;
    printer.command(&format!("colkit convert {from} {to}"))?;
    let source = Input::path(sample)?;
    let conversion = Conversion::new([source.clone()]);
    let prepared = conversion.prepare(format.clone())?;
    let changed = changed_types(&full_schema(), prepared.schema());
    let sink = create(&file, [sample], existing)?;
    let summary = prepared.write(sink)?;
    let share_of_csv = share(summary.output_bytes, summary.input_bytes);
    printer.say(&format!("  {}, {share_of_csv} of the CSV size", bytes(summary.output_bytes)))?;
    for change in &changed {
        printer.say(&format!("  {change}"))?;
    }
    printer.command(&format!("colkit cat {to} --columns quantity,note --explain"))?;
    let input = Input::path(&file)?;
    let opened = OpenOptions::new().open_input(&input)?;
    for batch in opened.scan().columns(["quantity", "note"]).batches()? {
        batch?;
    }
    let pruned = input.read_count().bytes;
    let read = format!("{} of {} bytes", count(pruned), count(input.size()));
    printer.say(&format!("  reads {read} ({})", share(pruned, input.size())))?;
    printer.command(&format!("colkit diff {from} {to}"))?;
    let difference = colkit::diff(&source, &input, &OpenOptions::new(), &DiffOptions::default())?;
    let equal = difference.is_equal() && difference.compared_rows == summary.rows;
    printer.say(if equal { "  equal: every value matches" } else { "  DIFFERENT" })?;
    Ok(FormatResult { format: format.name(), changed, bytes: input.size(), pruned, equal, file })
}

/// Columns whose type the format lacks, and the type they are stored as.
fn changed_types(sample: &Schema, written: &Schema) -> Vec<String> {
    let pairs = sample.fields().iter().zip(written.fields());
    let changed = pairs.filter(|(before, after)| before.data_type() != after.data_type());
    let say = |(before, after): (&Arc<Field>, &Arc<Field>)| {
        let (kind, other) = (type_name(before.data_type()), type_name(after.data_type()));
        format!("no {kind} type: {:?} is stored as {other}", before.name())
    };
    changed.map(say).collect()
}

fn print_summary(results: &[FormatResult], sample_bytes: u64, out: &mut Stream) -> Result<()> {
    let titles = [
        ("format", Align::Left),
        ("file", Align::Left),
        ("size", Align::Right),
        ("of CSV", Align::Right),
        ("read for 2 columns", Align::Right),
        ("round trip", Align::Left),
    ];
    writeln!(out)?;
    grid::print(&titles, out, |line| {
        results.iter().try_for_each(|result| {
            let name = result.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            line(&[
                result.format.to_string(),
                name,
                bytes(result.bytes),
                share(result.bytes, sample_bytes),
                bytes(result.pruned),
                if result.equal { "equal" } else { "DIFFERENT" }.to_string(),
            ])
        })
    })?;
    Ok(())
}

/// The columns of the sample table.
fn full_schema() -> Schema {
    Schema::new(vec![
        Field::new("sym", DataType::Utf8, false),
        Field::new("price", DataType::Float64, false),
        Field::new("quantity", DataType::Int32, false),
        Field::new("buyer_is_maker", DataType::Boolean, false),
        Field::new("trade_id", DataType::Int64, false),
        Field::new("note", DataType::Utf8, false),
    ])
}

/// Rows of a batch of the sample.
const BATCH: u64 = 8192;

/// Writes the sample table.
fn write_sample(format: &dyn Format, rows: u64, path: &Path, existing: Existing) -> Result<()> {
    let schema = Arc::new(full_schema());
    let mut writer = format.writer(schema.clone(), create(path, [], existing)?, &WriteOptions::default())?;
    let mut at = 0;
    while at < rows {
        let end = rows.min(at + BATCH);
        let columns = schema.fields().iter().map(|f| sample_column(f.name(), at..end)).collect();
        writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
        at = end;
    }
    writer.finish()?;
    Ok(())
}

/// Deterministic values that look like trades.
fn sample_column(name: &str, rows: std::ops::Range<u64>) -> ArrayRef {
    const SYMBOLS: [&str; 5] = ["BTC-USD", "ETH-USD", "SOL-EUR", "XRP-USD", "ÖRE-SEK"];
    // A multiplicative hash: enough disorder to look real.
    let random = |row: u64, salt: u64| (row.wrapping_add(salt).wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 33;
    let symbol = |row: u64| usize::try_from(random(row, 1) % 5).ok().and_then(|i| SYMBOLS.get(i)).copied();
    let small = |row: u64, salt: u64, below: u64| i32::try_from(random(row, salt) % below).unwrap_or(0);
    match name {
        "sym" => Arc::new(rows.map(symbol).collect::<StringArray>()),
        "price" => Arc::new(Float64Array::from_iter_values(rows.map(|r| f64::from(small(r, 2, 9_000_000)) / 100.0))),
        "quantity" => Arc::new(Int32Array::from_iter_values(rows.map(|r| small(r, 3, 1000) + 1))),
        "buyer_is_maker" => Arc::new(rows.map(|r| Some(random(r, 4) % 3 == 0)).collect::<BooleanArray>()),
        "trade_id" => Arc::new(Int64Array::from_iter_values(rows.map(|r| 9_007_199_254_740_993 + r.cast_signed()))),
        _ => Arc::new(StringArray::from_iter_values(rows.map(|r| match random(r, 5) % 50 {
            0 => format!("filled in {} parts, \"as agreed\"", small(r, 6, 9) + 2),
            1..10 => "partial".into(),
            _ => String::new(),
        }))),
    }
}
