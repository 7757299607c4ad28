//! `FROM csv('x.csv', delimiter => ';')`: files with options of their own.
//!
//! A call is a table whose name is its text. It is resolved where names of files are; this keeps what its text means.

use crate::dialect::text_of;
use crate::error::external;
use crate::open_files::Opening;
use crate::parts::OpenWords;
use colkit::{Error, OpenOptions, TextOptions};
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, TableFactor, UnaryOperator, Value, VisitMut, VisitorMut,
};
use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// Options in a query, by name: `delimiter => ';'`, `null_values => ['NA', '-']`, `pad_short_rows => true`.
pub type QueryOptions = [(String, String)];

/// Says how files are opened with the options of a query.
pub type OpenWith = Arc<dyn Fn(&QueryOptions) -> colkit::Result<OpenOptions> + Send + Sync>;

/// The calls of a session.
pub(crate) struct TableCalls {
    opening: Opening,
    open_with: Option<OpenWith>,
    known: Mutex<HashMap<String, Call>>,
}

/// Which files, and how they are opened.
#[derive(Clone)]
pub(crate) struct Call {
    pub path: String,
    pub opening: Opening,
    /// Whether there is a column with the name of the file that a row is from.
    pub filename: bool,
}

impl TableCalls {
    pub fn new(opening: Opening, open_with: Option<OpenWith>) -> Self {
        TableCalls { opening, open_with, known: Mutex::default() }
    }

    /// What a name stands for, if it is the text of a call.
    pub fn find(&self, name: &str) -> Option<Call> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Replaces the calls in a statement by their names.
    pub fn resolve(&self, statement: &mut Statement) -> Result<()> {
        let resolved = match statement {
            Statement::Statement(statement) => statement.visit(&mut Resolver(self)),
            Statement::CopyTo(copy) => match &mut copy.source {
                CopyToSource::Query(query) => query.visit(&mut Resolver(self)),
                CopyToSource::Relation(_) => ControlFlow::Continue(()),
            },
            Statement::Explain(explain) => return self.resolve(&mut explain.statement),
            Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
        };
        match resolved {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// The format that a function reads; `None` if it is a function of somebody else.
    fn format(&self, function: &str) -> Option<&'static str> {
        let function = function.to_ascii_lowercase();
        let name = function.strip_prefix("read_").unwrap_or(&function);
        let name = name.strip_suffix("_auto").unwrap_or(name);
        let name = if name == "json" { "ndjson" } else { name };
        let formats = self.opening.options.registry().formats(&TextOptions::default());
        formats.into_iter().map(|f| f.name()).find(|known| known.replace('-', "_") == name)
    }

    fn call(&self, format: &'static str, args: &[FunctionArg]) -> colkit::Result<Call> {
        let missing =
            || Error::request("bad_table", format!("{format}(...) needs a file: {format}('FILE', NAME => VALUE)"));
        let (file, named) = args.split_first().ok_or_else(missing)?;
        let mut path = text_of(file).ok_or_else(missing)?.to_owned();
        let mut options = named.iter().map(option).collect::<colkit::Result<Vec<_>>>()?;
        if let Some(place) = options.iter().position(|(name, _)| name == "at") {
            let (_, version) = options.swap_remove(place);
            path = format!("{path}@{version}");
        }
        let filename = match options.iter().position(|(name, _)| name == "filename") {
            Some(place) => match options.swap_remove(place).1.to_ascii_lowercase().as_str() {
                "true" => true,
                "false" => false,
                other => {
                    let what = format!("filename is true or false, not {other}");
                    return Err(Error::request("bad_option", what));
                }
            },
            None => false,
        };
        let open = match (&self.open_with, options.first()) {
            (_, None) => self.opening.options.clone(),
            (Some(open_with), _) => open_with(&options)?,
            (None, Some((name, _))) => {
                let what = format!("{format}(...) has no option {name}: the session knows none");
                return Err(Error::request("no_such_option", what));
            }
        };
        let mut words = OpenWords { format: Some(format.to_owned()), options };
        if words.options.is_empty() {
            words.options.clone_from(&self.opening.words.options);
        }
        let opening = Opening { options: open.with_format(format), words, views: self.opening.views };
        Ok(Call { path, opening, filename })
    }
}

impl fmt::Debug for TableCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableCalls").finish_non_exhaustive()
    }
}

struct Resolver<'a>(&'a TableCalls);

impl VisitorMut for Resolver<'_> {
    type Break = DataFusionError;

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DataFusionError> {
        let TableFactor::Table { name, args: args @ Some(_), .. } = table else { return ControlFlow::Continue(()) };
        let (Some(given), [function]) = (args.as_ref(), name.0.as_slice()) else { return ControlFlow::Continue(()) };
        let Some(format) = function.as_ident().and_then(|f| self.0.format(&f.value)) else {
            return ControlFlow::Continue(());
        };
        let list = given.args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let text = format!("{function}({list})");
        match self.0.call(format, &given.args) {
            Ok(call) => {
                self.0.known.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone(), call);
                *name = ObjectName::from(vec![Ident::with_quote('"', text)]);
                *args = None;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(external(error)),
        }
    }
}

/// `name => value`, also with `:=` or `=`.
fn option(arg: &FunctionArg) -> colkit::Result<(String, String)> {
    let wrong = || Error::request("bad_option", format!("expected an option such as delimiter => ';', found {arg}"));
    let (name, value) = match arg {
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => (name.value.clone(), value),
        FunctionArg::ExprNamed { name: Expr::Identifier(name), arg: FunctionArgExpr::Expr(value), .. } => {
            (name.value.clone(), value)
        }
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op, right })) if op.to_string() == "=" => {
            match left.as_ref() {
                Expr::Identifier(name) => (name.value.clone(), right.as_ref()),
                _ => return Err(wrong()),
            }
        }
        _ => return Err(wrong()),
    };
    Ok((name.to_ascii_lowercase(), text(value).ok_or_else(wrong)?))
}

/// A value as it would be typed on a command line.
fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => Some(text.clone()),
            Value::Boolean(answer) => Some(answer.to_string()),
            _ => None,
        },
        Expr::Identifier(word) => Some(word.value.clone()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => text(expr).map(|number| format!("-{number}")),
        Expr::Array(list) => list.elem.iter().map(text).collect::<Option<Vec<_>>>().map(|texts| texts.join(",")),
        _ => None,
    }
}
