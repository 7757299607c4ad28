#!/usr/bin/env python3
"""Fails if the documentation names something that does not exist.

    tests/docs.py [COLKIT]

Checks README, CONTRIBUTING, SECURITY, CHANGELOG, docs/ and the READMEs of crates: relative links and anchors, paths, test names, make
targets, npm scripts, cargo packages, examples and features, error codes, environment variables, and items such as
`colkit::core::memory`. In the sources it checks the tables of modules at the top of files. With the COLKIT command as an argument, also
verbs and options, from its --help.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRACKED = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
TRACKED = [path for path in TRACKED if path and (ROOT / path).exists()]
FOLDERS = {str(parent) for path in TRACKED for parent in pathlib.PurePosixPath(path).parents}
PAGES = [p for p in TRACKED if re.fullmatch(r"(README|CONTRIBUTING|SECURITY|CHANGELOG)\.md|docs/.*\.md|crates/[^/]+/README\.md", p)]

# What a reader of CONTRIBUTING.md or encodings.md creates, and what builds create.
MADE = {"fuzz/targets/tcf.rs", "docs/formats/tcf.md", "src/main.rs", "tests/allowed-skips.txt"}
BUILT = ("target/", "web/dist", "bench/out", ".venv", "node_modules")
SOURCE = re.compile(r"[\w.*{}-]+(/[\w.*{}-]+)*\.(rs|py|sh|ts|mjs|toml)")
TOP = {path.split("/")[0] for path in TRACKED if "/" in path}
# Options of cargo, of benchmarks and of tests/words.py.
OTHER_OPTIONS = set("all-features among count features locked only workspace".split())


class Checker:
    def __init__(self, colkit):
        self.failures = []
        self.checked = collections.Counter()
        self.sources = "\n".join(read(p) for p in TRACKED if p.endswith((".rs", ".py", ".sh", ".ts", ".mjs", "Makefile", ".toml")) and "/data/" not in p)
        self.defined = set(re.findall(r"\b(?:fn|struct|enum|trait|mod|type|const|static|union|macro_rules!|crate)\s+(\w+)", self.sources))
        self.defined |= {name for uses in re.findall(r"pub use ([^;]+);", self.sources) for name in re.findall(r"\w+", uses)}
        self.functions = set(re.findall(r"\b(?:fn|def) (\w+)", self.sources))
        self.targets = {name for line in re.findall(r"^([\w$()/ .-]+):(?!=)", read("Makefile"), re.M) for name in line.split()}
        self.scripts = set(re.findall(r'^\s+"([\w:-]+)":', read("web/package.json").split('"scripts"')[1].split("}")[0], re.M))
        self.packages, self.features = {}, {}
        for path in TRACKED:
            if path.endswith("Cargo.toml") and (name := re.search(r'^name = "([\w-]+)"', read(path), re.M)):
                self.packages[name[1]] = str(pathlib.PurePosixPath(path).parent)
                section = re.search(r"^\[features\]\n(.*?)(?=^\[|\Z)", read(path), re.M | re.S)
                self.features[name[1]] = set(re.findall(r"^([\w-]+) *=", section[1], re.M)) if section else set()
        self.all_features = set().union(*self.features.values())
        self.codes = set(re.findall(r"^\| `(\w+)` \|", read("docs/errors.md"), re.M))
        self.verbs = verbs_of(colkit) if colkit else None
        self.options = set().union(*self.verbs.values()) | OTHER_OPTIONS if self.verbs else set()
        for path in TRACKED:  # the arguments of example programs, as fields of a clap struct or as literals
            if "/examples/" in path and path.endswith(".rs"):
                names = re.findall(r"^\s+(?:pub )?(\w+): |\"--([a-z-]+)\"|long = \"([a-z-]+)\"", read(path), re.M)
                self.options |= {"".join(name).replace("_", "-") for name in names}
        self.anchors = {}

    def expect(self, kind, holds, page, line, what):
        self.checked[kind] += 1
        if not holds:
            self.failures.append(f"{page}:{line}: {kind}: {what}")

    # ---------------------------------------------------------------- pages

    def page(self, page):
        fence, header = None, []
        for number, line in enumerate(read(page).splitlines(), 1):
            if line.lstrip().startswith("```"):
                fence = None if fence is not None else line.strip().strip("`")
                continue
            if fence is not None:
                if fence in ("sh", "console", "") and (fence != "console" or line.startswith("$ ")):
                    self.command(page, number, line.removeprefix("$ "))
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                self.link(page, number, target)
            cells = re.split(r"(?<!\\)\|", line)[1:-1] if line.startswith("|") else []
            if cells and not header:
                header = [cell.strip().lower() for cell in cells]
            elif not cells:
                header = []
            for index, cell in enumerate(cells):
                if index < len(header) and header[index] in ("error", "code", "error if violated") and "rust" not in page:
                    self.error_codes(page, number, cell)
            if page == "docs/library.md" and header[:2] == ["feature", "default"] and cells and cells[0].strip().startswith("`"):
                for feature in re.findall(r"`([\w-]+)`", cells[0]):
                    self.expect("feature", feature in self.features["colkit"], page, number, feature)
            for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", line):
                self.inline(page, number, code)
            for feature in re.findall(r"(?:cargo )?features? `([a-z][\w-]*)`", line):
                self.expect("feature", feature in self.all_features, page, number, feature)

    def link(self, page, number, target):
        if re.match(r"[a-z]+:", target):
            return
        path, _, anchor = target.partition("#")
        place = (ROOT / page).parent / path if path else ROOT / page
        self.expect("link", place.exists(), page, number, target)
        if anchor and place.suffix == ".md" and place.exists():
            self.expect("anchor", anchor in self.anchors_of(place), page, number, target)

    def anchors_of(self, place):
        if place not in self.anchors:
            seen, found = collections.Counter(), set()
            for title in re.findall(r"^#+ (.*)", re.sub(r"```.*?```", "", place.read_text(), flags=re.S), re.M):
                title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
                slug = re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-")
                found.add(slug if not seen[slug] else f"{slug}-{seen[slug]}")
                seen[slug] += 1
            self.anchors[place] = found
        return self.anchors[place]

    def error_codes(self, page, number, cell):
        if page in ("docs/errors.md", "docs/plugins.md"):
            return
        for code in re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", cell):
            self.expect("error code", code in self.codes, page, number, code)

    def inline(self, page, number, code):
        self.command(page, number, code, inline=True)
        if code.startswith(BUILT) or code in MADE:
            return
        if re.fullmatch(r"COLKIT_[A-Z_]+", code):
            self.expect("environment variable", code in self.sources, page, number, code)
        elif SOURCE.fullmatch(code):
            self.expect("path", exists(code, page), page, number, code)
        elif re.fullmatch(r"[\w.-]+(/[\w.*{}-]+)+/?", code) and code.split("/")[0] in TOP and not code.endswith((".lance", ".csv")):
            self.expect("path", exists(code, page), page, number, code)
        elif re.fullmatch(r"[a-z]+(_[a-z0-9]+){3,}", code) and page == "docs/reliability.md":
            self.expect("test", code in self.functions, page, number, code)
        elif match := re.match(r"(colkit(?:_\w+)?)((?:::\w+)+)(?:\(|!|$)", code):
            names = match[2].split("::")[1:]
            for name in names if names[0] != "arrow" else []:
                self.expect("item", name in self.defined or name in ("core", "lance"), page, number, code)

    # ---------------------------------------------------------------- commands

    def command(self, page, number, line, inline=False):
        line = re.sub(r"(^|\s)#.*", "", line) if not inline else line
        for target in re.findall(r"\bmake ((?:[a-z][\w-]*)(?=$|[\s`]))", line):
            if not inline or line.startswith("make "):
                self.expect("make target", target in self.targets, page, number, target)
        for script in re.findall(r"\bnpm run (?:--silent )?([\w:-]+)", line):
            self.expect("npm script", script in self.scripts, page, number, script)
        if "cargo " in line:
            packages = re.findall(r"(?:-p|--package) ([\w-]+)", line)
            for package in packages:
                self.expect("package", package in self.packages or package.isupper(), page, number, package)
            for example in re.findall(r"--example ([\w-]+)", line):
                found = [f for f in self.packages.values() for end in (".rs", "/main.rs") if (ROOT / f / "examples" / (example + end)).exists()]
                self.expect("example", found, page, number, example)
            for names in re.findall(r"--features[ =]\"?([\w,/-]+)", line):
                for feature in names.split(","):
                    self.expect("feature", feature.split("/")[-1] in self.all_features, page, number, feature)
        for script in re.findall(r"(?:^|\s)(\.?[\w-]+/[\w/.-]+\.(?:sh|py))\b", line):
            self.expect("path", exists(script, page), page, number, script)
        if self.verbs and page != "docs/benchmark.md":  # where `colkit size` is a contestant
            self.colkit(page, number, line, inline)

    def colkit(self, page, number, line, inline):
        """Verbs and options of every `colkit VERB --option ...` in a line; inline also `VERB --option` and `--option`."""
        if inline and re.match(r"--[a-z][\w-]*", line):
            skipped = page == "docs/cluster.md" and "cluster" not in self.verbs
            for option in re.findall(r"(?<![\w-])--([a-z][\w-]*)(?!\w|-|\.\.\.)", line) if not skipped else []:
                known = option in self.options or option.startswith("cluster") and "cluster" not in self.verbs
                self.expect("option", known, page, number, f"--{option}")
            return
        for part in re.split(r"\||;|&&|<\(", line):
            words = re.sub(r"\"[^\"]*\"|'[^']*'", "''", part).split()
            words = words[words.index("colkit"):][1:] if "colkit" in words else words if inline and words and words[0] in self.verbs else []
            words = [word for word in words if not re.fullmatch(r"\w+=\S*", word)]
            verb = words[0] if words else ""
            if not re.fullmatch(r"[a-z]+", verb) or verb == "cluster" and verb not in self.verbs:
                continue
            self.expect("verb", verb in self.verbs, page, number, verb)
            if verb not in self.verbs:
                continue
            if len(words) > 1 and f"{verb} {words[1]}" in self.verbs:
                verb = f"{verb} {words[1]}"
            for option in re.findall(r"(?<![\w-])--([a-z][\w-]*)", " ".join(words)):
                if option.startswith("cluster") and "cluster" not in self.verbs:
                    continue
                self.expect("option", option in self.verbs[verb], page, number, f"{verb} --{option}")

    # ---------------------------------------------------------------- tables of modules

    def modules(self, path):
        """Rows `name  content` of a ```text block at the top of a module: if most names are modules, all must be."""
        header = re.match(r"(?://!.*\n)+", read(path))
        file = pathlib.PurePosixPath(path)
        folder = file.parent if file.name in ("lib.rs", "mod.rs", "main.rs") else file.with_suffix("")
        for block in re.findall(r"//! ```text\n(.*?)//! ```", header[0] if header else "", re.S):
            names = [m[1] for m in re.finditer(r"^//! (\w+) {2,}\S", block, re.M)]
            there = [n for n in names if f"{folder}/{n}.rs" in TRACKED or f"{folder}/{n}/mod.rs" in TRACKED]
            if len(names) >= 3 and 2 * len(there) > len(names):
                for name in names:
                    self.expect("module", name in there, path, 1, name)


def read(path):
    return (ROOT / path).read_text(errors="replace")


def exists(code, page):
    """Whether a path, relative to the root, to a crate, to the page or to any folder, is tracked; `*` and `{}` match anything."""
    code = code.rstrip("/")
    if code.startswith("colkit") and f"crates/{code}" in FOLDERS:
        return True
    pattern = re.compile(r"(^|/)" + re.escape(code).replace(r"\*", "[^/]*").replace(r"\{\}", "[^/]*") + "$")
    return any(pattern.search(p) for p in TRACKED) or any(pattern.search(f) for f in FOLDERS)


def verbs_of(colkit):
    """Options by verb, and by `verb subcommand`, from the help texts."""

    def ask(*words):
        run = subprocess.run([colkit, *words, "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
        listed = re.search(r"^Commands:\n(.*?)(?=^\S)", run.stdout, re.M | re.S)
        found = re.findall(r"^  ([a-z]\w*) ", listed[1], re.M) if listed else []
        return [name for name in found if name != "help"], set(re.findall(r"^\s+(?:-\w, )?--([a-z][\w-]*)", run.stdout, re.M)) | {"help", "version"}

    names, general = ask()
    verbs = {}
    for name in names:
        below, options = ask(name)
        verbs[name] = options | general
        for sub in below:
            verbs[f"{name} {sub}"] = ask(name, sub)[1] | general
    return verbs


def main():
    checker = Checker(sys.argv[1] if len(sys.argv) > 1 else None)
    for page in PAGES:
        checker.page(page)
    for path in TRACKED:
        if re.match(r"crates/.*/src/.*\.rs$", path):
            checker.modules(path)
    print("\n".join(checker.failures))
    print(", ".join(f"{count} {kind}s" for kind, count in sorted(checker.checked.items())))
    if checker.failures:
        sys.exit(f"{len(checker.failures)} stale statements")


if __name__ == "__main__":
    main()
