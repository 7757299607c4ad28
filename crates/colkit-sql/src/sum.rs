//! A `sum` that does not wrap around.
//!
//! DataFusion adds 64-bit integers in 64 bits and wraps. Here they are added in 128 bits, which no table is long enough
//! to overflow; a result that does not fit its type is an error.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{ScalarValue, exec_err, internal_err};
use datafusion::error::Result;
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

/// `sum` as DataFusion has it, but for integers.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct CheckedSum {
    plain: Arc<AggregateUDF>,
}

impl CheckedSum {
    pub fn new() -> Self {
        CheckedSum { plain: sum_udaf() }
    }
}

fn is_integer(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Int64 | DataType::UInt64)
}

fn wide(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(WIDE))
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
        if !is_integer(&args.return_field) {
            return self.plain.accumulator(args);
        }
        let (name, result) = (args.name.to_owned(), args.return_type().clone());
        let sum = self.plain.accumulator(AccumulatorArgs { return_field: wide(&args.return_field), ..args })?;
        Ok(Box::new(WideSum { sum, name, result }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let return_field = if is_integer(&args.return_field) { wide(&args.return_field) } else { args.return_field };
        self.plain.state_fields(StateFieldsArgs { return_field, ..args })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.plain.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        if !is_integer(&args.return_field) {
            return self.plain.create_groups_accumulator(args);
        }
        let (name, result) = (args.name.to_owned(), args.return_type().clone());
        let args = AccumulatorArgs { return_field: wide(&args.return_field), ..args };
        Ok(Box::new(WideSums { sums: self.plain.create_groups_accumulator(args)?, name, result }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if !is_integer(&args.return_field) {
            return self.plain.create_sliding_accumulator(args);
        }
        if args.is_distinct {
            return exec_err!("sum(DISTINCT ...) over a moving window is not supported for {}", args.return_type());
        }
        let (name, result) = (args.name.to_owned(), args.return_type().clone());
        let args = AccumulatorArgs { return_field: wide(&args.return_field), ..args };
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

/// Integers as they are added.
fn widened(values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let widen = |array: &ArrayRef| -> Result<ArrayRef> {
        let wide: PrimitiveArray<Decimal128Type> = match array.data_type() {
            DataType::Int64 => array.as_primitive::<Int64Type>().unary(i128::from),
            DataType::UInt64 => array.as_primitive::<UInt64Type>().unary(i128::from),
            other => return internal_err!("sum of integers over {other}"),
        };
        Ok(Arc::new(wide.with_data_type(WIDE)))
    };
    values.iter().map(widen).collect()
}

/// The sums in the type of the result; an error if one of them does not fit.
fn narrowed(sums: &ArrayRef, name: &str, result: &DataType) -> Result<ArrayRef> {
    let sums = sums.as_primitive::<Decimal128Type>();
    Ok(match result {
        DataType::UInt64 => Arc::new(sums.try_unary::<_, UInt64Type, _>(|sum| narrow(sum, name))?),
        _ => Arc::new(sums.try_unary::<_, Int64Type, _>(|sum| narrow(sum, name))?),
    })
}

fn narrow<T: TryFrom<i128>>(sum: i128, name: &str) -> Result<T> {
    match T::try_from(sum) {
        Ok(fits) => Ok(fits),
        Err(_) => exec_err!("{name} is {sum}, which is beyond 64 bits: cast to DECIMAL(38, 0) before summing"),
    }
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
