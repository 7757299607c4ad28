//! Running `colkit` in a folder of its own.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A table that every format can store: whole numbers, fractions and text.
pub const TRADES: &str = "sym,price,quantity,note
BTC,44000.5,3,\"a, b\"
ETH,2500.25,10,
ÖRE,-0.5,7,\"line
break\"
BTC,44001.0,1,\"say \"\"hi\"\"\"
";

/// A folder with files, gone at the end of the test.
pub struct Folder(tempfile::TempDir);

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
    pub raw: Vec<u8>,
}

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// One with `trades.csv` in it.
    pub fn with_trades() -> Self {
        let folder = Self::new();
        folder.write("trades.csv", TRADES);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The names of all files, hidden ones too, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn run(&self, arguments: &[&str]) -> Said {
        self.run_with(arguments, b"")
    }

    /// Runs with this on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> Said {
        self.run_in(&[], arguments, input)
    }

    /// Runs with these variables in the environment and this on standard input.
    pub fn run_in(&self, environment: &[(&str, String)], arguments: &[&str], input: &[u8]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_colkit"));
        command.args(arguments).current_dir(self.0.path());
        command.envs(environment.iter().map(|(name, value)| (*name, value.as_str())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeding = std::thread::spawn(move || {
            // A command that fails early need not read its input.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        feeding.join().unwrap();
        Said {
            code: output.status.code().expect("ended by itself"),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            raw: output.stdout,
        }
    }

    /// Runs a shell command with `colkit` in its path.
    pub fn shell(&self, line: &str) -> Said {
        let line = line.replace("colkit", env!("CARGO_BIN_EXE_colkit"));
        let output = Command::new("bash").args(["-c", &line]).current_dir(self.0.path()).output().unwrap();
        Said {
            code: output.status.code().unwrap(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            raw: output.stdout,
        }
    }

    /// Runs a command that must succeed.
    pub fn ok(&self, arguments: &[&str]) -> Said {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        said
    }

    /// Runs a command that must succeed and answer with one JSON document.
    pub fn json(&self, arguments: &[&str]) -> Value {
        self.ok(arguments).json()
    }

    /// Names and extensions of all formats that store what is in [`TRADES`] as it is.
    pub fn formats(&self) -> Vec<(String, String)> {
        let said = self.ok(&["formats", "--json"]);
        let formats = said.out.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
        let text = |v: &Value| v.as_str().unwrap().to_string();
        let stores = |f: &Value| f["types"].as_array().is_some_and(|types| types.iter().any(|t| t == "int32"));
        formats
            .filter(|f| f["writes"] == true && stores(f))
            .map(|f| (text(&f["name"]), text(&f["extensions"][0])))
            .collect()
    }
}

impl Said {
    /// The one JSON document that it answered with.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// The error that a command with `--json` told of.
pub fn error(said: &Said) -> Value {
    let document: Value = serde_json::from_str(&said.err).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    document["error"].clone()
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
