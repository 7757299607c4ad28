"""Random histories of Lance datasets, made by the installed pylance and read by colkit at every version.

    python tests/interop/dataset.py target/debug/colkit [--histories 8] [--seed 1]

Each history creates a dataset and then appends, deletes, updates, merges, adds, drops, renames and casts columns, compacts,
restores and tags it. For every version, the table, the row ids and rows by number must be those that pylance gives.
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import lance
import pyarrow as pa
import pyarrow.compute as pc

WORDS = "alpha beta gamma delta epsilon zeta eta theta".split()


def colkit(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True)
    if done.returncode != 0:
        sys.exit(f"colkit {' '.join(map(str, arguments))}\nfailed with {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def table(data):
    return pa.ipc.open_stream(data).read_all()


def plain(column):
    """The values, whatever the chunks and dictionaries."""
    return column.to_pylist()


class History:
    """A dataset and what is done to it."""

    def __init__(self, seed, folder):
        self.r = random.Random(seed)
        self.path = str(folder / f"history-{seed}.lance")
        self.next_id = 0
        self.steps = []
        options = {"data_storage_version": self.r.choice(["2.0", "2.1", "2.2"]), "max_rows_per_file": 40}
        if self.r.random() < 0.4:
            options["enable_stable_row_ids"] = True
        if self.r.random() < 0.3:
            options["enable_v2_manifest_paths"] = False
        self.options = options
        try:
            self.dataset = lance.write_dataset(self.rows(self.r.randint(30, 150)), self.path, **options)
        except TypeError:
            options.pop("enable_stable_row_ids", None)
            self.dataset = lance.write_dataset(self.rows(self.r.randint(30, 150)), self.path, **options)

    def rows(self, count):
        r = self.r
        ids = list(range(self.next_id, self.next_id + count))
        self.next_id += count
        maybe = lambda value: None if r.random() < 0.2 else value
        return pa.table({
            "id": pa.array(ids, pa.int64()),
            "word": pa.array([maybe(r.choice(WORDS)) for _ in ids], pa.utf8()),
            "score": pa.array([maybe(r.random()) for _ in ids], pa.float64()),
            "tags": pa.array([maybe([r.choice(WORDS) for _ in range(r.randint(0, 3))]) for _ in ids], pa.list_(pa.utf8())),
            "place": pa.array([{"x": maybe(i), "y": {"z": r.choice(WORDS)}} for i in ids],
                              pa.struct([("x", pa.int32()), ("y", pa.struct([("z", pa.utf8())]))])),
        })

    def names(self):
        return self.dataset.schema.names

    def append(self):
        new = self.rows(self.r.randint(1, 60))
        new = new.select([name for name in new.schema.names if name in self.names()])
        self.dataset = lance.write_dataset(new, self.path, mode="append", max_rows_per_file=40)

    def delete(self):
        self.dataset.delete(f"id % {self.r.randint(2, 9)} = {self.r.randint(0, 1)}")

    def update(self):
        self.dataset.update({"word": "'changed'"}, where=f"id % 7 = {self.r.randint(0, 6)}")

    def merge_insert(self):
        new = self.rows(self.r.randint(1, 20))
        if set(self.names()) != set(new.schema.names):
            raise ValueError("the columns are others by now")
        self.dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(new)

    def add_columns(self):
        self.dataset.add_columns({f"twice{len(self.names())}": "id * 2"})

    def add_nulls(self):
        self.dataset.add_columns(pa.field(f"none{len(self.names())}", pa.int32()))

    def drop(self):
        others = [name for name in self.names() if name != "id"]
        if len(others) > 1:
            self.dataset.drop_columns([self.r.choice(others)])

    def drop_nested(self):
        self.dataset.drop_columns(["place.x"])

    def rename(self):
        name = self.r.choice([name for name in self.names() if name not in ("id", "word")])
        self.dataset.alter_columns({"path": name, "name": f"{name}_r"})

    def cast(self):
        self.dataset.alter_columns({"path": "score", "data_type": pa.float32()})

    def compact(self):
        self.dataset.optimize.compact_files(target_rows_per_fragment=self.r.choice([30, 100, 1000]))

    def restore(self):
        versions = [v["version"] for v in self.dataset.versions()]
        lance.dataset(self.path, version=self.r.choice(versions)).restore()
        self.dataset = lance.dataset(self.path)

    def tag(self):
        self.dataset.tags.create(f"tag{len(self.steps)}", self.dataset.version)

    def step(self):
        actions = [self.append, self.append, self.delete, self.delete, self.update, self.merge_insert, self.add_columns,
                   self.add_nulls, self.drop, self.drop_nested, self.rename, self.cast, self.compact, self.restore, self.tag]
        action = self.r.choice(actions)
        try:
            action()
            self.steps.append(action.__name__)
        except Exception as error:  # What this release cannot do, or not with these columns, is not done.
            self.steps.append(f"({action.__name__}: {type(error).__name__})")
        self.dataset = lance.dataset(self.path)


def check(program, history):
    """Compares all versions; returns how many there are."""
    versions = [v["version"] for v in history.dataset.versions()]
    listed = [json.loads(line) for line in colkit(program, "versions", history.path, "--json").splitlines()]
    told = f"{history.path}, {history.options}: {history.steps}"
    if [v["version"] for v in listed] != versions:
        sys.exit(f"versions {listed}, expected {versions}\n{told}")
    for version, stated in zip(versions, listed):
        dataset = lance.dataset(history.path, version=version)
        expected = dataset.to_table(with_row_id=True, with_row_address=True)
        at = ["--at", version, "--as", "arrow"]
        found = table(colkit(program, "cat", history.path, "--with-row-id", *at))
        where = f"version {version} of {told}"
        if stated["rows"] != expected.num_rows or found.num_rows != expected.num_rows:
            sys.exit(f"{found.num_rows} rows ({stated['rows']} listed), expected {expected.num_rows}: {where}")
        if found.schema.names != expected.schema.names:
            sys.exit(f"columns {found.schema.names}, expected {expected.schema.names}: {where}")
        for name in expected.schema.names:
            if plain(found[name]) != plain(expected[name]):
                sys.exit(f"column {name}\n{plain(found[name])}\nexpected\n{plain(expected[name])}: {where}")
        if expected.num_rows:
            rows = [history.r.randrange(expected.num_rows) for _ in range(5)]
            taken = table(colkit(program, "take", history.path, "--rows", ",".join(map(str, rows)), *at))
            wanted = expected.drop_columns(["_rowid", "_rowaddr"]).take(rows)
            if taken.to_pylist() != wanted.to_pylist():
                sys.exit(f"rows {rows}\n{taken.to_pylist()}\nexpected\n{wanted.to_pylist()}: {where}")
            half = expected.num_rows // 2
            limit = plain(expected["id"])[half]
            few = table(colkit(program, "cat", history.path, "--columns", "id", "--where", f"id < {limit}", *at))
            if plain(few["id"]) != plain(expected.filter(pc.less(expected["id"], limit))["id"]):
                sys.exit(f"id < {limit}: {where}")
        colkit(program, "verify", history.path, "--at", version)
    for name, tag in history.dataset.tags.list().items():
        found = table(colkit(program, "cat", history.path, "--at", name, "--as", "arrow"))
        if found.num_rows != lance.dataset(history.path, version=tag["version"]).count_rows():
            sys.exit(f"tag {name}: {told}")
    return len(versions)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("colkit")
    parser.add_argument("--histories", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    total, done = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.histories):
            history = History(seed, pathlib.Path(folder))
            for _ in range(12):
                history.step()
            total += check(arguments.colkit, history)
            done.update(step for step in history.steps if not step.startswith("("))
    told = ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
    print(f"pylance {lance.__version__}: {arguments.histories} histories, {total} versions read alike ({told})")


if __name__ == "__main__":
    main()
