//! Tables and scans taken apart and put together again, for those who send them to another process.
//!
//! Options travel as the words that they were asked for by. The receiver says what these mean to it: limits, memory and
//! credentials are its own.

use crate::format::ColkitFormat;
use crate::open_files::{OpenFiles, Opening};
use crate::place::Place;
use crate::source::ColkitSource;
use crate::table::ColkitTable;
use arrow::datatypes::{Schema, SchemaRef};
use colkit::{Error, OpenOptions, Result};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::PhysicalExpr;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How files are opened, in the words of a query: `csv('x.csv', delimiter => ';')`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpenWords {
    /// The format, if it is named rather than recognised.
    pub format: Option<String>,
    /// Options by name.
    pub options: Vec<(String, String)>,
}

/// Says what words mean to this process.
pub type OpenByWords = Arc<dyn Fn(&OpenWords) -> Result<OpenOptions> + Send + Sync>;

/// Where the files of a table are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceParts {
    /// A path of this machine; a relative one is made absolute.
    Local(std::path::PathBuf),
    /// Objects of a store: the URL and, of a folder, the parts of a pattern.
    Objects(String, Vec<Vec<u8>>),
}

/// A table: which files, and how they are opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableParts {
    /// What it was asked for by.
    pub name: String,
    /// Where its files are.
    pub place: PlaceParts,
    /// How they are opened.
    pub words: OpenWords,
    /// How many of the columns are in the files. The others are the same for all rows of a file.
    pub file_columns: usize,
}

/// The files that a process has open for others, by the words that they are opened with.
pub struct FilePool {
    open: OpenByWords,
    files: Mutex<HashMap<OpenWords, Arc<OpenFiles>>>,
}

/// Kinds of words that are kept. Beyond it all are forgotten.
const MOST_WORDS: usize = 64;

impl FilePool {
    /// A pool of a process to which words mean this.
    pub fn new(open: OpenByWords) -> Self {
        FilePool { open, files: Mutex::default() }
    }

    fn files(&self, words: &OpenWords) -> Result<Arc<OpenFiles>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files.get(words) {
            return Ok(known.clone());
        }
        let opening = Opening { options: (self.open)(words)?, words: words.clone(), views: false };
        if files.len() >= MOST_WORDS {
            files.clear();
        }
        Ok(files.entry(words.clone()).or_insert(Arc::new(OpenFiles::new(opening))).clone())
    }

    /// The table of these parts, with these columns.
    pub fn table(&self, parts: TableParts, schema: &Schema) -> Result<ColkitTable> {
        let columns = schema.fields();
        let (Some(own), Some(added)) = (columns.get(..parts.file_columns), columns.get(parts.file_columns..)) else {
            let what = format!("{} of {} columns are in files", parts.file_columns, columns.len());
            return Err(Error::internal(what));
        };
        let own: SchemaRef = Arc::new(Schema::new(own.to_vec()));
        let schema = TableSchema::builder(own).with_table_partition_cols(added.to_vec()).build();
        let format = ColkitFormat::new(self.files(&parts.words)?, None);
        Ok(ColkitTable::of_parts(Place::of_parts(parts.name.clone(), parts.place)?, format, schema, parts.name))
    }

    /// The source of a scan of files with these columns, whose rows must satisfy `filter`.
    pub fn source(
        &self,
        words: &OpenWords,
        schema: TableSchema,
        filter: Option<Arc<dyn PhysicalExpr>>,
    ) -> Result<ColkitSource> {
        Ok(ColkitSource::new(self.files(words)?, None, schema).with_filter(filter))
    }
}

impl fmt::Debug for FilePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilePool").finish_non_exhaustive()
    }
}

impl ColkitTable {
    /// What it consists of, unless it was made by `CREATE EXTERNAL TABLE`.
    pub fn parts(&self) -> Option<TableParts> {
        let files = self.files_table()?;
        let words = files.words().clone();
        let file_columns = files.table_schema().file_schema().fields().len();
        Some(TableParts { name: self.name().to_owned(), place: files.place().parts(), words, file_columns })
    }
}
