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
from interlock.analyzer.model.values import Literal, MapValue, Setting, Template, Value
from interlock.analyzer.rules.credential_forms import credential_field, high_entropy, known_form
from interlock.analyzer.source.text import Span

#: No credential is shorter: what is, is not even looked at.
_SHORTEST = 8

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
        if what is None:
            continue
        mark = (text.span.piece, text.span.start, text.code)
        if mark in told:
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
        return f'a random-looking value in "{field}"'
    return None


# -- the texts of a workflow -----------------------------------------------------------------------------


def texts(workflow: Workflow) -> list[Text]:
    """Every text of a workflow that a person may have put a credential into."""
    reader = _Texts()
    for setting in (workflow.description, workflow.version):
        if setting is not None:
            reader.add(setting.value, setting.span, (), "IL504")
    for declared in workflow.inputs.values():
        if declared.default is not None:
            reader.value(declared.default.value, (declared.name,))
        if declared.enum is not None:
            reader.value(declared.enum.value, (declared.name,))
    if workflow.concurrency is not None:
        reader.setting(workflow.concurrency.supersession_key, "IL502")
    reader.setting(workflow.idempotency_key, "IL503")
    for steps in (workflow.steps, workflow.on_cancel, workflow.on_deadline):
        for step in walk(steps):
            reader.step(step)
    reader.setting(workflow.outputs)
    return reader.found


class _Texts:
    def __init__(self) -> None:
        self.found: list[Text] = []

    def add(self, text: str, span: Span, names: tuple[str, ...], code: str) -> None:
        if len(text) >= _SHORTEST:
            self.found.append(Text(text, span, names, code))

    def step(self, step: Step) -> None:
        kind = step.kind
        if step.when is not None and isinstance(step.when.value, Template):
            self.value(step.when.value, ())
        if isinstance(kind, BlockCall):
            self.setting(kind.params)
        elif isinstance(kind, Branches):
            for branch in kind.branches:
                self.setting(branch.outputs)
        elif isinstance(kind, Section):
            self.setting(kind.resource, "IL501")
            self.setting(kind.outputs)
        elif isinstance(kind, ForEach):
            self.setting(kind.items)
            self.setting(kind.outputs)
        elif isinstance(kind, RunWorkflow):
            self.setting(kind.inputs)
        elif isinstance(kind, StartWorkflows):
            self.setting(kind.items)
        elif isinstance(kind, DependencyWait):
            self.setting(kind.runs)
        elif isinstance(kind, SignalWait):
            self.setting(kind.match)
        elif isinstance(kind, Delay):
            self.setting(kind.until)
        if step.compensate is not None:
            self.setting(step.compensate.params)
        if step.next is not None and isinstance(step.next.value, Template):
            self.value(step.next.value, ())

    def setting(self, setting: Setting[Value] | Setting[MapValue] | None, code: str = "IL504") -> None:
        if setting is not None:
            self.value(setting.value, (), code)

    def value(self, value: Value, names: tuple[str, ...], code: str = "IL504") -> None:
        if isinstance(value, Literal):
            if isinstance(value.data, str):
                self.add(value.data, value.span, names, code)
        elif isinstance(value, Template):
            self.template(value, names, code)
        elif isinstance(value, MapValue):
            for member in value.members:
                self.add(member.name, member.key, (), code)
                self.value(member.value, (*names, member.name), code)
        else:
            for item in value.items:
                self.value(item, names, code)

    def template(self, template: Template, names: tuple[str, ...], code: str) -> None:
        for part in template.parts:
            if isinstance(part, str):
                self.add(part, template.span, names, code)
            elif part.tree is not None and ("'" in part.source or '"' in part.source):
                for text, inner in _literals(part.tree, names):
                    self.add(text, template.span, inner, code)


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
