"""Open files and scans of them."""

from __future__ import annotations

import html
import io
import os
import random
from typing import TYPE_CHECKING, Any, BinaryIO, Iterable, Iterator, Protocol, Sequence, Union, overload

from . import _colkit
from ._conditions import Condition
from ._options import OpenOptions, Path, checked, flags
from ._table import Batch, Native, Streamed, Table

if TYPE_CHECKING:
    import polars
    from typing_extensions import Unpack

    class Buffer(Protocol):
        """Bytes in memory."""

        def __buffer__(self, flags: int, /) -> memoryview: ...

    Source = Union[Path, Iterable[Path], bytes, bytearray, memoryview, BinaryIO, io.IOBase]


def open(source: Source, **options: Unpack[OpenOptions]) -> File:
    """Opens a file of any format.

    ``source`` is a path, a URL (``s3://``, ``gs://``, ``az://``, ``https://``), a Lance dataset, a folder or pattern of files (``"part-*.csv"``), a
    list of paths whose rows follow each other, bytes, or a seekable binary file object. The format is found by content.

    Options are those of the command, all optional: ``format``; for text ``delimiter``, ``quote``, ``header``, ``encoding``, ``decimal``,
    ``thousands``, ``date_format``, ``schema`` (a dict of names and types), ``null_values``, ``pad_short_rows``, ``rename_duplicates``; for Lance
    datasets ``at`` (a version, tag, branch or time), ``base_path``, ``with_row_id``; ``filename`` adds a column with the name of the file;
    ``memory``, ``threads``, ``timeout`` and ``limit_...`` bound what it may take. ``memory_map`` maps a local file into memory instead of
    reading it, which makes taking single rows of a file in the system's cache faster. Nobody may change or cut the file then while it is
    open: the values would be wrong, or the process would be killed.

    >>> import colkit
    >>> f = colkit.open(b"sym,price\\nBTC,64000.5\\nETH,3100.25\\n")
    >>> f
    <colkit.File 'bytes': csv, 2 rows, 2 columns>
    >>> f.columns
    ['sym', 'price']
    """
    checked("open", OpenOptions, options)
    named: dict[str, Any] = {"from" if name == "format" else name: value for name, value in options.items()}
    mapped = bool(named.pop("memory_map", False))
    arguments = ["colkit", "cat", *flags(named), "--", "-"]
    if isinstance(source, (str, os.PathLike)):
        return File(_colkit.open_places([os.fspath(source)], arguments, mapped), options)
    if mapped and (isinstance(source, (bytes, bytearray, memoryview)) or hasattr(source, "read")):
        raise TypeError("memory_map=True needs the path of a file")
    if isinstance(source, (bytes, bytearray, memoryview)):
        content = source if isinstance(source, bytes) else bytes(source)
        return File(_colkit.open_bytes(content, "bytes", arguments), options)
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file is open as text: open it in binary mode, such as open(path, 'rb')")
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        name = os.fsdecode(name) if isinstance(name, (str, bytes)) else "file object"
        seekable = getattr(source, "seekable", None)
        if callable(seekable) and not seekable():
            return File(_colkit.open_bytes(source.read(), name, arguments), options)
        return File(_colkit.open_object(source, name, arguments), options)
    if isinstance(source, Iterable):
        paths = list(source)
        if paths and all(isinstance(path, (str, os.PathLike)) for path in paths):
            return File(_colkit.open_places([os.fspath(path) for path in paths], arguments, mapped), options)
    raise TypeError(f"expected a path, a URL, bytes or a seekable binary file, found {type(source).__name__}")


def _names(columns: str | Iterable[str] | None) -> list[str] | None:
    return None if columns is None else [columns] if isinstance(columns, str) else list(columns)


class File(Table):
    """A table in a file. Rows are read when they are asked for.

    Use it as an Arrow stream (``pyarrow.table(f)``, ``polars.DataFrame(f)``, ``duckdb.sql("from f")``), by row (``f[5]``, ``f[10:20]``), by
    column (``f["sym"]``), or through ``scan`` and ``take``. Several threads can use it at once. It can be pickled if it was opened by path or
    URL, and goes on working after a fork.
    """

    __slots__ = ("__weakref__", "_inner", "_options")

    def __init__(self, inner: _colkit.File, options: OpenOptions) -> None:
        self._inner = inner
        self._options = options

    def _native(self) -> Native:
        return self._inner.scan()

    def _batches(self) -> Iterator[_colkit.Batch]:
        return self._inner.scan().batches()

    def _whole(self) -> Native:
        return self._inner.scan().collect()

    def _for_polars(self) -> Native:
        return self._inner.scan().with_views().collect()

    @property
    def name(self) -> str:
        """The path, URL or name it was opened by."""
        return self._inner.name

    @property
    def format(self) -> str:
        """The name of the format, such as ``"lance"``."""
        return self._inner.format

    @property
    def metadata(self) -> dict[str, str]:
        """Key-value metadata of the table."""
        return self._inner.metadata

    @property
    def properties(self) -> dict[str, str]:
        """Facts about the format and this file: version, codec, settings."""
        return dict(self._inner.properties)

    @property
    def read_count(self) -> tuple[int, int]:
        """How many requests were made so far, and how many bytes they were."""
        return self._inner.read_count

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._inner.closed

    def scan(
        self,
        columns: str | Iterable[str] | None = None,
        where: str | Condition | None = None,
        rows: range | slice | None = None,
        batch_rows: int | None = None,
    ) -> Scan:
        """Rows in order: of some columns, where a condition holds, of a range of rows.

        Nothing is read until the scan is used. ``where`` is a text such as ``'price > 100 and sym = "BTC"'`` or a condition built from
        ``colkit.col``. ``rows`` is a range or a slice, applied before the condition. ``batch_rows`` is the most rows of a batch.

        >>> import colkit
        >>> f = colkit.open(b"sym,price\\nBTC,64000.5\\nETH,3100.25\\n")
        >>> f.scan(columns=["sym"], where="price > 5000").to_pydict()
        {'sym': ['BTC']}
        >>> f.scan(rows=slice(1, None), where=colkit.col("price") > 5000).to_pydict()
        {'sym': [], 'price': []}
        """
        condition = None if where is None else str(where)
        return Scan(self._inner.scan(_names(columns), condition, self._range(rows), batch_rows))

    def _range(self, rows: range | slice | None) -> tuple[int, int] | None:
        if rows is None:
            return None
        start, stop, step = rows.indices(len(self)) if isinstance(rows, slice) else (rows.start, rows.stop, rows.step)
        if step != 1:
            raise ValueError("rows of a scan follow each other: take() reads every other one")
        if start < 0:
            raise ValueError(f"rows are counted from 0, not from {start}")
        return start, max(start, stop)

    def take(self, rows: Iterable[int], columns: str | Iterable[str] | None = None) -> Batch:
        """Rows by number, in this order, as a batch. Numbers below zero count from the end; they may repeat.

        >>> import colkit
        >>> colkit.open(b"sym,price\\nBTC,64000.5\\nETH,3100.25\\n").take([-1, 0], columns="sym").to_pydict()
        {'sym': ['ETH', 'BTC']}
        """
        tolist = getattr(rows, "tolist", None)
        numbers: list[int] = tolist() if tolist is not None else rows if isinstance(rows, list) else list(rows)
        return Batch(self._inner.take(numbers, _names(columns)))

    def head(self, n: int = 10) -> Scan:
        """The first rows."""
        return self.scan(rows=slice(0, n))

    def sample(self, n: int = 10, seed: int | None = None) -> Batch:
        """Rows chosen at random, in file order, as a batch. The same file, number and seed give the same rows."""
        chosen = random.Random(seed).sample(range(len(self)), min(n, len(self)))
        return self.take(sorted(chosen))

    def lazy(self) -> polars.LazyFrame:
        """A ``polars.LazyFrame``: columns, conditions and row limits are pushed into the file."""
        from ._polars import lazy

        return lazy(self)

    @overload
    def __getitem__(self, what: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, what: str) -> Values: ...
    @overload
    def __getitem__(self, what: list[str]) -> Scan: ...
    @overload
    def __getitem__(self, what: slice) -> Table: ...
    def __getitem__(self, what: int | str | list[str] | slice) -> Any:
        """A row by number, a range of rows, a column by name, or several.

        >>> import colkit
        >>> f = colkit.open(b"sym,price\\nBTC,64000.5\\nETH,3100.25\\n")
        >>> f[-1], f["sym"].to_pylist(), f[:1].to_pydict()
        ({'sym': 'ETH', 'price': 3100.25}, ['BTC', 'ETH'], {'sym': ['BTC'], 'price': [64000.5]})
        """
        if isinstance(what, str):
            return Values(self._inner.scan([what]))
        if isinstance(what, list):
            return self.scan(columns=what)
        if isinstance(what, slice):
            start, stop, step = what.indices(len(self))
            return self.scan(rows=what) if step == 1 else self.take(range(start, stop, step))
        return self._inner.take([what.__index__()]).row(0)

    def __len__(self) -> int:
        return len(self._inner)

    def close(self) -> None:
        """Closes the file. Scans that have begun go on."""
        self._inner.close()

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._inner.places is None:
            raise TypeError(f"{self.name} was not opened by path or URL and cannot be opened again elsewhere")
        paths, has_version = self._inner.places
        options = {name: value for name, value in self._options.items() if name != "at" or not has_version}
        return _reopen, (paths, options)

    def __repr__(self) -> str:
        if self.closed:
            return "<colkit.File, closed>"
        return f"<colkit.File {self.name!r}: {self.format}, {len(self):,} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        return html.escape(repr(self)) if self.closed else as_html(repr(self), self.head(10), len(self))


class Scan(Streamed):
    """Rows in order. It can be read any number of times: as an Arrow stream, or batch by batch in a ``for`` loop."""

    __slots__ = ()

    _inner: _colkit.Scan

    def _for_polars(self) -> Native:
        return self._inner.with_views().collect()


class Values(Scan):
    """One column: what a scan of it would be, as values in place of rows."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.columns[0]

    def to_pylist(self) -> list[Any]:
        """All values, as a list of Python objects."""
        return [value for batch in self._batches() for value in batch.to_list(0)]

    def to_pyarrow(self) -> Any:
        """All values, as a ``pyarrow.ChunkedArray``."""
        return super().to_pyarrow().column(0)

    def to_pandas(self, **options: Any) -> Any:
        """All values, as a ``pandas.Series``."""
        return super().to_pyarrow().to_pandas(**options).iloc[:, 0]

    def to_polars(self) -> Any:
        """All values, as a ``polars.Series``."""
        return super().to_polars().to_series(0)

    def to_numpy(self) -> Any:
        """All values, as a NumPy array; see ``Table.to_numpy``."""
        return super().to_numpy()[self.name]

    def __repr__(self) -> str:
        return f"<colkit.Values of {self.name}>"


def as_html(title: str, shown: Table, count: int | None) -> str:
    """A table for a notebook: some rows of it, and how many there are."""
    names = "".join(f"<th>{html.escape(name)}<br><small>{html.escape(kind)}</small></th>" for name, kind in shown.schema.items())
    body: Sequence[dict[str, Any]] = [row for batch in shown._batches() for row in _cells(batch)]
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in body)
    left = "" if count is None or count <= len(body) else f"<p>{count - len(body):,} more rows</p>"
    return f"<div><p>{html.escape(title)}</p><table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{left}</div>"


def _cells(batch: _colkit.Batch) -> Iterator[Any]:
    return zip(*([_short(value) for value in batch.to_list(index)] for index in range(len(batch.types))))


def _short(value: object) -> str:
    text = "" if value is None else str(value)
    return html.escape(text if len(text) <= 60 else text[:59] + "…")


def _reopen(places: list[str], options: OpenOptions) -> File:
    return open(places[0] if len(places) == 1 else places, **options)
