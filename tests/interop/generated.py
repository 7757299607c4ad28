#!/usr/bin/env python3
"""Tables made at random, written by pyarrow, pandas and polars with settings made at random, through the real command.

  generated.py COLKIT [--seed N] [--cases N]

Every file is read by colkit and written as an Arrow file, which pyarrow must find equal to what it reads from the first
one: every type that has a place in the format, nested in each other, with nulls, empty, in several batches. What Parquet can
hold is also written as Parquet by colkit, with checksums that pyarrow checks, and read again by both.
"""
import argparse
import datetime
import decimal
import os
import random
import subprocess
import sys
import tempfile

import numpy
import pandas
# It knows zones by their names alone, and would give up on a whole file for an offset.
os.environ["POLARS_IGNORE_TIMEZONE_PARSE_ERROR"] = "1"
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq

UNITS = ("s", "ms", "us", "ns")
ZONES = (None, "UTC", "Europe/Zurich", "+05:30")
CODECS = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")


class Tables:
    """Arrays of random types."""

    def __init__(self, r, parquet):
        self.r = r
        self.parquet = parquet

    def leaf(self, top):
        r = self.r
        precision = r.randrange(1, 77)
        scale = r.randrange(0, precision + 1)
        kinds = [
            pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
            pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.binary(), pa.large_binary(),
            pa.binary(r.randrange(1, 20)), pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
            pa.timestamp(r.choice(UNITS), r.choice(ZONES)), pa.timestamp(r.choice(UNITS), r.choice(ZONES)), pa.null(),
            pa.duration(r.choice(UNITS)), pa.date64(),
            pa.decimal256(precision, scale) if precision > 38 else pa.decimal128(precision, scale),
            pa.dictionary(r.choice([pa.int8(), pa.int16(), pa.int32(), pa.uint8()]), r.choice([pa.string(), pa.int64(), pa.binary()])),
        ]
        if not self.parquet:
            kinds += [
                pa.string_view(), pa.binary_view(), pa.month_day_nano_interval(), pa.decimal32(min(precision, 9), 0),
                pa.decimal64(min(precision, 18), min(scale, 5, precision)),
            ]
        if top and not self.parquet:
            kinds += [
                pa.uuid(), pa.json_(), pa.run_end_encoded(r.choice([pa.int16(), pa.int32(), pa.int64()]), r.choice([pa.string(), pa.int32(), pa.float64()])),
            ]
        return r.choice(kinds)

    def type(self, depth, top=True):
        r = self.r
        if depth == 0 or r.random() < 0.5:
            return self.leaf(top)
        inner = self.type(depth - 1, False)
        nested = [
            pa.list_(inner), pa.large_list(inner), pa.list_(inner, r.randrange(1, 4)),
            pa.struct([(f"m{i}", self.type(depth - 1, False)) for i in range(r.randrange(1, 4))]),
            pa.map_(r.choice([pa.string(), pa.int32()]), inner),
        ]
        if not self.parquet:
            nested += [pa.list_view(inner), pa.large_list_view(inner)]
        return r.choice(nested)

    def number(self, bits, signed):
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return self.r.choice([low, high, 0, self.r.randint(low, high), self.r.randint(0, 9)])

    def value(self, t):
        """A value that is not null."""
        r, types = self.r, pa.types
        if types.is_boolean(t):
            return r.random() < 0.5
        if types.is_integer(t):
            return self.number(t.bit_width, types.is_signed_integer(t))
        if types.is_float16(t):
            return numpy.float16(r.randrange(-100, 100) / 4)
        if types.is_floating(t):
            return r.choice([0.0, -0.0, 1.5, float("inf"), r.uniform(-1e9, 1e9) if t.bit_width == 64 else r.randrange(999) / 8])
        if types.is_decimal(t):
            with decimal.localcontext(prec=80):
                return decimal.Decimal(r.randrange(-(10**t.precision) + 1, 10**t.precision)).scaleb(-t.scale)
        if types.is_fixed_size_binary(t):
            return r.randbytes(t.byte_width)
        if types.is_string(t) or types.is_large_string(t) or t == pa.string_view():
            return "".join(r.choice("aé😀 \n\"") for _ in range(r.choice([0, 0, 1, 5, 30])))
        if types.is_binary(t) or types.is_large_binary(t) or t == pa.binary_view():
            return r.randbytes(r.choice([0, 0, 1, 5, 30]))
        if types.is_date(t):
            return datetime.date(1, 1, 1) + datetime.timedelta(r.randrange(3_600_000))
        if types.is_time(t):
            return r.randrange({"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[t.unit])
        if types.is_timestamp(t):
            return r.randrange(-(1 << 32), 1 << 32) * {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[t.unit]
        if types.is_duration(t):
            return self.number(52, True)
        if types.is_interval(t):
            return (r.randrange(-99, 99), r.randrange(-99, 99), r.randrange(-(10**12), 10**12))
        if t == pa.uuid():
            return r.randbytes(16)
        if t == pa.json_():
            return '{"a": %d}' % r.randrange(9)
        if types.is_struct(t):
            return {f.name: self.maybe(f.type) for f in t}
        if types.is_map(t):
            return [(self.value(t.key_type), self.maybe(t.item_type)) for _ in range(r.randrange(3))]
        if types.is_fixed_size_list(t):
            return [self.maybe(t.value_type) for _ in range(t.list_size)]
        if types.is_list(t) or types.is_large_list(t) or "list_view" in str(t):
            return [self.maybe(t.value_type) for _ in range(r.randrange(4))]
        if types.is_dictionary(t):
            return self.r.choice({pa.string(): ["red", "green", ""], pa.int64(): [1, -2, 3], pa.binary(): [b"", b"x"]}[t.value_type])
        raise AssertionError(t)

    def maybe(self, t):
        return None if pa.types.is_null(t) or self.r.random() < 0.25 else self.value(t)

    def array(self, t, rows):
        r = self.r
        style = r.random()
        if style < 0.1 and not pa.types.is_run_end_encoded(t):
            return pa.nulls(rows, t)
        if pa.types.is_run_end_encoded(t):
            values = [self.maybe(t.value_type) for _ in range(rows)]
            return pa.compute.run_end_encode(pa.array(values, t.value_type), t.run_end_type)
        if isinstance(t, pa.ExtensionType):
            return pa.array([None if r.random() < 0.25 else self.value(t) for _ in range(rows)], t.storage_type).cast(t)
        values = [self.maybe(t) for _ in range(rows)]
        if style < 0.2 and (pa.types.is_string(t) or pa.types.is_binary(t)):
            values = [v and v[:0] for v in values]
        array = pa.array(values, t)
        # Slices, whose buffers start before their values.
        return array.slice(r.randrange(rows)) if rows and style > 0.9 and not pa.types.is_map(t) else array

    def union(self, rows):
        r = self.r
        ids = [r.randrange(2) for _ in range(rows)]
        if r.random() < 0.5:
            children = [pa.array(range(rows)), pa.array([str(i) for i in range(rows)])]
            return pa.UnionArray.from_sparse(pa.array(ids, pa.int8()), children)
        seen, offsets = [0, 0], []
        for i in ids:
            offsets.append(seen[i])
            seen[i] += 1
        children = [pa.array(range(seen[0])), pa.array([str(i) for i in range(seen[1])])]
        return pa.UnionArray.from_dense(pa.array(ids, pa.int8()), pa.array(offsets, pa.int32()), children)

    def table(self):
        r = self.r
        rows = r.choice([0, 1, 2, 7, 64, 500])
        columns = {}
        for i in range(r.randrange(1, 7)):
            array = self.array(self.type(r.randrange(4)), rows)
            columns[f"c{i}"] = pa.concat_arrays([array, pa.nulls(rows - len(array), array.type)]) if len(array) < rows else array
        if not self.parquet and r.random() < 0.2:
            columns["union"] = self.union(rows)
        return pa.table(columns)


def nested(t, predicate):
    return predicate(t) or any(nested(t.field(i).type, predicate) for i in range(t.num_fields))


def by_pyarrow(r, path):
    """Writes a file; what it should be, or `None` for a table that pyarrow itself cannot write."""
    parquet = r.random() < 0.55
    t = Tables(r, parquet).table()
    try:
        if not parquet:
            stream = r.random() < 0.5
            path += ".arrows" if stream else ".arrow"
            options = pa.ipc.IpcWriteOptions(
                compression=r.choice([None, "lz4", "zstd"]), emit_dictionary_deltas=r.random() < 0.5, unify_dictionaries=not stream)
            new = pa.ipc.new_stream if stream else pa.ipc.new_file
            with new(path, t.schema, options=options) as writer:
                writer.write_table(t, max_chunksize=r.choice([None, 1, 5, 100]))
            with (pa.ipc.open_stream if stream else pa.ipc.open_file)(path) as reader:
                return path, reader.read_all()
        path += ".parquet"
        plain = [f.name for f in t.schema if not f.type.num_fields and not pa.types.is_dictionary(f.type)]
        encodings = {}
        for name in plain:
            kind = t.schema.field(name).type
            if pa.types.is_integer(kind) and kind.bit_width >= 32:
                encodings[name] = r.choice(["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"])
            elif pa.types.is_string(kind) or pa.types.is_binary(kind):
                encodings[name] = r.choice(["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
            elif pa.types.is_float32(kind) or pa.types.is_float64(kind):
                encodings[name] = r.choice(["PLAIN", "BYTE_STREAM_SPLIT"])
        settings = {"use_dictionary": False, "column_encoding": encodings} if encodings and r.random() < 0.4 else {
            "use_dictionary": r.choice([True, False]), "dictionary_pagesize_limit": r.choice([1 << 20, 20])}
        # Of INT96 pyarrow forgets the zone, and takes it for nanoseconds whatever the Arrow schema says.
        store_schema = r.random() < 0.7
        pq.write_table(
            t, path, compression=r.choice(CODECS), version=r.choice(["1.0", "2.4", "2.6"]), data_page_version=r.choice(["1.0", "2.0"]),
            row_group_size=r.choice([None, 1, 3, 50]), data_page_size=r.choice([None, 1, 100]), write_statistics=r.random() < 0.7,
            write_page_index=r.random() < 0.5, write_page_checksum=r.random() < 0.5, store_schema=store_schema,
            use_deprecated_int96_timestamps=not store_schema and r.random() < 0.5, use_compliant_nested_type=r.random() < 0.7, **settings)
        return path, pq.ParquetFile(path).read()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, OSError):
        return path, None


def by_pandas(r, path):
    rows = r.choice([0, 1, 20, 300])

    def some(values):
        return [None if r.random() < 0.2 else r.choice(values) for _ in range(rows)]

    frame = pandas.DataFrame({
        "n": pandas.array(some([1, -5, 1 << 40]), dtype="Int64"),
        "u": pandas.array(some([1, 200]), dtype="UInt8"),
        "f": pandas.array([r.uniform(-1, 1) for _ in range(rows)], dtype="float64"),
        "b": pandas.array(some([True, False]), dtype="boolean"),
        "s": pandas.array(some(["", "x", "é😀"]), dtype="string"),
        "o": pandas.Series(some(["", "y"]), dtype="object"),
        "c": pandas.Categorical(some(["red", "green", "blue"])),
        "k": pandas.Categorical(some(["low", "high"]), categories=["low", "high", "never"], ordered=True),
        "t": pandas.to_datetime(pandas.Series(some([0, 10**18]))),
        "z": pandas.to_datetime(pandas.Series(some([0, 10**18]))).dt.tz_localize("UTC").dt.tz_convert("America/Lima"),
        "d": pandas.to_timedelta(pandas.Series(some([0, 10**12]))),
        "l": pandas.Series([[r.random()] * r.randrange(3) for _ in range(rows)], dtype="object"),
    })
    index = r.randrange(3)
    if index == 1:
        frame.index = pandas.Index([f"row {i}" for i in range(rows)], name="name")
    elif index == 2:
        frame.index = pandas.MultiIndex.from_arrays([range(rows), [i % 3 for i in range(rows)]], names=["a", "b"])
    if r.random() < 0.5:
        path += ".parquet"
        frame.to_parquet(path, compression=r.choice([None, "snappy", "gzip", "zstd", "brotli", "lz4"]), index=r.choice([None, True, False]))
        return path, pq.ParquetFile(path).read()
    path += ".feather"
    frame.reset_index(drop=True).to_feather(path, compression=r.choice(["lz4", "zstd", "uncompressed"]))
    return path, pa.feather.read_table(path)


def by_polars(r, path):
    rows = r.choice([0, 1, 20, 300])

    def some(make, kind):
        return polars.Series([None if r.random() < 0.2 else make() for _ in range(rows)], dtype=kind, strict=False)

    words = ["red", "green", "blue"]
    frame = polars.DataFrame({
        "i8": some(lambda: r.randrange(-128, 128), polars.Int8), "u64": some(lambda: r.randrange(1 << 64), polars.UInt64),
        "f": some(lambda: r.uniform(-9, 9), polars.Float64), "b": some(lambda: r.random() < 0.5, polars.Boolean),
        "s": some(lambda: r.choice(["", "é", "long enough to be elsewhere"]), polars.String),
        "x": some(lambda: r.randbytes(r.randrange(20)), polars.Binary),
        "cat": some(lambda: r.choice(words), polars.Categorical), "enum": some(lambda: r.choice(words), polars.Enum(words)),
        "day": some(lambda: datetime.date(2000, 1, 1) + datetime.timedelta(r.randrange(9999)), polars.Date),
        "clock": some(lambda: datetime.time(r.randrange(24), 5, 6, 7), polars.Time),
        "at": some(lambda: datetime.datetime(2020, 1, 1, r.randrange(24)), polars.Datetime(r.choice(["ms", "us", "ns"]), r.choice([None, "Asia/Tokyo"]))),
        "took": some(lambda: datetime.timedelta(seconds=r.randrange(9999)), polars.Duration(r.choice(["ms", "us", "ns"]))),
        "money": some(lambda: decimal.Decimal(r.randrange(-(10**9), 10**9)).scaleb(-3), polars.Decimal(20, 3)),
        "list": some(lambda: [r.randrange(9)] * r.randrange(3), polars.List(polars.Int64)),
        "array": some(lambda: [1.5, None], polars.Array(polars.Float32, 2)),
        "struct": some(lambda: {"a": r.randrange(9), "b": ["x"] * r.randrange(2)}, polars.Struct({"a": polars.Int32, "b": polars.List(polars.String)})),
        "null": polars.Series([None] * rows, dtype=polars.Null),
    })
    frame = frame.select(r.sample(frame.columns, r.randrange(1, len(frame.columns) + 1)))
    kind = r.randrange(3)
    if kind == 0:
        path += ".parquet"
        frame.write_parquet(
            path, compression=r.choice(["lz4", "uncompressed", "snappy", "gzip", "brotli", "zstd"]), statistics=r.choice([True, False, "full"]),
            row_group_size=r.choice([None, 7]), data_page_size=r.choice([None, 64]))
        return path, pq.ParquetFile(path).read()
    options = {"compression": r.choice(["uncompressed", "lz4", "zstd"]), "compat_level": polars.CompatLevel.oldest() if r.random() < 0.5 else None}
    if kind == 1:
        path += ".arrow"
        frame.write_ipc(path, **options)
        with pa.ipc.open_file(path) as reader:
            return path, reader.read_all()
    path += ".arrows"
    frame.write_ipc_stream(path, **options)
    with pa.ipc.open_stream(path) as reader:
        return path, reader.read_all()


def values(array):
    """The values as Python's, or for those that Python has not, their text."""
    try:
        return [repr(v) for v in array.to_pylist()]
    except (ValueError, OverflowError):
        return [str(v) for v in array]


def alike(a, b):
    """Whether types are the same but for what is a matter of storage: pyarrow does not take over all that the Arrow schema
    in a Parquet file says."""
    a, b = (t.value_type if pa.types.is_dictionary(t) else t for t in (a, b))
    if pa.types.is_map(a) and pa.types.is_map(b):
        return alike(a.key_type, b.key_type) and alike(a.item_type, b.item_type)
    if a.num_fields and a.num_fields == b.num_fields:
        children = [(a.field(i), b.field(i)) for i in range(a.num_fields)]
        named = not pa.types.is_struct(a) or all(x.name == y.name for x, y in children)
        return named and all(alike(x.type, y.type) for x, y in children)
    stored = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary(), pa.date64(): pa.date32()}
    return stored.get(a, a).equals(stored.get(b, b))


def same(found, wanted, what, types=True):
    assert found.schema.names == wanted.schema.names, (what, found.schema.names, wanted.schema.names)
    assert found.num_rows == wanted.num_rows, (what, found.num_rows, wanted.num_rows)
    for name, a, b in zip(wanted.schema.names, found.columns, wanted.columns):
        if types:
            assert alike(a.type, b.type), (what, name, str(a.type), str(b.type))
        if not a.equals(b):
            a, b = values(a), values(b)
            different = [(i, x, y) for i, (x, y) in enumerate(zip(a, b)) if x != y]
            assert not different, (what, name, different[:3])


def storable(t):
    no = lambda t: pa.types.is_union(t) or pa.types.is_interval(t) or pa.types.is_run_end_encoded(t) or "_view" in str(t)
    seconds = lambda t: (pa.types.is_timestamp(t) or pa.types.is_time(t)) and t.unit == "s"
    return [f.name for f in t.schema if not nested(f.type, no) and not nested(f.type, seconds)]


def check(colkit, folder, seed):
    r = random.Random(seed)
    write = r.choices([by_pyarrow, by_pandas, by_polars], [6, 1, 2])[0]
    path, wanted = write(r, os.path.join(folder, "t"))
    what = (seed, write.__name__, os.path.basename(path))
    if wanted is None:
        return 0

    def run(*arguments):
        done = subprocess.run([colkit, *arguments], capture_output=True, check=False)
        assert done.returncode == 0, (what, arguments, done.stderr.decode(), str(wanted.schema))

    out = os.path.join(folder, "out.arrow")
    run("convert", path, out)
    with pa.ipc.open_file(out) as reader:
        same(reader.read_all(), wanted, what)
    again = os.path.join(folder, "again.parquet")
    columns = storable(wanted)
    if columns and r.random() < 0.5:
        wanted = wanted.select(columns)
        run("convert", path, again, "--columns", ",".join(columns), "--compression", r.choice(CODECS))
        with pq.ParquetFile(again, page_checksum_verification=True) as file:
            same(file.read(), wanted, (*what, "as parquet"), types=False)
        # Polars lacks some types, and names what it lacks; anything else is a file that it cannot read.
        try:
            assert polars.read_parquet(again).height == wanted.num_rows, what
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException, NotImplementedError) as error:
            assert "thrift" not in str(error) and "specification" not in str(error), (*what, str(error))
        os.remove(out)
        run("convert", again, out)
        with pa.ipc.open_file(out) as reader:
            same(reader.read_all(), wanted, (*what, "and back"), types=False)
    return 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("colkit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--go-on", action="store_true", help="tell of all failures, not only the first")
    arguments = parser.parse_args()
    checked, failed = 0, 0
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        with tempfile.TemporaryDirectory() as folder:
            try:
                checked += check(arguments.colkit, folder, seed)
            except AssertionError as error:
                if not arguments.go_on:
                    raise
                failed += 1
                print("FAILED", str(error)[:700])
    print(f"generated: {checked} tables{f', {failed} failed' if failed else ''}")
    # What pyarrow itself cannot write is no case.
    return 1 if failed or checked < arguments.cases // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
