"""SQL."""

from __future__ import annotations

import os
import re
import sys
from types import FrameType
from typing import Any

from . import _colkit
from ._file import File
from ._table import Streamed


def sql(query: str, *, memory: int | None = None, threads: int | None = None, **tables: Any) -> Result:
    """The rows of a query. Files stand for tables by their names: ``SELECT * FROM 'trades.lance'``.

    ``tables`` are others by name: paths, files, or Arrow data such as a pandas or Polars frame or a dict of lists. A name in the query that
    is none of these is looked up among the variables of the caller, if the variable holds Arrow data. ``memory`` bounds the bytes that the
    query may hold; what does not fit is spilled to disk.

    >>> import colkit
    >>> trades = colkit.open(b"sym,price\\nBTC,64000.5\\nETH,3100.25\\nBTC,64100\\n")
    >>> colkit.sql("SELECT sym, max(price) AS top FROM trades GROUP BY sym ORDER BY top").to_pydict()
    {'sym': ['ETH', 'BTC'], 'top': [3100.25, 64100.0]}
    >>> colkit.sql("SELECT sum(n) AS s FROM numbers", numbers={"n": [1, 2, 3]}).to_pydict()
    {'s': [6]}
    """
    files: list[tuple[str, str]] = []
    data: list[tuple[str, Any]] = []
    for name, table in {**_variables(query, sys._getframe(1), tables), **tables}.items():
        place = _place(table)
        if place is not None:
            files.append((name, place))
        else:
            data.append((name, table))
    return Result(_colkit.sql(query, files, data, memory, threads))


def _place(table: Any) -> str | None:
    """Where a table is, if a name is all that it takes to open it."""
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    if isinstance(table, File) and table._inner.places is not None and not table._options:
        paths, _ = table._inner.places
        return paths[0] if len(paths) == 1 else None
    return None


def _variables(query: str, frame: FrameType, tables: dict[str, Any]) -> dict[str, Any]:
    """Variables of the caller that the query names and that hold Arrow data. Words in quotes are no names of variables."""
    found = {}
    words = re.findall(r"'(?:[^']|'')*'|([A-Za-z_]\w*)", query)
    for name in dict.fromkeys(word for word in words if word and word not in tables):
        value = frame.f_locals.get(name, frame.f_globals.get(name))
        if not isinstance(value, type) and (hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")):
            found[name] = value
    return found


class Result(Streamed):
    """The rows of a query, as they are computed. They can be read once."""

    __slots__ = ()
