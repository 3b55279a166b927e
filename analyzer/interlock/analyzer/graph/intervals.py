"""How much a run takes at least and at most: transitions, cost, items, started runs, delays.

The abstract interpretation for budgets (section 10): each step list gets, for each quantity, the
least over the paths on which it completes, and the greatest over all paths.  A skipped step takes
nothing, a loop is gone through once at least and without end at most, and what another run does
belongs to that run, except that its delays are waited for.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from interlock.analyzer.expressions.ast import ListLiteral
from interlock.analyzer.graph.flow import END, Edge, ListFlow
from interlock.analyzer.graph.state_size import COMMA, EMPTY_STATE, result_size, skipped_size
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    Broken,
    Delay,
    ForEach,
    RunWorkflow,
    Section,
    StartWorkflows,
    Step,
    StepList,
)
from interlock.analyzer.model.values import ListValue, Setting, Template, Value, expressions

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit

INFINITE = float("inf")

Quantity: TypeAlias = Literal[
    "transitions", "cost_units", "for_each_items", "started_workflows", "state_bytes", "delay"
]
QUANTITIES: tuple[Quantity, ...] = (
    "transitions",
    "cost_units",
    "for_each_items",
    "started_workflows",
    "state_bytes",
    "delay",
)


class Part(msgspec.Struct, frozen=True, eq=False):
    """What one step adds on a path; delays in seconds."""

    step: Step
    amount: float


class Least(msgspec.Struct, frozen=True, eq=False):
    """The least amount, and the way that takes it.

    ``path`` are the steps of the list itself in their order, each with all that is inside it;
    ``parts`` are the steps at any depth that add something themselves.
    """

    amount: float
    path: tuple[Part, ...] = ()
    parts: tuple[Part, ...] = ()


class Interval(msgspec.Struct, frozen=True):
    """Amounts between which every completed run lies; ``INFINITE`` where nothing bounds them.

    ``least`` is None where no path completes.  ``limit`` is the budget (the deadline for delays).
    """

    least: float | None
    greatest: float
    limit: float | None = None


class BudgetIntervals(msgspec.Struct, frozen=True):
    """The intervals of one workflow; delays in seconds."""

    transitions: Interval
    cost_units: Interval
    for_each_items: Interval
    started_workflows: Interval
    state_bytes: Interval
    delay: Interval


def known_length(items: Setting[Value] | None) -> int | None:
    """The number of items where it is written: of a list, or of a list literal in a template."""
    if items is None:
        return None
    value = items.value
    if isinstance(value, ListValue):
        return len(value.items)
    if isinstance(value, Template) and value.whole:
        tree = value.expressions[0].tree
        if isinstance(tree, ListLiteral) and not any(item.optional for item in tree.items):
            return len(tree.items)
    return None


def can_fail(step: Step) -> bool:
    """Whether a step may fail by itself: only plain delays, and ``set`` and ``log`` of literals, cannot."""
    kind = step.kind
    if step.when is not None and isinstance(step.when.value, Template):
        return True
    if isinstance(step.next.value if step.next else None, Template):
        return True
    if step.compensate is not None and step.compensate.params is not None:
        if any(True for _ in expressions(step.compensate.params.value)):
            return True
    if isinstance(kind, Delay):
        return kind.seconds is None
    if isinstance(kind, BlockCall) and kind.block is not None and kind.block.value in ("set", "log"):
        return kind.params is None or any(True for _ in expressions(kind.params.value))
    return True


class Bounds:
    """One quantity of one workflow.  ``busy`` are workflows that are being measured: recursion adds nothing."""

    def __init__(self, unit: Unit, quantity: Quantity, busy: frozenset[Unit] = frozenset()) -> None:
        self.unit = unit
        self.quantity = quantity
        self.busy = busy | {unit}
        # What a step takes does not depend on the others; a child's, on who asks.
        known = unit.least.setdefault(quantity, {}) if not busy else {}
        self._least: dict[Step, Least | None] = known

    # -- the whole --------------------------------------------------------------------------

    def least(self) -> Least | None:
        """The least of a run that completes; None where none does."""
        top = self.unit.flow.top
        if top is None:
            return Least(0)
        found = self._least_of(top)
        if found is not None and self.quantity == "state_bytes":
            named = sum(1 for part in found.path if part.amount)
            amount = found.amount + EMPTY_STATE + COMMA * max(0, named - 1)
            return Least(amount, found.path, found.parts)
        return found

    def greatest(self) -> float:
        """The greatest that the flow allows, budgets aside."""
        top = self.unit.flow.top
        if self.quantity == "state_bytes":
            return INFINITE
        return self._greatest_of(top) if top is not None else 0

    def _add(self, one: float, other: float) -> float:
        return max(one, other) if self.quantity == "for_each_items" else one + other

    # -- paths ------------------------------------------------------------------------------

    def _least_of(self, flow: ListFlow, or_fails: bool = False) -> Least | None:
        """The cheapest path to the end of a list, or to a step that may fail."""
        if not flow.steps:
            return Least(0)
        if flow.straight:
            return self._straight(flow, or_fails)
        distance: dict[int, float] = {0: 0}
        came: dict[int, tuple[int, Edge]] = {}
        todo: list[tuple[float, int, int]] = [(0, 0, 0)]
        done: set[int] = set()
        while todo:
            amount, _, number = heappop(todo)
            if number in done:
                continue
            done.add(number)
            if number == END or (or_fails and can_fail(flow.steps[number])):
                return self._path(flow, came, number, amount)
            for edge in flow.edges[number]:
                weight = self._edge(flow, number, edge)
                if weight is None:
                    continue
                total = self._add(amount, weight)
                if edge.target not in distance or total < distance[edge.target]:
                    distance[edge.target] = total
                    came[edge.target] = (number, edge)
                    # Equal ways are told in the order of the text, the end last.
                    order = edge.target if edge.target != END else len(flow.steps)
                    heappush(todo, (total, order, edge.target))
        return None

    def _straight(self, flow: ListFlow, or_fails: bool) -> Least | None:
        """The same where the steps simply follow each other."""
        total = 0.0
        path: list[Part] = []
        parts: list[Part] = []
        sizes = self.quantity == "state_bytes"
        for number, step in enumerate(flow.steps):
            if or_fails and can_fail(step):
                break
            if not sizes:
                # One that may be skipped takes nothing then, and that is the least.
                if step.when is not None and step.when.value is not True:
                    continue
                least = self.step(step)
                if least is None:
                    return None
                if least.amount:
                    total = self._add(total, least.amount)
                    path.append(Part(step, least.amount))
                    parts.extend(least.parts)
                continue
            best: float | None = None
            for edge in flow.edges[number]:
                weight = self._edge(flow, number, edge)
                if weight is not None and (best is None or weight < best):
                    best = weight
            if best is None:
                return None
            if not best:
                continue
            total = self._add(total, best)
            path.append(Part(step, best))
        return Least(total, tuple(path), tuple(parts))

    def _edge(self, flow: ListFlow, number: int, edge: Edge) -> float | None:
        step = flow.steps[number]
        if edge.skipped:
            return skipped_size(step) if self._sizes(flow) else 0
        if self.quantity == "state_bytes":
            return result_size(self.unit, step) if self._sizes(flow) else 0
        least = self.step(step)
        return None if least is None else least.amount

    def _sizes(self, flow: ListFlow) -> bool:
        return self.quantity == "state_bytes" and flow.role == "workflow"

    def _path(self, flow: ListFlow, came: dict[int, tuple[int, Edge]], end: int, amount: float) -> Least:
        way: list[tuple[int, Edge]] = []
        at = end
        while at in came:
            way.append(came[at])
            at = came[at][0]
        path: list[Part] = []
        parts: list[Part] = []
        for number, edge in reversed(way):
            step = flow.steps[number]
            path.append(Part(step, self._edge(flow, number, edge) or 0))
            if not edge.skipped and self.quantity != "state_bytes" and (least := self.step(step)) is not None:
                parts.extend(least.parts)
        return Least(amount, tuple(path), tuple(parts))

    # -- steps ------------------------------------------------------------------------------

    def step(self, step: Step) -> Least | None:
        """The least of a step that completes, all inside it included; None where it never does."""
        if step not in self._least:
            self._least[step] = self._step(step)
        return self._least[step]

    def _step(self, step: Step) -> Least | None:
        own = self.own(step)
        inside = self._inside(step)
        if inside is None:
            return None
        parts = ((Part(step, own), *inside.parts)) if own else inside.parts
        return Least(self._add(own, inside.amount), (), parts)

    def own(self, step: Step) -> float:
        """What the step itself takes when it completes."""
        kind = step.kind
        if isinstance(kind, Broken):
            return 0
        if self.quantity == "transitions":
            return 1
        if self.quantity == "cost_units":
            return self._cost(step)
        if self.quantity == "for_each_items":
            return self._count(kind) if isinstance(kind, ForEach) else 0
        if self.quantity == "started_workflows":
            return self._started(kind) if isinstance(kind, StartWorkflows) else 0
        if self.quantity == "delay" and isinstance(kind, Delay) and kind.seconds is not None:
            return kind.seconds.value
        return 0

    def _cost(self, step: Step) -> float:
        if step.cost_units is not None:
            return step.cost_units.value
        if not isinstance(step.kind, BlockCall) or "cost_units" in step.fields:
            return 0
        spec = self.unit.program.block(step.kind.block)
        return spec.cost_units if spec is not None else 1

    def _started(self, kind: StartWorkflows) -> float:
        """The runs that it surely starts: a child with an idempotency key may be there already."""
        child = self.unit.program.child(kind.workflow)
        if child is None or "idempotency_key" in child.workflow.fields:
            return 0
        return known_length(kind.items) or 0

    def _count(self, kind: ForEach) -> int:
        """The least number of items with which it completes, of those that are there."""
        length = known_length(kind.items)
        return self._successes(kind) if length is None else length

    def _successes(self, kind: ForEach) -> int:
        """The least number of items that must succeed."""
        length = known_length(kind.items)
        if kind.mode == "all" or (kind.mode_field is None and "mode" in kind.fields):
            return length or 0
        wanted = 1 if kind.mode == "first_success" else kind.quorum.value if kind.quorum else 1
        return wanted if length is None else min(wanted, length)

    # -- containers -------------------------------------------------------------------------

    def _inside(self, step: Step) -> Least | None:
        kind = step.kind
        if isinstance(kind, Branches):
            return self._branches(kind)
        if isinstance(kind, Section):
            return Least(0) if kind.on_busy == "skip" else self._list(kind.steps)
        if isinstance(kind, ForEach):
            return self._for_each(kind)
        if isinstance(kind, RunWorkflow) and self.quantity == "delay":
            child = self.unit.program.child(kind.workflow)
            if child is not None and child not in self.busy and not child.workflow.broken:
                return Bounds(child, "delay", self.busy).least() or Least(0)
        return Least(0)

    def _list(self, steps: StepList | None, or_fails: bool = False) -> Least | None:
        return Least(0) if steps is None else self._least_of(self.unit.flow.inner(steps), or_fails)

    def _branches(self, kind: Branches) -> Least | None:
        found: list[Least] = []
        for branch in kind.branches:
            least = self._list(branch.steps, kind.on_error == "collect")
            if least is None:
                return None
            found.append(least)
        parts = tuple(part for least in found for part in least.parts)
        if self.quantity == "delay":
            return Least(_makespan([least.amount for least in found], kind.limit), (), parts)
        total = 0.0
        for least in found:
            total = self._add(total, least.amount)
        return Least(total, (), parts)

    def _for_each(self, kind: ForEach) -> Least | None:
        times = self._successes(kind)
        if times == 0:
            # No items: only "all" completes without any.
            return Least(0) if kind.mode == "all" else None
        least = self._list(kind.steps)
        if least is None:
            return None
        if self.quantity == "for_each_items":
            return least
        if self.quantity == "delay":
            return Least(_makespan([least.amount] * min(times, 10_000), kind.limit), (), least.parts)
        return Least(times * least.amount, (), least.parts)

    # -- the greatest -----------------------------------------------------------------------

    def _greatest_of(self, flow: ListFlow) -> float:
        weights = {
            number: self._greatest_step(flow.steps[number])
            for number in flow.reachable
            if flow.steps[number].when is None or flow.steps[number].when.value is not False  # type: ignore[union-attr]
        }
        if self.quantity == "for_each_items":
            return max(weights.values(), default=0)
        if any(weights.get(number, 0) for loop in flow.loops for number in loop.members):
            return INFINITE
        known: dict[int, float] = {END: 0}
        for number, targets in _in_order(flow):
            known[number] = weights.get(number, 0) + max((known[target] for target in targets), default=0)
        # A loop's first member stands for it, and 0 is first wherever it is a member.
        return known.get(0, 0)

    def _greatest_step(self, step: Step) -> float:
        kind = step.kind
        own = self.own(step)
        if isinstance(kind, StartWorkflows) and self.quantity == "started_workflows":
            length = known_length(kind.items)
            return INFINITE if length is None else length
        if isinstance(kind, Delay) and kind.seconds is None and self.quantity == "delay":
            return INFINITE
        if isinstance(kind, RunWorkflow) and self.quantity == "delay":
            child = self.unit.program.child(kind.workflow)
            return INFINITE if child is None or child in self.busy else Bounds(child, "delay", self.busy).greatest()
        inner = [self._greatest_of(self.unit.flow.inner(steps)) for _, steps in step.inner()]
        if isinstance(kind, ForEach):
            return self._greatest_items(kind, own, max(inner, default=0))
        if self.quantity == "delay" and isinstance(kind, Branches):
            return _makespan(inner, kind.limit)
        total = own
        for amount in inner:
            total = self._add(total, amount)
        return total

    def _greatest_items(self, kind: ForEach, own: float, inner: float) -> float:
        length = known_length(kind.items)
        budget = self.unit.workflow.budget
        count: float = INFINITE if length is None else length
        if budget is not None and budget.max_for_each_items is not None:
            count = min(count, budget.max_for_each_items.value)
        if self.quantity == "for_each_items":
            return max(count, inner)
        if not inner or not count:
            return own
        if self.quantity == "delay":
            return INFINITE if count == INFINITE else _makespan([inner] * min(int(count), 10_000), kind.limit)
        return own + count * inner


def _in_order(flow: ListFlow) -> list[tuple[int, list[int]]]:
    """The reachable steps with what they lead to, targets first; a loop stands as its first member."""
    stands = {number: min(loop.members) for loop in flow.loops for number in loop.members}
    targets: dict[int, list[int]] = {}
    for number in sorted(flow.reachable):
        here = targets.setdefault(stands.get(number, number), [])
        ways = (stands.get(edge.target, edge.target) for edge in flow.edges[number])
        here.extend(way for way in ways if way != stands.get(number, number))
    order: list[tuple[int, list[int]]] = []
    seen: set[int] = set()
    todo: list[tuple[int, bool]] = [(0, False)] if flow.steps else []
    while todo:
        number, ready = todo.pop()
        if ready:
            order.append((number, targets[number]))
        elif number not in seen:
            seen.add(number)
            todo.append((number, True))
            todo.extend((target, False) for target in targets[number] if target != END)
    return order


def _makespan(durations: list[float], limit: int) -> float:
    """The time that pieces take which start in their order, at most ``limit`` at once."""
    if not durations:
        return 0
    if limit >= len(durations) or INFINITE in durations:
        return max(durations)
    slots = [0.0] * limit
    for duration in durations:
        heappush(slots, heappop(slots) + duration)
    return max(slots)


def budget_intervals(unit: Unit) -> BudgetIntervals:
    """The intervals of a workflow with its limits, for graphs, statistics and hovers."""
    workflow = unit.workflow
    budget = workflow.budget
    found: list[Interval] = []
    for quantity in QUANTITIES:
        bounds = Bounds(unit, quantity)
        least = bounds.least()
        setting = workflow.deadline if quantity == "delay" else getattr(budget, f"max_{quantity}", None)
        limit = setting.value if setting is not None else None
        greatest = bounds.greatest()
        if limit is not None:
            greatest = min(greatest, limit)
        found.append(Interval(least.amount if least is not None else None, greatest, limit))
    return BudgetIntervals(*found)
