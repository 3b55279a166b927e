"""Names and where they stand: definitions and references, across files and inside of templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

import msgspec

from interlock.analyzer.expressions.ast import Literal as CelLiteral
from interlock.analyzer.expressions.uses import Use, string_literals
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.graph.sites import Site
from interlock.analyzer.model.nodes import (
    Branch,
    Branches,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    walk,
)
from interlock.analyzer.model.values import Expression, ListValue, MapValue, Setting, Value
from interlock.analyzer.query.members import Read, StateOf, members_read, merged_children
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Alias, Document, Mapping, Node, Scalar, Sequence

SymbolKind: TypeAlias = Literal[
    "workflow", "input", "secret", "step", "result", "item", "branch", "group", "output", "anchor"
]

TITLES: dict[str, str] = {
    "workflow": "workflow",
    "input": "input",
    "secret": "secret",
    "step": "step",
    "result": "result key",
    "item": "item",
    "branch": "branch",
    "group": "group",
    "output": "output",
    "anchor": "anchor",
}


class Symbol(msgspec.Struct, frozen=True):
    """One name.  Two occurrences belong to one symbol when these are equal.

    ``owner`` is what the name belongs to: a workflow's name for its inputs and the names that other files
    use, else an object of the model or of the tree, by identity.
    """

    kind: SymbolKind
    name: str
    owner: object


class Occurrence(msgspec.Struct, frozen=True, eq=False):
    """One place where a name stands; ``span`` is the name alone, ``whole`` what it defines."""

    symbol: Symbol
    span: Span
    defines: bool = False
    writes: bool = False
    whole: Span | None = None


class _Owner:
    """An owner by identity, so that symbols can be compared."""

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Owner) and other.of is self.of

    def __hash__(self) -> int:
        return id(self.of)


_TABLES: WeakKeyDictionary[Unit, list[Occurrence]] = WeakKeyDictionary()


def occurrences(unit: Unit) -> list[Occurrence]:
    """Every name that stands in a workflow, once for each place."""
    table = _TABLES.get(unit)
    if table is None:
        seen: set[tuple[int, int, int, Symbol]] = set()
        table = []
        for one in _Collector(unit).all():
            mark = (id(one.span.piece), one.span.start, one.span.end, one.symbol)
            if mark not in seen:
                seen.add(mark)
                table.append(one)
        _TABLES[unit] = table
    return table


def symbol_at(program: Program, units: list[Unit], offset: int) -> Occurrence | None:
    """The name under the cursor; where several cover it, the shortest."""
    found: Occurrence | None = None
    for unit in units:
        for one in occurrences(unit):
            if one.span.offset <= offset <= one.span.end_offset:
                if found is None or one.span.end - one.span.start < found.span.end - found.span.start:
                    found = one
    return found


def everywhere(program: Program, symbol: Symbol) -> list[Occurrence]:
    """All places of a name in all workflows that are seen together."""
    return [one for unit in program.units for one in occurrences(unit) if one.symbol == symbol]


class _Collector:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.workflow = unit.workflow
        self.me = unit.name or _Owner(unit.workflow)
        steps = walk(unit.workflow.steps)
        self.shows = any(isinstance(step.kind, Branches | ForEach | RunWorkflow | Section) for step in steps)

    def all(self) -> Iterator[Occurrence]:
        workflow = self.workflow
        if workflow.name is not None:
            symbol = Symbol("workflow", workflow.name.value, None)
            yield Occurrence(symbol, workflow.name.span, True, whole=workflow.span)
        for name, declared in workflow.inputs.items():
            yield Occurrence(self.input(name), declared.key, True)
        for secret in workflow.secrets:
            yield Occurrence(Symbol("secret", secret.name, self.me), secret.span, True)
        if workflow.outputs is not None:
            for member in workflow.outputs.value.members:
                yield Occurrence(Symbol("output", member.name, self.me), member.key, True)
        for steps in (workflow.steps, workflow.on_cancel, workflow.on_deadline):
            for step in walk(steps):
                yield from self.step(step)
        for site in self.unit.sites:
            yield from self.site(site)

    def input(self, name: str) -> Symbol:
        return Symbol("input", name, self.me)

    # -- steps ------------------------------------------------------------------------------

    def step(self, step: Step) -> Iterator[Occurrence]:
        kind = step.kind
        if step.id:
            yield Occurrence(Symbol("step", step.id, _Owner(step)), step.id_span, True, whole=step.span)
        if step.next is not None and isinstance(step.next.value, str):
            yield from self.target(step, step.next.value, step.next.span)
        key: Setting[str] | None = getattr(kind, "result_key_field", None)
        if key is not None:
            yield Occurrence(Symbol("result", key.value, _Owner(step)), key.span, True, whole=step.span)
        elif isinstance(kind, SignalWait | DependencyWait | StartWorkflows) and (given := result_name(step)):
            yield Occurrence(Symbol("result", given, _Owner(step)), kind.key, True, whole=step.span)
        if isinstance(kind, Branches):
            for branch in kind.branches:
                if branch.name:
                    yield Occurrence(Symbol("branch", branch.name, _Owner(step)), branch.key, True)
                yield from self.outputs(branch.outputs, _Owner(branch))
        elif isinstance(kind, ForEach):
            if kind.as_field is not None:
                symbol = Symbol("item", kind.as_field.value, _Owner(step))
                yield Occurrence(symbol, kind.as_field.span, True)
            yield from self.outputs(kind.outputs, _Owner(step))
        elif isinstance(kind, RunWorkflow):
            yield from self.child(kind.workflow)
            if kind.inputs is not None and kind.workflow is not None:
                for member in kind.inputs.value.members:
                    yield Occurrence(Symbol("input", member.name, kind.workflow.value), member.key)
        elif isinstance(kind, StartWorkflows):
            yield from self.child(kind.workflow)
            if kind.group_key is not None:
                yield Occurrence(Symbol("group", kind.group_key.value, self.me), kind.group_key.span, True)
            payload = kind.payload_key_field
            if payload is not None and kind.workflow is not None:
                yield Occurrence(Symbol("input", payload.value, kind.workflow.value), payload.span)
            if kind.items is not None and kind.workflow is not None:
                yield from self.items(kind.items.value, kind.workflow.value)
        elif isinstance(kind, DependencyWait):
            if kind.group is not None:
                yield Occurrence(Symbol("group", kind.group.value, self.me), kind.group.span)
        elif isinstance(kind, SignalWait):
            if kind.correlation_key is not None:
                for symbol in self.correlated(kind.correlation_key.value):
                    yield Occurrence(symbol, kind.correlation_key.span)
        else:
            yield from self.outputs(getattr(kind, "outputs", None), _Owner(step))

    def outputs(self, outputs: object, owner: _Owner) -> Iterator[Occurrence]:
        if isinstance(outputs, Setting):
            for member in outputs.value.members:
                yield Occurrence(Symbol("output", member.name, owner), member.key, True)

    def items(self, items: Value, workflow: str) -> Iterator[Occurrence]:
        """The inputs that the maps of a written list name."""
        for item in items.items if isinstance(items, ListValue) else ():
            if isinstance(item, MapValue):
                for member in item.members:
                    yield Occurrence(Symbol("input", member.name, workflow), member.key)

    def correlated(self, name: str) -> list[Symbol]:
        """What a ``correlation_key`` can mean: a name of the public state, and an input (section 9)."""
        symbol = self.in_state(self.unit, name)
        found = [] if symbol is None else [symbol]
        return [*found, self.input(name)] if name in self.workflow.inputs else found

    def child(self, name: Setting[str] | None) -> Iterator[Occurrence]:
        if name is not None:
            yield Occurrence(Symbol("workflow", name.value, None), name.span)

    def target(self, step: Step, word: str, span: Span) -> Iterator[Occurrence]:
        flow, _ = self.unit.flow.of(step)
        number = flow.index.get(word)
        if number is not None:
            yield Occurrence(Symbol("step", word, _Owner(flow.steps[number])), span)

    # -- expressions ------------------------------------------------------------------------

    def site(self, site: Site) -> Iterator[Occurrence]:
        expression = site.expression
        uses = self.unit.uses(expression)
        for use in uses:
            yield from self.use(site, expression, use)
        if expression.tree is not None and (self.shows or any(use.path[0] == "state" for use in uses)):
            for read in members_read(expression.tree, self.unit.scopes.at(site)):
                symbol = self.member(read)
                if symbol is not None:
                    yield Occurrence(symbol, expression.at(read.start, read.end))
        if site.place == "next" and site.step is not None and expression.tree is not None:
            for literal in string_literals(expression.tree):
                yield from self.target(site.step, str(literal.value), _inside(expression, literal))

    def use(self, site: Site, expression: Expression, use: Use) -> Iterator[Occurrence]:
        def at(number: int) -> Span:
            return expression.at(use.starts[number], use.ends[number])

        root = use.path[0]
        if root in ("inputs", "secrets") and len(use.path) > 1:
            kind: SymbolKind = "input" if root == "inputs" else "secret"
            yield Occurrence(Symbol(kind, use.path[1], self.me), at(1))
            return
        if root == "state":
            return
        scope = self.unit.scopes.at(site)
        named = scope.find(root)
        if named is None:
            hidden = self.unit.scopes.hidden(site.flow, root)
            if hidden is not None and hidden.step is not None and result_name(hidden.step) == root:
                yield Occurrence(self.symbol_of(hidden.step), at(0))
            return
        if named.step is None:
            owner = self.item_owner(site, root)
            if owner is not None:
                yield Occurrence(Symbol("item", root, _Owner(owner)), at(0))
            return
        yield Occurrence(self.symbol_of(named.step), at(0))

    def member(self, read: Read) -> Symbol | None:
        """What a member that is read stands for."""
        owner = read.owner
        if isinstance(owner, StateOf):
            return self.in_state(owner.unit, read.name)
        if isinstance(owner, str):
            return Symbol("output", read.name, owner)
        if isinstance(owner, Step) and isinstance(owner.kind, Branches):
            known = any(branch.name == read.name for branch in owner.kind.branches)
            return Symbol("branch", read.name, _Owner(owner)) if known else None
        assert isinstance(owner, Step | Branch)
        return Symbol("output", read.name, _Owner(owner))

    def symbol_of(self, step: Step) -> Symbol:
        """The symbol of the name under which a step writes."""
        name = result_name(step)
        if name is not None and isinstance(step.kind, RunWorkflow | SignalWait | DependencyWait | StartWorkflows):
            return Symbol("result", name, _Owner(step))
        return Symbol("step", step.id, _Owner(step))

    def in_state(self, unit: Unit, name: str, seen: frozenset[Unit] = frozenset()) -> Symbol | None:
        """What a name of a workflow's public state stands for: a step's, or one that a child's outputs bring."""
        top = unit.flow.top
        writer = next((step for step in top.steps if result_name(step) == name), None) if top is not None else None
        if writer is not None:
            return self.symbol_of(writer)
        for child in merged_children(unit):
            if child not in seen and (found := self.given(child, name, seen | {unit})) is not None:
                return found
        return None

    def given(self, child: Unit, name: str, seen: frozenset[Unit]) -> Symbol | None:
        """What a name in what a child gives back stands for."""
        outputs = child.workflow.outputs
        if outputs is None:
            return self.in_state(child, name, seen)
        return Symbol("output", name, child.name) if outputs.value.get(name) is not None else None

    def item_owner(self, site: Site, name: str) -> Step | None:
        flow = site.flow
        while flow is not None and flow.owner is not None:
            kind = flow.owner.kind
            if isinstance(kind, ForEach) and kind.as_name == name:
                return flow.owner if kind.as_field is not None else None
            flow = flow.parent
        return None


def _inside(expression: Expression, literal: CelLiteral) -> Span:
    width = len(literal.quote)
    return expression.at(literal.start + width, literal.end - width)


# -- anchors -------------------------------------------------------------------------------------


def anchors(document: Document) -> list[Occurrence]:
    """Anchors and the aliases that stand for them."""
    found: list[Occurrence] = []
    if document.root is None:
        return found
    stack: list[Node] = [document.root]
    while stack:
        node = stack.pop()
        if isinstance(node, Alias):
            if node.target is not None:
                symbol = Symbol("anchor", node.name, _Owner(node.target))
                found.append(Occurrence(symbol, Span(node.piece, node.start + 1, node.end)))
            continue
        if node.anchor is not None:
            span = _anchor_span(node, node.anchor)
            if span is not None:
                symbol = Symbol("anchor", node.anchor, _Owner(node))
                found.append(Occurrence(symbol, span, True, whole=node.span))
        if isinstance(node, Mapping):
            for entry in node.entries:
                stack.extend((entry.value, entry.key))
        elif isinstance(node, Sequence):
            stack.extend(node.items)
    return found


def _anchor_span(node: Scalar | Mapping | Sequence, name: str) -> Span | None:
    at = node.piece.text.rfind("&" + name, 0, node.start)
    return None if at < 0 else Span(node.piece, at + 1, at + 1 + len(name))
