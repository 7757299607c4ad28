//! Checking a file from the first byte to the last: that it opens, that its byte map covers it once, that every value
//! of every column decodes, and whatever else its format can check.
//!
//! A broken column does not hide the others: where reading all columns together fails, halves of them are read, and
//! halves of those, until the broken ones stand alone.

use crate::{Input, OpenFile, OpenOptions};
use arrow::datatypes::SchemaRef;
use colkit_core::coroutine::at_once;
use colkit_core::{Checksums, Error, Finding, Layout, Result, Verified};
use std::collections::HashSet;
use std::future::Future;
use std::ops::Range;

/// What checking a file gave.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Verdict {
    /// The file's name.
    pub file: String,
    /// Its format, if that is known.
    pub format: Option<&'static str>,
    /// Its length in bytes.
    pub bytes: u64,
    /// Rows, as the file says.
    pub rows: Option<u64>,
    /// Columns.
    pub columns: Option<usize>,
    /// What was checked and found good.
    pub checked: Vec<String>,
    /// What the checksums cover that were compared; `None` if it did not come to that.
    pub checksums: Option<Checksums>,
    /// Oddities that the format allows.
    pub findings: Vec<Finding>,
    /// What is wrong.
    pub errors: Vec<Error>,
}

impl Verdict {
    /// The verdict on a file that cannot even be looked at.
    pub fn unreadable(file: impl Into<String>, error: Error) -> Self {
        Verdict { file: file.into(), errors: vec![error], ..Self::default() }
    }

    /// Whether nothing is wrong.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// Whether nothing is even odd.
    pub fn is_clean(&self) -> bool {
        self.is_valid() && self.findings.is_empty()
    }

    fn check(&mut self, what: impl Into<String>, result: Result<()>) {
        match result {
            Ok(()) => self.checked.push(what.into()),
            Err(error) => self.errors.push(error),
        }
    }

    /// The same damage is often met twice; what was already said is not repeated.
    fn add_error(&mut self, error: Error) {
        if !self.errors.iter().any(|e| e.to_string() == error.to_string()) {
            self.errors.push(error);
        }
    }

    fn find(&mut self, part: impl Into<String>, message: impl Into<String>) {
        self.findings.push(Finding { part: part.into(), message: message.into() });
    }
}

/// What checking needs of an open file, wherever its bytes come from.
pub(crate) trait Checkable: Sync {
    /// The file's name.
    fn name(&self) -> &str;

    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The number of rows, as the file says.
    fn row_count(&self) -> u64;

    /// The format's own checks.
    fn own_checks(&self) -> impl Future<Output = Result<Verified>> + Send;

    /// The byte map.
    fn byte_map(&self) -> impl Future<Output = Result<Layout>> + Send;

    /// Reads these columns whole and counts the rows.
    fn count(&self, columns: Range<usize>, memory: u64) -> impl Future<Output = Result<u64>> + Send;
}

impl Checkable for OpenFile {
    fn name(&self) -> &str {
        self.input().name()
    }

    fn schema(&self) -> SchemaRef {
        self.schema()
    }

    fn row_count(&self) -> u64 {
        self.row_count()
    }

    async fn own_checks(&self) -> Result<Verified> {
        self.verify()
    }

    async fn byte_map(&self) -> Result<Layout> {
        self.layout()
    }

    async fn count(&self, columns: Range<usize>, memory: u64) -> Result<u64> {
        let mut rows = 0;
        for batch in self.scan().columns(columns).memory(memory).batches()? {
            rows += batch?.num_rows() as u64;
        }
        Ok(rows)
    }
}

/// Checks everything that can be checked about `input`, within `memory` bytes.
pub fn verify(input: &Input, options: &OpenOptions, memory: u64) -> Verdict {
    let mut verdict = Verdict { file: input.name().into(), bytes: input.size(), ..Verdict::default() };
    let file = match options.open_input(input) {
        Ok(file) => file,
        Err(error) => {
            verdict.errors.push(error);
            return verdict;
        }
    };
    verdict.format = Some(file.format().name());
    verdict.bytes = file.bytes();
    if let Some(compression) = file.input().compression() {
        verdict.checked.push(format!("all {} data decompresses", compression.name()));
    }
    let mut strays = Verdict::default();
    check_strays(&mut strays, input);
    if let Err(error) = at_once(check(&mut verdict, &file, strays, memory)) {
        verdict.errors.push(error);
    }
    verdict
}

/// Checks an open file. What is known of files beside it comes between what is known of its parts and of its values.
pub(crate) async fn check(verdict: &mut Verdict, file: &impl Checkable, beside: Verdict, memory: u64) {
    verdict.rows = Some(file.row_count());
    verdict.columns = Some(file.schema().fields().len());
    verdict.checked.push("header and metadata".into());
    let own = file.own_checks().await;
    check_layout(verdict, file).await;
    check_names(verdict, file);
    verdict.findings.extend(beside.findings);
    beside.errors.into_iter().for_each(|error| verdict.add_error(error));
    check_values(verdict, file, memory).await;
    match own {
        Ok(verified) => {
            add_new(&mut verdict.findings, verified.findings);
            verified.errors.into_iter().for_each(|e| verdict.add_error(e.file(file.name())));
            verdict.checksums = Some(verified.checksums);
        }
        Err(error) => verdict.add_error(error),
    }
}

fn add_new(known: &mut Vec<Finding>, findings: Vec<Finding>) {
    let mut seen: HashSet<Finding> = known.iter().cloned().collect();
    known.extend(findings.into_iter().filter(|finding| seen.insert(finding.clone())));
}

async fn check_layout(verdict: &mut Verdict, file: &impl Checkable) {
    let layout = match file.byte_map().await {
        Ok(layout) => layout,
        Err(error) => return verdict.errors.push(error),
    };
    let covered = covers(&layout).map_err(|e| e.file(file.name()));
    verdict.check(format!("all {} bytes are accounted for once", layout.size), covered);
    for gap in layout.gaps() {
        verdict.find(gap.name.clone(), format!("bytes {} belong to nothing", gap.range));
    }
}

fn covers(layout: &Layout) -> Result<()> {
    if let Some((a, b)) = layout.overlaps.first() {
        return Err(Error::corrupt("block_overlap", format!("{a} and {b} claim the same bytes")).part("layout"));
    }
    if !layout.covers_exactly_once() {
        return Err(Error::corrupt("bad_layout", "the byte map does not cover the file exactly once").part("layout"));
    }
    Ok(())
}

fn check_names(verdict: &mut Verdict, file: &impl Checkable) {
    let mut seen = HashSet::new();
    let mut reported = HashSet::new();
    for field in file.schema().fields() {
        if !seen.insert(field.name()) && reported.insert(field.name()) {
            verdict.find("schema", format!("the column name {:?} occurs more than once", field.name()));
        }
        if field.name().is_empty() && reported.insert(field.name()) {
            verdict.find("schema", "a column has an empty name");
        }
    }
}

/// Names files of a dataset that none of its versions needs.
#[cfg(all(feature = "fs", feature = "lance"))]
fn check_strays(verdict: &mut Verdict, input: &Input) {
    let Some(manifest) = input.place().filter(|_| input.objects().are_there()) else { return };
    match crate::dataset::strays(manifest) {
        Ok(strays) => verdict.findings.extend(strays),
        Err(error) => verdict.add_error(error),
    }
}

#[cfg(not(all(feature = "fs", feature = "lance")))]
fn check_strays(_: &mut Verdict, _: &Input) {}

async fn check_values(verdict: &mut Verdict, file: &impl Checkable, memory: u64) {
    let columns = 0..file.schema().fields().len();
    let Err(error) = read(file, columns.clone(), memory).await else {
        return verdict.checked.push("every value of every column decodes".into());
    };
    // Packed bytes and bundles hold no table; the format's own checks restore what they hold.
    if error.code() == "no_table_view" {
        return verdict.checked.push("there is no table in it; its content was checked instead".into());
    }
    check_columns(verdict, file, columns, error, memory).await;
}

/// Columns that are still to be looked at, or a place to come back to.
enum Open {
    /// These make reading them together fail, like this.
    Broken(Range<usize>, Error),
    /// These have not been read yet.
    Unread(Range<usize>),
    /// Both halves of what failed like this have been looked at, before which there were so many errors.
    Halved(Error, usize),
}

/// Finds out which of these columns make reading them together fail, by reading halves of them: a wide table with few
/// broken columns is not read once for each.
async fn check_columns(verdict: &mut Verdict, file: &impl Checkable, columns: Range<usize>, error: Error, memory: u64) {
    let mut open = vec![Open::Broken(columns, error)];
    while let Some(next) = open.pop() {
        match next {
            Open::Broken(columns, error) if columns.len() < 2 => verdict.errors.push(error),
            Open::Broken(columns, error) => {
                let middle = columns.start.midpoint(columns.end);
                open.push(Open::Halved(error, verdict.errors.len()));
                open.push(Open::Unread(middle..columns.end));
                open.push(Open::Unread(columns.start..middle));
            }
            Open::Unread(columns) => match read(file, columns.clone(), memory).await {
                Err(error) => open.push(Open::Broken(columns, error)),
                Ok(()) => {
                    let schema = file.schema();
                    let fields = schema.fields().get(columns).unwrap_or_default();
                    let decodes = fields.iter().map(|f| format!("every value of column {:?} decodes", f.name()));
                    verdict.checked.extend(decodes);
                }
            },
            // Each half is good alone.
            Open::Halved(error, before) if verdict.errors.len() == before => verdict.errors.push(error),
            Open::Halved(..) => {}
        }
    }
}

/// Reads these columns whole and compares the number of rows.
async fn read(file: &impl Checkable, columns: Range<usize>, memory: u64) -> Result<()> {
    let rows = file.count(columns, memory).await?;
    if rows != file.row_count() {
        return Err(Error::corrupt(
            "row_count_mismatch",
            format!("expected {} rows as the header says, found {rows}", file.row_count()),
        )
        .file(file.name()));
    }
    Ok(())
}
