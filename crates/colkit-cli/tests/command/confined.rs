//! The real command with little address space and time.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Seconds of processor time; and how long to wait for them on a machine that has other things to do.
const SECONDS: u64 = 10;
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs `colkit` with this many MiB of address space: code, stacks and all.
pub fn run(arguments: &[&str], mib: u64) -> Output {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("ulimit -v {}; ulimit -t {SECONDS}; ulimit -c 0; exec \"$0\" \"$@\"", mib << 10)]);
    // The C library would reserve 64 MiB of address space for each thread, whether it uses them or not.
    command.env("MALLOC_ARENA_MAX", "1");
    command.arg(env!("CARGO_BIN_EXE_colkit")).args(arguments);
    // The verdict of `verify` is its output; that of the others may be long.
    let output = if arguments[0] == "verify" { Stdio::piped() } else { Stdio::null() };
    let mut child = command.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{arguments:?} did not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

/// What the command said, and its exit code: it ends by itself, without a panic, and says why if it failed.
pub fn said(arguments: &[&str], mib: u64) -> (i32, String) {
    let output = run(arguments, mib);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let code = output.status.code().unwrap_or_else(|| panic!("{arguments:?}: {:?}: {said}", output.status));
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    let error = if arguments.contains(&"--json") { "\"error\":" } else { "error: " };
    assert_eq!(said.contains(error), code != 0, "{arguments:?}: exit code {code}: {said}");
    (code, said)
}
