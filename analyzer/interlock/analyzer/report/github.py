"""The report as annotations of GitHub Actions: workflow commands, one on a line."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.report.plain import plain

_COMMANDS = {"error": "error", "warning": "warning", "hint": "notice"}


def render_github(found: Sequence[Diagnostic]) -> str:
    """A line for each diagnostic; nothing where there is none."""
    return "".join(_annotation(one) for one in found)


def _annotation(one: Diagnostic) -> str:
    fields = {"file": one.file, "line": str(one.line), "col": str(one.column), "endLine": str(one.end_line)}
    if one.end_line == one.line:
        fields["endColumn"] = str(one.end_column)
    fields["title"] = f"{one.code} {one.name}"
    properties = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    lines = [one.message, *([one.hint] if one.hint else [])]
    lines += [f"{other.file}:{other.line}:{other.column}: {other.message}" for other in one.related]
    return f"::{_COMMANDS[one.severity]} {properties}::{_data(chr(10).join(lines))}\n"


def _data(text: str) -> str:
    """The escapes of a command's text."""
    return plain(text, "\r\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """The escapes of a command's properties, which end at commas and colons."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
