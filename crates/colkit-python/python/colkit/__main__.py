"""The command: ``python -m colkit``, and the program ``colkit`` of the package."""

from __future__ import annotations

import signal
import sys

from . import _colkit


def main() -> int:
    """Runs the command with the arguments of this process."""
    # As for any other command, the system ends it on Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _colkit.main(["colkit", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
