"""The report that people read: place, message, the line with its caret, other places, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from unicodedata import combining, east_asian_width

from interlock.analyzer.diagnostics import Diagnostic, RelatedPlace
from interlock.analyzer.report.json import summary
from interlock.analyzer.report.plain import plain
from interlock.analyzer.source.text import SourceText

_COLORS = {"error": "31;1", "warning": "33;1", "hint": "36;1", "dim": "2", "bold": "1", "help": "32"}
_WIDEST = 160
_NARROWEST = 40


class _Style:
    """How the report looks: with colours or without, and how wide it may be."""

    def __init__(self, color: bool, width: int | None) -> None:
        self.color = color
        self.width = None if width is None else max(width, _NARROWEST)

    def __call__(self, kind: str, text: str) -> str:
        return f"\x1b[{_COLORS[kind]}m{text}\x1b[0m" if self.color else text

    def wrap(self, text: str, indent: int, first: int) -> str:
        """A sentence over several lines where the terminal is narrow; ``first`` cells are taken already."""
        return f"\n{' ' * indent}".join(self.lines(text, first, indent))

    def lines(self, text: str, first: int, rest: int) -> list[str]:
        """The lines of a sentence, of which ``first`` cells are taken in the first and ``rest`` in others."""
        if self.width is None or first + _cells(text) <= self.width:
            return [text]
        lines, at = [""], first
        for word in text.split(" "):
            size = _cells(word)
            if lines[-1] and at + 1 + size > self.width:
                lines.append("")
                at = rest
            at += size + (1 if lines[-1] else 0)
            lines[-1] += f" {word}" if lines[-1] else word
        return lines


def render_text(
    found: Sequence[Diagnostic],
    sources: Mapping[str, SourceText],
    files: int,
    *,
    color: bool = False,
    width: int | None = None,
) -> str:
    """The whole report; the last line sums it up.

    ``width`` is that of the terminal, None where the report goes to a file: then no line is broken.
    """
    style = _Style(color, width)
    parts = [_diagnostic(one, sources, style) for one in found]
    parts.append(_summary(found, files, style))
    return "\n".join(parts) + "\n"


def _diagnostic(one: Diagnostic, sources: Mapping[str, SourceText], style: _Style) -> str:
    where = plain(f"{one.file}:{one.line}:{one.column}")
    name = f"{one.severity}[{one.name}]"
    message = style.wrap(plain(one.message), 2, _cells(where) + len(name) + 3)
    lines = [f"{style('bold', where)}: {style(one.severity, name)} {message}"]
    width = len(str(max([one.line, *(other.line for other in one.related if other.file in sources)])))
    source = sources.get(one.file)
    if source is not None:
        lines += _excerpt(source, one, width, style, one.severity, "")
    file = one.file
    for other in one.related:
        lines += _related(other, file, sources, width, style)
        file = other.file
    for kind, text in (
        ("help", one.hint),
        ("fix", f"{one.fix.title} (interlock check --fix)" if one.fix is not None and one.fix.sure else None),
    ):
        if text:
            mark = f"= {kind}:"
            lines.append(
                f"{' ' * width} {style('help', mark)} {style.wrap(plain(text), width + 3, width + len(mark) + 2)}"
            )
    lines.append("")
    return "\n".join(lines)


def _related(other: RelatedPlace, file: str, sources: Mapping[str, SourceText], width: int, style: _Style) -> list[str]:
    """Another place: its line with a labelled mark, under the name of its file where that is another."""
    source = sources.get(other.file)
    where = plain(f"{other.file}:{other.line}:{other.column}")
    message = plain(other.message)
    if source is None:
        text = style.wrap(message, width + 4, width + _cells(where) + 6)
        return [f"{' ' * width} {style('dim', '::')} {where}: {text}"]
    head = [f"{' ' * width} {style('dim', '::')} {where}"] if other.file != file else []
    return head + _excerpt(source, other, width, style, "dim", message)


def _excerpt(
    source: SourceText, place: Diagnostic | RelatedPlace, width: int, style: _Style, kind: str, text: str
) -> list[str]:
    """The line with a mark under the place; long lines are cut around it."""
    line = source.line(place.line)
    room = _WIDEST if style.width is None else max(style.width - width - 3, _NARROWEST // 2)
    first = place.column - 1
    last = place.end_column - 1 if place.end_line == place.line else len(line.rstrip())
    start = max(0, min(first - room // 3, len(line) - room)) if _cells(line) > room else 0
    shown, cells = "", 0
    for character in line[start:]:
        cells += _cells(character)
        if cells > room:
            break
        shown += character
    lead = _cells(shown[: first - start])
    marked = max(1, _cells(shown[first - start : max(last, first + 1) - start]))
    bar = style("dim", "|")
    mark = style(kind, ("-" if kind == "dim" else "^") * marked)
    number = style("dim", str(place.line).rjust(width))
    shown = "".join(one if one.isprintable() else "→" if one == "\t" else "·" for one in shown)
    lines = [f"{number} {bar} {shown}", f"{' ' * width} {bar} {' ' * lead}{mark}"]
    if text:
        if style.width is None or width + 4 + lead + marked + _cells(text) <= style.width:
            lines[-1] += f" {text}"
        else:
            before = f"{' ' * width} {bar} "
            indent = min(lead, room // 3)
            at = width + 3 + indent
            lines.extend(f"{before}{' ' * indent}{label}" for label in style.lines(text, at, at))
    return lines


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
    return style.wrap(f"{', '.join(words)} in {what}.", 0, 0)
