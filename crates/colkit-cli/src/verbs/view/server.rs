//! Answers the requests of the page, on this machine only.
//!
//! ```text
//! GET  /TOKEN/                page
//! GET  /TOKEN/colkit.wasm.gz  module
//! GET  /TOKEN/api/files       names, addresses and sizes of the files; whether there is SQL
//! GET  /TOKEN/files/N         bytes of a file, in ranges
//! POST /TOKEN/api/sql         a query; its rows as an Arrow IPC stream
//! POST /TOKEN/api/plan        a query; its plan, and what it read if it ran
//! GET  /open/CODE             the way to the page for the browser that is opened, once
//! ```
//!
//! Other programs and pages of this machine can reach the port too. So an answer is given only to who knows the secret token, who calls
//! the server by a name of this machine (a page of elsewhere whose name was pointed here does not), and who is no page of elsewhere.

use super::given::{Given, GivenFile};
use super::ranges::{Wanted, wanted};
use super::{MODULE, PAGE, browser, policy, token};
use crate::args::ViewArgs;
use crate::{Io, Outcome, report};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HOST, HeaderMap, HeaderName, IF_RANGE, LOCATION,
    ORIGIN, RANGE,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use colkit::{ByteRange, Error, Result, Source};
use serde_json::json;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Bytes of a file that are read, and held, at a time for a request.
const CHUNK: u64 = 4 << 20;

/// Bytes of a query at most.
#[cfg(feature = "sql")]
const LONGEST_QUERY: usize = 1 << 20;

const HTML: &str = "text/html; charset=windows-1252";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const BYTES: &str = "application/octet-stream";
#[cfg(feature = "sql")]
const ARROW: &str = "application/vnd.apache.arrow.stream";

/// What is served, and to whom.
struct Server {
    port: u16,
    token: String,
    /// What brings a browser to the page once: its arguments can be seen by other users of this machine, the token must not.
    code: Mutex<Option<String>>,
    files: Vec<GivenFile>,
    #[cfg(feature = "sql")]
    queries: Arc<super::queries::Queries>,
}

pub fn run(args: &ViewArgs, io: &mut Io) -> Result<Outcome> {
    let given = Given::new(args, io)?;
    #[cfg(feature = "sql")]
    let queries = Arc::new(super::queries::Queries::start(args, given.tables)?);
    let wanted = args.port.unwrap_or(0);
    let failed = |e: std::io::Error| Error::from(e).part(format!("listening at port {wanted}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).map_err(failed)?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let (token, code) = (token::new()?, token::new()?);
    let (url, once) = (format!("http://127.0.0.1:{port}/{token}/"), format!("http://127.0.0.1:{port}/open/{code}"));
    let server = Server {
        port,
        token,
        code: Mutex::new(Some(code)),
        files: given.files,
        #[cfg(feature = "sql")]
        queries,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.spawn(serve(listener, Arc::new(server)));
    let pressed = listen_to_ctrl_c();
    tell(&url, &once, args, io)?;
    let ended = runtime.block_on(async {
        loop {
            tokio::select! {
                () = pressed.notified() => return Ok(Outcome::Interrupted),
                () = tokio::time::sleep(Duration::from_millis(200)) => io.stop.check()?,
            }
        }
    });
    // What is still being read or sent is left.
    runtime.shutdown_background();
    ended
}

/// Prints the URL and opens the browser.
fn tell(url: &str, once: &str, args: &ViewArgs, io: &mut Io) -> Result<()> {
    if args.script.json {
        writeln!(io.stdout, "{}", json!({ "url": url }))?;
    } else {
        writeln!(io.stdout, "{url}")?;
    }
    io.flush()?;
    let opened = !args.no_open && browser::is_there() && browser::open(once);
    if !args.script.json {
        let how = if opened { "opened in your browser" } else { "open this URL in a browser" };
        let sql = if cfg!(feature = "sql") { "" } else { "; this build has no SQL engine" };
        writeln!(io.stderr, "{how}{sql}; Ctrl-C ends it")?;
    }
    Ok(())
}

/// Told when Ctrl-C is pressed.
fn listen_to_ctrl_c() -> Arc<Notify> {
    static PRESSED: OnceLock<Arc<Notify>> = OnceLock::new();
    let pressed = PRESSED.get_or_init(|| {
        let pressed = Arc::new(Notify::new());
        let telling = pressed.clone();
        // Where that cannot be done, it ends the process as usual.
        let _ = ctrlc::set_handler(move || telling.notify_one());
        pressed
    });
    pressed.clone()
}

async fn serve(listener: TcpListener, server: Arc<Server>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let router = axum::Router::new().fallback(answer).with_state(server);
    let _ = axum::serve(listener, router).await;
}

async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    let mut answer = server.route(request).await;
    let page = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == HTML);
    policy::add(answer.headers_mut(), page);
    answer
}

impl Server {
    async fn route(self: &Arc<Self>, request: Request) -> Response {
        let headers = request.headers();
        if !self.is_called_by_name(headers) {
            return refused(StatusCode::FORBIDDEN, "this server is called by the names of this machine only");
        }
        if !self.is_asked_by_own_page(headers) {
            return refused(StatusCode::FORBIDDEN, "this server answers its own page only");
        }
        let path = request.uri().path().to_owned();
        let (first, rest) = path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
        if first == "open" && self.opens(rest) {
            return moved(&format!("/{}/", self.token));
        }
        if !token::is_same(first, &self.token) {
            return refused(StatusCode::NOT_FOUND, "there is nothing here");
        }
        let head = request.method() == Method::HEAD;
        let reads = head || request.method() == Method::GET;
        match (rest, rest.strip_prefix("files/")) {
            ("", _) if !path.ends_with('/') => moved(&format!("{path}/")),
            ("api/sql" | "api/plan", _) if request.method() != Method::POST => not_that_way("POST"),
            ("api/sql", _) => self.sql(request).await,
            ("api/plan", _) => self.plan(request).await,
            ("" | "colkit.wasm.gz" | "api/files", _) | (_, Some(_)) if !reads => not_that_way("GET, HEAD"),
            ("", _) => whole(HTML, PAGE.into(), head),
            ("colkit.wasm.gz", _) => whole("application/gzip", Bytes::from_static(MODULE), head),
            ("api/files", _) => whole(JSON, self.list().to_string().into(), head),
            (_, Some(number)) => match number.parse().ok().and_then(|number: usize| self.files.get(number)) {
                Some(file) => part(&file.bytes, request.headers(), head).await,
                None => refused(StatusCode::NOT_FOUND, "there is no such file"),
            },
            _ => refused(StatusCode::NOT_FOUND, "there is nothing here"),
        }
    }

    /// Whether the request names this machine. A page of elsewhere whose name was made to lead here names its own.
    fn is_called_by_name(&self, headers: &HeaderMap) -> bool {
        let Some(Ok(host)) = headers.get(HOST).map(HeaderValue::to_str) else { return false };
        self.is_own(host) && headers.get_all(HOST).iter().count() == 1
    }

    /// Whether the request is from the page of this server or from no page.
    fn is_asked_by_own_page(&self, headers: &HeaderMap) -> bool {
        let own = |origin: &HeaderValue| {
            origin.to_str().ok().and_then(|o| o.strip_prefix("http://")).is_some_and(|host| self.is_own(host))
        };
        headers.get_all(ORIGIN).iter().all(own)
    }

    fn is_own(&self, host: &str) -> bool {
        let name = host.strip_suffix(&format!(":{}", self.port));
        name.is_some_and(|name| ["127.0.0.1", "localhost", "[::1]"].iter().any(|own| own.eq_ignore_ascii_case(name)))
    }

    /// Whether this is the code for the browser, which then is used up.
    fn opens(&self, code: &str) -> bool {
        let mut left = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = left.as_ref().is_some_and(|known| token::is_same(known, code));
        if fits {
            *left = None;
        }
        fits
    }

    fn list(&self) -> serde_json::Value {
        let file = |(number, file): (usize, &GivenFile)| {
            let url = format!("/{}/files/{number}", self.token);
            json!({"name": file.name, "url": url, "bytes": file.bytes.size()})
        };
        let files: Vec<_> = self.files.iter().enumerate().map(file).collect();
        #[cfg(feature = "sql")]
        let list = json!({"files": files, "sql": true, "tables": self.queries.names()});
        #[cfg(not(feature = "sql"))]
        let list = json!({"files": files, "sql": false});
        list
    }

    #[cfg(feature = "sql")]
    async fn sql(&self, request: Request) -> Response {
        let text = match query(request).await {
            Ok(text) => text,
            Err(refusal) => return refusal,
        };
        let mut rows = self.queries.run(text);
        // What is wrong with most queries shows before the first rows.
        let first = match rows.recv().await {
            Some(Ok(first)) => first,
            Some(Err(error)) => return failed(StatusCode::BAD_REQUEST, &error),
            None => return failed(StatusCode::INTERNAL_SERVER_ERROR, &Error::panicked("a query")),
        };
        let rest = futures::stream::unfold(rows, |mut rows| async {
            let next = rows.recv().await?;
            Some((next.map_err(|error| report::sentence(&error)), rows))
        });
        let all = futures::StreamExt::chain(futures::stream::once(async { Ok(first) }), rest);
        response(StatusCode::OK, ARROW, Body::from_stream(all))
    }

    #[cfg(feature = "sql")]
    async fn plan(&self, request: Request) -> Response {
        let text = match query(request).await {
            Ok(text) => text,
            Err(refusal) => return refusal,
        };
        match self.queries.plan(text).await {
            Ok(plan) => whole(JSON, plan.to_string().into(), false),
            Err(error) => failed(StatusCode::BAD_REQUEST, &error),
        }
    }

    #[cfg(not(feature = "sql"))]
    async fn sql(&self, _: Request) -> Response {
        failed(StatusCode::BAD_REQUEST, &crate::engine::missing())
    }

    #[cfg(not(feature = "sql"))]
    async fn plan(&self, _: Request) -> Response {
        failed(StatusCode::BAD_REQUEST, &crate::engine::missing())
    }
}

/// The query that a request brings.
#[cfg(feature = "sql")]
async fn query(request: Request) -> std::result::Result<String, Response> {
    let body = axum::body::to_bytes(request.into_body(), LONGEST_QUERY).await;
    let body = body.map_err(|_| refused(StatusCode::PAYLOAD_TOO_LARGE, "the query is too long"))?;
    String::from_utf8(body.into()).map_err(|_| refused(StatusCode::BAD_REQUEST, "the query is not UTF-8"))
}

/// The bytes of a file that a request wants.
async fn part(bytes: &Arc<dyn Source>, headers: &HeaderMap, head: bool) -> Response {
    let size = bytes.size();
    // Files have no version that a condition could name: what is conditional gets all.
    let range = headers.get(RANGE).filter(|_| !headers.contains_key(IF_RANGE)).and_then(|r| r.to_str().ok());
    let (status, range) = match range.map_or(Wanted::All, |range| wanted(range, size)) {
        Wanted::All => (StatusCode::OK, 0..size),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Wanted::Beyond => {
            let answer = refused(StatusCode::RANGE_NOT_SATISFIABLE, "the file has no such bytes");
            return with(answer, CONTENT_RANGE, format!("bytes */{size}"));
        }
    };
    let length = range.end - range.start;
    let place = format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1));
    let body = match head {
        true => Ok(Body::empty()),
        false => stream(bytes.clone(), range).await,
    };
    let answer = match body {
        Ok(body) => with(response(status, BYTES, body), CONTENT_LENGTH, length.to_string()),
        Err(error) => return failed(StatusCode::INTERNAL_SERVER_ERROR, &error),
    };
    let answer = with(answer, ACCEPT_RANGES, "bytes".into());
    if status == StatusCode::PARTIAL_CONTENT { with(answer, CONTENT_RANGE, place) } else { answer }
}

/// These bytes, read as they are sent. An error in the first of them is known before anything is.
async fn stream(source: Arc<dyn Source>, range: Range<u64>) -> Result<Body> {
    let (first, next) = chunk(source.clone(), range.clone()).await?;
    if next == range.end {
        return Ok(first.into());
    }
    let rest = futures::stream::try_unfold(next, move |at| {
        let source = source.clone();
        async move {
            match at < range.end {
                true => chunk(source, at..range.end).await.map(Some).map_err(std::io::Error::other),
                false => Ok(None),
            }
        }
    });
    Ok(Body::from_stream(futures::StreamExt::chain(futures::stream::once(async { Ok(first) }), rest)))
}

/// The first bytes of a range, and where the next begin. Sources wait for disks and stores, which threads of their own do here.
async fn chunk(source: Arc<dyn Source>, range: Range<u64>) -> Result<(Bytes, u64)> {
    let end = range.end.min(range.start.saturating_add(CHUNK));
    let read = move || source.read(ByteRange::between(range.start, end));
    let bytes = tokio::task::spawn_blocking(read).await.map_err(|_| Error::panicked("reading"))??;
    Ok((bytes, end))
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

fn with(mut answer: Response, name: HeaderName, value: String) -> Response {
    if let Ok(value) = HeaderValue::try_from(value) {
        answer.headers_mut().insert(name, value);
    }
    answer
}

/// All of something small; for `HEAD` its length alone.
fn whole(kind: &'static str, body: Bytes, head: bool) -> Response {
    let length = body.len();
    let body = if head { Body::empty() } else { body.into() };
    with(response(StatusCode::OK, kind, body), CONTENT_LENGTH, length.to_string())
}

fn refused(status: StatusCode, why: &'static str) -> Response {
    response(status, TEXT, format!("{why}\n").into())
}

fn not_that_way(allowed: &'static str) -> Response {
    let answer = refused(StatusCode::METHOD_NOT_ALLOWED, "this cannot be asked for that way");
    with(answer, ALLOW, allowed.into())
}

fn moved(to: &str) -> Response {
    with(response(StatusCode::SEE_OTHER, TEXT, Body::empty()), LOCATION, to.into())
}

/// An error as the command prints it with `--json`.
fn failed(status: StatusCode, error: &Error) -> Response {
    response(status, JSON, report::document(error).into())
}
