#!/usr/bin/env python3
"""Parquet, Arrow IPC and NDJSON against pyarrow, through the real command.

  exchange.py COLKIT     COLKIT is the command to test

* files that pyarrow writes, with many settings, are the same table for colkit: converted to another format by colkit
  and read again by pyarrow, they equal what was written;
* files that colkit writes, with every compression, equal the original for pyarrow;
* NDJSON that colkit writes is what Python's json module reads, and the other way round;
* damaged files are refused with an error, never with a crash.
"""
import datetime
import decimal
import json
import os
import random
import subprocess
import sys
import tempfile

import duckdb
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq


def colkit(*args, **kwargs):
    return subprocess.run([sys.argv[1], *args], capture_output=True, check=False, **kwargs)


def done(*args, **kwargs):
    result = colkit(*args, **kwargs)
    assert result.returncode == 0, (args, result.stderr.decode())
    return result


def table(rows, seed):
    """Many types, with nulls."""
    r = random.Random(seed)

    def some(make):
        return [None if r.random() < 0.2 else make() for _ in range(rows)]

    def text():
        return "".join(r.choice("abcé😀\"\\\n,") for _ in range(r.randrange(12)))

    utc = datetime.timezone.utc
    struct = pa.struct([("x", pa.int32()), ("y", pa.string()), ("z", pa.list_(pa.float64()))])
    return pa.table({
        "flag": pa.array(some(lambda: r.random() < 0.5), pa.bool_()),
        "i8": pa.array(some(lambda: r.randrange(-128, 128)), pa.int8()),
        "u16": pa.array(some(lambda: r.randrange(1 << 16)), pa.uint16()),
        "i32": pa.array([r.randrange(-(1 << 31), 1 << 31) for _ in range(rows)], pa.int32()),
        "i64": pa.array(some(lambda: r.randrange(-(1 << 63), 1 << 63)), pa.int64()),
        "u64": pa.array(some(lambda: r.randrange(1 << 64)), pa.uint64()),
        "f32": pa.array(some(lambda: float(r.randrange(1000)) / 8), pa.float32()),
        "f64": pa.array(some(lambda: r.uniform(-1e9, 1e9)), pa.float64()),
        "text": pa.array(some(text), pa.string()),
        "large": pa.array(some(text), pa.large_string()),
        "view": pa.array(some(text), pa.string_view()),
        "bytes": pa.array(some(lambda: r.randbytes(r.randrange(9))), pa.binary()),
        "fixed": pa.array(some(lambda: r.randbytes(6)), pa.binary(6)),
        "day": pa.array(some(lambda: datetime.date(1970, 1, 1) + datetime.timedelta(r.randrange(-9999, 9999))), pa.date32()),
        "clock": pa.array(some(lambda: r.randrange(86_400_000_000)), pa.time64("us")),
        "ms": pa.array(some(lambda: r.randrange(1 << 40)), pa.timestamp("ms")),
        "zoned": pa.array(some(lambda: datetime.datetime.fromtimestamp(r.randrange(1 << 31), utc)), pa.timestamp("us", "Europe/Zurich")),
        "money": pa.array(some(lambda: decimal.Decimal(r.randrange(-10**15, 10**15)).scaleb(-4)), pa.decimal128(20, 4)),
        "list": pa.array(some(lambda: [r.randrange(99) if r.random() < 0.8 else None for _ in range(r.randrange(4))]), pa.list_(pa.int64())),
        "struct": pa.array(some(lambda: {"x": r.randrange(9), "y": text(), "z": [0.5] * r.randrange(3)}), struct),
        "map": pa.array(some(lambda: [(text(), r.randrange(9))]), pa.map_(pa.string(), pa.int32())),
        "word": pa.array(some(lambda: r.choice(["red", "green", "blue"])), pa.string()).dictionary_encode(),
        "vector": pa.array(some(lambda: [r.random(), r.random()]), pa.list_(pa.float32(), 2)),
    }).replace_schema_metadata({"origin": "a test"})


def same(found, wanted, what):
    assert found.schema.names == wanted.schema.names, (what, found.schema.names)
    found, wanted = found.combine_chunks(), wanted.combine_chunks()
    for name in wanted.schema.names:
        a, b = found[name], wanted[name]
        assert a.type == b.type, (what, name, a.type, b.type)
        if pa.types.is_dictionary(b.type):
            a, b = a.cast(b.type.value_type), b.cast(b.type.value_type)
        assert a.to_pylist() == b.to_pylist(), (what, name)


def read(path):
    if path.endswith(".parquet"):
        return pq.read_table(path, partitioning=None)
    if path.endswith(".arrows"):
        with pa.ipc.open_stream(path) as reader:
            return reader.read_all()
    with pa.ipc.open_file(path) as reader:
        return reader.read_all()


def write_ipc(t, path, stream=False, chunk=None, **options):
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(path, t.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(t, max_chunksize=chunk)


def written_by_pyarrow(folder):
    """Every setting of pyarrow's writers; each file through colkit into the other two formats and back."""
    t = table(1500, 1)
    no_views = t.drop_columns(["view"])  # pyarrow cannot write views to Parquet
    files = []

    def parquet(name, t=no_views, **options):
        path = os.path.join(folder, name + ".parquet")
        pq.write_table(t, path, **options)
        files.append((path, t))

    for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        parquet("codec-" + codec, compression=codec, row_group_size=400)
    parquet("v1-pages", data_page_version="1.0", data_page_size=512, row_group_size=700)
    parquet("v2-pages", data_page_version="2.0", data_page_size=512, write_page_index=True)
    parquet("checksums", write_page_checksum=True)
    parquet("no-dictionary", use_dictionary=False, write_page_index=True, data_page_size=2048)
    parquet("no-statistics", write_statistics=False)
    parquet("split-blocks", use_byte_stream_split=["f32", "f64"], use_dictionary=False)
    delta = t.select(["i32", "i64", "text", "bytes"])
    parquet("delta", delta, use_dictionary=False, column_encoding={
        "i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED",
        "text": "DELTA_BYTE_ARRAY", "bytes": "DELTA_LENGTH_BYTE_ARRAY"})
    parquet("no-rows", no_views.slice(0, 0))
    for stream in (False, True):
        for codec in (None, "lz4", "zstd"):
            path = os.path.join(folder, f"ipc-{codec}." + ("arrows" if stream else "arrow"))
            write_ipc(t, path, stream, chunk=333, compression=codec)
            files.append((path, t))
    path = os.path.join(folder, "feather.feather")
    pa.feather.write_feather(t, path, compression="lz4")
    files.append((path, t))
    # A dictionary that grows, and one that is replaced on the way.
    words = [pa.array(w).dictionary_encode() for w in (["a", "b"], ["c", "a", None], ["b", "d"])]
    batches = [pa.record_batch([w], ["w"]) for w in words]
    want = pa.table({"w": pa.chunked_array([w.cast("string") for w in words])}).combine_chunks()
    for deltas in (True, False):
        path = os.path.join(folder, f"words-{deltas}.arrows")
        with pa.ipc.new_stream(path, batches[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as w:
            for batch in batches:
                w.write_batch(batch)
        out = os.path.join(folder, "words.arrow")
        done("convert", "-f", path, out)
        assert read(out)["w"].to_pylist() == want["w"].to_pylist(), deltas

    for path, t in files:
        rows = json.loads(done("inspect", "--json", path).stdout)["rows"]
        assert rows == t.num_rows, (path, rows)
        assert colkit("verify", path).returncode == 0, path
        for extension in ("parquet", "arrow", "arrows"):
            out = os.path.join(folder, "out." + extension)
            done("convert", "-f", path, out)
            same(read(out), t, (path, extension))
            if t.schema.metadata and extension != "feather":
                assert read(out).schema.metadata.get(b"origin") == b"a test", (path, extension)
        if t.num_rows:
            picked = json.loads(done("take", path, "--rows", "7,1200,7", "--columns", "i32", "--json").stdout)["rows"]
            got = [row[0] for row in picked]
            assert got == [t["i32"][i].as_py() for i in (7, 1200, 7)], (path, got)
    return len(files) + 2


def written_by_colkit(folder):
    """Every compression of colkit's writers, from a file that pyarrow wrote."""
    t = table(3000, 2)
    source = os.path.join(folder, "source.arrow")
    write_ipc(t, source, chunk=1000)
    count = 0
    for extension, codecs in (
        ("parquet", ("none", "snappy", "zstd", "lz4", "gzip", "brotli")),
        ("arrow", ("none", "lz4", "zstd")),
        ("arrows", ("none", "lz4", "zstd")),
    ):
        for codec in codecs:
            path = os.path.join(folder, f"{codec}.{extension}")
            done("convert", "-f", source, path, "--compression", codec)
            same(read(path), t, path)
            if extension == "parquet":
                # Checksums are there, are right, and are in nobody's way.
                same(pq.ParquetFile(path, page_checksum_verification=True).read(), t, path)
                total = duckdb.sql(f"select count(*), sum(i32) from '{path}'").fetchall()[0]
                assert total == (t.num_rows, sum(t["i32"].to_pylist())), (path, total)
                assert polars.read_parquet(path, columns=["i32", "text"]).height == t.num_rows, path
            count += 1
    path = os.path.join(folder, "none.parquet")
    columns = pq.ParquetFile(path).metadata.row_group(0)
    assert columns.column(3).statistics.has_min_max and columns.column(3).has_offset_index
    # A condition over Parquet, by statistics and by value.
    wanted = [row for row in t.to_pylist() if row["i32"] > 2_000_000_000]
    out = os.path.join(folder, "some.arrow")
    done("convert", "-f", path, out, "--where", "i32 > 2000000000")
    assert read(out).to_pylist() == wanted
    # Streams in and out.
    piped = done("convert", "-", "-", "--to", "parquet", input=open(source, "rb").read()).stdout
    same(pq.read_table(pa.BufferReader(piped)), t, "through pipes")
    # Several files to one, one to several.
    parts = os.path.join(folder, "part-{}.parquet")
    done("convert", "-f", source, parts, "--split-rows", "1100")
    names = [os.path.join(folder, f"part-{i:05}.parquet") for i in range(3)]
    assert [pq.read_metadata(n).num_rows for n in names] == [1100, 1100, 800]
    done("convert", "-f", *names, out)
    same(read(out), t, "parts")
    return count + 4


def ndjson(folder):
    t = table(800, 3).select(["flag", "i32", "i64", "f64", "text", "list", "struct"])
    source, lines = os.path.join(folder, "rows.parquet"), os.path.join(folder, "rows.ndjson")
    pq.write_table(t.replace_schema_metadata(None), source)
    done("convert", "-f", source, lines)
    rows = [json.loads(line) for line in open(lines, encoding="utf-8")]
    assert rows == t.to_pylist(), "what colkit writes, Python reads"
    with open(lines, "w", encoding="utf-8") as f:
        for i, row in enumerate(t.to_pylist()):
            present = {k: v for k, v in row.items() if v is not None or i % 2}
            f.write(json.dumps(present, ensure_ascii=i % 3 == 0) + ("\r\n" if i % 5 else "\n\n"))
    out = os.path.join(folder, "rows.arrow")
    done("convert", "-f", lines, out)
    assert sorted(read(out).to_pylist()[0]) == sorted(t.schema.names)
    for got, want in zip(read(out).to_pylist(), t.to_pylist()):
        assert got == want, (got, want)
    result = colkit("convert", "-f", "-", out, "--from", "ndjson", "--json", input=b'{"a":1}\n{"a":}\n')
    error = json.loads(result.stderr)["error"]
    assert result.returncode == 1 and error["code"] == "bad_json" and "line 2" in error["part"], error
    return 3


def damaged(folder):
    t = table(50, 4)
    r = random.Random(5)
    paths = []
    for extension in ("parquet", "arrow", "arrows"):
        path = os.path.join(folder, "good." + extension)
        if extension == "parquet":
            pq.write_table(t.drop_columns(["view"]), path, row_group_size=20, write_page_index=True)
        else:
            write_ipc(t, path, extension == "arrows", compression="lz4")
        good = open(path, "rb").read()
        for i in range(25):
            bad = bytearray(good)
            if i % 3 == 0:
                bad = bad[: r.randrange(len(bad))]
            else:
                for _ in range(1 + i):
                    bad[r.randrange(len(bad))] ^= 1 << r.randrange(8)
            path = os.path.join(folder, f"bad-{i}.{extension}")
            open(path, "wb").write(bad)
            paths.append(path)
    for path in paths:
        result = colkit("verify", path, "--memory", "64M", timeout=120)
        assert result.returncode in (0, 1), (path, result.returncode, result.stderr[-500:])
        assert b"panicked" not in result.stderr, (path, result.stderr[-500:])
    return len(paths)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for check in (written_by_pyarrow, written_by_colkit, ndjson, damaged):
            inside = os.path.join(folder, check.__name__)
            os.mkdir(inside)
            print(f"{check.__name__}: {check(inside)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
