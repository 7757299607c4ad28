"""Rows at random and scans through Python: colkit beside pylance, vortex, pyarrow, DuckDB and Polars, in one run on the same data.

usage: python bench/python.py [--out FILE.json] [--rows 3000000] [--vectors 100000] [--folder bench/out/python]
                              [--rust target/release/examples/dataset_bench]

Needs colkit's wheel (make wheel), numpy, pyarrow, pandas, polars, duckdb; pylance and vortex-data are measured if they are there. Every
contestant opens its file once; colkit's is also mapped into memory, and also written for random access. Answers are compared before anything is timed. Times are the best of several rounds in which all
contestants take turns; CPU is that of the whole process, all threads together. With --rust the same takes are done by the library
without Python; the medians of many single takes are compared, which is what the binding costs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import time
from typing import Any, Callable

import colkit
import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet

BATCH = 256
Job = Callable[[list[int]], Any]


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def table(rows: int) -> pyarrow.Table:
    """Trades: ids in order, a few symbols, prices that walk, sizes, moments and notes."""
    made = numpy.random.default_rng(1)
    symbols = numpy.array(["BTC-USD", "ETH-USD", "SOL-EUR", "ADA-EUR", "XRP-USD"])
    return pyarrow.table({
        "id": numpy.arange(rows),
        "sym": symbols[made.integers(0, len(symbols), rows)],
        "price": numpy.round(30_000 + made.normal(0, 1, rows).cumsum(), 2),
        "quantity": made.integers(1, 1000, rows).astype("i4"),
        "at": (numpy.datetime64("2024-01-01", "us") + made.integers(0, 2_000_000, rows).cumsum().astype("m8[us]")),
        "note": [f"order {n % 9973}" for n in range(rows)],
    })


def vectors(rows: int, width: int = 768) -> pyarrow.Table:
    values = numpy.random.default_rng(2).random(rows * width, dtype="f4")
    listed = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values), width)
    return pyarrow.table({"id": numpy.arange(rows), "vector": listed})


def write(data: pyarrow.Table, folder: pathlib.Path, name: str) -> dict[str, str]:
    """The data in every format, unless it is there already."""
    places = {kind: str(folder / f"{name}.{kind}") for kind in ["colkit.lance", "random.lance", "parquet", "duckdb", "pylance.lance", "dataset.lance", "vortex"]}

    def missing(kind: str) -> bool:
        return not os.path.exists(places[kind])

    if missing("colkit.lance"):
        colkit.write(data, places["colkit.lance"])
    if missing("random.lance"):
        colkit.write(data, places["random.lance"], prefer="random-access")
    if missing("parquet"):
        pyarrow.parquet.write_table(data, places["parquet"], compression="zstd", row_group_size=100_000)
    if missing("duckdb"):
        with duckdb.connect(places["duckdb"]) as connection:
            connection.execute("CREATE TABLE t AS SELECT * FROM data ORDER BY id")
    if has("lance"):
        import lance
        from lance.file import LanceFileWriter

        if missing("pylance.lance"):
            with LanceFileWriter(places["pylance.lance"], data.schema) as writer:
                for batch in data.to_batches():
                    writer.write_batch(batch)
        if missing("dataset.lance"):
            lance.write_dataset(data, places["dataset.lance"])
    if has("vortex") and missing("vortex"):
        import vortex

        vortex.io.write(vortex.array(data), places["vortex"])
    return places


def size(place: str) -> int:
    """Bytes of a file, or of all files in a folder."""
    path = pathlib.Path(place)
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())


def takers(places: dict[str, str]) -> dict[str, Job]:
    """Who can take rows by number, with the file open. Each answers with a pyarrow table."""
    ours, mapped = colkit.open(places["colkit.lance"]), colkit.open(places["colkit.lance"], memory_map=True)
    for_random, both = colkit.open(places["random.lance"]), colkit.open(places["random.lance"], memory_map=True)
    of_dataset = colkit.open(places["dataset.lance"]) if os.path.exists(places["dataset.lance"]) else None
    parquet = pyarrow.dataset.dataset(places["parquet"])
    connection = duckdb.connect(places["duckdb"], read_only=True)
    jobs: dict[str, Job] = {
        "colkit": lambda rows: ours.take(rows),
        "colkit, mapped": lambda rows: mapped.take(rows),
        "colkit, for random access": lambda rows: for_random.take(rows),
        "colkit, both": lambda rows: both.take(rows),
        "pyarrow parquet": lambda rows: parquet.take(rows),
        "duckdb": lambda rows: connection.sql(
            "SELECT t.* FROM t WHERE rowid IN (SELECT unnest(?::BIGINT[]))", params=[rows]
        ).to_arrow_table(),
    }
    if of_dataset is not None:
        jobs["colkit, dataset of pylance"] = lambda rows: of_dataset.take(rows)
    if has("lance"):
        import lance
        from lance.file import LanceFileReader

        reader, dataset = LanceFileReader(places["pylance.lance"]), lance.dataset(places["dataset.lance"])
        jobs["pylance file"] = lambda rows: reader.take_rows(sorted(rows)).to_table()
        jobs["pylance dataset"] = lambda rows: dataset.take(rows)
    if has("vortex"):
        import vortex

        file = vortex.open(places["vortex"])
        jobs["vortex"] = lambda rows: file.scan(indices=vortex.array(sorted(rows))).read_all().to_arrow_table()
    return jobs


def scanners(places: dict[str, str], columns: list[str]) -> dict[str, dict[str, Callable[[], Any]]]:
    """Two columns into the frames of others."""
    ours = colkit.open(places["colkit.lance"])
    scan = ours.scan(columns=columns)
    jobs: dict[str, dict[str, Callable[[], Any]]] = {
        "to Polars": {
            "colkit": scan.to_polars,
            "polars parquet": lambda: polars.scan_parquet(places["parquet"]).select(columns).collect(),
        },
        "to pandas": {
            "colkit": scan.to_pandas,
            "pandas parquet": lambda: pandas.read_parquet(places["parquet"], columns=columns),
        },
        "to NumPy": {
            "colkit": scan.to_numpy,
            "pyarrow parquet": lambda: {
                name: column.to_numpy()
                for name, column in zip(columns, pyarrow.parquet.read_table(places["parquet"], columns=columns).columns)
            },
        },
    }
    if has("lance"):
        import lance

        dataset = lance.dataset(places["dataset.lance"])
        jobs["to Polars"]["pylance dataset"] = lambda: polars.from_arrow(dataset.to_table(columns=columns))
        jobs["to pandas"]["pylance dataset"] = lambda: dataset.to_table(columns=columns).to_pandas()
        jobs["to NumPy"]["pylance dataset"] = lambda: {
            name: column.to_numpy() for name, column in zip(columns, dataset.to_table(columns=columns).columns)
        }
    return jobs


def ids_of(answer: Any) -> list[int]:
    """The ids of the rows that came, in order of size."""
    found = pyarrow.table(answer) if hasattr(answer, "__arrow_c_stream__") else answer
    return sorted(found.column("id").to_pylist())


def measure(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, float]]:
    """The best wall time of each, and the CPU time of that round. Contestants take turns."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for name, job in jobs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            job()
            found = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
            if name not in best or found["wall"] < best[name]["wall"]:
                best[name] = found
    return best


def show(title: str, found: dict[str, dict[str, float]], per: int = 1) -> None:
    ours = found["colkit"]
    print(f"\n{title}")
    for name, times in found.items():
        ratio, cpu = times["wall"] / ours["wall"], times["cpu"] / max(ours["cpu"], 1e-9)
        print(f"  {name:28} {times['wall'] / per * 1e3:10.3f} ms   {ratio:7.2f} x   CPU {times['cpu'] / per * 1e3:10.3f} ms  {cpu:7.2f} x")


def places_of(count: int, seed: int, rows: int) -> list[list[int]]:
    """Batches of row numbers, from the generator that the Rust program has too."""
    state, batches = seed, []
    for _ in range(count):
        batch = []
        for _ in range(BATCH):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            batch.append((state >> 33) % rows)
        batches.append(batch)
    return batches


def overhead(rust: str, place: str, rows: int, takes: int = 400) -> dict[str, float]:
    """Seconds of a take by the library and through Python: the median of many, in turns."""
    ours, found = colkit.open(place), {"rust": float("inf"), "python": float("inf")}
    for turn in range(3):
        lines = subprocess.run([rust, place, "takes", str(takes), str(BATCH), "7"], capture_output=True, text=True, check=True)
        median = statistics.median(float(line.split()[0]) for line in lines.stdout.splitlines())
        found["rust"] = min(found["rust"], median)
        times = []
        for batch in places_of(takes, 7, rows):
            began = time.perf_counter()
            ours.take(batch)
            times.append(time.perf_counter() - began)
        found["python"] = min(found["python"], statistics.median(times))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--takes", type=int, default=20)
    parser.add_argument("--rust")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("bench/out/python"))
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    chosen = random.Random(7)
    for name, data in [("trades", table(args.rows)), ("vectors", vectors(args.vectors))]:
        count = data.num_rows
        places = write(data, args.folder, f"{name}-{count}")
        del data
        jobs = takers(places)
        batches = [chosen.sample(range(count), BATCH) for _ in range(args.takes)]
        for who, job in jobs.items():
            answer = ids_of(job(batches[0]))
            assert answer == sorted(batches[0]), f"{who} gives other rows"

        def all_batches(job: Job) -> Callable[[], None]:
            def run() -> None:
                for rows in batches:
                    job(rows)

            return run

        found = measure({who: all_batches(job) for who, job in jobs.items()}, args.rounds)
        title = f"{BATCH} rows at random of {count:,} {name}"
        show(title, found, args.takes)
        sizes = {kind: size(place) for kind, place in places.items() if os.path.exists(place)}
        print("  sizes: " + ", ".join(f"{kind} {bytes / 1e6:.1f} MB" for kind, bytes in sizes.items()))
        results[title] = {"per_call": args.takes, "sizes": sizes, **found}
        if args.rust:
            cost = results[f"overhead, {name}"] = overhead(args.rust, places["colkit.lance"], count)
            print(f"  the same in Rust {cost['rust'] * 1e3:.3f} ms, through Python {cost['python'] * 1e3:.3f} ms: {cost['python'] / cost['rust']:.2f} x")
        if name == "trades":
            for title, contestants in scanners(places, ["sym", "price"]).items():
                totals = {who: round(float(numpy.asarray(job()["price"]).sum()), 2) for who, job in contestants.items()}
                assert len(set(totals.values())) == 1, totals
                found = measure(contestants, args.rounds)
                show(f"two columns of {count:,} rows {title}", found)
                results[f"two columns {title}"] = found
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
