"""The verbs of the command, with its options under the same names: ``drop_metadata=True`` is ``--drop-metadata``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from . import _colkit
from ._options import (
    ConvertOptions,
    DiffOptions,
    InspectOptions,
    PackOptions,
    Path,
    UnpackOptions,
    VerifyOptions,
    checked,
    flags,
)
from ._progress import Bar, Progress, progress_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Report:
    """What a verb has to say. It is true if all is well: ``if colkit.verify(path): ...``"""

    __slots__ = ("_document", "_verb", "ok")

    def __init__(self, verb: str, ok: bool, document: Any) -> None:
        self.ok = ok
        self._verb = verb
        self._document = document

    def to_dict(self) -> Any:
        """What the command prints with ``--json``: a dict, or a list of them for several files."""
        return self._document

    def __bool__(self) -> bool:
        return self.ok

    def __getitem__(self, key: str) -> Any:
        return self._document[key]

    def __repr__(self) -> str:
        documents = self._document if isinstance(self._document, list) else [self._document]
        return "\n".join(line for document in documents for line in _lines(f"colkit.{self._verb}", document))


def _lines(title: str, document: Mapping[str, Any]) -> Iterable[str]:
    """A document for people: one line for each fact, lists of dicts as tables."""
    yield title
    for key, value in document.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            yield f"  {key}:"
            keys = list(dict.fromkeys(name for item in value for name, cell in item.items() if not isinstance(cell, (dict, list))))
            cells = [keys, *([_cell(item.get(name)) for name in keys] for item in value[:50])]
            widths = [max(len(row[index]) for row in cells) for index in range(len(keys))]
            for row in cells:
                yield "    " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            if len(value) > 50:
                yield f"    and {len(value) - 50} more"
        elif value not in (None, [], {}):
            yield f"  {key}: {_cell(value)}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_cell(cell)}" for name, cell in value.items())
    return ", ".join(map(_cell, value)) if isinstance(value, list) else str(value)


def convert(
    source: Path | Iterable[Path], target: Path, *, progress: bool | Progress = False, **options: Unpack[ConvertOptions]
) -> Report:
    """Converts one or more files to another format. ``source`` is a path or URL, or a list of them whose rows follow each other.

    The extension of ``target`` names the format, or ``to``; a ``/`` at its end makes a Lance dataset of it. Options are those of the command
    ``colkit convert``, such as ``columns``, ``where``, ``select``, ``level``, ``compression``, ``nulls``, ``types``, ``force``, ``append``.
    ``progress`` shows a bar, or calls a function with what is done, the bytes read and those to be read.

    >>> import colkit
    >>> _ = colkit.write({"id": [1, 2, 3]}, "ids.parquet", force=True)
    >>> colkit.convert("ids.parquet", "ids.lance", force=True, where="id > 1")["rows"]
    2
    """
    checked("convert", ConvertOptions, options)
    return _run("convert", [*_paths(source), target], options, progress)


def pack(
    source: Path | Iterable[Path],
    target: Path | None = None,
    *,
    progress: bool | Progress = False,
    **options: Unpack[PackOptions],
) -> Report:
    """Packs files or folders into an AT-1 archive. It keeps every byte, and tables in it can be queried.

    >>> import colkit, pathlib
    >>> _ = pathlib.Path("log.csv").write_text("level,text\\nwarn,late\\ninfo,done\\n")
    >>> colkit.pack("log.csv", "log.at1", force=True)["input_bytes"]
    31
    >>> colkit.open("log.at1").scan(where='level = "warn"').to_pydict()
    {'level': ['warn'], 'text': ['late']}
    """
    checked("pack", PackOptions, options)
    if target is not None and not os.fspath(target).lower().endswith(".at1"):
        raise ValueError(f"the name of an archive ends with .at1, not as in {os.fspath(target)!r}")
    return _run("pack", [*_paths(source), *([] if target is None else [target])], options, progress)


def unpack(
    source: Path, target: Path | None = None, names: Iterable[str] = (), **options: Unpack[UnpackOptions]
) -> Report:
    """Restores the files of an AT-1 archive, byte for byte: all, or those of these names in a bundle. ``list=True`` only lists them."""
    checked("unpack", UnpackOptions, options)
    more = {} if target is None else {"out": os.fspath(target)}
    return _run("unpack", [source, *names], {**options, **more}, False)


def inspect(source: Path, **options: Unpack[InspectOptions]) -> Report:
    """Format, rows, columns and sizes of a file; ``layout=True`` maps every byte.

    >>> import colkit
    >>> _ = colkit.write({"id": [1, 2, 3]}, "some.lance", force=True)
    >>> report = colkit.inspect("some.lance")
    >>> report["format"], report["rows"]
    ('lance', 3)
    """
    checked("inspect", InspectOptions, options)
    return _run("inspect", [source], options, False)


def verify(
    source: Path | Iterable[Path], *, progress: bool | Progress = False, **options: Unpack[VerifyOptions]
) -> Report:
    """Checks files for damage, from the first byte to the last. The report is false if one is damaged.

    >>> import colkit
    >>> _ = colkit.write({"id": [1, 2, 3]}, "some.lance", force=True)
    >>> bool(colkit.verify("some.lance"))
    True
    """
    checked("verify", VerifyOptions, options)
    return _run("verify", _paths(source), options, progress)


def diff(left: Path, right: Path | None = None, **options: Unpack[DiffOptions]) -> Report:
    """Compares two tables of any formats, or two versions of a dataset (``at=[3, 7]``). The report is false if they differ."""
    checked("diff", DiffOptions, options)
    return _run("diff", [left, *([] if right is None else [right])], options, False)


def _paths(source: Path | Iterable[Path]) -> list[Path]:
    return [source] if isinstance(source, (str, os.PathLike)) else list(source)


def _run(verb: str, operands: Iterable[Path], options: Mapping[str, Any], progress: bool | Progress) -> Report:
    arguments = ["colkit", verb, "--json", *flags(options), "--", *(os.fspath(operand) for operand in operands)]
    listener = progress_of(progress)
    try:
        ok, out = _colkit.call(arguments, listener)
    finally:
        if isinstance(listener, Bar):
            listener.close()
    return Report(verb, ok, document(out))


def document(out: str) -> Any:
    """What a verb printed as JSON, one document in each line."""
    documents = [json.loads(line) for line in out.splitlines() if line.strip()]
    return documents[0] if len(documents) == 1 else documents
