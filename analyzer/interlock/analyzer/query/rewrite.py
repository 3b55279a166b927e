"""Values written as people write them, where the language has a word of its own for what is meant.

These are changes to choose, not fixes of rules: what was meant is very likely, and still a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from interlock.analyzer.language import fields as f
from interlock.analyzer.query.place import Level, Place, end_of, start_of
from interlock.analyzer.syntax.nodes import Alias, Entry, Mapping, Node, Scalar

_UNITS = {"s": "s", "sec": "s", "second": "s", "m": "m", "min": "m", "minute": "m", "h": "h", "hr": "h", "hour": "h",
          "d": "d", "day": "d"}  # fmt: skip
_PART = re.compile(r"(\d+)[ \t]*([A-Za-z]+)")
_FLAGS = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}


def written(place: Place) -> str | None:
    """How the value at a place is written in the language; None where that is not known, or so already."""
    leaf = place.leaf
    node = leaf.node
    if place.on != "value" or not isinstance(node, Scalar) or node.anchor is not None:
        return None
    if node.style in ("literal", "folded"):
        return None
    text = node.value.strip()
    if isinstance(leaf.type, f.Duration):
        found = _duration(text)
    elif isinstance(leaf.type, f.Flag) or _says(leaf, "boolean"):
        found = _FLAGS.get(text.lower())
    elif isinstance(leaf.type, f.Whole) or _says(leaf, "integer"):
        found = text if re.fullmatch(r"[0-9]+", text) else None
    else:
        found = _word(leaf, text)
    return None if found is None or found == node.piece.text[node.start : node.end] else found


def _says(leaf: Level, kind: str) -> bool:
    return leaf.schema is not None and leaf.schema.get("type") == kind


def _duration(text: str) -> str | None:
    """``10 minutes`` and ``1 hour and 5 min`` as ``10m`` and ``1h5m``."""
    rest = _PART.sub("", text.lower())
    if rest.replace("and", "").replace(",", "").strip():
        return None
    order = "dhms"
    found: list[tuple[str, str]] = []
    for number, word in _PART.findall(text.lower()):
        unit = _UNITS.get(word) or _UNITS.get(word.removesuffix("s"))
        if unit is None or int(number) == 0 or (found and order.index(unit) <= order.index(found[-1][1])):
            return None
        found.append((number, unit))
    return "".join(number + unit for number, unit in found) or None


def _word(leaf: Level, text: str) -> str | None:
    """One of the allowed words that differs only in its capitals."""
    allowed: tuple[object, ...] = ()
    if isinstance(leaf.type, f.Choice):
        allowed = tuple(leaf.type.words)
    elif leaf.schema is not None and isinstance(leaf.schema.get("enum"), list):
        allowed = tuple(leaf.schema["enum"])
    same = [word for word in allowed if isinstance(word, str) and word.lower() == text.lower() and word != text]
    return same[0] if len(same) == 1 else None


def removal(place: Place, text: str) -> tuple[int, int] | None:
    """The stretch that takes away the entry at a place, with its mapping where it is the only one."""
    entry, number = place.entry, len(place.levels) - 1
    while entry is not None and number >= 0:
        mapping = place.levels[number].node
        if not isinstance(mapping, Mapping) or any(_is_shared(node) for node in (mapping, entry.value)):
            return None
        if len(mapping.entries) > 1:
            return _in_flow(mapping, entry) if mapping.flow else _in_block(mapping, entry, text)
        number -= 1
        above = place.levels[number].node if number >= 0 else None
        entries: Iterator[Entry] = iter(above.entries if isinstance(above, Mapping) else ())
        entry = next((one for one in entries if one.value is mapping), None)
    return None


def _is_shared(node: Node) -> bool:
    return not isinstance(node, Alias) and node.anchor is not None


def _in_flow(mapping: Mapping, entry: Entry) -> tuple[int, int]:
    at = next(number for number, one in enumerate(mapping.entries) if one is entry)
    if at + 1 < len(mapping.entries):
        return start_of(entry.key), start_of(mapping.entries[at + 1].key)
    return end_of(mapping.entries[at - 1].value), end_of(entry.value)


def _in_block(mapping: Mapping, entry: Entry, text: str) -> tuple[int, int] | None:
    start = text.rfind("\n", 0, start_of(entry.key)) + 1
    if text[start : start_of(entry.key)].strip():
        return None  # behind the dash of a list
    stop = text.find("\n", max(end_of(entry.value), end_of(entry.key)))
    return start, len(text) if stop < 0 else stop + 1
