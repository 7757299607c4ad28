"""With pyarrow, pandas, Polars, DuckDB and NumPy: what they get is what is there, and not copied where that is claimed."""

from __future__ import annotations

import datetime
import io
import unittest
from typing import Any

import colkit
import duckdb
import fsspec
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
from support import InFolder, trades


def addresses(array: Any) -> list[int]:
    return [buffer.address for buffer in array.buffers() if buffer is not None]


class Exchange(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.file = trades("t.lance")
        self.expected = pyarrow.table({
            "id": pyarrow.array(range(1000)),
            "sym": ["BTC" if n % 3 == 0 else "ETH" for n in range(1000)],
            "price": [n * 0.25 for n in range(1000)],
        })

    def test_everybody_takes_a_file_and_a_scan(self) -> None:
        for f in [self.file, self.file.scan()]:
            self.assertEqual(pyarrow.table(f), self.expected)
            self.assertEqual(polars.DataFrame(f).to_arrow().cast(self.expected.schema), self.expected)
            found: Any = duckdb.sql("SELECT sum(id), count(DISTINCT sym) FROM f")
            self.assertEqual(found.fetchall(), [(499500, 2)])
            frames: Any = pandas.DataFrame
            self.assertEqual(frames.from_arrow(f)["price"].sum(), 124875.0)
            self.assertEqual(pyarrow.RecordBatchReader.from_stream(f).read_all(), self.expected)
        self.assertEqual(pyarrow.schema(self.file), self.expected.schema)
        self.assertEqual(pyarrow.schema(self.file.schema), self.expected.schema)
        self.assertEqual(self.file.schema.to_pyarrow(), self.expected.schema)
        batch = self.file.take([3, 1])
        self.assertEqual(pyarrow.record_batch(batch).to_pydict()["id"], [3, 1])

    def test_methods(self) -> None:
        scan = self.file.scan(columns=["id", "price"], where="id >= 990")
        expected = self.expected.select(["id", "price"]).slice(990)
        self.assertEqual(scan.to_pyarrow(), expected)
        self.assertTrue(scan.to_polars().equals(polars.DataFrame(expected)))
        pandas.testing.assert_frame_equal(scan.to_pandas(), expected.to_pandas())
        self.assertEqual(scan.to_pydict(), expected.to_pydict())
        self.assertEqual(scan.to_pylist(), expected.to_pylist())
        arrays = scan.to_numpy()
        numpy.testing.assert_array_equal(arrays["id"], numpy.arange(990, 1000))
        self.assertEqual(arrays["price"].dtype, numpy.float64)
        values = self.file["price"]
        self.assertEqual(values.to_numpy().sum(), 124875.0)
        self.assertEqual(values.to_pandas().name, "price")
        self.assertIsInstance(values.to_polars(), polars.Series)
        self.assertEqual(values.to_pyarrow(), self.expected["price"])
        self.assertEqual(self.file.to_pyarrow(), self.expected)
        self.assertEqual(colkit.sql("SELECT id FROM 't.lance' ORDER BY id").to_polars().height, 1000)

    def test_texts_for_polars(self) -> None:
        texts = [None, "", "short", "longer than what a view holds itself", *(f"order {n % 7}" for n in range(5000))]
        data = pyarrow.table({"few": texts, "all": [f"{n} {text}" for n, text in enumerate(texts)], "bytes": [t and t.encode() for t in texts]})
        for name in ["t.lance", "t.parquet", "t.arrow"]:
            colkit.write(data, name, force=True)
            f = colkit.open(name)
            expected = polars.DataFrame(data)
            self.assertTrue(f.to_polars().equals(expected), name)
            self.assertTrue(f.scan(where="few = 'order 3'").to_polars().equals(expected.filter(polars.col("few") == "order 3")), name)
            self.assertTrue(f.lazy().collect().equals(expected), name)

    def test_numpy_kinds(self) -> None:
        data = {
            "i8": numpy.array([1, -2], "i1"),
            "u4": numpy.array([1, 2], "u4"),
            "f4": numpy.array([1.5, 2], "f4"),
            "b": numpy.array([True, False]),
            "t": numpy.array(["2024-01-01T00:00:00", "2024-01-02"], "M8[us]"),
            "v": numpy.arange(8, dtype="f4").reshape(2, 4),
            "w": numpy.arange(12, dtype="f8").reshape(2, 3, 2),
        }
        colkit.write(data, "n.lance")
        arrays = colkit.open("n.lance").scan().to_numpy()
        for name, array in data.items():
            numpy.testing.assert_array_equal(arrays[name], array)
            self.assertEqual(arrays[name].dtype, array.dtype, name)
        f = colkit.open(b"a,b,s\n1,true,x\n,,y\n")
        arrays = f.scan().to_numpy()
        self.assertTrue(numpy.isnan(arrays["a"][1]))
        self.assertEqual((arrays["b"].tolist(), arrays["s"].tolist()), ([True, None], ["x", "y"]))

    def test_nothing_is_copied(self) -> None:
        colkit.write({"v": numpy.random.rand(500, 16).astype("f4"), "n": numpy.arange(500)}, "v.lance")
        batch = colkit.open("v.lance").take(range(10, 90))
        arrow = pyarrow.record_batch(batch)
        matrix, numbers = batch.numpy("v"), batch.numpy("n")
        self.assertEqual(matrix.shape, (80, 16))
        self.assertIn(matrix.__array_interface__["data"][0], addresses(arrow["v"]))
        self.assertIn(numbers.__array_interface__["data"][0], addresses(arrow["n"]))
        self.assertFalse(matrix.flags.writeable)
        again = pyarrow.record_batch(batch)
        self.assertEqual(addresses(arrow["n"]), addresses(again["n"]))
        series = polars.DataFrame(batch)["n"]
        self.assertEqual(series.to_numpy(allow_copy=False).__array_interface__["data"][0], numbers.__array_interface__["data"][0])
        rows = colkit.Rows("v.lance")
        first, second = rows.__getitems__([5, 6])
        self.assertIsInstance(first["v"], numpy.ndarray)
        step = second["v"].__array_interface__["data"][0] - first["v"].__array_interface__["data"][0]
        self.assertEqual(step, 64, "rows of one batch lie one after another")
        del batch, arrow, again
        self.assertTrue(matrix.sum() > 0, "the memory lives as long as somebody looks at it")

    def test_bytes_are_not_copied(self) -> None:
        sink = io.BytesIO()
        with pyarrow.ipc.new_file(sink, self.expected.schema) as writer:
            writer.write_table(self.expected)
        content = sink.getvalue()
        start = numpy.frombuffer(content, "u1").__array_interface__["data"][0]
        array = next(iter(colkit.open(content).scan(columns=["price"]))).numpy("price")
        inside = array.__array_interface__["data"][0] - start
        self.assertTrue(0 < inside < len(content), "an Arrow file is read in place")

    def test_writing_what_others_made(self) -> None:
        relation: Any = duckdb.sql
        frame = polars.DataFrame({"a": [1, 2], "d": [datetime.date(2024, 1, 1), None]})
        for name, data in [
            ("pl", frame),
            ("pd", frame.to_arrow().to_pandas()),
            ("pa", frame.to_arrow()),
            ("rb", frame.to_arrow().to_batches()[0]),
            ("it", iter(frame.to_arrow().to_batches())),
            ("dk", relation("SELECT * FROM frame").to_arrow_table()),
            ("cols", {"a": frame["a"], "d": pyarrow.array([datetime.date(2024, 1, 1), None])}),
        ]:
            colkit.write(data, f"{name}.lance")
            found = colkit.open(f"{name}.lance").scan().to_pydict()
            self.assertEqual(found, {"a": [1, 2], "d": [datetime.date(2024, 1, 1), None]}, name)
        texts = polars.DataFrame({"s": ["a", None]})
        for path in ["s.lance", "s.parquet", "s.ndjson", "d.lance/"]:
            colkit.write(texts, path)
            self.assertEqual(colkit.open(path)["s"].to_pylist()[0], "a", path)

    def test_queries_over_frames(self) -> None:
        frame = pandas.DataFrame({"sym": ["BTC", "ETH"], "name": ["Bitcoin", "Ether"]})
        other = polars.DataFrame({"sym": ["BTC"], "rank": [1]})
        f = self.file
        found = colkit.sql("SELECT name, count(*) AS n FROM f JOIN frame USING (sym) GROUP BY name ORDER BY name").to_pydict()
        self.assertEqual(found, {"name": ["Bitcoin", "Ether"], "n": [334, 666]})
        self.assertEqual(colkit.sql("SELECT count(*) AS n FROM f JOIN other USING (sym)").to_pydict(), {"n": [334]})

    def test_fsspec(self) -> None:
        with fsspec.open("t.lance", "rb") as file:
            f = colkit.open(file)
            self.assertEqual(f.scan().to_pyarrow(), self.expected)
            self.assertEqual(polars.DataFrame(f).height, 1000)
            self.assertEqual(f.take([5])["id"], [5])
        memory = fsspec.filesystem("memory")
        with memory.open("/x.parquet", "wb") as file:
            pyarrow.parquet.write_table(self.expected, file)
        with memory.open("/x.parquet", "rb") as file:
            self.assertEqual(colkit.open(file).scan().to_pyarrow(), self.expected)


class Lazy(InFolder):
    def test_pushdown(self) -> None:
        trades("t.lance", 100_000)
        f = colkit.open("t.lance")
        eager = polars.DataFrame(f)
        col = polars.col
        for expression in [
            col("id") > 99_990,
            (col("id") < 10) & (col("sym") == "BTC"),
            (col("id") < 10) | (col("price") > 24_999.0),
            col("sym").is_in(["BTC"]) & col("id").is_between(5, 20),
            col("sym").str.contains("B") & (col("id") < 50),
            ~(col("id") > 5),
            col("price").is_null(),
            5 > col("id"),
            col("id") % 50_000 == 7,
        ]:
            found = f.lazy().filter(expression).select("sym", "price").collect()
            self.assertTrue(found.equals(eager.filter(expression).select("sym", "price")), str(expression))
        self.assertEqual(f.lazy().head(5).collect().height, 5)
        self.assertEqual(f.lazy().select(polars.len()).collect().item(), 100_000)
        grouped = f.lazy().group_by("sym").agg(col("price").sum()).sort("sym").collect()
        self.assertEqual(grouped["sym"].to_list(), ["BTC", "ETH"])

    def test_less_is_read(self) -> None:
        trades("t.lance", 100_000)
        f = colkit.open("t.lance")
        before = f.read_count[1]
        f.lazy().filter(polars.col("id") > 99_990).select("id").collect()
        some = f.read_count[1] - before
        before = f.read_count[1]
        f.lazy().collect()
        self.assertLess(some * 3, f.read_count[1] - before)


if __name__ == "__main__":
    unittest.main()
