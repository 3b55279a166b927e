"""The lock order of a workspace: which keys are waited for while which may be held (section 6.3).

The nodes are keys.  An edge goes from each key that a run may hold to the key that it, or a child
that it waits for, may wait for meanwhile.  A cycle is a deadlock that can happen, unless one key
of limit 1 is held on all of it, or it would take two runs of a workflow that runs one at a time.
How it is told is left to the rules.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.graph.cycles import components
from interlock.analyzer.graph.keys import Key
from interlock.analyzer.graph.leases import Acquisition, Wait
from interlock.analyzer.model.nodes import RunWorkflow

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Program, Unit

#: How many paths are tried for a cycle that no gate and no limit of runs forbids.
_MOST_PATHS = 500


class LockEdge(msgspec.Struct, frozen=True, eq=False):
    """Holding ``taken``, a run of ``wait.unit`` may wait for ``wanted``.

    Where ``wanted`` belongs to another workflow, that is a child for which ``wait`` waits.
    ``gates`` are the keys of limit 1 that are surely held meanwhile; ``serial`` tells that no two
    runs of the workflow go at once.
    """

    taken: Acquisition
    wait: Wait
    wanted: Acquisition
    gates: frozenset[Key]
    serial: bool

    @property
    def held_key(self) -> Key:
        assert self.taken.key is not None
        return self.taken.key

    @property
    def wanted_key(self) -> Key:
        assert self.wanted.key is not None
        return self.wanted.key

    @property
    def calls(self) -> bool:
        return self.wait.acquisition is None

    @property
    def label(self) -> tuple[object, ...]:
        """What decides whether it can be part of a cycle; edges of one label are alike."""
        unit = self.wait.unit if self.serial else None
        return self.held_key, self.wanted_key, unit, self.gates, self.calls


class LockOrder:
    """Who takes which key in a workspace, who waits for it, and which orders can deadlock."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.takers: dict[Key, list[Acquisition]] = {}
        for unit in program.units:
            for one in unit.leases.acquisitions:
                if one.key is not None:
                    self.takers.setdefault(one.key, []).append(one)
        self._numbers = {key: number for number, key in enumerate(self.takers)}
        self._exclusive: dict[Key, bool] = {}
        self._tables: dict[Unit, tuple[list[int], bool]] = {}
        self._children: dict[Unit, tuple[Wait, ...]] = {}
        self._cycles: dict[Wait, list[tuple[LockEdge, ...]]] | None = None

    def waits(self) -> Iterator[Wait]:
        """Every wait of the workspace, by file and position."""
        for unit in self.program.units:
            yield from unit.leases.waits

    def wanted(self, wait: Wait) -> tuple[Wait, ...]:
        """The waits for leases that a wait stands for: itself, or those of the children below it."""
        if wait.acquisition is not None:
            return (wait,)
        kind = wait.step.kind
        child = wait.unit.program.child(kind.workflow) if isinstance(kind, RunWorkflow) else None
        return () if child is None else self.child_waits(child)

    def child_waits(self, unit: Unit) -> tuple[Wait, ...]:
        """The waits for leases of a workflow and of all that it runs, at any depth."""
        known = self._children.get(unit)
        if known is None:
            units = dict.fromkeys((unit, *self.program.calls.run_below(unit)))
            known = self._children[unit] = tuple(
                wait for one in units for wait in one.leases.waits if wait.acquisition is not None
            )
        return known

    def edges(self, keys: frozenset[Key] | None = None) -> Iterator[LockEdge]:
        """The edges, those with both ends among ``keys`` where they are given.

        For each wait and each pair of keys there is one: from the first acquisition that may be
        held to the first that may be waited for.
        """
        for wait in self.waits():
            held: dict[Key, Acquisition] = {}
            for one in wait.held:
                if one.key is not None and (keys is None or one.key in keys):
                    held.setdefault(one.key, one)
            if not held:
                continue
            runs = wait.unit.workflow.concurrency
            serial = runs is not None and runs.limit_field is not None and runs.limit_field.value == 1
            done: set[Key] = set()
            for target in self.wanted(wait):
                wanted = target.acquisition
                assert wanted is not None
                assert wanted.key is not None
                if wanted.key in done or (keys is not None and wanted.key not in keys):
                    continue
                done.add(wanted.key)
                gates = frozenset(key for key in wait.sure | target.sure if self.excludes(key))
                for taken in held.values():
                    yield LockEdge(taken, wait, wanted, gates, serial)

    def excludes(self, key: Key) -> bool:
        """Whether at most one run holds the key, whoever takes it."""
        known = self._exclusive.get(key)
        if known is None:
            known = self._exclusive[key] = all(one.limit == 1 for one in self.takers[key])
        return known

    # -- cycles -----------------------------------------------------------------------------

    @property
    def cycles(self) -> dict[Wait, list[tuple[LockEdge, ...]]]:
        """For each wait at the head of an edge of a cycle, such cycles; each begins with that edge.

        One cycle is given for each key that may be held.
        """
        if self._cycles is None:
            self._cycles = {}
            for keys in self._components():
                self._judge(list(self.edges(keys)), self._cycles)
        return self._cycles

    def _components(self) -> list[frozenset[Key]]:
        """The sets of keys between which orders close cycles, as far as keys alone tell.

        Keys are numbered as they first appear.  A cycle has an edge from a later key to an earlier
        one, or to itself, above each of its keys: only what lies under such edges is looked at, and
        where everybody takes the keys in that order, nothing is.
        """
        numbers = self._numbers
        waits = [(wait, *self._wanted_numbers(wait)) for wait in self.waits() if wait.bits]
        spans = [(low, number) for wait, low, wanted in waits if wanted for number in self._held_numbers(wait, low)]
        if not spans:
            return []
        under = _covered(spans)
        successors: dict[int, set[int]] = {}
        for wait, _, wanted in waits:
            inside = {number for number in wanted if number in under}
            for number in self._held_numbers(wait, min(under)) if inside else ():
                if number in under:
                    successors.setdefault(number, set()).update(inside)
        keys = list(numbers)
        return [frozenset(keys[number] for number in part) for part in components(successors)]

    def _wanted_numbers(self, wait: Wait) -> tuple[int, frozenset[int]]:
        """The numbers of the keys that are waited for, and the least of them."""
        wanted = frozenset(
            self._numbers[target.acquisition.key]
            for target in self.wanted(wait)
            if target.acquisition is not None and target.acquisition.key is not None
        )
        return min(wanted, default=0), wanted

    def _held_numbers(self, wait: Wait, least: int) -> Iterator[int]:
        """The numbers of the keys that may be held, from ``least`` on."""
        table, rising = self._table(wait.unit)
        bits = wait.bits
        if rising:
            skipped = bisect_left(table, least)
            bits = bits >> skipped << skipped
        while bits:
            low = bits & -bits
            bits ^= low
            number = table[low.bit_length() - 1]
            if number >= least:
                yield number

    def _table(self, unit: Unit) -> tuple[list[int], bool]:
        """The number of the key of each acquisition of a workflow, and whether they only rise."""
        known = self._tables.get(unit)
        if known is None:
            table = [self._numbers[one.key] if one.key is not None else -1 for one in unit.leases.acquisitions]
            known = self._tables[unit] = table, all(a <= b for a, b in pairwise(table))
        return known

    def _judge(self, edges: list[LockEdge], found: dict[Wait, list[tuple[LockEdge, ...]]]) -> None:
        search = _Search(edges)
        for edge in edges:
            cycle = search.cycle(edge)
            if cycle is not None:
                found.setdefault(edge.wait, []).append(cycle)


def _covered(spans: list[tuple[int, int]]) -> set[int]:
    """The numbers that lie in any of some closed ranges."""
    found: set[int] = set()
    reached = -1
    for low, high in sorted(set(spans)):
        found.update(range(max(low, reached + 1), high + 1))
        reached = max(reached, high)
    return found


class _Search:
    """Finds, within keys that can reach each other, a cycle through an edge that can come true."""

    def __init__(self, edges: list[LockEdge]) -> None:
        self._leaving: dict[Key, dict[Key, list[LockEdge]]] = {}
        for edge in sorted(edges, key=lambda one: (one.serial, len(one.gates))):
            alike = self._leaving.setdefault(edge.held_key, {}).setdefault(edge.wanted_key, [])
            if not any(_serves(other, edge) for other in alike):
                alike.append(edge)
        self._shared = frozenset.intersection(*(edge.gates for edge in edges)) if edges else frozenset()
        self._known: dict[tuple[object, ...], tuple[LockEdge, ...] | None] = {}

    def cycle(self, edge: LockEdge) -> tuple[LockEdge, ...] | None:
        """A cycle that begins with the edge; None where none can come true."""
        label = edge.label
        if label not in self._known:
            self._known[label] = self._find(edge)
        known = self._known[label]
        return None if known is None else (edge, *known[1:])

    def _find(self, edge: LockEdge) -> tuple[LockEdge, ...] | None:
        if edge.held_key == edge.wanted_key:
            if can_happen((edge,)):
                return (edge,)
            pairs = ((edge, other) for other in self._leaving[edge.held_key][edge.wanted_key] if other is not edge)
            return next((pair for pair in pairs if can_happen(pair)), None)
        if any(not gate.template for gate in self._shared):
            return None
        return self._quick(edge) or self._thorough(edge)

    def _quick(self, edge: LockEdge) -> tuple[LockEdge, ...] | None:
        """A shortest way back by edges that demand little, where that can happen."""
        goal = edge.held_key
        visited = {edge.held_key, edge.wanted_key}
        paths: list[tuple[LockEdge, ...]] = [(edge,)]
        for path in paths:
            ways = self._leaving.get(path[-1].wanted_key, {})
            for last in ways.get(goal, ()):
                if can_happen((*path, last)):
                    return (*path, last)
            for key, alike in ways.items():
                if key not in visited:
                    visited.add(key)
                    paths.append((*path, alike[0]))
        return None

    def _thorough(self, edge: LockEdge) -> tuple[LockEdge, ...] | None:
        """All ways back that go through no key twice, shortest first and up to a bound: a longer one
        may be free where the shortest is not."""
        goal = edge.held_key
        paths: list[tuple[LockEdge, ...]] = [(edge,)]
        for path in paths:
            passed = {one.wanted_key for one in path}
            for key, alike in self._leaving.get(path[-1].wanted_key, {}).items():
                if key in passed:
                    continue
                for following in alike:
                    if key != goal:
                        if len(paths) >= _MOST_PATHS:
                            return None
                        paths.append((*path, following))
                    elif can_happen((*path, following)):
                        return (*path, following)
        return None


def _serves(one: LockEdge, other: LockEdge) -> bool:
    """Whether one edge can stand in every cycle in which the other can, between the same keys."""
    if one.calls != other.calls and one.held_key == one.wanted_key:
        return False
    return one.gates <= other.gates and (not one.serial or (other.serial and one.wait.unit is other.wait.unit))


def can_happen(cycle: tuple[LockEdge, ...]) -> bool:
    """Whether the edges of a cycle can be runs that wait for each other, all at once.

    They cannot where all of them hold one key of limit 1, or where two of them must be runs of a
    workflow whose runs go one at a time.  A parent that waits for its child, which waits for a key
    of the parent, needs nobody else.
    """
    first = cycle[0]
    if len(cycle) == 1 and first.calls:
        return True
    if len(cycle) == 1 and first.serial:
        return False
    serial = [edge.wait.unit for edge in cycle if edge.serial]
    if len(serial) != len(set(serial)):
        return False
    gates = frozenset.intersection(*(edge.gates for edge in cycle))
    return not any(_closed_by(gate, cycle) for gate in gates)


def is_gate(gate: Key, wanted: Key) -> bool:
    """Whether runs that wait for one key agree on the gate, too: then its limit of 1 keeps them apart."""
    return not gate.template or gate.expressions <= wanted.expressions


def _closed_by(gate: Key, cycle: Iterable[LockEdge]) -> bool:
    """Whether the gate is one key for the runs of the cycle.

    A literal is.  A template is where a key that one run holds and another waits for holds all that
    the template reads: if they agree on that key, they agree on the gate.
    """
    return any(is_gate(gate, edge.wanted_key) for edge in cycle)


__all__ = ["LockEdge", "LockOrder", "can_happen", "is_gate"]
