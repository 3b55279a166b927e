"""A line on a terminal's standard error while there is more to read than a moment takes."""

from __future__ import annotations

import sys
from types import TracebackType

#: From how many files on the line is shown.
MANY = 40


class Progress:
    """Takes its line away again before anything else is printed."""

    def __init__(self) -> None:
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def reading(self, files: int) -> None:
        if files >= MANY and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[KReading {files} files …")
            sys.stderr.flush()
            self._shown = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
