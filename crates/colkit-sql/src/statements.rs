//! Parses text into statements that can be planned: within limits, and without clauses that would be ignored.
//!
//! The parser and the planner recurse over the syntax tree, and so does dropping it. The depth of the tree is bounded
//! from the tokens, before there is a tree.

use crate::dialect;
use crate::syntax_error::located;
use datafusion::common::config::Dialect;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SessionState;
use datafusion::sql::parser::{CopyToSource, DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{
    GroupByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem, TableFactor, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::{GenericDialect, dialect_from_str};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// The stack that a thread needs to plan and run whatever [`statements`] lets pass.
pub const STACK_BYTES: usize = 32 << 20;

/// Text that statements may have, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// Operators and keywords that may follow or contain one another.
const MOST_STEPS: u64 = 3_000;

/// The parser tries one reading after another: with a mistake deep inside of brackets, twice as many for each more of them.
const PARSE_TIME: Duration = Duration::from_secs(10);

/// The statements in `text`.
///
/// They may be planned by [`plan`](crate::plan()) on a thread with a stack of [`STACK_BYTES`].
pub fn statements(state: &SessionState, text: &str) -> Result<VecDeque<Statement>> {
    if text.len() > MOST_BYTES {
        return Err(too_much(format!("the query has {} bytes, the limit is {MOST_BYTES}", text.len())));
    }
    let options = &state.config().options().sql_parser;
    let tokens = Tokenizer::new(dialect_named(options.dialect).as_ref(), text)
        .tokenize_with_location()
        .map_err(|e| located(DataFusionError::SQL(Box::new(e.into()), None), text))?;
    let (Depth { steps, brackets }, nesting) = (depth(&tokens), options.recursion_limit.get());
    if steps > MOST_STEPS {
        return Err(too_much(format!(
            "the query has {steps} operators and keywords that follow or contain one another, the limit is {MOST_STEPS}"
        )));
    }
    if brackets > nesting {
        return Err(too_much(format!(
            "the query has {brackets} brackets inside of one another, the limit is {nesting}"
        )));
    }
    let tokens = dialect::respelled(tokens);
    let mut statements = parse(tokens, options.dialect, nesting, PARSE_TIME).map_err(|error| located(error, text))?;
    for statement in &mut statements {
        dialect::rewrite(statement)?;
        check(statement)?;
    }
    Ok(statements)
}

fn too_much(what: String) -> DataFusionError {
    let error = colkit::Error::new(colkit::Class::Limit, "query_too_large", what);
    crate::error::external(
        error.hint("use IN (...) for many alternatives and VALUES for many rows, or several queries"),
    )
}

fn dialect_named(name: Dialect) -> Box<dyn datafusion::sql::sqlparser::dialect::Dialect> {
    dialect_from_str(name).unwrap_or_else(|| Box::new(GenericDialect {}))
}

/// Parses on a thread of its own, which is left to itself if it does not come to an end.
fn parse(tokens: Vec<TokenWithSpan>, name: Dialect, nesting: usize, time: Duration) -> Result<VecDeque<Statement>> {
    let (send, receive) = sync_channel(1);
    let parse = move || {
        let dialect = dialect_named(name);
        let parser = DFParserBuilder::new(tokens).with_dialect(dialect.as_ref()).with_recursion_limit(nesting).build();
        // If nobody waits any more, the answer does not matter.
        let _ = send.send(parser.and_then(|mut parser| parser.parse_statements()));
    };
    std::thread::Builder::new().name("colkit-parse".into()).stack_size(STACK_BYTES).spawn(parse)?;
    receive.recv_timeout(time).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => {
            let seconds = time.as_secs();
            Err(too_much(format!(
                "the query was not understood within {seconds} seconds; it may have a mistake inside of brackets"
            )))
        }
        RecvTimeoutError::Disconnected => Err(DataFusionError::Internal("the parser failed".into())),
    })
}

/// How deep the tree of a statement can be.
#[derive(Debug, Default, PartialEq)]
struct Depth {
    /// How many operators and keywords may come to lie on one way from the root to a leaf: those of one list item, and of
    /// what stands in brackets in it the most.
    steps: u64,
    /// How many brackets are inside of one another.
    brackets: usize,
}

fn depth(tokens: &[TokenWithSpan]) -> Depth {
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::default();
    let mut most = Depth::default();
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                level.item += 1;
                outer.push(std::mem::take(&mut level));
                most.brackets = most.brackets.max(outer.len());
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                let inner = level.end();
                // What is closed and was not open is for the parser to tell.
                level = outer.pop().unwrap_or_default();
                level.inside = level.inside.max(inner);
            }
            Token::Comma if level.joins => level.item += 1,
            Token::Comma => level.next_item(),
            Token::SemiColon if outer.is_empty() => most.steps = most.steps.max(std::mem::take(&mut level).end()),
            Token::Word(word) => {
                if word.keyword != Keyword::NoKeyword {
                    level.item += 1;
                }
                match word.keyword {
                    Keyword::FROM => level.joins = true,
                    Keyword::SELECT | Keyword::WHERE | Keyword::GROUP | Keyword::ORDER | Keyword::WINDOW => {
                        level.joins = false;
                    }
                    _ => {}
                }
            }
            Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_) | Token::Period => {}
            _ => level.item += 1,
        }
    }
    while let Some(mut around) = outer.pop() {
        around.inside = around.inside.max(level.end());
        level = around;
    }
    Depth { steps: most.steps.max(level.end()), ..most }
}

/// What stands between two brackets, as far as it was seen.
#[derive(Default)]
struct Level {
    /// Steps in the current item of a list.
    item: u64,
    /// The most in brackets within it.
    inside: u64,
    /// The most of the items before it.
    before: u64,
    /// Whether commas join tables, one join inside of the other, rather than end an item.
    joins: bool,
}

impl Level {
    fn next_item(&mut self) {
        self.before = self.end();
        (self.item, self.inside) = (0, 0);
    }

    fn end(&self) -> u64 {
        self.before.max(self.item + self.inside)
    }
}

/// Completes what is left out, and refuses what would be ignored.
fn check(statement: &mut Statement) -> Result<()> {
    let checked = match statement {
        Statement::Statement(statement) => statement.visit(&mut Checks),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(&mut Checks),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return check(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match checked {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(clause) => Err(DataFusionError::NotImplemented(format!("{clause} is not supported"))),
    }
}

/// The planner passes over these clauses in silence.
struct Checks;

impl VisitorMut for Checks {
    type Break = &'static str;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let fill = query.order_by.as_ref().is_some_and(|order| match &order.kind {
            OrderByKind::Expressions(by) => by.iter().any(|e| e.with_fill.is_some()),
            OrderByKind::All(_) => false,
        });
        first_of([
            (!query.locks.is_empty(), "FOR UPDATE"),
            (query.for_clause.is_some(), "FOR XML, FOR JSON or FOR BROWSE"),
            (query.settings.is_some(), "SETTINGS"),
            (query.format_clause.is_some(), "FORMAT"),
            (fill, "WITH FILL"),
        ])
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        // FROM t stands for SELECT * FROM t.
        if select.flavor == SelectFlavor::FromFirstNoSelect && select.projection.is_empty() {
            select.projection.push(SelectItem::Wildcard(Default::default()));
        }
        let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = &select.group_by;
        first_of([
            (!modifiers.is_empty(), "GROUP BY ... WITH (write GROUP BY ROLLUP (...) or CUBE (...))"),
            (select.prewhere.is_some(), "PREWHERE"),
            (!select.connect_by.is_empty(), "CONNECT BY"),
            (select.exclude.is_some(), "EXCLUDE behind the columns"),
            (select.value_table_mode.is_some(), "SELECT AS VALUE or AS STRUCT"),
        ])
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<Self::Break> {
        const SAMPLE: &str = "TABLESAMPLE here";
        const ORDINALITY: &str = "WITH ORDINALITY (row_number() OVER () numbers rows)";
        match table {
            TableFactor::Table { sample, version, partitions, with_hints, json_path, with_ordinality, .. } => {
                first_of([
                    (sample.is_some(), SAMPLE),
                    (version.is_some(), "a version of a table"),
                    (!partitions.is_empty(), "PARTITION (...) behind a table"),
                    (!with_hints.is_empty(), "WITH (...) behind a table"),
                    (json_path.is_some(), "a path into a table"),
                    (*with_ordinality, ORDINALITY),
                ])
            }
            TableFactor::Derived { sample, .. } => first_of([(sample.is_some(), SAMPLE)]),
            TableFactor::Function { with_ordinality, .. } => first_of([(*with_ordinality, ORDINALITY)]),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn first_of<const N: usize>(clauses: [(bool, &'static str); N]) -> ControlFlow<&'static str> {
    match clauses.into_iter().find(|(there, _)| *there) {
        Some((_, clause)) => ControlFlow::Break(clause),
        None => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<TokenWithSpan> {
        Tokenizer::new(&GenericDialect {}, text).tokenize_with_location().unwrap()
    }

    fn steps(text: &str) -> u64 {
        depth(&tokens(text)).steps
    }

    #[test]
    fn lists_are_broad_and_chains_are_deep() {
        let list = |n: usize| vec!["1"; n].join(",");
        assert_eq!(steps(&format!("x IN ({})", list(1000))), steps("x IN (1)"));
        assert_eq!(steps(&vec!["1"; 1000].join("+")), 999);
        let nested = format!("{}1{}", "(".repeat(1000), ")".repeat(1000));
        assert_eq!(depth(&tokens(&nested)), Depth { steps: 1000, brackets: 1000 });
        assert_eq!(depth(&tokens(&"[".repeat(1000))), Depth { steps: 1000, brackets: 1000 });
        assert_eq!(steps("1+1;1+1+1;1"), 2);
        assert_eq!(steps("foo(1+1, 2+2+(3+3)), 4"), 1 + 3 + 1);
        assert!(steps(&format!("SELECT 1 FROM {}", vec!["t"; 1000].join(","))) > 1000);
        assert!(steps(&format!("SELECT {} FROM t", list(1000))) < 10);
    }

    #[test]
    fn a_parser_that_does_not_come_to_an_end_is_not_waited_for() {
        let query = format!("SELECT {}1 +", "array[".repeat(30));
        let error = parse(tokens(&query), Dialect::Generic, 50, Duration::from_millis(50)).unwrap_err();
        assert_eq!(crate::plain(&error).code(), "query_too_large", "{error}");
    }
}
