"""Open documents: their text, edits to it, and positions as the client counts them.

For the protocol a line ends at LF, CRLF or CR alone; for the language only at LF and CRLF.  So positions
of the client become offsets here, and only offsets go on to the analyzer.  Columns count units of the
encoding that was agreed on at ``initialize``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal, NamedTuple, TypeAlias

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

_END = re.compile(r"\r\n|\r|\n")


class Place(NamedTuple):
    """A position of the protocol: line and column from 0, the column in units of the encoding."""

    line: int
    character: int


def line_starts(text: str, start: int = 0, end: int | None = None) -> list[int]:
    """Where lines start after each line end in a stretch of text, as the protocol ends lines."""
    stop = len(text) if end is None else end
    if text.find("\r", start, stop) >= 0:
        return [found.end() for found in _END.finditer(text, start, stop)]
    starts: list[int] = []
    find = text.find
    at = find("\n", start, stop)
    while at >= 0:
        starts.append(at + 1)
        at = find("\n", at + 1, stop)
    return starts


def width(text: str, encoding: Encoding) -> int:
    """How many units of the encoding a text takes; a lone surrogate counts as the client sends it."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-16":
        return len(text) + sum(character > "\uffff" for character in text)
    return len(text.encode("utf-8", "surrogatepass"))


class Lines:
    """A text with its lines as the client counts them."""

    __slots__ = ("encoding", "starts", "text")

    def __init__(self, text: str, encoding: Encoding, starts: list[int] | None = None) -> None:
        self.text = text
        self.encoding: Encoding = encoding
        self.starts = [0, *line_starts(text)] if starts is None else starts

    def place(self, offset: int) -> Place:
        """The client's position of an offset; offsets outside the text give its nearer end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.starts, offset) - 1
        return Place(line, width(self.text[self.starts[line] : offset], self.encoding))

    def offset(self, line: int, character: int) -> int:
        """The offset of a client's position.

        A column past the end of its line counts as that end, a line past the last one as the end of the
        text, and a column inside of a character as the place before it.
        """
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        start, end = self.starts[line], self.end_of(line)
        if character <= 0:
            return start
        content = self.text[start:end]
        if self.encoding == "utf-32" or content.isascii():
            return min(start + character, end)
        at = 0
        for index, letter in enumerate(content):
            at += width(letter, self.encoding)
            if at > character:
                return start + index
        return end

    def end_of(self, line: int) -> int:
        """Where a line ends, its line end left out."""
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        start = self.starts[line]
        if end > start and self.text[end - 1] == "\n" and line + 1 < len(self.starts):
            end -= 1
        if end > start and self.text[end - 1] == "\r" and line + 1 < len(self.starts):
            end -= 1
        return end

    def edited(self, start: int, end: int, new: str) -> Lines:
        """The lines after the text between two offsets was replaced; only what it touches is read again."""
        text = self.text[:start] + new + self.text[end:]
        old = self.starts
        # From the line before the edit (its CR may now stand before an LF) to the end of the last line touched.
        first = bisect_right(old, max(start - 1, 0)) - 1
        last = bisect_right(old, end)
        shift = len(text) - len(self.text)
        stop = old[last] + shift if last < len(old) else len(text)
        starts = old[: first + 1]
        starts.extend(line_starts(text, old[first], stop))
        if last < len(old):
            rest = old[last + 1 :]
            starts.extend([at + shift for at in rest] if shift else rest)
        return Lines(text, self.encoding, starts)


class Document:
    """One open document.  ``uri`` is as the client writes it; ``version`` its own number."""

    def __init__(self, uri: str, language: str, version: int, text: str, encoding: Encoding) -> None:
        self.uri = uri
        self.language = language
        self.version = version
        self.lines = Lines(text, encoding)

    @property
    def text(self) -> str:
        return self.lines.text

    def replace(self, text: str) -> None:
        self.lines = Lines(text, self.lines.encoding)

    def edit(self, start: Place, end: Place, new: str) -> None:
        """Applies one change of a range; a range written backwards is read forwards."""
        first = self.lines.offset(*start)
        last = self.lines.offset(*end)
        if last < first:
            first, last = last, first
        self.lines = self.lines.edited(first, last, new)
