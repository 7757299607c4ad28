//! Integer arithmetic that is exact, or an error that names the expression.
//!
//! DataFusion adds, subtracts, multiplies and negates integers in the type of its operands and wraps around. Here every
//! such operation becomes a call of a function that checks its result. Narrow integers are widened to 64 bits first; a
//! `uint64` together with a signed integer is computed in 128 bits.

mod compute;
mod words;

use crate::error::external;
use crate::literals::rewrite;
use arrow::datatypes::{DataType, Field, FieldRef};
use compute::{computed, computed_one};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, internal_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use words::{in_words, spelled};

/// What a `uint64` and a signed integer have in common.
const BOTH: DataType = DataType::Decimal128(20, 0);
/// Their sums, differences and products.
const WIDE: DataType = DataType::Decimal128(38, 0);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    Negate,
    Absolute,
}

impl Op {
    const ALL: [Op; 9] = [
        Op::Add,
        Op::Subtract,
        Op::Multiply,
        Op::Divide,
        Op::Remainder,
        Op::ShiftLeft,
        Op::ShiftRight,
        Op::Negate,
        Op::Absolute,
    ];

    fn of(op: Operator) -> Option<Self> {
        Some(match op {
            Operator::Plus => Op::Add,
            Operator::Minus => Op::Subtract,
            Operator::Multiply => Op::Multiply,
            Operator::Divide => Op::Divide,
            Operator::Modulo => Op::Remainder,
            Operator::BitwiseShiftLeft => Op::ShiftLeft,
            Operator::BitwiseShiftRight => Op::ShiftRight,
            _ => return None,
        })
    }

    fn function(self) -> &'static str {
        match self {
            Op::Add => "checked_add",
            Op::Subtract => "checked_subtract",
            Op::Multiply => "checked_multiply",
            Op::Divide => "checked_divide",
            Op::Remainder => "checked_remainder",
            Op::ShiftLeft => "checked_shift_left",
            Op::ShiftRight => "checked_shift_right",
            Op::Negate => "checked_negate",
            Op::Absolute => "checked_abs",
        }
    }

    fn operands(self) -> usize {
        if matches!(self, Op::Negate | Op::Absolute) { 1 } else { 2 }
    }

    /// The types that operands are computed in; `None` if they are not integers.
    fn common(self, types: &[DataType]) -> Option<Vec<DataType>> {
        let one = |t: &DataType| if *t == DataType::UInt64 { DataType::UInt64 } else { DataType::Int64 };
        let wide = |t: &DataType| matches!(t, DataType::Decimal128(_, 0));
        match types {
            // There are unsigned 64-bit integers that have no signed counterpart.
            [t] if self == Op::Negate && *t == DataType::UInt64 => Some(vec![BOTH]),
            [t] if t.is_integer() => Some(vec![one(t)]),
            [t] if wide(t) => Some(vec![t.clone()]),
            [left, right] if matches!(self, Op::ShiftLeft | Op::ShiftRight) => {
                (left.is_integer() && right.is_integer()).then(|| vec![one(left), one(right)])
            }
            [left, right] if [left, right].iter().all(|t| t.is_integer() || wide(t)) => {
                let unsigned = |t: &DataType| t.is_unsigned_integer();
                let long = |t: &DataType| *t == DataType::UInt64;
                let both = match () {
                    () if *left == BOTH && *right == BOTH => BOTH,
                    () if wide(left) || wide(right) => WIDE,
                    () if !long(left) && !long(right) => DataType::Int64,
                    () if unsigned(left) && unsigned(right) => DataType::UInt64,
                    () => BOTH,
                };
                Some(vec![both.clone(), both])
            }
            _ => None,
        }
    }

    fn result(self, computed: &DataType) -> DataType {
        match (self, computed) {
            (Op::Add | Op::Subtract | Op::Multiply, t) if *t == BOTH => WIDE,
            (_, t) => t.clone(),
        }
    }
}

/// An operation as a function.
#[derive(Debug)]
pub(crate) struct Checked {
    op: Op,
    signature: Signature,
    /// The expression as somebody would type it, for errors. It is not what the function does.
    typed: Option<String>,
}

impl PartialEq for Checked {
    fn eq(&self, other: &Self) -> bool {
        self.op == other.op
    }
}

impl Eq for Checked {}

impl Hash for Checked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.op.hash(state);
    }
}

impl Checked {
    fn new(op: Op, typed: Option<String>) -> Self {
        Checked { op, signature: Signature::user_defined(Volatility::Immutable), typed }
    }

    /// The expression, or what is known of it where somebody else planned the query.
    fn typed(&self, args: &ScalarFunctionArgs) -> String {
        if let Some(typed) = &self.typed {
            return typed.clone();
        }
        let operand = |(value, field): (&ColumnarValue, &FieldRef)| match value {
            ColumnarValue::Scalar(value) => value.to_string(),
            ColumnarValue::Array(_) => field.name().clone(),
        };
        let operands: Vec<String> = args.args.iter().zip(&args.arg_fields).map(operand).collect();
        spelled(self.op, &operands)
    }
}

/// The functions, for those who run what was planned elsewhere.
pub(crate) fn functions() -> impl Iterator<Item = ScalarUDF> {
    Op::ALL.into_iter().map(|op| Checked::new(op, None).into())
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        self.op.function()
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(spelled(self.op, &args.iter().map(ToString::to_string).collect::<Vec<_>>()))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(spelled(self.op, &args.iter().map(|arg| arg.schema_name().to_string()).collect::<Vec<_>>()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let null = |t: &DataType| if t.is_null() { DataType::Int64 } else { t.clone() };
        match self.op.common(&types.iter().map(null).collect::<Vec<_>>()) {
            Some(common) if types.len() == self.op.operands() => Ok(common),
            _ => plan_err!("{} takes {} integers", self.name(), self.op.operands()),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(first) => Ok(self.op.result(first)),
            None => internal_err!("{} has no arguments", self.name()),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        let nullable = args.arg_fields.iter().any(|f| f.is_nullable());
        let names: Vec<String> = args.arg_fields.iter().map(|f| f.name().clone()).collect();
        Ok(Arc::new(Field::new(spelled(self.op, &names), self.return_type(&types)?, nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let done = match args.args.as_slice() {
            [operand] => computed_one(self.op, operand),
            [left, right] => computed(self.op, left, right, args.number_rows),
            _ => return internal_err!("{} of {} operands", self.name(), args.args.len()),
        };
        done.map_err(|failed| self.failed(failed, &args))
    }
}

impl Checked {
    fn failed(&self, failed: compute::Failed, args: &ScalarFunctionArgs) -> DataFusionError {
        let typed = self.typed(args);
        match failed {
            compute::Failed::Overflow(values) => external(
                colkit::Error::data("arithmetic_overflow", format!("integer overflow in {typed}: {values}"))
                    .hint("cast an operand to DECIMAL(38, 0) or DOUBLE first"),
            ),
            compute::Failed::ByZero => external(
                colkit::Error::data("division_by_zero", format!("division by zero in {typed}"))
                    .hint("NULLIF(divisor, 0) makes such quotients null"),
            ),
            compute::Failed::Other(error) => error,
        }
    }
}

/// Has integers computed by functions that check their results.
#[derive(Debug)]
pub(crate) struct CheckIntegers {
    /// Whether types are final, so that results have to keep them.
    pub coerced: bool,
}

impl AnalyzerRule for CheckIntegers {
    fn name(&self) -> &str {
        if self.coerced { "check_coerced_integers" } else { "check_integers" }
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite(plan, |expr, schema| self.checked(expr, schema))
    }
}

impl CheckIntegers {
    fn checked(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let (op, operands) = match &expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match Op::of(*op) {
                Some(op) => (op, vec![left.as_ref().clone(), right.as_ref().clone()]),
                None => return Ok(Transformed::no(expr)),
            },
            Expr::Negative(operand) if !matches!(operand.as_ref(), Expr::Literal(..)) => {
                (Op::Negate, vec![operand.as_ref().clone()])
            }
            Expr::ScalarFunction(call) if call.func.name() == "abs" => (Op::Absolute, call.args.clone()),
            _ => return Ok(Transformed::no(expr)),
        };
        let Ok(types) = operands.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>() else {
            // What is wrong with it is said where types are checked.
            return Ok(Transformed::no(expr));
        };
        // Integers that are computed in 128 bits are decimals to others, but stay integers here.
        if !operands.iter().zip(&types).all(|(operand, t)| t.is_integer() || is_checked(operand)) {
            return Ok(Transformed::no(expr));
        }
        let operands = unsigned_literals(operands, &types);
        let types = operands.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
        let Some(common) = op.common(&types) else { return Ok(Transformed::no(expr)) };
        let before = expr.get_type(schema);
        let function = ScalarUDF::from(Checked::new(op, Some(in_words(&expr))));
        let cast = |(operand, data_type): (Expr, &DataType)| operand.cast_to(data_type, schema);
        let args = operands.into_iter().zip(&common).map(cast).collect::<Result<Vec<_>>>()?;
        let call = Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), args));
        Ok(Transformed::yes(match before {
            Ok(before) if self.coerced => call.cast_to(&before, schema)?,
            _ => call,
        }))
    }
}

fn is_checked(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.inner().downcast_ref::<Checked>().is_some())
}

/// Literals next to a `uint64` as such: `u + 1` stays one.
fn unsigned_literals(operands: Vec<Expr>, types: &[DataType]) -> Vec<Expr> {
    if !types.contains(&DataType::UInt64) {
        return operands;
    }
    let unsigned = |operand: Expr| match &operand {
        Expr::Literal(value, metadata) => match value.cast_to(&DataType::UInt64) {
            Ok(unsigned @ ScalarValue::UInt64(Some(_))) => Expr::Literal(unsigned, metadata.clone()),
            _ => operand,
        },
        _ => operand,
    };
    operands.into_iter().map(unsigned).collect()
}
