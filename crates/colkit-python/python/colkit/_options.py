"""The options of the functions: those of the command, under the same names. ``--drop-metadata`` is ``drop_metadata=True``."""

from __future__ import annotations

import os
import re
from typing import Any, Iterable, Literal, Mapping, Sequence, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]
Size = Union[int, str]


class LimitOptions(TypedDict, total=False):
    """How much may be used for reading, and for how long a store is waited for."""

    memory: Size
    threads: int
    limit_output: Size
    limit_expansion: int
    limit_columns: int
    limit_nesting: int
    limit_name: Size
    limit_value: Size
    limit_batch_rows: int
    timeout: int


class TextOptions(LimitOptions, total=False):
    """How files are read."""

    delimiter: str
    quote: str
    header: bool
    no_header: bool
    encoding: str
    decimal: str
    thousands: str
    date_format: str
    schema: str | Mapping[str, str]
    null_values: Sequence[str]
    pad_short_rows: bool
    rename_duplicates: bool
    no_checksums: bool
    plugin: Path | Sequence[Path]
    allow_embedded_plugins: bool
    allow_plugin: str | Sequence[str]


class DatasetOptions(TypedDict, total=False):
    """Which version of a Lance dataset is read, and where its files are."""

    at: str | int
    base_path: Mapping[str, str]


class OpenOptions(TextOptions, DatasetOptions, total=False):
    """Options of ``open``."""

    format: str
    filename: bool
    with_row_id: bool
    memory_map: bool


class WriteOptions(TypedDict, total=False):
    """Options of ``write``."""

    to: str
    level: int
    nulls: Literal["refuse", "fill"]
    types: Literal["refuse", "exact", "lossy"]
    drop_metadata: bool
    compression: Literal["none", "snappy", "zstd", "lz4", "gzip", "brotli"]
    split_rows: int
    prefer: Literal["balance", "size", "speed", "random-access"]
    lance_version: Literal["2.0", "2.1", "2.2"]
    bloom: Sequence[str]
    page_size: Size
    encodings: Literal["lance", "extended"]
    deferred_encodings: bool
    dataset: bool
    append: bool
    overwrite: bool
    rows_per_file: int
    max_bytes_per_file: Size
    unsafe_commit: bool
    force: bool
    memory: Size
    threads: int
    rename_duplicates: bool
    timeout: int


class ReadOptions(TextOptions, DatasetOptions, total=False):
    """Options of all verbs that read tables."""

    from_: str


class ConvertOptions(ReadOptions, WriteOptions, total=False):
    """Options of ``convert``."""

    filename: bool
    columns: Sequence[str]
    select: str
    where: str
    with_row_id: bool


class PackOptions(LimitOptions, total=False):
    """Options of ``pack``."""

    codec: str
    queryable: bool
    fast: bool
    best: bool
    smallest: bool
    stream: bool
    lossy: bool
    decompress: bool
    force: bool


class UnpackOptions(LimitOptions, total=False):
    """Options of ``unpack``."""

    list: bool
    no_verify: bool
    force: bool


class InspectOptions(ReadOptions, total=False):
    """Options of ``inspect``."""

    layout: bool


class VerifyOptions(ReadOptions, total=False):
    """Options of ``verify``."""


class DiffOptions(TextOptions, total=False):
    """Options of ``diff``."""

    from_: str
    at: Sequence[str | int]
    base_path: Mapping[str, str]
    columns: Sequence[str]
    key: Sequence[str]
    strict_types: bool
    limit: int
    show: int


def checked(function: str, known: Any, options: Mapping[str, object]) -> None:
    """Refuses options that the function does not have, as Python does for arguments."""
    for name in options:
        if name not in known.__optional_keys__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def flags(options: Mapping[str, Any]) -> list[str]:
    """Options as the command takes them."""
    arguments: list[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if name == "header" and value is not None:
            value = "yes" if value is True else "no" if value is False else value
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(flag)
            continue
        for text in _texts(name, value):
            arguments.append(f"{flag}={text}")
    return arguments


def _texts(name: str, value: Any) -> Iterable[str]:
    """A value as text; several if the flag is repeated for each."""
    if isinstance(value, Mapping):
        if name == "schema":
            return [",".join(f"{column}:{kind}" for column, kind in value.items())]
        return [f"{old}={new}" for old, new in value.items()]
    if isinstance(value, (str, int, float)):
        return [str(value)]
    if isinstance(value, os.PathLike):
        return [os.fspath(value)]
    if name in ("columns", "key"):
        return [",".join(_quoted(column) for column in value)]
    if name in ("at", "plugin", "allow_plugin"):
        return [str(each) for each in value]
    return [",".join(map(str, value))]


def _quoted(column: str) -> str:
    """A name in a list of names."""
    return column if re.fullmatch(r"[\w.]+", column) else '"' + column.replace('"', '""') + '"'
