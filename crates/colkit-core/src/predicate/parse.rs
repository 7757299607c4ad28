//! Parses predicates such as `price >= 44000 and sym = "BTC"`.
//!
//! ```text
//! or      = and ("or" and)*
//! and     = not ("and" not)*
//! not     = "not" not | "(" or ")" | test
//! test    = column ( op literal | ["not"] "in" "(" literal, ... ")" | "is" ["not"] "null"
//!                  | ["not"] "between" literal "and" literal )
//! op      = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
//! column  = a bare word, or any name in `backticks`
//! literal = number | "text" | 'text' | true | false | null
//! ```

use super::{Op, Predicate};
use crate::names::column_index;
use crate::{Decimal, Error, Result, Value};
use arrow::datatypes::Schema;

impl Predicate {
    /// Reads a predicate over the columns of `schema`.
    ///
    /// ```
    /// use arrow::datatypes::{DataType, Field, Schema};
    /// use colkit_core::Predicate;
    /// let schema = Schema::new(vec![Field::new("price", DataType::Int32, false), Field::new("sym", DataType::Utf8, false)]);
    /// let p = Predicate::parse("price >= 44000 and sym = \"BTC\"", &schema)?;
    /// assert_eq!(p.bind(&schema)?.columns(), [0, 1]);
    /// # Ok::<(), colkit_core::Error>(())
    /// ```
    pub fn parse(text: &str, schema: &Schema) -> Result<Predicate> {
        let tokens = tokenize(text)?;
        let mut parser = Parser { tokens: &tokens, at: 0, text, schema, depth: 0 };
        let predicate = parser.or()?;
        match parser.peek() {
            Some(_) => Err(parser.unexpected("the end")),
            None => Ok(predicate),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Column(String),
    Text(String),
    Number(String),
    Symbol(&'static str),
}

const SYMBOLS: [&str; 12] = ["==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ",", "-"];

fn tokenize(text: &str) -> Result<Vec<(usize, Token)>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let (token, length) = if matches!(first, '"' | '\'' | '`') {
            let (content, length) = quoted(rest, first).ok_or_else(|| {
                Error::request("bad_predicate", format!("the quote at position {at} of {text:?} is never closed"))
            })?;
            (if first == '`' { Token::Column(content) } else { Token::Text(content) }, length)
        } else if first.is_ascii_digit() || (first == '.' && rest.len() > 1) {
            let exponent_sign = |i: usize| i > 0 && matches!(rest.as_bytes().get(i - 1), Some(b'e' | b'E'));
            let length = rest
                .char_indices()
                .find(|&(i, c)| {
                    !(c.is_ascii_alphanumeric() || c == '.' || (matches!(c, '+' | '-') && exponent_sign(i)))
                })
                .map_or(rest.len(), |(i, _)| i);
            (Token::Number(rest.get(..length).unwrap_or_default().to_string()), length)
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (Token::Symbol(symbol), symbol.len())
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(rest.len());
            (Token::Word(rest.get(..length).unwrap_or_default().to_string()), length)
        } else {
            return Err(Error::request("bad_predicate", format!("unexpected {first:?} at position {at} of {text:?}")));
        };
        tokens.push((at, token));
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

/// The content of a quoted text and its length with quotes; a doubled quote stands for itself.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((i, c)) = chars.next() {
        if c != quote {
            content.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return Some((content, i + quote.len_utf8()));
        }
    }
    None
}

/// Parentheses and `not` nest; this keeps a hostile text from exhausting the stack.
const MAX_DEPTH: usize = 100;

struct Parser<'a> {
    tokens: &'a [(usize, Token)],
    at: usize,
    text: &'a str,
    schema: &'a Schema,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, t)| t)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, expected: &str) -> Error {
        let place = match self.tokens.get(self.at) {
            Some((at, _)) => format!("at position {at}"),
            None => "at the end".to_string(),
        };
        Error::request("bad_predicate", format!("expected {expected} {place} of {:?}", self.text))
            .hint("examples: price >= 44000 and sym = \"BTC\"; name in (\"a\", \"b\"); note is not null")
    }

    fn or(&mut self) -> Result<Predicate> {
        let mut any = vec![self.and()?];
        while self.eat_word("or") {
            any.push(self.and()?);
        }
        Ok(if any.len() == 1 { any.swap_remove(0) } else { Predicate::Or(any) })
    }

    fn and(&mut self) -> Result<Predicate> {
        let mut all = vec![self.not()?];
        while self.eat_word("and") {
            all.push(self.not()?);
        }
        Ok(if all.len() == 1 { all.swap_remove(0) } else { Predicate::And(all) })
    }

    fn not(&mut self) -> Result<Predicate> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::limit("a predicate's nesting", self.depth, MAX_DEPTH));
        }
        let predicate = if self.eat_word("not") {
            Predicate::Not(Box::new(self.not()?))
        } else if self.eat_symbol("(") {
            let inner = self.or()?;
            if !self.eat_symbol(")") {
                return Err(self.unexpected("\")\""));
            }
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(predicate)
    }

    fn test(&mut self) -> Result<Predicate> {
        let name = match self.next() {
            Some(Token::Word(name) | Token::Column(name)) => name,
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a column name"));
            }
        };
        let column = column_index(self.schema, &name)?;
        if self.eat_word("is") {
            let negated = self.eat_word("not");
            if !self.eat_word("null") {
                return Err(self.unexpected("\"null\""));
            }
            return Ok(negate_if(negated, Predicate::IsNull { column }));
        }
        let negated = self.eat_word("not");
        if self.eat_word("in") {
            let values = self.list()?;
            return Ok(negate_if(negated, Predicate::In { column, values }));
        }
        if self.eat_word("between") {
            let low = self.literal()?;
            if !self.eat_word("and") {
                return Err(self.unexpected("\"and\""));
            }
            let high = self.literal()?;
            let both = vec![Predicate::compare(column, Op::Ge, low), Predicate::compare(column, Op::Le, high)];
            return Ok(negate_if(negated, Predicate::And(both)));
        }
        if negated {
            return Err(self.unexpected("\"in\" or \"between\""));
        }
        let op = match self.next() {
            Some(Token::Symbol("=" | "==")) => Op::Eq,
            Some(Token::Symbol("!=" | "<>")) => Op::Ne,
            Some(Token::Symbol("<")) => Op::Lt,
            Some(Token::Symbol("<=")) => Op::Le,
            Some(Token::Symbol(">")) => Op::Gt,
            Some(Token::Symbol(">=")) => Op::Ge,
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a comparison such as = or <="));
            }
        };
        Ok(Predicate::compare(column, op, self.literal()?))
    }

    fn list(&mut self) -> Result<Vec<Value>> {
        if !self.eat_symbol("(") {
            return Err(self.unexpected("\"(\""));
        }
        let mut values = vec![self.literal()?];
        while self.eat_symbol(",") {
            values.push(self.literal()?);
        }
        if !self.eat_symbol(")") {
            return Err(self.unexpected("\",\" or \")\""));
        }
        Ok(values)
    }

    fn literal(&mut self) -> Result<Value> {
        let negative = self.eat_symbol("-");
        let value = match self.next() {
            Some(Token::Number(digits)) => number(&digits, negative),
            Some(Token::Text(text)) if !negative => Some(Value::Text(text)),
            Some(Token::Word(word)) => match word.to_ascii_lowercase().as_str() {
                "true" if !negative => Some(Value::Bool(true)),
                "false" if !negative => Some(Value::Bool(false)),
                "null" if !negative => Some(Value::Null),
                "inf" | "infinity" => Some(Value::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY })),
                "nan" if !negative => Some(Value::Float(f64::NAN)),
                _ => None,
            },
            _ => None,
        };
        value.ok_or_else(|| {
            self.at -= 1;
            self.unexpected("a number, a text in quotes, true, false or null")
        })
    }
}

fn number(digits: &str, negative: bool) -> Option<Value> {
    let text = if negative { format!("-{digits}") } else { digits.to_string() };
    match text.parse::<i128>() {
        Ok(int) => Some(Value::Int(int)),
        Err(_) => Decimal::parse(&text).map(Value::Decimal),
    }
}

fn negate_if(negated: bool, predicate: Predicate) -> Predicate {
    if negated { Predicate::Not(Box::new(predicate)) } else { predicate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field};

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("price", DataType::Float64, true),
            Field::new("sym", DataType::Utf8, true),
            Field::new("odd name", DataType::Utf8, true),
        ])
    }

    fn parse(text: &str) -> Result<Predicate> {
        Predicate::parse(text, &schema())
    }

    #[test]
    fn precedence_and_forms() {
        let a = || Predicate::compare(0, Op::Ge, Value::Int(-5));
        let b = || Predicate::compare(1, Op::Eq, Value::Text("B\"C".into()));
        let c = || Predicate::Not(Box::new(Predicate::IsNull { column: 2 }));
        let expected = Predicate::Or(vec![a(), Predicate::And(vec![b(), c()])]);
        assert_eq!(parse("price >= -5 OR sym = \"B\"\"C\" and `odd name` is not null").unwrap(), expected);
        let grouped = Predicate::And(vec![Predicate::Or(vec![a(), b()]), c()]);
        assert_eq!(parse("(price>=-5 or sym='B\"C') and not `odd name` is null").unwrap(), grouped);
        assert_eq!(
            parse("price between 1e3 and 2.5").unwrap(),
            Predicate::And(vec![
                Predicate::compare(0, Op::Ge, Value::Decimal(Decimal::parse("1000").unwrap())),
                Predicate::compare(0, Op::Le, Value::Decimal(Decimal::parse("2.5").unwrap())),
            ])
        );
        assert_eq!(
            parse("sym not in ('x', null)").unwrap(),
            Predicate::Not(Box::new(Predicate::In { column: 1, values: vec![Value::Text("x".into()), Value::Null] }))
        );
    }

    #[test]
    fn mistakes_are_located() {
        for (text, expected) in [
            ("price >=", "expected a number, a text in quotes, true, false or null at the end"),
            ("price > 1 sym", "expected the end at position 10"),
            ("'x' = 1", "expected a column name at position 0"),
            ("sym = \"x", "is never closed"),
            ("(price > 1", "expected \")\" at the end"),
            ("price ! 1", "unexpected '!' at position 6"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
        assert_eq!(parse("nope = 1").unwrap_err().code(), "no_such_column");
        let deep = format!("{}price = 1", "not ".repeat(5000));
        assert_eq!(parse(&deep).unwrap_err().code(), "limit_exceeded");
    }
}
