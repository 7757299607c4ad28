//! Tables on their way from the client to the scheduler.

use crate::folders::Folders;
use crate::wire::{self, Kind, TableMessage, damaged, external};
use ballista_core::serde::BallistaLogicalExtensionCodec;
use colkit::Error;
use colkit_sql::{ColkitTable, FilePool, PlaceParts, TableParts};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use std::sync::Arc;

/// Carries our tables. All else is Ballista's.
#[derive(Debug)]
pub(crate) struct LogicalCodec {
    pub others: BallistaLogicalExtensionCodec,
    pub files: Arc<FilePool>,
    pub folders: Folders,
}

impl LogicalExtensionCodec for LogicalCodec {
    fn try_decode(&self, bytes: &[u8], inputs: &[LogicalPlan], context: &TaskContext) -> Result<Extension> {
        self.others.try_decode(bytes, inputs, context)
    }

    fn try_encode(&self, node: &Extension, bytes: &mut Vec<u8>) -> Result<()> {
        self.others.try_encode(node, bytes)
    }

    fn try_encode_table_provider(
        &self,
        name: &TableReference,
        table: Arc<dyn TableProvider>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let what = match table.downcast_ref::<ColkitTable>().map(ColkitTable::parts) {
            Some(Some(parts)) => {
                wire::write(Kind::Table, &TableMessage::from(parts), bytes);
                return Ok(());
            }
            Some(None) => "CREATE EXTERNAL TABLE",
            None => "CREATE TABLE",
        };
        let what = format!("{name} was made by {what} in this session, and the cluster knows files only");
        Err(external(
            Error::unsupported("not_on_cluster", what).hint("name the file itself: FROM 's3://bucket/file.lance'"),
        ))
    }

    fn try_decode_table_provider(
        &self,
        bytes: &[u8],
        name: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        let (kind, content) = match wire::read(bytes) {
            Some(message) => message?,
            None => return self.others.try_decode_table_provider(bytes, name, schema, context),
        };
        if kind != Kind::Table {
            return Err(damaged("expected a table"));
        }
        let parts = TableParts::try_from(wire::decode::<TableMessage>(content)?)?;
        if let PlaceParts::Local(path) = &parts.place {
            self.folders.check(path).map_err(external)?;
        }
        Ok(Arc::new(self.files.table(parts, &schema).map_err(external)?))
    }

    fn try_decode_file_format(&self, bytes: &[u8], context: &TaskContext) -> Result<Arc<dyn FileFormatFactory>> {
        self.others.try_decode_file_format(bytes, context)
    }

    fn try_encode_file_format(&self, bytes: &mut Vec<u8>, format: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.others.try_encode_file_format(bytes, format)
    }
}
