//! Modules as text.

use colkit_core::Result;
use colkit_plugin::Plugin;

/// What a module says about itself.
pub fn about(name: &str, examples: &str) -> String {
    format!(r#"{{"abi": 1, "name": "{name}", "version": "1.2", "about": "for tests", "examples": [{examples}]}}"#)
}

/// Three numbers, 5, 6 and 8.
pub const EXAMPLE: &str = r#"{"buffers": ["05000000000000000102"], "count": 3, "values": "050000000000000006000000000000000800000000000000"}"#;

/// A module with this section, memory and more; `decode` is the body of the function.
pub fn text(about: &str, form: i32, more: &str, decode: &str) -> String {
    let about = about.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        r#"(module
  (@custom "colkit.plugin" "{about}")
  (memory (export "memory") 2)
  {more}
  (func $fit (param $end i32) (local $pages i32)
    (local.set $pages (i32.div_u (i32.add (local.get $end) (i32.const 65535)) (i32.const 65536)))
    (if (i32.gt_u (local.get $pages) (memory.size))
      (then (drop (memory.grow (i32.sub (local.get $pages) (memory.size)))))))
  (func (export "colkit_form") (param i32 i32) (result i32) (i32.const {form}))
  (func (export "colkit_alloc") (param $length i32) (result i32)
    (call $fit (i32.add (i32.const 1024) (local.get $length)))
    (i32.const 1024))
  (func $answer (param $values i32) (param $bytes i32) (param $ends i32) (param $end_bytes i32) (result i32)
    (i32.store (i32.const 512) (i32.const 0))
    (i32.store (i32.const 516) (local.get $values))
    (i32.store (i32.const 520) (local.get $bytes))
    (i32.store (i32.const 524) (local.get $ends))
    (i32.store (i32.const 528) (local.get $end_bytes))
    (i32.const 512))
  (func (export "colkit_decode") (param $at i32) (param $length i32) (result i32)
    {decode}))"#
    )
}

/// The first number, then bytes to add.
pub const STEPS: &str = r#"
    (local $first i32) (local $wanted i32) (local $steps i32) (local $out i32) (local $i i32) (local $value i64)
    (local.set $first (i32.load offset=4 (local.get $at)))
    (local.set $wanted (i32.load offset=8 (local.get $at)))
    (local.set $steps (i32.add (local.get $at) (i32.load offset=24 (local.get $at))))
    (local.set $out (i32.and (i32.add (i32.add (local.get $at) (local.get $length)) (i32.const 31)) (i32.const -16)))
    (call $fit (i32.add (local.get $out) (i32.mul (local.get $wanted) (i32.const 8))))
    (if (i32.ne (i32.load offset=28 (local.get $at)) (i32.add (i32.load (local.get $at)) (i32.const 7)))
      (then
        (i32.store (i32.const 512) (i32.const 1))
        (i32.store (i32.const 516) (i32.const 600))
        (i32.store (i32.const 520) (i32.const 15))
        (return (i32.const 512))))
    (local.set $value (i64.load (local.get $steps)))
    (local.set $steps (i32.add (local.get $steps) (i32.const 8)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (i32.add (local.get $first) (local.get $wanted))))
        (if (i32.ge_u (local.get $i) (local.get $first))
          (then (i64.store
            (i32.add (local.get $out) (i32.mul (i32.sub (local.get $i) (local.get $first)) (i32.const 8)))
            (local.get $value))))
        (local.set $value
          (i64.add (local.get $value) (i64.load8_u (i32.add (local.get $steps) (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (call $answer (local.get $out) (i32.mul (local.get $wanted) (i32.const 8)) (i32.const 0) (i32.const 0))"#;

/// What `STEPS` answers, with every second number null: those in odd places of the chunk.
pub fn steps_with_nulls() -> String {
    let nulls =
        "(drop (call $answer (local.get $out) (i32.mul (local.get $wanted) (i32.const 8)) (i32.const 0) (i32.const 0)))
    (local.set $i (i32.add (local.get $out) (i32.mul (local.get $wanted) (i32.const 8))))
    (local.set $wanted (i32.div_u (i32.add (local.get $wanted) (i32.const 7)) (i32.const 8)))
    (call $fit (i32.add (local.get $i) (local.get $wanted)))
    (memory.fill (local.get $i)
      (select (i32.const 0xAA) (i32.const 0x55) (i32.and (local.get $first) (i32.const 1)))
      (local.get $wanted))
    (i32.store (i32.const 512) (i32.const 2))
    (i32.store (i32.const 532) (local.get $i))
    (i32.store (i32.const 536) (local.get $wanted))
    (i32.const 512)";
    let answer = STEPS.rfind("(call $answer").unwrap();
    format!("{}{nulls}", &STEPS[..answer])
}

/// The functions that encode `org.example.Steps`.
pub const STEPS_ENCODER: &str = r#"
  (func (export "colkit_plan") (param $at i32) (param $length i32) (result i32)
    (local $type i32) (local $values i32) (local $i i32)
    (local.set $type (i32.add (local.get $at) (i32.load offset=12 (local.get $at))))
    (local.set $values (i32.add (local.get $at) (i32.load offset=24 (local.get $at))))
    (i32.store (i32.const 512) (i32.const 1))
    (i32.store (i32.const 516) (i32.const 0))
    (i32.store (i32.const 520) (i32.const 0))
    (if (i32.or
          (i32.ne (i32.load offset=16 (local.get $at)) (i32.const 5))
          (i32.ne (i32.load (local.get $type)) (i32.const 0x36746e49)))
      (then (return (i32.const 512))))
    (local.set $i (i32.const 1))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (i32.load (local.get $at))))
        (if (i64.gt_u (call $step (local.get $values) (local.get $i)) (i64.const 255))
          (then (return (i32.const 512))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (call $answer (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
  (func $step (param $values i32) (param $i i32) (result i64)
    (local.set $values (i32.add (local.get $values) (i32.mul (local.get $i) (i32.const 8))))
    (i64.sub (i64.load (local.get $values)) (i64.load (i32.sub (local.get $values) (i32.const 8)))))
  (func (export "colkit_encode") (param $at i32) (param $length i32) (result i32)
    (local $values i32) (local $out i32) (local $i i32) (local $ends i32)
    (local.set $values (i32.add (local.get $at) (i32.load offset=24 (local.get $at))))
    (local.set $ends (i32.and (i32.add (i32.add (local.get $at) (local.get $length)) (i32.const 31)) (i32.const -16)))
    (local.set $out (i32.add (local.get $ends) (i32.const 16)))
    (call $fit (i32.add (local.get $out) (i32.mul (i32.load (local.get $at)) (i32.const 8))))
    (i64.store (local.get $out) (i64.load (local.get $values)))
    (local.set $i (i32.const 1))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (i32.load (local.get $at))))
        (i64.store8 offset=7 (i32.add (local.get $out) (local.get $i)) (call $step (local.get $values) (local.get $i)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $ends) (i32.const 0))
    (i32.store offset=4 (local.get $ends) (i32.add (i32.load (local.get $at)) (i32.const 7)))
    (call $answer (local.get $out) (i32.add (i32.load (local.get $at)) (i32.const 7)) (local.get $ends) (i32.const 8)))"#;

/// Texts of less than 256 bytes: a buffer with their lengths, and one with all bytes.
pub const SHORT: &str = r#"
    (local $lengths i32) (local $first i32) (local $wanted i32) (local $i i32) (local $from i32) (local $end i32) (local $out i32)
    (local.set $lengths (i32.add (local.get $at) (i32.load offset=24 (local.get $at))))
    (local.set $first (i32.load offset=4 (local.get $at)))
    (local.set $wanted (i32.load offset=8 (local.get $at)))
    (local.set $from (i32.add (local.get $at) (i32.load offset=32 (local.get $at))))
    (block $found
      (loop $next
        (br_if $found (i32.ge_u (local.get $i) (local.get $first)))
        (local.set $from (i32.add (local.get $from) (i32.load8_u (i32.add (local.get $lengths) (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.set $out (i32.and (i32.add (i32.add (local.get $at) (local.get $length)) (i32.const 31)) (i32.const -16)))
    (call $fit (i32.add (local.get $out) (i32.mul (i32.const 4) (i32.add (local.get $wanted) (i32.const 1)))))
    (local.set $lengths (i32.add (local.get $lengths) (local.get $first)))
    (local.set $i (i32.const 0))
    (i32.store (local.get $out) (i32.const 0))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $wanted)))
        (local.set $end (i32.add (local.get $end) (i32.load8_u (i32.add (local.get $lengths) (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (i32.store (i32.add (local.get $out) (i32.mul (local.get $i) (i32.const 4))) (local.get $end))
        (br $next)))
    (call $answer (local.get $from) (local.get $end)
      (local.get $out) (i32.mul (i32.const 4) (i32.add (local.get $wanted) (i32.const 1))))"#;

/// The module that decodes `org.example.Short`.
pub fn short() -> Vec<u8> {
    let example = r#"{"buffers": ["020001", "686973"], "count": 3, "values": "686973", "offsets": [0, 2, 2, 3]}"#;
    binary(&text(&about("org.example.Short", example), 0, "", SHORT))
}

/// Booleans as they are.
pub fn bits() -> Vec<u8> {
    let decode = "(call $answer (i32.add (local.get $at) (i32.add (i32.load offset=24 (local.get $at))
      (i32.div_u (i32.load offset=4 (local.get $at)) (i32.const 8)))) (i32.const 1) (i32.const 0) (i32.const 0))";
    let example = r#"{"buffers": ["05"], "count": 1, "values": "05"}"#;
    binary(&text(&about("org.example.Bits", example), 1, "", decode))
}

/// The module that decodes `org.example.Steps`, and encodes it.
pub fn steps_encoder() -> Vec<u8> {
    let more = format!("{STEPS_ENCODER}\n{MESSAGE}");
    let example = EXAMPLE.replace("\"count\"", "\"type\": \"Int64\", \"count\"");
    binary(&text(&about("org.example.Steps", &example), 64, &more, STEPS))
}

const MESSAGE: &str = r#"(data (i32.const 600) "too few of them")"#;

/// The module that decodes `org.example.Steps`.
pub fn steps() -> Vec<u8> {
    binary(&text(&about("org.example.Steps", EXAMPLE), 64, MESSAGE, STEPS))
}

/// A module with this body of `decode`, that says it decodes `org.example.Steps`.
pub fn with_decode(form: i32, more: &str, decode: &str) -> Vec<u8> {
    binary(&text(&about("org.example.Steps", ""), form, more, decode))
}

pub fn binary(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

pub fn plugin(bytes: Vec<u8>) -> Result<Plugin> {
    Plugin::new(bytes)
}
