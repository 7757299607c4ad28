//! What the sessions of scheduler, executors and clients have in common.

use crate::LARGEST_MESSAGE;
use crate::convert::Converter;
use crate::folders::Folders;
use crate::logical::LogicalCodec;
use crate::physical::PhysicalCodec;
use crate::tls::Tls;
use ballista_core::ConfigProducer;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::{EndpointOverrideFn, SessionConfigExt};
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use colkit_sql::{FilePool, OpenByWords, SessionOptions};
use colkit_store::Stores;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::SessionConfig;
use std::path::PathBuf;
use std::sync::Arc;
use url::Url;

/// What a process of the cluster has of its own: how it opens files, which ones it may, what it converts with. Credentials are
/// those of its environment; none travel.
#[derive(Clone)]
pub struct Process {
    open: OpenByWords,
    folders: Folders,
    converter: Option<Converter>,
    stores: Stores,
    spill_folder: Option<PathBuf>,
    memory: Option<u64>,
    tls: Option<Tls>,
}

impl Process {
    /// A process that opens files like this, and none of its own machine.
    pub fn new(open: OpenByWords) -> Self {
        let (folders, stores) = (Folders::default(), Stores::shared().separate());
        Process { open, folders, converter: None, stores, spill_folder: None, memory: None, tls: None }
    }

    /// Lets the process use these folders.
    #[must_use]
    pub fn with_folders(self, folders: Folders) -> Self {
        Process { folders, ..self }
    }

    /// Lets the process convert files.
    #[must_use]
    pub fn with_converter(self, converter: Converter) -> Self {
        Process { converter: Some(converter), ..self }
    }

    /// Where what does not fit into memory goes.
    #[must_use]
    pub fn with_spill_folder(self, folder: PathBuf) -> Self {
        Process { spill_folder: Some(folder), ..self }
    }

    /// Bounds what a query may hold.
    #[must_use]
    pub fn with_memory(self, bytes: u64) -> Self {
        Process { memory: Some(bytes), ..self }
    }

    /// Has all connections be such ones.
    #[must_use]
    pub fn with_tls(self, tls: Option<Tls>) -> Self {
        Process { tls, ..self }
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// How tasks come to executors; see [`Tls`].
    pub(crate) fn policy(&self) -> TaskSchedulingPolicy {
        if self.tls.is_some() { TaskSchedulingPolicy::PullStaged } else { TaskSchedulingPolicy::PushStaged }
    }

    /// How connections are made, if not as usual.
    pub(crate) fn endpoints(&self) -> Option<EndpointOverrideFn> {
        self.tls.as_ref().map(Tls::endpoints)
    }

    /// Makes configurations of this process.
    pub(crate) fn configs(&self) -> ConfigProducer {
        let process = self.clone();
        Arc::new(move || process.config())
    }

    /// The configuration of a process without a query.
    pub(crate) fn config(&self) -> SessionConfig {
        self.connected(SessionConfig::new_with_ballista())
    }

    /// The same, with connections and messages as they are here: plans over many files are long.
    pub(crate) fn connected(&self, config: SessionConfig) -> SessionConfig {
        let largest = usize::try_from(LARGEST_MESSAGE).unwrap_or(usize::MAX);
        let config = config.with_ballista_grpc_client_max_message_size(largest);
        match &self.tls {
            Some(tls) => {
                config.with_ballista_use_tls(true).with_ballista_override_create_grpc_client_endpoint(tls.endpoints())
            }
            None => config,
        }
    }

    pub(crate) fn codecs(&self) -> (Arc<LogicalCodec>, Arc<PhysicalCodec>) {
        let files = Arc::new(FilePool::new(self.open.clone()));
        let logical = LogicalCodec {
            others: BallistaLogicalExtensionCodec::default(),
            files: files.clone(),
            folders: self.folders.clone(),
        };
        let others = BallistaPhysicalExtensionCodec::default();
        (Arc::new(logical), Arc::new(PhysicalCodec { others, files, converter: self.converter.clone() }))
    }

    fn options(&self) -> SessionOptions {
        let options = SessionOptions::new().with_stores(self.stores.clone());
        let options = self.memory.into_iter().fold(options, SessionOptions::with_memory);
        self.spill_folder.iter().fold(options, SessionOptions::with_spill_folder)
    }

    /// Stores, and the files of this machine that may be used.
    pub(crate) fn runtime(&self) -> Result<Arc<RuntimeEnv>> {
        let files = Url::parse("file:///").map_err(|e| DataFusionError::External(Box::new(e)))?;
        self.stores.register(&files, Arc::new(self.folders.store()));
        self.options().runtime()
    }

    /// Sessions of this configuration, all with the same stores.
    pub(crate) fn sessions(
        &self,
    ) -> Result<impl Fn(SessionConfig) -> Result<datafusion::execution::context::SessionState> + Send + Sync + use<>>
    {
        let (options, runtime) = (self.options(), self.runtime()?);
        Ok(move |config: SessionConfig| options.state(config.with_collect_statistics(true), runtime.clone()))
    }

    /// The functions that queries may call.
    pub(crate) fn functions(&self) -> Result<BallistaFunctionRegistry> {
        let state = self.options().state(self.config(), self.runtime()?)?;
        Ok(BallistaFunctionRegistry {
            scalar_functions: state.scalar_functions().clone(),
            aggregate_functions: state.aggregate_functions().clone(),
            window_functions: state.window_functions().clone(),
            ..BallistaFunctionRegistry::default()
        })
    }
}
