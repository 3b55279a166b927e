"""The report that people read: place, message, the line with its caret, other places, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from unicodedata import combining, east_asian_width

from interlock.analyzer.diagnostics import Diagnostic, RelatedPlace
from interlock.analyzer.report.json import summary
from interlock.analyzer.source.text import SourceText

_COLORS = {"error": "31;1", "warning": "33;1", "hint": "36;1", "dim": "2", "bold": "1", "help": "32"}
_WIDEST = 160


class _Style:
    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, kind: str, text: str) -> str:
        return f"\x1b[{_COLORS[kind]}m{text}\x1b[0m" if self.color else text


def render_text(
    found: Sequence[Diagnostic], sources: Mapping[str, SourceText], files: int, *, color: bool = False
) -> str:
    """The whole report; the last line sums it up."""
    style = _Style(color)
    parts = [_diagnostic(one, sources, style) for one in found]
    parts.append(_summary(found, files, style))
    return "\n".join(parts) + "\n"


def _diagnostic(one: Diagnostic, sources: Mapping[str, SourceText], style: _Style) -> str:
    head = style("bold", f"{one.file}:{one.line}:{one.column}")
    label = style(one.severity, f"{one.severity}[{one.name}]")
    lines = [f"{head}: {label} {one.message}"]
    width = len(str(max([one.line, *(other.line for other in one.related if other.file == one.file)])))
    source = sources.get(one.file)
    if source is not None:
        lines += _excerpt(source, one, width, style, one.severity, "")
    for other in one.related:
        lines += _related(other, one, sources, width, style)
    if one.hint:
        lines.append(f"{' ' * width} {style('help', '= help:')} {one.hint}")
    if one.fix is not None:
        lines.append(f"{' ' * width} {style('help', '= fix:')} {one.fix.title} (interlock check --fix)")
    lines.append("")
    return "\n".join(lines)


def _related(
    other: RelatedPlace, one: Diagnostic, sources: Mapping[str, SourceText], width: int, style: _Style
) -> list[str]:
    source = sources.get(other.file)
    where = f"{other.file}:{other.line}:{other.column}"
    if source is None or other.file != one.file:
        return [f"{' ' * width} {style('dim', '::')} {where}: {other.message}"]
    return _excerpt(source, other, width, style, "dim", other.message)


def _excerpt(
    source: SourceText, place: Diagnostic | RelatedPlace, width: int, style: _Style, kind: str, text: str
) -> list[str]:
    """The line with a caret under the place; long lines are cut around it."""
    line = source.line(place.line)
    first = place.column - 1
    last = place.end_column - 1 if place.end_line == place.line else len(line.rstrip())
    start = max(0, first - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = line[start : start + _WIDEST]
    lead = _cells(shown[: first - start])
    marked = max(1, _cells(shown[first - start : max(last, first + 1) - start]))
    bar = style("dim", "|")
    caret = style(kind, "^" * marked if kind != "dim" else "-" * marked)
    number = style("dim", str(place.line).rjust(width))
    shown = "".join(character if character.isprintable() or character == "\t" else "·" for character in shown)
    return [
        f"{number} {bar} {shown.replace(chr(9), ' ')}",
        f"{' ' * width} {bar} {' ' * lead}{caret}{' ' + text if text else ''}",
    ]


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _summary(found: Sequence[Diagnostic], files: int, style: _Style) -> str:
    counts = summary(found, files)
    what = "1 file" if files == 1 else f"{files} files"
    if not found:
        return f"{style('help', 'Clean:')} {what} checked, nothing found."
    words = [
        f"{counts[key]} {key if counts[key] != 1 else key[:-1]}"
        for key in ("errors", "warnings", "hints")
        if counts[key]
    ]
    return f"{', '.join(words)} in {what}."
