"""Reading, with Python alone."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import io
import os
import pathlib
import pickle
import unittest
from typing import Any

import colkit
from support import CSV, InFolder, trades


class Opening(InFolder):
    def test_any_source(self) -> None:
        pathlib.Path("t.csv").write_bytes(CSV)
        with open("t.csv", "rb") as file:
            sources: list[Any] = ["t.csv", pathlib.Path("t.csv"), CSV, memoryview(CSV), bytearray(CSV), io.BytesIO(CSV), file]
            for source in sources:
                f = colkit.open(source)
                self.assertEqual((len(f), f.format, f.columns), (3, "csv", ["sym", "price", "day"]))
                self.assertEqual(f[2], {"sym": "SOL", "price": None, "day": datetime.date(2024, 2, 2)})

    def test_every_format_in_memory(self) -> None:
        for name in ["t.lance", "t.parquet", "t.arrow", "t.cff", "t.gppcol", "t.colfile", "t.at1", "t.csv", "t.ndjson", "t.csv.gz"]:
            trades(name, 100)
            content = pathlib.Path(name).read_bytes()
            sources: list[Any] = [content, io.BytesIO(content)]
            for source in sources:
                f = colkit.open(source)
                self.assertEqual(f.scan(columns=["id"]).to_pydict(), {"id": list(range(100))}, name)
                self.assertEqual(f[-1]["sym"], "BTC", name)

    def test_several_files_and_folders(self) -> None:
        os.mkdir("parts")
        for part in range(3):
            pathlib.Path(f"parts/{part}.csv").write_text(f"n\n{part}\n")
        sources: list[Any] = ["parts", "parts/*.csv", ["parts/0.csv", "parts/1.csv", pathlib.Path("parts/2.csv")]]
        for source in sources:
            f = colkit.open(source)
            self.assertEqual(f.scan().to_pydict(), {"n": [0, 1, 2]})
            self.assertEqual(len(pickle.loads(pickle.dumps(f))), 3)
        self.assertEqual(colkit.open("parts", filename=True)[1], {"n": 1, "filename": "parts/1.csv"})

    def test_datasets(self) -> None:
        colkit.write({"a": [1, 2]}, "d.lance/")
        first = colkit.open("d.lance")
        colkit.write({"a": [3]}, "d.lance", append=True)
        self.assertEqual(colkit.open("d.lance")["a"].to_pylist(), [1, 2, 3])
        self.assertEqual(colkit.open("d.lance", at=1)["a"].to_pylist(), [1, 2])
        # What was opened at a version stays there, also elsewhere.
        self.assertEqual(pickle.loads(pickle.dumps(first))["a"].to_pylist(), [1, 2])
        self.assertIn("_rowid", colkit.open("d.lance", with_row_id=True).columns)

    def test_a_file_mapped_into_memory(self) -> None:
        for name in ["t.lance", "t.parquet", "t.cff", "t.csv", "t.csv.gz"]:
            read, mapped = trades(name, 100), colkit.open(name, memory_map=True)
            self.assertEqual(mapped.scan().to_pydict(), read.scan().to_pydict(), name)
            self.assertEqual(mapped.take([99, 3]).to_pylist(), read.take([99, 3]).to_pylist(), name)
            self.assertEqual(len(pickle.loads(pickle.dumps(mapped))), 100, name)
        for several in ["*.csv", ["t.csv", "t.csv"], "https://example.invalid/t.csv"]:
            with self.assertRaises(ValueError, msg=several):
                colkit.open(several, memory_map=True)
        wrong: list[Any] = [CSV, io.BytesIO(CSV)]
        for source in wrong:
            with self.assertRaises(TypeError):
                colkit.open(source, memory_map=True)

    def test_texts_that_repeat_are_one_object(self) -> None:
        first, _, third = colkit.open(b"t\nlong enough\nb\nlong enough\n")["t"].to_pylist()
        self.assertIs(first, third)
        many = [f"text {n}" for n in range(10_000)]
        colkit.write({"t": [*many, None, *many]}, "many.lance")
        self.assertEqual(colkit.open("many.lance")["t"].to_pylist(), [*many, None, *many])

    def test_options_of_text(self) -> None:
        text = "a;b\n1,5;x\n-;y\n".encode("utf-16")
        f = colkit.open(text, delimiter=";", decimal=",", null_values=["-"], encoding="utf-16", header=True)
        self.assertEqual(f.scan().to_pydict(), {"a": [1.5, None], "b": ["x", "y"]})
        f = colkit.open(b"1,2\n", header=False, schema={"c0": "int32", "c1": "string"})
        self.assertEqual(f.schema.items(), [("c0", "int32"), ("c1", "string")])
        self.assertEqual(colkit.open(b"a,b\n", format="lines").columns, ["line"])

    def test_plugins(self) -> None:
        data = pathlib.Path(__file__).resolve().parents[2] / "colkit-cli/tests/data"
        with self.assertRaises(colkit.UnsupportedError) as refused:
            colkit.open(data / "readings.lance")[0]
        self.assertEqual(refused.exception.code, "plugin_refused")
        self.assertIn("allow_embedded_plugins=True", refused.exception.hint or "")
        digest = hashlib.sha256((data / "steps.wasm").read_bytes()).hexdigest()
        options: list[Any] = [
            {"plugin": data / "steps.wasm"},
            {"plugin": [data / "steps.wasm"]},
            {"allow_embedded_plugins": True},
            {"allow_plugin": digest},
            {"allow_plugin": [digest, "0" * 64]},
        ]
        for each in options:
            self.assertEqual(colkit.open(data / "readings.lance", **each)[0], {"n": 1099511627776, "t": "text 0"})

    def test_what_is_known_without_reading(self) -> None:
        f = trades("t.lance")
        self.assertEqual((f.name, f.format, len(f), f.columns), ("t.lance", "lance", 1000, ["id", "sym", "price"]))
        self.assertEqual(f.schema["price"], "float64")
        self.assertEqual(f.metadata, {})
        self.assertIn("version", f.properties)
        before = f.read_count
        scan = f.scan(columns=["id"], where="price > 3")
        self.assertEqual(scan.columns, ["id"])
        self.assertEqual(f.read_count, before)

    def test_names_that_repeat(self) -> None:
        vector = pathlib.Path(__file__).parents[2] / "colkit-at1/tests/data/json_norules_pub_trailer.at1"
        f = colkit.open(vector)
        self.assertEqual(f.columns.count("dup"), 2)
        self.assertIn("dup_2", f[0])
        self.assertEqual(list(f.scan().to_pydict()), list(f[0]))

    def test_repr_and_html(self) -> None:
        f = colkit.open(b"a,b\n<b>,1\n" + b"x,2\n" * 20)
        self.assertEqual(repr(f), "<colkit.File 'bytes': csv, 21 rows, 2 columns>")
        page = f._repr_html_()
        self.assertIn("&lt;b&gt;", page)
        self.assertIn("11 more rows", page)
        f.close()
        self.assertIn("closed", f._repr_html_())


class Scanning(InFolder):
    def test_scans(self) -> None:
        f = colkit.open(CSV)
        self.assertEqual(f.scan(columns=["sym"], where="price > 4000").to_pydict(), {"sym": ["BTC"]})
        self.assertEqual(f.scan(columns="sym", where=colkit.col("price").is_null()).to_pydict(), {"sym": ["SOL"]})
        self.assertEqual([row["sym"] for row in f[1:].to_pylist()], ["ETH", "SOL"])
        self.assertEqual(f[::2].to_pydict()["sym"], ["BTC", "SOL"])
        self.assertEqual(f[::-1].to_pydict()["sym"], ["SOL", "ETH", "BTC"])
        self.assertEqual(f[["day", "sym"]].columns, ["day", "sym"])
        self.assertEqual(f["sym"].to_pylist(), ["BTC", "ETH", "SOL"])
        self.assertEqual(f["sym"].name, "sym")
        self.assertEqual([len(batch) for batch in f.scan(batch_rows=2)], [2, 1])
        scan = f.scan(rows=range(0, 2))
        self.assertEqual(len(scan.to_pylist()), 2)
        self.assertEqual(len(scan.to_pylist()), 2, "a scan can be read again")
        self.assertEqual(f.head(2).to_pydict()["sym"], ["BTC", "ETH"])
        self.assertEqual(f.head(100).to_pydict()["sym"], ["BTC", "ETH", "SOL"])

    def test_takes(self) -> None:
        f = trades("t.lance")
        self.assertEqual(f[-1], {"id": 999, "sym": "BTC", "price": 249.75})
        batch = f.take([7, 3, 7], columns=["id"])
        self.assertEqual((len(batch), batch["id"], batch[-1]), (3, [7, 3, 7], {"id": 7}))
        self.assertEqual(f.take(range(5, 8)).to_pydict()["id"], [5, 6, 7])
        self.assertEqual(f.take([]).to_pydict(), {"id": [], "sym": [], "price": []})
        self.assertEqual(f.sample(5, seed=1).to_pydict(), f.sample(5, seed=1).to_pydict())
        self.assertEqual(len(f.sample(2000)), 1000)
        with self.assertRaises(KeyError):
            batch["no"]

    def test_conditions(self) -> None:
        f, col = colkit.open(CSV), colkit.col
        where = [
            (col("price") > 4000, ["BTC"]),
            (col("price") >= 64000.5, ["BTC"]),
            (col("price") < 4000, ["ETH"]),
            (col("price") <= 3100.25, ["ETH"]),
            (~(col("price") > 4000), ["ETH"]),
            ((col("sym") == "BTC") | (col("sym") == "SOL"), ["BTC", "SOL"]),
            ((col("price") > 1) & (col("sym") != "BTC"), ["ETH"]),
            (((col("sym") == "BTC") | (col("sym") == "SOL")) & (col("price") > 1), ["BTC"]),
            (col("sym").is_in(["ETH", 'a "b"']), ["ETH"]),
            (col("sym").is_in([]), []),
            (col("price").between(3000, 4000), ["ETH"]),
            (col("price") == None, ["SOL"]),  # noqa: E711
            (col("price") != None, ["BTC", "ETH"]),  # noqa: E711
            (col("price").is_not_null(), ["BTC", "ETH"]),
            (col("day") >= datetime.date(2024, 2, 1), ["ETH", "SOL"]),
            (col("price") == decimal.Decimal("3100.25"), ["ETH"]),
        ]
        for condition, expected in where:
            self.assertEqual(f.scan(columns=["sym"], where=condition).to_pydict()["sym"], expected, condition)
            self.assertEqual(f.scan(columns=["sym"], where=str(condition)).to_pydict()["sym"], expected, condition)
        many = col("price") > 0
        for number in range(200):
            many = many & (col("price") != number)
        self.assertEqual(len(f.scan(where=many).to_pylist()), 2)
        odd = colkit.open(b"a `b`,c\n1,2\n")
        self.assertEqual(len(odd.scan(where=col("a `b`") == 1).to_pylist()), 1)
        with self.assertRaises(TypeError):
            bool(col("a") == 1)
        with self.assertRaises(TypeError):
            col("a") == object()
        with self.assertRaises(TypeError):
            (col("a") == 1) & 5

    def test_close_and_pickle(self) -> None:
        colkit.write({"a": [1, 2]}, "a.lance")
        with colkit.open("a.lance") as f:
            content = pickle.dumps(f)
            batches = iter(f.scan())
        self.assertTrue(f.closed)
        self.assertEqual(repr(f), "<colkit.File, closed>")
        with self.assertRaises(ValueError):
            len(f)
        self.assertEqual(next(batches)["a"], [1, 2], "a scan goes on")
        os.chdir("/")
        self.assertEqual(pickle.loads(content)[1], {"a": 2})
        with self.assertRaises(TypeError):
            pickle.dumps(colkit.open(CSV))


if __name__ == "__main__":
    unittest.main()
