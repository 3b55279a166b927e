"""Comments that speak to the analyzer: suppressions and the modeline.

Finds what is written and where; which rules the names mean, and whether a suppression was needed, is
decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.source.text import SourceText, Span

if TYPE_CHECKING:
    from interlock.analyzer.syntax.nodes import Comment

_DIRECTIVE = re.compile(r"[ \t]*interlock:[ \t]*ignore[ \t]*\[([^\]\n]*)\][ \t]*(.*)")
#: What is meant as a suppression, be it written as one or not: prose goes on after the word, as in "ignores".
_MEANT = re.compile(r"[ \t]*interlock(?:[ \t]*:[ \t]*ignore(?![\w-])|[ \t]+ignore[ \t]*(?=[\[(:=]|$))", re.IGNORECASE)
_MODELINE = re.compile(r"[ \t]*interlock:[ \t]*workflow[ \t]*")
_NAME = re.compile(r"[^\s,](?:[^,]*[^\s,])?")
_FIRST_COMMENT = re.compile(r"\ufeff?(?:[ \t\r]*\n)*[ \t]*#([^\r\n]*)")


class RuleName(msgspec.Struct, frozen=True):
    """One name, or code, in the brackets of a suppression."""

    name: str
    span: Span


class Suppression(msgspec.Struct, frozen=True):
    """``# interlock: ignore[name, IL123] reason``.

    ``line`` is the line, counted from 1, whose diagnostics it suppresses; ``span`` is the whole comment
    from its ``#``.  ``reason`` is empty where none is given; ``rules`` where the brackets are, and where
    the comment has another form, so that it names no rule as it should.
    """

    span: Span
    rules: tuple[RuleName, ...]
    reason: str
    line: int


def find_suppressions(source: SourceText, comments: Iterable[Comment]) -> tuple[Suppression, ...]:
    """The suppressions among a file's comments, which come in the order of the text.

    One beside something counts for its own line.  One that has its line to itself counts for the line
    below; where other comments follow directly, for the line below them.
    """
    found: list[Suppression] = []
    waiting: list[tuple[Comment, re.Match[str]]] = []
    previous_line = -1
    for comment in comments:
        if comment.alone and not waiting and "interlock" not in comment.text.lower():
            continue
        line = source.position(comment.span.offset).line
        if waiting and (not comment.alone or line != previous_line + 1):
            found.extend(_suppression(one, match, previous_line + 1) for one, match in waiting)
            waiting = []
        previous_line = line
        directive = _DIRECTIVE.match(comment.text)
        if directive and comment.alone:
            waiting.append((comment, directive))
        elif directive:
            found.append(_suppression(comment, directive, line))
        elif _MEANT.match(comment.text):
            found.append(Suppression(comment.span, (), "", line))
    found.extend(_suppression(one, match, previous_line + 1) for one, match in waiting)
    return tuple(found)


def _suppression(comment: Comment, directive: re.Match[str], line: int) -> Suppression:
    names = []
    for name in _NAME.finditer(comment.text, directive.start(1), directive.end(1)):
        start = comment.span.start + 1 + name.start()
        names.append(RuleName(name[0], Span(comment.span.piece, start, start + len(name[0]))))
    reason = directive[2].split("#", 1)[0] if " #" in directive[2] else directive[2]
    return Suppression(comment.span, tuple(names), reason.lstrip("# ").strip(), line)


def has_modeline(text: str) -> bool:
    """Whether the first comment of a file says ``# interlock: workflow``.

    Only a comment before everything else counts, so that no file has to be parsed to know.
    """
    found = _FIRST_COMMENT.match(text)
    return found is not None and _MODELINE.fullmatch(found[1]) is not None
