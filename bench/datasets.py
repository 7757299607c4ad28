"""Lance datasets: colkit and pylance, the same questions in turns, the answers compared.

    .venv-lance14/bin/python bench/datasets.py target/release/examples/dataset_bench [--rows 3000000] [--rounds 5] [--dir DIR]

Two datasets that pylance writes: 30 fragments with 1 % of the rows deleted, and 5,000 small fragments. Both programs are
asked in one process each, and open the dataset anew for every question. The best of all rounds counts.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SEED = 7


def make(path, rows, fragments, delete):
    r = np.random.default_rng(SEED)
    per = rows // fragments
    words = np.array(["alpha", "beta", "gamma", "delta", "epsilon"])

    def batches():
        for start in range(0, rows, per):
            n = min(per, rows - start)
            yield pa.record_batch({
                "id": pa.array(np.arange(start, start + n), pa.int64()),
                "value": pa.array(r.random(n)),
                "word": pa.array(words[r.integers(0, len(words), n)]),
                "other": pa.array(r.integers(0, 1 << 40, n), pa.int64()),
            })

    first = next(iter(batches()))
    lance.write_dataset(batches(), path, schema=first.schema, max_rows_per_file=per, max_rows_per_group=per)
    if delete:
        lance.dataset(path).delete("id % 100 = 3")


def places(count, seed, rows):
    state, found = seed, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        found.append((state >> 33) % rows)
    return found


def summed(table):
    return f"{table.num_rows} {pc.sum(table['id']).as_py() or 0} {pc.sum(table['value']).as_py() or 0:.3f}"


def pylance(path, question, arguments):
    dataset = lance.dataset(path)
    if question == "open":
        return str(len(dataset.schema))
    if question == "count":
        return str(dataset.count_rows())
    if question == "take":
        count, seed = map(int, arguments)
        table = dataset.take(places(count, seed, dataset.count_rows()), columns=["id", "value"])
        return f"{table.num_rows} {pc.sum(table['id']).as_py()}"
    if question == "filter":
        return summed(dataset.to_table(columns=["id", "value"], filter="value < 0.001"))
    if question == "scan":
        return summed(dataset.to_table(columns=["id", "value"]))
    rows = pa.ipc.open_file(arguments[0]).read_all()
    lance.write_dataset(rows, path, mode="append")
    return str(rows.num_rows)


def ours(program, path, question, arguments, times):
    """One process, which is asked so many times: the best of them, as with pylance, whose process goes on."""
    lines = subprocess.run([program, path, question, str(times), *arguments], capture_output=True, text=True)
    if lines.returncode != 0:
        sys.exit(f"{question}: {lines.stderr}")
    answers = [line.split(" ", 1) for line in lines.stdout.splitlines()]
    if not all(same(answer, answers[0][1]) for _, answer in answers):
        sys.exit(f"{question}: the answers differ: {answers}")
    return min(float(seconds) for seconds, _ in answers), answers[0][1]


def timed(path, question, arguments, times):
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        answer = pylance(path, question, arguments)
        best = min(best, time.perf_counter() - began)
    return best, answer


def same(a, b):
    """Sums of fractions may differ in the last digits: rows are added up in another order."""
    a, b = a.split(), b.split()
    return len(a) == len(b) and all(x == y or abs(float(x) - float(y)) <= 1e-6 * abs(float(x)) for x, y in zip(a, b))


def compare(program, path, question, arguments, rounds):
    best = [float("inf"), float("inf")]
    times = 20 if question in ("open", "count") else 3
    for _ in range(rounds):
        (a, first) = ours(program, path, question, arguments, times)
        (b, second) = timed(path, question, arguments, times)
        if not same(first, second):
            sys.exit(f"{question}: colkit says {first}, pylance {second}")
        best = [min(best[0], a), min(best[1], b)]
    print(f"| {question} | {best[0] * 1000:.2f} ms | {best[1] * 1000:.2f} ms | {best[1] / best[0]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.dir or tempfile.mkdtemp())
    more = folder / "more.arrow"
    sets = [("30 fragments, 1 % deleted", "large.lance", arguments.rows, 30, True),
            ("5,000 fragments", "many.lance", min(arguments.rows, 500_000), 5000, False)]
    try:
        for title, name, rows, fragments, delete in sets:
            path = str(folder / name)
            make(path, rows, fragments, delete)
            new = lance.dataset(path).take(range(10_000))
            with pa.ipc.new_file(str(more), new.schema) as writer:
                writer.write_table(new)
            print(f"\n{title}, {rows:,} rows, pylance {lance.__version__}\n\n| | colkit | pylance | ratio |\n|---|---|---|---|")
            for question, extra in [("open", []), ("count", []), ("take", ["1000", str(SEED)]), ("filter", []), ("scan", []),
                                    ("append", [str(more)])]:
                compare(arguments.program, path, question, extra, arguments.rounds)
    finally:
        if not arguments.dir:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
