"""Which workflow runs or starts which: the calls of a workspace (section 8).

Every call names its workflow, so the graph is known before any run.  What a cycle of it means is
left to the rules; what a parent holds while its child runs, to ``locks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.graph.flow import END, ListFlow, never_completes
from interlock.analyzer.model.nodes import ForEach, RunWorkflow, Section, StartWorkflows, Step, walk
from interlock.analyzer.model.values import ListValue, Setting, Value

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Program, Unit


class Call(msgspec.Struct, frozen=True, eq=False):
    """One ``run_workflow`` or ``start_workflows``, and the workflow it means (None: no such one).

    ``starts`` tells the calls that do not wait for their runs.
    """

    unit: Unit
    step: Step
    kind: RunWorkflow | StartWorkflows
    name: Setting[str]
    child: Unit | None
    starts: bool


class CallGraph:
    """The calls of all workflows that are seen together."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.of: dict[Unit, tuple[Call, ...]] = {
            unit: tuple(_calls(unit)) for unit in program.units if unit.workflow.steps is not None
        }
        self._below: dict[Unit, tuple[Unit, ...]] = {}

    def calls(self) -> Iterator[Call]:
        """Every call, by file and position."""
        for calls in self.of.values():
            yield from calls

    def run_below(self, unit: Unit) -> tuple[Unit, ...]:
        """The workflows that a run of this one may wait for as its children, at any depth."""
        known = self._below.get(unit)
        if known is None:
            found: dict[Unit, None] = {}
            todo = [unit]
            while todo:
                for call in self.of.get(todo.pop(), ()):
                    child = call.child
                    if child is not None and not call.starts and child not in found and can_happen(call):
                        found[child] = None
                        todo.append(child)
            known = self._below[unit] = tuple(found)
        return known


def _calls(unit: Unit) -> Iterator[Call]:
    for step in walk(unit.workflow.steps):
        kind = step.kind
        if isinstance(kind, RunWorkflow | StartWorkflows) and kind.workflow is not None:
            child = unit.program.child(kind.workflow)
            yield Call(unit, step, kind, kind.workflow, child, isinstance(kind, StartWorkflows))


def can_happen(call: Call) -> bool:
    """Whether some path leads to the call: no ``when: false``, no empty list, no unreachable place."""
    kind = call.kind
    if isinstance(kind, StartWorkflows) and _is_list(kind.items, 0):
        return False
    for flow, number in _places(call):
        step = flow.steps[number]
        if number not in flow.reachable or (step.when is not None and step.when.value is False):
            return False
        if isinstance(step.kind, ForEach) and _is_list(step.kind.items, 0):
            return False
    return True


def always_happens(call: Call) -> bool:
    """Whether every run makes the call: nothing that could be otherwise decides on it.

    It is on every path to an end, and neither it nor what contains it has a condition, may be
    skipped, or depends on a list that may be empty.  What ``fail`` ends is an end, too.
    """
    if not can_happen(call):
        return False
    for flow, number in _places(call):
        step = flow.steps[number]
        if step.when is not None and step.when.value is not True:
            return False
        kind = step.kind
        if isinstance(kind, ForEach) and (_is_list(kind.items, 0) or not _is_list(kind.items)):
            return False
        if isinstance(kind, Section) and (kind.on_busy == "skip" or "resource" not in kind.fields):
            return False
        if not _unavoidable(flow, number):
            return False
    return True


def _places(call: Call) -> Iterator[tuple[ListFlow, int]]:
    """Where the call stands, and where each step that contains it does."""
    flow: ListFlow | None
    flow, number = call.unit.flow.of(call.step)
    while flow is not None:
        yield flow, number
        if flow.owner is None:
            return
        flow, number = call.unit.flow.of(flow.owner)


def _is_list(items: Setting[Value] | None, length: int | None = None) -> bool:
    """Whether ``items`` is written out (and has so many items)."""
    if items is None or not isinstance(items.value, ListValue):
        return False
    return length is None or len(items.value.items) == length


def _unavoidable(flow: ListFlow, number: int) -> bool:
    """Whether every path through the list goes over a step before it ends or fails on purpose."""
    fails = any(never_completes(step) for step in flow.steps[:number]) or flow.jumps
    if not fails:
        return True
    seen: set[int] = set()
    todo = [0]
    while todo:
        at = todo.pop()
        if at == number or at in seen:
            continue
        if at == END:
            return False
        seen.add(at)
        step = flow.steps[at]
        if never_completes(step) and (step.when is None or step.when.value is not False):
            return False
        todo.extend(edge.target for edge in flow.edges[at])
    return True
