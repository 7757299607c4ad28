//! Files whose columns only a plugin can decode.

use crate::modules::{
    EXAMPLE, STEPS, about, binary, bits, plugin, short, steps, steps_encoder, steps_with_nulls, text, with_decode,
};
use crate::steps::{file, nullable_table, open, plugins, table, texts, texts_file, write, write_with};
use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use colkit_core::{Limits, PluginState, Projection, Scan, TableFile};
use colkit_lance::encoding::Registry;
use colkit_plugin::{Plugin, Plugins, check};

fn whole(file: &TableFile) -> RecordBatch {
    let batches: Vec<_> = file.scan(&Scan::default()).unwrap().map(|b| b.unwrap()).collect();
    arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn same(file: &TableFile) {
    assert_eq!(whole(file), table());
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
    for part in ["org.example.Steps", &hash, "columns that need it: \"n\""] {
        assert!(said.contains(part), "{said:?} lacks {part:?}");
    }
    let hint = error.advice().unwrap();
    assert_eq!(hint.settings().collect::<Vec<_>>(), [colkit_core::Setting::EmbeddedPlugins]);
    let mut scan = refused.scan(&Scan::default()).unwrap();
    assert_eq!(scan.find_map(|b| b.err()).unwrap().code(), "plugin_refused");
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
    let wrong = EXAMPLE.replace("0102", "0103");
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
    assert!(with(&about("a", "").replace("for tests", "\\u001b[2J")).contains("one line"));
}

#[test]
fn values_may_have_any_length() {
    let file = open(&texts_file(), &plugins([short()])).unwrap();
    assert_eq!(whole(&file), texts());
    let taken = file.take(&[1499, 3, 4, 700], &Projection::all()).unwrap();
    for (place, row) in [1499, 3, 4, 700].into_iter().enumerate() {
        assert_eq!(taken.slice(place, 1), texts().slice(row, 1), "row {row}");
    }
    assert!(open(&texts_file(), &Plugins::new()).unwrap().take(&[0], &Projection::all()).is_err());
    assert_eq!(check(&plugin(short()).unwrap()).unwrap().examples, 1);
    assert_eq!(check(&plugin(bits()).unwrap()).unwrap().examples, 1);
    let one = plugin(bits()).unwrap().decode(&[], &[&[0xFF]], 8, 0..8, &Limits::default()).unwrap();
    assert_eq!(one, (vec![0xFF], vec![]));
}

#[test]
fn a_plugin_may_say_which_values_are_null() {
    let module = with_decode(64, "", &steps_with_nulls());
    let bytes = write(&nullable_table(), None);
    let file = open(&bytes, &plugins([module])).unwrap();
    let numbers = whole(&file);
    let expected = nullable_table();
    let (numbers, expected) =
        (numbers.column(0).as_primitive::<Int64Type>(), expected.column(0).as_primitive::<Int64Type>());
    for row in 0..numbers.len() {
        assert_eq!(numbers.is_null(row), row % 2 == 1, "row {row}");
        assert!(row % 2 == 1 || numbers.value(row) == expected.value(row), "row {row}");
    }
    let taken = file.take(&[7, 8, 20_001], &Projection::columns([0])).unwrap();
    let nulls: Vec<bool> = (0..3).map(|i| taken.column(0).is_null(i)).collect();
    assert_eq!(nulls, [true, false, true]);
}

#[test]
fn a_plugin_encodes() {
    let with = plugins([steps_encoder()]);
    assert!(check(&plugin(steps_encoder()).unwrap()).unwrap().encodes);
    let mut registry = Registry::standard();
    with.add_to(&mut registry);
    let bytes = write_with(&table(), registry);
    assert!(bytes.len() < file(None).len() + steps_encoder().len() + 1000, "{} bytes", bytes.len());
    // It is in the file, too.
    same(&open(&bytes, &Plugins::new().allow_embedded()).unwrap());
    same(&open(&bytes, &plugins([steps()])).unwrap());
}

#[test]
fn what_cannot_be_decoded_again_is_not_written() {
    let mut registry = Registry::standard();
    let wrong = text(&about("org.example.Steps", ""), 64, crate::modules::STEPS_ENCODER, STEPS)
        .replace("i64.store8 offset=7", "i64.store8 offset=8");
    plugins([binary(&wrong)]).add_to(&mut registry);
    let options = colkit_lance::LanceWriteOptions::new().with_encodings(colkit_lance::EncodingSet::Extended);
    let format: std::sync::Arc<dyn colkit_core::Format> =
        std::sync::Arc::new(colkit_lance::Lance::with_encodings(registry).with_write_options(options));
    let written = colkit_core::conformance::write(&format, &table(), 10_000, &colkit_core::WriteOptions::default());
    let error = written.map(drop).unwrap_err();
    assert_eq!(error.code(), "plugin_failed", "{error}");
    assert!(error.to_string().contains("does not decode to the same"), "{error}");
}

#[test]
fn it_is_known_which_columns_need_one() {
    let needs = |bytes: &bytes::Bytes, plugins: &Plugins| {
        let opened = open(bytes, plugins).unwrap();
        let layout = opened.layout().unwrap();
        let of: Vec<_> = layout.plugins.iter().map(|n| (n.name.clone(), n.state, n.columns.clone())).collect();
        let columns = layout.columns(opened.schema().fields(), opened.row_count());
        assert!(columns[0].encodings.iter().any(|e| e.contains("plugin(org.example.Steps)")));
        of
    };
    let name = "org.example.Steps".to_owned();
    let with = file(Some(steps()));
    assert_eq!(needs(&file(None), &Plugins::new()), [(name.clone(), PluginState::Missing, vec![0])]);
    assert_eq!(needs(&with, &Plugins::new()), [(name.clone(), PluginState::Refused, vec![0])]);
    assert_eq!(needs(&with, &Plugins::new().allow_embedded()), [(name.clone(), PluginState::Loaded, vec![0])]);
    assert_eq!(needs(&with, &plugins([steps()])), [(name, PluginState::Loaded, vec![0])]);
}

/// Writes what the tests of the command read.
#[test]
fn samples() {
    let Some(folder) = std::env::var_os("COLKIT_WRITE_SAMPLES") else { return };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    std::fs::write(folder.join("steps.wasm"), steps()).unwrap();
    std::fs::write(folder.join("readings.lance"), crate::steps::small_file(steps())).unwrap();
    // Where the fuzzer starts from.
    let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("short.lance"), texts_file()).unwrap();
    let nulls = with_decode(64, "", &steps_with_nulls());
    for (name, module) in
        [("short", short()), ("bits", bits()), ("steps", steps()), ("nulls", nulls), ("encoder", steps_encoder())]
    {
        std::fs::write(own.join(name).with_extension("wasm"), module).unwrap();
    }
}
