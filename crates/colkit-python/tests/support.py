"""What the tests share."""

from __future__ import annotations

import os
import tempfile
import unittest

import colkit

CSV = b"sym,price,day\nBTC,64000.5,2024-01-31\nETH,3100.25,2024-02-01\nSOL,,2024-02-02\n"


class InFolder(unittest.TestCase):
    """Each test works in an empty folder."""

    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.before = os.getcwd()
        os.chdir(self.folder.name)

    def tearDown(self) -> None:
        os.chdir(self.before)
        self.folder.cleanup()


def trades(path: str, rows: int = 1000) -> colkit.File:
    """A file of trades."""
    columns = {
        "id": list(range(rows)),
        "sym": ["BTC" if n % 3 == 0 else "ETH" for n in range(rows)],
        "price": [n * 0.25 for n in range(rows)],
    }
    colkit.write(columns, path, types="exact")
    return colkit.open(path)
