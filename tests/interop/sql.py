"""The 22 queries of TPC-H over .lance, and those of one table over .at1, .gppcol and Parquet too: colkit's answers must be
DuckDB's over the Parquet files that all of these were made from.

    python tests/interop/sql.py target/debug/colkit [--scale 0.1] [--keep FOLDER]
"""

import argparse
import csv
import datetime
import decimal
import io
import math
import pathlib
import subprocess
import sys
import tempfile

import duckdb

HERE = pathlib.Path(__file__).resolve().parent
QUERIES = HERE.parent / "tpch"
TABLES = ["nation", "region", "part", "supplier", "partsupp", "customer", "orders", "lineitem"]
# Queries that need one table only, and the table they need.
SINGLE = {1: "lineitem", 6: "lineitem"}
# What single-table queries run over besides Lance. Neither has decimals: they are cast to what it has on the way.
OTHERS = ["at1", "gppcol", "parquet"]
DECIMALS = {"lineitem": ["l_quantity", "l_extendedprice", "l_discount", "l_tax"]}


def run(command, **kwargs):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed with {done.returncode}: {done.stderr}")
    return done.stdout


def same(ours, theirs):
    """Whether a cell of CSV says the value that DuckDB gave."""
    if theirs is None:
        return ours == ""
    if isinstance(theirs, (int, float, decimal.Decimal)) and not isinstance(theirs, bool):
        # Sums of floats depend on the order of the rows; averages of decimals on when they are rounded.
        return math.isclose(float(ours), float(theirs), rel_tol=1e-6, abs_tol=1e-6)
    if isinstance(theirs, (datetime.date, datetime.datetime)):
        return ours[:10] == theirs.isoformat()[:10]
    return ours == str(theirs)


def compare(name, text, expected):
    header, *rows = list(csv.reader(io.StringIO(text)))
    names = [d[0] for d in expected.description]
    wanted = expected.fetchall()
    if header != names:
        sys.exit(f"{name}: columns {header}, expected {names}")
    if len(rows) != len(wanted):
        sys.exit(f"{name}: {len(rows)} rows, expected {len(wanted)}")
    for i, (ours, theirs) in enumerate(zip(rows, wanted)):
        for column, a, b in zip(names, ours, theirs):
            if not same(a, b):
                sys.exit(f"{name}: row {i}, column {column}: {a!r}, expected {b!r}")
    return len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("colkit", type=pathlib.Path)
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    colkit = args.colkit.resolve()
    with tempfile.TemporaryDirectory() as made:
        folder = args.keep or pathlib.Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
        run([generator, "parquet", "-s", args.scale, "--output-dir", folder])
        database = duckdb.connect()
        for table in TABLES:
            database.execute(f"CREATE VIEW {table} AS SELECT * FROM '{folder}/{table}.parquet'")
            run([colkit, "convert", "-f", folder / f"{table}.parquet", folder / f"{table}.lance", "--drop-metadata"])
        tables = [word for table in TABLES for word in ("--table", f"{table}={folder}/{table}.lance")]
        for number in range(1, 23):
            query = QUERIES / f"q{number:02}.sql"
            expected = database.execute(query.read_text())
            text = run([colkit, "sql", "-f", query, "--as", "csv", *tables])
            rows = compare(query.name, text, expected)
            print(f"{query.name}: {rows} rows alike over .lance")
        for extension in OTHERS:
            for table in sorted(set(SINGLE.values())) if extension != "parquet" else []:
                casts = ", ".join(f"CAST({c} AS DOUBLE) AS {c}" for c in DECIMALS[table])
                query = f"SELECT * REPLACE ({casts}) FROM '{folder}/{table}.parquet'"
                run([colkit, "sql", query, "--force", "--out", folder / f"{table}.{extension}", "--types", "lossy"])
            for number, table in SINGLE.items():
                query = QUERIES / f"q{number:02}.sql"
                text = run([colkit, "sql", "-f", query, "--as", "csv",
                            "--table", f"{table}={folder}/{table}.{extension}"])
                rows = compare(f"{query.name} over .{extension}", text, database.execute(query.read_text()))
                print(f"{query.name}: {rows} rows alike over .{extension}")


if __name__ == "__main__":
    main()
