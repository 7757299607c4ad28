#!/usr/bin/env python3
"""Sizes and times of `colkit pack` beside xz, zstd and Parquet, all in one run on the same inputs.

    bench/pack.py path/to/colkit [FOLDER] [--rows N]

Inputs are made here from fixed seeds; files found in FOLDER are measured too. Needs Python's lzma; `zstandard` and
`pyarrow` are used where they are installed. Times are CPU-bound and depend on the machine and its load: read them as
ratios within one row. Sizes do not.
"""
import argparse
import json
import lzma
import os
import random
import struct
import subprocess
import sys
import tempfile
import time


def trades(rows, rng):
    symbols = ["BTC-USD", "ETH-USD", "SOL-USD", "ADA-USD", "DOGE-USD", "XRP-USD", "LTC-USD", "DOT-USD"]
    price = {s: rng.uniform(1, 50000) for s in symbols}
    t = 1700000000000
    yield "trade_id,time,symbol,side,price,size,maker"
    for i in range(rows):
        t += rng.choice([0, 0, 1, 3, 7, 20, 50, 111])
        s = rng.choices(symbols, weights=[30, 20, 10, 8, 7, 5, 3, 2])[0]
        price[s] *= 1 + rng.gauss(0, 0.0002)
        yield (f"{1000000 + i},{t},{s},{rng.choice(['buy', 'sell'])},{price[s]:.2f},"
               f"{rng.expovariate(3):.6f},{rng.choice(['true', 'false'])}")


def flights(rows, rng):
    airports = {"EWR": "Newark", "JFK": "New York", "LGA": "New York", "ORD": "Chicago", "ATL": "Atlanta",
                "LAX": "Los Angeles", "SFO": "San Francisco", "MIA": "Miami", "BOS": "Boston"}
    codes = sorted(airports)
    carriers = ["UA", "AA", "B6", "DL", "EV", "MQ", "US", "WN"]
    tails = [f"N{rng.randrange(100, 999)}{c}" for c in carriers for _ in range(300)]
    miles = {(a, b): rng.randrange(200, 2800) for a in codes for b in codes}
    yield "year,month,day,dep_time,sched_dep,dep_delay,arr_delay,carrier,flight,tailnum,origin,dest,city,distance"
    for i in range(rows):
        day = i * 365 // rows
        sched = 500 + (i * 365 % rows) * 1800 // rows // 5 * 5
        delay = int(rng.expovariate(0.06)) - 8
        o, d = rng.sample(codes, 2)
        late = "NA" if rng.random() < 0.02 else str(delay + rng.randrange(-15, 16))
        yield (f"2013,{day // 31 + 1},{day % 31 + 1},{sched + max(delay, 0) % 55},{sched},{delay},{late},"
               f"{rng.choice(carriers)},{rng.randrange(1, 6000)},{rng.choice(tails)},{o},{d},{airports[d]},{miles[o, d]}")


def lineitem(rows, rng):
    modes = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
    words = "the carefully final deposits sleep quickly bold requests furiously ironic packages haggle slyly".split()
    order = 1
    for i in range(rows):
        order += rng.random() < 0.25
        q, p = rng.randrange(1, 51), rng.randrange(90000, 200000)
        y, m, d = rng.randrange(1992, 1999), rng.randrange(1, 13), rng.randrange(1, 29)
        yield (f"{order}|{rng.randrange(1, 200000)}|{rng.randrange(1, 10000)}|{i % 7 + 1}|{q}|{q * p / 100:.2f}|"
               f"0.0{rng.randrange(10)}|0.0{rng.randrange(9)}|{rng.choice('NAR')}|{rng.choice('OF')}|"
               f"{y}-{m:02}-{d:02}|{y}-{m:02}-{min(d + 3, 28):02}|{rng.choice(modes)}|{' '.join(rng.choices(words, k=4))}|")


def access(rows, rng):
    agents = ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36", "curl/8.4.0", "Googlebot/2.1",
              "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)"]
    paths = [f"/item/{i}" for i in range(800)] + ["/", "/search", "/login", "/static/app.js", "/static/app.css"]
    clients = [".".join(str(rng.randrange(1, 255)) for _ in range(4)) for _ in range(2000)]
    t = 0
    for _ in range(rows):
        t += rng.randrange(0, 3)
        stamp = time.strftime("%d/%b/%Y:%H:%M:%S", time.gmtime(1700000000 + t))
        yield (f'{rng.choice(clients)} - - [{stamp} +0000] "GET {rng.choice(paths)} HTTP/1.1" '
               f'{rng.choices([200, 304, 404, 500], weights=[80, 10, 8, 2])[0]} {int(rng.expovariate(0.0002))} '
               f'"https://example.org{rng.choice(paths)}" "{rng.choice(agents)}"')


def sshd(rows, rng):
    users = ["root", "admin", "oracle", "test", "git", "postgres", "ubuntu", "webmaster"]
    clients = [".".join(str(rng.randrange(1, 255)) for _ in range(4)) for _ in range(400)]
    t, pid = 0, 24200
    for _ in range(rows):
        t += rng.randrange(0, 4)
        pid += rng.random() < 0.4
        stamp = time.strftime("%b %e %H:%M:%S", time.gmtime(1702188000 + t))
        u, c, port = rng.choice(users), rng.choice(clients), rng.randrange(1024, 65535)
        m = rng.choice([
            f"Failed password for invalid user {u} from {c} port {port} ssh2",
            f"Failed password for {u} from {c} port {port} ssh2",
            f"Received disconnect from {c}: 11: Bye Bye [preauth]",
            f"Invalid user {u} from {c}",
            "pam_unix(sshd:auth): check pass; user unknown",
            f"pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={c}",
        ])
        yield f"{stamp} LabSZ sshd[{pid}]: {m}"


def ndjson(rows, rng):
    t = 1700000000
    for i in range(rows):
        t += rng.randrange(0, 9)
        event = {"id": i, "ts": t, "kind": rng.choice(["view", "click", "buy"]), "user": f"u{rng.randrange(5000)}",
                 "value": round(rng.expovariate(0.1), 3), "tags": {"ab": rng.choice(["a", "b"]), "geo": rng.choice(["de", "us", "in"])}}
        if rng.random() < 0.2:
            event["ref"] = f"https://example.org/{rng.randrange(300)}"
        yield json.dumps(event, separators=(",", ":"))


def vcf(rows, rng):
    samples = [f"S{i}" for i in range(100)]
    yield "##fileformat=VCFv4.2"
    yield "##contig=<ID=chr1>"
    yield "\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"] + samples)
    pos = 10000
    for i in range(rows):
        pos += rng.randrange(1, 300)
        af = rng.betavariate(0.3, 6)
        gt = [f"{int(rng.random() < af)}|{int(rng.random() < af)}" for _ in samples]
        ref, alt = rng.sample("ACGT", 2)
        yield "\t".join(["chr1", str(pos), f"rs{rng.randrange(10**8)}", ref, alt, str(rng.randrange(20, 99)), "PASS",
                         f"AF={af:.4f};DP={rng.randrange(100, 900)}", "GT"] + gt)


def text(lines):
    return "".join(line + "\n" for line in lines).encode()


def npy(rows, rng):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % rows
    head += " " * (-(len(head) + 11) % 64) + "\n"
    x, out = 0.0, bytearray()
    for _ in range(rows):
        x += rng.gauss(0, 0.01)
        out += struct.pack("<f", x)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(out)


def made(rows):
    rng = random.Random(7)
    yield "trades.csv", text(trades(rows, rng))
    yield "flights.csv", text(flights(rows // 2, rng))
    yield "lineitem.tbl", text(lineitem(rows // 2, rng))
    yield "access.log", text(access(rows // 3, rng))
    yield "sshd.log", text(sshd(rows // 3, rng))
    yield "events.ndjson", text(ndjson(rows // 3, rng))
    yield "calls.vcf", text(vcf(rows // 40, rng))
    yield "walk.npy", npy(rows, rng)


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def parquet(data, name):
    import io

    import pyarrow.csv
    import pyarrow.json
    import pyarrow.parquet
    if name.endswith(".csv"):
        table = pyarrow.csv.read_csv(io.BytesIO(data))
    elif name.endswith(".tbl"):
        table = pyarrow.csv.read_csv(io.BytesIO(data), read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True),
                                     parse_options=pyarrow.csv.ParseOptions(delimiter="|"))
    elif name.endswith(".ndjson"):
        table = pyarrow.json.read_json(io.BytesIO(data))
    else:
        return None
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, compression="zstd", compression_level=19)
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("colkit")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--quick", action="store_true", help="without xz -9e and --best")
    args = parser.parse_args()
    inputs = list(made(args.rows)) if args.rows else []
    if args.folder:
        for name in sorted(os.listdir(args.folder)):
            with open(os.path.join(args.folder, name), "rb") as f:
                inputs.append((name, f.read()))
    print("| input | bytes | xz -6 | xz -9e | zstd -19 | Parquet zstd 19 | queryable | smallest | smallest, best | codecs | "
          "default: times as fast as xz -6 |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, data in inputs:
            row(args, folder, name, data)


def row(args, folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data)
    xz6, xz_time = timed(lambda: lzma.compress(data, preset=6))
    base = len(xz6)
    xz9e = None if args.quick else len(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    try:
        import zstandard
        zstd = len(zstandard.ZstdCompressor(level=19).compress(data))
    except ImportError:
        zstd = None
    try:
        pq = parquet(data, name)
        pq = None if pq is None else len(pq)
    except ImportError:
        pq = None

    def pack(*options):
        out = os.path.join(folder, "out.at1")
        said = subprocess.run([args.colkit, "pack", path, out, "--force", "--json", *options], check=True,
                              capture_output=True, text=True)
        return json.loads(said.stdout)

    default, default_time = timed(pack)
    smallest = pack("--smallest")
    best = None if args.quick else pack("--smallest", "--best")

    def ratio(size):
        return "-" if size is None else f"{size / base:.3f}"

    codecs = f"{default['codec']}, {smallest['codec']}"
    best_size = best and best["output_bytes"]
    print(f"| {name} | {len(data)} | {base} | {ratio(xz9e)} | {ratio(zstd)} | {ratio(pq)} | "
          f"{ratio(default['output_bytes'])} | {ratio(smallest['output_bytes'])} | {ratio(best_size)} | {codecs} | "
          f"{xz_time / default_time:.1f} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
