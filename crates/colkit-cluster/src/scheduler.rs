//! The scheduler: plans queries, cuts them into stages and tasks, and hands these to executors.

use crate::client::{About, ExecutorAbout};
use crate::process::Process;
use crate::report::JobReport;
use crate::{LARGEST_MESSAGE, WIRE_VERSION};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ballista_core::BALLISTA_VERSION;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_scheduler::cluster::{BallistaCluster, JobState};
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::create_scheduler;
use ballista_scheduler::scheduler_server::SchedulerServer;
use colkit::{Error, Result};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tonic::service::Routes;

type Scheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

/// How a scheduler runs.
#[derive(Clone)]
pub struct SchedulerOptions {
    /// How it opens files.
    pub process: Process,
    /// An executor that has not been heard of for so long is lost, and its tasks run elsewhere.
    pub executor_timeout: Duration,
    /// How long it waits for running queries when it is asked to stop.
    pub grace: Duration,
}

/// Schedules for those who connect to `listener`, until `stop` is ready and queries have ended.
pub async fn schedule(listener: TcpListener, options: SchedulerOptions, stop: impl Future<Output = ()>) -> Result<()> {
    let address = listener.local_addr()?;
    let (logical, physical) = options.process.codecs();
    let sessions = options.process.sessions().map_err(|e| colkit_sql::plain(&e))?;
    let tls = options.process.tls().cloned();
    let timeout = options.executor_timeout.as_secs().max(1);
    let scheduler_config = Arc::new(SchedulerConfig {
        external_host: address.ip().to_string(),
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        // Ballista would fill one executor before it uses the next.
        task_distribution: TaskDistributionPolicy::RoundRobin,
        executor_timeout_seconds: timeout,
        expire_dead_executor_interval_seconds: (timeout / 4).max(1),
        no_executors_grace_period_seconds: timeout,
        grpc_server_max_decoding_message_size: LARGEST_MESSAGE,
        grpc_server_max_encoding_message_size: LARGEST_MESSAGE,
        grpc_client_max_message_size: LARGEST_MESSAGE,
        override_logical_codec: Some(logical),
        override_physical_codec: Some(physical),
        override_session_builder: Some(Arc::new(sessions)),
        override_config_producer: Some(options.process.configs()),
        scheduling_policy: options.process.policy(),
        use_tls: tls.is_some(),
        override_create_grpc_client_endpoint: options.process.endpoints(),
        ..SchedulerConfig::default()
    });
    let cluster = BallistaCluster::new_from_config(&scheduler_config).await.map_err(failed)?;
    let jobs = cluster.job_state();
    let scheduler: Scheduler = create_scheduler(cluster, scheduler_config).await.map_err(failed)?;
    log::info!("scheduler of colkit {} listens on {address}", env!("CARGO_PKG_VERSION"));
    let drained = drained(scheduler.clone(), options.grace);
    let stopped = async {
        stop.await;
        log::info!("scheduler stops; queries that run have {} s to end", options.grace.as_secs());
        drained.await;
    };
    let mut server = tonic::transport::Server::builder().accept_http1(true);
    if let Some(tls) = &tls {
        server = server.tls_config(tls.server()).map_err(|e| bad_certificates(&e))?;
    }
    let server = server.add_routes(routes(scheduler, jobs));
    let incoming = tonic::transport::server::TcpIncoming::from(listener).with_nodelay(Some(true));
    // Clients that watch a query would keep it from ending.
    tokio::select! {
        served = server.serve_with_incoming(incoming) => served.map_err(|e| Error::internal(e.to_string()))?,
        () = stopped => {}
    }
    log::info!("scheduler stopped");
    Ok(())
}

/// Waits until no query runs any more.
async fn drained(scheduler: Scheduler, grace: Duration) {
    let tasks = &scheduler.state.task_manager;
    let idle = async {
        while tasks.running_job_number() + tasks.pending_job_number() > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let _ = tokio::time::timeout(grace, idle).await;
}

fn failed(error: ballista_core::error::BallistaError) -> Error {
    Error::io("cluster_failed", error.to_string())
}

fn bad_certificates(error: &tonic::transport::Error) -> Error {
    let why = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    Error::request("bad_certificates", format!("the certificates cannot be used: {why}"))
}

/// What our own questions are answered from.
#[derive(Clone)]
struct Answers {
    scheduler: Scheduler,
    jobs: Arc<dyn JobState>,
}

/// Ballista's service, and our own beside it.
fn routes(scheduler: Scheduler, jobs: Arc<dyn JobState>) -> Routes {
    let largest = usize::try_from(LARGEST_MESSAGE).unwrap_or(usize::MAX);
    let service = SchedulerGrpcServer::new(scheduler.clone())
        .max_decoding_message_size(largest)
        .max_encoding_message_size(largest);
    let own = axum::Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/colkit/cluster", get(about))
        .route("/colkit/jobs/{job}", get(job))
        .with_state(Answers { scheduler, jobs });
    let routes = Routes::new(service).prepare().into_axum_router();
    Routes::from(routes.merge(own))
}

async fn executors(scheduler: &Scheduler) -> Vec<ExecutorAbout> {
    let known = scheduler.state.executor_manager.get_executors_state().await.unwrap_or_default();
    let about = known.into_iter().map(|(executor, _, _)| ExecutorAbout {
        id: executor.id,
        address: format!("{}:{}", executor.host, executor.port),
        cores: executor.specification.vcores,
    });
    let mut about: Vec<_> = about.collect();
    about.sort_by(|a, b| a.address.cmp(&b.address));
    about
}

/// Whether there is an executor.
async fn ready(State(answers): State<Answers>) -> Response {
    match executors(&answers.scheduler).await.len() {
        0 => (StatusCode::SERVICE_UNAVAILABLE, "no executors\n").into_response(),
        executors => format!("executors: {executors}\n").into_response(),
    }
}

/// Who is there.
async fn about(State(answers): State<Answers>) -> Response {
    json(&About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wire: WIRE_VERSION,
        ballista: BALLISTA_VERSION.to_owned(),
        executors: executors(&answers.scheduler).await,
    })
}

/// What became of a query.
async fn job(State(answers): State<Answers>, Path(job): Path<String>) -> Response {
    let known = executors(&answers.scheduler).await;
    match answers.jobs.get_execution_graph(&job.clone().into()).await {
        Ok(Some(graph)) => json(&JobReport::new(graph.as_ref(), &known)),
        _ => (StatusCode::NOT_FOUND, format!("no finished job {job}\n")).into_response(),
    }
}

fn json(answer: &impl Serialize) -> Response {
    let content = [(header::CONTENT_TYPE, "application/json")];
    match serde_json::to_string(answer) {
        Ok(text) => (content, text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
