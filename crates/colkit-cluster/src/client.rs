//! The client: sends queries to the scheduler, and fetches their rows from executors.

use crate::process::Process;
use crate::report::JobReport;
use crate::tls::Tls;
use crate::{Converted, Part, WIRE_VERSION};
use async_trait::async_trait;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::SessionConfigExt;
use ballista_core::optimizer::with_ballista_optimizer_rules;
use ballista_core::planner::BallistaQueryPlanner;
use ballista_core::serde::protobuf::CancelJobParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use colkit::{Error, Result};
use colkit_sql::SessionOptions;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, TableReference};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::Optimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::protobuf::LogicalPlanNode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tonic::transport::Endpoint;
use url::Url;

/// Ballista's port, if none is named.
const PORT: u16 = 50050;

/// How long a scheduler may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster, as its scheduler says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The version of colkit.
    pub version: String,
    /// The version of messages.
    pub wire: u32,
    /// The version of Ballista.
    pub ballista: String,
    /// The executors that are there.
    pub executors: Vec<ExecutorAbout>,
}

/// An executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorAbout {
    /// Its identifier.
    pub id: String,
    /// Where it is reached.
    pub address: String,
    /// Tasks at a time.
    pub cores: u32,
}

/// A cluster that answered.
#[derive(Clone, Debug)]
pub struct Cluster {
    host: String,
    port: u16,
    tls: Option<Tls>,
    about: About,
}

impl Cluster {
    /// Asks the scheduler at `df://host:port` who it is. One that speaks another version is refused.
    pub async fn connect(address: &str, tls: Option<&Tls>) -> Result<Self> {
        let (host, port) = parse(address)?;
        let about: About = ask(&host, port, tls, "cluster").await?;
        if about.wire != WIRE_VERSION {
            let what = format!(
                "the scheduler at {address} is colkit {} with messages of version {}; this is colkit {} with version {WIRE_VERSION}",
                about.version,
                about.wire,
                env!("CARGO_PKG_VERSION"),
            );
            return Err(Error::unsupported("cluster_version", what).hint("run the same colkit everywhere"));
        }
        Ok(Cluster { host, port, tls: tls.cloned(), about })
    }

    /// The same, waiting for a scheduler that is about to start.
    pub async fn connect_patiently(address: &str, tls: Option<&Tls>, patience: Duration) -> Result<Self> {
        let began = Instant::now();
        loop {
            match Self::connect(address, tls).await {
                Err(error) if error.code() == "cluster_unreachable" && began.elapsed() < patience => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                answer => return answer,
            }
        }
    }

    /// Who is there.
    pub fn about(&self) -> &About {
        &self.about
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    /// What went wrong with a query. An error that another process had comes back as it was there.
    pub fn plain(&self, error: &DataFusionError) -> Error {
        crate::errors::plain(error, &format!("{}:{}", self.host, self.port))
    }

    /// Fails if there is nobody to run tasks.
    pub fn check_executors(&self) -> Result<()> {
        if self.about.executors.is_empty() {
            let what = format!("the scheduler at {}:{} has no executors", self.host, self.port);
            return Err(Error::io("no_executors", what).hint("colkit cluster executor starts one"));
        }
        Ok(())
    }

    /// Tasks that run at a time.
    pub fn cores(&self) -> usize {
        self.about.executors.iter().map(|e| e.cores as usize).sum::<usize>().max(1)
    }

    fn config(&self, config: SessionConfig, process: &Process) -> SessionConfig {
        process.connected(config.upgrade_for_ballista()).with_target_partitions(self.cores())
    }

    /// Options of a session whose queries run on the cluster. Queries without tables run here.
    pub fn session(&self, options: SessionOptions, process: &Process) -> SessionOptions {
        let (logical, physical) = process.codecs();
        let (cluster, process) = (self.clone(), process.clone());
        let adapt = move |mut builder: SessionStateBuilder| {
            let config = builder.config().take().unwrap_or_default();
            let config = cluster.config(config, &process).with_ballista_physical_extension_codec(physical.clone());
            let codec: Arc<dyn LogicalExtensionCodec> = logical.clone();
            let remote = BallistaQueryPlanner::with_extension(cluster.url(), config.ballista_config(), codec);
            let ours = builder.optimizer_rules().take().unwrap_or_default();
            let rules: Vec<_> = Optimizer::new().rules.into_iter().chain(ours).collect();
            builder
                .with_config(config)
                .with_optimizer_rules(with_ballista_optimizer_rules(&rules))
                .with_query_planner(Arc::new(Planner { remote, here: DefaultPhysicalPlanner::default() }))
        };
        options.with_plain_texts().with_adaptation(Arc::new(adapt))
    }

    /// What became of a query that has ended.
    pub async fn report(&self, job: &str) -> Result<JobReport> {
        // It is written down a moment after the client got the last row.
        let began = Instant::now();
        loop {
            match ask(&self.host, self.port, self.tls.as_ref(), &format!("jobs/{job}")).await {
                Err(error) if error.code() == "cluster_answer" && began.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                answer => return answer,
            }
        }
    }

    /// Has a query end that nobody waits for any more.
    pub async fn cancel(&self, job: &str) -> Result<()> {
        let failed =
            |e: &dyn std::fmt::Display| Error::io("cluster_failed", format!("job {job} could not be stopped: {e}"));
        let endpoint = Endpoint::from_shared(self.url()).map_err(|e| failed(&e))?.connect_timeout(PATIENCE);
        let endpoint = match &self.tls {
            Some(tls) => tls.endpoints()(endpoint).map_err(|e| failed(&e))?,
            None => endpoint,
        };
        let channel = endpoint.connect().await.map_err(|e| failed(&e))?;
        let job_id = job.to_owned();
        let cancelled = SchedulerGrpcClient::new(channel).cancel_job(CancelJobParams { job_id }).await;
        cancelled.map(drop).map_err(|e| failed(&e))
    }

    /// Converts files, each by a task of its own. What `options` mean is up to the executors.
    pub async fn convert(
        &self,
        parts: Vec<Part>,
        options: Vec<(String, String)>,
        process: &Process,
    ) -> Result<Vec<Converted>> {
        let config = self.config(SessionConfig::new(), process);
        let converted = crate::convert::run(&self.url(), &parts, &options, process, config.clone()).await;
        match converted.map_err(|e| self.plain(&e)) {
            // All may be there but for the word that it is.
            Err(error) if error.code() == "executor_lost" => {
                let again = crate::convert::run(&self.url(), &parts, &options, process, config).await;
                again.map_err(|e| self.plain(&e))
            }
            done => done,
        }
    }
}

/// Host and port of a scheduler.
fn parse(address: &str) -> Result<(String, u16)> {
    let wrong = |why: &str| {
        Error::request("bad_cluster", format!("{address:?} is not the address of a cluster: {why}"))
            .hint("such as df://scheduler.example:50050")
    };
    let url = Url::parse(address).map_err(|e| wrong(&e.to_string()))?;
    if url.scheme() != "df" {
        return Err(wrong("it begins with df://"));
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host"))?;
    Ok((host.to_owned(), url.port().unwrap_or(PORT)))
}

/// Asks a scheduler something of ours.
async fn ask<T: for<'a> Deserialize<'a>>(host: &str, port: u16, tls: Option<&Tls>, what: &str) -> Result<T> {
    let place = format!("{host}:{port}");
    let unreachable = |e: reqwest::Error| {
        let why = std::iter::successors(Some(&e as &dyn std::error::Error), |e| e.source()).last();
        let why = why.map(ToString::to_string).unwrap_or_default();
        Error::io("cluster_unreachable", format!("no scheduler answers at {place}: {why}"))
            .hint("colkit cluster scheduler starts one")
    };
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
    let (scheme, client) = match tls {
        Some(tls) => ("https", tls.http(client).map_err(unreachable)?),
        None => ("http", client),
    };
    let client = client.build().map_err(unreachable)?;
    let answer = client.get(format!("{scheme}://{place}/colkit/{what}")).send().await.map_err(unreachable)?;
    let status = answer.status();
    let text = answer.bytes().await.map_err(unreachable)?;
    if !status.is_success() {
        let what =
            format!("what answers at {place} says {status}: it is no scheduler of colkit, or does not know this");
        return Err(Error::io("cluster_answer", what));
    }
    serde_json::from_slice(&text)
        .map_err(|e| Error::io("cluster_answer", format!("the answer of {place} makes no sense: {e}")))
}

/// The job that a plan became, once it runs.
pub fn job_of(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if let Some(query) = plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>() {
        return query.job_id().map(|id| id.to_string());
    }
    plan.children().into_iter().find_map(job_of)
}

/// Sends plans with tables to the cluster.
struct Planner {
    remote: BallistaQueryPlanner<LogicalPlanNode>,
    here: DefaultPhysicalPlanner,
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner").finish_non_exhaustive()
    }
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        state: &dyn Session,
    ) -> datafusion::error::Result<Arc<dyn ExecutionPlan>> {
        match has_tables(plan)? {
            true => self.remote.create_physical_plan(&sendable(plan)?, state).await,
            false => self.here.create_physical_plan(plan, state).await,
        }
    }
}

/// The plan with names of tables that come out as they went in. Those of columns travel as text, and are parsed where they
/// arrive: `a.lance` would be a table `lance` of a schema `a`, and `A` would be `a`.
fn sendable(plan: &LogicalPlan) -> datafusion::error::Result<LogicalPlan> {
    let quoted = |expr: Expr| match expr {
        Expr::Column(Column { relation: Some(table), name, spans })
            if TableReference::parse_str(&table.to_string()) != table =>
        {
            let relation = Some(TableReference::bare(table.to_quoted_string()));
            Ok(Transformed::yes(Expr::Column(Column { relation, name, spans })))
        }
        other => Ok(Transformed::no(other)),
    };
    let sendable =
        plan.clone().transform_up_with_subqueries(|node| node.map_expressions(|expr| expr.transform(quoted)))?;
    Ok(sendable.data)
}

fn has_tables(plan: &LogicalPlan) -> datafusion::error::Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::TableScan(_));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_perhaps_a_port() {
        assert_eq!(parse("df://node1:7000").unwrap(), ("node1".into(), 7000));
        assert_eq!(parse("df://127.0.0.1").unwrap(), ("127.0.0.1".into(), PORT));
        assert_eq!(parse("df://[::1]:7000").unwrap(), ("[::1]".into(), 7000));
        for bad in ["node1:7000", "http://node1", "df://", "df:", ""] {
            assert_eq!(parse(bad).unwrap_err().code(), "bad_cluster", "{bad}");
        }
    }
}
