"""Control flow inside step lists: where a step may go, what has settled before it, and loops.

Every list (the workflow's, a branch's, a section's, an item's, a handler's) is a small graph of
its own; a step with inner lists is one node of its list.  What is held, absent or tainted at a
point is computed by others over these graphs, with ``ListFlow.solve``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cached_property, lru_cache
from typing import TypeVar

import msgspec

from interlock.analyzer.expressions import ast
from interlock.analyzer.expressions.uses import string_literals
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    ForEach,
    Section,
    Step,
    StepList,
    Workflow,
)
from interlock.analyzer.model.values import Template
from interlock.analyzer.source.text import Span

T = TypeVar("T")

END = -1
_MOST_EDGES = 200_000


class Edge(msgspec.Struct, frozen=True):
    """One way on from a step: to the index of a step of the list, or ``END``.

    ``skipped`` edges are taken when the step's condition is false, the others when it completes.
    ``explicit`` edges come from a ``next``.
    """

    target: int
    skipped: bool
    explicit: bool = False


class Loop(msgspec.Struct, frozen=True):
    """Steps of one list that can be reached again from themselves, by their indices.

    ``closing`` are the steps whose ``next`` leads back to their own place or before it.
    """

    members: frozenset[int]
    closing: tuple[int, ...]


@lru_cache(maxsize=10_000)
def _plain_edges(following: int, conditional: bool) -> tuple[Edge, ...]:
    """The ways on from a step that goes on to the next one."""
    return (Edge(following, False), Edge(following, True)) if conditional else (Edge(following, False),)


class Numbers(Collection[int]):
    """Numbers as the bits of one."""

    __slots__ = ("bits",)

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and number >= 0 and self.bits >> number & 1 == 1

    def __iter__(self) -> Iterator[int]:
        bits = self.bits
        while bits:
            lowest = bits & -bits
            yield lowest.bit_length() - 1
            bits ^= lowest

    def __len__(self) -> int:
        return self.bits.bit_count()


class ListFlow:
    """The flow of one step list.

    ``role`` is ``workflow``, ``branch``, ``section``, ``item`` or ``handler``; ``owner`` is the
    step that contains the list, and ``parent`` the flow of the list in which that step stands.
    """

    def __init__(
        self, steps: StepList, role: str, owner: Step | None, parent: ListFlow | None, branch: str = ""
    ) -> None:
        self.list = steps
        self.steps = steps.steps
        self.role = role
        self.owner = owner
        self.parent = parent
        self.branch = branch
        self._must: list[int | None] | None = None
        self._may: list[int | None] | None = None
        self._end: int | None = None
        self._straight: bool | None = None
        self._loops: tuple[Loop, ...] | None = None

    # -- edges ------------------------------------------------------------------------------

    @cached_property
    def index(self) -> dict[str, int]:
        """The numbers of the steps by their ids; of two alike, that of the first."""
        return {step.id: number for number, step in reversed(list(enumerate(self.steps))) if step.id}

    @cached_property
    def edges(self) -> tuple[tuple[Edge, ...], ...]:
        """The ways on from each step."""
        return tuple([self._edges(number, step) for number, step in enumerate(self.steps)])

    def next_targets(self, step: Step) -> tuple[int, ...] | None:
        """Where the ``next`` of a step may go; None where it has none, or a bad one (IL213)."""
        if step.next is None:
            return None
        value = step.next.value
        if isinstance(value, str):
            if value == "end":
                return (END,)
            return (self.index[value],) if value in self.index else None
        return self._template_targets(value)

    def _template_targets(self, template: Template) -> tuple[int, ...] | None:
        words: list[str] = []
        for expression in template.expressions:
            if expression.tree is None:
                return None  # it cannot be read, which is an error already
            words.extend(str(literal.value) for literal in string_literals(expression.tree))
        targets = [END if word == "end" else self.index[word] for word in words if word == "end" or word in self.index]
        if targets:
            return tuple(dict.fromkeys(targets))
        if any(True for _ in given_literals(template)):
            return None
        return (*range(len(self.steps)), END)

    def _edges(self, number: int, step: Step) -> tuple[Edge, ...]:
        following = number + 1 if number + 1 < len(self.steps) else END
        condition = step.when.value if step.when is not None else True
        if step.next is None and condition is not False and not never_completes(step):
            return _plain_edges(following, condition is not True)
        edges: list[Edge] = []
        if condition is not False and not never_completes(step):
            targets = self.next_targets(step)
            if targets is None:
                edges.append(Edge(following, False))
            else:
                edges.extend(Edge(target, False, True) for target in targets)
        if condition is not True:
            edges.append(Edge(following, True))
        return tuple(edges)

    @cached_property
    def reachable(self) -> frozenset[int]:
        """The numbers of the steps that a path leads to."""
        seen: set[int] = set()
        todo = [0] if self.steps else []
        while todo:
            number = todo.pop()
            if number == END or number in seen:
                continue
            seen.add(number)
            todo.extend(edge.target for edge in self.edges[number])
        return frozenset(seen)

    @property
    def jumps(self) -> bool:
        """Whether any step goes elsewhere than to the following one."""
        if all(step.next is None for step in self.steps):
            return False
        return any(edge.explicit for edges in self.edges for edge in edges)

    # -- dataflow ---------------------------------------------------------------------------

    def solve(
        self,
        entry: T,
        transfer: Callable[[Step, T, Edge], T],
        join: Callable[[T, T], T],
    ) -> tuple[list[T | None], T | None]:
        """A forward analysis: the fact before each step, and the one at the end of the list.

        ``transfer`` gives the fact after a step along an edge; ``join`` merges the facts of two
        paths and must be monotone over a finite set.  A fact is None where no path leads.
        """
        before: list[T | None] = [None] * len(self.steps)
        at_end: T | None = None
        if not self.steps:
            return before, entry
        before[0] = entry
        todo = [0]
        while todo:
            number = todo.pop(0)
            fact = before[number]
            assert fact is not None
            for edge in self.edges[number]:
                after = transfer(self.steps[number], fact, edge)
                if edge.target == END:
                    at_end = after if at_end is None else join(at_end, after)
                    continue
                old = before[edge.target]
                merged = after if old is None else join(old, after)
                if old is None or merged != old:
                    before[edge.target] = merged
                    if edge.target not in todo:
                        todo.append(edge.target)
        return before, at_end

    @property
    def straight(self) -> bool:
        """Whether the steps simply follow each other: then what stands before has settled."""
        if self._straight is None:
            self._straight = not self.jumps and not any(never_completes(step) for step in self.steps)
        return self._straight

    def is_settled(self, number: int, at: int) -> bool:
        """Whether a step has settled on every path to the place before ``at`` (or to the end).

        Where no path leads everything counts as settled: nothing is to be said about such a place.
        """
        if self.straight:
            return number < at
        if self._must is None:
            self._must, self._end = self._settle(int.__and__)
        settled = self._end if at >= len(self.steps) else self._must[at]
        return settled is None or settled >> number & 1 == 1

    def may_have_settled(self, number: int) -> Collection[int]:
        """The steps that have settled before this one on some path."""
        if self.straight:
            return range(number)
        if self._may is None:
            self._may = self._settle(int.__or__)[0]
        return Numbers(self._may[number] or 0)

    def _settle(self, join: Callable[[int, int], int]) -> tuple[list[int | None], int | None]:
        """What has settled before each step and at the end, as bits: None where no path leads."""
        bits = {step: 1 << number for number, step in enumerate(self.steps)}

        def transfer(step: Step, fact: int, edge: Edge) -> int:
            return fact | bits[step]

        return self.solve(0, transfer, join)

    # -- loops ------------------------------------------------------------------------------

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of the list: its strongly connected parts, in the order of the text."""
        if self._loops is None:
            self._loops = tuple(self._find_loops()) if self.jumps else ()
        return self._loops

    def _find_loops(self) -> Iterator[Loop]:
        for members in self._strong_parts():
            closing = tuple(
                member
                for member in sorted(members)
                if any(
                    edge.explicit and edge.target in members and edge.target <= member for edge in self.edges[member]
                )
            )
            yield Loop(members, closing)

    def round(self, loop: Loop, closing: int) -> Loop:
        """The loop that the ``next`` of one step closes: what can run from where it leads back to that step.

        It is a part of ``loop``, which holds every loop that it can be left for and come back to. Where there
        are too many jumps to look at each, it is all of it.
        """
        if len(loop.closing) * sum(len(self.edges[member]) for member in loop.members) > _MOST_EDGES:
            return loop
        first = min(edge.target for edge in self.edges[closing] if edge.explicit and edge.target in loop.members)
        before: dict[int, list[int]] = {member: [] for member in loop.members}
        for member in loop.members:
            for edge in self.edges[member]:
                if edge.target in before:
                    before[edge.target].append(member)
        members = {first}
        todo = [closing]
        while todo:
            member = todo.pop()
            if member not in members:
                members.add(member)
                todo.extend(before[member])
        return Loop(frozenset(members), (closing,))

    def _strong_parts(self) -> list[frozenset[int]]:
        """The strongly connected parts that are loops, by their first step.

        Kosaraju's way, twice over the edges: a list of many jumps has an edge for each pair of steps.
        """
        back: dict[int, list[int]] = {number: [] for number in self.reachable}
        finished: list[int] = []
        seen: set[int] = set()
        todo: list[tuple[int, Iterator[Edge]]] = []
        if self.steps:
            seen.add(0)
            todo.append((0, iter(self.edges[0])))
        while todo:
            number, edges = todo[-1]
            for edge in edges:
                if edge.target == END:
                    continue
                back[edge.target].append(number)
                if edge.target not in seen:
                    seen.add(edge.target)
                    todo.append((edge.target, iter(self.edges[edge.target])))
                    break
            else:
                finished.append(number)
                todo.pop()
        parts: list[frozenset[int]] = []
        done: set[int] = set()
        for first in reversed(finished):
            members: set[int] = set()
            open_numbers = [first] if first not in done else []
            while open_numbers:
                number = open_numbers.pop()
                if number not in done:
                    done.add(number)
                    members.add(number)
                    open_numbers.extend(back[number])
            if len(members) > 1 or (first in back[first] and members):
                parts.append(frozenset(members))
        return sorted(parts, key=min)


def never_completes(step: Step) -> bool:
    """Whether a step can only fail: the block ``fail``."""
    kind = step.kind
    return isinstance(kind, BlockCall) and kind.block is not None and kind.block.value == "fail"


def given_literals(template: Template) -> Iterator[tuple[str, Span]]:
    """The string literals that a template of one expression may come out as, with their places."""
    if not template.whole:
        return
    for expression in template.expressions:
        open_nodes = [expression.tree] if expression.tree is not None else []
        while open_nodes:
            node = open_nodes.pop()
            if isinstance(node, ast.Ternary):
                open_nodes += (node.otherwise, node.then)
            elif isinstance(node, ast.Literal) and isinstance(node.value, str):
                yield node.value, expression.at(node.start, node.end)


class Flow:
    """The flows of all lists of a workflow.

    With ``before``, the flow of an earlier reading, the lists inside steps that are still the same are
    taken over with what was derived for them.  They are given another parent, so ``before`` must not be
    used any more.
    """

    def __init__(self, workflow: Workflow, before: Flow | None = None) -> None:
        self.workflow = workflow
        self.top = ListFlow(workflow.steps, "workflow", None, None) if workflow.steps is not None else None
        self._lists: list[ListFlow] = []
        self._of: dict[Step, tuple[ListFlow, int]] = {}
        self._inner: dict[StepList, ListFlow] = {}
        self._below: dict[Step, list[ListFlow]] = {}
        self._made = False
        self._before: Flow | None = before if before is None or before._made else before._before

    def _make(self) -> None:
        """Finds the lists: many a question is about the one at the top alone."""
        self._made = True
        if self.top is not None:
            self._add_top(self.top, self._before._below if self._before is not None else {})
        self._before = None
        for handlers in (self.workflow.on_cancel, self.workflow.on_deadline):
            if handlers is not None:
                self._add(handlers, "handler", None, None)

    @property
    def lists(self) -> list[ListFlow]:
        """All of them: each behind the one in which its owner stands."""
        if not self._made:
            self._make()
        return self._lists

    def _add_top(self, flow: ListFlow, known: dict[Step, list[ListFlow]]) -> None:
        self._lists.append(flow)
        self._inner[flow.list] = flow
        for number, step in enumerate(flow.steps):
            self._of[step] = (flow, number)
            below = known.get(step)
            if below is not None:
                for inner in below:
                    if inner.owner is step:
                        inner.parent = flow
                    self._inner[inner.list] = inner
                    for at, one in enumerate(inner.steps):
                        self._of[one] = (inner, at)
                self._lists.extend(below)
            else:
                first = len(self._lists)
                self._add_inner(step, flow)
                below = self._lists[first:]
            if below:
                self._below[step] = below

    def _add(self, steps: StepList, role: str, owner: Step | None, parent: ListFlow | None, branch: str = "") -> None:
        flow = ListFlow(steps, role, owner, parent, branch)
        self._lists.append(flow)
        self._inner[steps] = flow
        for number, step in enumerate(steps.steps):
            self._of[step] = (flow, number)
            self._add_inner(step, flow)

    def _add_inner(self, step: Step, flow: ListFlow) -> None:
        kind = step.kind
        role = "branch" if isinstance(kind, Branches) else "section" if isinstance(kind, Section) else "item"
        for name, inner in step.inner():
            self._add(inner, role, step, flow, name)

    def of(self, step: Step) -> tuple[ListFlow, int]:
        """The list in which a step stands, and its place there."""
        if not self._made:
            self._make()
        return self._of[step]

    def inner(self, steps: StepList) -> ListFlow:
        if not self._made:
            self._make()
        return self._inner[steps]

    def steps(self) -> Iterator[Step]:
        """Every step at any depth, handlers included."""
        if not self._made:
            self._make()
        yield from self._of

    def enclosing(self, step: Step) -> Iterator[Step]:
        """The steps around a step, from the inside out."""
        flow: ListFlow | None = self.of(step)[0]
        while flow is not None and flow.owner is not None:
            yield flow.owner
            flow = flow.parent

    def held_sections(self, step: Step) -> list[Step]:
        """The sections around a step, from the inside out: their leases are held where it stands."""
        return [outer for outer in self.enclosing(step) if isinstance(outer.kind, Section)]

    def in_for_each(self, step: Step) -> list[Step]:
        return [outer for outer in self.enclosing(step) if isinstance(outer.kind, ForEach)]
