//! `view`: the explorer, in the browser, as one document or in the terminal.
//!
//! ```text
//! given        the files and tables that it is given
//! server       answers requests of the page: who may ask, for what
//! ranges       which bytes of a file a request wants
//! policy       headers that every answer has
//! queries      SQL over the given tables
//! browser      opens a browser
//! token        secrets
//! single_file  the page and a file as one document
//! tui/         the explorer in the terminal
//! ```

mod browser;
mod given;
mod policy;
#[cfg(feature = "sql")]
mod queries;
mod ranges;
mod server;
mod single_file;
mod token;
mod tui;

use crate::args::ViewArgs;
use crate::{Io, Outcome};
use colkit::Result;

/// The page. It is ASCII; the places of the module and of data are marked by comments.
const PAGE: &str = include_str!("../../../assets/explorer/explorer.html");

/// The readers of all formats for the page: a WebAssembly module, compressed with gzip.
const MODULE: &[u8] = include_bytes!("../../../assets/explorer/colkit.wasm.gz");

pub fn run(args: &ViewArgs, io: &mut Io) -> Result<Outcome> {
    match &args.html {
        Some(out) => single_file::run(args, out, io),
        None if args.tui => tui::run(args, io),
        None => server::run(args, io),
    }
}
