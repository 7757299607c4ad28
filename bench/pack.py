#!/usr/bin/env python3
"""Sizes and CPU time of `colkit pack` beside xz, zstd, brotli, PPMd and Parquet, all on the same inputs.

    bench/pack.py path/to/colkit [--only NAME...] [--runs N] [--best] [--again] [--head MB]
        [--without CONTESTANT...] [--folder FOLDER]

Inputs come from `pack_inputs.py` and are kept in FOLDER (bench/out/pack); other files put there are measured too. The sizes of
the slow contestants are kept beside them, since they do not change; `--again` makes them anew. `xz -6` and `colkit pack`
run N times in turn, and the least CPU time of each counts: on a shared machine that is the figure that means
something. All figures are ratios within one row. `--head`
takes only the first megabytes of each input, for a quick look: ratios of sizes are a little worse then.

Needs `xz` and `zstd`; brotli, pyppmd and pyarrow from PyPI are used where they are installed.
"""
import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time

import pack_inputs

HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, stdout=subprocess.DEVNULL):
    """Wall and CPU seconds of a command, and its peak memory, or that of this script if it is more: Linux counts both."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=stdout)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command}: exit code {process.returncode}")
    return {"wall": time.perf_counter() - start, "cpu": usage.ru_utime + usage.ru_stime,
            "memory": usage.ru_maxrss * 1024}


def size_of(command):
    with tempfile.TemporaryFile() as out:
        run(command, out)
        return out.seek(0, 2)


def parquet(path):
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.parquet
    if path.endswith(".csv"):
        table = pyarrow.csv.read_csv(path)
    elif path.endswith(".ndjson"):
        table = pyarrow.json.read_json(path, read_options=pyarrow.json.ReadOptions(block_size=64 << 20))
    else:
        return None
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, compression="zstd", compression_level=19)
    return out.tell()


def brotli(path):
    import brotli
    with open(path, "rb") as f:
        return len(brotli.compress(f.read(), quality=11, lgwin=24))


def ppmd(path):
    # What 7-Zip does at its highest level: order 32, 192 MB.
    import pyppmd
    encoder, size = pyppmd.Ppmd7Encoder(32, 192 << 20), 0
    with open(path, "rb") as f:
        while piece := f.read(1 << 20):
            size += len(encoder.encode(piece))
    return size + len(encoder.flush(endmark=False))


CONTESTANTS = {
    "xz -6": lambda path: size_of(["xz", "-6", "-T1", "-k", "-c", path]),
    "xz -9e": lambda path: size_of(["xz", "-9e", "-T1", "-k", "-c", path]),
    "zstd -19": lambda path: size_of(["zstd", "-19", "-q", "-T1", "-c", path]),
    "brotli -11": brotli,
    "PPMd": ppmd,
    "Parquet zstd 19": parquet,
}


def contestants(path, again, without):
    """The size each contestant makes of a file, or None."""
    with open(path, "rb") as f:
        digest = hashlib.file_digest(f, "sha256").hexdigest()
    kept = path + ".sizes.json"
    sizes = {}
    if os.path.exists(kept) and not again:
        with open(kept) as f:
            sizes = json.load(f)
    if sizes.get("sha256") != digest:
        sizes = {"sha256": digest}
    for name, measure in CONTESTANTS.items():
        if name not in sizes and name not in without:
            try:
                sizes[name] = measure(path)
            except ImportError as why:
                print(f"left out: {name}: {why}", file=sys.stderr)
                continue
            with open(kept, "w") as f:
                json.dump(sizes, f)
    return sizes


def pack(colkit, path, *options):
    with tempfile.TemporaryDirectory() as folder:
        out, said = os.path.join(folder, "out.at1"), os.path.join(folder, "said.json")
        with open(said, "w") as f:
            usage = run([colkit, "pack", path, out, "--json", *options], f)
        with open(said) as f:
            summary = json.load(f)
        return usage | {"size": os.path.getsize(out), "codec": summary["codec"]}


def least(runs):
    return min(runs, key=lambda r: r["cpu"])


def measure(args, path):
    sizes = contestants(path, args.again, args.without)
    ways = {"default": [], "smallest": ["--smallest"], "fast": ["--fast"]}
    if args.best:
        ways["best"] = ["--smallest", "--best"]
    xz, ours = [], {name: [] for name in ways}
    for turn in range(args.runs):
        xz.append(run(["xz", "-6", "-T1", "-k", "-c", path]))
        for name, options in ways.items():
            if turn == 0 or name == "default":
                ours[name].append(pack(args.colkit, path, *options))
    return {"name": os.path.basename(path), "bytes": os.path.getsize(path), "sizes": sizes, "xz": least(xz),
            **{name: least(runs) for name, runs in ours.items()}}


def head(path, length):
    """The beginning of a file, up to a line end if it is text."""
    folder = os.path.join(os.path.dirname(path), f"head-{length}")
    os.makedirs(folder, exist_ok=True)
    short = os.path.join(folder, os.path.basename(path))
    with open(path, "rb") as f:
        data = f.read(length)
    if not path.endswith(".npy"):
        data = data[:data.rfind(b"\n") + 1]
    if not os.path.exists(short):
        with open(short, "wb") as f:
            f.write(data)
    return short


def is_text_table(name):
    return name.endswith((".csv", ".log"))


def misses(row):
    """The goals this row misses."""
    sizes, name = row["sizes"], row["name"]
    smallest = min(row[w]["size"] for w in ("smallest", "best") if w in row)
    goals = []
    for way in ("default", "smallest"):
        goals.append((f"{way} / xz -6", row[way]["size"] / sizes["xz -6"], 1.0))
    if is_text_table(name):
        goals.append(("smallest / xz -9e", smallest / sizes["xz -9e"], 0.75))
    if sizes.get("Parquet zstd 19"):
        goals.append(("smallest / Parquet zstd 19", smallest / sizes["Parquet zstd 19"], 1.0))
    if name.endswith(".csv"):
        goals.append(("queryable / xz -6", row["default"]["size"] / sizes["xz -6"], 0.9))
    goals.append(("default CPU / xz -6 CPU, two cores", row["default"]["cpu"] / row["xz"]["cpu"], 2 / 3))
    return [f"{name}: {what} is {is_:.3f}, the goal {goal:.3f}" for what, is_, goal in goals if is_ > goal]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("colkit")
    parser.add_argument("--folder", default=os.path.join(HERE, "out", "pack"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--best", action="store_true", help="--smallest --best as well, which takes long")
    parser.add_argument("--again", action="store_true", help="measure the contestants again")
    parser.add_argument("--without", nargs="*", default=[], choices=[c for c in CONTESTANTS if c != "xz -6"], help="leave out")
    parser.add_argument("--head", type=int, help="only the first MB of each input")
    args = parser.parse_args()
    paths = list(pack_inputs.make(args.folder, args.only))
    paths += [p for p in (os.path.join(args.folder, n) for n in sorted(os.listdir(args.folder)))
              if os.path.isfile(p) and p not in paths and not p.endswith((".json", ".part")) and (not args.only or os.path.basename(p) in args.only)]
    if args.head:
        paths = [head(path, args.head * 10**6) for path in paths]
    others = [c for c in CONTESTANTS if c != "xz -6"]
    columns = ["input", "MB", "codecs", *others, "queryable", "--smallest", *(["--smallest --best"] if args.best else []), "--fast",
               "CPU", "wall", "CPU --smallest", "CPU --fast"]
    print("Sizes, CPU and wall time as shares of `xz -6`.\n")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    missed = []
    for path in paths:
        row = measure(args, path)
        base = row["sizes"]["xz -6"]
        ratio = lambda n: "-" if not n else f"{n / base:.3f}"
        cpu = lambda way: f"{row[way]['cpu'] / row['xz']['cpu']:.2f}"
        codec = " ".join(dict.fromkeys(row[w]["codec"] for w in ("default", "smallest")))
        cells = [row["name"], f"{row['bytes'] / 1e6:.0f}", codec, *(ratio(row["sizes"].get(c)) for c in others),
                 *(ratio(row[w]["size"]) for w in ("default", "smallest", "best", "fast") if w in row),
                 cpu("default"), f"{row['default']['wall'] / row['xz']['wall']:.2f}", cpu("smallest"), cpu("fast")]
        print("| " + " | ".join(cells) + " |", flush=True)
        missed += misses(row)
    print("\nGoals missed:" if missed else "\nAll goals are met.")
    print("".join(f"- {m}\n" for m in missed), end="")


if __name__ == "__main__":
    main()
