#!/usr/bin/env python3
"""Benchmarks of the zlib-per-column formats: ratios to the bare libraries and to Python, in one run.

  plain.py COLKIT [--quick]     COLKIT is the release build of the command

Makes its data itself (seeded). Prints tables, and saves everything to bench/out/plain.json.
"""
import json
import os
import random
import struct
import subprocess
import sys
import time
import zlib

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "bench/out")
COLKIT = os.path.abspath(sys.argv[1])
QUICK = "--quick" in sys.argv
FORMATS = ("gppcol", "cff", "colfile")
ROWS = 200_000 if QUICK else 2_000_000


def make_csv(path, rows):
    """Sixteen mixed columns. Written in blocks that repeat with other ids, to be quick about it."""
    rng = random.Random(1)
    words = ["alpha", "beta", "gamma", "delta", "a longer piece of text", ""]
    lines = []
    for i in range(50_000):
        lines.append(",".join([
            str(rng.randint(0, 999)), "%.2f" % (rng.random() * 1000), rng.choice(words[:5]), rng.choice(["true", "false"]),
            "2024-%02d-%02d" % (rng.randint(1, 12), rng.randint(1, 28)), str(rng.randint(-2**31, 2**31 - 1)),
            repr(rng.random()), "user-%d" % rng.randint(0, 99999), str(rng.randint(0, 1)), "%.1f" % (i / 10),
            '"quoted, %d"' % rng.randint(0, 9), str(i), rng.choice("NESW"), "%d.5" % rng.randint(0, 50),
            "%08x" % rng.getrandbits(32)]))
    with open(path, "w", encoding="utf-8") as f:
        f.write("id,code,price,word,flag,day,big,ratio,user,bit,step,note,seq,side,half,hex\n")
        for start in range(0, rows, len(lines)):
            f.writelines("%d,%s\n" % (start + i, line) for i, line in enumerate(lines[: rows - start]))


def run(*args):
    """Runs the command; seconds, CPU seconds, peak memory in MiB and its standard output."""
    start = time.monotonic()
    process = subprocess.Popen([COLKIT, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    assert status == 0, args
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024, "out": out}


def python_read(path):
    """The same job as a full read, in Python: zlib for the blocks, numpy or struct for the values."""
    with open(path, "rb") as f:
        data = f.read()
    rows, columns = struct.unpack_from("<QI", data, 8)
    at = 20
    total = 0
    for _ in range(columns):
        length, = struct.unpack_from("<H", data, at)
        kind, offset, stored, raw = struct.unpack_from("<BQQQ", data, at + 2 + length)
        at += 27 + length
        payload = zlib.decompress(data[offset:offset + stored])
        assert len(payload) == raw
        if kind == 3:
            offsets = numpy.frombuffer(payload, "<u4", rows + 1).tolist()
            blob = payload[4 * (rows + 1):].decode()
            assert len(blob) == offsets[-1], "ASCII only, so that characters are bytes"
            column = [blob[a:b] for a, b in zip(offsets, offsets[1:])]
        else:
            column = numpy.frombuffer(payload, {1: "<i4", 2: "<f8", 4: "u1"}[kind], rows)
        total += len(column)
    return total


def main():
    os.makedirs(OUT, exist_ok=True)
    results = {"rows": ROWS, "cores": os.cpu_count()}
    source = os.path.join(OUT, "table.csv")
    make_csv(source, ROWS)
    csv_bytes = os.path.getsize(source)
    print("CSV of %d rows, 16 columns, %.0f MB\n" % (ROWS, csv_bytes / 1e6))

    print("%-8s %9s %9s %12s %14s %10s" % ("format", "convert", "MB/s in", "size / CSV", "2 of 16 reads", "peak MiB"))
    results["convert"] = {}
    for name in FORMATS:
        target = os.path.join(OUT, "table." + name)
        made = run("convert", source, target)
        assert json.loads(run("diff", source, target, "--json")["out"])["equal"], "the copy is equal"
        size = os.path.getsize(target)
        inspected = json.loads(run("inspect", target, "--json")["out"])
        results["convert"][name] = {"seconds": made["seconds"], "bytes": size, "peak_mib": made["peak_mib"], "inspect": inspected}
        two = bytes_read(target)
        results["convert"][name]["two_columns_bytes_read"] = two
        print("%-8s %7.1f s %9.0f %12.2f %13.1f%% %10.0f" % (
            name, made["seconds"], csv_bytes / 1e6 / made["seconds"], size / csv_bytes, 100 * two / size, made["peak_mib"]))

    print("\nfull read of .gppcol against Python's zlib and numpy (best of 3, in turns)")
    target = os.path.join(OUT, "table.gppcol")
    ours, theirs = [], []
    for _ in range(3):
        start = time.monotonic()
        python_read(target)
        theirs.append(time.monotonic() - start)
        ours.append(run("verify", target)["seconds"])
    results["python_ratio"] = min(theirs) / min(ours)
    print("colkit verify (decodes and checks every value) %.2f s, Python %.2f s: %.1f times as fast\n" % (
        min(ours), min(theirs), results["python_ratio"]))

    print("against the bare deflate libraries")
    environment = dict(os.environ)
    bench = subprocess.run(["cargo", "bench", "--quiet", "-p", "colkit-plain", "--bench", "plain", "--", "--json"],
                           cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    results["bare"] = json.loads(bench.stdout)
    print("%-8s %-46s %9s %9s %6s" % ("format", "job", "ours", "bare", "ratio"))
    for line in results["bare"]:
        print("%-8s %-46s %4.0f MB/s %4.0f MB/s %6.2f" % (line["format"], line["job"], line["ours"], line["bare"], line["ratio"]))

    if not QUICK:
        print("\npeak memory of converting a CSV of 1 GB with the default --memory 512M")
        large = os.path.join(OUT, "large.csv")
        make_csv(large, int(ROWS * 1e9 / csv_bytes) + 1)
        results["large"] = {"bytes": os.path.getsize(large)}
        for name in FORMATS:
            made = run("convert", large, os.path.join(OUT, "large." + name))
            os.remove(os.path.join(OUT, "large." + name))
            results["large"][name] = {"seconds": made["seconds"], "cpu": made["cpu"], "peak_mib": made["peak_mib"]}
            print("%-8s %.0f MiB, %.1f s, %.0f MB/s" % (
                name, made["peak_mib"], made["seconds"], results["large"]["bytes"] / 1e6 / made["seconds"]))
        os.remove(large)

    with open(os.path.join(OUT, "plain.json"), "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1, default=str)


def bytes_read(path):
    """What `cat --columns code,price --json` says it read; the rows before that are skipped."""
    out = run("cat", path, "--columns", "code,price", "--json")["out"]
    tail = out[out.rindex(b"]"):]
    return int(tail.split(b'"bytes_read":', 1)[1].split(b",")[0].split(b"}")[0])


if __name__ == "__main__":
    main()
