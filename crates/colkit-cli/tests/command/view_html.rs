//! The explorer and a file as one document.

use super::run::{Folder, error};

/// The bytes that a script of the document holds, found and decoded as the page does.
fn embedded(document: &[u8], id: &str) -> (String, Vec<u8>) {
    let find = |text: &str, from: usize| {
        let found = document[from..].windows(text.len()).position(|w| w == text.as_bytes());
        from + found.unwrap_or_else(|| panic!("no {text} in the document"))
    };
    let start = find(&format!("<script type=\"application/octet-stream\" id=\"{id}\""), 0);
    let content = find(">", start) + 1;
    let end = find("</script>", content);
    let tag = String::from_utf8(document[start..content].to_vec()).unwrap();
    let shift = tag.split("data-shift=\"").nth(1).unwrap().split('"').next().unwrap().parse::<u8>().unwrap();
    let mut bytes = Vec::new();
    let mut rest = document[content..end].iter();
    while let Some(byte) = rest.next() {
        assert!(!matches!(byte, 0 | b'\r'), "HTML changes it");
        let byte = if *byte == b'=' { rest.next().unwrap().wrapping_sub(64) } else { *byte };
        bytes.push(byte.wrapping_sub(shift));
    }
    (tag, bytes)
}

#[test]
fn a_document_holds_the_page_the_module_and_the_file() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "trades \"q\".lance"]);
    folder.ok(&["view", "--html", "t.html", "trades \"q\".lance"]);
    let document = folder.read("t.html");
    let (tag, bytes) = embedded(&document, "data");
    assert!(bytes == folder.read("trades \"q\".lance"));
    assert!(tag.contains("data-name=\"trades &#34;q&#34;.lance\""), "{tag}");
    assert_eq!(embedded(&document, "module").1[..2], [0x1f, 0x8b]);
    assert!(document.starts_with(b"<!DOCTYPE html>"));
    // Nothing but these scripts is beyond ASCII.
    let page = include_str!("../../assets/explorer/explorer.html");
    assert!(page.is_ascii());
}

#[test]
fn a_document_is_hardly_larger_than_what_it_holds() {
    let folder = Folder::new();
    let page = include_bytes!("../../assets/explorer/explorer.html").len();
    let module = include_bytes!("../../assets/explorer/colkit.wasm.gz").len();
    // Every byte equally often; bytes of which many would have to be escaped; text.
    let zeros: String = (0..20_000).map(|_| "0,0\n").collect();
    folder.write("zeros.csv", format!("a,b\n{zeros}"));
    folder.ok(&["convert", "zeros.csv", "zeros.arrow", "--compression", "none"]);
    folder.ok(&["convert", "zeros.csv", "zeros.csv.gz"]);
    folder.write("signs.csv", format!("a\n{}", "<=\"=<>=<\"\n".repeat(5000)));
    for name in ["zeros.csv", "zeros.csv.gz", "zeros.arrow", "signs.csv"] {
        let summary = folder.json(&["view", "--json", "-f", "--html", "out.html", name]);
        let (size, document) = (folder.read(name).len(), folder.read("out.html"));
        assert_eq!(
            (summary["input_bytes"].as_u64(), summary["output_bytes"].as_u64()),
            (Some(size as u64), Some(document.len() as u64))
        );
        let most = page + (size + module) * 65 / 64 + 500;
        assert!(document.len() <= most, "{name}: {} > {most}", document.len());
        assert!(embedded(&document, "data").1 == folder.read(name), "{name}");
    }
}

#[test]
fn what_makes_no_document_is_refused() {
    let folder = Folder::with_trades();
    folder.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\0");
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/a.csv", "a\n1\n");
    folder.write("data/b.csv", "a\n1\n");
    folder.ok(&["convert", "trades.csv", "set.lance/"]);
    folder.write("there.html", "mine");
    let before = folder.names();
    let refused = |arguments: &[&str]| {
        let said = folder.run(&[&["view", "--json", "--html"], arguments].concat());
        assert_eq!(folder.names(), before, "{arguments:?}");
        (said.code, error(&said))
    };
    let (code, told) = refused(&["out.html", "trades.csv", "--max-size", "50"]);
    assert_eq!((code, told["code"].as_str()), (1, Some("limit_exceeded")));
    assert!(told["hint"].as_str().unwrap().contains("--max-size"), "{told}");
    for (arguments, expected) in [
        (&["out.html", "data"][..], "is_a_folder"),
        (&["out.html", "set.lance"], "is_a_folder"),
        (&["out.html", "trades.csv", "trades.csv"], "usage"),
        (&["out.html"], "usage"),
        (&["there.html", "trades.csv"], "already_exists"),
        (&["trades.csv", "trades.csv"], "already_exists"),
        (&["trades.csv", "trades.csv", "-f"], "output_is_input"),
        (&["out.html", "missing.csv"], "not_found"),
        (&["out.html", "picture.png"], "unknown_format"),
        (&["out.html", "trades.csv", "--port", "1"], "usage"),
    ] {
        let (code, told) = refused(arguments);
        assert_eq!(told["code"].as_str(), Some(expected), "{arguments:?}: {told}");
        assert!(code == 1 || code == 2);
    }
    assert_eq!(folder.read("there.html"), b"mine");
    folder.ok(&["view", "-f", "--html", "there.html", "trades.csv"]);
    let piped = folder.ok(&["view", "--html", "-", "trades.csv"]);
    assert!(piped.raw == folder.read("there.html"));
}
