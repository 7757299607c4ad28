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
    let about = about.replace('"', "\\\"");
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

/// The module that decodes `org.example.Steps`.
pub fn steps() -> Vec<u8> {
    let message = r#"(data (i32.const 600) "too few of them")"#;
    binary(&text(&about("org.example.Steps", EXAMPLE), 64, message, STEPS))
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
