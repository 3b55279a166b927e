"""Diagnostics: findings placed in their files, with the severity that is in force.

The JSON of section 14 is made of these; lines and columns count from 1, columns code points.
"""

from __future__ import annotations

import msgspec

from interlock.analyzer.findings import Finding, Fix, Related
from interlock.analyzer.rules.catalog import RULES, Severity
from interlock.analyzer.source.text import Span

MOST_RELATED = 20
"""How many other places a diagnostic names at the most; a further one tells how many more there are."""


class RelatedPlace(msgspec.Struct, frozen=True):
    message: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class TextEdit(msgspec.Struct, frozen=True):
    """One replacement: in ``file``, the text between two places becomes ``text``."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class PlacedFix(msgspec.Struct, frozen=True):
    """A fix with its edits; one that is not ``sure`` is never applied without asking."""

    title: str
    edits: tuple[TextEdit, ...]
    sure: bool = True


class Diagnostic(msgspec.Struct, frozen=True):
    """One diagnostic; ``offset`` and ``end_offset`` are its place in the file's text."""

    code: str
    name: str
    severity: Severity
    message: str
    hint: str | None
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    offset: int
    end_offset: int
    related: tuple[RelatedPlace, ...] = ()
    fix: PlacedFix | None = None

    @property
    def reported_fix(self) -> PlacedFix | None:
        """The fix as reports for programs show it: only of rules that the catalogue calls fixable."""
        return self.fix if RULES[self.code].fixable else None

    @property
    def order(self) -> tuple[str, int, str, int, str]:
        return (self.file, self.offset, self.code, self.end_offset, self.message)


def place(finding: Finding, severity: Severity | None = None) -> Diagnostic:
    """A finding as a diagnostic, with the severity of the catalogue unless another is given."""
    rule = RULES[finding.code]
    span = finding.span
    start, end = span.position, span.source.position(span.end_offset)
    return Diagnostic(
        rule.code,
        rule.name,
        severity or rule.severity,
        finding.message,
        finding.hint,
        span.source.path,
        start.line,
        start.column,
        end.line,
        end.column,
        span.offset,
        span.end_offset,
        _places(finding.related),
        None if finding.fix is None else _fix(finding.fix),
    )


def _places(related: tuple[Related, ...]) -> tuple[RelatedPlace, ...]:
    """The other places of a story, each thing said once; of a long one the first, and how many more there are."""
    told = list({(one.span.source.path, one.span.offset, one.message): one for one in related}.values())
    shown = [_related(one.span, one.message) for one in told[:MOST_RELATED]]
    left = len(told) - MOST_RELATED
    if left > 0:
        shown.append(_related(told[MOST_RELATED].span, f"… and {left} more like this"))
    return tuple(shown)


def _related(span: Span, message: str) -> RelatedPlace:
    start, end = span.position, span.source.position(span.end_offset)
    return RelatedPlace(message, span.source.path, start.line, start.column, end.line, end.column)


def _fix(fix: Fix) -> PlacedFix:
    edits = []
    for edit in fix.edits:
        span = edit.span
        start, end = span.position, span.source.position(span.end_offset)
        edits.append(TextEdit(span.source.path, start.line, start.column, end.line, end.column, edit.text))
    return PlacedFix(fix.title, tuple(edits), fix.sure)
