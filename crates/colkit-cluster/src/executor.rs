//! Executors: each runs tasks, and keeps what they found until other tasks or the client have fetched it.

use crate::LARGEST_MESSAGE;
use crate::client::Cluster;
use crate::process::Process;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::health::ExecutorHealth;
use colkit::{Error, Result};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// How an executor runs.
#[derive(Clone)]
pub struct ExecutorOptions {
    /// How it opens files.
    pub process: Process,
    /// The scheduler: `df://host:port`.
    pub scheduler: String,
    /// Where others fetch what tasks found.
    pub listen: SocketAddr,
    /// Where the scheduler sends tasks.
    pub tasks_port: u16,
    /// The name or address by which others reach it.
    pub host: String,
    /// Tasks at a time.
    pub cores: usize,
    /// Memory for sorts, joins and aggregations.
    pub memory: u64,
    /// Where it keeps what tasks found.
    pub work_folder: PathBuf,
    /// How often it tells the scheduler that it is there.
    pub heartbeat: Duration,
    /// Where health is asked for.
    pub health: Option<SocketAddr>,
}

/// Runs tasks until the process is asked to end. Then it takes no more of them, and those that run may end.
pub async fn execute(options: ExecutorOptions) -> Result<()> {
    let scheduler =
        Cluster::connect_patiently(&options.scheduler, options.process.tls(), Duration::from_secs(20)).await?;
    let (logical, physical) = options.process.codecs();
    let runtime = options.process.runtime().map_err(|e| colkit_sql::plain(&e))?;
    let functions = options.process.functions().map_err(|e| colkit_sql::plain(&e))?;
    let work_folder = options.work_folder.to_str().ok_or_else(|| {
        Error::unsupported("not_on_cluster", "the name of the work folder is not UTF-8")
            .file(options.work_folder.display().to_string())
    })?;
    let tls = options.process.tls().cloned();
    let health = ExecutorHealth::new();
    if let Some(address) = options.health {
        let listener =
            TcpListener::bind(address).await.map_err(|e| Error::from(e).part(format!("listening on {address}")))?;
        let own = axum::Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .with_state(health.clone());
        tokio::spawn(async move { axum::serve(listener, own).await });
    }
    let executor = ExecutorProcessConfig {
        bind_host: options.listen.ip().to_string(),
        external_host: Some(options.host),
        port: options.listen.port(),
        grpc_port: options.tasks_port,
        scheduler_host: scheduler.host().to_owned(),
        scheduler_port: scheduler.port(),
        scheduler_connect_timeout_seconds: 20,
        vcores: options.cores,
        work_dir: Some(work_folder.to_owned()),
        grpc_max_decoding_message_size: LARGEST_MESSAGE,
        grpc_max_encoding_message_size: LARGEST_MESSAGE,
        executor_heartbeat_interval_seconds: options.heartbeat.as_secs().max(1),
        // What a query left is removed when the scheduler says so, and in any case after a day.
        job_data_ttl_seconds: 24 * 60 * 60,
        job_data_clean_up_interval_seconds: 600,
        memory_pool_size: Some(options.memory),
        override_function_registry: Some(Arc::new(functions)),
        override_runtime_producer: Some(Arc::new(move |_| Ok(runtime.clone()))),
        override_config_producer: Some(options.process.configs()),
        task_scheduling_policy: options.process.policy(),
        override_create_grpc_client_endpoint: options.process.endpoints(),
        override_arrow_flight_service: tls.as_ref().map(|tls| tls.flight(LARGEST_MESSAGE)),
        override_logical_codec: Some(logical),
        override_physical_codec: Some(physical),
        health,
        ..ExecutorProcessConfig::default()
    };
    log::info!("executor with {} cores listens on {}", options.cores, options.listen);
    start_executor_process(Arc::new(executor)).await.map_err(|e| Error::io("cluster_failed", e.to_string()))
}

async fn ready(State(health): State<ExecutorHealth>) -> Response {
    match health.is_ready() {
        true => "ready\n".into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, "the scheduler does not answer\n").into_response(),
    }
}
