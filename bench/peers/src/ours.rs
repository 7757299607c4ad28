//! colkit, with positioned reads or over a mapped file.

use crate::contest::{Answer, Contestant, Open, Result};
use colkit_core::{FileSource, MappedSource, Projection, ReadOptions, Scan, Source, TableFile};
use colkit_lance::Lance;
use std::sync::Arc;

pub struct Ours {
    pub name: &'static str,
    pub file: &'static str,
    pub mapped: bool,
}

impl Contestant for Ours {
    fn name(&self) -> &'static str {
        self.name
    }

    fn file(&self) -> &'static str {
        self.file
    }

    fn open(&self, path: &str) -> Result<Box<dyn Open>> {
        let source: Arc<dyn Source> =
            if self.mapped { Arc::new(MappedSource::open(path)?) } else { Arc::new(FileSource::open(path)?) };
        Ok(Box::new(TableFile::open(Arc::new(Lance::new()), source, &ReadOptions::default())?))
    }
}

impl Open for TableFile {
    fn take(&self, rows: &[u64]) -> Result<Answer> {
        Ok(Answer::Arrow59(vec![TableFile::take(self, rows, &Projection::all())?]))
    }

    fn scan(&self, columns: Option<&[&str]>) -> Result<Answer> {
        let projection = match columns {
            None => Projection::all(),
            Some(names) => Projection::named(&self.schema(), names.iter().copied())?,
        };
        let scan = Scan { projection, ..Scan::default() };
        Ok(Answer::Arrow59(TableFile::scan(self, &scan)?.collect::<colkit_core::Result<_>>()?))
    }
}
