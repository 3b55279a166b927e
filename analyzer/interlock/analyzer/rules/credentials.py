"""Credentials that are written into the file (IL504; in a key IL501 to IL503, section 11)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock.analyzer.expressions.ast import Literal as TextNode
from interlock.analyzer.expressions.ast import MapLiteral, Node, children
from interlock.analyzer.findings import Sink
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    Delay,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    Workflow,
    walk,
)
from interlock.analyzer.model.values import ListValue, Literal, MapValue, Setting, Template, Value
from interlock.analyzer.rules.credential_forms import credential_field, high_entropy, known_form
from interlock.analyzer.source.text import Span

_KEYS = {
    "IL501": "resource key",
    "IL502": "supersession key",
    "IL503": "idempotency key",
}


class Text(msgspec.Struct, frozen=True, eq=False):
    """A text as it is written: where, under which field names, and the code that it gives."""

    text: str
    span: Span
    names: tuple[str, ...]
    code: str = "IL504"


def credentials(unit: Unit, sink: Sink) -> None:
    """IL504: known forms anywhere, texts of high entropy in fields called like credentials."""
    told: set[tuple[object, int, str]] = set()
    for text in texts(unit.workflow):
        what = _looks_like(text)
        mark = (text.span.piece, text.span.start, text.code)
        if what is None or mark in told:
            continue
        told.add(mark)
        if text.code == "IL504":
            message = f"This looks like a credential ({what}), and it is written into the file for everybody to read."
        else:
            message = (
                f"This {_KEYS[text.code]} holds what looks like a credential ({what}), and a key is shown to everybody."
            )
        sink.add(
            text.code,
            text.span,
            message,
            'Revoke it, and hand the new one to the run through "secrets" or a secret input.'
            if text.code == "IL504"
            else "Revoke it, and build the key from values that are not secret.",
        )


def _looks_like(text: Text) -> str | None:
    what = known_form(text.text)
    if what is not None or text.code != "IL504" or len(text.text) < 20:
        return what
    field = next((name for name in reversed(text.names) if credential_field(name)), None)
    if field is not None and high_entropy(text.text, field):
        return f'a value without any pattern in "{field}"'
    return None


# -- the texts of a workflow -----------------------------------------------------------------------------


def texts(workflow: Workflow) -> Iterator[Text]:
    """Every text of a workflow that a person may have put a credential into."""
    for setting in (workflow.description, workflow.version):
        if setting is not None:
            yield Text(setting.value, setting.span, ())
    for declared in workflow.inputs.values():
        if declared.default is not None:
            yield from _value(declared.default.value, (declared.name,))
        if declared.enum is not None:
            yield from _value(declared.enum.value, (declared.name,))
    if workflow.concurrency is not None:
        yield from _setting(workflow.concurrency.supersession_key, "IL502")
    yield from _setting(workflow.idempotency_key, "IL503")
    for steps in (workflow.steps, workflow.on_cancel, workflow.on_deadline):
        for step in walk(steps):
            yield from _step(step)
    yield from _setting(workflow.outputs)


def _step(step: Step) -> Iterator[Text]:
    kind = step.kind
    if step.when is not None and isinstance(step.when.value, Template):
        yield from _value(step.when.value, ())
    if isinstance(kind, BlockCall):
        yield from _setting(kind.params)
    elif isinstance(kind, Branches):
        for branch in kind.branches:
            yield from _setting(branch.outputs)
    elif isinstance(kind, Section):
        yield from _setting(kind.resource, "IL501")
        yield from _setting(kind.outputs)
    elif isinstance(kind, ForEach):
        yield from _setting(kind.items)
        yield from _setting(kind.outputs)
    elif isinstance(kind, RunWorkflow):
        yield from _setting(kind.inputs)
    elif isinstance(kind, StartWorkflows):
        yield from _setting(kind.items)
    elif isinstance(kind, DependencyWait):
        yield from _setting(kind.runs)
    elif isinstance(kind, SignalWait):
        yield from _setting(kind.match)
    elif isinstance(kind, Delay):
        yield from _setting(kind.until)
    if step.compensate is not None:
        yield from _setting(step.compensate.params)
    if step.next is not None and isinstance(step.next.value, Template):
        yield from _value(step.next.value, ())


def _setting(setting: Setting[Value] | Setting[MapValue] | None, code: str = "IL504") -> Iterator[Text]:
    if setting is not None:
        yield from _value(setting.value, (), code)


def _value(value: Value, names: tuple[str, ...], code: str = "IL504") -> Iterator[Text]:
    if isinstance(value, MapValue):
        for member in value.members:
            yield Text(member.name, member.key, (), code)
            yield from _value(member.value, (*names, member.name), code)
    elif isinstance(value, ListValue):
        for item in value.items:
            yield from _value(item, names, code)
    elif isinstance(value, Literal):
        if isinstance(value.data, str):
            yield Text(value.data, value.span, names, code)
    else:
        for part in value.parts:
            if isinstance(part, str):
                yield Text(part, value.span, names, code)
            elif part.tree is not None and ("'" in part.source or '"' in part.source):
                for text, inner in _literals(part.tree, names):
                    yield Text(text, value.span, inner, code)


def _literals(node: Node, names: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The string literals of an expression, each with the map keys that lead to it."""
    if isinstance(node, TextNode):
        if isinstance(node.value, str):
            yield node.value, names
    elif isinstance(node, MapLiteral):
        for entry in node.entries:
            key = entry.key.value if isinstance(entry.key, TextNode) else None
            yield from _literals(entry.value, (*names, key) if isinstance(key, str) else names)
    else:
        for child in children(node):
            yield from _literals(child, names)


RULES = (credentials,)
