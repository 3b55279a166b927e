"""The report as JUnit XML: a suite for each file, a failed case for each error or warning.

Hints fail nothing; they are told in the output of a case that passes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from interlock.analyzer.diagnostics import Diagnostic

# What XML 1.0 cannot hold, not even escaped, and the control characters that it would rather not.
_ILLEGAL = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def render_junit(found: Sequence[Diagnostic], files: Sequence[str]) -> str:
    """The whole report; ``files`` are those that were checked."""
    by_file: dict[str, list[Diagnostic]] = {file: [] for file in files}
    for one in found:
        by_file.setdefault(one.file, []).append(one)
    failures = sum(one.severity != "hint" for one in found)
    total = sum(max(1, len(rows)) for rows in by_file.values())
    parts = ['<?xml version="1.0" encoding="UTF-8"?>']
    parts.append(f'<testsuites name="interlock check" tests="{total}" failures="{failures}" errors="0">')
    for file, rows in by_file.items():
        failed = sum(one.severity != "hint" for one in rows)
        counts = f'tests="{max(1, len(rows))}" failures="{failed}" errors="0" skipped="0"'
        parts.append(f'  <testsuite name="{_quoted(file)}" {counts}>')
        if not rows:
            parts.append(f'    <testcase classname="{_quoted(file)}" name="interlock check"/>')
        for one in rows:
            parts.extend(_case(one))
        parts.append("  </testsuite>")
    parts.append("</testsuites>")
    return "\n".join(parts) + "\n"


def _case(one: Diagnostic) -> list[str]:
    where = f"{one.file}:{one.line}:{one.column}"
    story = [f"{where}: {one.message}", *([one.hint] if one.hint else [])]
    story += [f"{other.file}:{other.line}:{other.column}: {other.message}" for other in one.related]
    body = _quoted("\n".join(story)).replace("&#10;", "\n")
    name = _quoted(f"{one.name} at {one.line}:{one.column}")
    head = f'    <testcase classname="{_quoted(one.file)}" name="{name}" file="{_quoted(one.file)}" line="{one.line}">'
    if one.severity == "hint":
        inner = f"      <system-out>{body}</system-out>"
    else:
        kind = _quoted(f"{one.severity} {one.code}")
        inner = f'      <failure type="{kind}" message="{_quoted(one.message)}">{body}</failure>'
    return [head, inner, "    </testcase>"]


def _quoted(text: str) -> str:
    text = _ILLEGAL.sub("\ufffd", text)
    return "".join(_ESCAPES.get(character, character) for character in text)
