"""The 22 queries of TPC-H over .lance, and those of one table over .at1, .gppcol and Parquet too: colkit's answers must be
DuckDB's over the Parquet files that all of these were made from. The same for functions and statements that both have.

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

# A table of all that the queries below need.
VISITS = """
    SELECT i AS id, 'k' || i % 3 AS kind, i * 1.5::DOUBLE AS amount, CASE WHEN i % 7 = 0 THEN NULL ELSE i % 5 END AS score,
        DATE '2023-11-28' + (i * 17)::INTEGER AS day, TIMESTAMP '2024-02-28 23:59:58' + to_seconds(i * 40000) AS moment,
        '{"a": {"b": [' || i || ', "x' || i || '"]}, "t": "w' || i || '", "n": null}' AS js
    FROM range(200) t(i)
"""
# What both have, word for word.
SPOKEN = [
    "SELECT id, json_extract(js, '$.a.b[0]') AS first, json_extract(js, '$.a.b[1]') AS second FROM visits ORDER BY id",
    "SELECT id, js -> '$.t' AS a, js ->> '$.t' AS b, js ->> 't' AS c, js -> 'missing' AS d FROM visits ORDER BY id",
    "SELECT id, json_extract_string(js, '$.a.b[1]') AS text FROM visits ORDER BY id",
    "SELECT id, json_array_length(js, '$.a.b') AS n, json_type(js) AS kind, json_valid(js) AS valid FROM visits ORDER BY id",
    # Not weeks: DuckDB 2 counts spans of seven days, colkit the Mondays between, as older ones did.
    *(f"SELECT id, date_diff('{part}', DATE '2024-01-01', day) AS n, date_diff('{part}', moment, TIMESTAMP '2024-06-30 12:00:00') AS m"
      " FROM visits ORDER BY id" for part in ["year", "quarter", "month", "day", "hour", "minute", "second"]),
    "SELECT id, strftime(day, '%Y-%m') AS a, strftime(moment, '%d.%m.%Y %H:%M:%S') AS b, strftime('%j', day) AS c"
    " FROM visits ORDER BY id",
    "SELECT id, regexp_matches(kind, '^k[01]$') AS a, regexp_matches(js, 'x1\\d') AS b FROM visits ORDER BY id",
    "SELECT kind, score, sum(amount) AS total, count(*) AS n FROM visits GROUP BY ALL ORDER BY kind, score NULLS LAST",
    "SELECT kind, id FROM visits WHERE score IS NOT NULL ORDER BY ALL",
    "SELECT kind, k1 FROM (SELECT kind, amount, score FROM visits) PIVOT (sum(amount) FOR score IN (1 AS k1, 2 AS k2)) ORDER BY 1",
    "SELECT * FROM (SELECT kind, amount, id % 2 AS odd FROM visits) PIVOT (sum(amount) FOR kind IN ('k0', 'k1')) ORDER BY odd",
    "SELECT count(*) AS n FROM (SELECT id FROM visits USING SAMPLE 17 ROWS)",
    "SELECT count(*) AS n FROM (SELECT id FROM visits USING SAMPLE 1000 ROWS)",
    "SELECT count(*) AS n FROM (SELECT id FROM visits USING SAMPLE 100%)",
    "SELECT day - DATE '2024-01-01' AS days, id = ANY([1, 2]) AS few FROM visits ORDER BY id",
]
# Columns of SUMMARIZE that are exact in both.
SUMMARY = ["column_name", "min", "max", "count"]


def run(command, **kwargs):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed with {done.returncode}: {done.stderr}")
    return done.stdout


def same(ours, theirs):
    """Whether a cell of CSV says the value that DuckDB gave."""
    if theirs is None:
        return ours == ""
    if isinstance(theirs, bool):
        return ours == str(theirs).lower()
    if isinstance(theirs, (int, float, decimal.Decimal)):
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


def compare_spoken(colkit, folder, database):
    """Functions and statements over a table in Parquet and in Lance."""
    database.execute(f"COPY ({VISITS}) TO '{folder}/visits.parquet'")
    database.execute(f"CREATE VIEW visits AS SELECT * FROM '{folder}/visits.parquet'")
    run([colkit, "convert", "-f", folder / "visits.parquet", folder / "visits.lance", "--drop-metadata"])
    for extension in ["parquet", "lance"]:
        table = f"{folder}/visits.{extension}"
        for query in SPOKEN:
            text = run([colkit, "sql", query, "--as", "csv", "--table", f"visits={table}"])
            compare(f"{query} over .{extension}", text, database.execute(query))
        # Only columns without nulls: count is the number of values here, and of rows in DuckDB.
        columns = "id, kind, amount, day"
        ours = list(csv.DictReader(io.StringIO(run([colkit, "sql", f"SUMMARIZE SELECT {columns} FROM '{table}'", "--as", "csv"]))))
        theirs = database.execute(f"SELECT {', '.join(SUMMARY)} FROM (SUMMARIZE SELECT {columns} FROM visits)").fetchall()
        got = [tuple(row[name] for name in SUMMARY) for row in ours]
        wanted = [tuple(map(str, row)) for row in theirs]
        if got != wanted:
            sys.exit(f"SUMMARIZE over .{extension}: {got}, expected {wanted}")
        print(f"functions and statements: {len(SPOKEN) + 1} queries alike over .{extension}")


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
        compare_spoken(colkit, folder, duckdb.connect())
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
