//! Any WebAssembly module as a plugin: its own examples, its own bytes as a buffer, and files that need it.
#![no_main]

use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{Format, Projection, Result, Source};
use colkit_fuzz::{limits, options, read};
use colkit_lance::Lance;
use colkit_lance::encoding::Registry;
use colkit_plugin::{Plugin, Plugins, check};
use std::sync::Arc;

/// Files whose first column only `org.example.Steps` and `org.example.Short` can decode.
const FILES: [&[u8]; 2] = [
    include_bytes!("../../crates/colkit-cli/tests/data/readings.lance"),
    include_bytes!("../../crates/colkit-plugin/tests/data/short.lance"),
];

libfuzzer_sys::fuzz_target!(init: colkit_fuzz::prepare(), |module: &[u8]| {
    let Ok(plugin) = Plugin::new(module.to_vec()) else { return };
    let _ = check(&plugin);
    let (head, tail) = module.split_at(module.len() / 2);
    for buffers in [&[tail] as &[&[u8]], &[], &[tail, head]] {
        let _ = plugin.decode(&[], buffers, 100, 3..90, &limits());
    }
    let mut plugins = Plugins::new();
    plugins.add(plugin);
    let mut registry = Registry::standard();
    plugins.add_to(&mut registry);
    let format = Lance::with_encodings(registry);
    for file in FILES {
        let _ = rows(&format, &Bytes::from_static(file));
    }
});

/// What a plugin answers need not be the same for a scan and for single rows; but arrays are valid.
fn rows(format: &Lance, file: &Bytes) -> Result<()> {
    let table = &blocking::run(format.open(file.size(), &options()), file)?;
    read::rows(table, file, &read::scan(Projection::columns([0])))?;
    blocking::take(table.clone(), Arc::new(file.clone()), &[7, 0, 99], &Projection::columns([0]), &limits(), 1)?;
    Ok(())
}
