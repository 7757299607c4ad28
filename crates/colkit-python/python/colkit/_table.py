"""What everything has that holds rows: files, scans, batches and the rows of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Protocol

from . import _colkit

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow


class Native(Protocol):
    """What the native part has for rows."""

    @property
    def types(self) -> list[tuple[str, str]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Table:
    """Rows as an Arrow stream. pyarrow, pandas, Polars and DuckDB take it as it is."""

    __slots__ = ()

    def _native(self) -> Native:
        raise NotImplementedError

    def _batches(self) -> Iterator[_colkit.Batch]:
        raise NotImplementedError

    def _whole(self) -> Native:
        """All rows, in memory: errors are our own, and Ctrl-C stops it."""
        raise NotImplementedError

    def _for_polars(self) -> Native:
        """The same, with text as Polars has it, where that spares a copy."""
        return self._whole()

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self._native().types]

    @property
    def schema(self) -> Schema:
        """The columns and their types."""
        return Schema(self._native())

    def _keys(self) -> list[str]:
        """The names of the columns as keys of a dict: names that repeat are told apart, as ``a``, ``a_2``, ..."""
        keys = self.columns
        taken = set(keys)
        if len(taken) == len(keys):
            return keys
        for index, name in enumerate(keys):
            number = 2
            while keys[index] in keys[:index]:
                if f"{name}_{number}" not in taken:
                    keys[index] = f"{name}_{number}"
                    taken.add(keys[index])
                number += 1
        return keys

    def __iter__(self) -> Iterator[Batch]:
        return (Batch(batch) for batch in self._batches())

    def __arrow_c_schema__(self) -> object:
        return self._native().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native().__arrow_c_stream__(requested_schema)

    def to_pyarrow(self) -> pyarrow.Table:
        """All rows, as a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.table(self._whole())

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """All rows, as a ``pandas.DataFrame``; options are those of ``pyarrow.Table.to_pandas``."""
        frame: pandas.DataFrame = self.to_pyarrow().to_pandas(**options)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """All rows, as a ``polars.DataFrame``."""
        import polars

        return polars.DataFrame(self._for_polars())

    def to_pydict(self) -> dict[str, list[Any]]:
        """All rows, as a dict of lists of Python objects.

        >>> import colkit
        >>> colkit.open(b"id,name\\n1,a\\n2,b\\n").scan().to_pydict()
        {'id': [1, 2], 'name': ['a', 'b']}
        """
        names = self._keys()
        columns: list[list[Any]] = [[] for _ in names]
        for batch in self._batches():
            for index, values in enumerate(columns):
                values.extend(batch.to_list(index))
        return dict(zip(names, columns))

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows, each as a dict.

        >>> import colkit
        >>> colkit.open(b"id,name\\n1,a\\n2,b\\n").scan().to_pylist()
        [{'id': 1, 'name': 'a'}, {'id': 2, 'name': 'b'}]
        """
        return [batch.row(row) for batch in self._batches() for row in range(len(batch))]

    def to_numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """All rows, as a dict of NumPy arrays.

        Numbers and lists of the same number of numbers are not copied, if they come in one batch. Numbers with nulls are floats,
        with NaN for null; what NumPy has no type for is an array of objects.
        """
        import numpy

        parts: dict[str, list[Any]] = {name: [] for name in self._keys()}
        for batch in _batches_of(self._whole()):
            for index, arrays in enumerate(parts.values()):
                arrays.append(array_of(batch, index))
        return {name: join(arrays) if arrays else numpy.empty(0) for name, arrays in parts.items()}


def _batches_of(native: Any) -> Iterator[_colkit.Batch]:
    return iter([native]) if isinstance(native, _colkit.Batch) else iter(native.batches())


def join(arrays: list[Any]) -> Any:
    """Arrays, one after another."""
    import numpy

    return arrays[0] if len(arrays) == 1 else numpy.concatenate(arrays)


def array_of(batch: _colkit.Batch, index: int) -> Any:
    """A column of a batch as a NumPy array, without a copy where that is possible."""
    import numpy

    memory = batch.memory(index)
    if memory is not None:
        return numpy.asarray(memory)
    values = batch.to_list(index)
    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array


class Streamed(Table):
    """Rows that come batch by batch."""

    __slots__ = ("_inner",)

    def __init__(self, inner: _colkit.Scan | _colkit.Batches) -> None:
        self._inner = inner

    def _native(self) -> Native:
        return self._inner

    def _batches(self) -> Iterator[_colkit.Batch]:
        return self._inner.batches()

    def _whole(self) -> Native:
        return self._inner.collect()

    def __repr__(self) -> str:
        return f"<colkit.{type(self).__name__} of {', '.join(self.columns)}>"


class Schema:
    """Columns and their types, in order. pyarrow takes it as a schema: ``pyarrow.schema(f.schema)``.

    >>> import colkit
    >>> schema = colkit.open(b"id,name\\n1,a\\n").schema
    >>> schema
    Schema(id: int32, name: string)
    >>> schema["id"], len(schema), "name" in schema
    ('int32', 2, True)
    """

    __slots__ = ("_capsule", "_types")

    def __init__(self, native: Native) -> None:
        self._types = native.types
        self._capsule = native.__arrow_c_schema__

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self._types]

    @property
    def types(self) -> list[str]:
        """The types of the columns, as the command prints them."""
        return [kind for _, kind in self._types]

    def items(self) -> list[tuple[str, str]]:
        """Names and types."""
        return list(self._types)

    def to_pyarrow(self) -> pyarrow.Schema:
        """A ``pyarrow.Schema``."""
        import pyarrow

        return pyarrow.schema(self)

    def __arrow_c_schema__(self) -> object:
        return self._capsule()

    def __getitem__(self, name: str) -> str:
        for known, kind in self._types:
            if known == name:
                return kind
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self._types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._types == other._types

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{name}: {kind}' for name, kind in self._types)})"


class Batch(Table):
    """Some rows, in memory.

    >>> import colkit
    >>> batch = colkit.open(b"id,name\\n1,a\\n2,b\\n").take([1, 0])
    >>> len(batch), batch[0], batch["name"]
    (2, {'id': 2, 'name': 'b'}, ['b', 'a'])
    """

    __slots__ = ("_inner",)

    def __init__(self, inner: _colkit.Batch) -> None:
        self._inner = inner

    def _native(self) -> Native:
        return self._inner

    def _batches(self) -> Iterator[_colkit.Batch]:
        return iter([self._inner])

    def _whole(self) -> Native:
        return self._inner

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, what: int | str) -> Any:
        """A row by number, as a dict; or the values of a column by name, as a list."""
        if isinstance(what, str):
            return self._inner.to_list(self._index(what))
        row = what.__index__()
        return self._inner.row(row + len(self) if row < 0 else row)

    def _index(self, name: str) -> int:
        try:
            return self.columns.index(name)
        except ValueError:
            raise KeyError(name) from None

    def numpy(self, name: str) -> Any:
        """A column as a NumPy array; see ``to_numpy``."""
        return array_of(self._inner, self._index(name))

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._inner.__arrow_c_array__(requested_schema)

    def __repr__(self) -> str:
        return f"<colkit.Batch: {len(self)} rows of {', '.join(self.columns)}>"
