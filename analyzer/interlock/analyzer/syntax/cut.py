"""Where a text may be cut: documents, and the head, steps and tail of one.

Works on lines only, with regular expressions, and is fast; whether a cut was right shows when the
pieces are parsed, which ``parse`` does.
"""

from __future__ import annotations

import re

import msgspec

_MARKER = re.compile(r"(?:\A|(?<=\n))(---|\.\.\.)(?=[ \t\r\n]|\Z)")
_PREFIX = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n|%[^\n]*\n)*")
_EMPTY_START = re.compile(r"---[ \t\r]*(?:(?<=[ \t])#[^\n]*)?(?:\n|\Z)")
_BLANK = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)*(?:\.\.\.[ \t\r]*(?:#[^\n]*)?(?:\n|\Z))?[ \t\r]*(?:#[^\n]*)?")
_DIRECTIVE = re.compile(r"(?:\A|(?<=\n))%(?!TAG[ \t])")

_STEPS = re.compile(r"steps:[ \t]*(?:(?<=[ \t])#[^\n]*)?\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)-(?=[ \t\r\n]|\Z)")
# A line at the margin that has a key; what else stands at the margin there is taken for a slip.
_KEY_LINE = re.compile(r"\n(?=[^\s#\-?:,\[\]{}|>%@`=][^\n]*?:(?:[ \t\r\n]|\Z))(?!<<<<)")
_TOP_LINE = re.compile(r"(?:\A|(?<=\n))(?![\s#\]}])(?!---[ \t\r\n]|\.\.\.[ \t\r\n])")


class Cut(msgspec.Struct, frozen=True):
    """Where a document is cut: the head ends where the first of ``items`` starts.

    ``indent`` is the column of the items' ``-``; the tail is empty where nothing follows them.
    """

    start: int
    items: tuple[int, ...]
    tail: int
    end: int
    indent: int


def documents(text: str, start: int) -> list[tuple[int, int, bool]]:
    """Where the documents of a text start and end, and whether each holds more than comments.

    Together they cover the text from ``start`` on.  A line ``---`` and what is only comments or
    directives before it belong to the document that they begin, a line ``...`` to the one it ends.
    """
    if "\n---" not in text and "\n..." not in text and not text.startswith(("---", "..."), start):
        markers = []
    else:
        markers = [(one.start(1), one[1]) for one in _MARKER.finditer(text, start)]
        if text.startswith(("---", "..."), start) and start:  # behind a byte order mark
            markers[:0] = [(start, text[start : start + 3])]
    found: list[tuple[int, int, bool]] = []
    begun = False
    for place, marker in markers:
        if marker == "...":
            line_end = text.find("\n", place) + 1 or len(text)
            found.append((start, line_end, not _is_empty(text, start, line_end)))
            start, begun = line_end, False
        else:
            if begun or not _PREFIX.fullmatch(text, start, place):
                found.append((start, place, not _is_empty(text, start, place)))
                start = place
            begun = True
    if start < len(text):
        found.append((start, len(text), not _is_empty(text, start, len(text))))
    return found


def _is_empty(text: str, start: int, end: int) -> bool:
    """Whether a document holds nothing but comments and directives."""
    prefix = _PREFIX.match(text, start, end)
    start = prefix.end() if prefix else start
    if text.startswith("---", start, end):
        marker = _EMPTY_START.match(text, start, end)
        if not marker:
            return False
        start = marker.end()
    return _BLANK.fullmatch(text, start, end) is not None


def without_directives(text: str, start: int, end: int) -> str | None:
    """The text with ``%YAML`` and unknown directives of a document made comments, or None.

    libyaml refuses any version but 1.1; every document is read by the core schema of 1.2 anyway.
    """
    prefix = _PREFIX.match(text, start, end)
    if not prefix or "%" not in prefix[0]:
        return None
    return text[:start] + _DIRECTIVE.sub("#", prefix[0]) + text[prefix.end() :]


def cut(text: str, start: int, end: int) -> Cut | None:
    """Where to cut a document that has a top-level ``steps`` in block style, or None."""
    at = start if text.startswith("steps:", start, end) else text.find("\nsteps:", start, end) + 1
    if not at and not text.startswith("steps:", start, end):
        return None
    found = _STEPS.match(text, at, end)
    if not found or text.find("\n?", start, end) >= 0 or text.find("\n%TAG", start, end) >= 0:
        return None
    if text.startswith("%TAG", start):
        return None
    first = found.start(1)
    ended = _KEY_LINE.search(text, found.end(), end)
    tail = ended.end() if ended else end
    indent = found.end(1) - first
    item = re.compile(r"\n" + " " * indent + r"-(?=[ \t\r\n]|\Z)")
    items = [first]
    items.extend(one.start() + 1 for one in item.finditer(text, found.end(), tail))
    return Cut(start, tuple(items), tail, end, indent)


def top_lines(text: str, start: int, end: int) -> list[int]:
    """Where entries at the margin begin; the first takes in what comes before it."""
    begins = [found.start() for found in _TOP_LINE.finditer(text, start, end)]
    begins = [place for place in begins if place < end]
    if not begins:
        return [start]
    begins[0] = start
    return begins


def odd_line(text: str, indent: int) -> int | None:
    """Where, in the text of one item, a line begins that is not indented more than its ``-``."""
    pattern = re.compile(r"\n(?= {0," + str(indent) + r"}[^\s#])(?!\.\.\.[ \t\r\n])")
    found = pattern.search(text)
    return found.end() if found else None
