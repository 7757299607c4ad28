//! `tour`: a sample table through every native format, with the commands that do the same.
//!
//! What a format cannot store is left out of its file, and said. The tour knows no format by name: it grows with the
//! registry.

use super::formats::writes;
use crate::args::TourArgs;
use crate::grid::{Align, Grid};
use crate::human::{bytes, count, plural, share};
use crate::{Io, Outcome, Stream};
use colkit::arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use colkit::arrow::datatypes::{DataType, Field, Schema};
use colkit::arrow::record_batch::RecordBatch;
use colkit::{
    DiffOptions, Error, Format, Input, Opening, Projection, Registry, Result, Scan, TextReading, WriteOptions, create,
};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn run(args: &TourArgs, io: &mut Io) -> Result<Outcome> {
    let temporary = match &args.keep {
        None => Some(tempfile::tempdir()?),
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|e| Error::from(e).file(folder.display().to_string()))?;
            None
        }
    };
    let folder = match (&temporary, &args.keep) {
        (Some(temporary), _) => temporary.path(),
        (None, Some(folder)) => folder,
        (None, None) => Path::new("."),
    };
    let registry = Registry::default();
    let mut stops = Vec::new();
    let talk = (!args.script.json).then_some(&mut io.stdout);
    let mut talk = Talk(talk);
    talk.say(&format!("A table of {} of trades, in {}.", plural(args.rows, "row"), folder.display()))?;
    let sample = folder.join("trades.csv");
    let csv = registry.named("csv", &TextReading::default())?;
    write(csv.as_ref(), &full_schema(), args.rows, &sample)?;
    let sample_bytes = Input::path(&sample)?.size();
    talk.say(&format!("\nAs CSV it takes {}. Look at it:", bytes(sample_bytes)))?;
    talk.command(&format!("colkit head -n 3 {}", sample.display()))?;
    for format in registry.native_formats().into_iter().filter(|f| writes(f.as_ref())) {
        stops.push(visit(format, args.rows, folder, &sample, &mut talk)?);
    }
    let equal = stops.iter().all(|s| s.equal);
    if args.script.json {
        let formats: Vec<_> = stops.iter().map(Stop::for_scripts).collect();
        let document = json!({
            "rows": args.rows, "csv_bytes": sample_bytes, "formats": formats, "all_equal": equal,
        });
        writeln!(io.stdout, "{document}")?;
    } else {
        tell(&stops, sample_bytes, &mut io.stdout)?;
    }
    Ok(if equal { Outcome::Yes } else { Outcome::No })
}

/// The tour guide, silent when scripts listen.
struct Talk<'a>(Option<&'a mut Stream>);

impl Talk<'_> {
    fn say(&mut self, text: &str) -> Result<()> {
        let Some(out) = &mut self.0 else { return Ok(()) };
        Ok(writeln!(out, "{text}")?)
    }

    fn command(&mut self, command: &str) -> Result<()> {
        let Some(out) = &mut self.0 else { return Ok(()) };
        let line = out.bold(&format!("  $ {command}"));
        Ok(writeln!(out, "{line}")?)
    }
}

/// What was seen of one format.
struct Stop {
    format: &'static str,
    file: PathBuf,
    left_out: Vec<String>,
    bytes: u64,
    /// Bytes read to see two columns.
    pruned: u64,
    equal: bool,
}

impl Stop {
    fn for_scripts(&self) -> serde_json::Value {
        json!({
            "format": self.format, "bytes": self.bytes, "left_out": self.left_out, "two_column_bytes": self.pruned,
            "equal": self.equal,
        })
    }
}

fn visit(format: Arc<dyn Format>, rows: u64, folder: &Path, sample: &Path, talk: &mut Talk) -> Result<Stop> {
    let all = full_schema();
    let (kept, left_out): (Vec<_>, Vec<_>) = all.fields().iter().cloned().partition(|f| format.stores(f.data_type()));
    let schema = Schema::new(kept);
    let left_out: Vec<String> = left_out.iter().map(|f| f.name().clone()).collect();
    let extension = format.extensions().first().copied().unwrap_or(format.name());
    let file = folder.join(format!("trades.{extension}"));
    let (from, to) = (sample.display(), file.display());
    talk.say(&format!("\n{}", format.name()))?;
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let mut convert = format!("colkit convert {from} {to}");
    if !left_out.is_empty() {
        talk.say(&format!("  It has no type for {}: left out here.", left_out.join(", ")))?;
        convert.push_str(&format!(" --columns {}", names.join(",")));
    }
    talk.command(&convert)?;
    write(format.as_ref(), &schema, rows, &file)?;
    talk.command(&format!("colkit inspect {to}"))?;
    let input = Input::path(&file)?;
    let opened = Opening::default().open(&input)?;
    let two = Projection::named(&opened.schema(), names.iter().take(2))?;
    for batch in opened.scan(&Scan::of(two))? {
        batch?;
    }
    let pruned = input.read_count().bytes;
    talk.command(&format!(
        "colkit cat {to} --columns {} --explain",
        names.iter().take(2).copied().collect::<Vec<_>>().join(",")
    ))?;
    let read = format!("{} of {} bytes", count(pruned), count(input.size()));
    talk.say(&format!("  reads {read} ({})", share(pruned, input.size())))?;
    let expected = folder.join(format!("expected-{}.csv", format.name()));
    let csv = Registry::default().named("csv", &TextReading::default())?;
    write(csv.as_ref(), &schema, rows, &expected)?;
    talk.command(&format!("colkit diff {} {to}", if left_out.is_empty() { sample } else { &expected }.display()))?;
    let difference = colkit::diff(&Input::path(&expected)?, &input, &Opening::default(), &DiffOptions::default())?;
    let equal = difference.is_equal() && difference.compared_rows == rows;
    talk.say(if equal { "  equal, value by value" } else { "  DIFFERENT" })?;
    Ok(Stop { format: format.name(), left_out, bytes: input.size(), pruned, equal, file })
}

fn tell(stops: &[Stop], sample_bytes: u64, out: &mut Stream) -> Result<()> {
    let mut grid = Grid::new(&[
        ("format", Align::Left),
        ("file", Align::Left),
        ("size", Align::Right),
        ("of CSV", Align::Right),
        ("two columns read", Align::Right),
        ("round trip", Align::Left),
    ]);
    for stop in stops {
        let name = stop.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        grid.line([
            stop.format.to_string(),
            name,
            bytes(stop.bytes),
            share(stop.bytes, sample_bytes),
            bytes(stop.pruned),
            if stop.equal { "equal" } else { "DIFFERENT" }.to_string(),
        ]);
    }
    writeln!(out)?;
    for (i, line) in grid.render().iter().enumerate() {
        let line = if i == 0 { out.dim(line) } else { line.clone() };
        writeln!(out, "{line}")?;
    }
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

/// Writes the columns of `schema` of the sample table.
fn write(format: &dyn Format, schema: &Schema, rows: u64, path: &Path) -> Result<()> {
    let schema = Arc::new(schema.clone());
    let mut writer = format.writer(schema.clone(), create(path, &[])?, &WriteOptions::default())?;
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

/// Values that look like trades and are the same every time.
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
