"""Writing Arrow data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _colkit
from ._options import Path, WriteOptions, checked, flags
from ._verbs import Report, document

if TYPE_CHECKING:
    from typing_extensions import Unpack


def write(data: Any, path: Path, **options: Unpack[WriteOptions]) -> Report:
    """Writes data to a new file, in the format of its extension. The file appears when it is complete.

    ``data`` is anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a pyarrow table, a Polars or pandas frame, a scan, the rows of a
    query), an iterable of such, or a dict of columns: lists of numbers, texts, booleans, bytes, dates, times or lists, with None for null, or
    NumPy arrays.

    A ``/`` at the end of the path makes a Lance dataset of it; ``append=True`` adds rows to one, ``overwrite=True`` makes a new version. Other
    options are those of the command ``colkit convert``: ``to``, ``force``, ``level``, ``compression``, ``nulls``, ``types``, ``drop_metadata``,
    ``split_rows``, ``prefer``, ``lance_version``, ``bloom``, ``page_size``, ``memory``, ``threads``, ...

    >>> import colkit
    >>> colkit.write({"id": [1, 2, 3], "name": ["a", None, "c"]}, "ids.parquet", force=True)["rows"]
    3
    """
    checked("write", WriteOptions, options)
    arguments = ["colkit", "convert", "--json", *flags(options), "--", "-", os.fspath(path)]
    return Report("write", True, document(_colkit.write(data, arguments)))
