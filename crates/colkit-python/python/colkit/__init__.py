"""Read, write, convert and query columnar files: Lance, Parquet, Arrow, AT-1, CSV, NDJSON and more.

>>> import colkit
>>> _ = colkit.write({"sym": ["BTC", "ETH", "SOL"], "price": [64000.5, 3100.25, 99.5]}, "trades.lance")
>>> f = colkit.open("trades.lance")
>>> f.scan(columns=["sym"], where=colkit.col("price") > 100).to_pydict()
{'sym': ['BTC', 'ETH']}
>>> f[1]
{'sym': 'ETH', 'price': 3100.25}
"""

from ._colkit import __version__
from ._conditions import Column, Condition, col
from ._errors import (
    AccessError,
    ColumnError,
    CorruptError,
    DataError,
    Error,
    ExistsError,
    InternalError,
    IoError,
    LimitError,
    NotFoundError,
    RequestError,
    TimeoutError,
    UnsupportedError,
)
from ._file import File, Scan, Values, open
from ._query import Result, sql
from ._rows import Rows
from ._table import Batch, Schema, Table
from ._verbs import Report, convert, diff, inspect, pack, unpack, verify
from ._write import write

__all__ = [
    "AccessError",
    "Batch",
    "Column",
    "ColumnError",
    "Condition",
    "CorruptError",
    "DataError",
    "Error",
    "ExistsError",
    "File",
    "InternalError",
    "IoError",
    "LimitError",
    "NotFoundError",
    "Report",
    "RequestError",
    "Result",
    "Rows",
    "Scan",
    "Schema",
    "Table",
    "TimeoutError",
    "UnsupportedError",
    "Values",
    "__version__",
    "col",
    "convert",
    "diff",
    "inspect",
    "open",
    "pack",
    "sql",
    "unpack",
    "verify",
    "write",
]
