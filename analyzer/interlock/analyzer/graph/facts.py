"""What is known to hold at each place: conditions that every path to it has passed.

A fact comes from a ``when`` that was true (the step completed) or false (it was skipped), of the
steps on the way and of those around the place.  It is forgotten when a step writes again what it
speaks of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from interlock.analyzer.expressions.ast import Binary, Has, Logic, Node, Unary
from interlock.analyzer.expressions.paths import NOTHING, Guard, facts, path_of
from interlock.analyzer.expressions.uses import canonical, uses
from interlock.analyzer.graph.flow import Edge, ListFlow
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.model.nodes import Condition, Step
from interlock.analyzer.model.values import Template

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit


class Held(msgspec.Struct, frozen=True):
    """A part of a condition, word for word, and whether it was true; ``roots`` are the names it reads.

    ``same`` is the guard that says just the same, where there is one.
    """

    text: str
    truth: bool
    roots: frozenset[str]
    same: Guard | None = None


Fact: TypeAlias = Guard | Held
Facts: TypeAlias = frozenset[Fact]
NONE: Facts = frozenset()


def condition_tree(condition: Condition | None) -> Node | None:
    """The expression of a condition; None for a YAML boolean or what could not be read."""
    if condition is None or not isinstance(condition.value, Template):
        return None
    found = condition.value.expressions
    return found[0].tree if condition.value.whole and found else None


def learned(tree: Node | None, truth: bool, read: bool = True) -> Facts:
    """What holds where a condition was true, or was false.

    With ``read`` also that what it reads was there to be read.
    """
    if tree is None:
        return NONE
    known: set[Fact] = set()
    for guard in facts(tree, truth, NOTHING, read) or ():
        try:
            hash(guard)
        except TypeError:
            continue
        known.add(guard)
    known.update(_parts(tree, truth))
    return frozenset(known)


def _parts(tree: Node, truth: bool) -> list[Held]:
    """The conjuncts that are true, or the disjuncts that are false, word for word."""
    if isinstance(tree, Logic) and tree.op == ("&&" if truth else "||"):
        parts: list[Held] = []
        for operand in tree.operands:
            parts.extend(_parts(operand, truth))
        return parts
    if isinstance(tree, Unary) and tree.op == "!":
        return _parts(tree.operand, truth if tree.count % 2 == 0 else not truth)
    roots = frozenset(use.path[0] for use in uses(tree))
    return [Held(canonical(tree), truth, roots, _guard(tree, truth))]


def _guard(tree: Node, truth: bool) -> Guard | None:
    """The guard that a simple condition is: a path, a comparison of one with a literal, ``has``."""
    if isinstance(tree, Binary) and tree.op in ("==", "!="):
        path = path_of(tree.left) or path_of(tree.right)
        kinds: tuple[str, ...] = ("equals", "not_null")
    elif isinstance(tree, Has):
        path = path_of(tree.arg)
        kinds = ("has",)
    else:
        path = path_of(tree)
        kinds = ("truthy",)
    if path is None:
        return None
    for guard in facts(tree, truth, NOTHING) or ():
        if guard.path == path.names and guard.kind in kinds:
            return guard
    return None


def own_condition(step: Step) -> Facts:
    """What holds while a step runs, by its own condition."""
    return learned(condition_tree(step.when), True)


def implied(wanted: Facts, known: Facts) -> bool:
    """Whether every part of a condition is among the known facts."""
    parts = [fact for fact in wanted if isinstance(fact, Held)]
    return bool(parts) and all(part in known or (part.same is not None and part.same in known) for part in parts)


class KnownFacts:
    """The facts of a workflow, list by list."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._lists: dict[ListFlow, tuple[list[Facts | None], Facts | None]] = {}

    def at(self, flow: ListFlow | None, number: int) -> Facts:
        """What holds in a list before a step (or at the end); nothing outside lists."""
        if flow is None:
            return NONE
        before, end = self._solved(flow)
        found = end if number >= len(before) else before[number]
        return found or NONE

    def _solved(self, flow: ListFlow) -> tuple[list[Facts | None], Facts | None]:
        known = self._lists.get(flow)
        if known is None:
            entry = self._entry(flow)
            if entry or any(step.when is not None for step in flow.steps):
                known = flow.solve(entry, _after, frozenset.intersection)
            else:
                known = ([NONE] * len(flow.steps), NONE)
            self._lists[flow] = known
        return known

    def _entry(self, flow: ListFlow) -> Facts:
        if flow.owner is None or flow.parent is None:
            return NONE
        _, number = self.unit.flow.of(flow.owner)
        return self.at(flow.parent, number) | own_condition(flow.owner)


def _after(step: Step, known: Facts, edge: Edge) -> Facts:
    tree = condition_tree(step.when)
    if tree is not None:
        # That it could be read is no guard for later steps: where it could not, each read is a mistake.
        known = known | learned(tree, not edge.skipped, read=False)
    if not known:
        return known
    written = result_name(step)
    return frozenset(fact for fact in known if not _speaks_of(fact, written))


def _speaks_of(fact: Fact, name: str | None) -> bool:
    roots = fact.roots if isinstance(fact, Held) else frozenset(fact.path[:1])
    return name in roots or "state" in roots
