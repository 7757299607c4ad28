use super::super::Predicate;
use super::*;
use arrow::array::{
    BinaryArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, StringArray, new_null_array,
};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

fn zone_map(min: impl Array + 'static, max: impl Array + 'static, null_count: Vec<Option<u64>>) -> ZoneMap {
    ZoneMap::new(Arc::new(min), Arc::new(max), null_count.into()).unwrap()
}

fn bound(condition: &str, schema: &Schema) -> BoundPredicate {
    Predicate::parse(condition, schema).unwrap().bind(schema).unwrap()
}

/// One sign per zone: 1 may match, 0 cannot.
fn signs(kept: &BooleanBuffer) -> String {
    kept.iter().map(|kept| if kept { '1' } else { '0' }).collect()
}

#[test]
fn zone_maps_rule_out_only_what_they_can() {
    let map = |column: usize| match column {
        0 => Some(zone_map(Int32Array::from(vec![10]), Int32Array::from(vec![20]), vec![Some(0)])),
        1 => Some(zone_map(Float64Array::from(vec![10.0]), Float64Array::from(vec![20.0]), vec![Some(0)])),
        _ => None,
    };
    let schema = Schema::new(vec![
        Field::new("i", DataType::Int32, true),
        Field::new("x", DataType::Float64, true),
        Field::new("u", DataType::Int32, true),
    ]);
    let may = |condition| bound(condition, &schema).prune(1, &map).value(0);
    for out in [
        "i = 21",
        "i = 19.5",
        "i < 10",
        "i > 20.0",
        "i > 20.5",
        "i < 1e-300",
        "not i >= 10",
        "i is null",
        "i = 99 and u = 99",
        "i in (1, 15.5)",
        "i = null",
        "not (i <= 20 or u = 1)",
        "x < 10",
        "x = 21",
        "x between 21 and 30",
        "x > 20 and x < inf",
        "x in (5, 25)",
    ] {
        assert!(!may(out), "{out}");
    }
    for kept in [
        "i = 10",
        "i <= 10",
        "i >= 19.5",
        "i != 10",
        "not i = 10",
        "u is null",
        "i is not null",
        "i = 99 or u = 99",
        "x > 20",
        "x >= 21",
        "x = nan",
        "not x < 100",
        "x in (5, nan)",
    ] {
        assert!(may(kept), "{kept}");
    }
}

#[test]
fn what_is_not_known_rules_out_nothing() {
    let schema = Schema::new(vec![Field::new("i", DataType::Int32, true)]);
    let min = Int32Array::from(vec![Some(0), None, Some(0), None, Some(5)]);
    let max = Int32Array::from(vec![Some(4), Some(4), None, None, Some(9)]);
    let known = zone_map(min, max, vec![Some(0), None, Some(3), None, Some(0)]);
    let may = |condition| signs(&bound(condition, &schema).prune(5, &|_| Some(known.clone())));
    assert_eq!(may("i = 3"), "11110");
    assert_eq!(may("i > 4"), "00111");
    assert_eq!(may("i < 0"), "01010");
    assert_eq!(may("i is null"), "01110");
    assert_eq!(may("i is not null"), "11111");
    assert_eq!(may("i in (3, 7)"), "11111");
    assert_eq!(signs(&bound("i > 4", &schema).prune(2, &|_| known.slice(0..2))), "00");
    assert_eq!(signs(&bound("i > 4", &schema).prune(3, &|_| known.slice(0..2))), "111", "of other zones");
    assert!(known.slice(4..6).is_none());
}

#[test]
fn bounds_of_another_type_and_nan_say_nothing() {
    let schema = Schema::new(vec![Field::new("i", DataType::Int32, true), Field::new("x", DataType::Float64, true)]);
    let map = |column: usize| match column {
        0 => Some(zone_map(Int64Array::from(vec![1]), Int64Array::from(vec![1]), vec![Some(0)])),
        _ => Some(zone_map(Float64Array::from(vec![f64::NAN]), Float64Array::from(vec![1.0]), vec![Some(0)])),
    };
    let may = |condition| signs(&bound(condition, &schema).prune(1, &map));
    assert_eq!(may("i = 5"), "1");
    assert_eq!(may("i is null"), "0");
    assert_eq!(may("x < 0"), "1");
    assert_eq!(may("x = 2"), "0");
    assert_eq!(map(1).unwrap().statistics(0).min, None);
}

#[test]
fn filters_rule_out_single_values() {
    let schema = Schema::new(vec![Field::new("i", DataType::Int32, true), Field::new("u", DataType::Int32, true)]);
    let map = |column: usize| {
        (column == 0).then(|| zone_map(Int32Array::from(vec![0, 5]), Int32Array::from(vec![9, 9]), vec![None; 2]))
    };
    // Neither zone of `i` has a 7, nor the second of `u` a 1.
    let may_hold = |column: usize, literal: &Literal| match (column, Value::of_row(literal.array(), 0)?) {
        (0, Value::Int(7)) => Some(BooleanBuffer::new_unset(2)),
        (1, Value::Int(1)) => Some(BooleanBuffer::from(vec![true, false])),
        _ => None,
    };
    let may = |condition| signs(&bound(condition, &schema).prune_with(2, &map, &may_hold));
    assert_eq!(may("i = 7"), "00");
    assert_eq!(may("i >= 7"), "11");
    assert_eq!(may("i in (7, 3)"), "10");
    assert_eq!(may("i not in (7, 3)"), "11");
    assert_eq!(may("i != 7"), "11");
    assert_eq!(may("u = 1"), "10");
    assert_eq!(may("u = 1 or i = 8"), "11");
}

/// Types with an order. Dictionaries are bounded by their values.
fn types() -> Vec<DataType> {
    use DataType::*;
    vec![
        Boolean,
        Int8,
        Int64,
        UInt8,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Time32(TimeUnit::Second),
        Time64(TimeUnit::Nanosecond),
        Timestamp(TimeUnit::Second, None),
        Timestamp(TimeUnit::Microsecond, Some("+02:00".into())),
        Duration(TimeUnit::Millisecond),
        Decimal32(9, 2),
        Decimal64(18, 0),
        Decimal128(30, 4),
        Decimal256(60, 3),
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        BinaryView,
        FixedSizeBinary(2),
        Dictionary(Box::new(Int8), Box::new(Utf8)),
        Dictionary(Box::new(Int16), Box::new(Float64)),
    ]
}

/// So many values of every type are used, so that rows and literals often meet.
const CODES: u8 = 8;

fn pick<T: Copy>(codes: &[Option<u8>], from: [T; CODES as usize]) -> impl Iterator<Item = Option<T>> {
    codes.iter().map(move |code| Some(from[usize::from((*code)?)]))
}

/// Values of a type by their codes.
fn values(data_type: &DataType, codes: &[Option<u8>]) -> ArrayRef {
    let numbers = [-128, -2, -1, 0, 1, 2, 3, 127];
    let floats = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.0, 2.5, f64::INFINITY, f64::NAN];
    let texts = ["", "\0", "a", "aa", "ab", "b", "é", "\u{10FFFF}"];
    match data_type {
        DataType::Dictionary(_, of) => cast(&values(of, codes), data_type).unwrap(),
        DataType::Boolean => Arc::new(BooleanArray::from_iter(codes.iter().map(|code| Some((*code)? % 2 == 1)))),
        t if t.is_floating() => cast(&Float64Array::from_iter(pick(codes, floats)), t).unwrap(),
        DataType::FixedSizeBinary(_) => {
            let pairs = [b"\0\0", b"\0\x01", b"a\0", b"aa", b"ab", b"b\0", b"\xFFa", b"\xFF\xFF"];
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(pick(codes, pairs), 2).unwrap())
        }
        DataType::Binary | DataType::BinaryView => {
            let bytes = BinaryArray::from_iter(pick(codes, texts.map(str::as_bytes)));
            cast(&bytes, data_type).unwrap()
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            cast(&StringArray::from_iter(pick(codes, texts)), data_type).unwrap()
        }
        t if t.is_unsigned_integer() => {
            cast(&Int64Array::from_iter(pick(codes, numbers.map(|n: i64| n.abs()))), t).unwrap()
        }
        t if t.is_temporal() && t.primitive_width() == Some(4) => {
            let short = cast(&Int64Array::from_iter(pick(codes, numbers)), &DataType::Int32).unwrap();
            cast(&short, t).unwrap()
        }
        t => cast(&Int64Array::from_iter(pick(codes, numbers)), t).unwrap(),
    }
}

/// What a zone map says about a zone.
#[derive(Clone, Copy, Debug)]
enum Says {
    /// What is true, and no more.
    Exactly,
    /// Bounds of more values than there are.
    Loosely,
    Nothing,
}

/// The rows of a column: its type, and for each zone what is said of it and the codes of its values.
type Rows = (DataType, Vec<(Says, Vec<Option<u8>>)>);

/// The smallest or largest value that is a number, as an array of one value; of null if there is none.
fn extreme(array: &ArrayRef, wanted: Ordering) -> ArrayRef {
    let mut best: Option<(usize, Value)> = None;
    for row in 0..array.len() {
        let Some(value) = Value::of_row(array, row).filter(|v| v.compare(v).is_some()) else { continue };
        if best.as_ref().is_none_or(|(_, best)| value.compare(best) == Some(wanted)) {
            best = Some((row, value));
        }
    }
    let place = UInt64Array::from(vec![best.map(|(row, _)| row as u64)]);
    take(array, &place, None).unwrap()
}

/// The zone map of a column, of bounds that are looked for one value at a time.
fn map_of((data_type, zones): &Rows) -> ZoneMap {
    let plain = match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    let all: Vec<Option<u8>> = zones.iter().flat_map(|(_, codes)| codes.iter().copied()).collect();
    let bounds = |wanted: Ordering| {
        let each = zones.iter().map(|(says, codes)| match says {
            Says::Exactly => extreme(&values(plain, codes), wanted),
            Says::Loosely => extreme(&values(plain, &all), wanted),
            Says::Nothing => new_null_array(plain, 1),
        });
        let each: Vec<ArrayRef> = each.collect();
        concat(&each.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap()
    };
    let nulls = zones.iter().map(|(says, codes)| match says {
        Says::Nothing => None,
        _ => Some(codes.iter().filter(|code| code.is_none()).count() as u64),
    });
    ZoneMap::new(bounds(Ordering::Less), bounds(Ordering::Greater), nulls.collect()).unwrap()
}

/// Pruning one zone at a time, value by value: slow, and easy to believe.
fn may_match(p: &BoundPredicate, without: &[usize], known: &dyn Fn(usize) -> Option<ColumnStatistics>) -> bool {
    match p {
        BoundPredicate::Compare { column, op, literal } => known(*column).is_none_or(|s| {
            let nan = literal.array().data_type().is_floating() && !s.nan_free && !without.contains(column);
            within(&s, *op, literal) || (nan && matches!(op, Op::Gt | Op::Ge))
        }),
        BoundPredicate::In { column, literals, denied: false } => {
            known(*column).is_none_or(|s| literals.iter().any(|l| within(&s, Op::Eq, l)))
        }
        BoundPredicate::Known { answer, .. } => *answer,
        BoundPredicate::IsNull { column, denied: false } => known(*column).is_none_or(|s| s.null_count != Some(0)),
        BoundPredicate::In { .. } | BoundPredicate::IsNull { .. } => true,
        BoundPredicate::Unknown => false,
        BoundPredicate::And(all) => {
            let numbers = all.iter().filter_map(BoundPredicate::rules_out_nan);
            let without: Vec<usize> = without.iter().copied().chain(numbers).collect();
            all.iter().all(|p| may_match(p, &without, known))
        }
        BoundPredicate::Or(any) => any.iter().any(|p| may_match(p, without, known)),
    }
}

fn within(s: &ColumnStatistics, op: Op, literal: &Literal) -> bool {
    let value = Value::of_row(literal.array(), 0).unwrap();
    let min = s.min.as_ref().and_then(|min| min.compare(&value));
    let max = s.max.as_ref().and_then(|max| max.compare(&value));
    match op {
        Op::Eq => min.is_none_or(Ordering::is_le) && max.is_none_or(Ordering::is_ge),
        Op::Lt => min.is_none_or(Ordering::is_lt),
        Op::Le => min.is_none_or(Ordering::is_le),
        Op::Gt => max.is_none_or(Ordering::is_gt),
        Op::Ge => max.is_none_or(Ordering::is_ge),
        Op::Ne => true,
    }
}

fn any_rows(zones: usize) -> impl Strategy<Value = Rows> {
    let says = prop_oneof![3 => Just(Says::Exactly), 1 => Just(Says::Loosely), 1 => Just(Says::Nothing)];
    let codes = prop::collection::vec(prop::option::weighted(0.8, 0..CODES), 1..4);
    (prop::sample::select(types()), prop::collection::vec((says, codes), zones))
}

fn any_predicate(types: Vec<DataType>) -> impl Strategy<Value = BoundPredicate> {
    use BoundPredicate::{And, Compare, In, IsNull, Known, Or, Unknown};
    let plain: Vec<DataType> = types
        .into_iter()
        .map(|t| match t {
            DataType::Dictionary(_, values) => *values,
            other => other,
        })
        .collect();
    let columns = 0..plain.len();
    let literal = move |column: usize, code: u8| Literal::new(values(&plain[column], &[Some(code)]));
    let listed = literal.clone();
    let op = prop::sample::select(vec![Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge]);
    let codes = prop::collection::vec(0..CODES, 0..3);
    let leaf = prop_oneof![
        6 => (columns.clone(), op, 0..CODES)
            .prop_map(move |(column, op, code)| Compare { column, op, literal: literal(column, code) }),
        2 => (columns.clone(), codes, any::<bool>()).prop_map(move |(column, codes, denied)| {
            In { column, literals: codes.into_iter().map(|code| listed(column, code)).collect(), denied }
        }),
        1 => (columns.clone(), any::<bool>()).prop_map(|(column, denied)| IsNull { column, denied }),
        1 => (columns, any::<bool>()).prop_map(|(column, answer)| Known { column, answer }),
        1 => Just(Unknown),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let some = prop::collection::vec(inner, 0..4);
        prop_oneof![some.clone().prop_map(And), some.prop_map(Or)]
    })
}

fn any_table() -> impl Strategy<Value = (Vec<Rows>, BoundPredicate)> {
    let columns = (1..5usize).prop_flat_map(|zones| prop::collection::vec(any_rows(zones), 1..4));
    columns.prop_flat_map(|columns| {
        let types = columns.iter().map(|(data_type, _)| data_type.clone()).collect();
        (Just(columns), any_predicate(types))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_zone_with_a_match_is_ruled_out((columns, predicate) in any_table()) {
        let zones = columns[0].1.len();
        let maps: Vec<ZoneMap> = columns.iter().map(map_of).collect();
        let kept = predicate.prune(zones, &|column| maps.get(column).cloned());
        for zone in 0..zones {
            let one_by_one = may_match(&predicate, &[], &|column| Some(maps.get(column)?.statistics(zone)));
            prop_assert_eq!(kept.value(zone), one_by_one, "zone {}", zone);
            // Columns have rows of their own: every combination of their values is a row.
            let lengths: Vec<usize> = columns.iter().map(|(_, zones)| zones[zone].1.len()).collect();
            let rows: usize = lengths.iter().product();
            let mut repeat = 1;
            let arrays = columns.iter().zip(&lengths).map(|((data_type, zones), length)| {
                let codes: Vec<_> = (0..rows).map(|row| zones[zone].1[row / repeat % length]).collect();
                repeat *= length;
                values(data_type, &codes)
            });
            let batch = RecordBatch::try_from_iter(arrays.enumerate().map(|(i, a)| (i.to_string(), a))).unwrap();
            let found = predicate.evaluate(&batch, &Some).unwrap().true_count();
            prop_assert!(found == 0 || kept.value(zone), "zone {} has {} matches", zone, found);
        }
    }
}
