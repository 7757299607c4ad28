"""The tables of the reading benchmark, as Parquet, Arrow IPC and Lance (2.1 and 2.2) twins in one folder.

    python bench/read_data.py FOLDER [--scale 0.5]

Needs the PyPI packages pylance, pyarrow, numpy and tpchgen-cli. What is there already is kept. Three tables: TPC-H
lineitem (scale 0.5 has 3 million rows), 100,000 vectors of 768 floats with an id (seeded), and 10,000 columns.
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from lance.file import LanceFileWriter


def lineitem(folder, scale):
    made = os.path.join(folder, "tpch")
    command = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
    subprocess.run([command, "parquet", "-s", str(scale), "--tables", "lineitem", "--output-dir", made], check=True)
    table = pq.read_table(os.path.join(made, "lineitem.parquet"))
    # Plain text columns for everyone: views and dictionaries are a matter of taste of the generator.
    schema = pa.schema([pa.field(f.name, pa.utf8() if pa.types.is_string_view(f.type) else f.type, f.nullable) for f in table.schema])
    return table.cast(schema)


def vectors(rows=100_000, width=768):
    values = np.random.default_rng(8).random(rows * width, dtype="float32")
    return pa.table({"id": np.arange(rows), "vector": pa.FixedSizeListArray.from_arrays(pa.array(values), width)})


def wide(columns=10_000):
    return pa.table({f"c{i}": np.arange(i, i + 100) for i in range(columns)})


def write(table, path):
    """The twins of one table; each appears whole or not at all."""
    rows = 100_000 if table.num_columns > 2 else 10_000
    for ending, put in {
        ".parquet": lambda p: pq.write_table(table, p, compression="zstd", write_page_index=True),
        ".arrow": lambda p: arrow_file(table, p, rows),
        "-2.1.lance": lambda p: lance_file(table, p, "2.1", rows),
        "-2.2.lance": lambda p: lance_file(table, p, "2.2", rows),
    }.items():
        if not os.path.exists(path + ending):
            put(path + ending + ".part")
            os.replace(path + ending + ".part", path + ending)


def arrow_file(table, path, rows):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)


def lance_file(table, path, version, rows):
    with LanceFileWriter(path, table.schema, version=version) as writer:
        for batch in table.to_batches(rows):
            writer.write_batch(batch)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("--scale", type=float, default=0.5)
    options = arguments.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    for name, make in {"lineitem": lambda: lineitem(options.folder, options.scale), "vectors": vectors, "wide": wide}.items():
        path = os.path.join(options.folder, name)
        if not all(os.path.exists(path + e) for e in [".parquet", ".arrow", "-2.1.lance", "-2.2.lance"]):
            write(make(), path)


if __name__ == "__main__":
    main()
