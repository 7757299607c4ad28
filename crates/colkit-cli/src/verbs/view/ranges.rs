//! Which bytes of a file a request wants: the header `Range`.

use std::ops::Range;

/// What a request wants of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of it.
    All,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Bytes that it does not have.
    Beyond,
}

/// What the value of `Range` asks for of a file with so many bytes. As the standard allows, several ranges and what cannot be
/// understood are answered with the whole file.
pub fn wanted(header: &str, size: u64) -> Wanted {
    let Some((first, last)) = header.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Wanted::All;
    };
    let number = |text: &str| match text.bytes().all(|b| b.is_ascii_digit()) {
        // Too many digits mean beyond the end.
        true if !text.is_empty() => Some(text.parse::<u64>().unwrap_or(u64::MAX)),
        _ => None,
    };
    let range = match (number(first.trim()), last.trim()) {
        (None, last) if first.trim().is_empty() => match number(last) {
            Some(count) => size.saturating_sub(count)..size,
            None => return Wanted::All,
        },
        (Some(first), "") => first..size,
        (Some(first), last) => match number(last) {
            Some(last) if last >= first => first..last.saturating_add(1).min(size),
            _ => return Wanted::All,
        },
        (None, _) => return Wanted::All,
    };
    if range.start < range.end { Wanted::Part(range) } else { Wanted::Beyond }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_standard() {
        let cases = [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=10-19", Wanted::Part(10..20)),
            ("bytes=90-", Wanted::Part(90..100)),
            ("bytes=90-1000", Wanted::Part(90..100)),
            ("bytes=90-99999999999999999999999", Wanted::Part(90..100)),
            ("bytes=-10", Wanted::Part(90..100)),
            ("bytes=-1000", Wanted::Part(0..100)),
            ("bytes=-0", Wanted::Beyond),
            ("bytes=100-", Wanted::Beyond),
            ("bytes=100-200", Wanted::Beyond),
            ("bytes=99999999999999999999999-", Wanted::Beyond),
            ("bytes=0-1,5-6", Wanted::All),
            ("bytes=5-1", Wanted::All),
            ("bytes=a-b", Wanted::All),
            ("bytes=-", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("rows=1-2", Wanted::All),
            ("", Wanted::All),
        ];
        for (header, expected) in cases {
            assert_eq!(wanted(header, 100), expected, "{header}");
        }
        assert_eq!(wanted("bytes=0-", 0), Wanted::Beyond);
    }
}
