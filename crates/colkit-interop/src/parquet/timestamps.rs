//! Timestamps whose type Parquet's own types leave open.
//!
//! A zone is not among what Parquet says about a timestamp: only that it has one. Writers of Arrow tables keep theirs in
//! the Arrow schema beside it, but where the unit differs, as for seconds, which Parquet has not, the parquet crate
//! does not look there.
//!
//! `INT96`, the type of old writers, counts nanoseconds of a day from a day up to millions of years away. As nanoseconds
//! in 64 bits they end in the year 2262, and the crate lets them wrap around. Spark's are microseconds by nature and are
//! read as such; others as nanoseconds, and a second time as whole seconds, to see whether they agree.

use super::plan::leaf_count;
use crate::guard::guarded;
use ::parquet::arrow::ARROW_SCHEMA_META_KEY;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use ::parquet::basic::Type;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, Schema, TimeUnit};
use arrow::ipc::convert::try_schema_from_ipc_buffer;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use colkit_core::{Error, Result};
use std::sync::Arc;

/// What Spark leaves in the footer.
const SPARK: &str = "org.apache.spark.version";

/// How the columns of a file are read.
#[derive(Clone)]
pub(super) struct Readers {
    pub plain: ArrowReaderMetadata,
    /// With `INT96` as whole seconds, if any may be beyond its unit.
    seconds: Option<ArrowReaderMetadata>,
    /// Which leaves are `INT96`.
    int96: Arc<[bool]>,
}

impl Readers {
    pub fn new(metadata: ParquetMetaData) -> Result<Self> {
        let metadata = Arc::new(metadata);
        let int96: Arc<[bool]> = metadata
            .file_metadata()
            .schema_descr()
            .columns()
            .iter()
            .map(|c| c.physical_type() == Type::INT96)
            .collect();
        let told = told(&metadata).filter(|types| types.len() == int96.len()).unwrap_or_default();
        let is_int96 = |leaf: usize| int96.get(leaf).copied().unwrap_or(false);
        let of_spark = pairs(&metadata).any(|(key, _)| key == SPARK);
        guarded("schema", || {
            let read_as = |schema: Schema| {
                let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
                ArrowReaderMetadata::try_new(metadata.clone(), options)
            };
            let mut plain = ArrowReaderMetadata::try_new(metadata.clone(), ArrowReaderOptions::new())?;
            let better = with_leaves(plain.schema(), |leaf, data_type| match (data_type, told.get(leaf)) {
                (DataType::Timestamp(unit, Some(_)), Some(DataType::Timestamp(_, Some(zone)))) => {
                    DataType::Timestamp(*unit, Some(zone.clone()))
                }
                (DataType::Timestamp(..), None) if is_int96(leaf) && of_spark => {
                    DataType::Timestamp(TimeUnit::Microsecond, None)
                }
                _ => data_type.clone(),
            });
            if better != **plain.schema() {
                plain = read_as(better)?;
            }
            // Whatever Spark has fits, since it came from microseconds in 64 bits.
            let seconds = (int96.contains(&true) && !of_spark).then(|| {
                read_as(with_leaves(plain.schema(), |leaf, data_type| match is_int96(leaf) {
                    true => DataType::Timestamp(TimeUnit::Second, None),
                    false => data_type.clone(),
                }))
            });
            Ok::<_, ParquetError>(Readers { plain, seconds: seconds.transpose()?, int96: int96.clone() })
        })
    }

    /// How to read these leaves as whole seconds, if they may be beyond what their unit reaches.
    pub fn seconds(&self, leaves: &[usize]) -> Option<&ArrowReaderMetadata> {
        let any = leaves.iter().any(|leaf| self.int96.get(*leaf) == Some(&true));
        self.seconds.as_ref().filter(|_| any)
    }
}

fn pairs(metadata: &ParquetMetaData) -> impl Iterator<Item = (&str, &str)> {
    let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    pairs.map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap_or_default()))
}

/// The types of the leaves in the Arrow schema beside Parquet's own.
fn told(metadata: &ParquetMetaData) -> Option<Vec<DataType>> {
    let (_, text) = pairs(metadata).find(|(key, _)| *key == ARROW_SCHEMA_META_KEY)?;
    let bytes = STANDARD.decode(text).ok()?;
    let schema = guarded("schema", || try_schema_from_ipc_buffer(&bytes)).ok()?;
    let mut leaves = Vec::new();
    with_leaves(&schema, |_, data_type| {
        leaves.push(data_type.clone());
        data_type.clone()
    });
    Some(leaves)
}

/// The schema with other types for its leaves, which are numbered in order.
fn with_leaves(schema: &Schema, mut of: impl FnMut(usize, &DataType) -> DataType) -> Schema {
    let mut leaf = 0;
    let fields: Vec<FieldRef> = schema.fields().iter().map(|f| field_with_leaves(f, &mut leaf, &mut of)).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn field_with_leaves(field: &Field, leaf: &mut usize, of: &mut dyn FnMut(usize, &DataType) -> DataType) -> FieldRef {
    let mut inside = |f: &FieldRef| field_with_leaves(f, leaf, of);
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inside).collect()),
        DataType::List(item) => DataType::List(inside(item)),
        DataType::LargeList(item) => DataType::LargeList(inside(item)),
        DataType::ListView(item) => DataType::ListView(inside(item)),
        DataType::LargeListView(item) => DataType::LargeListView(inside(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inside(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(inside(entries), *sorted),
        other => {
            let at = *leaf;
            *leaf += leaf_count(other);
            of(at, other)
        }
    };
    Arc::new(field.clone().with_data_type(data_type))
}

/// Whether a timestamp in `array`, or inside of it, is another than the same one in whole seconds.
pub(super) fn wraps(array: &ArrayRef, seconds: &ArrayRef) -> bool {
    match (array.data_type(), seconds.data_type()) {
        (DataType::Timestamp(unit, _), DataType::Timestamp(TimeUnit::Second, _)) => {
            let per_second: i64 = match unit {
                TimeUnit::Second => return false,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            };
            let numbers = |array: &ArrayRef| cast(array, &DataType::Int64);
            let Ok((ours, seconds)) = numbers(array).and_then(|a| Ok((a, numbers(seconds)?))) else { return true };
            let (ours, seconds) = (ours.as_primitive::<Int64Type>(), seconds.as_primitive::<Int64Type>());
            // A part of a second below zero may have been cut or rounded down.
            let apart = |a: i64, b: i64| (i128::from(a.div_euclid(per_second)) - i128::from(b)).abs() > 1;
            ours.iter().zip(seconds.iter()).any(|pair| matches!(pair, (Some(a), Some(b)) if apart(a, b)))
        }
        (a, _) if a.is_nested() => {
            let (array, seconds) = (array.to_data(), seconds.to_data());
            let children = array.child_data().iter().zip(seconds.child_data());
            children.into_iter().any(|(a, b)| wraps(&make_array(a.clone()), &make_array(b.clone())))
        }
        _ => false,
    }
}

/// The error for those.
pub(super) fn beyond() -> Error {
    let message = "a timestamp of type INT96 lies beyond what nanoseconds since 1970 can say (the years 1677 to 2262)";
    Error::unsupported("timestamp_out_of_range", message)
        .hint("write it with microseconds: Spark does with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS")
}
