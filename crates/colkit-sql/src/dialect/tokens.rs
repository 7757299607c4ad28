//! What the parser does not know, respelled in the tokens of a text.

use super::sample::MARK;
use super::{copy_options, summarize};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The same statements as the parser knows them.
pub(crate) fn respelled(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // Without whitespace, what belongs together is next to each other. Nothing after this needs it.
    let tokens = tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    let mut statements: Vec<Vec<TokenWithSpan>> = vec![Vec::new()];
    for token in tokens {
        let ends = token.token == Token::SemiColon;
        if let Some(statement) = statements.last_mut() {
            statement.push(token);
        }
        if ends {
            statements.push(Vec::new());
        }
    }
    statements
        .into_iter()
        .map(with_select)
        .map(using_sample)
        .map(summarize::respelled)
        .flat_map(copy_options::respelled)
        .collect()
}

/// Whether a token is this word, not in quotes.
pub(super) fn is_word(token: Option<&TokenWithSpan>, word: &str) -> bool {
    matches!(token, Some(TokenWithSpan { token: Token::Word(w), .. })
        if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

/// A token at the place of another.
pub(super) fn at(place: &TokenWithSpan, token: Token) -> TokenWithSpan {
    TokenWithSpan::new(token, place.span)
}

/// A word at the place of a token.
pub(super) fn word(place: &TokenWithSpan, word: &str) -> TokenWithSpan {
    at(place, Token::make_keyword(word))
}

/// `FROM t WHERE x` as `SELECT * FROM t WHERE x`.
fn with_select(statement: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let Some(first) = statement.first().filter(|first| is_word(Some(first), "FROM")) else { return statement };
    let mut depth = 0i64;
    let selects = statement.iter().any(|token| {
        depth += match token.token {
            Token::LParen => 1,
            Token::RParen => -1,
            _ => 0,
        };
        depth == 0 && is_word(Some(token), "SELECT")
    });
    if selects {
        return statement;
    }
    let begin = [word(first, "SELECT"), at(first, Token::Mul)];
    begin.into_iter().chain(statement).collect()
}

/// `USING SAMPLE 10%` as `QUALIFY using_sample(10, 'percent')`, which stands in the same place.
fn using_sample(statement: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(statement.len());
    let mut rest = statement.as_slice();
    while let [first, after @ ..] = rest {
        match sample(rest) {
            Some((clause, after)) => {
                out.extend(clause);
                rest = after;
            }
            None => {
                out.push(first.clone());
                rest = after;
            }
        }
    }
    out
}

/// The clause that the tokens begin with, and what follows.
fn sample(tokens: &[TokenWithSpan]) -> Option<(Vec<TokenWithSpan>, &[TokenWithSpan])> {
    let [using, sample, number, after @ ..] = tokens else { return None };
    if !is_word(Some(using), "USING") || !is_word(Some(sample), "SAMPLE") {
        return None;
    }
    let Token::Number(..) = &number.token else { return None };
    let (unit, after) = match after {
        [unit, after @ ..] if unit.token == Token::Mod || is_word(Some(unit), "PERCENT") => ("percent", after),
        [unit, after @ ..] if is_word(Some(unit), "ROWS") => ("rows", after),
        after => ("rows", after),
    };
    let clause = [
        Token::make_keyword("QUALIFY"),
        Token::make_word(MARK, None),
        Token::LParen,
        number.token.clone(),
        Token::Comma,
        Token::SingleQuotedString(unit.into()),
        Token::RParen,
    ];
    Some((clause.into_iter().map(|token| at(number, token)).collect(), after))
}
