"""Lines that are not meant as YAML at all: merge conflicts and templating.

They are made comments, so that what stands around them can be read, and reported once each.
Everything else that is wrong with a text is left to ``diagnose``.
"""

from __future__ import annotations

import re

import msgspec

_CONFLICT_LINE = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: [^\n]*)?\r?$", re.M)
_REGION = re.compile(
    r"^<{7}(?: [^\n]*)?\r?\n(?P<ours>(?:(?!<{7}|={7}|>{7}|\|{7})[^\n]*\n)*)"
    r"(?P<theirs>(?:\|{7}[^\n]*\n(?:(?!={7})[^\n]*\n)*)?={7}[^\n]*\n(?:(?!>{7}|<{7})[^\n]*\n)*)"
    r">{7}[^\n]*$",
    re.M,
)
_TEMPLATE = re.compile(r"^[ \t]*(\{\{[^\n]*\}\}|\{%[^\n]*%\})[ \t]*\r?$", re.M)
_LINE_START = re.compile(r"^[^\r\n]", re.M)

_CONFLICT_MESSAGE = "a merge conflict was left here; only its first side is read: keep one side and remove the markers"
_MARKER_MESSAGE = "this line was left by a merge conflict; remove it"
_TEMPLATE_MESSAGE = "this line is templating, not YAML, and is not expanded here; render the file first, or remove it"


class Mended(msgspec.Struct, frozen=True):
    """A text of the same length with such lines made comments.

    ``slips`` are what to report: start, end and message; ``dropped`` what is in no node for it.
    """

    text: str
    slips: tuple[tuple[int, int, str], ...]
    dropped: tuple[tuple[int, int], ...]


def mend(text: str, start: int, end: int, broken: list[tuple[int, int]]) -> Mended | None:
    """The document from ``start`` to ``end`` mended where a ``broken`` stretch shows such a line."""
    slips: list[tuple[int, int, str]] = []
    dropped: list[tuple[int, int]] = []
    part = text[start:end]
    if any(_CONFLICT_LINE.search(text, first, last) for first, last in broken):
        for region in _REGION.finditer(part):
            line_end = part.find("\n", region.start())
            slips.append((start + region.start(), start + line_end, _CONFLICT_MESSAGE))
            dropped.append((start + region.start("theirs"), start + region.end()))
        part = _REGION.sub(_first_side, part)
        slips.extend(
            (start + marker.start(), start + marker.end(), _MARKER_MESSAGE) for marker in _CONFLICT_LINE.finditer(part)
        )
        part = _CONFLICT_LINE.sub(lambda found: "#" + found[0][1:], part)
    reported = False
    for first, last in broken:
        line_start = part.rfind("\n", 0, first - start) + 1
        for line in list(_TEMPLATE.finditer(part, line_start, last - start)):
            if not reported:
                slips.append((start + line.start(1), start + line.end(1), _TEMPLATE_MESSAGE))
                reported = True
            part = part[: line.start(1)] + "#" + part[line.start(1) + 1 :]
    if not slips:
        return None
    return Mended(text[:start] + part + text[end:], tuple(sorted(slips)), tuple(dropped))


def _first_side(region: re.Match[str]) -> str:
    ours_start = region.start("ours") - region.start()
    ours_end = region.end("ours") - region.start()
    whole = region[0]
    return "#" + whole[1:ours_start] + whole[ours_start:ours_end] + _LINE_START.sub("#", whole[ours_end:])
