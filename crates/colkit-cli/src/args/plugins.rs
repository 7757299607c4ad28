//! Plugins: where they are found, and the verb that lists them.

use super::ScriptArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

pub const PLUGINS_HELP: &str = "Examples:
  colkit plugins
  colkit plugins --json
  colkit plugins check steps.wasm
  colkit cat readings.lance --plugin steps.wasm

A plugin is a WebAssembly module for an encoding of Lance files that is not built in.
It runs in a sandbox, with bounded time and memory. Plugins are found in the directories of
COLKIT_PLUGINS and in ~/.config/colkit/plugins; --plugin names more.";

/// Where plugins come from.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Plugins")]
pub struct PluginArgs {
    /// Lance: plugin that decodes an unknown encoding; may be repeated
    #[arg(long, value_name = "FILE.wasm")]
    pub plugin: Vec<PathBuf>,
    /// Lance: run the plugins that files bring with them
    #[arg(long)]
    pub allow_embedded_plugins: bool,
    /// Lance: run a plugin that a file brings if it has this SHA-256; may be repeated
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    pub allow_plugin: Vec<String>,
}

/// A SHA-256.
fn parse_hash(text: &str) -> Result<String, String> {
    let fits = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if fits { Ok(text.to_ascii_lowercase()) } else { Err("a SHA-256 has 64 hexadecimal digits".to_owned()) }
}

/// `plugins`.
#[derive(Args, Debug)]
pub struct PluginsArgs {
    /// What to do instead of listing plugins
    #[command(subcommand)]
    pub action: Option<PluginsAction>,
    #[command(flatten)]
    pub script: ScriptArgs,
}

/// What `plugins` does.
#[derive(Subcommand, Debug)]
pub enum PluginsAction {
    /// Compile plugins and let them decode their own examples
    Check {
        /// Plugins to check
        #[arg(required = true, value_name = "FILE.wasm")]
        files: Vec<PathBuf>,
    },
}
