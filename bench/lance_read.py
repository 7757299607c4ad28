"""Reading Lance files: colkit against pylance, on the same files, in one run.

    python bench/lance_read.py target/release/examples/lance_bench [--rows 3000000] [--rounds 7] [--version 2.2]

Three files are made once, under bench/out: a table like TPC-H lineitem, 100,000 vectors of 768 floats with an id, and a
table of 10,000 columns. Answers are compared first. Then each measurement alternates between the two, and the best of
all rounds counts: wall time and, in brackets, the CPU time of that best run. Ratios below 1 mean that colkit is faster.
"""
import argparse
import json
import os
import random
import subprocess
import time

import lance
import numpy as np
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out")


def warm(path):
    """Brings the file into the page cache: whoever reads first must not pay for the disk."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def write(name, version, table, rows_per_batch=100_000):
    path = os.path.join(OUT, f"{name}-{version}.lance")
    if not os.path.exists(path):
        os.makedirs(OUT, exist_ok=True)
        with LanceFileWriter(path + ".part", table().schema, version=version) as writer:
            for batch in table().to_batches(rows_per_batch):
                writer.write_batch(batch)
        os.replace(path + ".part", path)
    warm(path)
    return path


def lineitem(rows):
    r = np.random.default_rng(7)
    words = "carefully quickly furiously final express pending regular special ironic deposits requests accounts " \
            "packages instructions theodolites pinto beans foxes ideas dependencies platelets sleep haggle nag wake".split()
    vocabulary = [" ".join(r.choice(words, r.integers(3, 8))) for _ in range(200_000)]
    quantity = r.integers(1, 51, rows)
    price = np.round(quantity * r.integers(90_000, 200_000, rows) / 100, 2)
    day = r.integers(8036, 10562, rows).astype("int32")
    pick = lambda values: pa.DictionaryArray.from_arrays(pa.array(r.integers(0, len(values), rows)), values).cast(pa.utf8())
    return pa.table({
        "l_orderkey": np.sort(r.integers(1, rows * 2, rows)),
        "l_partkey": r.integers(1, 200_001, rows),
        "l_suppkey": r.integers(1, 10_001, rows),
        "l_linenumber": r.integers(1, 8, rows).astype("int32"),
        "l_quantity": quantity.astype("float64"),
        "l_extendedprice": price,
        "l_discount": r.integers(0, 11, rows) / 100,
        "l_tax": r.integers(0, 9, rows) / 100,
        "l_returnflag": pick(["A", "N", "R"]),
        "l_linestatus": pick(["F", "O"]),
        "l_shipdate": pa.array(day).cast(pa.date32()),
        "l_commitdate": pa.array(day + r.integers(-30, 60, rows).astype("int32")).cast(pa.date32()),
        "l_receiptdate": pa.array(day + r.integers(1, 31, rows).astype("int32")).cast(pa.date32()),
        "l_shipinstruct": pick(["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]),
        "l_shipmode": pick(["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]),
        "l_comment": pick(vocabulary),
    })


def vectors(rows):
    r = np.random.default_rng(8)
    values = pa.array(r.random(rows * 768, dtype="float32"))
    return pa.table({"id": np.arange(rows), "vector": pa.FixedSizeListArray.from_arrays(values, 768)})


def wide(columns):
    return pa.table({f"c{i}": np.arange(i, i + 100) for i in range(columns)})


class Colkit:
    def __init__(self, binary):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer


def timed(action):
    wall, cpu = time.perf_counter(), time.process_time()
    rows = action()
    return time.perf_counter() - wall, time.process_time() - cpu, rows


def consume(results):
    return sum(batch.num_rows for batch in results.to_batches())


class Bench:
    def __init__(self, binary, rounds):
        self.colkit, self.rounds = Colkit(binary), rounds
        self.readers = {}

    def compare(self, what, path, columns=None, take=None, opening=False):
        """One line of the report. `take` is a list of row lists, one per round."""
        ours, theirs = [], []
        for round_number in range(self.rounds):
            rows = take[round_number % len(take)] if take else None
            request = {"file": path, "open": opening}
            if columns:
                request["columns"] = columns
            if rows is not None:
                request["take"] = rows
            answer = self.colkit.run(**request)
            ours.append((answer["wall"], answer["cpu"], answer["rows"]))
            theirs.append(timed(lambda: self.pylance(path, columns, rows, opening)))
        assert ours[0][2] == theirs[0][2], f"{what}: {ours[0][2]} rows, pylance {theirs[0][2]}"
        mine, other = min(ours), min(theirs)
        print(f"| {what} | {show(mine)} | {show(other)} | {mine[0] / other[0]:.3f} |", flush=True)

    def pylance(self, path, columns, rows, opening):
        key = (path, tuple(columns or ()))
        if opening or key not in self.readers:
            reader = LanceFileReader(path, columns=columns)
            if not opening:
                self.readers[key] = reader
        else:
            reader = self.readers[key]
        if rows is not None:
            return reader.take_rows(rows).to_table().num_rows
        return consume(reader.read_all(batch_size=32_768))


def show(run):
    unit, scale = ("us", 1e6) if run[0] < 1e-3 else ("ms", 1e3)
    return f"{run[0] * scale:.1f} {unit} ({run[1] * 1e3:.0f} ms CPU)"


def same_answers(binary, path, rows):
    """The values themselves, through the other example, before anything is timed."""
    out = os.path.join(OUT, "answer.arrow")
    process = subprocess.Popen([binary.replace("lance_bench", "lance_read")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    answer, _ = process.communicate(json.dumps({"file": path, "out": out, "take": rows}) + "\n")
    assert answer.strip() == "ok", answer
    with pa.OSFile(out) as file:
        ours = pa.ipc.open_stream(file).read_all()
    theirs = LanceFileReader(path).take_rows(rows).to_table()
    assert ours.equals(theirs), f"{path}: different answers"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("--rows", type=int, default=3_000_000)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--version", default="2.2")
    options = arguments.parse_args()
    bench = Bench(options.binary, options.rounds)
    r = random.Random(5)
    lists = lambda rows, count: [sorted(r.sample(range(rows), count)) for _ in range(options.rounds)]

    print(f"pylance {lance.__version__}, files of version {options.version}, best of {options.rounds}\n")
    print("| what | colkit | pylance | ratio |\n|---|---|---|---|")
    path = write(f"lineitem{options.rows}", options.version, lambda: lineitem(options.rows))
    same_answers(options.binary, path, lists(options.rows, 1000)[0])
    for count in [1, 100, 1000]:
        bench.compare(f"lineitem, take {count}", path, take=lists(options.rows, count))
    bench.compare("lineitem, open and take 1", path, take=lists(options.rows, 1), opening=True)
    bench.compare("lineitem, open and take 1000", path, take=lists(options.rows, 1000), opening=True)
    bench.compare("lineitem, scan", path)
    bench.compare("lineitem, scan of two numbers", path, columns=["l_partkey", "l_extendedprice"])
    bench.compare("lineitem, scan of two texts", path, columns=["l_shipmode", "l_comment"])

    path = write("vectors", options.version, lambda: vectors(100_000), 10_000)
    same_answers(options.binary, path, lists(100_000, 1000)[0])
    for count in [1, 100, 1000]:
        bench.compare(f"vectors, take {count}", path, take=lists(100_000, count))
    bench.compare("vectors, scan", path)

    path = write("wide", options.version, lambda: wide(10_000))
    bench.compare("one of 10,000 columns, opening included", path, columns=["c5000"], opening=True)


if __name__ == "__main__":
    main()
