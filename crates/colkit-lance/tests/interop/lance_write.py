"""Files written here, read by real Lance.

Generates tables with random schemas and data, has them written as Lance files of version 2.0, 2.1 and 2.2 (statistics,
zone maps, checksums and bloom filters included), and compares scan, projection and take of the installed pylance with
the tables themselves. Half of the tables carry metadata that asks for certain encodings.

    python lance_write.py path/to/lance_write [--files 150] [--seed 1]

The program is the example `lance_write` of colkit-lance.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

import lance
import pyarrow as pa
from lance.file import LanceFileReader

from lance_read import Tables, differences

OLD = lance.__version__.startswith("4.")


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
    """4.0.0 takes one level per row from a page without values, so it loses what is in lists of empty lists."""
    t = pa.types
    if t.is_list(kind) or t.is_large_list(kind):
        return inside or lists_in_lists(kind.value_type, True)
    return t.is_struct(kind) and any(lists_in_lists(f.type, inside) for f in kind)


def check(writer, folder, seed, counts):
    version = ["2.1", "2.2", "2.0"][seed % 3]
    tables = Tables(seed, version)
    r = tables.r
    table = plain_metadata(tables.table(), r.random() < 0.5)
    schema = ", ".join(f"{f.name}: {f.type} {f.metadata or ''}" for f in table.schema)
    path = os.path.join(folder, "t.lance")
    request = {"piece": r.choice([50, 1000, 1 << 30]), "memory": r.choice([1 << 20, 512 << 20]), "version": version,
               "bloom": [f.name for f in table.schema if filterable(f.type) and r.random() < 0.3]}
    prefer = r.choice([None, "size", "speed", "random-access"])
    if prefer:
        request["prefer"] = prefer
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
        assert found is None, f"{what}: {found}; {request}; schema {schema}"
        counts[what.split(" ")[0] + "s"] += 1
        if what == "scan":
            counts[f"files of {version}"] += 1

    rows = table.num_rows
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
    arguments.add_argument("--keep", help="copy the files that fail into this folder")
    options = arguments.parse_args()
    counts, failures = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(options.binary, folder)
        for number in range(options.files):
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
    if failures or counts["scans"] < options.files // 2:
        sys.exit(f"{failures} of {options.files} files failed")


if __name__ == "__main__":
    main()
