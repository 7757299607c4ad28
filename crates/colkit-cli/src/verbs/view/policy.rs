//! Headers that every answer has: what the page may do is what it says itself, and it may talk to this server only.

use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

/// What is allowed to an answer that is no page.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Adds the headers to an answer.
pub fn add(headers: &mut HeaderMap, page: bool) {
    let policy = if page { of_page(super::PAGE) } else { NOTHING.to_owned() };
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(NOTHING)));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
}

/// The policy that the page has in its head, without its connections to elsewhere.
fn of_page(page: &str) -> String {
    let own =
        page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").and_then(|(_, rest)| rest.split_once('"'));
    let Some((own, _)) = own else { return NOTHING.to_owned() };
    let name = |directive: &&str| directive.split_whitespace().next().map(str::to_owned);
    let ours = ["default-src 'none'", "connect-src 'self' blob: data:", "frame-ancestors 'none'"];
    let replaced: Vec<_> = ours.iter().map(name).collect();
    let kept = own.split(';').map(str::trim).filter(|d| !d.is_empty() && !replaced.contains(&name(d)));
    ours.into_iter().chain(kept).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_talks_to_its_server_only() {
        let page = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src *; connect-src https: blob:; script-src 'sha256-x='\">";
        let expected =
            "default-src 'none'; connect-src 'self' blob: data:; frame-ancestors 'none'; script-src 'sha256-x='";
        assert_eq!(of_page(page), expected);
        assert_eq!(of_page("<p>"), NOTHING);
        assert!(of_page(super::super::PAGE).contains("script-src "), "the real page says what it runs");
    }
}
