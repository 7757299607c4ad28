#!/usr/bin/env python3
"""Compares colkit's AT-1 decoder with the reference decoder.

  compare.py OURS REFERENCE VECTORS [ROUNDS] [SEED]

1. Every conformance file of VECTORS that the reference takes: same bytes.
2. ROUNDS random inputs for every codec, packed in random ways: both give the input back.
3. Random damage: whatever we accept, the reference restores to the same bytes. It may crash or accept more; we may
   not. (It cannot read the published framing, and it looks at fewer things; so it may refuse what we accept only for
   the first of these reasons.)
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import at1enc as E


def odd_cell(rng):
    return rng.choice([
        lambda: str(rng.randint(-1000, 1000)), lambda: str(rng.randint(-2**63, 2**63 - 1)),
        lambda: "%.2f" % rng.uniform(-99, 99), lambda: "%.*f" % (rng.randint(1, 18), rng.random()),
        lambda: rng.choice(["", "007", "-0", "+5", "-0.00", "1e3", ".5", "5.", "NA", "nan", "null", "\r", "0x10"]),
        lambda: rng.choice(['"a"', '"a""b"', '"a', 'a"b', '""', '"x,y"', '"', '"a"b']),
        lambda: "".join(rng.choice("abcdefgh \u00e9\u20ac") for _ in range(rng.randint(0, 8))),
        lambda: rng.choice(["red", "green", "blue"])])()


def table(rng):
    kinds = [rng.randrange(6) for _ in range(rng.randint(1, 6))]
    count, rows = rng.choice([0, 0, 1, 1, 2, 3, 40, 300]), []
    for i in range(count):
        cells = []
        for kind in kinds:
            cells.append([lambda: str(i * 3), lambda: "%.3f" % rng.uniform(0, 5), lambda: rng.choice("abc"),
                          lambda: str(rng.randint(0, 10**9)), lambda: "v%d" % (i % 3), lambda: odd_cell(rng)][kind]())
        if rng.random() < .05:
            cells = cells[:rng.randint(1, len(cells))] + [odd_cell(rng)] * rng.randint(0, 2)
        rows.append(",".join(cells).encode(errors="surrogateescape"))
    data = b"\n".join(rows) + rng.choice([b"\n", b"", b"\n\n"])
    return data.replace(b"red", bytes([rng.choice([9, 200, 255, 0])])) if rng.random() < .1 else data


def log(rng):
    word = lambda: rng.choice(["INFO", "WARN", "took", "id=%d" % rng.randint(1, 99999), "[x]", "a/b", "", "10.0.0.%d" % rng.randint(1, 9)])
    shapes = [[word() for _ in range(rng.randint(1, 6))] for _ in range(4)]
    lines = [" ".join(w if rng.random() < .7 else str(rng.randint(0, 999)) for w in rng.choice(shapes)).encode()
             for _ in range(rng.choice([0, 1, 5, 80]))]
    if rng.random() < .2:
        lines.append(b"nul \0 byte")
    return b"\n".join(lines) + rng.choice([b"\n", b""])


def ssh(rng):
    out = []
    for i in range(rng.choice([0, 1, 30])):
        out.append("Dec %2d %02d:%02d:%02d host%d sshd[%d]: %s" % (
            rng.randint(1, 28), rng.randint(0, 23), 5, 6, rng.randint(1, 3), rng.randint(1, 40000),
            rng.choice(["Invalid user %s from 10.0.0.%d" % (rng.choice(["bob", "eve"]), rng.randint(1, 9)),
                        "Connection closed by 1.2.3.4", "a literal <*> here", "other %d" % rng.randint(0, 9)])))
        if rng.random() < .1:
            out.append("something else entirely")
    return "\n".join(out).encode() + rng.choice([b"\n", b""])


def json_value(rng, depth=0):
    if depth > 3 or rng.random() < .6:
        return rng.choice([None, True, 0, -5, 1.5, 10**20, "", "a", "\u00e9\"\\\n", "x" * rng.randint(0, 9)])
    if rng.random() < .5:
        return [json_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {rng.choice(["a", "b", "k\u00e9y", "id"]): json_value(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def ndjson(rng):
    out = []
    for i in range(rng.choice([0, 1, 2, 60])):
        value = rng.choice([
            lambda: {"id": i, "user": "u%d" % rng.randint(0, 3), "url": "https://x/u%d" % rng.randint(0, 3), "p": round(rng.random(), 2)},
            lambda: {"id": i, "tags": ["a", i]}, lambda: json_value(rng)])()
        out.append(json.dumps(value, separators=rng.choice([(",", ":"), (",", ":"), (", ", ": ")])).encode())
        if rng.random() < .05:
            out.append(b"{not json")
    return b"\n".join(out) + rng.choice([b"\n", b""])


def document(rng):
    text = json.dumps(json_value(rng, -2), indent=rng.choice([None, 1, 2])).encode()
    return text + rng.choice([b"", b"\n"])


def vcf(rng):
    samples, out, pos = rng.randint(1, 5), [b"##fileformat=VCFv4.2"], 100
    out.append(b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t" + b"\t".join(b"S%d" % i for i in range(samples)))
    for i in range(rng.choice([0, 1, 30])):
        pos += rng.randint(0, 300)
        genotypes = [rng.choice([b"0|0"] * 6 + [b"0|1", b"1|1", b"./."]) for _ in range(samples)]
        where = b"%d" % pos if rng.random() < .98 else b"0%d" % pos
        out.append(b"\t".join([b"22", where, b".", b"A", b"G", b"%d" % rng.randint(0, 99), b"PASS", b"AF=0.1", b"GT"] + genotypes))
        if rng.random() < .05:
            out.append(b"odd line")
    return b"\n".join(out) + rng.choice([b"\n", b""])


def osm(rng):
    out, ident = [b'<?xml version="1.0"?>', b'<osm version="0.6">'], 5
    for i in range(rng.choice([0, 1, 20])):
        ident += rng.randint(-3, 9)
        head = b' id="%d" version="%d" timestamp="%s"' % (ident, rng.randint(1, 4), E.iso(rng.randint(-10**9, 2 * 10**9)))
        tags = b"".join(b'\n    <tag k="%s" v="v%d"/>' % (rng.choice([b"name", b"k"]), i) for _ in range(rng.randint(0, 2)))
        kind = rng.randrange(3)
        if kind == 0:
            head += b' lat="%s" lon="%s"' % (E.coord_text(rng.randint(-9 * 10**8, 9 * 10**8)), E.coord_text(rng.choice([0, 10**7, -1, 12345])))
            out.append(b"  <node" + head + (b">" + tags + b"\n  </node>" if tags else b"/>"))
        elif kind == 1:
            kids = b"".join(b'\n    <nd ref="%d"/>' % rng.randint(1, 99) for _ in range(rng.randint(0, 3))) + tags
            out.append(b"  <way" + head + (b">" + kids + b"\n  </way>" if kids else b"/>"))
        else:
            kids = b"".join(b'\n    <member type="%s" ref="%d" role="%s"/>' % (rng.choice([b"node", b"way", b"relation"]), rng.randint(-9, 9), rng.choice([b"", b"outer"]))
                            for _ in range(rng.randint(0, 3))) + tags
            out.append(b"  <relation" + head + (b">" + kids + b"\n  </relation>" if kids else b"/>"))
    return b"\n".join(out + [b"</osm>"]) + rng.choice([b"\n", b""])


def packed(rng, streams, queryable=False):
    per = E.q_backends(streams) if queryable else {}
    return E.pack(streams, backend=rng.choice([E.XZ, E.ZSTD, E.STORED, E.STORED, "best"]), per=per)


def random_case(rng, kind):
    """-> (original, container) for one codec; all in the reference framing."""
    if kind == "columnar":
        data = table(rng)
        return data, E.whole(E.COLUMNAR, packed(rng, E.columnar(data, header=rng.random() < .5 and data.count(b"\n") > 1)))
    if kind == "qcolumnar":
        data = table(rng)
        streams = E.qcolumnar(data, header=rng.random() < .5, rg=rng.choice([1, 2, 7, 100]), which=rng.choice(["best", E.XZ, E.ZSTD]))
        return data, E.whole(E.QCOLUMNAR, packed(rng, streams, rng.random() < .8))
    if kind == "frames":
        parts = [table(rng) for _ in range(rng.randint(0, 4))]
        frames = [E.raw_frame(p, backend=rng.choice([0, 1, 2])) if rng.random() < .3 else (0, packed(rng, E.columnar(p))) for p in parts]
        return b"".join(parts), E.streaming(E.COLUMNAR, 100, frames)
    if kind == "raw":
        data = rng.choice([table, log, ndjson])(rng)
        return data, E.raw(data, backend=rng.choice([0, 1, 2]))
    if kind == "embed":
        width, count = rng.randint(1, 32), rng.randint(0, 40)
        data = b"head" + bytes(rng.randrange(256) for _ in range(width * count))
        return data, E.whole(E.EMBED, packed(rng, E.embed(data, 4, width)))
    if kind == "dicom":
        rows, cols, samples, bits, tid = rng.randint(1, 5), rng.randint(1, 5), rng.choice([1, 3]), rng.choice([8, 16]), rng.randrange(4)
        if tid == 3:
            bits = 16
        count = rows * cols * samples
        pixels = bytes(rng.randrange(256) for _ in range(count)) if bits == 8 else struct.pack("<%dH" % count, *(rng.randrange(65536) for _ in range(count)))
        pre, suf, pad = b"p" * rng.randint(0, 9), b"s" * rng.randint(0, 9), b"\0" * rng.randint(0, 1)
        return pre + pixels + pad + suf, E.whole(E.DICOM, packed(rng, E.dicom(pre, pixels, suf, rows, cols, samples, bits, tid, pad)))
    make, encode, codec, queryable = {
        "log": (log, E.log, E.LOG, False), "ssh": (ssh, E.ssh, E.SSH, False),
        "json": (ndjson, lambda d: E.json_codec(d, rules=rng.random() < .7), E.JSON, False),
        "jsondoc": (document, E.jsondoc, E.JSONDOC, False), "vcf": (vcf, E.vcf, E.VCF, False), "osm": (osm, E.osm, E.OSM, False),
        "qjson": (ndjson, lambda d: E.qjson(d, rg=rng.choice([1, 3, 50])), E.QJSON, True),
        "qjson2": (ndjson, lambda d: E.qjson2(d, rg=rng.choice([1, 3, 50])), E.QJSON2, True)}[kind]
    data = make(rng)
    return data, E.whole(codec, packed(rng, encode(data), queryable))


KINDS = ["columnar", "qcolumnar", "frames", "raw", "embed", "dicom", "log", "ssh", "json", "jsondoc", "vcf", "osm", "qjson", "qjson2"]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def outcome(folder, name, who):
    path = os.path.join(folder, name + "." + who)
    return read(path) if os.path.exists(path) else None


def run_all(ours, reference, folder):
    subprocess.run([ours, "all", folder], check=True)
    # It writes why it refuses a file to the terminal.
    subprocess.run([reference, "all", folder], check=True, stderr=subprocess.DEVNULL)


def vectors(ours, reference, source):
    same = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        names = sorted(n[:-4] for n in os.listdir(source) if n.endswith(".at1") and not n.startswith("bundle"))
        for name in names:
            write(os.path.join(folder, name + ".at1"), read(os.path.join(source, name + ".at1")))
        run_all(ours, reference, folder)
        for name in names:
            mine, theirs = outcome(folder, name, "ours"), outcome(folder, name, "reference")
            assert mine == read(os.path.join(source, name + ".orig")), name
            if theirs is None:
                refused += 1
            else:
                assert theirs == mine, name
                same += 1
    print("vectors: %d restored alike, %d that the reference refuses (published framing)" % (same, refused))


def inputs(ours, reference, rounds, seed):
    total = 0
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            originals = {}
            for i in range(rounds):
                rng = random.Random("%s-%d-%d" % (kind, seed, i))
                data, blob = random_case(rng, kind)
                if rng.random() < .5:
                    blob += E.trailer(data)
                originals["%05d" % i] = data
                write(os.path.join(folder, "%05d.at1" % i), blob)
            run_all(ours, reference, folder)
            for name, data in originals.items():
                for who in ("ours", "reference"):
                    if outcome(folder, name, who) != data:
                        keep = "/tmp/at1-differs-%s-%s.at1" % (kind, name)
                        write(keep, read(os.path.join(folder, name + ".at1")))
                        raise SystemExit("%s %s: %s does not restore the input; kept as %s" % (kind, name, who, keep))
            total += len(originals)
    print("random inputs: %d restored alike (%d for each of %d kinds)" % (total, rounds, len(KINDS)))


def mutate(rng, blob):
    blob = bytearray(blob)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(4, len(blob))
        how = rng.randrange(5)
        if how == 0:
            blob[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            blob[at] = rng.choice([0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif how == 2:
            del blob[at:at + rng.randint(1, 3)]
        elif how == 3:
            blob[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 3)))
        else:
            to = rng.randrange(4, len(blob))
            blob[at:at + 4] = blob[to:to + 4]
        if len(blob) < 6:
            break
    return bytes(blob)


def limited():
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def damage(ours, reference, rounds, seed):
    counts = dict(refused=0, alike=0, reference_only=0, framing=0, crashes=0)
    with tempfile.TemporaryDirectory() as folder:
        made = {}
        for i in range(rounds * len(KINDS)):
            rng = random.Random("damage-%d-%d" % (seed, i))
            kind = KINDS[i % len(KINDS)]
            data, blob = random_case(rng, kind)
            if len(blob) < 8 or len(blob) > 6000:
                continue
            made["%05d" % i] = kind
            write(os.path.join(folder, "%05d.at1" % i), mutate(rng, blob))
        subprocess.run([ours, "all", folder], check=True)
        for name, kind in made.items():
            path, out = os.path.join(folder, name + ".at1"), os.path.join(folder, name + ".reference")
            mine = outcome(folder, name, "ours")
            try:
                code = subprocess.run([reference, "one", path, out], preexec_fn=limited, timeout=20,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
            except subprocess.TimeoutExpired:
                code = -1
            theirs = read(out) if code == 0 else None
            if code < 0:
                counts["crashes"] += 1
            if mine is None:
                counts["reference_only" if theirs is not None else "refused"] += 1
            elif theirs == mine:
                counts["alike"] += 1
            elif theirs is None and (code < 0 or b"\xfd7zXZ\0" in read(path)):
                # A backend byte that was damaged away makes a published entry, which the reference does not know.
                counts["framing"] += 1
            else:
                keep = "/tmp/at1-differs-%s-%s.at1" % (kind, name)
                write(keep, read(path))
                raise SystemExit("%s %s: we accept it, the reference (code %s) differs; kept as %s" % (kind, name, code, keep))
    print("damaged files: %d; refused by both %d, restored alike %d, accepted only by the reference %d, only by us "
          "(published framing, or a crash of the reference) %d; the reference crashed or hung on %d"
          % (len(made), counts["refused"], counts["alike"], counts["reference_only"], counts["framing"], counts["crashes"]))


def main(ours, reference, source, rounds="60", seed="1"):
    vectors(ours, reference, source)
    inputs(ours, reference, int(rounds), int(seed))
    damage(ours, reference, int(rounds), int(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
