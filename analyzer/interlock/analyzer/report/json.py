"""The JSON report of section 14."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from interlock.analyzer.diagnostics import Diagnostic, PlacedFix


def as_json(one: Diagnostic) -> dict[str, object]:
    """One diagnostic as the report has it."""
    return {
        "code": one.code,
        "name": one.name,
        "severity": one.severity,
        "message": one.message,
        "hint": one.hint,
        "file": one.file,
        "line": one.line,
        "column": one.column,
        "end_line": one.end_line,
        "end_column": one.end_column,
        "related": [{"message": r.message, "file": r.file, "line": r.line, "column": r.column} for r in one.related],
        "fix": None if one.reported_fix is None else _fix(one.reported_fix),
    }


def _fix(fix: PlacedFix) -> dict[str, object]:
    return {
        "title": fix.title,
        "edits": [
            {
                "file": edit.file,
                "line": edit.line,
                "column": edit.column,
                "end_line": edit.end_line,
                "end_column": edit.end_column,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }


def summary(found: Sequence[Diagnostic], files: int) -> dict[str, int]:
    """How many files were looked at, and what was found in them."""
    return {
        "files": files,
        "errors": sum(one.severity == "error" for one in found),
        "warnings": sum(one.severity == "warning" for one in found),
        "hints": sum(one.severity == "hint" for one in found),
    }


def render_json(
    found: Sequence[Diagnostic],
    files: int,
    *,
    statistics: dict[str, Any] | None = None,
    fixed: dict[str, int] | None = None,
) -> str:
    """The whole report, with a line end; ``fixed`` counts, by rule, what was mended before."""
    report: dict[str, Any] = {
        "version": 1,
        "diagnostics": [as_json(one) for one in found],
        "summary": summary(found, files),
    }
    if fixed is not None:
        report["fixed"] = fixed
    if statistics is not None:
        report["statistics"] = statistics
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
