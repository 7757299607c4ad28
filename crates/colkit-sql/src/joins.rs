//! Semi and anti joins: `IN`, `EXISTS`, `INTERSECT`, `EXCEPT`.
//!
//! DataFusion finds every pair of matching rows even where one is enough: with few distinct keys, the number of pairs
//! grows quadratically. Deduplicating the keys first leaves at most one pair per row.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Dependency, JoinType};
use datafusion::error::Result;
use datafusion::logical_expr::{Aggregate, Expr, Join, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Takes each combination of the values that a semi, anti or mark join looks at once.
#[derive(Debug, Default)]
pub(crate) struct DistinctMatches;

impl OptimizerRule for DistinctMatches {
    fn name(&self) -> &str {
        "distinct_matches"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        use JoinType::{LeftAnti, LeftMark, LeftSemi, RightAnti, RightMark, RightSemi};
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        let looked_at = match join.join_type {
            LeftSemi | LeftAnti | LeftMark => distinct(&join.right, &join)?,
            RightSemi | RightAnti | RightMark => distinct(&join.left, &join)?,
            _ => None,
        };
        let Some(looked_at) = looked_at else { return Ok(Transformed::no(LogicalPlan::Join(join))) };
        match join.join_type {
            LeftSemi | LeftAnti | LeftMark => join.right = looked_at,
            _ => join.left = looked_at,
        }
        Ok(Transformed::yes(LogicalPlan::Join(join)))
    }
}

/// The side of a join that is only looked at, with each combination of the columns that the join names once. `None` if it is
/// like that already.
fn distinct(side: &Arc<LogicalPlan>, join: &Join) -> Result<Option<Arc<LogicalPlan>>> {
    let schema = side.schema();
    let mut named: HashSet<&Column> = HashSet::new();
    for expr in join.on.iter().flat_map(|(l, r)| [l, r]).chain(&join.filter) {
        named.extend(expr.column_refs());
    }
    let columns: BTreeSet<usize> = named.iter().filter_map(|c| schema.maybe_index_of_column(c)).collect();
    if columns.is_empty() {
        // Any row will do.
        let plan = match side.max_rows() {
            Some(0 | 1) => return Ok(None),
            _ => LogicalPlanBuilder::from(side.clone()).limit(0, Some(1))?.build()?,
        };
        return Ok(Some(Arc::new(plan)));
    }
    let unique = schema
        .functional_dependencies()
        .iter()
        .any(|d| d.mode == Dependency::Single && d.source_indices.iter().all(|i| columns.contains(i)));
    let fields = columns.iter().map(|i| schema.qualified_field(*i));
    // Nested values can be compared, but not all of them grouped.
    if unique || fields.clone().any(|(_, f)| f.data_type().is_nested()) {
        return Ok(None);
    }
    let by = fields.map(|f| Expr::Column(Column::from(f))).collect();
    Ok(Some(Arc::new(LogicalPlan::Aggregate(Aggregate::try_new(side.clone(), by, Vec::new())?))))
}
