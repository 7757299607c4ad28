//! `->` and `->>`, on JSON in text and on nested columns.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::sync::Arc;

/// Plans the arrows.
#[derive(Debug)]
pub(crate) struct Arrows {
    /// `json_extract`.
    pub json: Arc<ScalarUDF>,
    /// `json_extract_string`.
    pub text: Arc<ScalarUDF>,
}

impl ExprPlanner for Arrows {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let as_text = match expr.op {
            BinaryOperator::Arrow => false,
            BinaryOperator::LongArrow => true,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let RawBinaryExpr { left, right, .. } = expr;
        let planned = match left.get_type(schema)? {
            DataType::Struct(_) | DataType::Map(..) => {
                let field = match &right {
                    Expr::Literal(value, _) => get_field(left, value.clone()),
                    _ => return datafusion::common::plan_err!("-> needs the name of a field, found {right}"),
                };
                if as_text { cast(field, DataType::Utf8) } else { field }
            }
            _ if as_text => self.text.call(vec![left, right]),
            _ => self.json.call(vec![left, right]),
        };
        Ok(PlannerResult::Planned(planned))
    }
}
