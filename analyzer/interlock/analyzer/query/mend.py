"""Half-typed text made readable at the cursor, so that it can be asked what may stand there.

A word that nobody would write is put at the cursor, and what the line still lacks (a quote, a bracket, the
colon of a key) behind it.  What is given back is text to be read, never to be shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

MARK = "zqMARKqz"


class Mended(msgspec.Struct, frozen=True):
    """A text with the mark in it.  ``word`` is what stands before the cursor of the word being typed.

    With ``dash`` the mark is the item of a list, whose dash has still to be written.  ``start`` is where in the
    text that was given what is written has to begin, where that is not at the word.
    """

    text: str
    offset: int
    word: str
    dash: bool = False
    start: int | None = None


class Line(msgspec.Struct, frozen=True):
    """What a line says up to the cursor.

    ``state``: ``key`` (where a key may stand), ``value``, ``single`` or ``double`` (in a quote), or
    ``comment``.  ``flow`` are the brackets that are open, ``braces`` how many template braces.
    """

    state: Literal["key", "value", "single", "double", "comment"]
    flow: str
    braces: int
    word_start: int


def read_line(prefix: str) -> Line:
    """Reads a line up to the cursor as YAML would, as far as one line tells."""
    state: Literal["key", "value", "single", "double", "comment"] = "key"
    flow: list[str] = []
    braces = 0
    at = len(prefix) - len(prefix.lstrip(" \t"))
    while prefix.startswith("- ", at):
        at += 2
        at += len(prefix[at:]) - len(prefix[at:].lstrip(" \t"))
    word = at
    size = len(prefix)
    while at < size:
        letter = prefix[at]
        if state in ("single", "double"):
            if letter == "\\" and state == "double":
                at += 2
                continue
            if (letter == "'") if state == "single" else (letter == '"'):
                state, braces = "value", 0
            elif letter == "{":
                braces = 0 if prefix.startswith("{{", at) and not braces else braces + 1
                at += 1 if braces == 0 else 0
            elif letter == "}":
                braces = max(0, braces - 1)
        elif letter == "#" and (at == 0 or prefix[at - 1] in " \t"):
            return Line("comment", "".join(flow), 0, at)
        elif letter in "'\"" and prefix[word:at].strip() == "":
            state = "single" if letter == "'" else "double"
            word = at + 1
        elif letter in "[{" and (flow or prefix[word:at].strip() == ""):
            flow.append(letter)
            state, word = ("key" if letter == "{" else "value"), at + 1
        elif letter in "]}" and flow:
            flow.pop()
            state, word = "value", at + 1
        elif letter == "," and flow:
            state, word = ("key" if flow[-1] == "{" else "value"), at + 1
        elif letter == ":" and (at + 1 >= size or prefix[at + 1] in " \t") and state == "key":
            state, word = "value", at + 1
        at += 1
    while word < size and prefix[word] in " \t" and state not in ("single", "double"):
        word += 1
    return Line(state, "".join(flow), braces, word)


_CLOSING = {"[": "]", "{": "}"}


def mended(text: str, offset: int) -> Iterator[Mended]:
    """The text with the mark at the cursor, in the ways that may make it readable, the likeliest first."""
    start = text.rfind("\n", 0, offset) + 1
    stop = text.find("\n", offset)
    stop = len(text) if stop < 0 else stop
    prefix, suffix = text[start:offset], text[offset:stop].rstrip("\r")
    line = read_line(prefix)
    if line.state == "comment":
        return
    word = _word(prefix[line.word_start :])
    before, after = text[:offset], text[offset:]
    rest = text[offset + len(suffix) :]
    closing = "".join(_CLOSING[bracket] for bracket in reversed(line.flow))
    if line.state in ("single", "double"):
        quote = "'" if line.state == "single" else '"'
        yield Mended(before + MARK + after, offset, word)
        yield Mended(before + MARK + "}" * line.braces + after, offset, word)
        yield Mended(before + MARK + "}" * line.braces + quote + closing + rest, offset, word)
        return
    if line.flow:
        yield Mended(before + MARK + after, offset, word)
        yield Mended(before + MARK + closing + rest, offset, word)
        return
    if line.state == "value":
        gap = "" if prefix.endswith((" ", "\t")) or prefix[line.word_start :] else " "
        yield Mended(before + gap + MARK + after, offset + len(gap), word)
        yield Mended(before + gap + MARK + rest, offset + len(gap), word)
        return
    bare = not suffix.strip() or suffix.lstrip().startswith("#")
    if not bare:
        yield Mended(before + MARK + after, offset, word)
        return
    blank = not prefix.strip()
    yield Mended(before + MARK + ":" + after, offset, word)
    yield Mended(before + MARK + after, offset, word)
    if blank:
        yield from _other_columns(text, start, rest, prefix)


def _other_columns(text: str, start: int, rest: str, prefix: str) -> Iterator[Mended]:
    """An empty line: as the item of a list here, and at the columns of the lines above."""
    before = text[:start]
    yield Mended(before + prefix + "- " + MARK + ":" + rest, start + len(prefix) + 2, "", True)
    columns = sorted({column for column in _columns_above(before) if column < len(prefix)}, reverse=True)
    for column in columns[:6]:
        pad = " " * column
        at = start + column
        yield Mended(before + pad + MARK + ":" + rest, at, "", False, at)
        yield Mended(before + pad + "- " + MARK + ":" + rest, at + 2, "", True, at)


def _columns_above(before: str) -> Iterator[int]:
    least = 1 << 30
    for row in reversed(before.split("\n")[-400:]):
        stripped = row.lstrip(" ")
        if not stripped.strip() or stripped.startswith("#"):
            continue
        column = len(row) - len(stripped)
        if column < least:
            least = column
            yield column
            if stripped.startswith("- "):
                yield column + 2
        if not least:
            return


def _word(text: str) -> str:
    """The word that ends at the cursor: letters, digits, and what names may hold."""
    at = len(text)
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_-."):
        at -= 1
    return text[at:]
