"""What the lines of a broken step tell: its names, and which inner item to leave out to read the rest.

Works on lines and columns only; whether what remains reads is for ``parse`` to find out.  An item is
left out only where another one of its list stays: an emptied list would look like another mistake.
"""

from __future__ import annotations

import re

_ITEM = re.compile(r" *-(?=[ \t\r\n]|\Z)")
_BLANK = re.compile(r"[ \t\r]*(?:#[^\n]*)?\Z")
_START = re.compile(r"^[^\r\n]", re.M)
_ID = re.compile(r"(?:^|(?<=[\s{,-]))[\"']?(?:id|result_key)[\"']?:[ \t]*[\"']?([^\W\d]\w*)")
_DEFAULT_KEYS = {
    "wait_for_approval": "approval",
    "wait_for_input": "input",
    "wait_for_decision": "decision",
    "start_agents": "agent_workflow_ids",
    "wait_for_agent": "agent_results",
}
"""Names that a step of such a kind writes under when it says none."""


def inner_item(text: str, at: int) -> tuple[int, int] | None:
    """The start and end of the innermost item around a place, as whole lines; None where there is none.

    The item that begins the text itself is not one.
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    here = text.count("\n", 0, at)
    outermost = _column(lines[0])
    below = _column(lines[here]) + 1
    for first in range(here, 0, -1):
        line = lines[first]
        if _BLANK.match(line):
            continue
        column = _column(line)
        if column >= below:
            continue
        below = column + (0 if _ITEM.match(line) else 1)
        if column <= outermost:
            return None
        if not _ITEM.match(line):
            continue
        end = _end(lines, first, column)
        if end > here and (_follows(lines, end, column) or _precedes(lines, first, column)):
            return starts[first], min(starts[end], len(text))
    return None


def without(text: str, hole: tuple[int, int]) -> str:
    """The text with the lines of a hole made comments; it stays as long."""
    start, end = hole
    return text[:start] + _START.sub("#", text[start:end]) + text[end:]


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _end(lines: list[str], first: int, column: int) -> int:
    """The number of the line behind an item."""
    for number in range(first + 1, len(lines)):
        if not _BLANK.match(lines[number]) and _column(lines[number]) <= column:
            return number
    return len(lines)


def _follows(lines: list[str], end: int, column: int) -> bool:
    return end < len(lines) and _column(lines[end]) == column and bool(_ITEM.match(lines[end]))


def _precedes(lines: list[str], first: int, column: int) -> bool:
    """Whether an item of the same list stands before this one."""
    for number in range(first - 1, -1, -1):
        line = lines[number]
        if _BLANK.match(line) or _column(line) > column:
            continue
        return _column(line) == column and bool(_ITEM.match(line))
    return False


def names_in(text: str) -> tuple[str, ...]:
    """The names that steps in a text may write under, the default ones of their kinds included."""
    written = _ID.findall(text)
    return (*written, *(name for kind, name in _DEFAULT_KEYS.items() if kind in text))
