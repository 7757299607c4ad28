"""The exceptions. Each is also the built-in one that Python users expect in its place."""

from __future__ import annotations

import builtins
import re
from typing import Any


class Error(Exception):
    """Any error of colkit.

    ``code`` is stable and listed in the documentation; ``file``, ``offset`` and ``part`` say where; ``hint`` says what to do. Each is
    None where it is not known.

    >>> import colkit
    >>> try:
    ...     colkit.open(b"a,b\\n1,2\\n").scan(columns=["c"])
    ... except colkit.Error as error:
    ...     print(error.code, error.file)
    no_such_column bytes
    """

    code: str
    file: str | None
    offset: int | None
    part: str | None
    hint: str | None

    def __init__(
        self,
        message: str,
        code: str = "",
        file: str | None = None,
        offset: int | None = None,
        part: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.file, self.offset, self.part, self.hint = code, file, offset, part, hint

    def __str__(self) -> str:
        message = f"{self.args[0]} [{self.code}]"
        return f"{message}\nhint: {self.hint}" if self.hint else message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.code, self.file, self.offset, self.part, self.hint)


class CorruptError(Error, ValueError):
    """The file breaks the rules of its format."""


class UnsupportedError(Error, NotImplementedError):
    """The file says something that this version does not know."""


class LimitError(Error, MemoryError):
    """It would take more than a limit allows."""


class DataError(Error, ValueError):
    """The data cannot be stored as asked."""


class RequestError(Error, ValueError):
    """The request itself is wrong: an impossible range, a bad option."""


class ColumnError(RequestError, KeyError):
    """There is no such column."""

    __str__ = Error.__str__


class IoError(Error, OSError):
    """The operating system or the store failed."""

    __str__ = Error.__str__


class NotFoundError(IoError, FileNotFoundError):
    """There is no such file."""


class ExistsError(IoError, FileExistsError):
    """The file is there already."""


class AccessError(IoError, PermissionError):
    """The system or the store does not allow it."""


class TimeoutError(IoError, builtins.TimeoutError):
    """A store did not answer in time."""


class InternalError(Error, RuntimeError):
    """A bug in colkit. Please report it."""


_BY_CODE: dict[str, type[Error]] = {
    "not_found": NotFoundError,
    "already_exists": ExistsError,
    "not_allowed": AccessError,
    "timed_out": TimeoutError,
    "no_such_column": ColumnError,
}


def exception(name: str, message: str, facts: dict[str, Any]) -> Error:
    """The exception for an error of the library."""
    kind = _BY_CODE.get(facts["code"], globals()[name])
    if facts["hint"] is not None:
        facts["hint"] = in_python(facts["hint"])
    error: Error = kind(in_python(message), **facts)
    return error


def in_python(text: str) -> str:
    """A text of the command in Python's words: its flags are arguments here."""

    def argument(match: re.Match[str]) -> str:
        name = match.group(1).replace("-", "_")
        return "from_" if name == "from" else name

    return re.sub(r"(?<![\w-])--([a-z][a-z-]*[a-z])", argument, text)
