"""The public YAML test suite beside our syntax: what each case asks for, and what our tree says.

A case is a text with the events that a parser has to give, or one that has to be refused; most have the
same as JSON too.  What the language narrows (section 1) is a verdict of its own, ``narrowed``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from interlock.analyzer.source.text import SourceText
from interlock.analyzer.syntax.nodes import Alias, Document, Mapping, Node, Scalar, Sequence
from interlock.analyzer.syntax.parse import parse_tree

CASES = Path(__file__).parent / "cases.json"
_STYLES = {"plain": ":", "single": "'", "double": '"', "literal": "|", "folded": ">"}
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\0": "\\0"}


class Case(msgspec.Struct, frozen=True):
    """One text of the suite; ``tree`` holds its events, one a line, and is absent where it is no YAML."""

    id: str
    name: str
    yaml: str
    fail: bool = False
    tree: str | None = None
    json: str | None = None


def cases() -> list[Case]:
    return msgspec.json.decode(CASES.read_bytes(), type=list[Case])


def fault(case: Case, *, pure: bool = False) -> str | None:
    """In what our reading differs from what the case asks for; None where it agrees."""
    tree = parse_tree(SourceText("a.workflow.yaml", case.yaml), pure=pure)
    refusals = [problem for problem in tree.problems if problem.code == "IL101"]
    if case.fail:
        return None if refusals else "accepted"
    if tree.problems:
        return f"refused ({tree.problems[0].code}: {tree.problems[0].message})"
    found = list(events(tree.documents))
    wanted = _expected(case.tree or "")
    if found != wanted:
        return f"read as {' '.join(found)} instead of {' '.join(wanted)}"
    return _json_fault(case, tree.documents)


def events(documents: tuple[Document, ...]) -> Iterator[str]:
    """The events of the suite's notation, without those of the stream."""
    for document in documents:
        yield "+DOC"
        if document.root is not None:
            yield from _events(document.root)
        yield "-DOC"


def _events(node: Node) -> Iterator[str]:
    if isinstance(node, Alias):
        yield f"=ALI *{node.name}"
        return
    marks = (f" &{node.anchor}" if node.anchor else "") + (f" <{node.tag}>" if node.tag else "")
    if isinstance(node, Scalar):
        value = "".join(_ESCAPES.get(character, character) for character in node.value)
        yield f"=VAL{marks} {_STYLES[node.style]}{value}"
    elif isinstance(node, Sequence):
        yield "+SEQ" + (" []" if node.flow else "") + marks
        for item in node.items:
            yield from _events(item)
        yield "-SEQ"
    else:
        yield "+MAP" + (" {}" if node.flow else "") + marks
        for entry in node.entries:
            yield from _events(entry.key)
            yield from _events(entry.value)
        yield "-MAP"


def _expected(tree: str) -> list[str]:
    """The case's events without what our tree does not keep: ``---``, ``...``, and documents without content."""
    lines = [line.lstrip(" ") for line in tree.split("\n")]
    lines = [line[:4] if line[1:4] == "DOC" else line for line in lines if line and line[1:4] != "STR"]
    text = "\n".join(lines) + "\n"
    return [line for line in text.replace("+DOC\n=VAL :\n-DOC\n", "").split("\n") if line]


def _json_fault(case: Case, documents: tuple[Document, ...]) -> str | None:
    if case.json is None:
        return None
    wanted = [value for value in _json_documents(case.json) if value is not None]
    found = [_data(document.root) for document in documents]
    found = [value for value in found if value is not None]
    if _same(found, wanted):
        return None
    return f"means {found} instead of {wanted}"


def _json_documents(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    at = 0
    while found := re.compile(r"\S").search(text, at):
        value, at = decoder.raw_decode(text, found.start())
        yield value


def _data(node: Node | None) -> Any:
    """A node as JSON has it: keys as text, aliases followed."""
    if isinstance(node, Alias):
        return _data(node.target)
    if isinstance(node, Scalar):
        return node.data
    if isinstance(node, Sequence):
        return [_data(item) for item in node.items]
    if isinstance(node, Mapping):
        return {_key(entry.key): _data(entry.value) for entry in node.entries}
    return None


def _key(node: Node) -> str:
    scalar = node.target if isinstance(node, Alias) else node
    return scalar.value if isinstance(scalar, Scalar) else repr(_data(scalar))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other)
    return (type(one) is type(other) and one == other) or _number(one, other)


def _number(one: Any, other: Any) -> bool:
    """450.00 is written 450 in the suite's JSON."""
    numbers = (int, float)
    return type(one) in numbers and type(other) in numbers and float(one) == float(other)
