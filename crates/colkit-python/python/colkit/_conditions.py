"""Conditions built from columns: ``colkit.col("price") > 100``. They become the text that ``where`` takes as well."""

from __future__ import annotations

import datetime
import decimal
from typing import Any, Iterable


class Condition:
    """A condition on rows. Combine conditions with ``&``, ``|`` and ``~``. Its text is what ``where`` takes."""

    __slots__ = ("_joined_by", "_text")

    def __init__(self, text: str, joined_by: str | None = None) -> None:
        self._text = text
        self._joined_by = joined_by

    def _joined(self, word: str, other: object) -> Condition:
        """Conditions joined by the same word need no parentheses, so that any number of them nest no deeper than one."""
        if not isinstance(other, Condition):
            raise TypeError(f"expected a condition, found {type(other).__name__}")
        texts = [side._text if side._joined_by in (None, word) else f"({side})" for side in (self, other)]
        return Condition(f" {word} ".join(texts), word)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Condition({self._text!r})"

    def __and__(self, other: object) -> Condition:
        return self._joined("and", other)

    def __or__(self, other: object) -> Condition:
        return self._joined("or", other)

    def __invert__(self) -> Condition:
        return Condition(f"not ({self})")

    def __bool__(self) -> bool:
        raise TypeError("a condition is neither true nor false: combine conditions with & | ~ instead of and, or, not")


class Column:
    """A column in a condition."""

    __slots__ = ("_name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self._name = quoted(name)

    def __repr__(self) -> str:
        return f"col({self._name})"

    def _compare(self, operator: str, value: object) -> Condition:
        return Condition(f"{self._name} {operator} {literal(value)}")

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return self.is_null() if value is None else self._compare("=", value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return ~self.is_null() if value is None else self._compare("!=", value)

    def __lt__(self, value: object) -> Condition:
        return self._compare("<", value)

    def __le__(self, value: object) -> Condition:
        return self._compare("<=", value)

    def __gt__(self, value: object) -> Condition:
        return self._compare(">", value)

    def __ge__(self, value: object) -> Condition:
        return self._compare(">=", value)

    def is_in(self, values: Iterable[object]) -> Condition:
        """Whether the value is one of these."""
        texts = [literal(value) for value in values]
        if not texts:
            return Condition(f"{self._name} is null and not {self._name} is null", "and")
        return Condition(f"{self._name} in ({', '.join(texts)})")

    def is_null(self) -> Condition:
        """Whether there is no value."""
        return Condition(f"{self._name} is null")

    def is_not_null(self) -> Condition:
        """Whether there is a value."""
        return Condition(f"{self._name} is not null")

    def between(self, low: object, high: object) -> Condition:
        """Whether the value lies between these two, both included."""
        return Condition(f"{self._name} between {literal(low)} and {literal(high)}")


def col(name: str) -> Column:
    """A column, to build a condition for ``where``.

    >>> import colkit
    >>> (colkit.col("price") > 100) & colkit.col("sym").is_in(["BTC", "ETH"])
    Condition('`price` > 100 and `sym` in ("BTC", "ETH")')
    """
    return Column(name)


def quoted(name: str) -> str:
    """The name of a column in a condition."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: Any) -> str:
    """A value in a condition."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, decimal.Decimal)):
        return format(value, "f") if isinstance(value, decimal.Decimal) else str(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"conditions have no {value}: compare with a number")
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if isinstance(value, (datetime.date, datetime.time)):
        return f'"{value.isoformat()}"'
    item = getattr(value, "item", None)
    if callable(item):
        return literal(item())
    raise TypeError(f"cannot compare with a value of type {type(value).__name__}")
