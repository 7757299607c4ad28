//! Types that Parquet's own leave open, and values beyond theirs.
//!
//! A zone is not among what Parquet says about a timestamp: only that it has one. Writers of Arrow tables keep theirs in
//! the Arrow schema beside it, but where the unit differs, as for seconds, which Parquet has not, the parquet crate
//! does not look there.
//!
//! `INT96`, the type of old writers, counts nanoseconds of a day from a day up to millions of years away. As nanoseconds
//! in 64 bits they end in the year 2262, and the crate lets them wrap around. Spark's are microseconds by nature and are
//! read as such; others as nanoseconds, and a second time as whole seconds, to see whether they agree.
//!
//! Integers of 8 and 16 bits are stored in 32, and the crate drops what does not fit. They are read a second time as what they
//! are stored in. Files of our own need neither: their checksums say that the values are those which were written.

use super::plan::leaf_count;
use crate::decoder_panics::guarded;
use ::parquet::arrow::ARROW_SCHEMA_META_KEY;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder};
use ::parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type as SchemaType};
use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int32Type, Int64Type, Schema, TimeUnit};
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
    /// In types that hold whatever may be stored, if any column has values that its own may not hold.
    wide: Option<ArrowReaderMetadata>,
    /// Which leaves have such values.
    beyond: Arc<[bool]>,
}

impl Readers {
    /// `sealed` files are our own: their values were held to their types when they were written.
    pub fn new(metadata: ParquetMetaData, sealed: bool) -> Result<Self> {
        let metadata = Arc::new(metadata);
        let columns = metadata.file_metadata().schema_descr().columns();
        let int96: Vec<bool> = columns.iter().map(|c| c.physical_type() == Type::INT96).collect();
        let arrow_types = arrow_types(&metadata).filter(|types| types.len() == int96.len()).unwrap_or_default();
        let is_int96 = |leaf: usize| int96.get(leaf).copied().unwrap_or(false);
        let of_spark = pairs(&metadata).any(|(key, _)| key == SPARK);
        // Whatever Spark has of `INT96` fits, since it came from microseconds in 64 bits.
        let may_wrap = |c: &ColumnDescPtr| (c.physical_type() == Type::INT96 && !of_spark) || is_small(c.self_type());
        let beyond: Arc<[bool]> = columns.iter().map(|c| !sealed && may_wrap(c)).collect();
        guarded("schema", || {
            let read_as = |metadata: Arc<ParquetMetaData>, schema: Schema| {
                ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new().with_schema(Arc::new(schema)))
            };
            let mut plain = ArrowReaderMetadata::try_new(metadata.clone(), ArrowReaderOptions::new())?;
            let better = with_leaves(plain.schema(), |leaf, data_type| match (data_type, arrow_types.get(leaf)) {
                (DataType::Timestamp(unit, Some(_)), Some(DataType::Timestamp(_, Some(zone)))) => {
                    DataType::Timestamp(*unit, Some(zone.clone()))
                }
                (DataType::Timestamp(..), None) if is_int96(leaf) && of_spark => {
                    DataType::Timestamp(TimeUnit::Microsecond, None)
                }
                _ => data_type.clone(),
            });
            if better != **plain.schema() {
                plain = read_as(metadata.clone(), better)?;
            }
            let wide = beyond.contains(&true).then(|| {
                let wide = with_leaves(plain.schema(), |leaf, data_type| match beyond.get(leaf) {
                    Some(true) if is_int96(leaf) => DataType::Timestamp(TimeUnit::Second, None),
                    Some(true) => DataType::Int32,
                    _ => data_type.clone(),
                });
                read_as(Arc::new(with_whole_integers(&metadata)), wide)
            });
            Ok::<_, ParquetError>(Readers { plain, wide: wide.transpose()?, beyond: beyond.clone() })
        })
    }

    /// How to read these leaves in types that hold whatever is stored, if their own may not.
    pub fn wide(&self, leaves: &[usize]) -> Option<&ArrowReaderMetadata> {
        let any = leaves.iter().any(|leaf| self.beyond.get(*leaf) == Some(&true));
        self.wide.as_ref().filter(|_| any)
    }
}

/// Whether values are said to be shorter than the 32 bits that they are stored in.
fn is_small(leaf: &SchemaType) -> bool {
    let info = leaf.get_basic_info();
    let by_name = match info.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => integer.bit_width < 32,
        _ => false,
    };
    let small = [ConvertedType::INT_8, ConvertedType::INT_16, ConvertedType::UINT_8, ConvertedType::UINT_16];
    leaf.get_physical_type() == Type::INT32 && (by_name || small.contains(&info.converted_type()))
}

/// The file with its small integers declared as the 32 bits that they are stored in.
fn with_whole_integers(metadata: &ParquetMetaData) -> ParquetMetaData {
    fn whole(declared: &SchemaType) -> SchemaType {
        let info = declared.get_basic_info();
        match declared {
            SchemaType::GroupType { fields, .. } => SchemaType::GroupType {
                basic_info: info.clone(),
                fields: fields.iter().map(|field| Arc::new(whole(field))).collect(),
            },
            leaf if is_small(leaf) => {
                let plain = SchemaType::primitive_type_builder(info.name(), Type::INT32)
                    .with_repetition(info.repetition())
                    .with_id(info.has_id().then(|| info.id()));
                plain.build().unwrap_or_else(|_| leaf.clone())
            }
            leaf => leaf.clone(),
        }
    }
    let file = metadata.file_metadata();
    let schema = SchemaDescriptor::new(Arc::new(whole(file.schema())));
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_string),
        file.key_value_metadata().cloned(),
        Arc::new(schema),
        file.column_orders().cloned(),
    );
    ParquetMetaDataBuilder::new(file)
        .set_row_groups(metadata.row_groups().to_vec())
        .set_column_index(metadata.column_index().cloned())
        .set_offset_index(metadata.offset_index().cloned())
        .build()
}

fn pairs(metadata: &ParquetMetaData) -> impl Iterator<Item = (&str, &str)> {
    let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    pairs.map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap_or_default()))
}

/// The types of the leaves in the Arrow schema beside Parquet's own.
fn arrow_types(metadata: &ParquetMetaData) -> Option<Vec<DataType>> {
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

/// Checks that the values of a column are those of the same column in types that hold whatever is stored.
pub(super) fn check_range(array: &ArrayRef, wide: &ArrayRef) -> Result<()> {
    match (array.data_type(), wide.data_type()) {
        (ours, DataType::Int32) if *ours != DataType::Int32 => {
            let same = cast(array, &DataType::Int32)?;
            let (same, wide) = (same.as_primitive::<Int32Type>(), wide.as_primitive::<Int32Type>());
            match same.iter().zip(wide.iter()).find(|(a, b)| a != b) {
                Some((_, value)) => Err(integer_beyond(ours, value.unwrap_or_default())),
                None => Ok(()),
            }
        }
        (DataType::Timestamp(unit, _), DataType::Timestamp(TimeUnit::Second, _)) => {
            let per_second: i64 = match unit {
                TimeUnit::Second => return Ok(()),
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            };
            let (ours, seconds) = (cast(array, &DataType::Int64)?, cast(wide, &DataType::Int64)?);
            let (ours, seconds) = (ours.as_primitive::<Int64Type>(), seconds.as_primitive::<Int64Type>());
            // A part of a second below zero may have been cut or rounded down.
            let apart = |a: i64, b: i64| (i128::from(a.div_euclid(per_second)) - i128::from(b)).abs() > 1;
            let wraps = ours.iter().zip(seconds.iter()).any(|pair| matches!(pair, (Some(a), Some(b)) if apart(a, b)));
            if wraps { Err(timestamp_beyond()) } else { Ok(()) }
        }
        (ours, _) if ours.is_nested() => {
            let (array, wide) = (array.to_data(), wide.to_data());
            let mut children = array.child_data().iter().zip(wide.child_data());
            children.try_for_each(|(a, b)| check_range(&make_array(a.clone()), &make_array(b.clone())))
        }
        _ => Ok(()),
    }
}

fn integer_beyond(declared: &DataType, value: i32) -> Error {
    let value = match declared {
        DataType::UInt8 | DataType::UInt16 => i64::from(value.cast_unsigned()),
        _ => i64::from(value),
    };
    let message = format!("the value {value} is beyond its type, {declared}");
    Error::corrupt("bad_number", message)
}

fn timestamp_beyond() -> Error {
    let message = "a timestamp of type INT96 lies beyond what nanoseconds since 1970 can say (the years 1677 to 2262)";
    Error::unsupported("timestamp_out_of_range", message)
        .hint("write it with microseconds: Spark does with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS")
}
