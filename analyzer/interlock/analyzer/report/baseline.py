"""Baselines: what was there when a team began, so that only what is new is reported.

A diagnostic is known again by its file, its rule, its message and the text of its line, not by the
line's number: what moves is not new.  Of several alike, as many are known as were written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.source.text import SourceText

Mark: TypeAlias = tuple[str, str, str, str]


class _Entry(msgspec.Struct, frozen=True):
    file: str
    rule: str
    message: str
    text: str
    count: int = 1


class _Baseline(msgspec.Struct, frozen=True):
    version: int
    known: list[_Entry]


class BadBaseline(Exception):
    """A text that is no baseline; says why, as the rest of a sentence about the file."""


def _mark(one: Diagnostic, sources: Mapping[str, SourceText], relative: Mapping[str, str]) -> Mark:
    source = sources.get(one.file)
    text = source.line(one.line).strip() if source is not None else ""
    return (relative.get(one.file, one.file), one.name, one.message, text)


def write_baseline(
    found: Sequence[Diagnostic], sources: Mapping[str, SourceText], relative: Mapping[str, str]
) -> bytes:
    """A baseline of diagnostics; ``relative`` gives the path from the root for each file."""
    counts = Counter(_mark(one, sources, relative) for one in found)
    entries = [_Entry(*mark, count) for mark, count in sorted(counts.items())]
    return msgspec.json.format(msgspec.json.encode(_Baseline(1, entries)), indent=2) + b"\n"


def read_baseline(data: bytes) -> Counter[Mark]:
    """What a baseline knows.  Raises ``BadBaseline``."""
    try:
        baseline = msgspec.json.decode(data, type=_Baseline)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadBaseline("it is no baseline of interlock check") from error
    if baseline.version != 1:
        raise BadBaseline(f"it is a baseline of version {baseline.version}, and this interlock reads version 1")
    known: Counter[Mark] = Counter()
    for one in baseline.known:
        known[one.file, one.rule, one.message, one.text] += one.count
    return known


def new_ones(
    found: Sequence[Diagnostic],
    known: Counter[Mark],
    sources: Mapping[str, SourceText],
    relative: Mapping[str, str],
) -> list[Diagnostic]:
    """The diagnostics that a baseline does not know."""
    left = Counter(known)
    new: list[Diagnostic] = []
    for one in found:
        mark = _mark(one, sources, relative)
        if left[mark] > 0:
            left[mark] -= 1
        else:
            new.append(one)
    return new
