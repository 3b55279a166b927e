"""Names behind dots: the outputs and branches that an expression reads, wherever their values have gone.

An expression is typed once more, and what it selects from a map whose members somebody names is told.  So a
name is found behind an index, inside a macro, through an item, an output or a ``set`` block: wherever its type
is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from interlock.analyzer.expressions.ast import Binary, Has, Index, Literal, Node, Select
from interlock.analyzer.expressions.check import Checker
from interlock.analyzer.expressions.types import Optional, Record, Type, options
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.scope import SiteScope, result_name
from interlock.analyzer.model.nodes import RunWorkflow, Step


class StateOf:
    """The public state of a workflow as the one who gives names to its members."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit


class Read:
    """A member that is read: who names it, and where the name stands in the expression."""

    __slots__ = ("end", "name", "owner", "start")

    def __init__(self, owner: object, name: str, start: int, end: int) -> None:
        self.owner = owner
        self.name = name
        self.start = start
        self.end = end


def members_read(tree: Node, scope: SiteScope) -> list[Read]:
    """Every member with an owner that an expression reads or looks for."""
    reader = _Reader(_Scope(scope))
    reader.infer(tree)
    return reader.found


def merged_children(unit: Unit) -> list[Unit]:
    """The workflows whose outputs are merged into the public state of this one."""
    top = unit.flow.top
    kinds = [step.kind for step in top.steps] if top is not None else []
    found = [
        unit.program.by_name.get(kind.workflow.value)
        for kind in kinds
        if isinstance(kind, RunWorkflow) and kind.result_key_field is None and kind.workflow is not None
    ]
    return [child for child in found if child is not None]


class _Scope:
    """A place's names; the state, and a child that gives its state, have the members that can be known."""

    def __init__(self, outer: SiteScope) -> None:
        self.outer = outer

    def names(self) -> Iterable[str]:
        return self.outer.names()

    def resolve(self, name: str) -> Type | None:
        found = self.outer.find(name)
        if found is None:
            return self.outer.resolve(name)
        unit = self.outer.scopes.unit
        if found.step is not None:
            child = _gives_state(unit, found.step)
            return found.type if child is None else _state(child, (unit,))
        return _state(unit, ()) if name == "state" else found.type


def _gives_state(unit: Unit, step: Step) -> Unit | None:
    """The workflow whose state is the result of a step."""
    kind = step.kind
    child = unit.program.child(kind.workflow) if isinstance(kind, RunWorkflow) else None
    return child if child is not None and child.workflow.outputs is None else None


def _state(unit: Unit, around: tuple[Unit, ...]) -> Record:
    """The state of a workflow; ``around`` are those in whose state it is looked for."""
    top = unit.flow.top
    fields: dict[str, Type] = {}
    for step in top.steps if top is not None else ():
        name = result_name(step)
        child = _gives_state(unit, step)
        if name is not None and child is not None and child is not unit and child not in around:
            fields[name] = _state(child, (*around, unit))
        elif name is not None:
            fields[name] = unit.scopes.result(step)
    return Record(fields, True, "the state", (StateOf(unit),))


class _Reader(Checker):
    """A checker whose problems nobody asks for."""

    def __init__(self, scope: _Scope) -> None:
        super().__init__(scope)
        self.found: list[Read] = []
        self.types: dict[int, Type] = {}

    def infer(self, node: Node) -> Type:
        found = super().infer(node)
        self.types[id(node)] = found
        part = node.arg if isinstance(node, Has) else node
        if isinstance(part, Select):
            self.read(part.operand, part.field, part.field_start, part.field_end)
        elif isinstance(part, Index) and isinstance(part.index, Literal):
            self.quoted(part.operand, part.index)
        elif isinstance(part, Binary) and part.op == "in" and isinstance(part.left, Literal):
            self.quoted(part.right, part.left)
        return found

    def quoted(self, owner: Node, name: Literal) -> None:
        if isinstance(name.value, str):
            width = len(name.quote)
            self.read(owner, name.value, name.start + width, name.end - width)

    def read(self, owner: Node, name: str, start: int, end: int) -> None:
        for option in options(self.types[id(owner)]):
            for part in options(option.of if isinstance(option, Optional) else option):
                if isinstance(part, Record):
                    self.found.extend(Read(one, name, start, end) for one in part.owners)
