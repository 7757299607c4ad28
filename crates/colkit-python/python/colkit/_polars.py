"""A Polars ``LazyFrame`` over a file."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any, Iterator

from ._conditions import literal, quoted

if TYPE_CHECKING:
    import polars

    from ._file import File


def lazy(file: File) -> polars.LazyFrame:
    import polars
    from polars.io.plugins import register_io_source

    schema = polars.DataFrame(file.scan(rows=slice(0, 0))).schema

    def batches(
        columns: list[str] | None, predicate: polars.Expr | None, row_limit: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        where = None if predicate is None else Translation(dict(file.schema.items())).of(predicate)
        rows = slice(0, row_limit) if row_limit is not None and predicate is None else None
        wanted = columns
        if predicate is not None and columns is not None:
            wanted = list(dict.fromkeys([*columns, *predicate.meta.root_names()]))
        left = row_limit
        scan = file.scan(columns=wanted, where=where, rows=rows, batch_rows=batch_size or 1 << 17)
        for batch in scan._inner.with_views().batches():
            frame = polars.DataFrame(batch)
            if predicate is not None:
                # The file leaves out rows; Polars has the last word on the others.
                frame = frame.filter(predicate)
            if columns is not None:
                frame = frame.select(columns)
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            yield frame
            if left == 0:
                return

    return register_io_source(batches, schema=schema)


_OPERATORS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_MIRRORED = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_WHOLE = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}


class Translation:
    """A Polars expression as a condition that at least all of its rows fulfil. What has no such condition is left to Polars."""

    def __init__(self, types: dict[str, str]) -> None:
        self.types = types

    def of(self, predicate: polars.Expr) -> str | None:
        """The condition, or None."""
        try:
            return self._condition(json.loads(predicate.meta.serialize(format="json")))
        except Exception:  # The tree is Polars' own business and may change.
            return None

    def _condition(self, node: Any) -> str | None:
        kind, content = next(iter(node.items()))
        if kind == "Function":
            return self._function(content)
        if kind != "BinaryExpr":
            return None
        left, right, operator = content["left"], content["right"], content["op"]
        if operator in ("And", "LogicalAnd"):
            sides = [side for side in (self._condition(left), self._condition(right)) if side is not None]
            return " and ".join(f"({side})" for side in sides) or None
        if operator in ("Or", "LogicalOr"):
            first, second = self._condition(left), self._condition(right)
            return None if first is None or second is None else f"({first}) or ({second})"
        if operator not in _OPERATORS:
            return None
        if "Column" not in left:
            left, right, operator = right, left, _MIRRORED.get(operator, operator)
        name, value = left["Column"], self._value(left["Column"], right)
        return None if value is None else f"{quoted(name)} {_OPERATORS[operator]} {value}"

    def _function(self, content: Any) -> str | None:
        name = content["input"][0].get("Column")
        function = content["function"].get("Boolean")
        if name is None:
            return None
        if function in ("IsNull", "IsNotNull"):
            return f"{quoted(name)} is {'null' if function == 'IsNull' else 'not null'}"
        if "IsBetween" in function:
            low, high = (self._value(name, side) for side in content["input"][1:])
            return None if low is None or high is None else f"{quoted(name)} between {low} and {high}"
        if "IsIn" in function:
            values = self._list(content["input"][1]["Literal"]["Scalar"]["List"])
            texts = [self._text(name, value) for value in values if value is not None]
            return f"{quoted(name)} in ({', '.join(map(str, texts))})" if texts and None not in texts else None
        return None

    def _value(self, name: str, node: Any) -> str | None:
        ((_, scalar),) = node["Literal"].items()
        ((kind, value),) = scalar.items()
        if kind == "Date":
            value = datetime.date(1970, 1, 1) + datetime.timedelta(days=value)
        elif kind == "Datetime":
            ticks, unit, zone = value
            per_second = {"Milliseconds": 1_000, "Microseconds": 1_000_000}.get(unit)
            if per_second is None or zone is not None:
                return None
            value = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=ticks / per_second)
            if value.timestamp is None or ticks % per_second:
                return None
        return self._text(name, value)

    def _text(self, name: str, value: object) -> str | None:
        """The value, if the file compares the column with it as Polars does."""
        kind = self.types[name]
        fits = (
            (isinstance(value, bool) and kind == "bool")
            or (isinstance(value, int) and not isinstance(value, bool) and (kind in _WHOLE or kind == "float64" and abs(value) < 2**53))
            or (isinstance(value, float) and kind == "float64")
            or (isinstance(value, str) and kind in ("string", "large_string", "string_view"))
            or (type(value) is datetime.date and kind.startswith("date"))
            or (isinstance(value, datetime.datetime) and kind.startswith("timestamp") and "," not in kind)
        )
        return literal(value) if fits else None

    @staticmethod
    def _list(content: list[int]) -> list[object]:
        """A list of Polars', which is an Arrow stream of one column."""
        from ._file import open as open_file

        batch = open_file(bytes(content), format="arrow-stream").scan().to_pydict()
        (column,) = batch.values()
        return [value for item in column for value in (item if isinstance(item, list) else [item])]
