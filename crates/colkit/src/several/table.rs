//! The table that several files are.

use super::Parts;
use super::lanes::{Constants, PartsLane};
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use colkit_core::coroutine::{Io, coroutine};
use colkit_core::plan::batch_of;
use colkit_core::{
    BoundPredicate, Boxed, ByteRange, Checksums, ColumnRef, Error, Lane, Layout, Machine, Projection, ReadOptions,
    Region, RegionKind, Result, Scan, Selection, Slots, Split, Step, Table, Verified, blocks_of, ready,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) struct SeveralTable(Arc<Inner>);

/// What lanes share.
pub(super) struct Inner {
    schema: SchemaRef,
    /// How many columns the parts have; those that follow are the same for all rows of a part.
    own: usize,
    parts: Parts,
    /// The first row of each part.
    starts: Vec<u64>,
    rows: u64,
    slots: Arc<Slots>,
    /// Tables that are open.
    tables: Mutex<BTreeMap<usize, Arc<dyn Table>>>,
}

/// The columns of a projection.
struct Divided {
    /// Those that parts have, and the place of each in the projection.
    places: Vec<usize>,
    own: Vec<ColumnRef>,
    /// The places of the others, and which of the part's values each has.
    others: Vec<(usize, usize)>,
}

impl Inner {
    pub fn new(schema: SchemaRef, own: usize, mut parts: Parts, slots: Arc<Slots>) -> Self {
        let mut rows = 0u64;
        let mut starts = Vec::with_capacity(parts.list.len());
        for part in &parts.list {
            starts.push(rows);
            rows = rows.saturating_add(part.rows);
        }
        let tables = Mutex::new(std::mem::take(&mut parts.tables));
        Inner { schema, own, parts, starts, rows, slots, tables }
    }

    fn tables(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<dyn Table>>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a part.
    fn rows_of(&self, part: usize) -> Range<u64> {
        let start = self.starts.get(part).copied().unwrap_or(self.rows);
        start..self.starts.get(part + 1).copied().unwrap_or(self.rows)
    }

    /// The parts that have some of these rows.
    fn parts_of(&self, rows: &Range<u64>) -> impl Iterator<Item = usize> {
        let rows = rows.clone();
        blocks_of(&self.starts, |start| *start, &rows).filter(move |part| {
            let of = self.rows_of(*part);
            of.start.max(rows.start) < of.end.min(rows.end)
        })
    }

    /// The rows of each part, counted from its first.
    fn by_part(&self, rows: &Selection) -> Vec<(usize, Selection)> {
        let with = |part: usize| (part, rows.within(&self.rows_of(part)));
        self.parts_of(&rows.span()).map(with).filter(|(_, rows)| !rows.is_empty()).collect()
    }

    pub fn named(&self, part: usize) -> impl Fn(Error) -> Error + use<> {
        let name = self.parts.list.get(part).map(|p| p.input.name().to_owned()).unwrap_or_default();
        move |error| error.file(name.clone())
    }

    /// A machine of a part, with its addresses among those of all parts and its name in errors.
    pub fn inside<T: 'static>(&self, part: usize, machine: Boxed<T>) -> Boxed<T> {
        let name = self.parts.list.get(part).map(|p| p.input.name().to_owned()).unwrap_or_default();
        Box::new(Named { name, machine: self.slots.inside(part, machine) })
    }

    fn open_table(&self, part: usize) -> Option<Arc<dyn Table>> {
        self.tables().get(&part).cloned()
    }

    /// The table of a part, opened again if it is not open.
    pub async fn table(&self, part: usize, io: &Io) -> Result<Arc<dyn Table>> {
        if let Some(table) = self.open_table(part) {
            return Ok(table);
        }
        let of = self.parts.list.get(part).ok_or_else(|| Error::internal(format!("there is no part {part}")))?;
        let read = ReadOptions { objects: of.input.objects().clone(), ..of.options.read.clone() };
        let table = run(io, self.inside(part, of.format.open(of.input.size(), &read))).await?;
        if table.row_count() != of.rows || table.schema().fields() != of.schema.fields() {
            let changed = Error::io("object_changed", "the file changed while it was being read").hint("read it again");
            return Err(self.named(part)(changed));
        }
        let mut tables = self.tables();
        // Scans go forward, so what lies behind is needed last.
        while tables.len() >= super::MOST_TABLES {
            tables.pop_first();
        }
        tables.insert(part, table.clone());
        Ok(table)
    }

    /// The columns of a projection that parts have, and the others, each with its place in the projection.
    fn divided(&self, projection: &Projection) -> Result<Divided> {
        let (mut places, mut own, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (place, column) in projection.resolve(&self.schema)?.into_iter().enumerate() {
            match column.index.checked_sub(self.own) {
                None => {
                    places.push(place);
                    own.push(column);
                }
                Some(value) => others.push((place, value)),
            }
        }
        Ok(Divided { places, own, others })
    }

    /// What of a condition a part can be asked; `None` if none of its rows can match.
    fn condition(&self, part: usize, predicate: Option<&BoundPredicate>) -> Result<Option<Option<BoundPredicate>>> {
        let all: &[BoundPredicate] = match predicate {
            None => &[],
            Some(BoundPredicate::And(all)) => all,
            Some(one) => std::slice::from_ref(one),
        };
        let mut asked = Vec::new();
        for condition in all {
            let columns = condition.columns();
            if columns.iter().all(|c| *c < self.own) {
                asked.push(condition.clone());
            } else if columns.iter().all(|c| *c >= self.own) && !self.holds(part, condition)? {
                return Ok(None);
            }
        }
        Ok(Some(if asked.len() > 1 { Some(BoundPredicate::And(asked)) } else { asked.pop() }))
    }

    /// Whether a condition on columns that are the same for all rows of a part holds for it.
    fn holds(&self, part: usize, condition: &BoundPredicate) -> Result<bool> {
        let values = self.parts.list.get(part).map(|p| p.values.as_slice()).unwrap_or_default();
        let arrays = values.iter().map(|v| Arc::new(StringArray::from(vec![v.as_deref()])) as ArrayRef).collect();
        let fields = self.schema.fields().iter().skip(self.own).cloned().collect::<Vec<_>>();
        let batch = batch_of(&Arc::new(arrow::datatypes::Schema::new(fields)), arrays, 1)?;
        let mask = condition.evaluate(&batch, &|column| column.checked_sub(self.own))?;
        Ok(mask.iter().any(|kept| kept == Some(true)))
    }

    /// Adds the units of work of a part.
    async fn add_splits(
        &self,
        io: &Io,
        part: usize,
        rows: &Range<u64>,
        scan: &Scan,
        all: &mut Vec<Split>,
    ) -> Result<()> {
        let Some(predicate) = self.condition(part, scan.predicate.as_ref())? else { return Ok(()) };
        let Some(of) = self.parts.list.get(part) else { return Ok(()) };
        let here = self.rows_of(part);
        let window = here.start.max(rows.start)..here.end.min(rows.end);
        // Text can rule out nothing, so it need not be opened for that.
        if self.open_table(part).is_none() && (predicate.is_none() || of.is_text) {
            let whole = self.slots.outer(part, ByteRange::between(0, of.input.size()))?;
            all.push(Split { rows: window, ranges: vec![whole] });
            return Ok(());
        }
        let table = self.table(part, io).await?;
        let Divided { own, .. } = self.divided(&scan.projection)?;
        let scan = Scan {
            projection: Projection::parts(own),
            predicate,
            filters: Vec::new(),
            rows: Some(window.start - here.start..window.end - here.start),
            ..scan.clone()
        };
        let machine = table.splits(&scan).map_err(self.named(part))?;
        for split in run(io, self.inside(part, machine)).await? {
            let ranges = split.ranges.into_iter().map(|r| self.slots.outer(part, r)).collect::<Result<_>>()?;
            all.push(Split { rows: split.rows.start + here.start..split.rows.end + here.start, ranges });
        }
        Ok(())
    }
}

/// Runs a machine as a part of another.
pub(super) async fn run<T>(io: &Io, mut machine: Boxed<T>) -> Result<T> {
    let mut got = Vec::new();
    loop {
        match machine.step(got)? {
            Step::Ready(value) => return Ok(value),
            Step::Need(ranges) => got = io.read(ranges).await?,
        }
    }
}

struct Named<T> {
    name: String,
    machine: Boxed<T>,
}

impl<T> Machine for Named<T> {
    type Output = T;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<T>> {
        self.machine.step(got).map_err(|e| e.file(self.name.clone()))
    }
}

impl SeveralTable {
    pub fn new(inner: Inner) -> Self {
        SeveralTable(Arc::new(inner))
    }
}

impl Table for SeveralTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.0.rows
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.0.parts.list.iter().map(|p| p.bytes).sum())
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        vec![("files", self.0.parts.list.len().to_string())]
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = scan.row_range(self.0.rows)?;
        let (inner, scan) = (self.0.clone(), scan.clone());
        Ok(coroutine(move |io| async move {
            let mut all = Vec::new();
            for part in inner.parts_of(&rows).collect::<Vec<_>>() {
                inner.add_splits(&io, part, &rows, &scan, &mut all).await?;
            }
            Ok(all)
        }))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let inner = &self.0;
        let Divided { places, own, others } = inner.divided(&scan.projection)?;
        let parts = inner.by_part(rows);
        let mut lanes = Vec::new();
        if !others.is_empty() {
            let values = parts.iter().filter_map(|(part, rows)| {
                let values = &inner.parts.list.get(*part)?.values;
                let of = |(_, value): &(usize, usize)| values.get(*value).cloned().flatten();
                Some((others.iter().map(of).collect(), rows.len()))
            });
            let machine = Box::new(Constants::new(values.collect(), scan.batch_rows));
            lanes.push(Lane { columns: others.iter().map(|(place, _)| *place).collect(), machine });
        }
        if own.is_empty() {
            return Ok(lanes);
        }
        let scan = Scan { projection: Projection::parts(own), predicate: None, filters: Vec::new(), ..scan.clone() };
        // Splits are of one part, whose lanes can be read side by side.
        if let [(part, rows)] = parts.as_slice()
            && let Some(table) = inner.open_table(*part)
        {
            let lane = |lane: Lane| Lane {
                columns: lane.columns.into_iter().filter_map(|c| places.get(c).copied()).collect(),
                machine: inner.inside(*part, lane.machine),
            };
            lanes.extend(table.read(&scan, rows).map_err(inner.named(*part))?.into_iter().map(lane));
            return Ok(lanes);
        }
        let schema = scan.projection.schema(&inner.schema)?;
        let scan = Scan { encoded: false, views: false, ..scan };
        let machine = Box::new(PartsLane::new(inner.clone(), scan, schema, parts));
        lanes.push(Lane { columns: places, machine });
        Ok(lanes)
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        let mut at = 0;
        let region = |part: &super::Part| {
            let start = at;
            at += part.bytes;
            Region::new(ByteRange::between(start, at), RegionKind::Data, part.input.name())
        };
        let regions = self.0.parts.list.iter().map(region).collect();
        Ok(ready(Layout::cover(at, regions)))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        let inner = self.0.clone();
        Ok(coroutine(move |io| async move {
            let mut all = Verified::default();
            for (name, finding) in &inner.parts.findings {
                let part = format!("{name}: {}", finding.part);
                all.findings.push(colkit_core::Finding { part, message: finding.message.clone() });
            }
            let mut covered: Option<Checksums> = None;
            for (place, part) in inner.parts.list.iter().enumerate() {
                if part.is_text {
                    covered = Some(Checksums::None);
                    continue;
                }
                let table = inner.table(place, &io).await?;
                let verified = run(&io, inner.inside(place, table.verify().map_err(inner.named(place))?)).await?;
                let named = |f: colkit_core::Finding| colkit_core::Finding {
                    part: format!("{}: {}", part.input.name(), f.part),
                    ..f
                };
                all.findings.extend(verified.findings.into_iter().map(named));
                all.errors.extend(verified.errors.into_iter().map(inner.named(place)));
                covered = Some(match covered {
                    Some(before) if before != verified.checksums => Checksums::Parts("some of the files".into()),
                    _ => verified.checksums,
                });
            }
            all.checksums = covered.unwrap_or_default();
            Ok(all)
        }))
    }
}
