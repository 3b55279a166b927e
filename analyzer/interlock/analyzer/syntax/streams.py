"""The two event streams that a text can be read with: libyaml's (fast) and ruamel's own (complete).

Knows the traps of libyaml: what it refuses to read at all is replaced by stand-ins of the same
length first, so offsets stay exact, and put back in values.  Building nodes is left to ``build``.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from interlock.analyzer.syntax.pure import PureStream

try:
    from _ruamel_yaml import CParser
except ImportError:  # a Python without the C extension
    CParser = None


class EventStream(Protocol):
    """What both parsers have in common."""

    def get_event(self) -> Any: ...


def fast_stream(text: str) -> EventStream | None:
    """libyaml's events, or None where the C extension is missing."""
    return None if CParser is None else CParser(text)


def pure_stream(text: str) -> EventStream:
    return PureStream(text)


# Neither parser takes control characters, and both see line ends (or a byte order mark to skip) where
# YAML 1.2 sees characters like others.
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_USUAL = bytes([9, 10, 13, *range(32, 127)])
# A colon inside a word, which libyaml refuses in flow style.  After a quote or bracket it would be an
# indicator, and in a tag, an anchor or an alias it is part of the name.
_INNER_COLON = re.compile(r"(?<=[^\s\"'\]},\[{:]):(?=[^\s,\[\]{}])")
# A question mark inside a word, at which libyaml ends the word in flow style.
_INNER_QUESTION = re.compile(r"(?<=[^\s,\[{])\?|\?(?=[^\s,\[\]{}])")
# What libyaml reads, but as something else: names of anchors with more than letters, digits, - and _,
# tags with other characters than usual, and a colon that begins a word in flow style.
# Quoted text of one line is passed over first: expressions are full of `!=`, `&&` and `? :`.
_QUOTED = r"(?:^|[:,\[{?-])[ \t]*(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\n]|'')*')"
_MISREAD_NAME = re.compile(
    _QUOTED + r"|(?:\A|[\s\[{,])((?:[&*][0-9A-Za-z_-]*[^0-9A-Za-z_\-\s,\[\]{}]"
    r"|!(?!<)(?:[0-9A-Za-z_-]*!)?[0-9A-Za-z_\-./:]*[^\s0-9A-Za-z_\-./:]))",
    re.MULTILINE,
)
_MISREAD_COLON = re.compile(_QUOTED + r"|[\s\[{,](:[^\s,\[\]{}])", re.MULTILINE)
_FIRST_STAND_IN = 0xF0000


def ended(text: str) -> str:
    """The text with an end to its last line where that is blank: it may be one of a block scalar."""
    return text + "\n" if text.endswith((" ", "\t")) else text


def has_odd(text: str) -> bool:
    """Whether the text has characters that need a stand-in."""
    if text.isascii():
        return bool(text.encode("ascii").translate(None, _USUAL))
    return _ODD.search(text) is not None


def illegal_character(text: str) -> int | None:
    """Where the first character stands that no YAML text may hold."""
    found = _ILLEGAL.search(text)
    return found.start() if found else None


def _free(text: str, count: int) -> list[str]:
    """Some characters that do not occur in the text."""
    free: list[str] = []
    code = _FIRST_STAND_IN
    while len(free) < count:
        if chr(code) not in text:
            free.append(chr(code))
        code += 1
    return free


def with_stand_ins(text: str) -> tuple[str, dict[int, str]]:
    """The text with a stand-in for each odd character, and the table that puts them back."""
    odd = sorted(set(_ODD.findall(text)))
    free = _free(text, len(odd))
    away = {ord(one): other for one, other in zip(odd, free, strict=True)}
    back = {ord(other): one for one, other in zip(odd, free, strict=True)}
    return text.translate(away), back


def without_inner_questions(text: str) -> tuple[str, dict[int, str]] | None:
    """The text with stand-ins for question marks inside words, or None where there are none."""
    if "?" not in text or not _has_bare_question(text):
        return None
    stand_in = _free(text, 1)[0]
    changed, count = _INNER_QUESTION.subn(stand_in, text)
    return (changed, {ord(stand_in): "?"}) if count else None


def _has_bare_question(text: str) -> bool:
    """Whether a question mark stands outside of quotes, as far as its line shows."""
    for line in text.split("\n"):
        doubles = singles = 0
        *before, _ = line.split("?")
        for part in before:
            doubles += part.count('"')
            singles += part.count("'")
            if not doubles % 2 and not singles % 2:
                return True
    return False


def is_misread(text: str) -> bool:
    """Whether libyaml might take the text for something else without saying so."""
    if ("&" in text or "*" in text or "!" in text) and _finds(_MISREAD_NAME, text):
        return True
    for before in (" :", "[:", "{:", ",:", "\n:", "\t:"):
        if before in text:
            return _finds(_MISREAD_COLON, text)
    return False


def _finds(pattern: re.Pattern[str], text: str) -> bool:
    """Whether something else than quoted text matches."""
    return any(found.group(1) is not None for found in pattern.finditer(text))


def without_inner_colons(text: str) -> tuple[str, dict[int, str]] | None:
    """The text with stand-ins for colons inside words, or None where there are none."""
    stand_in = _free(text, 1)[0]
    changed, count = _INNER_COLON.subn(stand_in, text)
    return (changed, {ord(stand_in): ":"}) if count else None
