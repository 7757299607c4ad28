//! Paths into JSON: a key, a number, `$.a.b[0]` or `/a/b/0`.

use super::scan::{element, member};

/// The steps from the outside in.
#[derive(Debug, PartialEq)]
pub(super) struct Path(Vec<Step>);

#[derive(Debug, PartialEq)]
enum Step {
    Key(String),
    /// From the end if negative.
    Index(i64),
    /// A part of a JSON pointer, which is either.
    Part(String),
}

impl Path {
    /// What was typed. That which is no path is a key.
    pub fn parse(text: &str) -> Self {
        if let Some(steps) = text.strip_prefix('$').and_then(json_path) {
            return Path(steps);
        }
        if let Some(pointer) = text.strip_prefix('/') {
            let part = |p: &str| Step::Part(p.replace("~1", "/").replace("~0", "~"));
            return Path(pointer.split('/').map(part).collect());
        }
        Path(vec![text.parse().map_or_else(|_| Step::Key(text.to_owned()), |_: i64| Step::Part(text.to_owned()))])
    }

    /// What it leads to in a text that is JSON.
    pub fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.0.iter().try_fold(text.trim(), |value, step| match step {
            Step::Key(key) => member(value, key),
            Step::Index(index) => element(value, *index),
            Step::Part(part) if value.starts_with('[') => element(value, part.parse().ok()?),
            Step::Part(part) => member(value, part),
        })
    }
}

/// The steps behind `$`; `None` if it is not a path.
fn json_path(mut rest: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (index, after) = inside.split_once(']')?;
            let quoted = index.strip_prefix(['\'', '"']).and_then(|i| i.strip_suffix(['\'', '"']));
            steps.push(match quoted {
                Some(key) => Step::Key(key.to_owned()),
                // SQLite counts from the end by #-1.
                None => Step::Index(index.trim().trim_start_matches('#').parse().ok()?),
            });
            rest = after;
        } else if let Some(quoted) = rest.strip_prefix(".\"") {
            let (key, after) = quoted.split_once('"')?;
            steps.push(Step::Key(key.to_owned()));
            rest = after;
        } else {
            let name = rest.strip_prefix('.')?;
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (key, after) = name.split_at(end);
            if key.is_empty() || key == "*" {
                return None;
            }
            steps.push(Step::Key(key.to_owned()));
            rest = after;
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_what_is_written() {
        let text = r#" {"a": {"b": [10, {"c": "x"}, null]}, "$.a": 1, "x y": true, "7": "seven"} "#;
        let find = |path: &str| Path::parse(path).find(text);
        assert_eq!(find("$.a.b[0]"), Some("10"));
        assert_eq!(find("$.a.b[1].c"), Some("\"x\""));
        assert_eq!(find("$.a.b[-1]"), Some("null"));
        assert_eq!(find("$.a.b[#-2]"), Some(r#"{"c": "x"}"#));
        assert_eq!(find("$.a.b[9]"), None);
        assert_eq!(find("$.\"x y\""), Some("true"));
        assert_eq!(find("$['x y']"), Some("true"));
        assert_eq!(find("/a/b/1/c"), Some("\"x\""));
        assert_eq!(find("7"), Some("\"seven\""));
        assert_eq!(find("a"), Some(r#"{"b": [10, {"c": "x"}, null]}"#));
        assert_eq!(find("nothing"), None);
        assert_eq!(find("$"), Some(text.trim()));
    }
}
