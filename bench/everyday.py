"""Everyday verbs beside the tools people use for them, on 3 million rows of 16 columns; answers are compared first.

    python bench/everyday.py target/release/colkit bench/out/everyday [REPEATS]

`stats` beside DuckDB's SUMMARIZE, `grep` beside DuckDB's LIKE and ripgrep, `convert x.csv.gz` beside DuckDB and Polars.
Contestants take turns; the best wall time of each counts, and the CPU time of that turn. ripgrep is left out if it is missing.
"""

import gzip
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import duckdb
import polars
import pyarrow.parquet

ROWS = 3_000_000
WORD = "carefully final"


def main():
    colkit, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    folder.mkdir(parents=True, exist_ok=True)
    files = data(colkit, folder)
    print(f"{'job':<34} {'contestant':<26} {'wall s':>8} {'CPU s':>8} {'of ours':>8}")
    for job, contestants, compare in [stats(colkit, files), grep(colkit, files), gz(colkit, files, folder)]:
        answers = {name: run() for name, run in contestants.items()}
        compare(answers)
        best = {name: (float("inf"), 0) for name in contestants}
        for turn in range(repeats):
            for name in list(contestants) if turn % 2 == 0 else reversed(list(contestants)):
                best[name] = min(best[name], timed(contestants[name]))
        ours = best["colkit"][0]
        for name, (wall, cpu) in best.items():
            print(f"{job:<34} {name:<26} {wall:8.2f} {cpu:8.2f} {wall / ours:8.2f}")


def data(colkit, folder):
    """Lineitem of TPC-H, as Parquet, .lance, CSV and gzipped CSV."""
    files = {kind: folder / f"lineitem.{kind}" for kind in ["parquet", "lance", "csv", "csv.gz"]}
    if not files["parquet"].exists():
        generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([generator, "parquet", "-s", "0.5", "--tables", "lineitem", "--output-dir", folder], check=True)
    for kind in ["lance", "csv"]:
        if not files[kind].exists():
            subprocess.run([colkit, "convert", "--drop-metadata", files["parquet"], files[kind]], check=True)
    if not files["csv.gz"].exists():
        with open(files["csv"], "rb") as text, gzip.open(files["csv.gz"], "wb", 6) as packed:
            shutil.copyfileobj(text, packed)
    return {kind: str(path) for kind, path in files.items()}


def stats(colkit, files):
    def ours(kind):
        return lambda: json.loads(output([colkit, "stats", "--json", files[kind]]))

    def summarize(kind):
        return lambda: duck(f"SUMMARIZE FROM '{files[kind]}'")

    def compare(answers):
        expected = {row[0]: row for row in answers["DuckDB SUMMARIZE, Parquet"]}
        for name in ["colkit", "colkit, Parquet"]:
            columns = answers[name]["columns"]
            assert len(columns) == len(expected) == 16, len(columns)
            for column in columns:
                theirs = expected[column["name"]]
                if column["type"] in ("int32", "int64", "string"):
                    assert (str(column["min"]), str(column["max"])) == (theirs[2], theirs[3]), (column, theirs)
                # Both are estimates, DuckDB's the rougher one.
                distinct, estimate = column["distinct"]["value"], theirs[4]
                assert abs(distinct - estimate) <= 0.3 * max(distinct, estimate) + 1, (column["name"], distinct, estimate)

    contestants = {
        "colkit": ours("lance"),
        "colkit, Parquet": ours("parquet"),
        "DuckDB SUMMARIZE, Parquet": summarize("parquet"),
    }
    return "stats, 3 million rows, 16 columns", contestants, compare


def grep(colkit, files):
    column = "l_comment"
    contestants = {
        "colkit": lambda: int(output([colkit, "grep", "-c", "-F", WORD, files["lance"], "--columns", column])),
        "colkit, CSV": lambda: int(output([colkit, "grep", "-c", "-F", WORD, files["csv"], "--columns", column])),
        "DuckDB LIKE, Parquet": lambda: duck(f"SELECT count(*) FROM '{files['parquet']}' WHERE {column} LIKE '%{WORD}%'")[0][0],
        "DuckDB LIKE, CSV": lambda: duck(f"SELECT count(*) FROM '{files['csv']}' WHERE {column} LIKE '%{WORD}%'")[0][0],
    }
    if shutil.which("rg"):
        contestants["ripgrep, CSV"] = lambda: int(output(["rg", "-c", "-F", WORD, files["csv"]]))
    return "grep, a phrase in 3 million rows", contestants, all_equal


def gz(colkit, files, folder):
    def ours():
        target = folder / "ours.parquet"
        output([colkit, "convert", "--force", files["csv.gz"], target])
        return rows(target)

    def by_duckdb():
        target = folder / "duckdb.parquet"
        duck(f"COPY (FROM '{files['csv.gz']}') TO '{target}' (COMPRESSION zstd)")
        return rows(target)

    def by_polars():
        target = folder / "polars.parquet"
        polars.read_csv(files["csv.gz"], try_parse_dates=True).write_parquet(target)
        return rows(target)

    return ".csv.gz to Parquet", {"colkit": ours, "DuckDB": by_duckdb, "Polars": by_polars}, all_equal


def rows(path):
    return pyarrow.parquet.ParquetFile(path).metadata.num_rows


def all_equal(answers):
    assert len(set(answers.values())) == 1, answers


def output(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def duck(query):
    return duckdb.connect(config={"threads": os.cpu_count()}).execute(query).fetchall()


def timed(run):
    """Wall and CPU seconds, those of programs it starts included."""
    def cpu():
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, [resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN]))
    wall, used = time.perf_counter(), cpu()
    run()
    return time.perf_counter() - wall, cpu() - used


if __name__ == "__main__":
    main()
