"""Writes workflows that are plain data as YAML text, in a style that a seed decides.

The same data gives texts that differ in everything that means nothing: block and flow style, quoting,
key order, comments, anchors, merge keys, line breaks.  Every value's place is kept, so that what is
reported can be held against what was planted.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from typing import Any, TypeAlias

import msgspec

Path: TypeAlias = tuple[Any, ...]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*|[0-9]+[smhd](?:[0-9]+[smhd])*")
_NOT_TEXT = frozenset({"null", "true", "false"})


class Raw(str):
    """Text that stands in the document as it is, without quotes."""


class Again(str):
    """A key that may stand in a mapping beside an equal one."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class Style(msgspec.Struct, frozen=True):
    """What a text may look like; ``seed`` decides where there is a choice."""

    seed: int = 0
    plain: bool = False
    anchors: bool = True
    shuffled: bool = True


class Written(msgspec.Struct, frozen=True):
    """A text, and the lines of its keys and of its values (first and last) by path."""

    text: str
    keys: dict[Path, int]
    values: dict[Path, tuple[int, int]]


def write(documents: list[Any], style: Style) -> Written:
    """One text with these documents; paths begin with the number of the document."""
    writer = _Writer(style)
    if not style.plain and writer.chance((), "windows", 0.06):
        # Line ends mean nothing; positions are counted in lines, so nothing else changes.
        made = writer.run(documents)
        return Written(made.text.replace("\n", "\r\n"), made.keys, made.values)
    return writer.run(documents)


class _Writer:
    def __init__(self, style: Style) -> None:
        self.style = style
        self.out: list[str] = []
        self.line = 1
        self.keys: dict[Path, int] = {}
        self.values: dict[Path, tuple[int, int]] = {}
        self.repeated: set[str] = set()
        self.anchors: dict[str, str] = {}
        self.merged: dict[str, Any] = {}

    def run(self, documents: list[Any]) -> Written:
        for number, document in enumerate(documents):
            if number:
                self.put("---\n")
            self.anchors, self.merged = {}, {}
            self.repeated = _repeated(document) if self.style.anchors and not self.style.plain else set()
            if self.chance((number,), "flow document", 0.04) and _size(document) < 40:
                self.values[(number,)] = (self.line, self.line)
                self.flow(document, (number,), 2)
                self.put("\n")
            else:
                self.extras(document, number)
                self.block_mapping(document, 0, (number,))
        return Written("".join(self.out), self.keys, self.values)

    def put(self, text: str) -> None:
        self.out.append(text)
        self.line += text.count("\n")

    def chance(self, path: Path, what: str, probability: float) -> bool:
        """The same answer for the same seed, place and question."""
        if self.style.plain:
            return False
        return self.number(path, what) < probability

    def number(self, path: Path, what: str) -> float:
        return zlib.crc32(repr((self.style.seed, what, path)).encode()) / 2**32

    def extras(self, document: Any, number: int) -> None:
        """A top-level key that the language ignores, with what a merge key takes from it."""
        retries = [each for each in _all_of(document, "retry") if isinstance(each, dict) and len(each) > 1]
        if not retries or not self.style.anchors or not self.chance((number,), "merge", 0.3):
            return
        name, value = next(iter(retries[0].items()))
        self.merged = {name: value}
        self.put("x-shared: &shared ")
        self.flow(self.merged, (number, "x-shared"), 2)
        self.put("\n")

    # --- block style ---

    def block_mapping(self, node: dict[Any, Any], indent: int, path: Path, *, inline: bool = False) -> None:
        items = list(node.items())
        ordered = path and path[-1] == "branches"
        if not ordered and self.style.shuffled and self.chance(path, "order", 0.25):
            random.Random(int(self.number(path, "shuffle") * 2**32)).shuffle(items)
        for name, value in items:
            if not inline:
                if self.chance((*path, name), "comment above", 0.02):
                    self.put(" " * indent + "# a note\n")
                self.put(" " * indent)
            inline = False
            at = (*path, name)
            self.keys[at] = self.line
            self.put(self.key(name, path))
            self.put(":")
            self.block_value(value, indent, at)

    def block_value(self, value: Any, indent: int, at: Path) -> None:
        mark = self.mark(value, at)
        if mark and mark.startswith("*"):
            self.values[at] = (self.line, self.line)
            self.put(f" {mark}")
            self.end(at)
            return
        lead = f" {mark}" if mark else ""
        if isinstance(value, dict | list) and value and not self.wants_flow(value, at):
            self.put(lead + "\n")
            first = self.line
            if isinstance(value, dict):
                self.merge(value, indent + 2, at)
            else:
                step = 0 if self.chance(at, "flat list", 0.3) else 2
                self.block_list(value, indent + step, at)
            self.values[at] = (first, self.line - 1)
            return
        self.put(lead + " ")
        first = self.line
        if isinstance(value, str) and not isinstance(value, Raw) and self.block_scalar(value, indent + 2, at):
            self.values[at] = (first, self.line - 1)
            return
        self.flow(value, at, indent + 4)
        self.values[at] = (first, self.line)
        self.end(at)

    def merge(self, value: dict[Any, Any], indent: int, at: Path) -> None:
        """A mapping, with what is shared taken through a merge key."""
        shared = self.merged and at[-1] == "retry" and self.merged.items() <= value.items() and len(value) > 1
        if not shared:
            self.block_mapping(value, indent, at)
            return
        self.put(" " * indent + "<<: *shared\n")
        self.block_mapping({name: item for name, item in value.items() if name not in self.merged}, indent, at)

    def end(self, at: Path) -> None:
        self.put("  # why\n" if self.chance(at, "comment behind", 0.03) else "\n")

    def block_list(self, items: list[Any], indent: int, path: Path) -> None:
        for number, value in enumerate(items):
            at = (*path, number)
            self.put(" " * indent + "-")
            if isinstance(value, dict) and value and not self.wants_flow(value, at):
                self.put(" ")
                first = self.line
                self.block_mapping(value, indent + 2, at, inline=True)
                self.values[at] = (first, self.line - 1)
            else:
                self.put(" ")
                first = self.line
                self.flow(value, at, indent + 4)
                self.values[at] = (first, self.line)
                self.end(at)

    def block_scalar(self, value: str, indent: int, at: Path) -> bool:
        if not value or value != value.strip() or not value.isprintable() or not self.chance(at, "block", 0.05):
            return False
        header = "|-" if self.chance(at, "literal", 0.5) else ">-"
        self.put(f"{header}\n{' ' * indent}{value}\n")
        return True

    # --- flow style ---

    def wants_flow(self, value: Any, at: Path) -> bool:
        return _size(value) <= 24 and self.chance(at, "flow", 0.35)

    def flow(self, value: Any, at: Path, indent: int) -> None:
        first = self.line
        if isinstance(value, dict):
            self.put("{")
            for number, (name, item) in enumerate(value.items()):
                if number:
                    self.comma((*at, name), indent)
                self.keys[(*at, name)] = self.line
                self.put(self.key(name, at) + ": ")
                self.flow(item, (*at, name), indent)
            self.put("}")
        elif isinstance(value, list):
            self.put("[")
            for number, item in enumerate(value):
                if number:
                    self.comma((*at, number), indent)
                self.flow(item, (*at, number), indent)
            self.put("]")
        else:
            self.put(self.scalar(value, at))
        self.values[at] = (first, self.line)

    def comma(self, at: Path, indent: int) -> None:
        self.put(",\n" + " " * indent if self.chance(at, "break", 0.08) else ", ")

    def key(self, name: str, path: Path) -> str:
        if self.chance((*path, name), "quoted key", 0.05) or not _PLAIN.fullmatch(name) or name in _NOT_TEXT:
            return json.dumps(name, ensure_ascii=False)
        return str(name)

    def scalar(self, value: Any, at: Path) -> str:
        if isinstance(value, Raw):
            return str(value)
        if isinstance(value, str):
            return self.text(value, at)
        if value is None:
            return "~" if self.chance(at, "null", 0.5) else "null"
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6:
            return hex(value) if self.chance(at, "hex", 0.02) else str(value)
        return json.dumps(value)

    def text(self, value: str, at: Path) -> str:
        plain = _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT
        if plain and not self.chance(at, "quoted", 0.3):
            return value
        if not self.style.plain and self.chance(at, "single", 0.4) and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        return json.dumps(value, ensure_ascii=False)

    # --- anchors ---

    def mark(self, value: Any, at: Path) -> str:
        """The anchor or alias of a value that stands more than once; empty for none."""
        if isinstance(value, Raw) or at[-1] in ("workflow", "id"):
            return ""
        packed = _packed(value)
        if packed not in self.repeated:
            return ""
        name = self.anchors.get(packed)
        if name is not None:
            return f"*{name}" if self.chance(at, "alias", 0.8) else ""
        if not self.chance(at, "anchor", 0.5):
            return ""
        self.anchors[packed] = f"a{len(self.anchors)}"
        return f"&{self.anchors[packed]}"


def _packed(value: Any) -> str:
    return json.dumps(value, sort_keys=False, ensure_ascii=False)


def _repeated(document: Any) -> set[str]:
    """The mappings and longer texts that stand at least twice in a document, as values of keys."""
    seen: set[str] = set()
    twice: set[str] = set()
    waiting = [document]
    while waiting:
        node = waiting.pop()
        for item in node.values() if isinstance(node, dict) else node:
            if isinstance(item, dict | list):
                waiting.append(item)
            worth = (isinstance(item, dict) and item) or (isinstance(item, str) and len(item) > 9)
            if isinstance(node, dict) and worth:
                packed = _packed(item)
                (twice if packed in seen else seen).add(packed)
    return twice


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(1 + _size(item) for item in value.values())
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _all_of(node: Any, name: str) -> list[Any]:
    """Every value under a key at any depth."""
    found: list[Any] = []
    if isinstance(node, dict):
        found += [node[name]] if name in node else []
        for item in node.values():
            found += _all_of(item, name)
    elif isinstance(node, list):
        for item in node:
            found += _all_of(item, name)
    return found
