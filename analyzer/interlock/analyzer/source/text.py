"""Where text lies: files, pieces of files, and spans in them.

Positions are code points.  A file is cut into pieces (its head, each step of a top-level
``steps``, its tail) whose trees are kept as long as their text is unchanged; a span therefore
counts from the start of its piece, and moves with it when an edit earlier in the file shifts
the rest.  Lines are found only when a person has to be told about one.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

import msgspec


class Position(NamedTuple):
    """A place in a file, counted from 1; the column counts code points."""

    line: int
    column: int


class SourceText:
    """The text of one file with its lines; lines end at LF and CRLF only (section 1).

    ``starts`` may be given where it is known already at which offsets lines start.
    """

    __slots__ = ("_starts", "path", "text")

    def __init__(self, path: str, text: str, starts: list[int] | None = None) -> None:
        self.path = path
        self.text = text
        self._starts = starts

    @property
    def line_starts(self) -> list[int]:
        """The offset at which each line starts; the first is 0."""
        if self._starts is None:
            lengths = [len(line) + 1 for line in self.text.split("\n")]
            self._starts = list(accumulate(lengths[:-1], initial=0))
        return self._starts

    def position(self, offset: int) -> Position:
        """The line and column of an offset; offsets past the end give the end."""
        offset = max(0, min(offset, len(self.text)))
        starts = self.line_starts
        line = bisect_right(starts, offset) - 1
        return Position(line + 1, offset - starts[line] + 1)

    def line(self, number: int) -> str:
        """The text of a line (counted from 1) without its line end."""
        starts = self.line_starts
        start = starts[number - 1]
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


class Piece:
    """A stretch of a file that is parsed and judged by itself.

    ``base`` is where it starts in the file's text; an edit before it moves ``base`` and leaves
    every span of the piece as it is.
    """

    __slots__ = ("base", "source", "text")

    def __init__(self, source: SourceText, text: str, base: int = 0) -> None:
        self.source = source
        self.text = text
        self.base = base


class Span(msgspec.Struct, frozen=True):
    """A stretch of text: offsets into a piece, end exclusive.

    ``via`` is the alias through which the text was reached, where it was reached through one:
    what is wrong only there is reported at the alias (section 1).
    """

    piece: Piece
    start: int
    end: int
    via: Span | None = None

    @property
    def source(self) -> SourceText:
        return self.piece.source

    @property
    def offset(self) -> int:
        """Where it starts in its file's text."""
        return self.piece.base + self.start

    @property
    def end_offset(self) -> int:
        return self.piece.base + self.end

    @property
    def text(self) -> str:
        return self.piece.text[self.start : self.end]

    @property
    def position(self) -> Position:
        return self.piece.source.position(self.offset)

    def cut(self, start: int, end: int) -> Span:
        """The part between two offsets that count from this span's start."""
        return Span(self.piece, self.start + start, self.start + end, self.via)
