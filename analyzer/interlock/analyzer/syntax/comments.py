"""Comments with their exact spans, found in the text between the scalars that the parser gave.

What a comment means (a suppression, say) is left to ``source.suppressions``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from interlock.analyzer.source.text import Piece, Span
from interlock.analyzer.syntax.nodes import Comment

_COMMENT = re.compile(r"(?:(?<=[ \t\r\n])|\A)#[^\r\n]*")
_QUOTED = re.compile(r"(?:^|(?<=[\s:,\[{(?-]))(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\n]|'')*')", re.M)


def find_comments(piece: Piece, text: str, scalars: Iterable[tuple[int, int]]) -> tuple[Comment, ...]:
    """The comments of a piece; ``scalars`` are the spans, in order, of the scalars that hold a ``#``.

    A plain scalar need not be among them: a ``#`` in it never follows a space.
    """
    if "#" not in text:
        return ()
    found = []
    spans = iter(scalars)
    span = next(spans, None)
    at = 0
    while match := _COMMENT.search(text, at):
        start, end = match.span()
        while span is not None and span[1] <= start:
            span = next(spans, None)
        if span is not None and span[0] <= start:
            at = span[1]
            continue
        line = text.rfind("\n", 0, start) + 1
        alone = not text[line:start].strip()
        found.append(Comment(piece.text[start + 1 : end], Span(piece, start, end), alone))
        at = end
    return tuple(found)


def find_comments_in_ruins(piece: Piece, text: str) -> tuple[Comment, ...]:
    """The comments of a text that is not YAML, as far as its lines show them."""
    if "#" not in text:
        return ()
    return find_comments(piece, text, (found.span() for found in _QUOTED.finditer(text)))
