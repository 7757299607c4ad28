//! Files whose columns only a plugin can decode.

use crate::modules::{STEPS, about, binary, plugin, steps, text};
use crate::steps::{file, open, table};
use colkit_core::{Projection, Scan, TableFile};
use colkit_plugin::{Plugin, Plugins, check};

fn same(file: &TableFile) {
    let batches: Vec<_> = file.scan(&Scan::default()).unwrap().map(|b| b.unwrap()).collect();
    let whole = arrow::compute::concat_batches(&table().schema(), &batches).unwrap();
    assert_eq!(whole, table());
    let taken = file.take(&[29_999, 0, 12_345, 12_347], &Projection::all()).unwrap();
    for (place, row) in [29_999, 0, 12_345, 12_347].into_iter().enumerate() {
        assert_eq!(taken.slice(place, 1), table().slice(row, 1), "row {row}");
    }
}

#[test]
fn a_plugin_decodes_what_the_program_does_not_know() {
    let bytes = file(None);
    let mut plugins = Plugins::new();
    plugins.add(plugin(steps()).unwrap());
    same(&open(&bytes, &plugins).unwrap());
    let without = open(&bytes, &Plugins::new()).unwrap();
    let error = without.take(&[0], &Projection::all()).unwrap_err();
    assert_eq!(error.code(), "unknown_encoding");
    assert!(error.to_string().contains("org.example.Steps"), "{error}");
    assert!(without.take(&[0], &Projection::columns([1])).is_ok(), "other columns can be read");
}

#[test]
fn plugins_are_found_in_folders() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("steps.wasm"), steps()).unwrap();
    std::fs::write(folder.path().join("broken.wasm"), b"no module").unwrap();
    std::fs::write(folder.path().join("notes.txt"), b"no module either").unwrap();
    let mut plugins = Plugins::new();
    let errors = plugins.add_folder(folder.path());
    assert_eq!(errors.iter().map(|e| e.code()).collect::<Vec<_>>(), ["bad_plugin"]);
    assert!(errors[0].to_string().contains("broken.wasm"), "{}", errors[0]);
    assert!(plugins.add_folder(folder.path().join("nothing")).is_empty());
    same(&open(&file(None), &plugins).unwrap());
}

#[test]
fn an_embedded_plugin_runs_only_when_told() {
    let bytes = file(Some(steps()));
    let hash = plugin(steps()).unwrap().hash();
    let refused = open(&bytes, &Plugins::new()).unwrap();
    let error = refused.take(&[0], &Projection::all()).unwrap_err();
    assert_eq!(error.code(), "plugin_refused");
    let said = error.to_string();
    for part in ["org.example.Steps", &hash, "\"n\""] {
        assert!(said.contains(part), "{said:?} lacks {part:?}");
    }
    assert_eq!(error.advice().unwrap().settings().collect::<Vec<_>>(), [colkit_core::Setting::EmbeddedPlugins]);
    assert!(refused.take(&[0], &Projection::columns([1])).is_ok(), "other columns can be read");
    same(&open(&bytes, &Plugins::new().allow_embedded()).unwrap());
    same(&open(&bytes, &Plugins::new().allow_hash(hash.to_ascii_uppercase())).unwrap());
    let other = open(&bytes, &Plugins::new().allow_hash("00".repeat(32))).unwrap();
    assert_eq!(other.take(&[0], &Projection::all()).unwrap_err().code(), "plugin_refused");
}

#[test]
fn an_embedded_plugin_of_another_name_is_refused() {
    let stranger = binary(&text(&about("org.example.Other", ""), 64, "", STEPS));
    let error = open(&file(Some(stranger)), &Plugins::new().allow_embedded()).unwrap().take(&[0], &Projection::all());
    assert_eq!(error.unwrap_err().code(), "bad_plugin");
}

#[test]
fn examples_are_decoded() {
    let checked = check(&plugin(steps()).unwrap()).unwrap();
    assert_eq!(checked.examples, 1);
    let wrong = crate::modules::EXAMPLE.replace("0102", "0103");
    let module = binary(&text(&about("org.example.Steps", &wrong), 64, "", STEPS));
    let error = check(&plugin(module).unwrap()).unwrap_err();
    assert_eq!(error.code(), "plugin_failed");
    assert!(error.to_string().contains("come out differently"), "{error}");
}

#[test]
fn what_a_module_says_about_itself_is_checked() {
    let with = |about: &str| Plugin::new(binary(&text(about, 64, "", STEPS))).unwrap_err().to_string();
    assert!(with(&about("", "")).contains("name"));
    assert!(with(&about("lance.encodings21.Flat", "")).contains("Lance itself"));
    assert!(with(&about("a", "").replace("\"abi\": 1", "\"abi\": 2")).contains("version 2"));
    assert!(with("{").contains("cannot be read"));
}

/// Writes what the tests of the command read.
#[test]
fn samples() {
    let Some(folder) = std::env::var_os("COLKIT_WRITE_SAMPLES") else { return };
    let folder = std::path::Path::new(&folder);
    std::fs::write(folder.join("steps.wasm"), steps()).unwrap();
    std::fs::write(folder.join("readings.lance"), crate::steps::small_file(steps())).unwrap();
}
