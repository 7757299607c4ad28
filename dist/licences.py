#!/usr/bin/env python3
"""Licences of what colkit is made of.

  licences.py            the licence texts of everything that is linked into the command, on standard output
  licences.py --check    every crate of the workspace's graph has a licence that deny.toml allows, and is from crates.io

Needs nothing but cargo and the standard library.
"""
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
CODE = (".rs", ".c", ".h", ".py", ".sh", ".yml", ".json", ".toml", ".tmpl")


def metadata(*options):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", *options]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def allowed(expression, licences):
    """Whether an SPDX expression can be met with these licences. `/` is an old way to write OR."""
    if not expression:
        return False
    tokens = re.findall(r"[()]|[\w.+-]+(?: WITH [\w.-]+)?", expression.replace("/", " OR "))

    def any_of():
        met = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = all_of() or met
        return met

    def all_of():
        met = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = one() and met
        return met

    def one():
        token = tokens.pop(0)
        if token != "(":
            return token in licences
        met = any_of()
        tokens.pop(0)
        return met

    return any_of() and not tokens


def check():
    licences = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"]
    findings = []
    packages = metadata("--all-features")["packages"]
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not allowed(package["license"], licences):
            findings.append(f"{name}: licence {package['license']}")
        if package["source"] not in (None, CRATES_IO):
            findings.append(f"{name}: from {package['source']}")
    print(f"{len(packages)} crates, {len(findings)} with a licence or a source that deny.toml does not allow")
    sys.exit("\n".join(findings) or 0)


def linked():
    """The crates that are linked into the command: those it reaches without build and dev dependencies."""
    host = re.search(r"host: (\S+)", subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout)
    graph = metadata("--all-features", "--filter-platform", host.group(1))
    packages = {package["id"]: package for package in graph["packages"]}
    nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
    waiting = [id for id, package in packages.items() if package["name"] == "colkit-cli"]
    reached = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            kinds = [kind["kind"] for kind in dependency["dep_kinds"]]
            if None in kinds and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return sorted((packages[id] for id in reached if packages[id]["source"]), key=lambda p: (p["name"], p["version"]))


def texts(package):
    """The licence files of a crate and of the C sources it carries, without the GPL: zstd offers it as an alternative, and
    in xz it covers tools that are not linked."""
    folder = pathlib.Path(package["manifest_path"]).parent
    for file in sorted(folder.rglob("*")):
        if file.is_file() and LICENCE_FILE.match(file.name) and file.suffix.lower() not in CODE:
            text = file.read_text(errors="replace").strip()
            if not re.match(r"GNU (LESSER )?GENERAL PUBLIC LICENSE", text):
                yield text


def collect():
    crates = linked()
    by_text = {}
    print(f"colkit is linked with {len(crates)} crates by others. Their licences, then the texts:\n")
    for crate in crates:
        name = f"{crate['name']} {crate['version']}"
        where = crate["repository"] or crate["homepage"] or "https://crates.io/crates/" + crate["name"]
        found = list(dict.fromkeys(texts(crate)))
        authors = "" if found else f"; no text comes with it; by {', '.join(crate['authors']) or 'its contributors'}"
        print(f"  {name}: {crate['license']}, {where}{authors}")
        for text in found:
            by_text.setdefault(text, []).append(name)
    for text, names in sorted(by_text.items(), key=lambda item: (-len(item[1]), item[1])):
        print(f"\n{'=' * 100}\n{', '.join(names)}\n{'=' * 100}\n\n{text}")


if __name__ == "__main__":
    check() if sys.argv[1:] == ["--check"] else collect()
