//! Files to files: each by a task of its own.
//!
//! A task writes its output under a name that does not depend on who runs it, and all at once: one that runs twice leaves one
//! file.

use crate::process::Process;
use crate::wire::{ConvertMessage, OptionMessage, damaged, external};
use ballista_core::execution_plans::execute_physical_plan;
use ballista_core::extension::SessionConfigExt;
use colkit::{Error, Result};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::{StreamExt, TryStreamExt};
use std::fmt;
use std::sync::Arc;

/// A file to convert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file to read.
    pub input: String,
    /// The file to write.
    pub output: String,
}

/// A file that was converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The file that was written.
    pub output: String,
    /// Its rows.
    pub rows: u64,
    /// The bytes of the file that was read.
    pub input_bytes: u64,
    /// Its bytes.
    pub output_bytes: u64,
}

/// Converts one file with the options given: called by executors, on threads that may wait.
pub type Converter = Arc<dyn Fn(&Part, &[(String, String)]) -> Result<Converted> + Send + Sync>;

fn parts_schema() -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    Arc::new(Schema::new(vec![text("input"), text("output")]))
}

fn converted_schema() -> SchemaRef {
    let count = |name: &str| Field::new(name, DataType::UInt64, false);
    let output = Field::new("output", DataType::Utf8, false);
    Arc::new(Schema::new(vec![output, count("rows"), count("input_bytes"), count("output_bytes")]))
}

/// Converts the files that its input lists.
pub(crate) struct ConvertExec {
    options: Vec<(String, String)>,
    parts: Arc<dyn ExecutionPlan>,
    converter: Option<Converter>,
    properties: Arc<PlanProperties>,
}

impl ConvertExec {
    fn new(options: Vec<(String, String)>, parts: Arc<dyn ExecutionPlan>, converter: Option<Converter>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(converted_schema()),
            parts.output_partitioning().clone(),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        ConvertExec { options, parts, converter, properties: Arc::new(properties) }
    }

    /// As an executor receives it.
    pub fn received(message: ConvertMessage, parts: Arc<dyn ExecutionPlan>, converter: Option<Converter>) -> Self {
        Self::new(message.options.into_iter().map(|o| (o.name, o.value)).collect(), parts, converter)
    }

    pub fn message(&self) -> ConvertMessage {
        let option = |(name, value): &(String, String)| OptionMessage { name: name.clone(), value: value.clone() };
        ConvertMessage { options: self.options.iter().map(option).collect() }
    }
}

impl fmt::Debug for ConvertExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConvertExec").field("options", &self.options).finish_non_exhaustive()
    }
}

impl DisplayAs for ConvertExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConvertExec")
    }
}

impl ExecutionPlan for ConvertExec {
    fn name(&self) -> &str {
        "ConvertExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.parts]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> datafusion::error::Result<TreeNodeRecursion>,
    ) -> datafusion::error::Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> datafusion::error::Result<Arc<dyn ExecutionPlan>> {
        let [parts] = children.as_slice() else { return Err(damaged("a conversion has one list of files")) };
        Ok(Arc::new(Self::new(self.options.clone(), parts.clone(), self.converter.clone())))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> datafusion::error::Result<SendableRecordBatchStream> {
        let Some(converter) = self.converter.clone() else {
            return Err(external(Error::unsupported("not_on_cluster", "this process does not convert files")));
        };
        let options: Arc<[(String, String)]> = self.options.clone().into();
        let parts = self.parts.execute(partition, context)?;
        let converted = parts.and_then(move |batch| {
            let (converter, options) = (converter.clone(), options.clone());
            async move {
                let work =
                    move || parts_of(&batch).iter().map(|part| converter(part, &options)).collect::<Result<Vec<_>>>();
                let done = tokio::task::spawn_blocking(work).await;
                let done = done.map_err(|_| external(Error::panicked("a conversion")))?;
                batch_of(&done.map_err(external)?)
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(converted_schema(), converted)))
    }
}

fn parts_of(batch: &RecordBatch) -> Vec<Part> {
    let text = |column: usize| batch.column(column).as_string::<i32>();
    let part = |(input, output): (Option<&str>, Option<&str>)| Part {
        input: input.unwrap_or_default().to_owned(),
        output: output.unwrap_or_default().to_owned(),
    };
    text(0).iter().zip(text(1)).map(part).collect()
}

fn batch_of(done: &[Converted]) -> datafusion::error::Result<RecordBatch> {
    let count = |of: fn(&Converted) -> u64| Arc::new(UInt64Array::from_iter_values(done.iter().map(of)));
    let outputs = Arc::new(StringArray::from_iter_values(done.iter().map(|c| &c.output)));
    let columns: Vec<ArrayRef> = vec![outputs, count(|c| c.rows), count(|c| c.input_bytes), count(|c| c.output_bytes)];
    Ok(RecordBatch::try_new(converted_schema(), columns)?)
}

fn converted_of(batch: &RecordBatch) -> Vec<Converted> {
    let count = |column: usize, row: usize| batch.column(column).as_primitive::<UInt64Type>().value(row);
    let outputs = batch.column(0).as_string::<i32>();
    let one = |row: usize| Converted {
        output: outputs.value(row).to_owned(),
        rows: count(1, row),
        input_bytes: count(2, row),
        output_bytes: count(3, row),
    };
    (0..batch.num_rows()).map(one).collect()
}

/// Has all parts converted.
pub(crate) async fn run(
    scheduler: &str,
    parts: &[Part],
    options: &[(String, String)],
    process: &Process,
    config: SessionConfig,
) -> datafusion::error::Result<Vec<Converted>> {
    let (_, physical) = process.codecs();
    let list = |part: &Part| {
        let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
        Ok(vec![RecordBatch::try_new(parts_schema(), vec![text(&part.input), text(&part.output)])?])
    };
    let lists = parts.iter().map(list).collect::<datafusion::error::Result<Vec<_>>>()?;
    let lists = MemorySourceConfig::try_new_exec(&lists, parts_schema(), None)?;
    let plan = Arc::new(ConvertExec::new(options.to_vec(), lists, None));
    let ballista = config.ballista_config();
    let codec = physical.as_ref();
    let rows =
        execute_physical_plan::<PhysicalPlanNode>(scheduler.to_owned(), &ballista, plan, codec, session(), config);
    let mut rows = rows.await?;
    let mut done = Vec::new();
    while let Some(batch) = rows.next().await {
        done.extend(converted_of(&batch?));
    }
    Ok(done)
}

/// A name for a session that nobody else has.
fn session() -> String {
    let mut bytes = [0u8; 16];
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
