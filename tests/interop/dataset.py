"""Random histories of Lance datasets, made by the installed pylance, by colkit and by both in turns, and read by both.

    python tests/interop/dataset.py target/debug/colkit [--histories 8] [--rounds 12] [--seed 1]

Each history creates a dataset and then appends, deletes, updates, merges, adds, drops, renames and casts columns, compacts,
restores and tags it. For every version, the table, the row ids and rows by number must be those that pylance gives, and
pylance must find each newest version valid. At the end, writers of both append to one dataset at once.
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

    def __init__(self, seed, folder, program):
        self.r = random.Random(seed)
        self.path = str(folder / f"{type(self).__name__}-{seed}.lance")
        self.folder = folder
        self.program = program
        self.next_id = 0
        self.steps = []
        self.create()

    def create(self):
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

    def actions(self):
        return [self.append, self.append, self.delete, self.delete, self.update, self.merge_insert, self.add_columns,
                self.add_nulls, self.drop, self.drop_nested, self.rename, self.cast, self.compact, self.restore, self.tag]

    def step(self):
        action = self.r.choice(self.actions())
        try:
            action()
            self.steps.append(action.__name__)
        except Exception as error:  # What this release cannot do, or not with these columns, is not done.
            self.steps.append(f"({action.__name__}: {type(error).__name__})")
        self.dataset = lance.dataset(self.path)
        self.dataset.validate()


class Mixed(History):
    """A dataset to which both write, in turns."""

    def create(self):
        if self.r.random() < 0.4:
            return super().create()
        version = self.r.choice(["2.0", "2.1", "2.2"])
        self.options = {"made by": "colkit", "data_storage_version": version}
        self.colkit("convert", self.saved(self.rows(self.r.randint(30, 150))), self.path + "/",
                    "--lance-version", version, "--rows-per-file", 40)
        self.dataset = lance.dataset(self.path)

    def actions(self):
        ours = [self.our_append, self.our_append, self.our_delete, self.our_delete, self.our_compact, self.our_tag,
                self.our_restore, self.our_overwrite]
        return super().actions() + ours + ours

    def saved(self, rows):
        """The rows as a file."""
        path = self.folder / f"{self.next_id}.arrow"
        with pa.ipc.new_file(str(path), rows.schema) as writer:
            writer.write_table(rows)
        return path

    def colkit(self, *arguments):
        return colkit(self.program, *arguments)

    def ids(self):
        return plain(lance.dataset(self.path).to_table(columns=["id"])["id"])

    def expect(self, ids, what):
        found = self.ids()
        if found != ids:
            sys.exit(f"{what}: {len(found)} rows, expected {len(ids)}: {self.path}, {self.options}: {self.steps}")

    def our_append(self):
        new = self.rows(self.r.randint(1, 60))
        new = new.select([name for name in new.schema.names if name in self.names()])
        if any(field.type != self.dataset.schema.field(field.name).type for field in new.schema):
            raise ValueError("the types are others by now")
        before = self.ids()
        self.colkit("convert", self.saved(new), self.path, "--append", "--rows-per-file", 40)
        self.expect(before + plain(new["id"]), "append")

    def our_delete(self):
        start = self.r.randint(0, self.next_id)
        end = start + self.r.randint(1, 40)
        before = self.ids()
        self.colkit("delete", self.path, "--where", f"id >= {start} and id < {end}")
        self.expect([i for i in before if not start <= i < end], "delete")

    def our_compact(self):
        before = self.ids()
        self.colkit("compact", self.path, "--rows-per-file", self.r.choice([30, 100, 1000]))
        if sorted(self.ids()) != sorted(before):
            sys.exit(f"compact: {self.path}, {self.options}: {self.steps}")

    def our_tag(self):
        self.colkit("tag", self.path, f"ours{len(self.steps)}")

    def our_restore(self):
        version = self.r.choice([v["version"] for v in self.dataset.versions()])
        expected = plain(lance.dataset(self.path, version=version).to_table(columns=["id"])["id"])
        self.colkit("restore", self.path, version)
        self.expect(expected, "restore")

    def our_overwrite(self):
        new = self.rows(self.r.randint(1, 60))
        self.colkit("convert", self.saved(new), self.path, "--overwrite")
        self.expect(plain(new["id"]), "overwrite")


APPENDER = """
import lance, pyarrow as pa, sys
for i in range(int(sys.argv[2])):
    lance.write_dataset(pa.table({"id": pa.array([3000 + i], pa.int64())}), sys.argv[1], mode="append")
"""


def at_once(program, folder, each):
    """Three writers of ours and one of pylance append at once; returns how many versions there are then."""
    path = folder / "at-once.lance"
    lance.write_dataset(pa.table({"id": pa.array([-1], pa.int64())}), str(path))
    others = subprocess.Popen([sys.executable, "-c", APPENDER, str(path), str(each)])
    lines = []
    for writer in range(3):
        for i in range(each):
            (folder / f"w{writer}-{i}.csv").write_text(f"id\n{writer * 1000 + i}\n")
        files = " ".join(f"w{writer}-{i}.csv" for i in range(each))
        loop = f"for f in {files}; do {program} convert $f {path} --append || exit 1; done"
        lines.append(subprocess.Popen(["bash", "-c", loop], cwd=folder, stderr=subprocess.PIPE))
    for process in lines:
        _, err = process.communicate()
        if process.returncode != 0:
            sys.exit(f"a writer failed: {err.decode()}")
    if others.wait() != 0:
        sys.exit("pylance failed")
    expected = sorted([-1] + [writer * 1000 + i for writer in range(4) for i in range(each)])
    dataset = lance.dataset(str(path))
    dataset.validate()
    if sorted(plain(dataset.to_table()["id"])) != expected:
        sys.exit(f"rows were lost or doubled: {sorted(plain(dataset.to_table()['id']))}")
    if sorted(plain(table(colkit(program, "cat", path, "--as", "arrow"))["id"])) != expected:
        sys.exit("colkit reads other rows")
    return len(dataset.versions())


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
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.colkit).resolve())
    total, done = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for kind in (History, Mixed):
            for seed in range(arguments.seed, arguments.seed + arguments.histories):
                history = kind(seed, folder, program)
                for _ in range(arguments.rounds):
                    history.step()
                total += check(program, history)
                done.update(step for step in history.steps if not step.startswith("("))
        written = at_once(program, folder, 6)
    told = ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
    print(f"pylance {lance.__version__}: {2 * arguments.histories} histories, {total} versions read alike ({told}); "
          f"{written} versions by four writers at once")


if __name__ == "__main__":
    main()
