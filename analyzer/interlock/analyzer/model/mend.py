"""Text edits that fixes are made of: they keep comments, quoting and layout of everything else."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache

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


def add_field(mapping: Span, keys: list[Span], field: str) -> Fix | None:
    """A fix that writes ``name: value`` as the first field of a mapping, in block or flow style.

    ``keys`` are those that the mapping has; None where it is written in a way that leaves no safe place.
    """
    title = f'Add "{field}"'
    text = mapping.piece.text
    if mapping.via is not None or any(key.via is not None or key.piece is not mapping.piece for key in keys):
        return None
    if text.startswith("{", mapping.start):
        at = mapping.start + 1
        rest = text[at : mapping.end].lstrip()
        return Fix(title, (Edit(Span(mapping.piece, at, at), field if rest.startswith("}") else f"{field}, "),))
    if not keys:
        return None
    first = min(keys, key=lambda key: key.start)
    lead = text[text.rfind("\n", 0, first.start) + 1 : first.start]
    if lead.replace("- ", "  ").strip(" "):
        return None
    place = Span(mapping.piece, first.start, first.start)
    return Fix(title, (Edit(place, f"{field}\n{' ' * len(lead)}"),))


def fresh_id(step: Span, kind: str, block: str = "") -> str:
    """An id for a step that has none: its block or kind, numbered as they stand in the file, and written nowhere."""
    source = step.source
    word = re.sub(r"\W+", "_", block or kind, flags=re.ASCII).strip("_")[:40]
    if not re.match("[A-Za-z]", word):
        word = "step"
    pattern = rf"\bblock\s*:\s*[\"']?{re.escape(block)}\b" if block else rf"\b{kind}\s*:"
    # What has no kind is told apart by its line.
    number = bisect_left(_places(source.text, pattern), step.offset) + 1 if kind else step.position.line
    name = f"{word}_{number}"
    while name in _numbered(source.text):
        name += "_"
    return name


@lru_cache(maxsize=8)
def _places(text: str, pattern: str) -> tuple[int, ...]:
    """Where a pattern stands in a text: found once for all steps without an id."""
    return tuple(match.start() for match in re.finditer(pattern, text))


@lru_cache(maxsize=1)
def _numbered(text: str) -> frozenset[str]:
    """The words of a text that look like such ids."""
    return frozenset(re.findall(r"\w+_\d+_*\b", text))


def file_name(workflow: Span) -> str:
    """A name for a workflow that has none: that of its file, with its line where others stand before it."""
    source = workflow.source
    stem = re.split(r"[\\/]", source.path)[-1].split(".", 1)[0].lower()
    name = re.sub(r"[^a-z0-9_-]+", "-", stem).strip("-")
    if not re.match("[a-z]", name):
        name = f"workflow-{name}".rstrip("-")
    line = workflow.position.line
    first = re.search(r"^---", source.text[: workflow.offset], re.MULTILINE)
    return f"{name}-{line}"[:128] if first and source.text[: first.start()].strip() else name[:128]


def join_conditions(outer: Span, inner_key: Span, inner: Span) -> Fix | None:
    """A fix that makes one condition of two: the outer one, which then asks for both."""
    one, other = outer.text, inner.text
    if outer.via is not None or inner.via is not None or outer.piece is not inner.piece:
        return None
    if one == other or other == "true":
        return remove_entry(inner_key, inner, 'Remove the inner "when"')
    quote = one[:1]
    if quote not in ('"', "'") or other[:1] != quote:
        return None
    parts = [part[2:-2].strip() for part in (one, other) if part[1:2] == "{" and part[-2:] == "}" + quote]
    removal = remove_entry(inner_key, inner, "")
    if len(parts) != 2 or removal is None:
        return None
    joined = " && ".join(f"({part})" if "||" in part or "?" in part else part for part in parts)
    title = 'Join them into one "when" on the step'
    return Fix(title, (Edit(outer, f"{quote}{{{joined}}}{quote}"), *removal.edits))
