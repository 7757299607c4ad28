//! Sessions that know colkit's formats, by name and by content, and object stores by URL.

use crate::arithmetic;
use crate::date_diff::DateDiff;
use crate::dialect::Pivots;
use crate::error::external;
use crate::format::{ColkitFormat, ColkitFormatFactory};
use crate::given::{GivenTable, GivenTables};
use crate::joins::DistinctMatches;
use crate::json::{self, Arrows};
use crate::literals::analyzer_rules;
use crate::open_files::{OpenFiles, Opening};
use crate::parts::OpenWords;
use crate::result_size::bound;
use crate::spill::Unnamed;
use crate::sum::CheckedSum;
use crate::table::ColkitTable;
use crate::table_functions::{Call, OpenWith, TableCalls};
use async_trait::async_trait;
use colkit::OpenOptions;
use colkit_store::Stores;
use datafusion::catalog::{DynamicFileCatalog, Session, TableProvider, TableProviderFactory, UrlTableFactory};
use datafusion::common::plan_datafusion_err;
use datafusion::datasource::listing_table_factory::ListingTableFactory;
use datafusion::error::Result;
use datafusion::execution::context::SessionState;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{FunctionRegistry, SessionStateBuilder};
use datafusion::logical_expr::{AggregateUDF, CreateExternalTable};
use datafusion::prelude::{SessionConfig, SessionContext};
use object_store::ObjectStore;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use url::Url;

/// Memory so little that queries are planned to spill early.
const LITTLE: u64 = 128 << 20;

/// Memory that a partition should have. Sorts of more partitions leave each with too little to merge what it spilled.
const PARTITION: u64 = 32 << 20;

/// The number of partitions for so many threads and so much memory.
fn partitions(threads: usize, memory: Option<u64>) -> usize {
    let most = memory.map_or(usize::MAX, |memory| usize::try_from(memory / PARTITION).unwrap_or(usize::MAX));
    threads.min(most).max(1)
}

/// Starts sessions of our own: `SessionOptions::new().with_memory(1 << 30).start()`.
#[derive(Clone, Default)]
#[must_use]
pub struct SessionOptions {
    open_options: OpenOptions,
    memory: Option<u64>,
    spill_folder: Option<PathBuf>,
    stores: Stores,
    open_with: Option<OpenWith>,
    /// The words that stand for `open_options`.
    words: OpenWords,
    plain_texts: bool,
    adapt: Option<Adapt>,
}

/// Changes how a session is built.
pub type Adapt = Arc<dyn Fn(SessionStateBuilder) -> SessionStateBuilder + Send + Sync>;

impl SessionOptions {
    /// No limit on memory, the system's folder for temporary files, stores by the environment.
    pub fn new() -> Self {
        Self::default()
    }

    /// How files are opened: known formats, limits, how text is read.
    pub fn with_open_options(mut self, options: OpenOptions) -> Self {
        self.open_options = options;
        self
    }

    /// Bytes of memory that queries may hold. What does not fit is spilled.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The folder to spill to, instead of the system's for temporary files.
    pub fn with_spill_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spill_folder = Some(folder.into());
        self
    }

    /// The stores that URLs are looked up in.
    pub fn with_stores(mut self, stores: Stores) -> Self {
        self.stores = stores;
        self
    }

    /// What options in a query mean: `FROM csv('x.csv', delimiter => ';')`. Without this, files are opened like all others.
    pub fn with_table_options(mut self, open_with: OpenWith) -> Self {
        self.open_with = Some(open_with);
        self
    }

    /// The words that another process would understand the open options by.
    pub fn with_words(mut self, words: OpenWords) -> Self {
        self.words = words;
        self
    }

    /// Columns of text as offsets and bytes, which are quicker to send elsewhere than views.
    pub fn with_plain_texts(mut self) -> Self {
        self.plain_texts = true;
        self
    }

    /// Has the session built otherwise: with another planner, for example.
    pub fn with_adaptation(mut self, adapt: Adapt) -> Self {
        self.adapt = Some(adapt);
        self
    }

    /// The functions and rules of such a session, with this configuration and these stores, for queries that others planned.
    pub fn state(&self, config: SessionConfig, runtime: Arc<RuntimeEnv>) -> Result<SessionState> {
        let context = self.complete(self.built(config, runtime)?)?;
        Ok(context.state())
    }

    /// Where such a session finds stores, and where it spills to.
    pub fn runtime(&self) -> Result<Arc<RuntimeEnv>> {
        let registry = Arc::new(ByUrl(self.stores.clone()));
        let spill = Arc::new(Unnamed { folder: self.spill_folder.clone() });
        let runtime = RuntimeEnvBuilder::new()
            .with_object_store_registry(registry)
            .with_disk_manager_builder(DiskManagerBuilder::default().with_temp_file_factory(spill));
        match self.memory {
            None => runtime.build_arc(),
            // Each sort and join gets its share: one that comes first must not leave the next one without any.
            Some(memory) => {
                let pool = FairSpillPool::new(usize::try_from(memory).unwrap_or(usize::MAX));
                runtime.with_memory_pool(Arc::new(pool)).build_arc()
            }
        }
    }

    /// Starts a session.
    pub fn start(&self) -> Result<SessionContext> {
        let (options, words) = (self.open_options.clone(), self.words.clone());
        let opening = Opening { options, words, views: !self.plain_texts };
        let context = add_colkit(self.plain()?, opening, self.open_with.clone());
        self.complete(context)
    }

    /// Starts a session with these tables and no others: a query can name no other file. They are opened when a query needs them.
    pub fn start_with_tables(&self, tables: Vec<GivenTable>) -> Result<SessionContext> {
        let context = self.complete(self.plain()?)?;
        let schema = Arc::new(GivenTables { tables, files: self.start()? });
        let defaults = context.copied_config().options().catalog.clone();
        let catalog = context.catalog(&defaults.default_catalog);
        let catalog = catalog.ok_or_else(|| plan_datafusion_err!("the session has no catalog"))?;
        catalog.register_schema(&defaults.default_schema, schema)?;
        Ok(context)
    }

    /// A session that does not know any file.
    fn plain(&self) -> Result<SessionContext> {
        let mut config = SessionConfig::new()
            .with_information_schema(true)
            .with_target_partitions(partitions(self.open_options.threads(), self.memory))
            // Counts and bounds of files are a matter of their footers, which have been read already.
            .with_collect_statistics(true)
            .set_bool("datafusion.sql_parser.parse_float_as_decimal", true);
        if let Some(memory) = self.memory.filter(|memory| *memory <= LITTLE) {
            let memory = usize::try_from(memory).unwrap_or(usize::MAX);
            config = config
                .with_sort_spill_reservation_bytes(memory / 16)
                // These spill; joins by hash do not.
                .set_bool("datafusion.optimizer.prefer_hash_join", false);
            config.options_mut().optimizer.hash_join_single_partition_threshold = memory / 16;
            config.options_mut().optimizer.hash_join_single_partition_threshold_rows = 10_000;
        }
        self.built(config, self.runtime()?)
    }

    /// A session with our rules and functions.
    fn built(&self, config: SessionConfig, runtime: Arc<RuntimeEnv>) -> Result<SessionContext> {
        let builder = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features()
            .with_analyzer_rules(analyzer_rules())
            .with_optimizer_rule(Arc::new(DistinctMatches));
        let builder = match &self.adapt {
            Some(adapt) => adapt(builder),
            None => builder,
        };
        let context = SessionContext::new_with_state(builder.build());
        context.register_udaf(AggregateUDF::from(CheckedSum::new()));
        for function in json::functions() {
            context.register_udf(function);
        }
        for function in arithmetic::functions() {
            context.register_udf(function);
        }
        context.register_udf(DateDiff::new().into());
        Ok(context)
    }

    /// Adds what has to come last.
    fn complete(&self, context: SessionContext) -> Result<SessionContext> {
        {
            let state = context.state_ref();
            let mut state = state.write();
            let (json, text) = (state.udf("json_extract")?, state.udf("json_extract_string")?);
            state.register_expr_planner(Arc::new(Arrows { json, text }))?;
            state.register_relation_planner(Arc::new(Pivots))?;
        }
        bound(&mut *context.state_ref().write(), self.memory)?;
        Ok(context)
    }
}

/// What colkit adds to anybody's session.
pub trait ColkitSession: Sized {
    /// Registers our formats, so that `CREATE EXTERNAL TABLE t STORED AS LANCE LOCATION 's3://...'` and names of files
    /// (`SELECT * FROM 'trades.at1'`) work. Files are then recognised by their content, whatever their names.
    ///
    /// ```
    /// # use datafusion::prelude::*;
    /// # use colkit_sql::ColkitSession;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> datafusion::error::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("t.csv");
    /// # std::fs::write(&path, "id,price\n1,2.5\n2,4.5\n")?;
    /// let context = SessionContext::new().with_colkit();
    /// let rows = context.sql(&format!("SELECT avg(price) FROM '{}'", path.display())).await?.collect().await?;
    /// assert_eq!(rows[0].num_rows(), 1);
    /// # Ok(())
    /// # }
    /// ```
    fn with_colkit(self) -> Self {
        self.with_colkit_options(OpenOptions::new())
    }

    /// The same, with files opened like this.
    fn with_colkit_options(self, options: OpenOptions) -> Self;
}

impl ColkitSession for SessionContext {
    fn with_colkit_options(self, options: OpenOptions) -> Self {
        add_colkit(self, options.into(), None)
    }
}

fn add_colkit(context: SessionContext, opening: Opening, open_with: Option<OpenWith>) -> SessionContext {
    let native = opening.options.registry().native_formats();
    let calls = Arc::new(TableCalls::new(opening.clone(), open_with));
    let by_content = ColkitFormat::new(Arc::new(OpenFiles::new(opening)), None);
    {
        let state = context.state_ref();
        let mut state = state.write();
        for format in native {
            let format = ColkitFormat::new(by_content.tables().clone(), Some(format.name()));
            let name = datafusion::datasource::file_format::FileFormat::get_ext(&format).to_ascii_uppercase();
            // A format of the same name that somebody registered before stays theirs.
            if state.register_file_format(Arc::new(ColkitFormatFactory(format)), false).is_ok() {
                state.table_factories_mut().insert(name, Arc::new(ExternalTables));
            }
        }
        state.config_mut().set_extension(calls.clone());
    }
    let names = Arc::new(Names { format: by_content, calls, session: OnceLock::new() });
    let catalogs = DynamicFileCatalog::new(context.state().catalog_list().clone(), names.clone());
    let id = context.session_id();
    let builder = context.into_state_builder().with_session_id(id).with_catalog_list(Arc::new(catalogs));
    let context: SessionContext = builder.build().into();
    let session = context.state_weak_ref();
    let _ = names.session.set(Box::new(move || session.upgrade().map(|s| s.read().clone())));
    context
}

/// Turns names of files into tables.
struct Names {
    format: ColkitFormat,
    calls: Arc<TableCalls>,
    /// The session they are names of, which holds them in turn.
    session: OnceLock<Box<dyn Fn() -> Option<SessionState> + Send + Sync>>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

#[async_trait]
impl UrlTableFactory for Names {
    /// A name that looks like a file's is one, and what is wrong with it is said. Other names may be those of tables.
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let call = self.calls.find(name);
        let looks_like_a_file =
            call.is_some() || name.contains(['/', '.', '*', '?', '[']) || std::path::Path::new(name).exists();
        if !looks_like_a_file {
            return Ok(None);
        }
        let state = self.session.get().and_then(|session| session());
        let state = state.ok_or_else(|| plan_datafusion_err!("the session has ended"))?;
        let table = match call {
            Some(Call { path, opening, filename }) => {
                let format = ColkitFormat::new(Arc::new(OpenFiles::new(opening)), None);
                ColkitTable::open(&path, format, filename, &state).await?
            }
            None => ColkitTable::open(name, self.format.clone(), false, &state).await?,
        };
        Ok(Some(Arc::new(table)))
    }
}

/// `CREATE EXTERNAL TABLE`.
#[derive(Debug)]
struct ExternalTables;

#[async_trait]
impl TableProviderFactory for ExternalTables {
    async fn create(&self, state: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let files = ListingTableFactory::new().create(state, command).await?;
        Ok(Arc::new(ColkitTable::new(files, command.locations.join(", "))))
    }
}

/// Stores by URL, made when first asked for.
struct ByUrl(Stores);

impl fmt::Debug for ByUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByUrl").finish_non_exhaustive()
    }
}

impl ObjectStoreRegistry for ByUrl {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.0.register(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.0.store(url).map_err(external)
    }
}
