"""What colkit weighs, compared with the limits in tests/weight.txt.

usage: python3 tests/weight.py TARGET    the build folder; files that were not built are not compared

Also checks that adding the query engine to a first build rebuilds nothing: it must not change a feature of a crate that the
first build already has.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")


def crates(package, *features):
    """The crates that a package links, with the features that are on in each."""
    command = [CARGO, "tree", "--locked", "-p", package, "-e", "normal", "--prefix", "none", "--format", "{p}|{f}",
               "--target", "x86_64-unknown-linux-gnu"]
    command += ["--features", ",".join(features)] if features else []
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    found = {}
    for line in filter(None, lines):
        name, _, on = line.removesuffix(" (*)").partition("|")
        found.setdefault(re.sub(r" \((proc-macro|/.*)\)", "", name), set()).update(filter(None, on.split(",")))
    return found


def size(path):
    """The size of a file, or of the newest file that fits a pattern; None where there is none."""
    found = sorted(path.parent.glob(path.name), key=lambda file: file.stat().st_mtime)
    return found[-1].stat().st_size if found else None


def measured(kind, what, target):
    if kind == "crates":
        package, _, features = what.partition("+")
        return len(crates(package, *filter(None, features.split("+"))))
    return size(target / what.removeprefix("TARGET/") if what.startswith("TARGET/") else ROOT / what)


def main():
    target = Path(sys.argv[1])
    failed = 0
    for line in (ROOT / "tests/weight.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        kind, what, limit = line.split()
        limit, found = int(limit.replace(",", "")), measured(kind, what, target)
        if found is None:
            print(f"{kind} of {what}: not built")
            continue
        print(f"{kind} of {what}: {found:,} of at most {limit:,}")
        if found > limit:
            failed += 1
            print(f"error: {what} has {found:,} {kind}, more than the {limit:,} that tests/weight.txt allows. Find out what brings "
                  "them; if it is worth its weight, raise the limit in the same commit", file=sys.stderr)
    first, engine = crates("colkit-cli"), crates("colkit-cli", "sql")
    for name in sorted(first.keys() & engine.keys()):
        if first[name] != engine[name] and not name.startswith("colkit-cli "):
            failed += 1
            print(f"error: with SQL, {name} is built again, with other features: {sorted(first[name] ^ engine[name])}; turn them on in "
                  "crates/colkit-cli/Cargo.toml", file=sys.stderr)
    sys.exit(1 if failed else 0)


main()
