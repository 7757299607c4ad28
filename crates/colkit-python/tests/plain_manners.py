"""Errors, interruption, memory and examples, with Python alone."""

from __future__ import annotations

import doctest
import io
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
from typing import Any, Callable

import colkit
from support import CSV, InFolder, trades


class Errors(InFolder):
    def test_classes(self) -> None:
        f = trades("t.lance")
        content = pathlib.Path("t.lance").read_bytes()
        cut = content[: len(content) // 2]
        pathlib.Path("t.csv").write_bytes(CSV)
        os.mkdir("empty")
        cases: list[tuple[type[BaseException], type[BaseException], Callable[[], Any]]] = [
            (colkit.NotFoundError, FileNotFoundError, lambda: colkit.open("none.lance")),
            (colkit.RequestError, ValueError, lambda: colkit.open("empty")),
            (colkit.CorruptError, ValueError, lambda: colkit.open(cut, format="lance")),
            (colkit.CorruptError, ValueError, lambda: colkit.open(b"\x00\x01\x02", format="parquet")),
            (colkit.UnsupportedError, NotImplementedError, lambda: colkit.open(bytes(range(256)))),
            (colkit.LimitError, MemoryError, lambda: colkit.open("t.lance", limit_columns=1)),
            (colkit.ColumnError, KeyError, lambda: f.scan(columns=["b"])),
            (colkit.ColumnError, KeyError, lambda: f["b"]),
            (colkit.ColumnError, KeyError, lambda: f.take([0], columns=["b"])),
            (colkit.ColumnError, KeyError, lambda: f.scan(where="b = 1")),
            (colkit.RequestError, ValueError, lambda: f.scan(where="id >")),
            (colkit.RequestError, ValueError, lambda: f.scan(where='id = "x"')),
            (colkit.RequestError, ValueError, lambda: f.scan(rows=range(5, 2000)).to_pydict()),
            (colkit.RequestError, ValueError, lambda: colkit.open("t.lance", format="nothing")),
            (colkit.RequestError, ValueError, lambda: colkit.open("t.lance", threads="many")),  # type: ignore[arg-type]
            (colkit.RequestError, ValueError, lambda: colkit.open("t.lance", at=3)),
            (colkit.ExistsError, FileExistsError, lambda: colkit.convert("t.csv", "t.lance")),
            (colkit.NotFoundError, FileNotFoundError, lambda: colkit.convert("none.csv", "x.lance")),
            (colkit.NotFoundError, FileNotFoundError, lambda: colkit.inspect("none.csv")),
            (colkit.RequestError, ValueError, lambda: colkit.write(f, "t.unknown")),
            (colkit.Error, Exception, lambda: colkit.sql("SELECT nope FROM 't.lance'")),
            (IndexError, LookupError, lambda: f.take([1000])),
            (IndexError, LookupError, lambda: f[-1001]),
            (TypeError, TypeError, lambda: colkit.open(5)),  # type: ignore[call-overload, arg-type]
            (TypeError, TypeError, lambda: colkit.open(io.StringIO("a,b\n"))),
            (TypeError, TypeError, lambda: colkit.open("t.lance", colour="red")),  # type: ignore[call-arg]
            (TypeError, TypeError, lambda: colkit.convert("t.csv", "x.lance", colour="red")),  # type: ignore[call-arg]
            (TypeError, TypeError, lambda: f.take(["x"])),  # type: ignore[list-item]
            (ValueError, ValueError, lambda: f.scan(rows=range(0, 10, 2))),
            (ValueError, ValueError, lambda: colkit.pack("t.csv", "t.zip")),
        ]
        for index, (expected, also, act) in enumerate(cases):
            with self.subTest(index):
                with self.assertRaises(expected) as raised:
                    act()
                error = raised.exception
                self.assertIsInstance(error, also)
                if isinstance(error, colkit.Error):
                    self.assertTrue(error.code)
                    self.assertNotIn("--", str(error))
                    again = pickle.loads(pickle.dumps(error))
                    self.assertEqual((str(again), again.code, again.hint), (str(error), error.code, error.hint))

    def test_where_it_is(self) -> None:
        trades("t.lance")
        content = bytearray(pathlib.Path("t.lance").read_bytes())
        content[20] ^= 0xFF
        pathlib.Path("bad.lance").write_bytes(content)
        with self.assertRaises(colkit.CorruptError) as raised:
            colkit.open("bad.lance").scan().to_pydict()
        error = raised.exception
        self.assertEqual(error.file, "bad.lance")
        self.assertIsNotNone(error.offset)
        self.assertIn("bad.lance", str(error))

    def test_hints_speak_python(self) -> None:
        trades("t.lance")
        with self.assertRaises(colkit.Error) as unnamed:
            colkit.write({"a": [1]}, "no_extension")
        self.assertIn("name it with to", str(unnamed.exception))
        with self.assertRaises(colkit.ExistsError) as raised:
            colkit.write({"a": [1]}, "t.lance")
        self.assertEqual(raised.exception.hint, "force=True overwrites it")

    def test_exceptions_of_file_objects_come_back(self) -> None:
        class Broken(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                raise ZeroDivisionError("from the file")

        with self.assertRaises(ZeroDivisionError):
            colkit.open(Broken(CSV))


class Interruption(InFolder):
    def stopped(self, script: str, wait: float = 2.0) -> str:
        """Runs a script, presses Ctrl-C when it says so, and returns what it wrote to stderr."""
        def listen() -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)

        child = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=listen
        )
        assert child.stdout is not None and child.stderr is not None
        child.stdout.readline()
        time.sleep(wait)
        self.assertIsNone(child.poll(), "it was done before it could be stopped")
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, 3, err)
        return err

    def test_queries(self) -> None:
        err = self.stopped(
            "import colkit; print(flush=True)\n"
            "colkit.sql('SELECT count(*) FROM range(100000000000) a WHERE value % 7 = 3').to_pydict()"
        )
        self.assertIn("KeyboardInterrupt", err)

    def test_scans(self) -> None:
        colkit.write({"id": [(n * 7919) % 65_521 for n in range(100_000)]}, "t.lance", page_size="16K")
        script = """
import colkit, io, time
class Slow(io.BytesIO):
    def read(self, size=-1):
        time.sleep(0.2)
        return super().read(size)
f = colkit.open(Slow(open("t.lance", "rb").read()))
print(flush=True)
f.scan(where="id = 32111", batch_rows=500).{}
"""
        for call in ["to_pydict()", "_whole()"]:
            self.assertIn("KeyboardInterrupt", self.stopped(script.format(call), 0.7), call)

    def test_conversions_leave_nothing_behind(self) -> None:
        trades("t.csv", 100_000)
        os.mkdir("out")
        err = self.stopped(
            "import colkit; print(flush=True)\ncolkit.convert(['t.csv'] * 300, 'out/x.parquet', memory='200M')", 3.0
        )
        self.assertIn("KeyboardInterrupt", err)
        self.assertEqual(os.listdir("out"), [])

    def test_other_threads_go_on(self) -> None:
        f = trades("t.lance", 100_000)
        seen: list[int] = []
        running = threading.Event()

        def count() -> None:
            running.wait()
            while len(seen) < 3:
                time.sleep(0.001)
                seen.append(1)

        thread = threading.Thread(target=count)
        thread.start()
        running.set()
        for _ in range(30):
            f.scan(where="price > 1e9").to_pydict()
        thread.join(10)
        self.assertEqual(len(seen), 3)


class Memory(InFolder):
    def test_takes_leave_nothing_behind(self) -> None:
        f = trades("t.lance", 50_000)

        def resident() -> int:
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def takes(count: int) -> None:
            for n in range(count):
                f.take([n % 50_000, (n * 7919) % 50_000])[0]

        takes(2000)
        before = resident()
        takes(10_000)
        self.assertLess(resident() - before, 8 << 20)


class Examples(InFolder):
    def test_docstrings(self) -> None:
        tried = 0
        for name in sorted(name for name in sys.modules if name == "colkit" or name.startswith("colkit._")):
            if name != "colkit._colkit":
                result = doctest.testmod(sys.modules[name])
                self.assertEqual(result.failed, 0, name)
                tried += result.attempted
        self.assertGreater(tried, 30)

    def test_everything_public_has_a_docstring(self) -> None:
        for name in colkit.__all__:
            if name != "__version__":
                self.assertTrue(getattr(colkit, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
