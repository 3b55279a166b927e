"""Which leases a run may hold, and which it surely holds, before each step of a workflow (6.3).

Only run-lifetime leases are told of: they outlive their step.  A lease is never given back before
the run's end, so what a step adds is the same whatever came before, and two passes are enough:
upwards for what each step adds, downwards for what stands before it.  What the workflows of a
workspace mean for each other is left to ``locks``; sections that contain a step, to the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.expressions.paths import Guard
from interlock.analyzer.graph.facts import own_condition
from interlock.analyzer.graph.flow import Edge
from interlock.analyzer.graph.keys import Key, key_of
from interlock.analyzer.model.nodes import (
    Branches,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    Step,
    StepList,
    walk,
)
from interlock.analyzer.model.values import ListValue
from interlock.analyzer.source.text import Span

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit

#: The fact of a path that is not looked at any further.
_DEAD = -1


class Acquisition(msgspec.Struct, frozen=True, eq=False):
    """A step that takes a resource.  ``key`` is None where the key is broken (it was reported).

    ``number`` is its place among the acquisitions of its workflow, in the order of the text.
    """

    unit: Unit
    step: Step
    section: Section
    key: Key | None
    number: int

    @property
    def policy(self) -> str | None:
        """``wait``, ``skip`` or ``fail``; None where it cannot be read."""
        section = self.section
        return None if section.on_busy_field is None and "on_busy" in section.fields else section.on_busy

    @property
    def lifetime(self) -> str | None:
        """``step`` or ``run``; None where it cannot be read."""
        section = self.section
        return None if section.lifetime_field is None and "lifetime" in section.fields else section.lifetime

    @property
    def limit(self) -> int | None:
        """The limit in force; None where it cannot be read."""
        section = self.section
        return None if section.limit_field is None and "limit" in section.fields else section.limit

    @property
    def empty(self) -> bool:
        """Whether it surely has no steps."""
        return self.section.empty and not self.section.unsure

    @property
    def holds_nothing(self) -> bool:
        """An empty section that ends at once: IL308, and nothing else is said of it."""
        return self.empty and self.lifetime == "step"

    @property
    def outlives(self) -> bool:
        """Whether its lease is held until the end of the run."""
        return self.lifetime == "run"

    @property
    def resource_key(self) -> Span:
        """Where its ``resource`` stands."""
        return self.section.fields["resource"]

    @property
    def policy_key(self) -> Span:
        """Where its ``on_busy`` stands, else its ``resource``."""
        return self.section.fields.get("on_busy", self.resource_key)


class Wait(msgspec.Struct, frozen=True, eq=False):
    """A place where a run may wait for others: for a lease, for its child, or for other runs.

    ``acquisition`` is None where it is not for a lease.  ``bits`` are the numbers of the leases that
    the run may hold then, other than the very one it waits for.  ``span`` is where it is reported.
    """

    unit: Unit
    step: Step
    span: Span
    acquisition: Acquisition | None
    bits: int

    @property
    def sure(self) -> frozenset[Key]:
        """The keys that the run holds then on every path."""
        return self.unit.leases.surely_holds(self.step)

    @property
    def held(self) -> Iterator[Acquisition]:
        """The leases that the run may hold then, in the order of the text."""
        return self.unit.leases.decode(self.bits)


def held_sections(unit: Unit, step: Step) -> list[Step]:
    """The sections under a lease around a step, from the inside out."""
    return [outer for outer in unit.flow.held_sections(step) if "resource" in outer.kind.fields]  # type: ignore[union-attr]


def runs_twice(kind: ForEach) -> bool:
    """Whether the body may run more than once: all but a written list of fewer than two items."""
    if kind.items is None:
        return False
    return not isinstance(kind.items.value, ListValue) or len(kind.items.value.items) > 1


def runs_never(kind: ForEach) -> bool:
    return kind.items is not None and isinstance(kind.items.value, ListValue) and not kind.items.value.items


def is_off(step: Step) -> bool:
    """Whether the step is switched off by ``when: false``."""
    return step.when is not None and step.when.value is False


class Leases:
    """The leases of one workflow."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.acquisitions: tuple[Acquisition, ...] = tuple(self._find())
        self.by_step = {one.step: one for one in self.acquisitions}
        self.lasting = 0
        self._bits: dict[Key, int] = {}
        for one in self.acquisitions:
            if one.key is not None and one.outlives:
                self.lasting |= 1 << one.number
                self._bits[one.key] = self._bits.get(one.key, 0) | 1 << one.number
        self._keys = [key for key in self._bits if key.stable]
        self._sure: _Sure | None = None
        self._held: dict[Key | None, _Held] = {}
        self._waits: tuple[Wait, ...] | None = None

    def _find(self) -> Iterator[Acquisition]:
        number = 0
        for step in walk(self.unit.workflow.steps):
            section = step.kind
            if isinstance(section, Section) and "resource" in section.fields:
                value = section.resource.value if section.resource is not None else None
                yield Acquisition(self.unit, step, section, key_of(self.unit, value), number)
                number += 1

    # -- what is held -----------------------------------------------------------------------

    def may_hold(self, step: Step, free: Key | None = None) -> tuple[Acquisition, ...] | None:
        """The run-lifetime leases that may be held before a step, in the order of the text.

        With ``free`` only the paths count on which that key is not held yet.  None where no (such)
        path leads to the step.
        """
        bits = self._before(step, free)
        return None if bits == _DEAD else tuple(self.decode(bits))

    def surely_holds(self, step: Step) -> frozenset[Key]:
        """The keys that are held before a step on every path; only keys that stay the same in a run."""
        if not self._keys:
            return frozenset()
        return self.sure.keys(self.sure.before.get(step, 0))

    @property
    def sure(self) -> _Sure:
        if self._sure is None:
            self._sure = _Sure(self, self._keys)
        return self._sure

    def _before(self, step: Step, free: Key | None) -> int:
        known = self._held.get(free)
        if known is None:
            known = self._held[free] = _Held(self, free)
        return known.before.get(step, _DEAD)

    def decode(self, bits: int) -> Iterator[Acquisition]:
        """The acquisitions of a set of numbers, in the order of the text."""
        while bits > 0:
            low = bits & -bits
            yield self.acquisitions[low.bit_length() - 1]
            bits ^= low

    # -- waits ------------------------------------------------------------------------------

    @property
    def waits(self) -> tuple[Wait, ...]:
        """Where a run may wait for another, but for what is an error already (IL308, IL401 to IL405).

        A key that the run holds on every path is not waited for.
        """
        if self._waits is None:
            self._waits = tuple(self._find_waits())
        return self._waits

    def _find_waits(self) -> Iterator[Wait]:
        unit = self.unit
        for step in walk(unit.workflow.steps) if self.acquisitions else ():
            kind = step.kind
            if is_off(step) or not isinstance(kind, Section | DependencyWait | RunWorkflow):
                continue
            if held_sections(unit, step):
                continue
            if isinstance(kind, Section):
                wait = self._lease_wait(step)
            elif isinstance(kind, DependencyWait) and _waits_for_nobody(kind):
                wait = None
            else:
                bits = self._before(step, None)
                wait = None
                if bits != _DEAD:
                    wait = Wait(unit, step, kind.key, None, self._not_refused(step, bits))
            if wait is not None:
                yield wait

    def _lease_wait(self, step: Step) -> Wait | None:
        one = self.by_step.get(step)
        if one is None or one.key is None or one.policy != "wait" or one.holds_nothing:
            return None
        bits = self._before(step, None)
        if bits == _DEAD:
            return None
        own = self._bits.get(one.key, 0)
        if one.key.stable and bits & own:
            # On the paths on which the key is held already, nothing is waited for.
            bits = self._before(step, one.key)
            if bits == _DEAD:
                return None
            bits &= ~own
        return Wait(self.unit, step, one.policy_key, one, self._not_refused(step, bits))

    def _not_refused(self, step: Step, bits: int) -> int:
        """The leases of a set that the run may hold where conditions on the way may say that it got none.

        Only what a step of the workflow's own list took is told of: a branch or an item may run beside others.
        """
        if not bits:
            return bits
        facts = self.unit.facts.at(*self.unit.flow.of(step)) | own_condition(step)
        refused = {fact.path[0] for fact in facts if isinstance(fact, Guard) and _is_refusal(fact)}
        for one in self.decode(bits) if refused else ():
            here = self.unit.flow.of(one.step)[0].role == "workflow"
            if here and one.step.id in refused and one.key is not None and one.key.stable:
                bits ^= 1 << one.number
        return bits


def _is_refusal(fact: Guard) -> bool:
    """Whether a fact says that a lease was not acquired."""
    return fact.kind == "truthy" and fact.negated and fact.path[1:] == ("acquired",)


def _waits_for_nobody(kind: DependencyWait) -> bool:
    return kind.runs is not None and isinstance(kind.runs.value, ListValue) and not kind.runs.value.items


class _Analysis:
    """What is common to both analyses: facts are sets of bits, and go down from list to list."""

    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.flow = leases.unit.flow
        self.before: dict[Step, int] = {}
        self._added: dict[Step, int] = {}

    def run(self) -> None:
        steps = self.leases.unit.workflow.steps
        if steps is not None:
            self._enter(steps, 0)

    def after(self, step: Step, fact: int) -> int:
        """The fact after a step has completed."""
        raise NotImplementedError

    def join(self, one: int, other: int) -> int:
        raise NotImplementedError

    def inner(self, step: Step, fact: int) -> Iterator[tuple[StepList, int]]:
        """The lists inside a step that may run, each with the fact before its first step."""
        raise NotImplementedError

    def transfer(self, step: Step, fact: int, edge: Edge) -> int:
        return fact if edge.skipped else self.after(step, fact)

    def _enter(self, steps: StepList, entry: int) -> None:
        before, _ = self.flow.inner(steps).solve(entry, self.transfer, self.join)
        for step, fact in zip(steps.steps, before, strict=True):
            if fact is None or fact == _DEAD or is_off(step):
                continue
            self.before[step] = fact
            for inner, inner_fact in self.inner(step, fact):
                self._enter(inner, inner_fact)


class _Held(_Analysis):
    """What may be held: one bit for each acquisition.

    With ``free``, only paths count that have not surely taken that key: on the others nothing is
    waited for at its next acquisition.
    """

    def __init__(self, leases: Leases, free: Key | None) -> None:
        super().__init__(leases)
        self._free = 0
        if free is not None:
            self._free = leases.sure.bit(free)
        self.run()

    def join(self, one: int, other: int) -> int:
        if one == _DEAD or other == _DEAD:
            return other if one == _DEAD else one
        return one | other

    def after(self, step: Step, fact: int) -> int:
        if fact == _DEAD or (self._free and self.leases.sure.added(step) & self._free):
            return _DEAD
        return fact | self.added(step)

    def added(self, step: Step) -> int:
        """What a step may have taken once it has begun, whether or not it completes."""
        known = self._added.get(step)
        if known is None:
            known = 0
            kind = step.kind
            if not is_off(step):
                own = self.leases.by_step.get(step)
                if own is not None:
                    known = self.leases.lasting & 1 << own.number
                if not isinstance(kind, ForEach) or not runs_never(kind):
                    for _, inner in step.inner():
                        known |= self._added_by(inner)
            self._added[step] = known
        return known

    def _added_by(self, steps: StepList) -> int:
        """What the steps of a list may have taken, wherever the list may have stopped."""
        if not self._free:
            reachable = self.flow.inner(steps).reachable
        else:
            before, _ = self.flow.inner(steps).solve(0, self._free_only, self.join)
            reachable = frozenset(number for number, fact in enumerate(before) if fact == 0)
        bits = 0
        for number in reachable:
            bits |= self.added(steps.steps[number])
        return bits

    def _free_only(self, step: Step, fact: int, edge: Edge) -> int:
        if fact == _DEAD or (not edge.skipped and self.leases.sure.added(step) & self._free):
            return _DEAD
        return 0

    def inner(self, step: Step, fact: int) -> Iterator[tuple[StepList, int]]:
        kind = step.kind
        if isinstance(kind, Branches):
            lists = [inner for _, inner in step.inner()]
            added = [self._added_by(inner) for inner in lists]
            for number, inner in enumerate(lists):
                others = 0
                for other, bits in enumerate(added):
                    # With a limit of 1 they go one after another, in the order written (section 6.2).
                    beside = other < number if kind.limit == 1 else other != number
                    others |= bits if beside else 0
                yield inner, fact | others
        elif isinstance(kind, ForEach) and kind.steps is not None:
            if not runs_never(kind):
                yield kind.steps, fact | (self._added_by(kind.steps) if runs_twice(kind) else 0)
        elif isinstance(kind, Section) and kind.steps is not None:
            yield kind.steps, fact


class _Sure(_Analysis):
    """What is held on every path: one bit for each key that stays the same throughout a run."""

    def __init__(self, leases: Leases, keys: list[Key]) -> None:
        super().__init__(leases)
        self._keys = keys
        self._bit = {key: 1 << number for number, key in enumerate(keys)}
        self.run()

    def bit(self, key: Key) -> int:
        return self._bit.get(key, 0)

    def keys(self, bits: int) -> frozenset[Key]:
        return frozenset(key for number, key in enumerate(self._keys) if bits >> number & 1)

    def join(self, one: int, other: int) -> int:
        return one & other

    def after(self, step: Step, fact: int) -> int:
        return fact | self.added(step)

    def added(self, step: Step) -> int:
        """What is surely held once the step has completed."""
        known = self._added.get(step)
        if known is None:
            known = self._added[step] = self._adds(step)
        return known

    def _adds(self, step: Step) -> int:
        kind = step.kind
        if isinstance(kind, Section):
            one = self.leases.by_step.get(step)
            if one is None or one.policy not in ("wait", "fail"):
                return 0
            own = self.bit(one.key) if one.key is not None and one.outlives else 0
            return own | (self._at_end(kind.steps) if kind.steps is not None else 0)
        if isinstance(kind, Branches):
            # A branch that failed may have taken nothing; under "collect" the step completes then, too.
            if kind.on_error != "fail" or (kind.on_error_field is None and "on_error" in kind.fields):
                return 0
            bits = 0
            for _, inner in step.inner():
                bits |= self._at_end(inner)
            return bits
        if isinstance(kind, ForEach) and kind.steps is not None:
            written = kind.items is not None and isinstance(kind.items.value, ListValue)
            if runs_never(kind) or (kind.mode == "all" and not written):
                return 0
            return self._at_end(kind.steps)
        return 0

    def _at_end(self, steps: StepList) -> int:
        end = self.flow.inner(steps).solve(0, self.transfer, self.join)[1]
        return end or 0

    def inner(self, step: Step, fact: int) -> Iterator[tuple[StepList, int]]:
        for _, inner in step.inner():
            yield inner, fact


__all__ = ["Acquisition", "Leases", "Wait", "held_sections", "is_off", "runs_never", "runs_twice"]
