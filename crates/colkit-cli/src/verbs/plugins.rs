//! `plugins`: lists the plugins that are found, or checks some.

use crate::args::{PluginArgs, PluginsAction, PluginsArgs};
use crate::human::plural;
use crate::report;
use crate::{Io, Outcome};
use colkit::lance::Lance;
use colkit::lance::encoding::Registry as Encodings;
use colkit::plugin::{Checked, Origin, Plugin, Plugins, check};
use colkit::{Error, Registry, Result};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn run(args: &PluginsArgs, io: &mut Io) -> Result<Outcome> {
    match &args.action {
        None => list(args.script.json, io),
        Some(PluginsAction::Check { files }) => check_all(files, args.script.json, io),
    }
}

/// The folders that are looked into.
fn folders() -> Vec<PathBuf> {
    let listed = std::env::var_os("COLKIT_PLUGINS");
    let mut folders: Vec<PathBuf> = listed.iter().flat_map(std::env::split_paths).collect();
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|p| p.is_absolute()).or_else(home);
    folders.extend(config.map(|c| c.join("colkit").join("plugins")));
    folders.retain(|f| !f.as_os_str().is_empty());
    folders
}

impl PluginArgs {
    /// All plugins that are found, and those embedded in files that may run.
    pub fn plugins(&self) -> Result<Plugins> {
        let mut plugins = Plugins::new();
        for file in &self.plugin {
            plugins.add_file(file)?;
        }
        for folder in folders() {
            // What is wrong with one is said by `colkit plugins`; nobody may need it.
            drop(plugins.add_folder(folder));
        }
        if self.allow_embedded_plugins {
            plugins = plugins.allow_embedded();
        }
        for hash in &self.allow_plugin {
            plugins = plugins.allow_hash(hash);
        }
        Ok(plugins)
    }

    /// All encodings of Lance that are known, with what plugins decode.
    pub fn encodings(&self) -> Result<Encodings> {
        let mut encodings = Encodings::extended();
        self.plugins()?.add_to(&mut encodings);
        Ok(encodings)
    }

    /// All formats, Lance with what plugins decode.
    pub fn registry(&self) -> Result<Registry> {
        Ok(Registry::default().configured(Lance::with_encodings(self.encodings()?)))
    }
}

fn list(json: bool, io: &mut Io) -> Result<Outcome> {
    let mut plugins = Plugins::new();
    let mut wrong = Vec::new();
    for folder in folders() {
        wrong.extend(plugins.add_folder(folder));
    }
    let mut none = true;
    for (plugin, origin) in plugins.iter() {
        none = false;
        let place = match origin {
            Origin::File(path) => path.display().to_string(),
            _ => String::new(),
        };
        describe(plugin, &place, None, json, io)?;
    }
    for error in &wrong {
        writeln!(io.stderr, "warning: {}", report::sentence(error))?;
    }
    if none && !json {
        let places: Vec<String> = folders().iter().map(|f| f.display().to_string()).collect();
        writeln!(io.stderr, "no plugins in {}", places.join(", "))?;
    }
    Ok(if wrong.is_empty() { Outcome::Success } else { Outcome::Failure })
}

/// One plugin: what it decodes, its hash, where it is and, if it was checked, what that showed.
fn describe(plugin: &Plugin, place: &str, checked: Option<Checked>, json: bool, io: &mut Io) -> Result<()> {
    let info = plugin.info();
    if json {
        let mut document = json!({
            "name": info.name, "version": info.version, "about": info.about, "sha256": plugin.hash(), "path": place,
        });
        if let (Some(found), Some(fields)) = (checked, document.as_object_mut()) {
            fields.insert("examples".into(), found.examples.into());
            fields.insert("encodes".into(), found.encodes.into());
            fields.insert("compile_ms".into(), milliseconds(&found).into());
        }
        writeln!(io.stdout, "{document}")?;
        return Ok(());
    }
    let name = io.stdout.bold(&info.name);
    let version = if info.version.is_empty() { String::new() } else { format!(" {}", info.version) };
    writeln!(io.stdout, "{name}{version}  {place}")?;
    if !info.about.is_empty() {
        writeln!(io.stdout, "  {}", info.about)?;
    }
    writeln!(io.stdout, "  SHA-256 {}", plugin.hash())?;
    if let Some(found) = checked {
        let examples = plural(found.examples as u64, "example");
        let encodes = if found.encodes { ", encodes" } else { "" };
        writeln!(io.stdout, "  {examples} decoded{encodes}, compiled in {} ms", milliseconds(&found))?;
    }
    Ok(())
}

fn milliseconds(checked: &Checked) -> u64 {
    u64::try_from(checked.compiled_in.as_millis()).unwrap_or(u64::MAX)
}

fn check_all(files: &[PathBuf], json: bool, io: &mut Io) -> Result<Outcome> {
    for file in files {
        let place = file.display().to_string();
        let (plugin, found) = checked(file).map_err(|e| e.file(&place))?;
        describe(&plugin, &place, Some(found), json, io)?;
    }
    Ok(Outcome::Success)
}

fn checked(file: &Path) -> Result<(Arc<Plugin>, Checked)> {
    let mut plugins = Plugins::new();
    plugins.add_file(file)?;
    let plugin = plugins.iter().next().map(|(plugin, _)| plugin.clone());
    let plugin = plugin.ok_or_else(|| Error::internal("a plugin that was added is not there"))?;
    let found = check(&plugin)?;
    Ok((plugin, found))
}
