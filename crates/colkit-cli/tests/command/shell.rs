//! The SQL shell on a terminal of its own, which `script` makes.

use super::run::Folder;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A shell that runs.
struct Shell {
    child: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<String>>,
}

impl Shell {
    fn start(folder: &Folder, arguments: &str) -> Option<Self> {
        Self::start_with(folder, arguments, &[])
    }

    fn start_with(folder: &Folder, arguments: &str, environment: &[(&str, &str)]) -> Option<Self> {
        Command::new("script").arg("--version").stdout(Stdio::null()).status().ok()?;
        let mut command = Command::new("script");
        // `exec`: a shell that stayed would get Ctrl-C too, and some end with its code whatever the command made of it.
        command.args(["-qefc", &format!("exec {} {arguments}", env!("CARGO_BIN_EXE_colkit")), "/dev/null"]);
        command
            .current_dir(folder.path(""))
            .env("HOME", folder.path(""))
            .env("TERM", "dumb")
            .env_remove("PAGER")
            .env_remove("LESS")
            .env_remove("XDG_STATE_HOME");
        command.envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let seen = Arc::new(Mutex::new(String::new()));
        let shared = seen.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                shared.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Some(Shell { child, keys, seen })
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until this has been written so many times.
    fn wait_for(&self, text: &str, times: usize) {
        let began = Instant::now();
        while self.seen().matches(text).count() < times {
            assert!(began.elapsed() < Duration::from_secs(60), "no {text:?} in {:?}", self.seen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses Ctrl-D at a prompt: pressed earlier, it may go unnoticed.
    fn leave(mut self) -> Option<i32> {
        let began = Instant::now();
        while !self.seen().ends_with("sql> ") {
            assert!(began.elapsed() < Duration::from_secs(60), "no prompt in {:?}", self.seen());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.press("\x04");
        self.ends(Duration::from_secs(20)).0
    }

    fn ends(mut self, within: Duration) -> (Option<i32>, String) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                std::thread::sleep(Duration::from_millis(50));
                return (status.code(), self.seen());
            }
            if began.elapsed() > within {
                let _ = self.child.kill();
                panic!("it does not end: {:?}", self.seen());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

const NEVER_ENDS: &str = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.value * b.value = 3";

#[test]
fn every_word_for_leaving_is_understood() {
    let folder = Folder::new();
    for word in ["exit\r", "quit;\r", "\\q\r", ".quit\r", "\x04"] {
        let Some(mut shell) = Shell::start(&folder, "sql") else { return };
        shell.wait_for("sql>", 1);
        shell.press(word);
        assert_eq!(shell.ends(Duration::from_secs(20)).0, Some(0), "{word:?}");
    }
}

#[test]
fn a_query_is_stopped_and_the_shell_goes_on() {
    let folder = Folder::new();
    let Some(mut shell) = Shell::start(&folder, "sql") else { return };
    shell.wait_for("sql>", 1);
    shell.press(&format!("{NEVER_ENDS};\r"));
    std::thread::sleep(Duration::from_millis(1500));
    let prompts = shell.seen().matches("sql>").count();
    shell.press("\x03");
    shell.wait_for("interrupted", 1);
    shell.wait_for("sql>", prompts + 1);
    shell.press("SELECT 40 + 2 AS answer;\r");
    shell.wait_for("42", 1);
    assert_eq!(shell.leave(), Some(0));
}

#[test]
fn tab_completes_words_and_files() {
    let folder = Folder::new();
    folder.write("trades-of-today.csv", "price\n7\n");
    let Some(mut shell) = Shell::start_with(&folder, "sql", &[("TERM", "xterm")]) else { return };
    shell.wait_for("sql>", 1);
    shell.press("summ\t 'tra\t");
    shell.wait_for("summarize", 1);
    shell.wait_for("trades-of-today.csv", 1);
    shell.press("';\r");
    shell.wait_for("price", 1);
    shell.press("exit\r");
    assert_eq!(shell.ends(Duration::from_secs(20)).0, Some(0));
}

#[test]
fn long_answers_are_cut_and_say_so() {
    let folder = Folder::new();
    let Some(mut shell) = Shell::start(&folder, "sql") else { return };
    shell.wait_for("sql>", 1);
    shell.press("SELECT value + 1000000 AS v FROM range(500) ORDER BY 1;\r");
    shell.wait_for("100 of 500 rows shown; .rows all shows all of them", 1);
    assert!(shell.seen().contains("1000099") && !shell.seen().contains("1000100"), "{}", shell.seen());
    shell.press(".rows all\r");
    shell.press("SELECT value + 1000000 AS v FROM range(500) ORDER BY 1;\r");
    shell.wait_for("1000499", 1);
    assert_eq!(shell.leave(), Some(0));
}

#[test]
fn a_query_outside_of_the_shell_ends_at_once() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("spill")).unwrap();
    let Some(mut shell) = Shell::start(&folder, &format!("sql \"{NEVER_ENDS}\" --spill-dir spill")) else { return };
    std::thread::sleep(Duration::from_millis(1500));
    shell.press("\x03");
    let (code, seen) = shell.ends(Duration::from_secs(3));
    assert_eq!(code, Some(130), "{seen}");
    assert_eq!(folder.path("spill").read_dir().unwrap().count(), 0);
}

/// Numbers from 1000000 on.
const NUMBERS: &str = "SELECT value + 1000000 AS v FROM range(500) ORDER BY 1";

#[test]
fn long_answers_go_to_the_pager() {
    let folder = Folder::new();
    let pager = &[("PAGER", "sed s/^/paged:/")];
    let Some(shell) = Shell::start_with(&folder, &format!("sql \"{NUMBERS}\""), pager) else { return };
    let (code, seen) = shell.ends(Duration::from_secs(30));
    assert!(code == Some(0) && seen.contains("paged:1000000") && seen.contains("paged:1000499"), "{seen}");
    let without = Shell::start_with(&folder, &format!("sql --no-pager \"{NUMBERS}\""), pager).unwrap();
    let (code, seen) = without.ends(Duration::from_secs(30));
    assert!(code == Some(0) && seen.contains("1000499") && !seen.contains("paged"), "{seen}");
    let short = Shell::start_with(&folder, "sql 'SELECT 42 AS answer'", pager).unwrap();
    let (code, seen) = short.ends(Duration::from_secs(30));
    assert!(code == Some(0) && seen.contains("42") && !seen.contains("paged"), "{seen}");
}

#[test]
fn a_pager_may_be_left_early_or_missing() {
    let folder = Folder::new();
    let query = "sql \"SELECT value + 1000000 AS v FROM range(300000) ORDER BY 1\"";
    let Some(shell) = Shell::start_with(&folder, query, &[("PAGER", "head -n 5")]) else { return };
    let (code, seen) = shell.ends(Duration::from_secs(60));
    assert!(code == Some(0) && seen.contains("1000001") && !seen.contains("error"), "{seen}");
    let missing = Shell::start_with(&folder, query, &[("PAGER", "no-such-pager")]).unwrap();
    let (code, seen) = missing.ends(Duration::from_secs(60));
    assert!(code == Some(0) && seen.contains("no-such-pager") && seen.contains("--no-pager"), "{seen}");
}

#[test]
fn the_shell_pages_whole_answers_until_rows_says_how_many() {
    let folder = Folder::new();
    let Some(mut shell) = Shell::start_with(&folder, "sql", &[("PAGER", "sed s/^/paged:/")]) else { return };
    shell.wait_for("sql>", 1);
    shell.press(&format!("{NUMBERS};\r"));
    shell.wait_for("paged:1000499", 1);
    shell.press(".rows 10\r");
    shell.press(&format!("{NUMBERS};\r"));
    shell.wait_for("10 of 500 rows shown", 1);
    assert_eq!(shell.leave(), Some(0));
}

#[test]
fn a_long_query_shows_that_it_runs() {
    let folder = Folder::new();
    // A dumb terminal has no lines that change.
    let terminal = &[("TERM", "xterm")];
    let Some(mut shell) = Shell::start_with(&folder, &format!("sql \"{NEVER_ENDS}\""), terminal) else { return };
    shell.wait_for("querying for", 1);
    shell.press("\x03");
    shell.ends(Duration::from_secs(10));
    let mut quiet = Shell::start_with(&folder, &format!("--quiet sql \"{NEVER_ENDS}\""), terminal).unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    quiet.press("\x03");
    let (_, seen) = quiet.ends(Duration::from_secs(10));
    assert!(!seen.contains("querying"), "{seen}");
}
