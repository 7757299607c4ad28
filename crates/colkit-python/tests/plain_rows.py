"""Rows for training loops, processes and threads."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
import unittest

import colkit
from support import InFolder, trades


class Rows(InFolder):
    def test_a_batch_is_one_take(self) -> None:
        trades("t.lance")
        rows = colkit.Rows("t.lance", columns=["id"])
        self.assertEqual(rows.__getitems__([7, 3]), [{"id": 7}, {"id": 3}])
        self.assertEqual((len(rows), rows[-1]), (1000, {"id": 999}))
        before = rows.file.read_count[0]
        rows.__getitems__([1, 2, 3])
        few = rows.file.read_count[0] - before
        rows.__getitems__(list(range(200)))
        self.assertLessEqual(rows.file.read_count[0] - before - few, few + 2)
        with self.assertRaises(IndexError):
            rows[1000]
        with self.assertRaises(KeyError):
            colkit.Rows("t.lance", columns=["none"])

    def test_workers(self) -> None:
        trades("t.lance")
        rows = colkit.Rows("t.lance", columns=["id"])
        for method in ["fork", "spawn"]:
            with multiprocessing.get_context(method).Pool(2) as pool:
                parts = pool.map(rows.__getitems__, [list(range(n, n + 100)) for n in range(0, 1000, 100)])
            self.assertEqual([row["id"] for part in parts for row in part], list(range(1000)), method)

    def test_a_fork_reads_the_same_version(self) -> None:
        colkit.write({"a": [1, 2]}, "d.lance/")
        f = colkit.open("d.lance")
        self.assertEqual(f[0], {"a": 1})
        colkit.write({"a": [5, 6, 7]}, "d.lance", overwrite=True)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            self.assertEqual(pool.apply(len, (f,)), 2)
            self.assertEqual(pool.apply(f.__getitem__, (1,)), {"a": 2})

    def test_bytes_after_a_fork(self) -> None:
        f = colkit.open(b"a\n1\n2\n")
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=lambda: queue.put(f[1]))
        child.start()
        self.assertEqual(queue.get(timeout=20), {"a": 2})
        child.join()

    def test_threads(self) -> None:
        f, wrong = trades("t.lance", 20_000), []

        def work(seed: int) -> None:
            for n in range(100):
                at = (n * 7919 + seed) % 20_000
                if f[at]["id"] != at or f.scan(columns=["id"], rows=range(at, at + 1)).to_pydict() != {"id": [at]}:
                    wrong.append(at)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_rows_are_pickled(self) -> None:
        trades("t.lance")
        rows = pickle.loads(pickle.dumps(colkit.Rows("t.lance", columns=["id"])))
        self.assertEqual((rows.columns, rows[5]), (["id"], {"id": 5}))


if __name__ == "__main__":
    unittest.main()
