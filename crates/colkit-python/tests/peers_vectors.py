"""Every vector of the repository: the same as the command prints, and as pyarrow reads it."""

from __future__ import annotations

import json
import math
import os
import pathlib
import subprocess
import unittest
from typing import Any

import colkit
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

CRATES = pathlib.Path(__file__).resolve().parents[2]
COLKIT = os.environ.get("COLKIT")
# What colkit reads on purpose in another way than pyarrow: moments of 96 bits as microseconds, and nulls of a column that denies
# to have any.
OTHERWISE = {"int96_from_spark.parquet", "nulls_denied.arrow"}
READERS = {".parquet": pyarrow.parquet.read_table, ".arrow": pyarrow.feather.read_table}


def vectors() -> list[pathlib.Path]:
    """All files below tests/data of all crates that open as tables."""
    found = []
    for path in sorted(CRATES.glob("*/tests/**/data/**/*")):
        if path.is_file() and path.suffix in (".lance", ".cff", ".gppcol", ".colfile", ".at1", ".parquet", ".arrow", ".csv"):
            found.append(path)
    return found


def as_json(value: Any) -> Any:
    """A value as the command prints it as JSON, as far as JSON can tell."""
    if isinstance(value, float):
        return None if math.isnan(value) or math.isinf(value) else value
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {name: as_json(item) for name, item in value.items()}
    return value if isinstance(value, (str, int, bool, type(None))) else ...


def alike(ours: Any, printed: Any) -> bool:
    """Whether a value is what the command printed; what JSON has no type for is not compared."""
    if ours is ...:
        return True
    if isinstance(ours, float) and isinstance(printed, (int, float)):
        return ours == printed or math.isclose(ours, printed, rel_tol=1e-6)
    if isinstance(ours, list) and isinstance(printed, list):
        return len(ours) == len(printed) and all(map(alike, ours, printed))
    if isinstance(ours, dict) and isinstance(printed, dict):
        return ours.keys() == printed.keys() and all(alike(ours[name], printed[name]) for name in ours)
    if isinstance(ours, str) and not isinstance(printed, str):
        # A text that is known to be JSON is printed as such.
        return bool(json.loads(ours) == printed)
    return bool(ours == printed) or isinstance(ours, list) or isinstance(printed, str) and not isinstance(ours, str)


class Vectors(unittest.TestCase):
    def test_vectors(self) -> None:
        read, refused, compared = 0, 0, 0
        for path in vectors():
            with self.subTest(str(path.relative_to(CRATES))):
                try:
                    f = colkit.open(path)
                    table = f.to_pyarrow()
                except colkit.Error as error:
                    self.assertTrue(error.code)
                    self.assertNotIn("--", error.hint or "")
                    refused += 1
                    continue
                except pyarrow.ArrowInvalid as error:
                    # Names with a zero byte are beyond Arrow's C interface.
                    self.assertIn("Null byte", str(error))
                    self.assertEqual(list(f.scan().to_pydict()), f.columns)
                    continue
                table.validate(full=True)
                self.assertEqual((table.num_rows, table.column_names), (len(f), f.columns))
                # Our values are those that pyarrow makes of the same arrays.
                if len(set(f.columns)) == len(f.columns) and table.num_rows <= 5000:
                    self.assert_same(f.scan().to_pydict(), table)
                if path.suffix in READERS and path.name not in OTHERWISE:
                    self.assertTrue(table.equals(READERS[path.suffix](path)), "pyarrow reads something else")
                    compared += 1
                read += 1
        self.assertGreater(read, 100)
        self.assertGreater(refused, 20)

    def assert_same(self, ours: dict[str, list[Any]], table: pyarrow.Table) -> None:
        for name, values in ours.items():
            try:
                theirs = table.column(name).to_pylist()
            except (ValueError, KeyError, OverflowError, pyarrow.ArrowException):
                continue  # What pyarrow cannot make Python objects of is no expectation.
            for row, (value, other) in enumerate(zip(values, theirs)):
                same = value == other or value != value and other != other or repr(value) == repr(other)
                # Times with nanoseconds and moments that Python cannot hold stay numbers; pyarrow rounds them, or has none.
                same = same or type(value) is int and type(other).__name__ in ("time", "NaTType")
                self.assertTrue(same, f"column {name!r}, row {row}: {value!r} and {other!r}")

    @unittest.skipIf(COLKIT is None, "COLKIT names no command")
    def test_the_command_says_the_same(self) -> None:
        assert COLKIT is not None
        for path in vectors()[::7]:
            with self.subTest(str(path.relative_to(CRATES))):
                run = subprocess.run([COLKIT, "cat", path, "--as", "ndjson"], capture_output=True, text=True)
                try:
                    rows = colkit.open(path).scan().to_pylist()
                except colkit.Error:
                    self.assertNotEqual(run.returncode, 0)
                    continue
                self.assertEqual(run.returncode, 0, run.stderr)
                printed = [json.loads(line) for line in run.stdout.splitlines()]
                self.assertEqual(len(printed), len(rows))
                for ours, theirs in zip(rows, printed):
                    self.assertTrue(alike(as_json(ours), theirs), f"{ours} and {theirs}")


if __name__ == "__main__":
    unittest.main()
