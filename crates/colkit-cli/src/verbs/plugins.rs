//! `plugins`: lists the plugins that are found, or checks some.

use crate::args::{PluginArgs, PluginsAction, PluginsArgs};
use crate::report;
use crate::{Io, Outcome};
use colkit::lance::Lance;
use colkit::lance::encoding::Registry as Encodings;
use colkit::plugin::{Origin, Plugin, Plugins, check};
use colkit::{Registry, Result};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

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

    /// All formats, Lance with what plugins decode.
    pub fn registry(&self) -> Result<Registry> {
        let mut encodings = Encodings::standard();
        self.plugins()?.add_to(&mut encodings);
        Ok(Registry::default().configured(Lance::with_encodings(encodings)))
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
fn describe(plugin: &Plugin, place: &str, checked: Option<(usize, u128)>, json: bool, io: &mut Io) -> Result<()> {
    let info = plugin.info();
    if json {
        let mut document = json!({
            "name": info.name, "version": info.version, "about": info.about, "sha256": plugin.hash(), "path": place,
        });
        if let (Some((examples, milliseconds)), Some(fields)) = (checked, document.as_object_mut()) {
            fields.insert("examples".into(), examples.into());
            fields.insert("compile_ms".into(), u64::try_from(milliseconds).unwrap_or(u64::MAX).into());
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
    if let Some((examples, milliseconds)) = checked {
        let plural = if examples == 1 { "" } else { "s" };
        writeln!(io.stdout, "  {examples} example{plural} decoded, compiled in {milliseconds} ms")?;
    }
    Ok(())
}

fn check_all(files: &[PathBuf], json: bool, io: &mut Io) -> Result<Outcome> {
    for file in files {
        let (plugin, examples, milliseconds) = checked(file).map_err(|e| e.file(file.display().to_string()))?;
        describe(&plugin, &file.display().to_string(), Some((examples, milliseconds)), json, io)?;
    }
    Ok(Outcome::Success)
}

fn checked(file: &Path) -> Result<(Plugin, usize, u128)> {
    let plugin = Plugin::new(std::fs::read(file)?)?;
    let found = check(&plugin)?;
    Ok((plugin, found.examples, found.compiled_in.as_millis()))
}
