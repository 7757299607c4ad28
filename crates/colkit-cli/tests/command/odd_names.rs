//! Files with names that look like options, or that are hard to type.

use super::run::{Folder, TRADES};
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// Runs the command with these arguments, which need not be UTF-8.
fn run(folder: &Folder, arguments: &[&OsStr]) -> (i32, Vec<u8>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_colkit"));
    let output = command.args(arguments).current_dir(folder.path("")).output().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn odd_names() -> Vec<OsString> {
    let mut names: Vec<OsString> =
        ["-x.csv", "--json.csv", "a b.csv", "a\nb.csv", "ö.csv", "{}.csv", "a'b\".csv", "*.csv", "-"]
            .map(Into::into)
            .to_vec();
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStringExt;
        names.push(OsString::from_vec(b"\xFF.csv".to_vec()));
    }
    names
}

#[test]
fn every_verb_takes_any_name_after_two_dashes() {
    let folder = Folder::new();
    for name in odd_names() {
        // A lone dash is a stream; a file of that name needs a folder.
        let name = if name == "-" { OsString::from("./-") } else { name };
        let path = folder.path("").join(&name);
        std::fs::write(&path, TRADES).unwrap();
        let word = OsStr::new;
        for verb in ["cat", "head", "tail", "schema", "inspect", "verify", "count", "sample"] {
            let (code, _, err) = run(&folder, &[word(verb), word("--from"), word("csv"), word("--"), &name]);
            assert_eq!(code, 0, "{verb} {name:?}: {err}");
        }
        let (code, _, err) = run(&folder, &[word("diff"), word("--from"), word("csv"), word("--"), &name, &name]);
        assert_eq!(code, 0, "diff {name:?}: {err}");
        let (code, _, err) = run(&folder, &[word("convert"), word("--"), &name, word("out.lance")]);
        assert_eq!(code, 0, "convert {name:?}: {err}");
        let mut copy = OsString::from("copy");
        copy.push(path.file_name().unwrap());
        let arguments = [word("convert"), word("--force"), word("--to"), word("csv"), word("--"), &name, &copy];
        let (code, _, err) = run(&folder, &arguments);
        assert_eq!(code, 0, "convert to {copy:?}: {err}");
        assert!(std::fs::exists(folder.path("").join(&copy)).unwrap(), "{copy:?}");
        let (code, _, err) = run(&folder, &[word("pack"), word("--"), &name, word("p.at1")]);
        assert_eq!(code, 0, "pack {name:?}: {err}");
        let (code, out, err) = run(&folder, &[word("unpack"), word("--"), word("p.at1"), word("-")]);
        assert_eq!((code, out.as_slice()), (0, TRADES.as_bytes()), "unpack {name:?}: {err}");
        for made in ["out.lance", "p.at1"] {
            let _ = std::fs::remove_file(folder.path(made));
        }
    }
}

#[test]
fn sql_reads_files_of_any_name() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("all")).unwrap();
    let names: Vec<OsString> = odd_names().into_iter().filter(|name| name != "-").collect();
    for (number, name) in names.iter().enumerate() {
        std::fs::write(folder.path("all").join(name), format!("n\n{number}\n")).unwrap();
    }
    let all: Vec<String> = (0..names.len()).map(|n| n.to_string()).collect();
    for from in ["'all'", "'all/'", "'all/*.cs?'", "'al?/*'", "csv('**/*.csv', header => true)"] {
        let said = folder.ok(&["sql", &format!("SELECT n FROM {from} ORDER BY n"), "--as", "csv"]);
        assert_eq!(said.out.lines().skip(1).collect::<Vec<_>>(), all, "{from}");
        let count = folder.ok(&["sql", &format!("SELECT count(*) FROM {from}"), "--as", "csv"]);
        assert_eq!(count.out.lines().nth(1), Some(names.len().to_string().as_str()), "{from}");
    }
    for (number, name) in names.iter().enumerate() {
        let Some(name) = name.to_str() else { continue };
        let query = format!("SELECT n FROM 'all/{}'", name.replace('\'', "''"));
        assert_eq!(folder.ok(&["sql", &query, "--as", "csv"]).out, format!("n\n{number}\n"), "{name:?}");
        let table = format!("t=all/{name}");
        assert_eq!(
            folder.ok(&["sql", "SELECT n FROM t", "--table", &table, "--as", "csv"]).out,
            format!("n\n{number}\n")
        );
    }
    // What is read is not written, whatever its name.
    let said = folder.run(&["sql", "SELECT * FROM 'all'", "--out", "all/a\nb.csv", "--force"]);
    assert_eq!(said.code, 2, "{said:?}");
}
