//! The language of `select`, from text to items.
//!
//! ```text
//! list   = item { "," item }
//! item   = "*" [ "except" "(" name { "," name } ")" ]
//!        | "-" name
//!        | name [ "::" type ] [ "as" name ]
//! name   = letters, digits, _ and .   |   "quoted"   |   `quoted`   |   #position
//! ```

use crate::ColumnName;
use crate::type_name::parse_type;
use arrow::datatypes::DataType;
use colkit_core::{Error, Result};

/// One item of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// All columns but these.
    All(Vec<ColumnName>),
    /// Not this column.
    Without(ColumnName),
    /// This column, as another type or under another name.
    Column { column: ColumnName, to: Option<DataType>, name: Option<String> },
}

/// The items of a list.
pub(super) fn parse(text: &str) -> Result<Vec<Item>> {
    let mut rest = Rest { text, at: 0 };
    let mut items = vec![item(&mut rest)?];
    while rest.take(",") {
        items.push(item(&mut rest)?);
    }
    rest.skip_space();
    if rest.left().is_empty() { Ok(items) } else { Err(rest.expected("a comma or the end")) }
}

fn item(rest: &mut Rest<'_>) -> Result<Item> {
    if rest.take("*") {
        let mut except = Vec::new();
        if rest.take_word("except") {
            if !rest.take("(") {
                return Err(rest.expected("( after except"));
            }
            except.push(rest.column()?);
            while rest.take(",") {
                except.push(rest.column()?);
            }
            if !rest.take(")") {
                return Err(rest.expected("a closing )"));
            }
        }
        return Ok(Item::All(except));
    }
    if rest.take("-") {
        return Ok(Item::Without(rest.column()?));
    }
    let column = rest.column()?;
    let to = if rest.take("::") { Some(rest.data_type()?) } else { None };
    let name = if rest.take_word("as") {
        Some(match rest.column()? {
            ColumnName::Name(name) => name,
            position @ ColumnName::Position(_) => return Err(rest.expected(&format!("a name, not {position},"))),
        })
    } else {
        None
    };
    Ok(Item::Column { column, to, name })
}

/// What is left of the text.
struct Rest<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Rest<'a> {
    fn left(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        self.at += self.left().len() - self.left().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        let there = self.left().starts_with(token);
        if there {
            self.at += token.len();
        }
        there
    }

    /// A word in any case, with something else after it.
    fn take_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let there = self.left().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let ends = !self.left().get(word.len()..).is_some_and(|more| more.starts_with(is_name_character));
        if there && ends {
            self.at += word.len();
        }
        there && ends
    }

    fn column(&mut self) -> Result<ColumnName> {
        self.skip_space();
        for quote in ['"', '`'] {
            if let Some(quoted) = self.left().strip_prefix(quote) {
                return self.quoted(quoted, quote).map(ColumnName::Name);
            }
        }
        let left = self.left();
        let end = left.find(|c| !is_name_character(c)).unwrap_or(left.len());
        let word = left.get(..end).unwrap_or_default();
        if word.is_empty() {
            return Err(self.expected("a column"));
        }
        self.at += end;
        match word.strip_prefix('#') {
            None => Ok(ColumnName::Name(word.into())),
            Some(position) => {
                position.parse().map(ColumnName::Position).map_err(|_| self.expected("a position such as #3"))
            }
        }
    }

    /// A quoted name; two quotes in it stand for one.
    fn quoted(&mut self, text: &str, quote: char) -> Result<String> {
        let mut name = String::new();
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            if c != quote {
                name.push(c);
            } else if characters.next_if(|(_, next)| *next == quote).is_some() {
                name.push(quote);
            } else {
                // The opening quote, what was inside, and the closing one.
                self.at += at + 2;
                return Ok(name);
            }
        }
        Err(self.expected("a closing quote"))
    }

    /// A type such as `int32`, `decimal(10, 2)` or `timestamp[us, UTC]`.
    fn data_type(&mut self) -> Result<DataType> {
        self.skip_space();
        let left = self.left();
        let mut depth = 0i32;
        let end = left.find(|c: char| match c {
            '(' | '[' => {
                depth += 1;
                false
            }
            ')' | ']' if depth > 0 => {
                depth -= 1;
                false
            }
            _ => depth == 0 && (c == ',' || c == ')' || c.is_whitespace()),
        });
        let word = left.get(..end.unwrap_or(left.len())).unwrap_or_default();
        self.at += word.len();
        parse_type(word)
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.left().trim_start() {
            "" => "the end".to_owned(),
            more => format!("{more:?}"),
        };
        Error::request("bad_select", format!("expected {what} at character {}, found {found}", self.at + 1))
            .hint("write columns such as: a, b as c, d::date, -e or * except (x, y)")
    }
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, to: Option<DataType>, new: Option<&str>) -> Item {
        Item::Column { column: name.into(), to, name: new.map(Into::into) }
    }

    #[test]
    fn lists_are_read() {
        let items =
            parse("a, b as c, d::date, e.f::decimal(10, 2) AS g,-h , `x y`, \"say \"\"x\"\"\" as `as`").unwrap();
        let expected = [
            column("a", None, None),
            column("b", None, Some("c")),
            column("d", Some(DataType::Date32), None),
            column("e.f", Some(DataType::Decimal128(10, 2)), Some("g")),
            Item::Without("h".into()),
            column("x y", None, None),
            column("say \"x\"", None, Some("as")),
        ];
        assert_eq!(items, expected);
        let all = parse("* except (x, y), #3").unwrap();
        let position = Item::Column { column: ColumnName::Position(3), to: None, name: None };
        assert_eq!(all, [Item::All(vec!["x".into(), "y".into()]), position]);
        assert_eq!(
            parse("asset, exceptional").unwrap(),
            [column("asset", None, None), column("exceptional", None, None)]
        );
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for bad in ["", "a,", "a b", "a as", "a::", "* except", "* except (a", "a::nix", "\"a", "-", "#x", "a as #1"] {
            let code = parse(bad).unwrap_err().code();
            assert!(["bad_select", "no_such_type"].contains(&code), "{bad}: {code}");
        }
        let message = parse("a, b c").unwrap_err().message().to_string();
        assert_eq!(message, "expected a comma or the end at character 6, found \"c\"");
    }
}
