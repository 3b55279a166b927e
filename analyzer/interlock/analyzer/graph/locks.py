"""The lock order of a workspace: which keys are waited for while which may be held (section 6.3).

The nodes are keys.  An edge goes from each key that a run may hold to the key that it, or a child
that it waits for, may wait for meanwhile.  A cycle is a deadlock that can happen, unless one key
of limit 1 is held on all of it, or it would take two runs of a workflow that runs one at a time.
How it is told is left to the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.graph.cycles import components
from interlock.analyzer.graph.keys import Key
from interlock.analyzer.graph.leases import Acquisition, Wait
from interlock.analyzer.model.nodes import RunWorkflow

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Program, Unit

#: How many paths are tried for a cycle that no gate and no limit of runs forbids.
_MOST_PATHS = 5_000


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
                gates = frozenset(key for key in wait.sure | target.sure if self._excludes(key))
                for taken in held.values():
                    yield LockEdge(taken, wait, wanted, gates, serial)

    def _excludes(self, key: Key) -> bool:
        """Whether at most one run holds the key, whoever takes it."""
        return all(one.limit == 1 for one in self.takers[key])

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
        """The sets of keys between which orders close cycles, as far as keys alone tell."""
        successors: dict[int, set[int]] = {}
        numbers = self._numbers
        for wait in self.waits():
            held = {numbers[one.key] for one in wait.held if one.key is not None}
            if not held:
                continue
            wanted = {
                numbers[target.acquisition.key]
                for target in self.wanted(wait)
                if target.acquisition is not None and target.acquisition.key is not None
            }
            for number in held if wanted else ():
                successors.setdefault(number, set()).update(wanted)
        keys = list(self.takers)
        return [frozenset(keys[number] for number in part) for part in components(successors)]

    def _judge(self, edges: list[LockEdge], found: dict[Wait, list[tuple[LockEdge, ...]]]) -> None:
        search = _Search(edges)
        for edge in edges:
            cycle = search.cycle(edge)
            if cycle is not None:
                found.setdefault(edge.wait, []).append(cycle)


class _Search:
    """Finds, within keys that can reach each other, a cycle through an edge that can come true."""

    def __init__(self, edges: list[LockEdge]) -> None:
        self._leaving: dict[Key, list[LockEdge]] = {}
        seen: set[tuple[object, ...]] = set()
        for edge in edges:
            if edge.label not in seen:
                seen.add(edge.label)
                self._leaving.setdefault(edge.held_key, []).append(edge)
        self._known: dict[tuple[object, ...], tuple[LockEdge, ...] | None] = {}

    def cycle(self, edge: LockEdge) -> tuple[LockEdge, ...] | None:
        """A cycle that begins with the edge; None where none can come true."""
        if edge.label not in self._known:
            self._known[edge.label] = self._find(edge)
        known = self._known[edge.label]
        return None if known is None else (edge, *known[1:])

    def _find(self, edge: LockEdge) -> tuple[LockEdge, ...] | None:
        if edge.held_key == edge.wanted_key:
            for other in (edge, *self._leaving[edge.held_key]):
                if other.held_key != other.wanted_key:
                    continue
                pair = (edge,) if other is edge else (edge, other)
                if can_happen(pair):
                    return pair
            return None
        return self._first(edge, set()) or self._first(edge, None)

    def _first(self, edge: LockEdge, visited: set[Key] | None) -> tuple[LockEdge, ...] | None:
        """The first cycle that can happen, shortest first.

        With ``visited`` each key is gone through once, which finds a shortest way back; without,
        all ways are tried, up to a bound, because a longer one may be free where that one is not.
        """
        goal = edge.held_key
        paths: list[tuple[LockEdge, ...]] = [(edge,)]
        for path in paths:
            for following in self._leaving.get(path[-1].wanted_key, ()):
                key = following.wanted_key
                if key == following.held_key or any(key == one.wanted_key for one in path):
                    continue
                longer = (*path, following)
                if key == goal:
                    if can_happen(longer):
                        return longer
                    continue
                if visited is not None:
                    if key in visited:
                        continue
                    visited.add(key)
                elif len(paths) >= _MOST_PATHS:
                    return None
                paths.append(longer)
        return None


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


def _closed_by(gate: Key, cycle: Iterable[LockEdge]) -> bool:
    """Whether the gate is one key for the runs of the cycle.

    A literal is.  A template is where a key that one run holds and another waits for holds all that
    the template reads: if they agree on that key, they agree on the gate.
    """
    return not gate.template or any(gate.expressions <= edge.wanted_key.expressions for edge in cycle)


__all__ = ["LockEdge", "LockOrder", "can_happen"]
