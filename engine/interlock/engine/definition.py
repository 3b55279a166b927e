"""Definitions as the engine keeps them: normal form, hashes, closure, and what of it needs a durable store.

Judging a definition is the analyzer's part and happens before one is made here; section 10 says what
the hashes cover.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping

from interlock.analyzer.model.nodes import (
    Delay,
    DependencyWait,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Workflow,
    walk,
)
from interlock.analyzer.model.read import read_document
from interlock.analyzer.source.text import Piece, SourceText, Span
from interlock.analyzer.syntax.nodes import Document, Entry, Node, Scalar, Sequence
from interlock.analyzer.syntax.nodes import Mapping as MappingNode
from interlock.engine.errors import CallerError
from interlock.engine.normalize import document, normal_form
from interlock.engine.values import Json, NotJson, canonical, load

_CACHED = 2_000


class Stored:
    """A `Definition`: a validated workflow with its normal form, its hash and its closure.

    The closure is every workflow that it can start at any depth, itself included if it can.
    """

    __slots__ = ("_closure", "closure_hash", "hash", "name", "text", "workflow")

    def __init__(self, workflow: Workflow, text: str, closure: Mapping[str, Stored]) -> None:
        self.name = workflow.name.value if workflow.name is not None else ""
        self.workflow = workflow
        self.text = text
        self.hash = _digest(text)
        self._closure = dict(closure)
        hashes = {name: item.hash for name, item in self._closure.items()}
        self.closure_hash = _digest(canonical({"definition": self.hash, "closure": hashes}))

    @property
    def closure(self) -> Mapping[str, Stored]:
        return self._closure

    def __repr__(self) -> str:
        return f"<definition {self.name} {self.hash[:12]}>"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def normal_text(workflow: Workflow) -> str:
    """The normal form of a workflow without errors, as canonical JSON."""
    return canonical(normal_form(workflow))


def definition_hash(workflow: Workflow) -> str:
    """SHA-256 over the canonical JSON of the normal form, in hex (section 10)."""
    return _digest(normal_text(workflow))


def calls(workflow: Workflow) -> tuple[str, ...]:
    """The names of the workflows that it starts or runs itself, each once, in the order of the text."""
    names: dict[str, None] = {}
    for step in walk(workflow.steps):
        kind = step.kind
        if isinstance(kind, RunWorkflow | StartWorkflows) and kind.workflow is not None:
            names[kind.workflow.value] = None
    return tuple(names)


def reachable(name: str, find: Callable[[str], Workflow | None]) -> tuple[dict[str, Workflow], tuple[str, ...]]:
    """Every workflow that ``name`` can start at any depth, and the names that nobody defines.

    ``find`` gives a workflow by its name, or None.
    """
    found: dict[str, Workflow] = {}
    missing: list[str] = []
    root = find(name)
    waiting = list(calls(root)) if root is not None else [name]
    while waiting:
        called = waiting.pop(0)
        if called in found or called in missing:
            continue
        workflow = find(called)
        if workflow is None:
            missing.append(called)
            continue
        found[called] = workflow
        waiting.extend(calls(workflow))
    return found, tuple(missing)


def make_definition(workflow: Workflow, closure: Mapping[str, Workflow]) -> Stored:
    """The definition of a validated workflow; ``closure`` holds at least every workflow it can start."""

    def find(name: str) -> Workflow | None:
        own = workflow.name is not None and workflow.name.value == name
        return workflow if own else closure.get(name)

    name = workflow.name.value if workflow.name is not None else ""
    found, missing = reachable(name, find)
    if missing:
        raise CallerError("unknown-workflow", f'No workflow is called "{missing[0]}"; "{name}" starts it.')
    texts = {called: normal_text(item) for called, item in found.items()}
    return _assemble(normal_text(workflow), workflow, texts, found)


def _assemble(text: str, workflow: Workflow, texts: Mapping[str, str], workflows: Mapping[str, Workflow]) -> Stored:
    """The definition with that of each workflow of its closure, every one with its own closure."""
    own = workflow.name.value if workflow.name is not None else ""
    everything = {**workflows, own: workflow}
    made: dict[str, Stored] = {}
    bare = {name: Stored(item, texts.get(name, text), {}) for name, item in everything.items()}
    for name in everything:
        found, _ = reachable(name, everything.get)
        made[name] = Stored(everything[name], bare[name].text, {called: bare[called] for called in found})
    for definition in made.values():
        # Every definition leads to the whole ones, so that a child brings its own closure along.
        definition._closure = {called: made[called] for called in definition._closure}
    return made[own]


# --- from stored text --------------------------------------------------------------------------


def _node(value: Json, piece: Piece) -> Node:
    """The syntax tree of a JSON value, as if it had been written in a document."""
    if isinstance(value, dict):
        entries = tuple(Entry(_node(name, piece), _node(item, piece)) for name, item in value.items())
        return MappingNode(piece, 0, 0, entries, False)
    if isinstance(value, list):
        return Sequence(piece, 0, 0, tuple(_node(item, piece) for item in value), False)
    if isinstance(value, str):
        return Scalar(piece, 0, 0, value, "double", value)
    return Scalar(piece, 0, 0, canonical(value), "plain", value)


_read: OrderedDict[str, Workflow] = OrderedDict()


def read_text(text: str) -> Workflow:
    """The workflow of a normal form, by the analyzer's own reader; `CallerError` ``store-corrupt``."""
    known = _read.get(text)
    if known is not None:
        _read.move_to_end(text)
        return known
    try:
        packed = load(text)
        if not isinstance(packed, dict):
            raise NotJson("it is no mapping")
        source = SourceText("stored definition", "")
        piece = Piece(source, "")
        workflow, findings = read_document(Document(_node(document(packed), piece), (piece,), ()))
    except (NotJson, LookupError, TypeError, ValueError) as error:
        raise CallerError("store-corrupt", f"A stored definition cannot be read: {error}.") from None
    if workflow is None or findings:
        why = findings[0].message if findings else "it is no workflow"
        raise CallerError("store-corrupt", f"A stored definition cannot be read: {why}")
    _read[text] = workflow
    if len(_read) > _CACHED:
        _read.popitem(last=False)
    return workflow


_loaded: OrderedDict[tuple[str, str], Stored] = OrderedDict()


def load_definition(text: str, closure: Mapping[str, str]) -> Stored:
    """The definition of stored text and of the texts of its closure by name (a `DefinitionLoader`)."""
    key = (_digest(text), _digest(canonical(dict(closure))))
    known = _loaded.get(key)
    if known is None:
        workflows = {name: read_text(item) for name, item in closure.items()}
        known = _loaded[key] = _assemble(text, read_text(text), closure, workflows)
        if len(_loaded) > _CACHED:
            _loaded.popitem(last=False)
    else:
        _loaded.move_to_end(key)
    return known


# --- storage -----------------------------------------------------------------------------------


def durability_needs(workflow: Workflow) -> list[tuple[str, Span]]:
    """What of a workflow needs a durable store (section 6.5): words for it, and where it stands."""
    needs: list[tuple[str, Span]] = []
    if workflow.concurrency is not None:
        needs.append(("the top-level concurrency", workflow.concurrency.key))
    if workflow.idempotency_key is not None:
        needs.append(("the idempotency key", workflow.idempotency_key.key))
    for step in walk(workflow.steps):
        kind = step.kind
        if isinstance(kind, Section):
            needs.append((f'the resource of step "{step.id}"', kind.resource.key if kind.resource else kind.key))
        elif isinstance(kind, Delay):
            needs.append((f'the delay of step "{step.id}"', kind.key))
        elif isinstance(kind, DependencyWait | SignalWait):
            needs.append((f'the wait of step "{step.id}" ({step.kind_name})', kind.key))
        elif isinstance(kind, StartWorkflows):
            needs.append((f'the runs that step "{step.id}" starts', kind.key))
    return needs
