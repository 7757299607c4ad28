//! SQL as people type it: what other engines call by another name, as what DataFusion can plan.
//!
//! What the parser does not know is respelled in the tokens; everything else is rewritten in the parsed statement.

mod arrows;
mod copy_options;
mod functions;
mod headers;
mod names;
mod order_all;
mod pivot;
mod sample;
mod snippets;
mod summarize;
mod tokens;

pub(crate) use functions::text_of;
pub(crate) use pivot::Pivots;
pub(crate) use snippets::{all_of, query};
pub(crate) use summarize::{summarized, summary};
pub(crate) use tokens::respelled;

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::VisitMut;
use std::ops::ControlFlow;

/// Rewrites what a statement spells in another way. Columns are named by what was typed, before that changes.
pub(crate) fn rewrite(statement: &mut Statement) -> Result<()> {
    match statement {
        Statement::Statement(statement) => rewrite_in(statement.as_mut()),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => rewrite_in(query.as_mut()),
            CopyToSource::Relation(_) => Ok(()),
        },
        Statement::Explain(explain) => rewrite(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => Ok(()),
    }
}

fn rewrite_in<T: VisitMut>(part: &mut T) -> Result<()> {
    // Nothing breaks these off.
    let _: ControlFlow<()> = part.visit(&mut arrows::ArrowsFirst);
    let _: ControlFlow<()> = part.visit(&mut names::QuotedTables);
    let _: ControlFlow<()> = part.visit(&mut headers::Headers);
    let mut rewritten = part.visit(&mut order_all::OrderByAll);
    if rewritten.is_continue() {
        rewritten = part.visit(&mut sample::Samples);
    }
    if let ControlFlow::Break(clause) = rewritten {
        return Err(DataFusionError::NotImplemented(clause));
    }
    let _: ControlFlow<()> = part.visit(&mut functions::Functions);
    Ok(())
}
