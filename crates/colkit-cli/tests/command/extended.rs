//! Encodings beyond those of Lance: written by the command, read by it and by readers that know none of them.

use super::run::Folder;
use colkit::arrow::compute::concat_batches;
use colkit::arrow::record_batch::RecordBatch;
use colkit::lance::Lance;
use colkit::lance::encoding::Registry as Encodings;
use colkit::plugin::{Plugin, Plugins, check};
use colkit::{OpenFile, OpenOptions, Registry};
use std::fmt::Write;

/// Numbers without a pattern.
fn scrambled(i: u64) -> u64 {
    let once = (i ^ i >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let twice = (once ^ once >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    twice ^ twice >> 31
}

/// A table for which three of them are made.
fn csv(rows: u64) -> String {
    let mut csv = String::from("key,time,price,note\n");
    for i in 0..rows {
        let random = scrambled(i << 32);
        let (price, cents) = (random >> 40 & 511, random >> 20 & 63);
        let (key, time) = (1_000_000_000_000 + random % 40_000, 1_700_000_000 + i * 3 + random % 3);
        let words = ["carefully", "final", "deposits", "sleep"];
        let word = |n: u64| words[usize::try_from(random >> (8 + 2 * n) & 3).unwrap()];
        let note: Vec<&str> = (0..2 + random % 5).map(word).collect();
        writeln!(csv, "{key},{time},{price}.{cents:02},{} {i}", note.join(" ")).unwrap();
    }
    csv
}

/// Numbers that are mostly near the middle, which only pco sees. Its decoder is large, so there are many.
fn noise() -> String {
    let mut csv = String::from("noise\n");
    for i in 0..1_000_000 {
        let noise: u64 = (0..8).map(|n| scrambled(8 * i + n) >> 37).sum();
        writeln!(csv, "{noise}").unwrap();
    }
    csv
}

/// All rows, in one batch.
fn all(file: &OpenFile) -> RecordBatch {
    let batches: Vec<RecordBatch> = file.scan().batches().unwrap().map(Result::unwrap).collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// A registry as of a colkit that has none of these encodings.
fn without(plugins: &Plugins) -> Registry {
    let mut encodings = Encodings::standard();
    plugins.add_to(&mut encodings);
    Registry::default().configured(Lance::with_encodings(encodings))
}

#[test]
fn readers_without_them_use_the_modules_in_the_file() {
    let folder = Folder::new();
    folder.write("table.csv", csv(200_000));
    folder.write("noise.csv", noise());
    for (name, prefer, expected) in
        [("table", "balance", vec!["frame(64)", "alp(64)", "text(fsst)"]), ("noise", "size", vec!["pco("])]
    {
        let (source, plain, extended) = (format!("{name}.csv"), format!("{name}.lance"), format!("{name}-x.lance"));
        folder.ok(&["convert", &source, &plain, "--prefer", prefer]);
        let said = folder.ok(&["convert", &source, &extended, "--encodings", "extended", "--prefer", prefer]);
        assert_eq!(said.err.matches("stock Lance cannot read").count(), 1, "{}", said.err);
        folder.ok(&["verify", &extended]);
        let size = |name: &str| std::fs::metadata(folder.path(name)).unwrap().len();
        assert!(size(&extended) < size(&plain), "{} against {}", size(&extended), size(&plain));
        let shown = folder.ok(&["inspect", "--layout", &extended]).out;
        assert!(expected.iter().all(|name| shown.contains(name)), "{shown}");

        let plain = colkit::open(folder.path(&plain)).unwrap();
        assert!(all(&colkit::open(folder.path(&extended)).unwrap()) == all(&plain), "{name}: other values");
        let open = |plugins: Plugins| {
            OpenOptions::new().with_registry(without(&plugins)).open(folder.path(&extended)).unwrap()
        };
        let allowed = open(Plugins::new().allow_embedded());
        assert!(all(&allowed) == all(&plain), "{name}: other values by plugins");
        let rows: Vec<u64> = (0..200_000).step_by(7919).collect();
        assert_eq!(allowed.take(rows.clone()).batch().unwrap(), plain.take(rows).batch().unwrap());
        let refused = open(Plugins::new()).take([5]).batch().unwrap_err();
        assert_eq!(refused.code(), "plugin_refused", "{refused}");
        assert!(refused.to_string().contains("colkit."), "{refused}");
    }
}

#[test]
fn a_plugin_that_encodes_is_one_more_to_choose_from() {
    let folder = Folder::new();
    let mut table = String::from("n\n");
    (0..30_000).fold(1 << 40, |at, i| {
        writeln!(table, "{at}").unwrap();
        at + scrambled(i) % 256
    });
    folder.write("t.csv", table);
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../colkit-plugin/tests/data/encoder.wasm");
    let convert = ["convert", "t.csv", "t.lance", "--encodings", "extended", "--prefer", "size", "--force"];
    folder.ok(&convert);
    let layout = ["inspect", "--layout", "t.lance"];
    assert!(!folder.ok(&layout).out.contains("org.example.Steps"), "nobody brought it");
    let size = || std::fs::metadata(folder.path("t.lance")).unwrap().len();
    let before = size();
    let said = folder.ok(&[&convert[..], &["--plugin", plugin]].concat());
    assert!(said.err.contains("stock Lance cannot read this file"), "{}", said.err);
    assert!(folder.ok(&layout).out.contains("plugin(org.example.Steps)"), "{}", folder.ok(&layout).out);
    assert!(size() < before, "{} against {before}", size());
    let refused = folder.run(&["cat", "t.lance"]);
    assert_eq!((refused.code, refused.err.contains("plugin_refused")), (1, true), "{}", refused.err);
    for allowed in [&["--allow-embedded-plugins"][..], &["--plugin", plugin]] {
        folder.ok(&[&["diff", "t.csv", "t.lance"], allowed].concat());
    }
    // Without the option it is not asked.
    folder.ok(&["convert", "t.csv", "t.lance", "--force", "--plugin", plugin]);
    assert!(!folder.ok(&layout).out.contains("plugin("));
}

#[test]
fn small_files_stay_readable_by_everybody() {
    let folder = Folder::new();
    folder.write("t.csv", csv(100).as_bytes());
    let said = folder.ok(&["convert", "t.csv", "t.lance", "--encodings", "extended"]);
    assert!(!said.err.contains("stock Lance"), "{}", said.err);
    folder.ok(&["convert", "t.csv", "u.lance", "--encodings", "lance"]);
    assert_eq!(std::fs::read(folder.path("t.lance")).unwrap(), std::fs::read(folder.path("u.lance")).unwrap());
    let wrong = folder.run(&["convert", "t.csv", "t.parquet", "--encodings", "extended"]);
    assert_eq!((wrong.code, wrong.err.contains("option_of_another_format")), (2, true), "{}", wrong.err);
}

#[test]
fn datasets_have_them_too() {
    let folder = Folder::new();
    folder.write("t.csv", csv(30_000));
    let said = folder.ok(&["convert", "t.csv", "d.lance/", "--encodings", "extended"]);
    assert!(said.err.contains("stock Lance cannot read"), "{}", said.err);
    folder.ok(&["diff", "t.csv", "d.lance"]);
}

#[test]
fn descriptions_are_shared() {
    let folder = Folder::new();
    let names: Vec<String> = (0..500).map(|c| format!("c{c}")).collect();
    let rows: Vec<String> =
        (0..20).map(|r| (0..500).map(|c| (r * c).to_string()).collect::<Vec<_>>().join(",")).collect();
    folder.write("t.csv", format!("{}\n{}\n", names.join(","), rows.join("\n")).as_bytes());
    folder.ok(&["convert", "t.csv", "plain.lance"]);
    let said = folder.ok(&["convert", "t.csv", "shared.lance", "--deferred-encodings"]);
    assert!(said.err.contains("stock Lance refuses this file"), "{}", said.err);
    let size = |name: &str| std::fs::metadata(folder.path(name)).unwrap().len();
    assert!(size("shared.lance") + 500 * 60 < size("plain.lance"), "{} {}", size("shared.lance"), size("plain.lance"));
    folder.ok(&["diff", "plain.lance", "shared.lance"]);
    folder.ok(&["verify", "shared.lance"]);
}

#[test]
fn the_modules_are_good_plugins() {
    let modules = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../colkit-lance/src/extended/modules");
    for name in ["alp", "frame", "pco", "text"] {
        let plugin = Plugin::new(std::fs::read(modules.join(name).with_extension("wasm")).unwrap()).unwrap();
        let hash = std::fs::read_to_string(modules.join(name).with_extension("sha256")).unwrap();
        assert_eq!(plugin.hash(), hash.trim(), "{name}: run plugins/build.sh");
        check(&plugin).unwrap();
    }
}

/// Modules that `plugins/build.sh` has just built, in the folder that this names. `tests/plugins.sh` does both.
#[test]
#[ignore = "needs modules in COLKIT_REBUILT_MODULES"]
fn rebuilt_modules_decode_the_same() {
    let rebuilt = std::path::PathBuf::from(std::env::var_os("COLKIT_REBUILT_MODULES").unwrap());
    let folder = Folder::new();
    folder.write("table.csv", csv(200_000));
    folder.write("noise.csv", noise());
    let mut plugins = Plugins::new();
    for name in ["alp", "frame", "pco", "text"] {
        let file = rebuilt.join(name).with_extension("wasm");
        check(&Plugin::new(std::fs::read(&file).unwrap()).unwrap()).unwrap();
        plugins.add_file(file).unwrap();
    }
    for (source, prefer) in [("table.csv", "balance"), ("noise.csv", "size")] {
        folder.ok(&["convert", source, "t.lance", "--force", "--encodings", "extended", "--prefer", prefer]);
        let native = colkit::open(folder.path("t.lance")).unwrap();
        let other = OpenOptions::new().with_registry(without(&plugins)).open(folder.path("t.lance")).unwrap();
        assert!(all(&native) == all(&other), "{source}");
    }
}
