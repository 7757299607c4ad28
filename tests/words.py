#!/usr/bin/env python3
"""Lists tell-tale patterns of hard-to-read prose, as a hint (the exit code is always 0).

    tests/words.py [BASE]      lines that the working tree adds relative to BASE (default: origin/main, else main, else HEAD)
    tests/words.py --count     patterns and words per kind of file, over the whole tree

A pattern is a place to look, not a ban; CONTRIBUTING.md gives the reasons. Data, snapshots and generated pages are left out.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pattern, and what to write instead.
PATTERNS = [
    (r"\bso many\b", "the count, 'up to N', 'that many'"),
    (r"\b(a text|texts)\b", "a string, strings, a text file"),
    (r"\b(told|tells?|says|foretold)\b", "given, set, reports"),
    (r"\bbeside\b", "next to, alongside, compared with"),
    (r"\banew\b", "again"),
    (r"\b(whoever|who knows|who asks|of who|those that|those who)\b", "the noun: callers, readers, users"),
    (r"\b(be had|to be had)\b", "available"),
    (r"\b(inside of|outside of|of before)\b", "in, outside, written before ..."),
    (r"\b(lies|lie ready|under way)\b", "is, in progress"),
    (r"\b(is|are) no [a-z]+(?=[,.;:)]|$)", "'is not a ...', or what happens instead"),
    (r"\b(such ones?|other ones?|another one|others each time)\b", "repeat the noun"),
    (r"\bmoments?\b", "timestamp"),
    (r"\b(mended|laid together|put together|brought along|brings? along)\b", "fixed, merged, assembled, contains"),
    (r"\bkeys? of folders?\b", "partition columns, partition values"),
    (r"\bfiles? without a name\b", "unnamed temporary files"),
    (r"\bwhat (is|was|are|were) (there|told|found|given|read|written|meant|asked|known)\b", "the noun"),
    (r"\b(from|of) elsewhere\b", "other programs' files"),
    (r"^(Of|To|In) (long|such|those)\b", "the subject first"),
]
COMPILED = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in PATTERNS]
SKIPPED = re.compile(r"(^|/)(tests/data|node_modules|results|assets|snapshots|corpus)/|Cargo\.lock|package-lock|^tests/words\.py$")


def git(*args):
    return subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True)


def prose(path, line):
    """The kind of prose in a line ('docs', 'rustdoc', ...) and its text, or None if the line is code."""
    if SKIPPED.search(path):
        return None
    if path.endswith(".md"):
        return ("changelog" if path == "CHANGELOG.md" else "docs"), line
    text = line.strip()
    if path.endswith((".rs", ".ts")):
        if text.startswith(("///", "//!", "/**", "* ")):
            kind = "help" if "/colkit-cli/src/args" in "/" + path else "rustdoc"
            return kind, text.lstrip("/!* ")
        if text.startswith("//"):
            return "comments", text.lstrip("/ ")
        strings = " ".join(re.findall(r'"((?:[^"\\]|\\.){12,})"', line))
        if strings and " " in strings:
            test = "/tests" in path or path.endswith("tests.rs")
            return ("tests" if test else "help" if "/args" in path else "messages"), strings
        return None
    if path.endswith((".py", ".sh", ".toml", "Makefile", ".mjs", ".yml")) and "#" in line + text[:2]:
        return "scripts", line.split("#", 1)[-1]
    return None


def hits(text):
    for pattern, advice in COMPILED:
        for found in pattern.finditer(text):
            yield found.group(0), advice


def added(base):
    """Path, line number and text of every line added relative to `base`."""
    path, number = "", 0
    for line in git("diff", "--unified=0", "--no-color", base).stdout.splitlines():
        if line.startswith("+++ "):
            path = line[6:]
        elif line.startswith("@@"):
            number = int(re.search(r"\+(\d+)", line).group(1))
        elif line.startswith("+"):
            yield path, number, line[1:]
            number += 1


def count():
    kinds, per_kind, words = collections.Counter(), collections.Counter(), collections.Counter()
    pages = []
    for path in git("ls-files").stdout.split("\n"):
        try:
            text = (ROOT / path).read_text()
        except (OSError, UnicodeDecodeError):
            continue
        for line in text.splitlines():
            found = prose(path, line)
            if found:
                kind, said = found
                words[kind] += len(said.split())
                for hit, _ in hits(said):
                    kinds[hit.lower()] += 1
                    per_kind[kind] += 1
        if path.endswith(".md") and not SKIPPED.search(path):
            pages.append((path, len(text.split()), sum(1 for line in text.splitlines() for _ in hits(line))))
    print("| kind | words | patterns | per 1,000 words |\n|---|--:|--:|--:|")
    for kind in sorted(words):
        print(f"| {kind} | {words[kind]:,} | {per_kind[kind]} | {1000 * per_kind[kind] / max(words[kind], 1):.1f} |")
    print("\n| pattern | seen |\n|---|--:|")
    for hit, times in kinds.most_common(40):
        print(f"| {hit} | {times} |")
    print("\n| page | words | patterns |\n|---|--:|--:|")
    for path, total, seen in pages:
        print(f"| {path} | {total:,} | {seen} |")
    print(f"| all | {sum(p[1] for p in pages):,} | {sum(p[2] for p in pages)} |")


def main(arguments):
    if "--count" in arguments:
        return count()
    names = arguments or ["origin/main", "main", "HEAD"]
    base = next((name for name in names if git("rev-parse", "--verify", "--quiet", name).returncode == 0), None)
    if base is None:
        return print(f"no such revision: {' '.join(names)}")
    base = git("merge-base", base, "HEAD").stdout.strip() or base
    seen = 0
    for path, number, line in added(base):
        found = prose(path, line)
        for hit, advice in hits(found[1]) if found else ():
            print(f"{path}:{number}: {hit!r}: {advice}")
            seen += 1
    print(f"{seen} places to look at" if seen else "no tell-tale patterns in what this change adds")


if __name__ == "__main__":
    main(sys.argv[1:])
