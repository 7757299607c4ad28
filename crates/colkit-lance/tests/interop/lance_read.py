"""Files written by real Lance, read here.

Generates tables with random schemas and data, writes them with the installed pylance in every file version it knows,
and compares scan, projection, row ranges and take of our reader with what pylance itself reads.

    python lance_read.py path/to/lance_read [--files 150] [--seed 1]

The program is the example `lance_read` of colkit-lance. Where pylance cannot write a table the file is left out; where
it cannot read back what it wrote (or reads something else), the table as written is the measure.
"""
import argparse
import collections
import datetime
import decimal
import json
import os
import random
import subprocess
import sys
import tempfile

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

WORDS = ("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau "
         "upsilon phi chi psi omega").split()


class Tables:
    """Random tables for one file version."""

    def __init__(self, seed, version):
        self.r = random.Random(seed)
        self.version = version

    def table(self):
        rows = self.r.choice([1, 2, 17, 300, 1024, 1500, 5000, 9000])
        fields, columns = [], []
        for i in range(self.r.randint(1, 4)):
            depth = self.r.choice([0, 0, 0, 1, 1, 2, 3])
            kind = self.type(depth)
            nulls = self.r.choice([0, 0, 0.1, 0.5, 0.95, 1])
            metadata = self.metadata(kind)
            name = f"c{i}"
            column = self.values(kind, rows, nulls)
            nullable = True
            if nulls == 0 and not pa.types.is_null(kind) and self.r.random() < 0.3:
                nullable = False
            fields.append(pa.field(name, kind, nullable=nullable, metadata=metadata))
            columns.append(column)
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def leaf(self):
        r = self.r
        return r.choice([
            pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
            pa.float16(), pa.float32(), pa.float64(), pa.utf8(), pa.utf8(), pa.large_utf8(), pa.binary(), pa.large_binary(),
            pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("ns"), pa.timestamp("us"), pa.timestamp("ns", "UTC"),
            pa.duration("ms"), pa.decimal128(20, 3), pa.decimal256(50, 7), pa.binary(3), pa.binary(16), pa.null(),
        ])

    def type(self, depth):
        r = self.r
        if depth == 0:
            roll = r.random()
            if roll < 0.15:
                inner = r.choice([pa.float32(), pa.int8(), pa.float64(), pa.int32(), pa.bool_()])
                return pa.list_(inner, r.choice([1, 2, 3, 8, 70]))
            if roll < 0.22:
                return pa.dictionary(r.choice([pa.int8(), pa.int32()]), r.choice([pa.utf8(), pa.int64()]))
            return self.leaf()
        kinds = ["list", "list", "struct", "struct", "large_list"]
        if self.version == "2.2":
            kinds += ["map"]
        kind = r.choice(kinds)
        if kind == "struct":
            return pa.struct([pa.field(f"m{i}", self.type(depth - 1)) for i in range(r.randint(1, 3))])
        if kind == "map":
            key = r.choice([pa.utf8(), pa.int32()])
            return pa.map_(key, self.type(0 if depth < 2 else r.randint(0, 1)))
        item = self.type(depth - 1)
        return pa.large_list(item) if kind == "large_list" else pa.list_(item)

    def metadata(self, kind):
        r = self.r
        if r.random() < 0.5:
            return None
        chosen = {}
        if r.random() < 0.6:
            chosen["lance-encoding:compression"] = r.choice(["zstd", "lz4", "fsst", "none"])
        if r.random() < 0.4:
            chosen["lance-encoding:structural-encoding"] = r.choice(["miniblock", "fullzip"])
        if r.random() < 0.2:
            chosen["lance-encoding:bss"] = "on"
        if r.random() < 0.2:
            chosen["lance-encoding:minichunk-size"] = r.choice(["256", "1024", "16384"])
        plain = [pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]
        if pa.types.is_struct(kind) and all(kind.field(i).type in plain for i in range(kind.num_fields)):
            chosen["lance-encoding:packed"] = "true"
        if pa.types.is_large_binary(kind) and r.random() < 0.3:
            chosen["lance-encoding:blob"] = "true"
        return chosen or None

    # ------------------------------------------------------------------ values

    def values(self, kind, n, nulls):
        r = self.r
        style = r.choice(["random", "small", "constant", "runs", "few"])
        wide = r.random() < 0.1
        return pa.array([self.value(kind, style, nulls, i, wide) for i in range(n)], kind)

    def value(self, kind, style, nulls, i, wide):
        r = self.r
        t = pa.types
        struct_nulls = 0 if self.version == "2.0" else nulls
        if nulls and r.random() < (struct_nulls if t.is_struct(kind) else nulls):
            return None
        if t.is_null(kind):
            return None
        if t.is_struct(kind):
            return {f.name: self.value(f.type, style, nulls, i, wide) for f in kind}
        if t.is_map(kind):
            keys = r.sample(range(1000), r.choice([0, 1, 1, 2, 5]))
            key = (lambda k: k) if t.is_integer(kind.key_type) else (lambda k: f"k{k}")
            return [(key(k), self.value(kind.item_type, style, nulls, i, wide)) for k in keys]
        if t.is_fixed_size_list(kind):
            item_nulls = nulls if r.random() < 0.5 else 0
            return [self.value(kind.value_type, style, item_nulls, i, wide) for _ in range(kind.list_size)]
        if t.is_list(kind) or t.is_large_list(kind):
            length = r.choice([0, 0, 1, 1, 2, 3, 5, 40 if r.random() < 0.05 else 2])
            if r.random() < 0.001:
                length = 3000
            return [self.value(kind.value_type, style, nulls, i, wide) for _ in range(length)]
        if t.is_dictionary(kind):
            return self.value(kind.value_type, "few", 0, i, False)
        step = {"random": r.randrange(1 << 62), "small": r.randrange(100), "constant": 7, "runs": i // 300,
                "few": r.randrange(20)}[style]
        return self.scalar(kind, step, wide)

    def scalar(self, kind, x, wide):
        t = pa.types
        if t.is_boolean(kind):
            return x % 2 == 0
        if t.is_integer(kind):
            bits = kind.bit_width
            if t.is_unsigned_integer(kind):
                return x % (1 << bits)
            value = x % (1 << (bits - 1))
            return -value if x % 5 == 3 else value
        if t.is_floating(kind):
            return float(x % 1000) / 4 if kind == pa.float16() else float(x) / 3
        if t.is_decimal(kind):
            return decimal.Decimal(x % 10**12 - 10**6).scaleb(-kind.scale)
        if t.is_fixed_size_binary(kind):
            return (x.to_bytes(16, "little") * (kind.byte_width // 16 + 1))[:kind.byte_width]
        if t.is_binary(kind) or t.is_large_binary(kind):
            return self.text(x, wide).encode()
        if t.is_string(kind) or t.is_large_string(kind):
            return self.text(x, wide)
        if t.is_date32(kind):
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=x % 30000)
        if t.is_date64(kind):
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=x % 30000)
        if t.is_time32(kind):
            return pa.scalar(x % 86_000_000, pa.int64()).cast(pa.int32()).cast(kind)
        # Whole microseconds, which Python's own types hold.
        return pa.scalar(x % (10**13 if not t.is_time(kind) else 86_000_000_000_000) // 1000 * 1000, pa.int64()).cast(kind)

    def text(self, x, wide):
        words = " ".join(WORDS[(x >> (5 * j)) % len(WORDS)] for j in range(x % 6))
        return (words + "é") * 40 if wide else words


# ---------------------------------------------------------------------- comparing

def plain(array):
    """The same values with dictionaries decoded, as Python objects."""
    return array.to_pylist()


def differences(ours, theirs):
    if ours.num_rows != theirs.num_rows:
        return f"{ours.num_rows} rows instead of {theirs.num_rows}"
    if ours.schema.names != theirs.schema.names:
        return f"columns {ours.schema.names} instead of {theirs.schema.names}"
    for name in theirs.schema.names:
        mine, their = ours.column(name), theirs.column(name)
        if mine.type != their.type:
            return f"{name} is {mine.type} instead of {their.type}"
        try:
            if mine.equals(their):
                continue
        except pa.ArrowException:
            pass
        a, b = plain(mine), plain(their)
        for row, (x, y) in enumerate(zip(a, b)):
            if x != y:
                return f"{name} row {row}: {str(x)[:200]} instead of {str(y)[:200]}"
    return None


def project(table, path):
    """The column that a path such as c1.m0 keeps, as pyarrow would build it."""
    top, *rest = path.split(".")

    def keep(array, names):
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        if not names:
            return array
        name = names[0]
        kind = array.type
        index = kind.get_field_index(name)
        inner = keep(array.field(index), names[1:])
        field = kind.field(index).with_type(inner.type)
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays([inner], fields=[field], mask=mask)

    column = keep(table.column(top), rest)
    field = table.schema.field(top).with_type(column.type)
    return pa.table([column], schema=pa.schema([field]))


class Reader:
    """Our reader, one process for all files."""

    def __init__(self, binary, folder):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.out = os.path.join(folder, "ours.arrow")

    def read(self, path, **request):
        self.process.stdin.write(json.dumps({"file": path, "out": self.out, **request}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "ok":
            raise ValueError(answer or "the reader ended")
        with pa.OSFile(self.out) as file:
            return pa.ipc.open_stream(file).read_all()


def load(path):
    with pa.OSFile(path) as file:
        return pa.ipc.open_file(file).read_all()


def store(table, path):
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


class Pylance:
    """pylance in a process of its own: on some tables it does not raise but abort."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None

    def make(self, seed, version):
        if self.process is None:
            command = [sys.executable, __file__, "--work-in", self.folder]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps([seed, version]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            self.process = None
            return {"problem": "tables that crash pylance"}
        return json.loads(answer)


def work(folder):
    """The pylance side: writes a table and what pylance itself reads from it."""
    for line in sys.stdin:
        seed, version = json.loads(line)
        print(json.dumps(make(folder, seed, version)), flush=True)


def attempt(action):
    """What the action returns, or None if pylance fails (which may also be a panic)."""
    try:
        return action()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def make(folder, seed, version):
    tables = Tables(seed, version)
    path = os.path.join(folder, "t.lance")
    table = tables.table()
    r, rows = tables.r, table.num_rows
    pieces, cache = r.choice([1, 1, 2, 5]), r.choice([1, 1 << 20])

    def write():
        with LanceFileWriter(path, table.schema, version=version, data_cache_bytes=cache) as writer:
            step = max(1, -(-rows // pieces))
            for at in range(0, rows, step):
                writer.write_batch(table.slice(at, step).combine_chunks())
        return True

    if not attempt(write):
        return {"problem": "tables that pylance cannot write"}
    store(table, os.path.join(folder, "written.arrow"))
    answer = {"takes": []}
    expected = attempt(lambda: LanceFileReader(path).read_all(batch_size=100_000).to_table())
    answer["read"] = expected is not None
    if expected is not None:
        store(expected, os.path.join(folder, "expected.arrow"))
    for i, count in enumerate([1, 20, 300]):
        wanted = [r.randrange(rows) for _ in range(count)]
        own = False
        if r.random() < 0.5:
            wanted = sorted(set(wanted))
            taken = attempt(lambda: LanceFileReader(path).take_rows(wanted).to_table())
            if taken is not None:
                own = True
                store(taken, os.path.join(folder, f"take{i}.arrow"))
        answer["takes"].append([wanted, own])
    return answer


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary", nargs="?")
    arguments.add_argument("--files", type=int, default=150)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--keep", help="move the files that fail into this folder")
    arguments.add_argument("--work-in", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.work_in:
        return work(options.work_in)
    counts = collections.Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        reader, pylance = Reader(options.binary, folder), Pylance(folder)
        for number in range(options.files):
            version = ["2.0", "2.1", "2.2"][number % 3]
            seed = options.seed * 1_000_000 + number
            try:
                check(reader, pylance, folder, seed, version, counts)
            except AssertionError as e:
                failures.append((seed, version, str(e)))
                print(f"seed {seed} version {version}: {e}", flush=True)
                if options.keep:
                    os.makedirs(options.keep, exist_ok=True)
                    os.replace(os.path.join(folder, "t.lance"), os.path.join(options.keep, f"{seed}.lance"))
    print(f"pylance {lance.__version__}: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    if failures or counts["files compared"] < options.files // 2:
        sys.exit(f"{len(failures)} of {options.files} files failed")


def check(reader, pylance, folder, seed, version, counts):
    answer = pylance.make(seed, version)
    if "problem" in answer:
        counts[answer["problem"]] += 1
        return
    path = os.path.join(folder, "t.lance")
    written = load(os.path.join(folder, "written.arrow"))
    expected = written
    if answer["read"]:
        expected = load(os.path.join(folder, "expected.arrow"))
        if differences(expected, written) is not None:
            counts["files that pylance reads otherwise than written"] += 1
        if expected.num_rows != written.num_rows:
            expected = written
    else:
        counts["files that pylance cannot read"] += 1

    def compare(what, ours, *candidates):
        found = [differences(ours, c) for c in candidates]
        assert None in found, f"{what}: {found[0]}; schema {written.schema}"

    def read(what, **request):
        try:
            return reader.read(path, **request)
        except ValueError as e:
            raise AssertionError(f"{what}: {e}; schema {written.schema}") from None

    try:
        ours = reader.read(path)
    except ValueError as e:
        # Some releases write pages that no release can read; refusing those is all that can be asked for.
        assert not answer["read"], f"scan: {e}; schema {written.schema}"
        counts["files that neither can read"] += 1
        return
    compare("scan", ours, expected, written)
    counts["files compared"] += 1
    r, rows = random.Random(seed), written.num_rows
    for _ in range(2):
        a, b = sorted([r.randint(0, rows), r.randint(0, rows)])
        compare(f"rows {a}..{b}", read("rows", rows=[a, b]), expected.slice(a, b - a), written.slice(a, b - a))
    for i, (wanted, own) in enumerate(answer["takes"]):
        candidates = [expected.take(wanted), written.take(wanted)]
        if own:
            candidates.insert(0, load(os.path.join(folder, f"take{i}.arrow")))
            counts["takes compared with pylance's own"] += 1
        compare(f"take {len(wanted)}", read("take", take=wanted), *candidates)
    chosen = r.sample(written.schema.names, r.randint(1, len(written.schema.names)))
    compare(f"projection {chosen}", read("projection", columns=chosen), expected.select(chosen), written.select(chosen))
    for field in written.schema:
        kind, names = field.type, [field.name]
        while pa.types.is_struct(kind) and kind.num_fields > 0:
            member = kind.field(r.randrange(kind.num_fields))
            names.append(member.name)
            kind = member.type
        if len(names) > 1:
            nested = ".".join(names)
            found = read(f"projection {nested}", columns=[nested])
            compare(f"projection {nested}", found, project(expected, nested), project(written, nested))
            counts["nested projections"] += 1


if __name__ == "__main__":
    main()
