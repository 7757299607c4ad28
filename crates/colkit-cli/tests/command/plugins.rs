//! Columns that only a plugin decodes. `readings.lance` uses `org.example.Steps` and brings `steps.wasm`, its decoder: both are
//! written by a test of the crate `colkit-plugin` when `COLKIT_WRITE_SAMPLES` names a folder.

use super::run::Folder;

const FILE: &[u8] = include_bytes!("../data/readings.lance");
const PLUGIN: &[u8] = include_bytes!("../data/steps.wasm");

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("readings.lance", FILE);
    folder.write("steps.wasm", PLUGIN);
    folder
}

#[test]
fn a_plugin_is_named() {
    let folder = folder();
    let said = folder.ok(&["take", "readings.lance", "--rows", "0,299", "--plugin", "steps.wasm"]);
    assert_eq!(said.out, "n,t\n1099511627776,text 0\n1099511662286,text 8\n");
    folder.ok(&["convert", "readings.lance", "plain.lance", "--plugin", "steps.wasm"]);
    folder.ok(&["diff", "readings.lance", "plain.lance", "--plugin", "steps.wasm"]);
    folder.ok(&["count", "plain.lance"]);
    folder.ok(&["verify", "readings.lance", "--plugin", "steps.wasm"]);
}

#[cfg(feature = "sql")]
#[test]
fn queries_use_plugins() {
    let folder = folder();
    let sum = folder.ok(&["sql", "select sum(n) as s from 'readings.lance'", "--plugin", "steps.wasm"]);
    assert_eq!(sum.out, "s\n329853493609610\n");
}

#[test]
fn what_the_file_brings_runs_only_when_told() {
    let folder = folder();
    let refused = folder.run(&["cat", "readings.lance"]);
    assert_eq!(refused.code, 1);
    let hash = "SHA-256 ";
    for part in ["plugin_refused", "org.example.Steps", hash, "columns that need it: \"n\"", "--allow-embedded-plugins"]
    {
        assert!(refused.err.contains(part), "{part:?} is not in {}", refused.err);
    }
    let hash: String = refused.err.split(hash).nth(1).unwrap().chars().take(64).collect();
    assert_eq!(folder.ok(&["cat", "readings.lance", "--columns", "t", "--rows", "..1"]).out, "t\ntext 0\n");
    let all = folder.ok(&["cat", "readings.lance", "--allow-embedded-plugins"]);
    assert_eq!(all.out.lines().count(), 301);
    let named = folder.ok(&["cat", "readings.lance", "--allow-plugin", &hash]);
    assert_eq!(named.out, all.out);
    let other = "0".repeat(64);
    assert_eq!(folder.run(&["cat", "readings.lance", "--allow-plugin", &other]).code, 1);
    assert_eq!(folder.run(&["cat", "readings.lance", "--allow-plugin", "12"]).code, 2);
}

#[test]
fn plugins_are_listed_and_checked() {
    let folder = folder();
    let said = folder.ok(&["plugins", "check", "steps.wasm"]);
    assert!(said.out.contains("org.example.Steps 1.2") && said.out.contains("1 example decoded"), "{}", said.out);
    let json = folder.ok(&["plugins", "--json", "check", "steps.wasm"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&json["name"], &json["examples"]), (&"org.example.Steps".into(), &1.into()));
    folder.write("bad.wasm", "no module");
    let said = folder.run(&["plugins", "check", "bad.wasm"]);
    assert!(said.code == 1 && said.err.contains("bad_plugin") && said.err.contains("bad.wasm"), "{}", said.err);
    assert_eq!(folder.run(&["cat", "readings.lance", "--plugin", "bad.wasm"]).code, 1);
    assert_eq!(folder.run(&["cat", "readings.lance", "--plugin", "missing.wasm"]).code, 1);
}

#[test]
fn folders_are_searched() {
    let folder = folder();
    std::fs::create_dir_all(folder.path("own/colkit/plugins")).unwrap();
    let run = |variable: &str, value: &str, args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_colkit"));
        let empty = folder.path("none");
        command.env("XDG_CONFIG_HOME", &empty).env_remove("COLKIT_PLUGINS").env(variable, folder.path(value));
        let output = command.args(args).current_dir(folder.path("")).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run("COLKIT_PLUGINS", "own", &["plugins"]), (true, String::new()));
    let (ok, listed) = run("COLKIT_PLUGINS", "", &["plugins"]);
    assert!(ok && listed.contains("org.example.Steps"), "{listed}");
    assert!(run("COLKIT_PLUGINS", "", &["cat", "readings.lance"]).0);
    std::fs::copy(folder.path("steps.wasm"), folder.path("own/colkit/plugins/steps.wasm")).unwrap();
    assert!(run("XDG_CONFIG_HOME", "own", &["cat", "readings.lance"]).0);
    assert!(!run("XDG_CONFIG_HOME", "none", &["cat", "readings.lance"]).0);
}

#[test]
fn inspect_shows_which_columns_need_one() {
    let folder = folder();
    let with = folder.ok(&["inspect", "--layout", "readings.lance", "--plugin", "steps.wasm"]).out;
    for part in ["plugin(org.example.Steps)", "colkit.plugin.org.example.Steps", "which is loaded (SHA-256 "] {
        assert!(with.contains(part), "{part:?} is not in {with}");
    }
    let without = folder.ok(&["inspect", "--layout", "readings.lance"]).out;
    let note = "note: column needs the plugin org.example.Steps, which the file brings; --allow-embedded-plugins runs it (SHA-256 ";
    for part in ["plugin(org.example.Steps)", note, "): \"n\"\n"] {
        assert!(without.contains(part), "{part:?} is not in {without}");
    }
    let json = folder.ok(&["inspect", "--json", "readings.lance"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let plugin = &json["plugins"][0];
    assert_eq!((&plugin["name"], &plugin["state"]), (&"org.example.Steps".into(), &"refused".into()));
    assert_eq!(plugin["columns"], serde_json::json!(["n"]));
}
