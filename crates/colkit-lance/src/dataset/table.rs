//! A version of a dataset as a table.

use super::data_file::{FilePart, Opening};
use super::describe;
use super::fragment::Fragment;
use super::history::{Nanoseconds, nanoseconds, shown_time};
use super::lane::{FragmentRows, Lanes, Wanted};
use super::manifest::{self, Manifest};
use crate::coroutine::{BoxFuture, Io, coroutine, join_all};
use crate::encoding::Registry;
use crate::schema::{Fields, Node};
use crate::{prune, splits};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use colkit_core::{
    BoundPredicate, Boxed, Error, Lane, Layout, Projection, ReadOptions, Result, Scan, Selection, Split, Table,
    Verified,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A version of a dataset.
pub(crate) struct Dataset {
    inner: Arc<Inner>,
    schema: SchemaRef,
}

/// What machines of a dataset share.
pub(crate) struct Inner {
    pub fields: Fields,
    pub fragments: Vec<Fragment>,
    pub opening: Opening,
    rows: u64,
    pub manifest_bytes: u64,
    facts: Facts,
}

/// What the manifest says about itself.
struct Facts {
    version: u64,
    branch: Option<String>,
    time: Option<Nanoseconds>,
    writer: Option<String>,
}

/// The columns that row ids and addresses come in, if they are wanted.
const ROW_COLUMNS: [&str; 2] = ["_rowid", "_rowaddr"];

impl Dataset {
    /// Opens the dataset whose manifest has `size` bytes.
    pub async fn open(io: &Io, size: u64, registry: Arc<Registry>, options: ReadOptions) -> Result<Self> {
        let Manifest { mut message, fields, counts_rows } = manifest::read(io, size, &options).await?;
        let stated = std::mem::take(&mut message.fragments);
        let opening = Opening {
            registry,
            options,
            base_paths: std::mem::take(&mut message.base_paths),
            counts_rows,
            stable_row_ids: message.reader_feature_flags & 2 != 0,
            sidecars: Mutex::default(),
        };
        let mut fragments = Vec::with_capacity(stated.len());
        let mut rows = 0u64;
        for bytes in stated {
            let fragment = Fragment::new(bytes, rows, io, &opening).await?;
            rows = rows.checked_add(fragment.left).ok_or_else(|| {
                Error::corrupt("bad_row_count", "the fragments have more than 2^64 rows together").part("manifest")
            })?;
            fragments.push(fragment);
        }
        let facts = Facts {
            version: message.version,
            branch: message.branch,
            time: message.timestamp.map(nanoseconds),
            writer: message.writer_version.map(|w| format!("{} {}", w.library, w.version)),
        };
        let schema = with_row_columns(&fields.schema, opening.options.row_ids);
        let inner = Inner { fields, fragments, opening, rows, manifest_bytes: size, facts };
        Ok(Dataset { inner: Arc::new(inner), schema })
    }

    /// The columns of a projection, and the schema of what comes out.
    fn wanted(&self, projection: &Projection) -> Result<(Vec<Wanted>, SchemaRef)> {
        let columns = projection.resolve(&self.schema)?;
        let schema = projection.schema(&self.schema)?;
        let roots = &self.inner.fields.roots;
        let wanted = columns.iter().zip(schema.fields()).map(|(column, field)| match roots.get(column.index) {
            Some(root) => Ok(Wanted::Field(Arc::new(root.prune(field)?))),
            None if field.name() == ROW_COLUMNS[0] => Ok(Wanted::RowId),
            None => Ok(Wanted::RowAddress),
        });
        Ok((wanted.collect::<Result<_>>()?, schema))
    }
}

/// The schema, with the columns for ids and addresses of rows if they are wanted.
fn with_row_columns(schema: &SchemaRef, wanted: bool) -> SchemaRef {
    if !wanted {
        return schema.clone();
    }
    let more = ROW_COLUMNS.map(|name| Arc::new(Field::new(name, DataType::UInt64, false)));
    let fields: Vec<_> = schema.fields().iter().cloned().chain(more).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

impl Inner {
    /// These rows of the table by fragments: which one, and the rows counted from its first that is left.
    pub fn by_fragment(&self, rows: &Selection) -> Vec<FragmentRows> {
        let span = rows.span();
        let start = self.fragments.partition_point(|f| f.first + f.left <= span.start);
        let touched = self.fragments.iter().enumerate().skip(start).take_while(|(_, f)| f.first < span.end);
        let part = |(index, f): (usize, &Fragment)| (index, rows.within(&(f.first..f.first + f.left)));
        touched
            .map(part)
            .filter(|(_, rows)| !rows.is_empty())
            .map(|(fragment, rows)| FragmentRows { fragment, rows })
            .collect()
    }

    /// The splits of one fragment.
    async fn splits(
        self: Arc<Self>,
        io: Io,
        part: FragmentRows,
        nodes: Vec<Arc<Node>>,
        predicate: Option<BoundPredicate>,
    ) -> Result<Vec<Split>> {
        let Some(fragment) = self.fragments.get(part.fragment) else { return Ok(Vec::new()) };
        let in_table = |r: &Range<u64>| fragment.first + r.start..fragment.first + r.end;
        if nodes.is_empty() {
            let whole = |r: &Range<u64>| Split { rows: in_table(r), ranges: Vec::new() };
            return Ok(part.rows.ranges().iter().map(whole).collect());
        }
        let deleted = fragment.deleted(&io, &self.opening).await?;
        let mut wanted = vec![deleted.physical(&part.rows).span()];
        let (mut bytes, mut columns) = (0u64, Vec::new());
        let files = fragment.parts(&io, &self.opening, &nodes).await?;
        for file in &files {
            let planned = self.plan_file(&io, fragment, file, predicate.clone(), wanted).await?;
            bytes = bytes.saturating_add(splits::stored_bytes(&file.file, &planned.columns));
            columns.push(planned.columns);
            wanted = planned.wanted;
        }
        let mut planned = splits::cut(wanted, fragment.rows, bytes);
        for (file, columns) in files.iter().zip(columns) {
            planned = locate(&io, file, columns, planned).await?;
        }
        let mut found = Vec::with_capacity(planned.len());
        for split in planned {
            let rows = deleted.left_before(split.rows.start)..deleted.left_before(split.rows.end);
            if !rows.is_empty() {
                found.push(Split { rows: in_table(&rows), ranges: split.ranges });
            }
        }
        Ok(found)
    }

    /// Learns about the columns of a file, and which of the rows may be wanted by what it says about them.
    async fn plan_file(
        &self,
        io: &Io,
        fragment: &Fragment,
        part: &FilePart,
        predicate: Option<BoundPredicate>,
        wanted: Vec<Range<u64>>,
    ) -> Result<FilePlan> {
        let own = predicate.as_ref().map(|p| self.own_columns(fragment, part, p)).unwrap_or_default();
        let (file, nodes) = (part.file.clone(), part.nodes.clone());
        let machine = part.file.container.coroutine(move |io| async move {
            let nodes: Vec<&Node> = nodes.iter().flatten().map(AsRef::as_ref).collect();
            let columns = splits::prepare(&file, &io, &nodes).await?;
            let Some(predicate) = predicate else { return Ok(FilePlan { columns, wanted }) };
            let mut left = Vec::new();
            for rows in wanted {
                let column_of = |column: usize| own.get(&column).copied();
                left.extend(prune::may_match(&file, &io, &predicate, rows, &column_of).await?);
            }
            Ok(FilePlan { columns, wanted: left })
        });
        io.run(part.object.inside(machine)).await.map_err(|e| e.file(part.name.clone()))
    }

    /// The columns that a predicate names, by their places among the file's own top-level columns.
    fn own_columns(&self, fragment: &Fragment, part: &FilePart, predicate: &BoundPredicate) -> HashMap<usize, usize> {
        let contents = fragment.contents(&self.opening).ok();
        let known = contents.and_then(|contents| contents.files.iter().find(|f| f.object == part.object));
        let Some(known) = known else { return HashMap::new() };
        let own = |column: usize| {
            let stored = *known.columns.get(&self.fields.roots.get(column)?.id)?;
            let place = part.file.fields.roots.iter().position(|root| root.column == Some(stored))?;
            Some((column, place))
        };
        predicate.columns().into_iter().filter_map(own).collect()
    }
}

/// What is read of a file.
struct FilePlan {
    columns: Vec<usize>,
    wanted: Vec<Range<u64>>,
}

/// Adds to each split the bytes that it needs of a file.
async fn locate(io: &Io, part: &FilePart, columns: Vec<usize>, splits: Vec<Split>) -> Result<Vec<Split>> {
    let bare: Vec<Split> = splits.iter().map(|s| Split { rows: s.rows.clone(), ranges: Vec::new() }).collect();
    let file = part.file.clone();
    let machine =
        part.file.container.coroutine(move |io| async move { splits::locate(&file, &io, &columns, bare).await });
    let located = io.run(part.object.inside(machine)).await.map_err(|e| e.file(part.name.clone()))?;
    let mut all = Vec::with_capacity(splits.len());
    for (mut split, more) in splits.into_iter().zip(located) {
        for range in more.ranges {
            split.ranges.push(part.object.address(range)?);
        }
        all.push(split);
    }
    Ok(all)
}

impl Table for Dataset {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.inner.rows
    }

    fn bytes(&self) -> Option<u64> {
        let files = self.inner.fragments.iter().filter_map(|f| f.contents(&self.inner.opening).ok());
        let files = files.flat_map(|contents| &contents.files);
        let bytes = files.filter_map(|f| f.known().map(|known| known.container.size()).or(f.length));
        Some(bytes.fold(self.inner.manifest_bytes, u64::saturating_add))
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        let Inner { facts, fragments, rows, opening, .. } = self.inner.as_ref();
        let files: usize = fragments.iter().filter_map(|f| Some(f.contents(opening).ok()?.files.len())).sum();
        let physical = fragments.iter().map(|f| f.rows).fold(0, u64::saturating_add);
        let mut properties = vec![("dataset version", facts.version.to_string())];
        properties.extend(facts.branch.clone().map(|branch| ("branch", branch)));
        properties.extend(facts.time.and_then(shown_time).map(|time| ("committed", time)));
        properties.extend(facts.writer.clone().map(|writer| ("writer", writer)));
        properties.push(("fragments", fragments.len().to_string()));
        properties.push(("data files", files.to_string()));
        properties.push(("deleted rows", physical.saturating_sub(*rows).to_string()));
        if opening.stable_row_ids {
            properties.push(("row ids", "stable".into()));
        }
        properties
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = Selection::range(scan.row_range(self.row_count())?);
        let (wanted, _) = self.wanted(&scan.projection)?;
        let nodes: Vec<Arc<Node>> = wanted.iter().filter_map(Wanted::node).collect();
        let (inner, predicate) = (self.inner.clone(), scan.predicate.clone());
        Ok(coroutine(move |io| async move {
            let mut planning: Vec<BoxFuture<Vec<Split>>> = Vec::new();
            for part in inner.by_fragment(&rows) {
                let (inner, io) = (inner.clone(), io.clone());
                planning.push(Box::pin(inner.splits(io, part, nodes.clone(), predicate.clone())));
            }
            Ok(join_all(planning).await?.concat())
        }))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let (wanted, schema) = self.wanted(&scan.projection)?;
        Ok(Lanes { dataset: &self.inner, scan, rows }.lanes(wanted, &schema))
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        let inner = self.inner.clone();
        Ok(coroutine(move |io| async move { describe::layout(&inner, &io).await }))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        let inner = self.inner.clone();
        Ok(coroutine(move |io| async move { describe::check(&inner, &io).await }))
    }
}
