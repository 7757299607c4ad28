"""All features of all packages of the workspace but one, and those that bring it, as `--features` takes them.

usage: cargo metadata --no-deps --format-version 1 | python3 tests/features_without.py FEATURE [PACKAGE ...]

Packages that are named are left out. A build with what is printed shares most of its crates with one by `--all-features`.
"""
import json
import sys

feature, left_out = sys.argv[1], sys.argv[2:]
packages = {package["name"]: package["features"] for package in json.load(sys.stdin)["packages"]}


def brings(package, name):
    """Whether a feature of a package is the one, or brings it."""
    parts = (part.replace("?", "").rpartition("/") for part in packages.get(package, {}).get(name, []))
    return name == feature or any(brings(of or package, part) for of, _, part in parts)


print(",".join(f"{package}/{name}" for package, names in packages.items() if package not in left_out
               for name in names if not brings(package, name)))
