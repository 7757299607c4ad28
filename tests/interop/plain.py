#!/usr/bin/env python3
"""The zlib-per-column formats against an independent reader and writer, through the real command.

  plain.py COLKIT     COLKIT is the command to test

* every good vector, rewritten by colkit, holds the same values for the independent reader;
* every CSV case becomes a file with exactly the expected values, or fails with the expected error;
* files written by twenty lines of Python are read back as they were meant;
* a table larger than the memory allowed is whole for the independent reader.
"""
import csv
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

import reference_reader as reference

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VECTORS = os.path.join(ROOT, "crates/colkit-plain/tests/data")
CSV_CASES = os.path.join(ROOT, "crates/colkit-interop/tests/data/csv")
EXTENSIONS = ("gppcol", "cff", "colfile")


def colkit(*args):
    return subprocess.run([sys.argv[1], *args], capture_output=True, text=True, check=False)


def values(path):
    """Everything a file holds, as the independent reader sees it; floats as bits."""
    t = reference.ColumnFile(path)
    try:
        columns = [(c.name, c.type, reference.show(c.type, t.read_column(c))) for c in t.columns]
        order = [c.offset for c in t.columns]
        assert order == sorted(order), "blocks in order"
        ends = [c.offset + c.csize for c in t.columns]
        assert order[1:] == ends[:-1] and (not ends or ends[-1] == t.size), "no gaps"
        return t.rows, columns
    finally:
        t.close()


def vectors(folder):
    done = 0
    for name in sorted(os.listdir(VECTORS)):
        base, _, extension = name.rpartition(".")
        if extension not in EXTENSIONS:
            continue
        source = os.path.join(VECTORS, name)
        want = json.load(open(os.path.join(VECTORS, base + ".json"), encoding="utf-8"))
        target = os.path.join(folder, "out." + extension)
        names = [c["name"] for c in want["columns"]]
        result = colkit("convert", "-f", source, target, *(["--rename-duplicates"] if len(set(names)) < len(names) else []))
        assert result.returncode == 0, (name, result.stderr)
        rows, columns = values(target)
        assert rows == want["rows"], name
        for (got_name, got_type, got), c in zip(columns, want["columns"], strict=True):
            assert got_type == c["type"], name
            if len(set(names)) == len(names):
                assert got_name == c["name"], name
            if "values" in c:
                assert got == c["values"], (name, got_name)
            for row, value in c.get("samples", {}).items():
                assert got[int(row)] == value, (name, got_name, row)
        done += 1
    return done


def csv_cases(folder):
    done = 0
    for name in sorted(os.listdir(CSV_CASES)):
        if not name.endswith(".csv"):
            continue
        want = json.load(open(os.path.join(CSV_CASES, name[:-4] + ".json"), encoding="utf-8"))
        for extension in EXTENSIONS:
            target = os.path.join(folder, "csv." + extension)
            result = colkit("convert", "-f", os.path.join(CSV_CASES, name), target)
            if "error" in want:
                assert result.returncode == 1, (name, result.stdout, result.stderr)
                assert "[%s]" % want["error"] in result.stderr, (name, result.stderr)
                assert not os.path.exists(target), name
                continue
            assert result.returncode == 0, (name, result.stderr)
            rows, columns = values(target)
            expected = []
            for c in want["columns"]:
                as_text = c["type"] == "bool" and extension != "gppcol"
                expected.append((c["name"], "string" if as_text else c["type"], c["text" if as_text else "values"]))
            assert (rows, columns) == (want["rows"], expected), (name, extension)
            os.remove(target)
            done += 1
    return done


def gpp(columns, rows):
    """A .gppcol file, written without colkit."""
    payloads = []
    for name, kind, cells in columns:
        if kind == 3:
            texts = [c.encode() for c in cells]
            offsets = [0]
            for t in texts:
                offsets.append(offsets[-1] + len(t))
            payloads.append(struct.pack("<%dI" % (rows + 1), *offsets) + b"".join(texts))
        else:
            payloads.append(struct.pack("<%d%s" % (rows, {1: "i", 2: "d", 4: "B"}[kind]), *cells))
    blocks = [zlib.compress(p) for p in payloads]
    offset = 20 + sum(27 + len(n.encode()) for n, _, _ in columns)
    header = b"GPP1\1\1\0\0" + struct.pack("<QI", rows, len(columns))
    for (name, kind, _), payload, block in zip(columns, payloads, blocks):
        name = name.encode()
        header += struct.pack("<H", len(name)) + name + struct.pack("<BQQQ", kind, offset, len(block), len(payload))
        offset += len(block)
    return header + b"".join(blocks)


def written_by_python(folder):
    rng = random.Random(7)
    letters = "ab ,\"\né"
    done = 0
    for rows in (0, 1, 2, 100, 5000):
        ints = [rng.randint(-2**31, 2**31 - 1) for _ in range(rows)]
        floats = [rng.choice([0.5, -3.25, 1e300, rng.random()]) for _ in range(rows)]
        texts = ["".join(rng.choices(letters, k=rng.randint(0, 6))) for _ in range(rows)]
        path = os.path.join(folder, "python.gppcol")
        with open(path, "wb") as f:
            f.write(gpp([("i", 1, ints), ("f", 2, floats), ("s", 3, texts)], rows))
        result = colkit("cat", path, "--as", "csv")
        assert result.returncode == 0, result.stderr
        table = list(csv.reader(io.StringIO(result.stdout, newline="")))
        assert table[0] == ["i", "f", "s"]
        assert [(int(i), float(f), s) for i, f, s in table[1:]] == list(zip(ints, floats, texts)), rows
        done += 1
    return done


def larger_than_memory(folder):
    rng = random.Random(11)
    rows = 120_000
    source = os.path.join(folder, "large.csv")
    ids, names, prices = [], [], []
    with open(source, "w", encoding="utf-8") as f:
        f.write("id,name,price\n")
        for i in range(rows):
            ids.append(i)
            names.append("name %d" % rng.randint(0, 10**9))
            prices.append(rng.randint(0, 10**6) / 128)
            f.write("%d,%s,%r\n" % (i, names[-1], prices[-1]))
    for extension in EXTENSIONS:
        target = os.path.join(folder, "large." + extension)
        result = colkit("convert", "-f", source, target, "--memory", "4M")
        assert result.returncode == 0, result.stderr
        got_rows, columns = values(target)
        bits = ["0x%016x" % struct.unpack("<Q", struct.pack("<d", p))[0] for p in prices]
        assert (got_rows, [c[2] for c in columns]) == (rows, [ids, names, bits]), extension
    return len(EXTENSIONS)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for job in (vectors, csv_cases, written_by_python, larger_than_memory):
            print("plain interop: %s: %d ok" % (job.__name__.replace("_", " "), job(folder)), flush=True)


if __name__ == "__main__":
    main()
