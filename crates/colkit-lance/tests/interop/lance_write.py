"""Files written here, read by real Lance.

Generates tables with random schemas and data, has them written as Lance files of version 2.0, 2.1 and 2.2 (statistics,
zone maps, checksums and bloom filters included), and compares scan, projection and take of the installed pylance with
the tables themselves. Half of the tables carry metadata that asks for certain encodings; a third have empty, null and very
long values side by side, and metadata with every key that is known, on fields at every depth; a third have sorted keys,
clocks, runs, and decimals that differ in few low bytes, most of them in encodings that the writer chooses by itself.

    python lance_write.py path/to/lance_write [--files 150] [--seed 1] [--minutes 60]

The program is the example `lance_write` of colkit-lance.
"""
import argparse
import base64
import collections
import decimal
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

from lance_read import Tables, differences

OLD = lance.__version__.startswith("4.")


class Wide(Tables):
    """Values of every length, empty and null ones among them, under every key that metadata may have, at every depth."""

    def table(self):
        r = self.r
        self.rows = r.choice([0, 1, 2, 3, 17, 100, 300, 1024, 1500, 5000])
        fields, columns = [], []
        for i in range(r.randint(1, 3)):
            kind = self.type(r.choice([0, 0, 0, 1, 1, 2]))
            nulls = r.choice([0, 0, 0.02, 0.3, 0.95, 1])
            # Lists have several values a row.
            self.room = (2_000_000 if pa.types.is_primitive(kind) or not kind.num_fields else 300_000) // max(1, self.rows)
            self.lengths = r.choice(["empty", "short", "long", "mixed", "mixed", "huge"])
            self.content = r.choice(["words", "repeated", "noise"])
            metadata = self.metadata(kind)
            if pa.types.is_large_binary(kind) and r.random() < 0.2:
                metadata = {**(metadata or {}), "lance-encoding:blob": "true"}
            nullable = nulls > 0 or pa.types.is_null(kind) or r.random() < 0.7
            fields.append(pa.field(f"c{i}", kind, nullable=nullable, metadata=metadata))
            columns.append(self.values(kind, self.rows, nulls))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def leaf(self):
        r = self.r
        texts = [pa.utf8(), pa.large_utf8(), pa.binary(), pa.large_binary()]
        return r.choice(texts) if r.random() < 0.6 else r.choice([super().leaf(), pa.binary(300), pa.binary(1)])

    def type(self, depth):
        kind = super().type(depth)
        t = pa.types
        if t.is_struct(kind):
            return pa.struct([f.with_metadata(self.metadata(f.type)) for f in kind])
        if t.is_list(kind) or t.is_large_list(kind):
            metadata = self.metadata(kind.value_type)
            if t.is_struct(kind.value_type) and self.version == "2.2":
                # A row without any packed struct of text aborts 14.0.2, even in its own files.
                metadata = {k: v for k, v in (metadata or {}).items() if k != "lance-encoding:packed"}
            item = kind.value_field.with_metadata(metadata)
            return pa.large_list(item) if t.is_large_list(kind) else pa.list_(item)
        return kind

    def metadata(self, kind):
        r = self.r
        if r.random() < 0.3:
            return None
        known = {
            "compression": ["zstd", "lz4", "fsst", "none"],
            "compression-level": ["1", "7", "19"],
            "structural-encoding": ["miniblock", "fullzip"],
            "bss": ["on", "off", "auto"],
            "rle-threshold": ["0", "0.3", "1"],
            "dict-divisor": ["1", "2", "100"],
            "dict-size-ratio": ["0.1", "0.9", "1"],
            "dict-values-compression": ["zstd", "lz4", "none"],
            "dict-values-compression-level": ["3"],
            "minichunk-size": ["64", "1024", "4096", "32768"],
        }
        often = {"compression": 0.7, "structural-encoding": 0.5}
        chosen = {f"lance-encoding:{key}": r.choice(values) for key, values in known.items()
                  if r.random() < often.get(key, 0.15)}
        fits = [pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]
        if self.version == "2.2":
            fits += [pa.utf8(), pa.binary()]
        if pa.types.is_struct(kind) and all(f.type in fits for f in kind) and r.random() < 0.5:
            chosen["lance-encoding:packed"] = "true"
        return chosen or None

    def text(self, x, wide):
        # The same number is the same text, so that values repeat where numbers do.
        r = random.Random(x)
        roll = r.random()
        if self.lengths == "empty" or roll < {"mixed": 0.3, "short": 0.1}.get(self.lengths, 0.02):
            return ""
        if self.lengths == "huge" and roll > 1 - 3 / max(3, self.rows):
            length = r.choice([33_000, 70_000, 300_000])
        elif self.lengths in ("long", "mixed") and roll > 0.5:
            length = min(self.room, r.choice([100, 127, 128, 255, 256, 1000, 1025, 5000, 20_000]))
        else:
            length = r.choice([1, 2, 4, 5, 10, 30])
        if self.content == "words":
            return ((Tables.text(self, x, False) or "o") * (length // 5 + 1))[:length]
        if self.content == "repeated":
            return ("abc " * (length // 4 + 1))[:length]
        return base64.b64encode(r.randbytes(length)).decode()[:length]


class Keys(Tables):
    """Numbers as tables of facts have them: sorted keys, clocks, runs, and decimals that differ in few low bytes."""

    def table(self):
        r = self.r
        rows = r.choice([1, 7, 8, 9, 100, 513, 1024, 1025, 5000, 20_000])
        fields, columns = [], []
        for i in range(r.randint(1, 4)):
            kind = r.choice([pa.int64(), pa.int64(), pa.int32(), pa.uint64(), pa.timestamp("us"), pa.float64(), pa.int16(),
                             pa.decimal128(15, 2), pa.decimal128(15, 2), pa.decimal128(38, 0), pa.binary(16)])
            nulls = r.choice([0, 0, 0, 0.01, 0.3])
            listed = r.random() < 0.15
            numbers = itertools.islice(self.numbers(), rows * (2 if listed else 1))
            values = [None if r.random() < nulls else self.number(kind, x) for x in numbers]
            if listed:
                cuts = sorted(r.randrange(len(values) + 1) for _ in range(rows - 1))
                values = [values[a:b] for a, b in zip([0, *cuts], [*cuts, len(values)])]
                kind = pa.list_(kind)
            metadata = self.metadata(kind) if r.random() < 0.3 else None
            fields.append(pa.field(f"c{i}", kind, nullable=nulls > 0 or listed or r.random() < 0.7, metadata=metadata))
            columns.append(pa.array(values, kind))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def numbers(self):
        """Numbers without end, of one kind."""
        r = self.r
        style = r.choice(["keys", "keys", "serial", "clock", "low bytes", "low bytes", "runs", "constant", "mixed"])
        x, low = r.choice([0, 1, 10_000_000, 1 << 33]), 8 * r.randint(1, 7)
        step, most = r.choice([1, 3, 500, 100_000]), r.choice([1, 4, 7, 300, 2000])
        while True:
            if style == "keys":
                x += r.randint(1, step)
                yield from itertools.repeat(x, r.randint(1, 7))
            elif style in ("serial", "clock"):
                x += 1 if style == "serial" else r.randrange(step)
                yield x
            elif style == "runs":
                yield from itertools.repeat(r.randrange(1 << low), r.randint(1, most))
            elif style == "constant":
                yield x
            else:
                # Now and then one that differs in every byte.
                far = style == "mixed" and r.random() < 0.001
                yield -x - 1 if far else (x << 24) + r.randrange(1 << low)

    def number(self, kind, x):
        t = pa.types
        if t.is_decimal(kind):
            return decimal.Decimal(x % 10**14 if x >= 0 else x).scaleb(-kind.scale)
        if t.is_fixed_size_binary(kind):
            return (x % (1 << 128)).to_bytes(16, "little")
        if t.is_floating(kind):
            return x / 100
        return abs(x) % (1 << min(62, (kind.bit_width if t.is_integer(kind) else 52) - 1))


class Writer:
    """Our writer, one process for all files."""

    def __init__(self, binary, folder):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.arrow = os.path.join(folder, "table.arrow")

    def write(self, table, path, **request):
        with pa.OSFile(self.arrow, "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
        self.process.stdin.write(json.dumps({"file": self.arrow, "out": path, **request}) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip() or "the writer ended"


def plain_metadata(table, keep):
    """The same table, perhaps without the metadata that asks for layouts."""
    fields = list(table.schema) if keep else [f.remove_metadata() for f in table.schema]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, metadata={"made by": "a test"}))


def filterable(kind):
    t = pa.types
    return any(f(kind) for f in [t.is_integer, t.is_floating, t.is_boolean, t.is_string, t.is_large_string, t.is_binary])


def misread(kind):
    """Whether 4.0.0 reads pages of this type wrongly, whoever wrote them: nulls without a type inside of lists, and
    fixed-size lists inside of fixed-size lists."""
    t = pa.types
    if t.is_list(kind) or t.is_large_list(kind):
        return has_null(kind.value_type) or misread(kind.value_type)
    if t.is_struct(kind):
        return any(misread(f.type) for f in kind)
    return False


def has_null(kind):
    t = pa.types
    if t.is_struct(kind):
        return any(has_null(f.type) for f in kind)
    return t.is_null(kind) or ((t.is_list(kind) or t.is_large_list(kind)) and has_null(kind.value_type))


def lists_in_lists(kind, inside=False):
    """4.0.0 takes one level per row from a page without values, so it loses what is in lists of empty lists. Maps are lists."""
    t = pa.types
    if t.is_map(kind):
        return inside or lists_in_lists(kind.item_type, True)
    if t.is_list(kind) or t.is_large_list(kind):
        return inside or lists_in_lists(kind.value_type, True)
    return t.is_struct(kind) and any(lists_in_lists(f.type, inside) for f in kind)


def misreads_its_own(table, version, folder):
    """Whether pylance does not read back this table either when it wrote it itself."""
    path = os.path.join(folder, "own.lance")
    for name in table.schema.names:
        column = table.select([name])
        try:
            with LanceFileWriter(path, column.schema, version=version) as out:
                out.write_batch(column.combine_chunks())
        except Exception:
            continue
        try:
            readers = LanceFileReader(path), LanceFileReader(path, columns=[name])
            if any(differences(reader.read_all().to_table(), column) for reader in readers):
                return True
        except Exception:
            return True
    return False


def has_bare_blobs(table):
    """4.0.0 misreads blob columns with nulls or empty values, or aborts at them, even in its own files."""
    blobs = [c for f, c in zip(table.schema, table.columns) if b"lance-encoding:blob" in (f.metadata or {})]
    return any(not value for column in blobs for value in column.to_pylist())


def check(writer, folder, seed, counts):
    version = ["2.1", "2.2", "2.0"][seed % 3]
    tables = [Tables, Wide, Keys][seed // 3 % 3](seed, version)
    r = tables.r
    table = plain_metadata(tables.table(), r.random() < 0.5)
    schema = ", ".join(f"{f.name}: {f.type} {f.metadata or ''}" for f in table.schema)
    path = os.path.join(folder, "t.lance")
    request = {"piece": r.choice([50, 1000, 1 << 30]), "memory": r.choice([1 << 20, 512 << 20]), "version": version,
               "bloom": [f.name for f in table.schema if filterable(f.type) and r.random() < 0.3]}
    often = [None, None] if isinstance(tables, Keys) else []
    prefer = r.choice([None, "size", "speed", "random-access", *often])
    if prefer:
        request["prefer"] = prefer
    if isinstance(tables, Wide):
        request.update(page=r.choice([1 << 16, 8 << 20]), level=r.choice([1, 3]))
    answer = writer.write(table, path, **request)
    if "a member of a packed struct is null" in answer:
        counts["tables left out, with nulls inside of packed structs"] += 1
        return
    if version == "2.0" and "has no null structs" in answer:
        counts["tables left out, with nulls that 2.0 lacks"] += 1
        return
    if version == "2.0" and "without room for an entry for nulls" in answer:
        counts["tables left out, with nulls that 2.0 lacks"] += 1
        return
    if "out of bounds: 0 (should be in [0, -1])" in answer:
        # pyarrow puts index 0 under null structs even where the dictionary is empty; Arrow readers refuse that.
        counts["tables left out, with indices into empty dictionaries"] += 1
        return
    assert answer == "ok", f"{answer}; schema {schema}"
    if OLD and any(misread(f.type) for f in table.schema):
        counts["files left out, of types that 4.0.0 misreads"] += 1
        return

    if OLD and has_bare_blobs(table):
        counts["files left out, of null or empty blobs, which 4.0.0 misreads"] += 1
        return

    def reading(what, expected, read):
        try:
            found = differences(read(), expected)
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt):
                raise
            found = f"{type(e).__name__} {str(e)[:300]}"
        if found and OLD and any(lists_in_lists(f.type) for f in table.schema):
            counts["readings that 4.0.0 fails at, of lists in lists without values"] += 1
            return
        if found and OLD and misreads_its_own(table, version, folder):
            counts["readings that 4.0.0 fails at, of tables that it misreads when it wrote them itself"] += 1
            return
        assert found is None, f"{what}: {found}; {request}; schema {schema}"
        counts[what.split(" ")[0] + "s"] += 1
        if what == "scan":
            counts[f"files of {version}"] += 1
            counts[f"tables of {type(tables).__name__}"] += 1

    rows = table.num_rows
    if rows == 0:
        return reading("scan", table, lambda: LanceFileReader(path).read_all().to_table())
    reading("scan", table, lambda: LanceFileReader(path).read_all(batch_size=r.choice([100, 100_000])).to_table())
    for count in [1, 20, 300]:
        wanted = sorted({r.randrange(rows) for _ in range(count)})
        reading(f"take {count}", table.take(wanted), lambda: LanceFileReader(path).take_rows(wanted).to_table())
    a, b = sorted([r.randrange(rows), r.randrange(rows)])
    reading("range", table.slice(a, b - a + 1), lambda: LanceFileReader(path).read_range(a, b - a + 1).to_table())
    name = r.choice(table.schema.names)
    reading("projection", table.select([name]), lambda: LanceFileReader(path, columns=[name]).read_all().to_table())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("--files", type=int, default=150)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--minutes", type=float, help="as many files as these take, instead of --files")
    arguments.add_argument("--keep", help="copy the files that fail into this folder")
    options = arguments.parse_args()
    counts, failures = collections.Counter(), 0
    began = time.monotonic()

    def done(number):
        return time.monotonic() - began > 60 * options.minutes if options.minutes else number == options.files

    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(options.binary, folder)
        for number in itertools.takewhile(lambda n: not done(n), itertools.count()):
            seed = options.seed * 1_000_000 + number
            try:
                check(writer, folder, seed, counts)
            except AssertionError as e:
                failures += 1
                print(f"seed {seed}: {e}", flush=True)
                if options.keep:
                    os.makedirs(options.keep, exist_ok=True)
                    os.replace(os.path.join(folder, "t.lance"), os.path.join(options.keep, f"{seed}.lance"))
    print(f"pylance {lance.__version__}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    if failures or counts["scans"] < (number + 1) // 2:
        sys.exit(f"{failures} of {number + 1} files failed")


if __name__ == "__main__":
    main()
