"""From offsets and findings of the analyzer to the ranges and edits of the protocol."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

import interlock.analyzer.rules
from interlock.analyzer.diagnostics import Diagnostic, PlacedFix
from interlock.analyzer.rules.catalog import RULES
from interlock.analyzer.source.text import Span
from interlock.server.lsp.document import Lines

if TYPE_CHECKING:
    from interlock.server.lsp.index import Index

SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "hint": lsp.DiagnosticSeverity.Hint,
}
#: What can be removed without loss is shown faded.
UNNECESSARY = frozenset({"IL210", "IL212", "IL307", "IL318", "IL701"})


def range_of(lines: Lines, start: int, end: int) -> lsp.Range:
    first, last = lines.place(start), lines.place(end)
    return lsp.Range(lsp.Position(first.line, first.character), lsp.Position(last.line, last.character))


def span_range(lines: Lines, span: Span) -> lsp.Range:
    return range_of(lines, span.offset, span.end_offset)


def offset_of(lines: Lines, position: lsp.Position) -> int:
    return lines.offset(position.line, position.character)


def _offset(starts: list[int], line: int, column: int) -> int:
    return starts[min(line, len(starts)) - 1] + column - 1


def placed_range(
    index: Index, file: str, line: int, column: int, end_line: int, end_column: int
) -> lsp.Location | None:
    """A place that counts lines as the language does, as one of the client; None for an unknown file."""
    entry = index.entry_of_path(file)
    if entry is None:
        return None
    starts = entry.line_starts
    where = range_of(entry.lines, _offset(starts, line, column), _offset(starts, end_line, end_column))
    return lsp.Location(entry.uri, where)


@cache
def page_uri(code: str) -> str | None:
    """Where the page of a rule is installed."""
    rule = RULES.get(code)
    folder = os.path.dirname(interlock.analyzer.rules.__file__ or "")
    page = os.path.join(folder, "pages", f"{code}-{rule.name}.md") if rule is not None else ""
    return Path(page).as_uri() if page and os.path.exists(page) else None


def diagnostic(index: Index, lines: Lines, one: Diagnostic, version_support: bool = True) -> lsp.Diagnostic:
    """A diagnostic of the analyzer as one of the protocol; ``data`` keeps what code actions need."""
    related = []
    for place in one.related:
        found = placed_range(index, place.file, place.line, place.column, place.end_line, place.end_column)
        if found is not None:
            related.append(lsp.DiagnosticRelatedInformation(found, place.message))
    page = page_uri(one.code)
    return lsp.Diagnostic(
        range=range_of(lines, one.offset, max(one.end_offset, one.offset)),
        message=one.message if one.hint is None else f"{one.message} {one.hint}",
        severity=SEVERITIES[one.severity],
        code=one.name,
        code_description=lsp.CodeDescription(page) if page else None,
        source="interlock",
        tags=[lsp.DiagnosticTag.Unnecessary] if one.code in UNNECESSARY else None,
        related_information=related or None,
        data={"code": one.code},
    )


def fix_edits(index: Index, fix: PlacedFix) -> dict[str, list[lsp.TextEdit]]:
    """The edits of a fix by URI."""
    edits: dict[str, list[lsp.TextEdit]] = {}
    for edit in fix.edits:
        found = placed_range(index, edit.file, edit.line, edit.column, edit.end_line, edit.end_column)
        if found is not None:
            edits.setdefault(found.uri, []).append(lsp.TextEdit(found.range, edit.text))
    return edits
