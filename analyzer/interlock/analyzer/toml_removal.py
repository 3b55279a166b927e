"""Taking a setting out of a TOML text: one item of a list, or one key with its value.

The rest of the text stays as it is.  Which settings go, and writing the file, is left to the caller.
"""

from __future__ import annotations

import re

from interlock.analyzer.toml_places import Path, Places

_BEFORE = re.compile(r"[ \t]*\Z")
_AFTER = re.compile(r"[ \t]*,?[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)")
_COMMA = re.compile(r"\s*,")


def removal(text: str, places: Places, path: Path) -> tuple[int, int] | None:
    """The offsets of what goes where the setting at ``path`` is removed; None where it has no place."""
    if path not in places.values:
        return None
    start, end = _extent(places, path)
    line = text.rfind("\n", 0, start) + 1
    after = _AFTER.match(text, end)
    if after is not None and _BEFORE.match(text[line:start]) is not None:
        return line, after.end()
    # Beside others on its line: one of the commas goes too.
    beside = sorted(_extent(places, other) for other in places.values if _is_sibling(places, other, path))
    following = [place for place in beside if place[0] >= end]
    if following:
        return start, following[0][0]
    comma = _COMMA.match(text, end)
    if beside and "#" not in text[beside[-1][1] : start] and "\n" not in text[beside[-1][1] : start]:
        return beside[-1][1], end
    return start, comma.end() if comma is not None else end


def _extent(places: Places, path: Path) -> tuple[int, int]:
    """From the key, where it has one, to the end of its value."""
    start, end = places.values[path]
    return places.keys.get(path, (start, end))[0], end


def _is_sibling(places: Places, other: Path, path: Path) -> bool:
    """Whether both stand in the same list or inline table."""
    if len(other) != len(path) or other[:-1] != path[:-1] or other == path:
        return False
    around = places.values.get(path[:-1])
    return around is not None and around[0] <= _extent(places, other)[0] < around[1]
