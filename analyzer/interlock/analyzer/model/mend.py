"""Text edits that fixes are made of: they keep comments, quoting and layout of everything else."""

from __future__ import annotations

from interlock.analyzer.findings import Edit, Fix
from interlock.analyzer.source.text import Span


def remove_entry(key: Span, value: Span, title: str) -> Fix | None:
    """A fix that removes one ``key: value`` of a mapping, or None where that cannot be done safely."""
    text = key.piece.text
    if value.piece is not key.piece or value.via is not None or key.via is not None:
        return None
    line_start = text.rfind("\n", 0, key.start) + 1
    line_end = text.find("\n", value.end)
    line_end = len(text) if line_end < 0 else line_end
    before = text[line_start : key.start]
    after = text[value.end : line_end]
    if not before.strip() and not after.split("#", 1)[0].strip():
        end = min(line_end + 1, len(text))
        return Fix(title, (Edit(Span(key.piece, line_start, end), ""),))
    return _remove_flow(key, value, title)


def _remove_flow(key: Span, value: Span, title: str) -> Fix | None:
    text = key.piece.text
    end = value.end
    while end < len(text) and text[end] in " \t":
        end += 1
    if end < len(text) and text[end] == ",":
        end += 1
        while end < len(text) and text[end] in " \t":
            end += 1
        return Fix(title, (Edit(Span(key.piece, key.start, end), ""),))
    start = key.start
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    if end < len(text) and text[end] == "}" and start > 0 and text[start - 1] == ",":
        return Fix(title, (Edit(Span(key.piece, start - 1, value.end), ""),))
    return None


def insert_after_line(at: Span, line: str, title: str) -> Fix:
    """A fix that puts a line after the one in which ``at`` ends."""
    text = at.piece.text
    end = text.find("\n", at.end)
    if end < 0:
        return Fix(title, (Edit(Span(at.piece, len(text), len(text)), "\n" + line),))
    return Fix(title, (Edit(Span(at.piece, end + 1, end + 1), line + "\n"),))


def replace(span: Span, text: str, title: str) -> Fix:
    return Fix(title, (Edit(span, text),))
