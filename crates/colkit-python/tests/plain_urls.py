"""Files in stores: a small HTTP server that answers requests for ranges."""

from __future__ import annotations

import http.server
import multiprocessing
import os
import pickle
import re
import threading
import unittest

import colkit
from support import InFolder, trades


class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.answer(False)

    def do_GET(self) -> None:
        self.answer(True)

    def answer(self, with_body: bool) -> None:
        path = "." + self.path
        if not os.path.isfile(path):
            self.send_error(404)
            return
        with open(path, "rb") as file:
            content = file.read()
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        part = content[int(wanted[1]) : int(wanted[2]) + 1] if wanted else content
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {wanted[1]}-{int(wanted[1]) + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Tue, 17 Nov 2026 12:00:00 GMT")
        self.end_headers()
        if with_body:
            self.wfile.write(part)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Stores(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def tearDown(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        super().tearDown()

    def test_a_url(self) -> None:
        trades("t.lance")
        f = colkit.open(f"{self.url}/t.lance")
        self.assertEqual((len(f), f[7]["id"]), (1000, 7))
        self.assertEqual(f.scan(columns=["id"], where="id >= 998").to_pydict(), {"id": [998, 999]})
        self.assertEqual(pickle.loads(pickle.dumps(f))[5]["id"], 5)
        with self.assertRaises(FileNotFoundError):
            colkit.open(f"{self.url}/none.lance")

    def test_after_a_fork(self) -> None:
        trades("t.lance")
        rows = colkit.Rows(f"{self.url}/t.lance", columns=["id"])
        self.assertEqual(rows[1], {"id": 1})
        with multiprocessing.get_context("fork").Pool(2) as pool:
            parts = pool.map_async(rows.__getitems__, [[1, 2], [3, 4], [5, 6]]).get(timeout=60)
        self.assertEqual([row["id"] for part in parts for row in part], [1, 2, 3, 4, 5, 6])


if __name__ == "__main__":
    unittest.main()
