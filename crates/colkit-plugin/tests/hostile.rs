//! Modules that mean harm, or are only wrong: each is an error that says what it did.

use crate::modules::{STEPS, about, binary, steps, text, with_decode};
use crate::steps::{file, open};
use colkit_core::{Error, Projection, Scan};
use colkit_plugin::{Plugin, Plugins};
use std::time::{Duration, Instant};

/// What reading a file with this plugin says, within bounded time.
fn refused(module: Vec<u8>) -> Error {
    let start = Instant::now();
    let plugin = match Plugin::new(module) {
        Ok(plugin) => plugin,
        Err(e) => return e,
    };
    let mut plugins = Plugins::new();
    plugins.add(plugin);
    let file = open(&file(None), &plugins).unwrap().with_threads(1);
    let error = file.take(&[0, 5], &Projection::columns([0])).unwrap_err();
    let scanned = file.scan(&Scan::default()).and_then(|mut batches| batches.try_for_each(|b| b.map(drop)));
    assert!(scanned.is_err());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert!(file.take(&[0, 5], &Projection::columns([1])).is_ok(), "other columns can be read");
    error
}

fn assert_refused(module: Vec<u8>, code: &str, says: &str) {
    let error = refused(module);
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(says), "{error} lacks {says:?}");
    if code == "plugin_failed" {
        assert!(error.to_string().contains("org.example.Steps"), "{error}");
    }
}

#[test]
fn it_never_ends() {
    assert_refused(with_decode(64, "", "(loop $l (br $l)) (i32.const 0)"), "plugin_failed", "longer than");
    let form = text(&about("org.example.Steps", ""), 64, "", STEPS)
        .replace("(i32.const 64))", "(loop $l (br $l)) (i32.const 64))");
    assert_refused(binary(&form), "plugin_failed", "longer than");
}

#[test]
fn it_wants_all_memory() {
    let grow = "(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)";
    assert_refused(with_decode(64, "", grow), "plugin_failed", "more memory");
    let large = text(&about("org.example.Steps", ""), 64, "", STEPS).replace("\"memory\") 2)", "\"memory\") 65000)");
    assert_refused(binary(&large), "plugin_failed", "more memory");
}

#[test]
fn it_reaches_outside() {
    assert_refused(with_decode(64, "", "(i32.load (i32.const -8))"), "plugin_failed", "outside of its memory");
    assert_refused(with_decode(64, "", "(i32.const -8)"), "plugin_failed", "outside of its memory");
    let values = "(call $answer (i32.const 100000) (i32.const 100000000) (i32.const 0) (i32.const 0))";
    assert_refused(with_decode(64, "", values), "plugin_failed", "outside of its memory");
    let alloc = text(&about("org.example.Steps", ""), 64, "", STEPS)
        .replace("(i32.const 1024))\n  (func $answer", "(i32.const -16))\n  (func $answer");
    assert_refused(binary(&alloc), "plugin_failed", "does not have");
}

#[test]
fn it_calls_itself_without_end() {
    let more = "(func $deep (result i32) (i32.add (call $deep) (i32.const 1)))";
    assert_refused(with_decode(64, more, "(call $deep)"), "plugin_failed", "too deep");
}

#[test]
fn it_gives_too_few_values_or_too_many() {
    for bytes in [0, 8, 4096, 100_000] {
        let decode = format!("(call $answer (i32.const 0) (i32.const {bytes}) (i32.const 0) (i32.const 0))");
        assert_refused(with_decode(64, "", &decode), "plugin_failed", "bytes for");
    }
    assert_refused(with_decode(7, "", "(i32.const 0)"), "plugin_failed", "7 bits");
    assert_refused(with_decode(-1, "", "(i32.const 0)"), "plugin_failed", "description");
}

#[test]
fn it_gives_texts_where_numbers_are() {
    let decode = "(call $answer (i32.const 0) (i32.const 0) (i32.const 2048) (i32.mul (i32.const 4) \
                  (i32.add (i32.const 1) (i32.load offset=8 (local.get $at)))))";
    let fit = "(call $fit (i32.const 200000))";
    let error = refused(with_decode(
        0,
        "",
        &format!("{fit} (memory.fill (i32.const 2048) (i32.const 0) (i32.const 100000)) {decode}"),
    ));
    assert_eq!(error.code(), "wrong_encoding", "{error}");
}

#[test]
fn its_ends_are_wrong() {
    let ends = |fill: &str| {
        let decode = format!(
            "(call $fit (i32.const 400000)) (memory.fill (i32.const 2048) (i32.const {fill}) (i32.const 300000)) \
             (call $answer (i32.const 0) (i32.const 8) (i32.const 2048) (i32.mul (i32.const 4) \
             (i32.add (i32.const 1) (i32.load offset=8 (local.get $at)))))"
        );
        with_decode(0, "", &decode)
    };
    assert_refused(ends("255"), "plugin_failed", "ends of its values");
    assert_refused(ends("0"), "plugin_failed", "ends of its values");
    let none = with_decode(0, "", "(call $answer (i32.const 0) (i32.const 8) (i32.const 0) (i32.const 0))");
    assert_refused(none, "plugin_failed", "bytes for");
}

#[test]
fn it_answers_differently_the_second_time() {
    let more = "(global $calls (mut i32) (i32.const 0))";
    let decode = STEPS.replace(
        "(local.set $value (i64.load (local.get $steps)))",
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (local.set $value (i64.add (i64.load (local.get $steps)) (i64.extend_i32_u (global.get $calls))))",
    );
    assert_refused(with_decode(64, more, &decode), "plugin_failed", "differently");
}

#[test]
fn it_says_that_it_failed() {
    let decode = "(i32.store (i32.const 512) (i32.const 1)) (i32.store (i32.const 516) (i32.const 600))
                  (i32.store (i32.const 520) (i32.const 4)) (i32.const 512)";
    let more = r#"(data (i32.const 600) "oh\00\ff")"#;
    assert_refused(with_decode(64, more, decode), "plugin_failed", "it says \"oh");
    assert_refused(with_decode(64, "", "(unreachable)"), "plugin_failed", "it stopped");
}

#[test]
fn modules_that_are_not_even_compiled() {
    let with = |more: &str| {
        let whole = text(&about("org.example.Steps", ""), 64, "", STEPS);
        // Imports come before everything that is defined.
        binary(&whole.replacen("(memory (export", &format!("{more}\n  (memory (export"), 1))
    };
    assert_refused(with(r#"(import "env" "clock" (func (result i64)))"#), "bad_plugin", "imports");
    assert_refused(with(r#"(import "env" "memory" (memory 1))"#), "bad_plugin", "imports");
    assert_refused(with("(func $run) (start $run)"), "bad_plugin", "start function");
    assert_refused(with(&"(func)".repeat(100_000)), "bad_plugin", "functions");
    assert_refused(binary("(module)"), "bad_plugin", "no section");
    assert_refused(b"\0asm\x01\0\0\0\x00\xFF\xFF\xFF\xFF\x0F".to_vec(), "bad_plugin", "beyond the module");
    assert_refused(b"PNG".to_vec(), "bad_plugin", "not a WebAssembly module");
    let mut large = steps();
    large.resize(9 << 20, 0);
    assert_refused(large, "bad_plugin", "bytes; ");
}

#[test]
fn modules_that_lack_a_function() {
    let whole = text(&about("org.example.Steps", ""), 64, "", STEPS);
    for name in ["colkit_decode", "colkit_alloc", "colkit_form", "memory"] {
        let module = binary(&whole.replace(&format!("\"{name}\""), "\"other\""));
        let error = refused(module);
        assert_eq!(error.code(), "bad_plugin", "{error}");
    }
}

#[test]
fn any_changed_byte_is_an_error_or_the_right_values() {
    let good = steps();
    let bytes = file(None);
    let step = if std::env::var_os("COLKIT_EVERY_BYTE").is_some() { 1 } else { 11 };
    for at in (0..good.len()).step_by(step) {
        let mut module = good.clone();
        module[at] ^= 1 << (at % 8);
        let Ok(plugin) = Plugin::new(module) else { continue };
        let mut plugins = Plugins::new();
        plugins.add(plugin);
        // Other values are the module's right; what matters is that this returns.
        if let Ok(file) = open(&bytes, &plugins) {
            let _ = file.with_threads(1).take(&[0, 29_999], &Projection::columns([0]));
        }
    }
}
