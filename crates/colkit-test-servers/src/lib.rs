//! Loopback servers for tests: an S3-compatible one and an HTTP server with range requests, both serving a directory,
//! and some that misbehave. All of them log the requests they receive.

#![forbid(unsafe_code)]

mod hostile;

pub use hostile::Object;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use std::io::Result;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Runtime;
use tower_http::services::ServeDir;

/// The key and the secret that the S3 server knows.
pub const CREDENTIALS: (&str, &str) = ("colkit-test-key", "colkit-test-secret");

/// A line of a server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `GET`, `HEAD`, `PUT`, ...
    pub method: String,
    /// What for, with the part behind the question mark.
    pub path: String,
    /// The range that was asked for.
    pub range: Option<String>,
    /// How it was answered.
    pub status: u16,
    /// Bytes of the answer's body.
    pub bytes: u64,
}

type Log = Arc<Mutex<Vec<Asked>>>;

/// A server that runs until it is dropped.
pub struct Server {
    address: SocketAddr,
    log: Log,
    // Dropping it ends the server.
    _runtime: Runtime,
}

impl Server {
    /// An HTTP server of the files in `folder`, with ranges.
    pub fn http(folder: &Path) -> Result<Self> {
        Self::start(Router::new().fallback_service(ServeDir::new(folder)))
    }

    /// An S3-compatible server of the folders in `folder`, each a bucket.
    pub fn s3(folder: &Path) -> Result<Self> {
        Self::start(Self::store(folder)?)
    }

    /// The same, but that every so many requests it says that it is busy.
    pub fn failing_s3(folder: &Path, every: u64) -> Result<Self> {
        let asked = Arc::new(AtomicU64::new(0));
        Self::start(Self::store(folder)?.layer(from_fn_with_state((asked, every.max(1)), busy)))
    }

    fn store(folder: &Path) -> Result<Router> {
        let files = FileSystem::new(folder).map_err(|e| std::io::Error::other(format!("{e:?}")))?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(CREDENTIALS.0, CREDENTIALS.1));
        let store = Store { folder: folder.to_path_buf(), service: service.build(), one_by_one: Arc::default() };
        Ok(Router::new().fallback(s3).with_state(store))
    }

    fn start(router: Router) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
        let (address, log) = (listener.local_addr()?, Log::default());
        let router = router.layer(from_fn_with_state(log.clone(), record));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Server { address, log, _runtime: runtime })
    }

    /// `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables of the environment by which programs find the S3 server.
    pub fn s3_environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_REGION", "us-east-1".into()),
            ("AWS_ACCESS_KEY_ID", CREDENTIALS.0.into()),
            ("AWS_SECRET_ACCESS_KEY", CREDENTIALS.1.into()),
        ]
    }

    /// What was asked since the last call.
    pub fn take_log(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A service that keeps objects as files, with what it does unlike stores put right.
#[derive(Clone)]
struct Store {
    folder: PathBuf,
    service: S3Service,
    /// The service looks whether an object is there, and then writes it. Stores do both at once, so objects that must not
    /// replace others are put one after another.
    one_by_one: Arc<tokio::sync::Mutex<()>>,
}

impl Store {
    /// Whether an object is asked for where there is a folder. The service fails then; stores have no folders.
    fn is_folder(&self, request: &Request) -> bool {
        let key = request.uri().path().trim_start_matches('/');
        let of_object = key.contains('/') && request.uri().query().is_none();
        of_object && request.method() == Method::HEAD && self.folder.join(key).is_dir()
    }
}

async fn s3(State(store): State<Store>, request: Request) -> Response {
    if store.is_folder(&request) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let _turn = match request.headers().contains_key(header::IF_NONE_MATCH) {
        true => Some(store.one_by_one.lock().await),
        false => None,
    };
    match store.service.call(request.map(s3s::Body::http_body_unsync)).await {
        Ok(response) => response.map(Body::new),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:?}")).into_response(),
    }
}

async fn busy(State((asked, every)): State<(Arc<AtomicU64>, u64)>, request: Request, next: Next) -> Response {
    match asked.fetch_add(1, Ordering::Relaxed) % every == every - 1 {
        true => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        false => next.run(request).await,
    }
}

async fn record(State(log): State<Log>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().to_string());
    let range = request.headers().get(header::RANGE).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let response = next.run(request).await;
    let length = response.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
    let bytes = if method == Method::HEAD { 0 } else { length.unwrap_or(0) };
    let asked = Asked { method: method.to_string(), path, range, status: response.status().as_u16(), bytes };
    log.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    response
}
