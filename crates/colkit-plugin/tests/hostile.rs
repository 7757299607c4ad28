//! Modules that mean harm, or are only wrong: each is an error that says what it did.

use crate::modules::{SHORT, STEPS, about, binary, steps, steps_with_nulls, text, with_decode};
use crate::steps::{file, open, open_with, plugins, texts_file};
use colkit_core::{Error, Limits, Projection, ReadOptions, Scan};
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
fn it_wants_more_memory_than_the_reader_may_have() {
    let options = ReadOptions { limits: Limits { memory: 4 << 20, ..Limits::default() }, ..ReadOptions::default() };
    let grow = "(drop (memory.grow (i32.const 100))) (unreachable)";
    let hungry = plugins([with_decode(64, "", grow)]);
    let file = open_with(&file(None), &hungry, &options).unwrap();
    let error = file.take(&[0], &Projection::columns([0])).unwrap_err();
    assert!(error.code() == "plugin_failed" && error.to_string().contains("4194304 bytes"), "{error}");
}

#[test]
fn it_gives_more_than_the_reader_may_have() {
    // Zeros cost it nothing: they are in its memory from the start.
    let zeros = SHORT.replace("(call $answer (local.get $from) (local.get $end)", "(i32.store (i32.add (local.get $out) \
         (i32.mul (local.get $wanted) (i32.const 4))) (i32.const 60000000)) (call $answer (i32.const 65536) (i32.const 60000000)");
    let module = text(&about("org.example.Short", ""), 0, "", &zeros).replace("\"memory\") 2)", "\"memory\") 1000)");
    let options = ReadOptions { limits: Limits { memory: 100 << 20, ..Limits::default() }, ..ReadOptions::default() };
    let file = open_with(&texts_file(), &plugins([binary(&module)]), &options).unwrap();
    let scanned = file.scan(&Scan::default()).and_then(|mut batches| batches.try_for_each(|b| b.map(drop)));
    assert_eq!(scanned.unwrap_err().code(), "limit_exceeded");
}

#[test]
fn it_has_many_tables() {
    let large = "(table 90000 funcref)";
    assert_refused(with_decode(64, &large.repeat(100), STEPS), "bad_plugin", "cannot be started");
    assert_refused(with_decode(64, "(table 10000000 funcref)", STEPS), "bad_plugin", "cannot be started");
}

#[test]
fn it_fills_memory_again_and_again() {
    let fill = "(call $fit (i32.const 60000000)) (loop $l (memory.fill (i32.const 65536) (i32.const 1) (i32.const 50000000)) \
                (memory.copy (i32.const 65536) (i32.const 65537) (i32.const 50000000)) (br $l)) (i32.const 0)";
    assert_refused(with_decode(64, "", fill), "plugin_failed", "longer than");
    let grow = "(loop $l (drop (memory.grow (i32.const 0))) (br $l)) (i32.const 0)";
    assert_refused(with_decode(64, "", grow), "plugin_failed", "longer than");
}

#[test]
fn its_texts_are_none() {
    let module = |decode: &str| binary(&text(&about("org.example.Short", ""), 0, "", decode));
    let error = |module| {
        let file = open(&texts_file(), &plugins([module])).unwrap();
        assert!(file.scan(&Scan::default()).and_then(|mut b| b.try_for_each(|b| b.map(drop))).is_err());
        file.take(&[0, 1, 2], &Projection::all()).unwrap_err()
    };
    let call = "(call $answer (local.get $from)";
    let garbage = format!("(memory.fill (local.get $from) (i32.const 0xFF) (local.get $end)) {call}");
    let found = error(module(&SHORT.replace(call, &garbage)));
    assert_eq!(found.code(), "bad_values", "{found}");
    // The first value ends within the character that it begins with.
    let cut = format!("(i32.store offset=4 (local.get $out) (i32.const 1)) {call}");
    let found = error(module(&SHORT.replace(call, &cut)));
    assert_eq!(found.code(), "bad_values", "{found}");
    for wrong in ["offset=4 (local.get $out) (i32.const -1)", "(local.get $out) (i32.const 1)"] {
        let found = error(module(&SHORT.replace(call, &format!("(i32.store {wrong}) {call}"))));
        assert_eq!(found.code(), "plugin_failed", "{found}");
    }
}

#[test]
fn its_nulls_are_wrong() {
    let nulls = steps_with_nulls();
    // The column has none.
    assert_eq!(refused(with_decode(64, "", &nulls)).code(), "bad_values");
    let short =
        nulls.replace("(i32.store (i32.const 536) (local.get $wanted))", "(i32.store (i32.const 536) (i32.const 0))");
    assert_refused(with_decode(64, "", &short), "plugin_failed", "0 bytes for the nulls");
    let outside =
        nulls.replace("(i32.store (i32.const 532) (local.get $i))", "(i32.store (i32.const 532) (i32.const -4))");
    assert_refused(with_decode(64, "", &outside), "plugin_failed", "outside of its memory");
    let status = "(i32.store (i32.const 512) (i32.const 3)) (i32.const 512)";
    assert_refused(with_decode(64, "", status), "plugin_failed", "another number");
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
    let body = "(drop (i32.const 7))".repeat(50_000);
    assert_refused(with(&format!("(func {body})")), "bad_plugin", "a function of 15000");
    let nested = format!("(func {} {})", "block ".repeat(2000), "end ".repeat(2000));
    assert_refused(with(&nested), "bad_plugin", "within each other");
    let branches =
        format!("(func (param i32) (local {}) {})", "i64 ".repeat(2000), "local.get 0 if nop end ".repeat(2000));
    assert_refused(with(&branches), "bad_plugin", "would take too long");
    let one = with("(func (export \"colkit_plan\") (param i32 i32) (result i32) (i32.const 0))");
    assert_refused(one, "bad_plugin", "but not the other");
    let mut large = steps();
    large.resize(5 << 20, 0);
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
