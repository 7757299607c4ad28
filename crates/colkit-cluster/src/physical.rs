//! Scans and conversions on their way from the scheduler to executors.
//!
//! Ballista restricts a plan to the partitions of a task at its leaves, and can do so only for scans of files and for tables in
//! memory. Ours are such scans.

use crate::convert::{ConvertExec, Converter};
use crate::wire::{self, ConvertMessage, Kind, ScanMessage, damaged, external};
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use colkit_sql::{ColkitSource, FilePool};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::from_proto::{parse_protobuf_file_scan_config, parse_table_schema_from_proto};
use datafusion_proto::physical_plan::to_proto::serialize_file_scan_config;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use std::fmt;
use std::sync::Arc;

/// Carries our scans and conversions. All else is Ballista's.
pub(crate) struct PhysicalCodec {
    pub others: BallistaPhysicalExtensionCodec,
    pub files: Arc<FilePool>,
    pub converter: Option<Converter>,
}

impl fmt::Debug for PhysicalCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhysicalCodec").finish_non_exhaustive()
    }
}

/// The scan, if it is one of ours.
pub(crate) fn our_scan(plan: &dyn ExecutionPlan) -> Option<(&FileScanConfig, &ColkitSource)> {
    let config = plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>()?;
    Some((config, config.file_source().downcast_ref::<ColkitSource>()?))
}

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_encode(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some((config, source)) = our_scan(plan.as_ref()) {
            let filter = source.filter().map(|filter| converter.physical_expr_to_proto(&filter, self)).transpose()?;
            let files = Some(serialize_file_scan_config(config, self, converter)?);
            let message = ScanMessage { files, filter, words: Some(source.words().into()) };
            wire::write(Kind::Scan, &message, bytes);
            return Ok(());
        }
        if let Some(convert) = plan.downcast_ref::<ConvertExec>() {
            wire::write(Kind::Convert, &convert.message(), bytes);
            return Ok(());
        }
        self.others.try_encode(plan, bytes, converter)
    }

    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (kind, content) = match wire::read(bytes) {
            Some(message) => message?,
            None => return self.others.try_decode(bytes, inputs, context, converter),
        };
        match kind {
            Kind::Scan => {
                let message: ScanMessage = wire::decode(content)?;
                let files = message.files.ok_or_else(|| damaged("a scan names no files"))?;
                let schema = parse_table_schema_from_proto(&files)?;
                let decoding = PhysicalPlanDecodeContext::new(context, self);
                let filter = message
                    .filter
                    .as_ref()
                    .map(|filter| converter.proto_to_physical_expr(filter, schema.table_schema(), &decoding));
                let words = message.words.unwrap_or_default().into();
                let source = self.files.source(&words, schema, filter.transpose()?).map_err(external)?;
                let config = parse_protobuf_file_scan_config(&files, &decoding, converter, Arc::new(source))?;
                Ok(DataSourceExec::from_data_source(config))
            }
            Kind::Convert => {
                let message: ConvertMessage = wire::decode(content)?;
                let [parts] = inputs else { return Err(damaged("a conversion has one list of files")) };
                Ok(Arc::new(ConvertExec::received(message, parts.clone(), self.converter.clone())))
            }
            Kind::Table => Err(damaged("expected a scan")),
        }
    }
}
