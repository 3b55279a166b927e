"""From a character of a scalar's value to where it is written.

Reads the scalar's text once more, in its style, and notes for each character of the value where it
comes from.  Slow beside parsing, and only done for diagnostics and expressions.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from interlock.analyzer.syntax.nodes import Scalar

_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_PAIR = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.I)
_BREAK = re.compile(r"\r\n|\r|\n")
_FOLD = re.compile(r"[ \t]*(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))*[ \t]*")
_HEADER = re.compile(r"[|>][^\r\n]*(?:\r\n|\r|\n|\Z)")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


class _Places:
    """A value as it is read, with the offset in the piece of each of its characters."""

    def __init__(self) -> None:
        self.characters: list[str] = []
        self.offsets: list[int] = []

    def add(self, text: str, at: int) -> None:
        self.characters.extend(text)
        self.offsets.extend(range(at, at + len(text)))

    def one(self, character: str, at: int) -> None:
        self.characters.append(character)
        self.offsets.append(at)

    def fold(self, text: str, at: int) -> None:
        """A fold of lines, ``text``, which starts at ``at``: a space, or the line ends after the first."""
        breaks = list(_BREAK.finditer(text))
        if len(breaks) == 1:
            self.one(" ", at + breaks[0].start())
        for found in breaks[1:]:
            self.one("\n", at + found.start())


def locate(scalar: Scalar, index: int) -> int:
    """Where the character at ``index`` of ``scalar.value`` is written: an offset in the scalar's piece.

    For an escape, where it begins; ``len(scalar.value)`` gives where the next character would stand.
    An index outside of the value counts as its nearer end.
    """
    return places(scalar)[max(0, min(index, len(scalar.value)))]


def index_at(scalar: Scalar, offset: int) -> int:
    """The index in ``scalar.value`` of what is written at an offset in the piece, or of what follows it."""
    return min(bisect_left(places(scalar), offset), len(scalar.value))


# The scalar that was read last: whoever asks for one place of it asks for the next one, too.
_last: list[tuple[Scalar, list[int]]] = []


def places(scalar: Scalar) -> list[int]:
    """Where each character of the value is written, and where the value ends: one more than it is long.

    The list is shared between callers; nobody changes it.
    """
    for known, offsets in _last:
        if known is scalar:
            return offsets
    offsets = _read(scalar)
    _last[:] = [(scalar, offsets)]
    return offsets


def _read(scalar: Scalar) -> list[int]:
    if scalar.style == "plain":
        found, end = _plain(scalar)
    elif scalar.style == "single":
        found, end = _single(scalar)
    elif scalar.style == "double":
        found, end = _double(scalar)
    else:
        found, end = _block(scalar)
    offsets = found.offsets
    size = len(scalar.value)
    if len(offsets) != size:  # a block scalar at the very end of a text without a last line end
        offsets = offsets[:size] + [end] * (size - len(offsets))
    offsets.append(end)
    return offsets


def _plain(scalar: Scalar) -> tuple[_Places, int]:
    places = _Places()
    text = scalar.piece.text
    at = scalar.start
    while at < scalar.end:
        fold = _FOLD.match(text, at, scalar.end)
        if fold:
            places.fold(fold[0], at)
            at = fold.end()
        else:
            places.one(text[at], at)
            at += 1
    return places, scalar.end


def _single(scalar: Scalar) -> tuple[_Places, int]:
    places = _Places()
    text = scalar.piece.text
    at = scalar.start + 1
    end = scalar.end - 1
    while at < end:
        fold = _FOLD.match(text, at, end)
        if fold:
            places.fold(fold[0], at)
            at = fold.end()
        else:
            places.one(text[at], at)
            at += 2 if text[at] == "'" else 1
    return places, end


def _double(scalar: Scalar) -> tuple[_Places, int]:
    places = _Places()
    text = scalar.piece.text
    at = scalar.start + 1
    end = scalar.end - 1
    while at < end:
        if text[at] == "\\":
            at = _escape(places, text, at, end)
            continue
        fold = _FOLD.match(text, at, end)
        if fold:
            places.fold(fold[0], at)
            at = fold.end()
        else:
            places.one(text[at], at)
            at += 1
    return places, end


def _escape(places: _Places, text: str, at: int, end: int) -> int:
    """One escape; where it ends."""
    letter = text[at + 1]
    if letter in "\r\n":  # a line that goes on: its end is nothing, that of each blank line after it counts
        fold = _FOLD.match(text, at + 1, end)
        stop = fold.end() if fold else at + 2
        for found in list(_BREAK.finditer(text, at + 1, stop))[1:]:
            places.one("\n", found.start())
        return stop
    digits = _DIGITS.get(letter)
    if digits is None:
        places.one(_ESCAPES.get(letter, letter), at)
        return at + 2
    stop = at + 2 + digits
    pair = _PAIR.match(text, at, end)
    if pair:  # as JSON writes one character
        places.one(bytes.fromhex(pair[1] + pair[2]).decode("utf-16-be"), at)
        return pair.end()
    places.one(chr(int(text[at + 2 : stop], 16)), at)
    return stop


def _block(scalar: Scalar) -> tuple[_Places, int]:
    """A block scalar; its indentation is not kept in the node, so it is the one that gives the value."""
    text = scalar.piece.text
    header = _HEADER.match(text, scalar.start)
    if not header:
        return _Places(), scalar.end
    first = header.end()
    if not scalar.value.strip("\n"):
        return _trailing(scalar, text, _Places(), -1, [], first)
    best: tuple[_Places, int] | None = None
    for indent in _indents(text, first):
        best = _block_with(scalar, text, first, indent)
        if "".join(best[0].characters) == scalar.value:
            return best
    return best or (_Places(), scalar.end)


def _indents(text: str, first: int) -> list[int]:
    """The indentations that the text of a block scalar may have, the deepest first."""
    deepest = 0
    at = first
    while at < len(text):
        line = _LINE.match(text, at)
        if not line:
            break
        spaces = len(line[1]) - len(line[1].lstrip(" "))
        deepest = max(deepest, spaces)
        at = line.end()
        if line[1].strip(" "):
            break
    return list(range(deepest, -1, -1))


def _block_with(scalar: Scalar, text: str, first: int, indent: int) -> tuple[_Places, int]:
    """The value of a block scalar whose lines are indented by ``indent``.

    As many trailing line ends are taken as the value has.
    """
    places = _Places()
    folded = scalar.style == "folded"
    at = first
    pending: list[int] = []  # offsets of line ends that have yet to become a space, a line end or nothing
    last_break = -1  # the line end of the last line with text
    last_folds = False  # whether that line begins with text, not with a space
    size = len(text)
    needed = len(scalar.value.rstrip("\n"))
    while at < size and len(places.characters) < needed:
        line = _LINE.match(text, at)
        if not line:
            break
        content = line[1]
        spaces = len(content) - len(content.lstrip(" "))
        if spaces >= len(content) and len(content) <= indent:
            pending.append(line.start(2))
            at = line.end()
            if not line[2]:
                break
            continue
        if spaces < indent:
            break
        folds = content[indent] not in " \t"
        if last_break >= 0:
            if folded and folds and last_folds:
                if not pending:
                    places.one(" ", last_break)
            else:
                places.one("\n", last_break)
        for place in pending:
            places.one("\n", place)
        pending = []
        places.add(content[indent:], at + indent)
        last_break, last_folds = line.start(2), folds
        at = line.end()
        if not line[2]:
            last_break = -1
            break
    return _trailing(scalar, text, places, last_break, pending, at)


def _trailing(
    scalar: Scalar, text: str, places: _Places, last_break: int, pending: list[int], at: int
) -> tuple[_Places, int]:
    """The line ends at the end of a block scalar, as chomping left them."""
    ends = ([last_break] if last_break >= 0 else []) + pending
    while len(places.characters) + len(ends) < len(scalar.value):
        line = _LINE.match(text, at)
        if not line or not line[2]:
            break
        ends.append(line.start(2))
        at = line.end()
    missing = max(0, len(scalar.value) - len(places.characters))
    end = last_break if last_break >= 0 else places.offsets[-1] + 1 if places.offsets else scalar.end
    for place in ends[:missing]:
        places.one("\n", place)
        end = place + (2 if text.startswith("\r\n", place) else 1)
    return places, end
