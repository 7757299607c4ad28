//! Servers that misbehave as real ones do: objects that change, wrong sizes, responses that never end.

use super::{Result, Server};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// An object as it is served to one request.
#[derive(Clone, Default)]
pub struct Object {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Its tag, in quotes.
    pub e_tag: Option<String>,
    /// When it was written, as HTTP says it.
    pub modified: Option<String>,
    /// The size that is told when only that is asked for, if it is another one.
    pub told_size: Option<usize>,
    /// Whether a tag that the client expects is compared.
    pub compares: bool,
    /// Whether it comes byte by byte, one in a second.
    pub drips: bool,
}

type Serve = Arc<dyn Fn(usize) -> Object + Send + Sync>;

impl Server {
    /// A server that has one object under every name. It is asked for anew for each request for bytes, counted from 0.
    pub fn of_object(object: impl Fn(usize) -> Object + Send + Sync + 'static) -> Result<Self> {
        let served: (Serve, Arc<AtomicUsize>) = (Arc::new(object), Arc::default());
        Self::start(Router::new().fallback(answer).with_state(served))
    }

    /// An S3-compatible server whose lists of objects never end.
    pub fn of_endless_lists() -> Result<Self> {
        Self::start(Router::new().fallback(page).with_state(Arc::new(AtomicUsize::new(0))))
    }
}

async fn answer(State((serve, asked)): State<(Serve, Arc<AtomicUsize>)>, request: Request) -> Response {
    let is_head = request.method() == Method::HEAD;
    let number = if is_head { asked.load(Ordering::SeqCst) } else { asked.fetch_add(1, Ordering::SeqCst) };
    let object = serve(number);
    let sent = |name| request.headers().get(name).and_then(|v| v.to_str().ok());
    if object.compares && sent(header::IF_MATCH).is_some_and(|tag| Some(tag) != object.e_tag.as_deref()) {
        return StatusCode::PRECONDITION_FAILED.into_response();
    }
    let mut headers = HeaderMap::new();
    let told = [(header::ETAG, &object.e_tag), (header::LAST_MODIFIED, &object.modified)];
    for (name, value) in told.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        if let Ok(value) = value.parse() {
            headers.insert(name, value);
        }
    }
    if is_head {
        let size = object.told_size.unwrap_or(object.bytes.len());
        headers.insert(header::CONTENT_LENGTH, size.into());
        return (headers, Body::empty()).into_response();
    }
    let Some((first, last)) = sent(header::RANGE).and_then(|r| r.strip_prefix("bytes=")?.split_once('-')) else {
        return (headers, object.bytes).into_response();
    };
    let (first, last) = (first.parse().unwrap_or(0), last.parse().unwrap_or(usize::MAX));
    let last = last.min(object.bytes.len().saturating_sub(1));
    let Some(part) = object.bytes.get(first..=last) else {
        return StatusCode::RANGE_NOT_SATISFIABLE.into_response();
    };
    let range = format!("bytes {first}-{last}/{}", object.bytes.len());
    if let Ok(range) = range.parse() {
        headers.insert(header::CONTENT_RANGE, range);
    }
    headers.insert(header::CONTENT_LENGTH, part.len().into());
    let body = if object.drips { dripping(part.to_vec()) } else { Body::from(part.to_vec()) };
    (StatusCode::PARTIAL_CONTENT, headers, body).into_response()
}

fn dripping(bytes: Vec<u8>) -> Body {
    let next = |mut rest: std::vec::IntoIter<u8>| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let byte = rest.next()?;
        Some((Ok::<Bytes, Infallible>(Bytes::from(vec![byte])), rest))
    };
    Body::from_stream(stream::unfold(bytes.into_iter(), next))
}

/// A page of a list that says that there are more.
async fn page(State(number): State<Arc<AtomicUsize>>) -> Response {
    // A real one takes its time, too.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let number = number.fetch_add(1, Ordering::SeqCst);
    let object = format!(
        "<Contents><Key>all/{number:09}.csv</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>\
         <ETag>&quot;{number}&quot;</ETag><Size>8</Size><StorageClass>STANDARD</StorageClass></Contents>"
    );
    let page = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>bucket</Name><Prefix>all/</Prefix>\
         <KeyCount>1</KeyCount><MaxKeys>1</MaxKeys><IsTruncated>true</IsTruncated>\
         <NextContinuationToken>{number}</NextContinuationToken>{object}</ListBucketResult>"
    );
    ([(header::CONTENT_TYPE, "application/xml")], page).into_response()
}
