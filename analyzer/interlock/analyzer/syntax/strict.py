"""What both parsers let pass although YAML 1.2 refuses it.

The meaning of such a text is clear, so its tree is kept and the slip is a problem beside it.  What a
parser refuses by itself is left to ``diagnose``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from interlock.analyzer.source.text import Piece, Span
from interlock.analyzer.syntax.nodes import Comment, Mapping, Node, Scalar, Sequence, SyntaxProblem

_TIGHT = re.compile(r"(?<=[\]}\"',])#")
_LINE = re.compile(r"[^\r\n]*")
_PREFIX = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n|%[^\n]*(?:\n|\Z))*")
_DIRECTIVE = re.compile(r"^%[^\r\n]*", re.M)
_VERSION = re.compile(r"%YAML[ \t]+[0-9]+\.[0-9]+(?:[ \t]+#.*|[ \t]*)")


def lone_dash(piece: Piece, text: str, at: int) -> SyntaxProblem | None:
    """The problem of a ``-`` that stands in brackets where a value would, as in ``[-]`` (section 7.3.3)."""
    if text[at + 1 : at + 2] not in (",", "[", "]", "{", "}", " ", "\t", "\r", "\n", ""):
        return None
    return _problem(piece, at, at + 1, 'a "-" by itself is no value inside of brackets; put quotes around it')


def shallow(piece: Piece, text: str, start: int, end: int, parent: list[Any], first: int) -> SyntaxProblem | None:
    """The problem of quoted text or a flow collection that goes on at the margin of what it stands in.

    ``start`` and ``end`` frame it, ``parent`` is the frame of the block collection around it and ``first``
    where that one's first node starts.  A line that only closes brackets may stand there: everybody writes
    it so, and nobody takes it for something else.
    """
    least = _indentation(text, parent, first)
    quoted = text[start] in "\"'"
    at = text.find("\n", start, end)
    while at >= 0:
        line = at + 1
        at = text.find("\n", line, end)
        place = line
        while text[place] == " ":
            place += 1
        if place - line > least:
            continue
        rest = _LINE.match(text, place)[0].strip()  # type: ignore[index]
        if not rest or (not quoted and (rest[0] in "#]}")):
            continue
        if quoted and place + 1 >= end:  # the closing quote by itself
            continue
        what = "the text in quotes" if quoted else "what the bracket opens"
        more = least + 1 - (place - line)
        message = f"{what} goes on here, and must be indented more than what it stands in"
        hint = f"indent this line by {more} more space{'' if more == 1 else 's'}"
        return _problem(piece, place, min(place + len(rest), end), message, hint)
    return None


def lost_text(piece: Piece, text: str, header: int, parent: list[Any], first: int) -> SyntaxProblem | None:
    """The problem of block text that begins behind blank lines longer than its indentation (section 8.1.1.1).

    ``header`` is where the header of a block scalar without text ends.
    """
    if text[header - 1].isdigit() or text[header - 2].isdigit():
        return None
    least = _indentation(text, parent, first)
    deepest = 0
    line = text.find("\n", header) + 1
    while line:
        written = _LINE.match(text, line)[0]  # type: ignore[index]
        column = len(written) - len(written.lstrip(" "))
        if written.strip():
            if not least < column < deepest:
                return None
            message = "a blank line above this text has more spaces than the text, so none of it belongs to the block"
            return _problem(piece, line + column, line + len(written.rstrip()), message, "shorten the blank line")
        deepest = max(deepest, column)
        line = text.find("\n", line) + 1
    return None


def tight_comments(piece: Piece, text: str, root: Node | None, comments: Iterable[Comment]) -> Iterator[SyntaxProblem]:
    """The problem of each comment that follows something without a space between (section 6.6)."""
    candidates = [found.start() for found in _TIGHT.finditer(text)]
    if not candidates:
        return
    taken = _Taken([*_scalars(root), *((one.span.start, one.span.end) for one in comments)])
    line_end = -1
    for at in candidates:
        if at < line_end or taken.holds(at):
            continue
        line_end = _LINE.match(text, at).end()  # type: ignore[union-attr]
        yield _problem(piece, at, line_end, 'a comment needs a space before its "#"')


class _Taken:
    """Spans that do not overlap, asked about offsets that grow."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self.spans = sorted(spans, reverse=True)

    def holds(self, at: int) -> bool:
        spans = self.spans
        while spans and spans[-1][1] <= at:
            spans.pop()
        return bool(spans) and spans[-1][0] <= at


def _scalars(root: Node | None) -> Iterator[tuple[int, int]]:
    """The spans of the scalars under a node, as written."""
    waiting: list[Node | None] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Scalar):
            yield node.start, node.end
        elif isinstance(node, Sequence):
            waiting.extend(node.items)
        elif isinstance(node, Mapping):
            for entry in node.entries:
                waiting += (entry.key, entry.value)


def directives(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """What is wrong with the directives before a document (section 6.8): where, and in what words."""
    prefix = _PREFIX.match(text, start, end)
    if prefix is None or "%" not in prefix[0]:
        return
    version = False
    found = None
    for found in _DIRECTIVE.finditer(text, start, prefix.end()):
        line = found[0]
        if not line.startswith(("%YAML ", "%YAML\t")):
            continue
        if version:
            yield found.start(), found.end(), "%YAML stands twice before this document; keep one of them"
        elif not _VERSION.fullmatch(line):
            yield found.start(), found.end(), "%YAML takes a version and nothing else, as in %YAML 1.2"
        version = True
    if found is not None and not text.startswith("---", prefix.end(), end):
        yield found.start(), found.end(), 'no document follows this directive; begin one with "---", or remove the line'


def _indentation(text: str, parent: list[Any], first: int) -> int:
    """The column of a block collection; for one with an anchor or a tag that of its line, which is no more."""
    at: int = parent[1]
    line = text.rfind("\n", 0, at) + 1
    if parent[2] is None and parent[3] is None:
        return min(at - line, first - text.rfind("\n", 0, first) - 1)
    place = line
    while place < at and text[place] == " ":
        place += 1
    return place - line


def _problem(piece: Piece, start: int, end: int, message: str, hint: str | None = None) -> SyntaxProblem:
    return SyntaxProblem("IL101", Span(piece, start, max(start, end)), message, hint)
