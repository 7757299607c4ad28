//! `COPY ... TO`: written by colkit's formats, under the same rules as other output files.

use super::SqlSession;
use crate::Io;
use crate::args::SqlArgs;
use crate::request::is_stream;
use crate::rows::RowOutput;
use colkit::arrow::array::UInt64Array;
use colkit::arrow::record_batch::RecordBatch;
use colkit::{Error, Existing, Result};
use colkit_sql::datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use colkit_sql::datafusion::logical_expr::LogicalPlan;
use colkit_sql::datafusion::logical_expr::dml::CopyTo;
use colkit_sql::datafusion::prelude::DataFrame;
use colkit_sql::plain;
use std::path::Path;
use std::sync::Arc;

/// Where a statement writes to, and who writes it.
pub enum CopyTarget {
    /// Nowhere: the statement is not a `COPY`.
    None,
    /// To a file, by colkit.
    Colkit(CopyTo),
    /// To a new directory or with options, by DataFusion.
    DataFusion,
}

/// The target of a `COPY` statement; an error if it may not be written.
pub fn copy_target(plan: &LogicalPlan) -> Result<CopyTarget> {
    let LogicalPlan::Copy(copy) = plan else {
        let mut inside = false;
        // EXPLAIN alone runs nothing; EXPLAIN ANALYZE does.
        let found = plan.apply(|node| match node {
            LogicalPlan::Explain(_) => Ok(TreeNodeRecursion::Jump),
            LogicalPlan::Copy(_) => {
                inside = true;
                Ok(TreeNodeRecursion::Stop)
            }
            _ => Ok(TreeNodeRecursion::Continue),
        });
        found.map_err(|e| plain(&e))?;
        return match inside {
            true => Err(Error::request("copy_inside", "COPY is a statement of its own")),
            false => Ok(CopyTarget::None),
        };
    };
    let target = copy.output_url.as_str();
    if is_stream(Path::new(target)) {
        return Err(Error::request(
            "not_a_file_name",
            "COPY writes files; an answer goes to standard output by itself",
        ));
    }
    if copy.partition_by.is_empty() && copy.options.is_empty() && !target.ends_with('/') {
        return Ok(CopyTarget::Colkit(copy.clone()));
    }
    let path = Path::new(target);
    let is_empty_folder = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if path.symlink_metadata().is_ok() && !is_empty_folder {
        return Err(Error::request("already_exists", "COPY into a folder, or with options, writes only to a new name")
            .file(target)
            .hint("--out writes one file, and with --force over one that is there"));
    }
    if !target.ends_with('/') {
        colkit::check_target(path, Existing::Refuse)?;
    }
    Ok(CopyTarget::DataFusion)
}

impl SqlSession {
    /// Writes what is copied. Answers with the number of rows, as DataFusion does.
    pub fn copy(&mut self, copy: &CopyTo, args: &SqlArgs, io: &mut Io) -> Result<RecordBatch> {
        let target = Path::new(&copy.output_url);
        let printing = RowOutput::to(target, &copy.file_type.get_ext(), args.existing(), args.print.fit)?;
        let frame = DataFrame::new(self.context.state(), copy.input.as_ref().clone());
        let (_, rows) = self.write(frame, &printing, args, io)?;
        let schema = Arc::new(copy.output_schema.as_arrow().clone());
        Ok(RecordBatch::try_new(schema, vec![Arc::new(UInt64Array::from(vec![rows]))])?)
    }
}
