//! A `sum` that does not wrap around.
//!
//! DataFusion adds 64-bit integers in 64 bits and decimals of 38 digits in 128 bits, and wraps. Here they are added in twice
//! as many bits, which no table is long enough to overflow; a result that does not fit its type is an error.

use crate::error::external;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, DecimalType, Field, FieldRef, Int64Type, UInt64Type, i256,
};
use datafusion::common::{ScalarValue, exec_err, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature,
};
use std::sync::Arc;

/// What integers are added as.
const WIDE: DataType = DataType::Decimal128(38, 0);

/// What sums of this type are computed as, if that is another one.
fn wider(sum: &DataType) -> Option<DataType> {
    match sum {
        DataType::Int64 | DataType::UInt64 => Some(WIDE),
        DataType::Decimal128(38, scale) => Some(DataType::Decimal256(76, *scale)),
        _ => None,
    }
}

/// `sum` as DataFusion has it, but for integers and long decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct CheckedSum {
    plain: Arc<AggregateUDF>,
}

impl CheckedSum {
    pub fn new() -> Self {
        CheckedSum { plain: sum_udaf() }
    }
}

fn wide(field: &Field) -> Option<FieldRef> {
    Some(Arc::new(field.clone().with_data_type(wider(field.data_type())?)))
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.plain.name()
    }

    fn signature(&self) -> &Signature {
        self.plain.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.plain.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let Some(return_field) = wide(&args.return_field) else { return self.plain.accumulator(args) };
        let (name, result) = (args.name.to_owned(), args.return_type().clone());
        let sum = self.plain.accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(WideSum { sum, name, result }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let return_field = wide(&args.return_field).unwrap_or(args.return_field);
        self.plain.state_fields(StateFieldsArgs { return_field, ..args })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.plain.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let Some(return_field) = wide(&args.return_field) else { return self.plain.create_groups_accumulator(args) };
        let (name, result) = (args.name.to_owned(), args.return_type().clone());
        let args = AccumulatorArgs { return_field, ..args };
        Ok(Box::new(WideSums { sums: self.plain.create_groups_accumulator(args)?, name, result }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let Some(return_field) = wide(&args.return_field) else { return self.plain.create_sliding_accumulator(args) };
        if args.is_distinct {
            return exec_err!("sum(DISTINCT ...) over a moving window is not supported for {}", args.return_type());
        }
        let (name, result) = (args.name.to_owned(), args.return_type().clone());
        let args = AccumulatorArgs { return_field, ..args };
        Ok(Box::new(WideSum { sum: self.plain.create_sliding_accumulator(args)?, name, result }))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.plain.order_sensitivity()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.plain.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.plain.inner().set_monotonicity(data_type)
    }
}

/// Numbers as they are added.
fn widened(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let integers = |wide: PrimitiveArray<Decimal128Type>| Arc::new(wide.with_data_type(WIDE)) as ArrayRef;
    let widen = |array: &ArrayRef| -> Result<ArrayRef> {
        Ok(match array.data_type() {
            DataType::Int64 => integers(array.as_primitive::<Int64Type>().unary(i128::from)),
            DataType::UInt64 => integers(array.as_primitive::<UInt64Type>().unary(i128::from)),
            DataType::Decimal128(_, scale) => {
                let wide: PrimitiveArray<Decimal256Type> =
                    array.as_primitive::<Decimal128Type>().unary(i256::from_i128);
                Arc::new(wide.with_data_type(DataType::Decimal256(76, *scale)))
            }
            other => return internal_err!("sum of integers over {other}"),
        })
    };
    values.iter().map(widen).collect()
}

/// The sums in the type of the result; an error if one of them does not fit.
fn narrowed(sums: &ArrayRef, name: &str, result: &DataType) -> Result<ArrayRef> {
    let integers = || sums.as_primitive::<Decimal128Type>();
    Ok(match result {
        DataType::UInt64 => Arc::new(integers().try_unary::<_, UInt64Type, _>(|sum| narrow(sum, name))?),
        DataType::Decimal128(precision, scale) => {
            let short = |sum: i256| {
                let fits = |sum: &i128| Decimal128Type::is_valid_decimal_precision(*sum, *precision);
                sum.to_i128().filter(fits).ok_or_else(|| {
                    let digits = Decimal256Type::format_decimal(sum, 76, *scale);
                    beyond(format!("{name} is {digits}, which has more than {precision} digits"), "DOUBLE")
                })
            };
            let sums = sums.as_primitive::<Decimal256Type>().try_unary::<_, Decimal128Type, _>(short)?;
            Arc::new(sums.with_data_type(result.clone()))
        }
        _ => Arc::new(integers().try_unary::<_, Int64Type, _>(|sum| narrow(sum, name))?),
    })
}

fn narrow<T: TryFrom<i128>>(sum: i128, name: &str) -> Result<T> {
    T::try_from(sum)
        .map_err(|_| beyond(format!("integer overflow in {name}: {sum} is beyond 64 bits"), "DECIMAL(38, 0) or DOUBLE"))
}

fn beyond(what: String, wider: &str) -> DataFusionError {
    external(colkit::Error::data("arithmetic_overflow", what).hint(format!("cast to {wider} before summing")))
}

/// One sum.
#[derive(Debug)]
struct WideSum {
    sum: Box<dyn Accumulator>,
    name: String,
    result: DataType,
}

impl Accumulator for WideSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum.update_batch(&widened(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum.retract_batch(&widened(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.sum.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.sum.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&narrowed(&sum, &self.name, &self.result)?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.sum.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.sum.merge_batch(states)
    }

    fn size(&self) -> usize {
        self.sum.size() + size_of_val(self) + self.name.len()
    }
}

/// A sum for each group.
struct WideSums {
    sums: Box<dyn GroupsAccumulator>,
    name: String,
    result: DataType,
}

impl GroupsAccumulator for WideSums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sums.update_batch(&widened(values)?, groups, filter, total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        narrowed(&self.sums.evaluate(emit)?, &self.name, &self.result)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.sums.state(emit)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.sums.merge_batch(states, groups, total)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.sums.convert_to_state(&widened(values)?, filter)
    }

    fn size(&self) -> usize {
        self.sums.size() + self.name.len()
    }
}
