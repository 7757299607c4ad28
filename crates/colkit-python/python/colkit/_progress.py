"""A progress bar: a line on a terminal, a bar in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable

Progress = Callable[[str, int, int], None]


def progress_of(wanted: bool | Progress) -> Progress | None:
    """What hears of the progress: a function of the caller, or a bar."""
    if callable(wanted):
        return wanted
    return Bar() if wanted else None


class Bar:
    """Shows what is done, how much of it, and how fast."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.display = _notebook()
        self.shown: Any = None
        self.width = 0

    def __call__(self, doing: str, done: int, total: int) -> None:
        if self.display is not None:
            share = 100 * done // total if total else 0
            self._show_html(f"{doing} <progress value={share} max=100></progress> {self._words(done, total)}")
        else:
            filled = 30 * done // total if total else 0
            self._show_line(f"{doing} [{'#' * filled}{'.' * (30 - filled)}] {self._words(done, total)}")

    def _words(self, done: int, total: int) -> str:
        seconds = max(time.monotonic() - self.began, 1e-3)
        return f"{_size(done)} of {_size(total)} read, {_size(int(done / seconds))}/s, {seconds:.0f} s"

    def _show_line(self, line: str) -> None:
        self.width = max(self.width, len(line))
        print("\r" + line.ljust(self.width), end="", file=sys.stderr, flush=True)

    def _show_html(self, text: str) -> None:
        from IPython.display import HTML, display

        if self.shown is None:
            self.shown = display(HTML(text), display_id=True)
        else:
            self.shown.update(HTML(text))

    def close(self) -> None:
        """Takes the line away."""
        if self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)


def _notebook() -> Any:
    """The notebook that this runs in, if it is one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if shell is not None and hasattr(shell, "kernel") else None


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
