//! `COPY t TO 'x.parquet' (FORMAT parquet, PARTITION_BY (year), FORCE)`: the options of other engines, as
//! `STORED AS parquet PARTITIONED BY (year) OPTIONS ('force' 'true')`.

use super::tokens::{at, is_word, word};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The statement with its options spelled as the parser knows them. What is no such list stays as it is.
pub(super) fn respelled(statement: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !is_word(statement.first(), "COPY") {
        return statement;
    }
    let Some(to) = statement.windows(2).rposition(|pair| {
        is_word(pair.first(), "TO") && matches!(pair.get(1).map(|t| &t.token), Some(Token::SingleQuotedString(_)))
    }) else {
        return statement;
    };
    let (before, rest) = statement.split_at(to + 2);
    let rest = if is_word(rest.first(), "WITH") { rest.get(1..).unwrap_or_default() } else { rest };
    let Some((open, inside)) = rest.split_first().filter(|(first, _)| first.token == Token::LParen) else {
        return statement;
    };
    let Some((items, after)) = items(inside) else { return statement };
    let mut out = before.to_vec();
    let mut options = Vec::new();
    for item in items {
        let Some((key, value)) = item.split_first() else { return statement };
        let value = match value.split_first() {
            Some((sign, value)) if sign.token == Token::Eq => value,
            _ => value,
        };
        if is_word(Some(key), "FORMAT")
            && let [format] = value
            && let Some(name) = text(&format.token)
        {
            out.extend([word(key, "STORED"), word(key, "AS"), at(format, Token::make_word(&name, Some('"')))]);
        } else if is_word(Some(key), "PARTITION_BY") {
            out.extend([word(key, "PARTITIONED"), word(key, "BY")]);
            if value.first().is_some_and(|t| t.token == Token::LParen) {
                out.extend(value.iter().cloned());
            } else {
                out.push(at(key, Token::LParen));
                out.extend(value.iter().cloned());
                out.push(at(key, Token::RParen));
            }
        } else {
            options.push((key.clone(), value.to_vec()));
        }
    }
    if !options.is_empty() {
        out.extend([word(open, "OPTIONS"), at(open, Token::LParen)]);
        for (number, (key, value)) in options.into_iter().enumerate() {
            if number > 0 {
                out.push(at(&key, Token::Comma));
            }
            let value = match value.as_slice() {
                [] => vec![at(&key, Token::SingleQuotedString("true".into()))],
                [one] => vec![at(one, text(&one.token).map_or(one.token.clone(), Token::SingleQuotedString))],
                // (a, b) is a list of names.
                [open, inside @ .., _] if open.token == Token::LParen => {
                    let names: Vec<String> = inside.iter().filter_map(|t| text(&t.token)).collect();
                    vec![at(open, Token::SingleQuotedString(names.join(",")))]
                }
                _ => value,
            };
            out.push(key);
            out.extend(value);
        }
        out.push(at(open, Token::RParen));
    }
    out.extend(after.iter().cloned());
    out
}

/// What stands between the commas up to the closing bracket, and what follows it.
fn items(tokens: &[TokenWithSpan]) -> Option<(Vec<&[TokenWithSpan]>, &[TokenWithSpan])> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0u32);
    for (place, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => {
                items.push(tokens.get(start..place)?);
                return Some((items, tokens.get(place + 1..)?));
            }
            Token::RParen => depth -= 1,
            Token::Comma if depth == 0 => {
                items.push(tokens.get(start..place)?);
                start = place + 1;
            }
            _ => {}
        }
    }
    None
}

/// The text of a value.
fn text(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) => Some(word.value.clone()),
        Token::SingleQuotedString(text) => Some(text.clone()),
        Token::Number(number, _) => Some(number.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn spelled(text: &str) -> String {
        let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location().unwrap();
        let tokens = super::super::respelled(tokens);
        let text = tokens.iter().map(|t| t.token.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(DFParser::parse_sql(&text).unwrap().len(), 1, "{text}");
        text
    }

    #[test]
    fn options_become_clauses() {
        assert_eq!(
            spelled("COPY t TO 'x' (FORMAT parquet, PARTITION_BY (a, b), COMPRESSION 'zstd', level 3, FORCE)"),
            "COPY t TO 'x' STORED AS \"parquet\" PARTITIONED BY ( a , b ) \
             OPTIONS ( COMPRESSION 'zstd' , level '3' , FORCE 'true' )"
        );
        assert_eq!(spelled("COPY (SELECT 1) TO 'x' WITH (FORMAT = csv)"), "COPY ( SELECT 1 ) TO 'x' STORED AS \"csv\"");
        assert_eq!(spelled("COPY t TO 'x.csv'"), "COPY t TO 'x.csv'");
        assert_eq!(spelled("COPY t TO 'x' (bloom (a, b))"), "COPY t TO 'x' OPTIONS ( bloom 'a,b' )");
    }
}
