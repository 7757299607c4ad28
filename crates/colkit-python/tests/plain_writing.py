"""Writing, the verbs and SQL, with Python alone."""

from __future__ import annotations

import contextlib
import datetime
import io
import os
import pathlib
import subprocess
import sys
import unittest
from typing import Any, Iterator

import colkit
from colkit import _colkit, _options
from support import CSV, InFolder, trades


class Writing(InFolder):
    def test_lists(self) -> None:
        data: dict[str, list[Any]] = {"i": [1, None], "f": [0.5, 2], "s": ["a", None], "b": [True, False]}
        for name in ["t.lance", "t.parquet", "t.arrow", "t.ndjson"]:
            self.assertEqual(colkit.write(data, name)["rows"], 2)
            self.assertEqual(colkit.open(name).scan().to_pydict(), {**data, "f": [0.5, 2.0]}, name)
        with self.assertRaises(FileExistsError) as raised:
            colkit.write(data, "t.lance")
        self.assertIn("force=True", str(raised.exception))
        colkit.write(data, "t.lance", force=True)

    def test_values_come_back_as_they_were(self) -> None:
        utc = datetime.timezone.utc
        data = {
            "date": [datetime.date(2024, 2, 29), None],
            "naive": [datetime.datetime(2024, 1, 1, 12, 30, 15, 250), None],
            "aware": [datetime.datetime(2024, 1, 1, 12, tzinfo=utc), None],
            "bytes": [b"\x00\xff", None],
            "large": [2**64 - 1, None],
            "list": [[1, None, 3], None],
            "nested": [[["a"], []], None],
            "empty": [None, None],
        }
        for name in ["t.lance", "t.parquet", "t.arrow"]:
            colkit.write(data, name)
            self.assertEqual(colkit.open(name).scan().to_pydict(), data, name)

    def test_batches(self) -> None:
        f = trades("t.lance")
        colkit.write(f, "a.parquet")
        colkit.write(f.scan(where="id < 10"), "b.csv")
        colkit.write(f.take([5, 3]), "c.arrow")
        colkit.write((batch for batch in f.scan(batch_rows=100)), "d.ndjson")
        colkit.write(colkit.sql("SELECT id FROM f WHERE id < 3"), "e.lance")
        self.assertTrue(colkit.diff("t.lance", "a.parquet"))
        self.assertEqual(colkit.open("b.csv")["id"].to_pylist(), list(range(10)))
        self.assertEqual(colkit.open("c.arrow")["id"].to_pylist(), [5, 3])
        self.assertTrue(colkit.diff("t.lance", "d.ndjson"))
        self.assertEqual(colkit.open("e.lance")["id"].to_pylist(), [0, 1, 2])

    def test_options(self) -> None:
        f = trades("t.lance")
        report = colkit.write(f, "part-{}.csv", split_rows=400)
        self.assertEqual((report["files"], report["rows"]), (3, 1000))
        self.assertEqual(colkit.open("part-*.csv")["id"].to_pylist(), list(range(1000)))
        colkit.write(f, "x.data", to="parquet", compression="snappy")
        self.assertEqual(colkit.open("x.data").format, "parquet")
        colkit.write(f, "v.lance", lance_version="2.0", page_size="1M")
        self.assertEqual(colkit.open("v.lance").properties["version"], "2.0")
        with self.assertRaises(colkit.RequestError):
            colkit.write(f, "x.csv", prefer="size")
        with self.assertRaises(colkit.DataError) as raised:
            colkit.write({"a": ["x", None]}, "n.cff")
        self.assertIn('nulls="fill"', raised.exception.hint or "")
        self.assertTrue(colkit.write({"a": ["x", None]}, "n.cff", nulls="fill")["notes"])

    def test_wrong_data(self) -> None:
        def broken() -> Iterator[object]:
            yield colkit.open(b"a\n1\n")
            raise ZeroDivisionError("from the iterable")

        for data in [5, "abc", {"a": [1, "x"]}, {"a": "xy"}, {"a": [1], "b": [1, 2]}, [], [5], {"a": [object()]}]:
            with self.assertRaises((TypeError, ValueError)):
                colkit.write(data, "x.lance")
        with self.assertRaises(ZeroDivisionError):
            colkit.write(broken(), "x.lance")
        with self.assertRaises(ValueError):
            colkit.write([{"a": [1]}, {"b": [1]}], "x.lance")
        self.assertEqual(os.listdir("."), [], "nothing is left behind")

    def test_every_option_of_the_command_is_there(self) -> None:
        # Clusters are not in the wheel; a build of everything knows them.
        own = {"json", "quiet", "help", "version", "cluster", "cluster-tls"}
        printing = {"as", "out", "force", "explain", "columns", "select", "where", "rows", "types", "nulls", "no-pager", "limit", "drop-metadata"}

        def python(name: str) -> str:
            return "from_" if name == "from" else name.replace("-", "_")

        verbs: list[tuple[str, Any]] = [
            ("convert", _options.ConvertOptions),
            ("pack", _options.PackOptions),
            ("unpack", _options.UnpackOptions),
            ("inspect", _options.InspectOptions),
            ("verify", _options.VerifyOptions),
            ("diff", _options.DiffOptions),
        ]
        for verb, known in verbs:
            expected = {python(name) for name in _colkit.options(verb) if name not in own}
            self.assertEqual(set(known.__optional_keys__) | ({"out"} & expected), expected, verb)
        opening = {python(name) for name in _colkit.options("cat") if name not in own | printing}
        # Only who keeps a file open has something of a mapping.
        self.assertEqual(set(_options.OpenOptions.__optional_keys__), opening - {"from_"} | {"format", "memory_map"})
        self.assertLessEqual(_options.WriteOptions.__optional_keys__, _options.ConvertOptions.__optional_keys__)


class Verbs(InFolder):
    def test_verbs(self) -> None:
        pathlib.Path("t.csv").write_bytes(CSV)
        self.assertEqual(colkit.convert("t.csv", "t.lance", columns=["sym", "day"])["columns"], 2)
        self.assertEqual(colkit.convert(["t.csv", "t.csv"], "t.parquet", where='sym = "BTC"')["rows"], 2)
        self.assertTrue(colkit.verify("t.lance"))
        self.assertFalse(colkit.diff("t.csv", "t.parquet"))
        self.assertTrue(colkit.diff("t.csv", "t.lance", columns=["sym"]))
        report = colkit.inspect("t.lance")
        self.assertEqual((report["format"], report.to_dict()["rows"]), ("lance", 3))
        self.assertIn("format: lance", repr(report))
        colkit.pack("t.csv", "t.at1")
        os.remove("t.csv")
        colkit.unpack("t.at1", "t.csv")
        self.assertEqual(pathlib.Path("t.csv").read_bytes(), CSV)
        colkit.pack(["t.csv", "t.lance"], "all.at1")
        names = [file["name"] for file in colkit.unpack("all.at1", list=True)["files"]]
        self.assertEqual(names, ["t.csv", "t.lance"])
        colkit.unpack("all.at1", "some", names=["t.csv"])
        self.assertEqual(os.listdir("some"), ["t.csv"])

    def test_damage(self) -> None:
        trades("t.lance")
        content = bytearray(pathlib.Path("t.lance").read_bytes())
        content[20] ^= 0xFF
        pathlib.Path("bad.lance").write_bytes(content)
        report = colkit.verify("bad.lance")
        self.assertFalse(report)
        self.assertFalse(report["valid"])
        self.assertEqual(len(colkit.verify(["t.lance", "bad.lance"]).to_dict()), 2)

    def test_nothing_is_printed(self) -> None:
        script = """
import colkit
colkit.write({"a": [1, None]}, "a.parquet")
colkit.convert("a.parquet", "a.lance"); colkit.pack("a.parquet"); colkit.verify("a.lance"); colkit.inspect("a.lance")
colkit.open(b"a;b\\n1;2\\n").scan().to_pydict(); colkit.sql("SELECT 1").to_pydict()
"""
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual((run.stdout, run.stderr), ("", ""))

    def test_progress(self) -> None:
        trades("t.csv", 50_000)
        heard: list[tuple[str, int, int]] = []
        colkit.convert("t.csv", "t.lance", progress=lambda *news: heard.append(news))
        self.assertTrue(heard)
        doing, done, total = heard[-1]
        self.assertEqual(doing, "converting")
        self.assertTrue(0.9 * total < done <= total, heard)
        with contextlib.redirect_stderr(io.StringIO()) as err:
            colkit.pack("t.csv", "t.at1", progress=True)
            colkit.verify("t.at1", progress=True)
        self.assertIn("packing", err.getvalue())
        self.assertIn("verifying", err.getvalue())

    def test_the_command(self) -> None:
        pathlib.Path("t.csv").write_bytes(CSV)
        program = os.path.join(os.path.dirname(sys.executable), "colkit")
        for command in [[sys.executable, "-m", "colkit"], [program]]:
            run = subprocess.run([*command, "count", "t.csv"], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout), (0, "3\n"))
            run = subprocess.run([*command, "count", "none.csv"], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            run = subprocess.run([*command, "sql", "SELECT max(price) FROM 't.csv'", "--as", "csv"], capture_output=True, text=True)
            self.assertIn("64000.5", run.stdout)
            run = subprocess.run([*command, "count", "--nope"], capture_output=True, text=True)
            self.assertEqual(run.returncode, 2)


class Queries(InFolder):
    def test_files_and_variables(self) -> None:
        colkit.write({"a": [1, 2, 3]}, "t.lance")
        self.assertEqual(colkit.sql("SELECT sum(a) AS s FROM 't.lance'").to_pydict(), {"s": [6]})
        f = colkit.open(b"a,b\n1,x\n3,y\n")
        joined = colkit.sql("SELECT b FROM f JOIN t USING (a) ORDER BY b", t="t.lance").to_pydict()
        self.assertEqual(joined, {"b": ["x", "y"]})
        scan = f.scan(where="a > 1")
        self.assertEqual(colkit.sql("SELECT a FROM scan").to_pydict(), {"a": [3]})
        self.assertEqual(colkit.sql("SELECT max(n) AS n FROM numbers", numbers={"n": [1, 5]}).to_pydict(), {"n": [5]})
        self.assertEqual(colkit.sql("SELECT count(*) AS n FROM t", t=pathlib.Path("t.lance")).to_pydict(), {"n": [3]})

    def test_rows_stream_and_can_be_had_once(self) -> None:
        result = colkit.sql("SELECT value FROM range(1000000)")
        self.assertEqual(result.columns, ["value"])
        first = next(iter(result))
        self.assertLess(len(first), 100_000)
        self.assertEqual(first[0], {"value": 0})
        result = colkit.sql("SELECT 1 AS one")
        self.assertEqual(result.to_pydict(), {"one": [1]})
        self.assertEqual(result.to_pydict(), {"one": []})

    def test_mistakes(self) -> None:
        for query in ["SELEC 1", "SELECT nope FROM 't.csv'", "SELECT 1; SELECT 2", "COPY (SELECT 1) TO 'x.csv'", "DROP TABLE x"]:
            with self.assertRaises(colkit.Error):
                colkit.sql(query).to_pydict()


if __name__ == "__main__":
    unittest.main()
