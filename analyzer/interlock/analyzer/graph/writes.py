"""How many blocks with outside effects may have run before each step of a protected section (6.4).

A fact is a set of possible counts, as bits: none, one, more.  Sibling branches count as one path,
a ``for_each`` body as run twice unless its items are a written list of fewer than two.  What the
counts mean is left to the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.analyzer.graph.flow import Edge
from interlock.analyzer.graph.leases import is_off, runs_never, runs_twice
from interlock.analyzer.language.blocks import has_effects
from interlock.analyzer.model.nodes import BlockCall, Branches, ForEach, Section, Step, StepList, walk
from interlock.analyzer.model.values import ListValue

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit

NONE, ONE, MORE = 1, 2, 4


def _plus(one: int, other: int) -> int:
    """The possible sums of two possible counts."""
    total = 0
    if one & NONE:
        total |= other
    if one & ONE and other:
        total |= (ONE if other & NONE else 0) | (MORE if other & (ONE | MORE) else 0)
    if one & MORE and other:
        total |= MORE
    return total


def acts(unit: Unit, step: Step) -> bool:
    """Whether a step is a block that has outside effects, as far as can be told (section 5.1)."""
    kind = step.kind
    if not isinstance(kind, BlockCall):
        return False
    spec = unit.program.block(kind.block)
    return spec is not None and has_effects(spec, kind.params.value if kind.params is not None else None)


class Writes:
    """The counts inside one protected section: those before each step, as far as a path leads to it."""

    def __init__(self, unit: Unit, section: Step) -> None:
        self.unit = unit
        self.before: dict[Step, int] = {}
        self._adds: dict[Step, int] = {}
        self._begun: set[Step] = set()
        kind = section.kind
        assert isinstance(kind, Section)
        #: The blocks with effects inside, in the order of the text.
        self.acting = tuple(step for step in walk(kind.steps) if acts(unit, step) and not is_off(step))
        if kind.steps is not None:
            self._enter(kind.steps, NONE, False)

    def may_have_begun(self, step: Step) -> bool:
        """Whether a block with effects may have run before the step."""
        return step in self._begun

    def may_be_second(self, step: Step) -> bool:
        """Whether exactly one block with effects may have run before the step."""
        return bool(self.before.get(step, 0) & ONE)

    # -- downwards --------------------------------------------------------------------------

    def _enter(self, steps: StepList, entry: int, beside: bool) -> None:
        before, _ = self.unit.flow.inner(steps).solve(entry, self._transfer, int.__or__)
        for step, fact in zip(steps.steps, before, strict=True):
            if fact is None or is_off(step):
                continue
            self.before[step] = fact
            begun = beside or bool(fact & (ONE | MORE))
            if begun:
                self._begun.add(step)
            self._inner(step, fact, beside)

    def _inner(self, step: Step, fact: int, beside: bool) -> None:
        kind = step.kind
        if isinstance(kind, Branches):
            lists = [branch.steps for branch in kind.branches if branch.steps is not None]
            acting = [bool(self._reached(steps) & (ONE | MORE)) for steps in lists]
            for number, steps in enumerate(lists):
                others = any(acting[:number]) or any(acting[number + 1 :])
                self._enter(steps, fact, beside or others)
                fact = _plus(fact, self._through(steps))
        elif isinstance(kind, ForEach) and kind.steps is not None and not runs_never(kind):
            if runs_twice(kind):
                fact |= _plus(fact, self._through(kind.steps))
            self._enter(kind.steps, fact, beside)
        elif isinstance(kind, Section) and kind.steps is not None:
            self._enter(kind.steps, fact, beside)

    def _transfer(self, step: Step, fact: int, edge: Edge) -> int:
        return fact if edge.skipped else _plus(fact, self._added(step))

    # -- upwards ----------------------------------------------------------------------------

    def _added(self, step: Step) -> int:
        """The counts that a step may add when it completes."""
        known = self._adds.get(step)
        if known is None:
            known = self._adds[step] = self._count(step)
        return known

    def _count(self, step: Step) -> int:
        kind = step.kind
        if isinstance(kind, BlockCall):
            return ONE if acts(self.unit, step) else NONE
        if isinstance(kind, Branches):
            total = NONE
            for branch in kind.branches:
                if branch.steps is not None:
                    total = _plus(total, self._through(branch.steps))
            return total
        if isinstance(kind, ForEach) and kind.steps is not None:
            if runs_never(kind):
                return NONE
            once = self._through(kind.steps)
            if not runs_twice(kind):
                return once
            return (NONE if _may_be_empty(kind) else 0) | once | _plus(once, once)
        if isinstance(kind, Section) and kind.steps is not None:
            return self._through(kind.steps) | (NONE if kind.on_busy == "skip" else 0)
        return NONE

    def _through(self, steps: StepList) -> int:
        """The counts that a list may add; where it has no end, what it may have done on the way."""
        end = self.unit.flow.inner(steps).solve(NONE, self._transfer, int.__or__)[1]
        return end if end is not None else self._reached(steps)

    def _reached(self, steps: StepList) -> int:
        """The counts after any of its steps."""
        before, _ = self.unit.flow.inner(steps).solve(NONE, self._transfer, int.__or__)
        total = NONE
        for step, fact in zip(steps.steps, before, strict=True):
            if fact is not None:
                total |= fact | (0 if is_off(step) else _plus(fact, self._added(step)))
        return total


def _may_be_empty(kind: ForEach) -> bool:
    return kind.items is None or not isinstance(kind.items.value, ListValue)
