"""Comments with their exact spans, found in the text between the scalars that the parser gave.

What a comment means (a suppression, say) is left to ``source.suppressions``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from interlock.analyzer.source.text import Piece, Span
from interlock.analyzer.syntax.nodes import Comment

_LINE = re.compile(r"[^\r\n]*")
_QUOTED = re.compile(r"(?:^|(?<=[\s:,\[{(?-]))(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\n]|'')*')", re.M)


def find_comments(piece: Piece, text: str, scalars: Iterable[tuple[int, int]]) -> tuple[Comment, ...]:
    """The comments of a piece, whose text was read as ``text``, which is as long.

    ``scalars`` are the spans, in order, of the scalars that hold a ``#``.  A plain scalar need not be
    among them: a ``#`` in it never follows a space.
    """
    start = text.find("#")
    if start < 0:
        return ()
    found = []
    spans = iter(scalars)
    span = next(spans, None)
    while start >= 0:
        while span is not None and span[1] <= start:
            span = next(spans, None)
        if span is not None and span[0] <= start:
            start = text.find("#", span[1])
            continue
        if start and text[start - 1] not in " \t\r\n":
            start = text.find("#", start + 1)
            continue
        end = _LINE.match(text, start).end()  # type: ignore[union-attr]
        if piece.text[start] != "#":  # a line that was made a comment, to read what stands around it
            start = text.find("#", end)
            continue
        line = text.rfind("\n", 0, start) + 1
        alone = not text[line:start].strip()
        found.append(Comment(piece.text[start + 1 : end], Span(piece, start, end), alone))
        start = text.find("#", end)
    return tuple(found)


def find_comments_in_ruins(piece: Piece, text: str) -> tuple[Comment, ...]:
    """The comments of a text that is not YAML, as far as its lines show them."""
    if "#" not in text:
        return ()
    return find_comments(piece, text, (found.span() for found in _QUOTED.finditer(text)))
