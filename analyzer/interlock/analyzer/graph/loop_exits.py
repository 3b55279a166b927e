"""How loops made by ``next`` are left: by which steps, and whether what decides it ever changes.

The loops themselves are found by ``flow``; what is said about them is the part of the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.graph.flow import Edge, ListFlow, Loop, never_completes
from interlock.analyzer.graph.scope import SiteScope, result_name
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    DependencyWait,
    ForEach,
    RunWorkflow,
    SignalWait,
    Step,
    with_inner,
)
from interlock.analyzer.model.values import Expression, Template, expressions

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit


class Exit(msgspec.Struct, frozen=True, eq=False):
    """A step at which a loop may be left, and the expressions that decide it.

    ``flow`` and ``at`` are where the expressions are evaluated; ``own`` tells that the step's own
    result is seen.
    """

    step: Step
    flow: ListFlow
    at: int
    deciding: tuple[Expression, ...]
    own: bool = False


class LoopExits:
    """The ways out of one loop."""

    def __init__(self, unit: Unit, flow: ListFlow, loop: Loop) -> None:
        self.unit = unit
        self.flow = flow
        self.loop = loop
        self.exits: tuple[Exit, ...] = tuple(self._exits())
        self._busy: set[Step] = set()
        self._inner_steps = {step for number in loop.members for step in with_inner(flow.steps[number])}

    # -- ways out ---------------------------------------------------------------------------

    def _exits(self) -> list[Exit]:
        found: list[Exit] = []
        for number in sorted(self.loop.members):
            step = self.flow.steps[number]
            edges = self.flow.edges[number]
            leaving = [edge for edge in edges if edge.target not in self.loop.members]
            if leaving:
                found.extend(self._leaving(step, number, edges, leaving))
            elif never_completes(step):
                # It is in the loop, so it may be skipped; where it is not, the run ends.
                found.append(Exit(step, self.flow, number, _condition(step)))
            else:
                found.extend(self._failing_inside(step))
        return found

    def _leaving(self, step: Step, number: int, edges: tuple[Edge, ...], leaving: list[Edge]) -> list[Exit]:
        """The expressions that decide between the edges that leave and those that stay."""
        found: list[Exit] = []
        going = [edge for edge in edges if not edge.skipped]
        if len({edge.skipped for edge in edges}) == 2 or never_completes(step):
            found.append(Exit(step, self.flow, number, _condition(step)))
        jump = step.next.value if step.next is not None else None
        if isinstance(jump, Template) and any(not edge.skipped for edge in leaving) and len(going) > 1:
            found.append(Exit(step, self.flow, number, jump.expressions, own=True))
        return found or [Exit(step, self.flow, number, ())]

    def _failing_inside(self, step: Step) -> list[Exit]:
        """A ``fail`` inside a branch, section or item that makes the whole step fail."""
        kind = step.kind
        if isinstance(kind, Branches) and kind.on_error == "collect":
            return []
        if isinstance(kind, ForEach) and kind.mode != "all":
            return []
        found: list[Exit] = []
        for _, steps in step.inner():
            flow = self.unit.flow.inner(steps)
            for number in sorted(flow.reachable):
                inner = flow.steps[number]
                if never_completes(inner):
                    found.append(Exit(inner, flow, number, _condition(inner)))
                else:
                    found.extend(self._failing_inside(inner))
        return found

    # -- what the loop changes --------------------------------------------------------------

    def stuck(self) -> bool:
        """Whether nothing that decides about the ways out reads anything that the loop changes.

        Without any such expression nothing is known: then it is not said to be stuck.
        """
        if not self.exits or not all(way.deciding for way in self.exits):
            return False
        reads_something = False
        for way in self.exits:
            scope = SiteScope(self.unit.scopes, way.flow, way.at, way.step if way.own else None)
            for expression in way.deciding:
                if expression.tree is None or self._reads_change(expression, scope):
                    return False
                reads_something = reads_something or way.own or bool(self.unit.uses(expression))
        # A condition that reads nothing at all is reported as that (IL211).
        return reads_something

    def _reads_change(self, expression: Expression, scope: SiteScope) -> bool:
        for use in self.unit.uses(expression):
            name = use.path[0]
            if name == "state":
                if self.flow.role == "workflow" and (use.dynamic or len(use.path) < 2 or self._may_write(use.path[1])):
                    return True
                continue
            found = scope.find(name)
            if found is None:
                return True
            if found.step is not None and found.step in self._inner_steps and self._changes(found.step):
                return True
            if found.step is None and self._item_changes(name, scope):
                return True
        return False

    def _item_changes(self, name: str, scope: SiteScope) -> bool:
        """Whether a name that is no step's is the item of a ``for_each`` inside the loop."""
        flow = scope.flow
        while flow is not None and flow is not self.flow:
            owner = flow.owner
            if owner is not None and name in self.unit.scopes.added_names(owner):
                return True
            flow = flow.parent
        return False

    def _may_write(self, name: str) -> bool:
        """Whether the loop writes a member of the public state."""
        for number in self.loop.members:
            step = self.flow.steps[number]
            written = result_name(step)
            merges = isinstance(step.kind, RunWorkflow | DependencyWait | SignalWait) and written is None
            if merges or written == name:
                return True
        return False

    def _changes(self, step: Step) -> bool:
        """Whether a step of the loop may give another result each time.

        ``set`` and ``log`` give the same again unless what they read changes.
        """
        kind = step.kind
        if not isinstance(kind, BlockCall) or kind.block is None or kind.block.value not in ("set", "log"):
            return True
        if step in self._busy:
            return False
        self._busy.add(step)
        flow, at = self.unit.flow.of(step)
        scope = SiteScope(self.unit.scopes, flow, at, None)
        read = list(_condition(step))
        if kind.block.value == "set" and kind.params is not None:
            read.extend(expressions(kind.params.value))
        changes = any(self._reads_change(expression, scope) for expression in read)
        self._busy.discard(step)
        return changes


def _condition(step: Step) -> tuple[Expression, ...]:
    if step.when is None or isinstance(step.when.value, bool):
        return ()
    return step.when.value.expressions
