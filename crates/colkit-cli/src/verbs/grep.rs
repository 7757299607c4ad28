//! `grep`: prints rows in which the text of a cell matches.

use crate::args::{ColumnArgs, FilesArgs, GrepArgs};
use crate::progress::Progress;
use crate::request::{Opened, each_file};
use crate::rows::RowSource;
use crate::verbs::cat::explain_read;
use crate::{Io, Outcome};
use colkit::arrow::array::{ArrayRef, UInt64Array};
use colkit::arrow::compute::{filter, filter_record_batch};
use colkit::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use colkit::arrow::record_batch::RecordBatch;
use colkit::core::plan::batch_of;
use colkit::{Batches, ColumnName, Error, OpenFile, Pattern, Result, ScanBuilder};
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

pub fn run(args: &GrepArgs, io: &mut Io) -> Result<Outcome> {
    let pattern = pattern(args)?;
    let searched = ColumnArgs { columns: args.within.clone() }.names()?;
    if args.files_with_matches {
        return name_files(args, &pattern, searched, io);
    }
    let Opened { file, columns, printing } = args.common.open(io)?;
    let searched = searched.or_else(|| columns.clone());
    let scan = file.scan().memory(args.common.reading.memory);
    let scan = args.condition.iter().fold(scan, ScanBuilder::filter);
    if args.count {
        return tell(args, &file, matching(scan.columns(0..1usize), &pattern, searched), io);
    }
    let mut found = if args.number {
        Found::numbered(&file, scan, &pattern, columns.as_deref(), searched.as_deref())?
    } else {
        let scan = columns.into_iter().fold(scan, ScanBuilder::columns);
        Found::rows(matching(scan, &pattern, searched).batches()?)
    };
    let printing = if pattern.is_inverted() { printing } else { printing.highlighting(&pattern) };
    let mut printer = printing.start(&found.schema, RowSource::file(&file), io, args.common.reading.memory)?;
    let watched = args.common.print.out.is_some() || io.stdout.width.is_none();
    let progress = watched.then(|| Progress::watch(io, "searching", &[file.input().clone()], found.planned_bytes()));
    let mut left = args.max_count.unwrap_or(u64::MAX);
    let mut rows = 0;
    while left > 0
        && let Some(batch) = found.next()?
    {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(batch.num_rows());
        if wanted > 0 {
            printer.write(&batch.slice(0, wanted))?;
        }
        rows += wanted as u64;
        left -= wanted as u64;
    }
    drop(progress);
    let notes = printer.finish()?;
    for note in notes {
        writeln!(io.stderr, "note: {note}")?;
    }
    if args.common.print.explain {
        explain_read(&file, io)?;
    }
    Ok(outcome(rows))
}

fn outcome(rows: u64) -> Outcome {
    if rows > 0 { Outcome::Success } else { Outcome::Failure }
}

fn pattern(args: &GrepArgs) -> Result<Pattern> {
    let pattern = match (args.fixed, args.ignore_case) {
        (false, false) => Pattern::new(&args.pattern),
        (false, true) => Pattern::new_ignoring_case(&args.pattern),
        (true, false) => Pattern::fixed(&args.pattern),
        (true, true) => Pattern::fixed_ignoring_case(&args.pattern),
    };
    Ok(pattern?.inverted(args.invert))
}

fn matching<'a>(
    scan: ScanBuilder<'a, OpenFile>,
    pattern: &Pattern,
    columns: Option<Vec<ColumnName>>,
) -> ScanBuilder<'a, OpenFile> {
    match columns {
        None => scan.matching(pattern.clone()),
        Some(columns) => scan.matching_in(pattern.clone(), columns),
    }
}

/// Prints the names of the files in which there is a row, each searched on its own.
fn name_files(args: &GrepArgs, pattern: &Pattern, searched: Option<Vec<ColumnName>>, io: &mut Io) -> Result<Outcome> {
    let common = &args.common;
    let searched = searched.map_or_else(|| common.columns.names(), |searched| Ok(Some(searched)))?;
    let mut outcome = Outcome::Failure;
    for (name, listed) in each_file(&common.files.files) {
        listed?;
        let one = FilesArgs { files: vec![name], filename: common.files.filename };
        let file = common.reading.open(&one, &common.dataset, common.ids, common.script.json, io)?;
        let scan = file.scan().memory(common.reading.memory).columns(0..1usize);
        let scan = args.condition.iter().fold(scan, ScanBuilder::filter);
        if tell(args, &file, matching(scan, pattern, searched.clone()), io)? == Outcome::Success {
            outcome = Outcome::Success;
        }
    }
    Ok(outcome)
}

/// Tells how many rows there are, or only whether there is one.
fn tell(args: &GrepArgs, file: &OpenFile, scan: ScanBuilder<'_, OpenFile>, io: &mut Io) -> Result<Outcome> {
    let most = if args.files_with_matches { 1 } else { args.max_count.unwrap_or(u64::MAX) };
    let batches = scan.batches()?;
    let progress = Progress::watch(io, "searching", &[file.input().clone()], batches.planned().bytes);
    let mut rows = 0;
    for batch in batches {
        rows = most.min(rows + batch?.num_rows() as u64);
        if rows == most {
            break;
        }
    }
    drop(progress);
    let name = file.input().name();
    if args.common.script.json {
        let document = match args.count {
            true => json!({"file": name, "rows": rows}),
            false => json!({"file": name, "found": rows > 0}),
        };
        writeln!(io.stdout, "{document}")?;
    } else if args.count {
        writeln!(io.stdout, "{rows}")?;
    } else if rows > 0 {
        writeln!(io.stdout, "{name}")?;
    }
    Ok(outcome(rows))
}

/// Rows that match, in order.
struct Found {
    batches: Batches,
    schema: SchemaRef,
    numbers: Option<Numbers>,
}

/// What is left to do where rows are numbered: only a scan of all rows knows their numbers.
struct Numbers {
    pattern: Pattern,
    /// The number of the next row.
    next: u64,
    /// The columns before this one are printed; the others are only searched.
    printed: usize,
    /// Where the searched columns are.
    searched: Vec<usize>,
}

impl Found {
    fn rows(batches: Batches) -> Self {
        Found { schema: batches.schema(), batches, numbers: None }
    }

    fn numbered(
        file: &OpenFile,
        scan: ScanBuilder<'_, OpenFile>,
        pattern: &Pattern,
        printed: Option<&[ColumnName]>,
        searched: Option<&[ColumnName]>,
    ) -> Result<Self> {
        let all: Vec<ColumnName> = (0..file.schema().fields().len()).map(ColumnName::Position).collect();
        let printed = printed.unwrap_or(&all);
        // Columns may be read twice; they are decoded once more then.
        let searched = searched.filter(|columns| *columns != printed);
        let columns: Vec<ColumnName> = printed.iter().chain(searched.unwrap_or_default()).cloned().collect();
        let positions = match searched {
            None => (0..printed.len()).collect(),
            Some(searched) => (printed.len()..printed.len() + searched.len()).collect(),
        };
        let batches = scan.columns(columns).batches()?;
        let read = batches.schema();
        let number = Arc::new(Field::new("row", DataType::UInt64, false));
        let fields = std::iter::once(number).chain(read.fields().iter().take(printed.len()).cloned());
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let numbers = Numbers { pattern: pattern.clone(), next: 0, printed: printed.len(), searched: positions };
        Ok(Found { batches, schema, numbers: Some(numbers) })
    }

    fn planned_bytes(&self) -> u64 {
        self.batches.planned().bytes
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        let batch = batch?;
        let Some(numbers) = &mut self.numbers else { return Ok(Some(batch)) };
        let columns: Vec<ArrayRef> =
            numbers.searched.iter().filter_map(|place| batch.columns().get(*place).cloned()).collect();
        let wanted = numbers.pattern.wanted_rows(&columns, batch.num_rows())?;
        let end = numbers.next + batch.num_rows() as u64;
        let rows = UInt64Array::from_iter_values(numbers.next..end);
        numbers.next = end;
        let printed = batch.project(&(0..numbers.printed).collect::<Vec<_>>()).map_err(Error::from)?;
        let printed = filter_record_batch(&printed, &wanted)?;
        let columns = std::iter::once(filter(&rows, &wanted)?).chain(printed.columns().iter().cloned());
        Ok(Some(batch_of(&self.schema, columns.collect(), wanted.true_count())?))
    }
}
