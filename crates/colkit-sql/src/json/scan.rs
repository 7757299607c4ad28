//! Finds values in a text that is known to be JSON, without making anything of the rest.

use serde::de::IgnoredAny;

/// Says what is wrong with a text that is not JSON.
pub(super) fn check(text: &str) -> Result<(), String> {
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|e| e.to_string())
}

/// The value of a key of an object. The last one counts if there are several.
pub(super) fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = object.strip_prefix('{')?.trim_start();
    let mut found = None;
    while rest.starts_with('"') {
        let (name, after) = split_value(rest)?;
        let (value, after) = split_value(after.trim_start().strip_prefix(':')?.trim_start())?;
        let same =
            name.get(1..name.len() - 1) == Some(key) || (name.contains('\\') && unquoted(name).as_deref() == Some(key));
        if same {
            found = Some(value);
        }
        rest = next(after);
    }
    found
}

/// An element of an array, counted from the end if the number is negative.
pub(super) fn element(array: &str, index: i64) -> Option<&str> {
    let index = match index {
        0.. => usize::try_from(index).ok()?,
        _ => usize::try_from(element_count(array)?.checked_add(index)?).ok()?,
    };
    elements(array)?.nth(index)
}

/// How many elements an array has; `None` if it is none.
pub(super) fn element_count(array: &str) -> Option<i64> {
    i64::try_from(elements(array)?.count()).ok()
}

fn elements(array: &str) -> Option<impl Iterator<Item = &str>> {
    let mut rest = array.strip_prefix('[')?.trim_start();
    Some(std::iter::from_fn(move || {
        if rest.is_empty() || rest.starts_with(']') {
            return None;
        }
        let (value, after) = split_value(rest)?;
        rest = next(after);
        Some(value)
    }))
}

/// What follows a comma.
fn next(rest: &str) -> &str {
    let rest = rest.trim_start();
    rest.strip_prefix(',').map_or(rest, str::trim_start)
}

/// The value that a text begins with, and what follows it.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    for (place, byte) in text.bytes().enumerate() {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    in_text = false;
                    if depth == 0 {
                        return text.split_at_checked(place + 1);
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => {
                return text.split_at_checked(place).map(|(v, rest)| (v.trim_end(), rest));
            }
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return text.split_at_checked(place + 1);
                }
            }
            _ => {}
        }
    }
    Some((text.trim_end(), ""))
}

/// A value as text: without quotes if it is text, and nothing if it is null.
pub(super) fn unquoted(value: &str) -> Option<String> {
    match value.as_bytes().first() {
        Some(b'"') => serde_json::from_str(value).ok(),
        Some(b'n') => None,
        _ => Some(value.to_owned()),
    }
}

/// What kind of value it is, in DuckDB's words.
pub(super) fn kind(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'{') => "OBJECT",
        Some(b'[') => "ARRAY",
        Some(b'"') => "VARCHAR",
        Some(b't' | b'f') => "BOOLEAN",
        Some(b'n') | None => "NULL",
        _ if value.contains(['.', 'e', 'E']) => "DOUBLE",
        Some(b'-') => "BIGINT",
        _ => "UBIGINT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_out_as_they_are() {
        let text = r#"{"a\"b": [1, "x,]\"", {"k": {}}], "n": null, "a": 1, "a": 2}"#;
        assert_eq!(member(text, "a\"b"), Some(r#"[1, "x,]\"", {"k": {}}]"#));
        assert_eq!(member(text, "n"), Some("null"));
        assert_eq!(member(text, "a"), Some("2"));
        assert_eq!(member("[1]", "a"), None);
        let list = member(text, "a\"b").unwrap();
        assert_eq!(element(list, 1).and_then(unquoted).as_deref(), Some("x,]\""));
        assert_eq!(element(list, -1), Some(r#"{"k": {}}"#));
        assert_eq!(element(list, -9), None);
        assert_eq!(element_count(list), Some(3));
        assert_eq!(element_count("[]"), Some(0));
        assert_eq!(element_count("{}"), None);
        assert!(check("{\"a\":").is_err() && check(text).is_ok() && check("1 2").is_err());
    }

    #[test]
    fn deep_nesting_is_no_trouble() {
        let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let _ = check(&text);
        assert!(element(&text, 0).is_some());
    }
}
