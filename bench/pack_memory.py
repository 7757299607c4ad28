#!/usr/bin/env python3
"""Packs an input that is much longer than memory should be, and tells the peak memory.

    bench/pack_memory.py path/to/colkit [--gigabytes N] [--folder FOLDER] [OPTIONS FOR PACK...]

The input is a table of trades: the same hundred thousand of them again and again, each time with other ids and times, and often
other prices. It
is made once per length and removed with `bench/out`. Fails if the peak is above 1 GiB. `pack` restores what it wrote and
compares it with the input itself; so nothing else needs to be compared here.
"""
import argparse
import json
import multiprocessing
import os
import sys
import tempfile

import pack
import pack_inputs

LIMIT = 1 << 30


def write(path, size):
    header, *rows = pack_inputs.trades(100_000)
    rows = [row.split(",", 5) for row in rows]
    rows = [(int(i), int(t), side, symbol, round(float(price) * 100), rest) for i, t, symbol, side, price, rest in rows]

    def ends(more):
        return [f",{symbol},{side},{(p + more) // 100}.{(p + more) % 100:02},{rest}\n" for _, _, side, symbol, p, rest in rows]

    later = [ends(i * 377) for i in range(10)]
    starts = [(i, t) for i, t, *_ in rows]
    with open(path + ".part", "wb") as f:
        f.write(header.encode() + b"\n")
        turn = 0
        while f.tell() < size:
            ids, times = turn * len(rows), turn * 2_400_007
            f.write("".join([f"{i + ids},{t + times}{end}" for (i, t), end in zip(starts, later[turn % 10])]).encode())
            turn += 1
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("colkit")
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--folder", default=os.path.join(pack.HERE, "out"))
    args, options = parser.parse_known_args()
    os.makedirs(args.folder, exist_ok=True)
    path = os.path.join(args.folder, f"trades-{args.gigabytes:g}.csv")
    if not os.path.exists(path):
        # In a process of its own: the memory of this one counts as that of those it starts.
        writer = multiprocessing.Process(target=write, args=(path, int(args.gigabytes * 1e9)))
        writer.start()
        writer.join()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        out, said = os.path.join(folder, "out.at1"), os.path.join(folder, "said.json")
        with open(said, "w") as f:
            usage = pack.run([args.colkit, "pack", path, out, "--json", *options], f)
        with open(said) as f:
            summary = json.load(f)
    size = os.path.getsize(path)
    print(f"{size / 1e9:.2f} GB {' '.join(options) or 'default'}: {summary['codec']}, {summary['output_bytes'] / size:.4f} of it, "
          f"peak memory {usage['memory'] / (1 << 20):.0f} MiB, {usage['cpu'] / (size / 1e9):.0f} s of CPU per GB")
    if usage["memory"] > LIMIT:
        sys.exit("more than 1 GiB")


if __name__ == "__main__":
    main()
