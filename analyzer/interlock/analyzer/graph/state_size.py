"""How small the public state can be, in bytes of canonical JSON (section 10).

Every size is a lower bound: what is known only at run time counts as the smallest JSON value.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    Broken,
    Delay,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
)
from interlock.analyzer.model.values import ListValue, Literal, MapValue, Template, Value

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit

#: The braces around the state, and the comma before each further name.
EMPTY_STATE = 2
COMMA = 1

_EMPTY_MAP = 2
_SMALLEST = 1


def result_size(unit: Unit, step: Step) -> int:
    """The least that a completed top-level step adds to the state: its name, a colon, its result."""
    kind = step.kind
    result = _EMPTY_MAP
    if isinstance(kind, BlockCall):
        spec = unit.program.block(kind.block)
        if spec is not None and spec.name == "set":
            result = value_size(kind.params.value) if kind.params is not None else _EMPTY_MAP
        elif spec is None or not spec.built_in or spec.result is None:
            result = _SMALLEST
    elif not isinstance(kind, Branches | Section | ForEach | StartWorkflows | Delay):
        result = _SMALLEST
    return _named(step, result)


def skipped_size(step: Step) -> int:
    """What a skipped step adds: an empty map, and nothing where it would merge."""
    return _named(step, _EMPTY_MAP)


def _named(step: Step, result: int) -> int:
    kind = step.kind
    name: str | None = step.id
    if isinstance(kind, RunWorkflow | StartWorkflows | DependencyWait | SignalWait):
        name = kind.result_key
    if not name or name.startswith("_") or isinstance(kind, Broken):
        return 0
    return text_size(name) + 1 + result


def value_size(value: Value) -> int:
    """The least size of a value."""
    if isinstance(value, Literal):
        data = value.data
        if isinstance(data, str):
            return text_size(data)
        return _SMALLEST if isinstance(data, float) else len(json.dumps(data))
    if isinstance(value, Template):
        if value.whole:
            return _SMALLEST
        return 2 + sum(text_size(part) - 2 for part in value.parts if isinstance(part, str))
    if isinstance(value, ListValue):
        return 2 + sum(value_size(item) for item in value.items) + max(0, len(value.items) - 1)
    assert isinstance(value, MapValue)
    members = {member.name: member.value for member in value.members}
    sizes = [text_size(name) + 1 + value_size(item) for name, item in members.items()]
    return 2 + sum(sizes) + max(0, len(sizes) - 1)


def text_size(text: str) -> int:
    """The size of a text in quotes."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return len(text) + 2
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass"))
