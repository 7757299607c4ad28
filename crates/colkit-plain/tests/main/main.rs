//! Conformance of `.gppcol`, `.cff` and `.colfile`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]
#![allow(clippy::panic, clippy::cast_possible_truncation, missing_docs, reason = "test code")]

mod flips;
mod generated;
mod laws;
mod malformed;
mod vectors;
mod writing;

use bytes::Bytes;
use colkit_core::Format;
use colkit_plain::{Cff, Colm, Gpp};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Every byte allocated by this process, so that tests can tell what reading a file cost.
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

const COLUMNS_APART: colkit_core::conformance::Laws = colkit_core::conformance::Laws { columns_apart: true };

fn formats() -> [Arc<dyn Format>; 3] {
    [Arc::new(Gpp), Arc::new(Cff), Arc::new(Colm)]
}

fn format_of(path: &Path) -> Arc<dyn Format> {
    let extension = path.extension().unwrap().to_str().unwrap();
    formats().into_iter().find(|f| f.extensions().contains(&extension)).unwrap()
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The column files of a folder, by name.
fn column_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| ["gppcol", "cff", "colfile"].iter().any(|x| e == *x)));
    files.sort();
    files
}

fn read(path: &Path) -> Bytes {
    std::fs::read(path).unwrap().into()
}
