"""A training loop with two workers: PyTorch's own loader if it is installed, otherwise one that asks for the same."""

from __future__ import annotations

import importlib.util
import multiprocessing
import random
import unittest
from typing import Any, Iterator

import colkit
import numpy
from support import InFolder


def load(rows: colkit.Rows, batch_size: int, workers: int, method: str) -> Iterator[list[dict[str, Any]]]:
    """What a DataLoader does with a map-style dataset: a shuffled order, batches of it, each taken by a worker."""
    order = list(range(len(rows)))
    random.Random(7).shuffle(order)
    batches = [order[at : at + batch_size] for at in range(0, len(order), batch_size)]
    with multiprocessing.get_context(method).Pool(workers) as pool:
        yield from pool.imap(rows.__getitems__, batches)


class Training(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.vectors = numpy.random.default_rng(1).random((2000, 32), dtype="f4")
        colkit.write({"id": numpy.arange(2000), "vector": self.vectors}, "v.lance")
        self.rows = colkit.Rows("v.lance", columns=["id", "vector"])

    def test_two_workers(self) -> None:
        self.rows[0]
        for method in ["fork", "spawn"]:
            seen = 0
            for batch in load(self.rows, 256, 2, method):
                ids = [row["id"] for row in batch]
                numpy.testing.assert_array_equal(numpy.stack([row["vector"] for row in batch]), self.vectors[ids])
                seen += len(batch)
            self.assertEqual(seen, 2000, method)

    @unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
    def test_torch(self) -> None:
        from torch.utils.data import DataLoader

        seen = 0
        for batch in DataLoader(self.rows, batch_size=256, shuffle=True, num_workers=2):
            numpy.testing.assert_array_equal(batch["vector"].numpy(), self.vectors[batch["id"].numpy()])
            seen += len(batch["id"])
        self.assertEqual(seen, 2000)


if __name__ == "__main__":
    unittest.main()
