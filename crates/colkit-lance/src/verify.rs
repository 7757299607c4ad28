//! What `verify` adds to reading: every byte is compared with its checksum, and what colkit says about values with the values.

use crate::bloom::{self, Filter};
use crate::coroutine::Io;
use crate::describe;
use crate::extensions::{self, Checksums, Statistics, Zone, Zones};
use crate::read::{LanceFile, Pieces};
use crate::rows::Rows;
use crate::schema::Node;
use crate::write::zones::Summary;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::Schema;
use colkit_core::{ByteRange, Checksums as Coverage, Error, Result, Scan, Value};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Compares all bytes of the file with their checksums, and says which bytes have some.
pub(crate) async fn checksums(file: &Arc<LanceFile>, io: &Io) -> Result<Coverage> {
    let container = &file.container;
    if let Some(seal) = container.seal() {
        for piece in seal.pieces() {
            if let Err(error) = io.read_one(piece).await {
                let place = error.offset().unwrap_or(piece.start());
                return Err(error.part(describe::parts_at(file, io, place).await));
            }
        }
        return Ok(Coverage::All);
    }
    if let Some(old) = extensions::load::<Checksums>(container, io, &file.fields.own, extensions::CHECKSUMS).await? {
        let owners = describe::owners(&file.fields.roots);
        let names = owners.into_iter().map(|(column, (path, _))| (column, path)).collect();
        extensions::verify(container, io, &old, &names).await?;
        return Ok(Coverage::Parts("the pages of every column, not the metadata".into()));
    }
    Ok(Coverage::None)
}

/// Memory for the values that are looked at together.
const PIECE_BYTES: u64 = 8 << 20;

/// Compares statistics, zone maps and bloom filters with all values.
pub(crate) async fn statistics(file: &Arc<LanceFile>, io: &Io) -> Result<()> {
    let own = &file.fields.own;
    let stated = extensions::load::<Statistics>(&file.container, io, own, extensions::STATISTICS).await?;
    let zones = file.zones(io).await?;
    if stated.is_none() && zones.is_none() {
        return Ok(());
    }
    for (number, node) in file.fields.roots.iter().enumerate() {
        let all = stated.as_ref().and_then(|s| s.columns.get(number));
        let column = StatedColumn { file, io, number, all, zones: zones.as_deref() };
        column.check(node).await.map_err(|e| e.part(format!("column {:?}", node.field.name())))?;
    }
    Ok(())
}

/// A top-level column, and what is said about it.
struct StatedColumn<'a> {
    file: &'a Arc<LanceFile>,
    io: &'a Io,
    number: usize,
    all: Option<&'a Zone>,
    zones: Option<&'a Zones>,
}

/// Rows that end together, and what was found in those that have been seen.
#[derive(Default)]
struct Stretch {
    rows: Range<u64>,
    found: Summary,
}

impl Stretch {
    fn from(start: u64, length: u64) -> Self {
        Stretch { rows: start..start.saturating_add(length), found: Summary::default() }
    }
}

impl StatedColumn<'_> {
    async fn check(&self, node: &Node) -> Result<()> {
        let rows = self.file.fields.rows;
        let schema = Arc::new(Schema::new(vec![node.field.clone()]));
        let (file, node) = (self.file.clone(), Arc::new(node.clone()));
        let mut pieces = Pieces::new(file, node, schema, Rows::range(0..rows), &Scan::default(), PIECE_BYTES);
        let (zone_rows, pages) = match self.zones.and_then(|z| Some((z.rows_per_zone, z.columns.get(self.number)?))) {
            Some((each, zones)) => (each, zones.pages.as_slice()),
            None => (rows.max(1), &[][..]),
        };
        let filters = match self.zones {
            Some(zones) => self.file.filter_ranges(zones, self.number)?,
            None => None,
        };
        let (mut all, mut zone) = (Summary::default(), Stretch::from(0, zone_rows));
        let mut pages = pages.iter();
        let mut page_zone = pages.next();
        let mut page = Stretch::from(0, page_zone.map_or(rows, |p| p.rows));
        let (mut filter, mut at) = (None, 0);
        // What the pieces ask for includes what proves it.
        let plain = self.io.sealed(None);
        while let Some(batch) = plain.next(&mut pieces).await? {
            let Some(array) = batch.columns().first() else { break };
            let end = at + array.len() as u64;
            let mut given = 0;
            while at < end {
                if filter.is_none() {
                    filter = Some(self.filter(filters.as_deref(), at / zone_rows).await?);
                }
                let until = end.min(zone.rows.end).min(page.rows.end).max(at + 1);
                let count = usize::try_from(until - at).unwrap_or(usize::MAX).min(array.len() - given);
                let part = array.slice(given, count);
                (given, at) = (given + count, until);
                let found = Summary::of(&part)?;
                [&mut all, &mut zone.found, &mut page.found].into_iter().for_each(|s| s.add(&found));
                if let Some(Some(filter)) = &filter {
                    check_filter(filter, &part, &zone.rows)?;
                }
                if at == zone.rows.end || at == rows {
                    self.check_zone(&zone)?;
                    zone = Stretch::from(at, zone_rows);
                    filter = None;
                }
                if at == page.rows.end {
                    if let Some(stated) = page_zone.and_then(|p| p.zone.as_ref()) {
                        compare(stated, &page.found.zone(), &page.rows)?;
                    }
                    page_zone = pages.next();
                    page = Stretch::from(at, page_zone.map_or(rows, |p| p.rows));
                }
            }
        }
        match self.all {
            Some(stated) => compare(stated, &all.zone(), &(0..rows)),
            None => Ok(()),
        }
    }

    /// The filter of a zone, if the column has some.
    async fn filter(&self, filters: Option<&[ByteRange]>, zone: u64) -> Result<Option<Filter>> {
        let range = usize::try_from(zone).ok().and_then(|zone| filters?.get(zone));
        match range {
            Some(range) => Ok(Some(Filter(self.io.read_one(*range).await?))),
            None => Ok(None),
        }
    }

    fn check_zone(&self, zone: &Stretch) -> Result<()> {
        let Some(zones) = self.zones.and_then(|z| z.columns.get(self.number)) else { return Ok(()) };
        let number = zone.rows.start / (zone.rows.end - zone.rows.start).max(1);
        let stated = usize::try_from(number).ok().and_then(|n| zones.zones.get(n));
        // Rows that no zone map speaks of are never left out.
        stated.map_or(Ok(()), |stated| compare(stated, &zone.found.zone(), &zone.rows))
    }
}

fn untrue(what: String) -> Error {
    Error::corrupt("bad_statistics", what).hint("conditions may leave out rows that they hold for; write the file anew")
}

/// An error if the filter lacks a value.
fn check_filter(filter: &Filter, part: &ArrayRef, rows: &Range<u64>) -> Result<()> {
    match bloom::hashes(part)?.iter().all(|hash| filter.may_hold(*hash)) {
        true => Ok(()),
        false => Err(untrue(format!("the bloom filter of rows {} to {} lacks a value", rows.start, rows.end))),
    }
}

/// An error unless what is stated holds for what was found in these rows.
fn compare(stated: &Zone, found: &Zone, rows: &Range<u64>) -> Result<()> {
    let (said, is) = (stated.statistics(), found.statistics());
    let holds = |said: &Option<Value>, is: &Option<Value>, outside: Ordering, exact: bool| match (said, is) {
        (None, _) => true,
        (Some(said), Some(is)) => said.compare(is).is_some_and(|o| o.is_eq() || (o == outside && !exact)),
        // A bound of nothing, or of what has no order.
        (Some(_), None) => false,
    };
    let exact = said.exact && is.exact;
    if said.null_count == is.null_count
        && holds(&said.min, &is.min, Ordering::Less, exact)
        && holds(&said.max, &is.max, Ordering::Greater, exact)
    {
        return Ok(());
    }
    let show = |v: &Option<Value>| v.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let words = |s: &colkit_core::ColumnStatistics| {
        format!("{} nulls, values from {} to {}", s.null_count.unwrap_or(0), show(&s.min), show(&s.max))
    };
    let (start, end) = (rows.start, rows.end);
    Err(untrue(format!("rows {start} to {end} are said to have {}; there are {}", words(&said), words(&is))))
}
