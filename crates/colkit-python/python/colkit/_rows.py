"""Rows for training loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Sequence

from . import _colkit
from ._file import File
from ._file import open as open_file
from ._options import OpenOptions
from ._table import array_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._file import Source


class Rows:
    """Rows by number, as dicts: a map-style dataset, such as a PyTorch ``DataLoader`` takes.

    A whole batch of numbers is read at once (``__getitems__``). Lists of the same number of numbers, such as vectors, are NumPy arrays if
    NumPy is installed; they are views of the batch and not copied. Workers open the file again, also after a fork.

    >>> import colkit
    >>> rows = colkit.Rows(b"id,name\\n1,a\\n2,b\\n3,c\\n", columns=["name"])
    >>> len(rows), rows[1], rows.__getitems__([2, 0])
    (3, {'name': 'b'}, [{'name': 'c'}, {'name': 'a'}])
    """

    __slots__ = ("columns", "file")

    def __init__(self, file: File | Source, columns: Iterable[str] | None = None, **options: Unpack[OpenOptions]) -> None:
        self.file = file if isinstance(file, File) else open_file(file, **options)
        self.columns = list(self.file.columns if columns is None else columns)
        # A wrong name is told here, not in a worker.
        self.file.scan(columns=self.columns)

    def __len__(self) -> int:
        return len(self.file)

    def __getitem__(self, row: int) -> dict[str, Any]:
        return self.__getitems__([row.__index__()])[0]

    def __getitems__(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        batch = self.file.take(rows, self.columns)._inner
        columns = [_values(batch, index) for index in range(len(self.columns))]
        return [dict(zip(self.columns, values)) for values in zip(*columns)]

    def __repr__(self) -> str:
        return f"<colkit.Rows: {len(self):,} rows of {', '.join(self.columns)}>"


def _values(batch: _colkit.Batch, index: int) -> Any:
    memory = batch.memory(index)
    if memory is not None and memory.dimensions > 1:
        try:
            return array_of(batch, index)
        except ImportError:
            pass
    return batch.to_list(index)
