"""Where secrets flow: one abstract interpretation over all workflows together (section 11).

A secret moves through templates, ``set``, ``outputs``, items, and from run to run through inputs
and outputs, also of the runs that were started and are waited for; every other block gives only
what its manifest marks secret.  Names are interpreted without regard to time (each has one writer),
``state`` by what may have settled.  The result is a list of ``Leak`` for each workflow: a secret at
a place where it must not be.  What is said about a leak, and where ``secrets`` may be written at
all, is the part of the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.graph.taint_shapes import Shape, Trace, covers, hop, join, shape_of
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import BlockCall, RunWorkflow, StartWorkflows, walk
from interlock.analyzer.source.text import Span

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Program, Unit


class Leak(msgspec.Struct, frozen=True, eq=False):
    """A secret where it must not be: ``code`` is the rule, ``place`` what the place is called.

    ``trace`` is the way that the secret took to there.
    """

    code: str
    span: Span
    trace: Trace
    place: str


class Taint:
    """The interpretation of a program.  It begins where secrets are and follows them.

    Workflows that call each other, at any distance, are interpreted together, when one of them is
    first asked about; the others are left alone.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inputs: dict[Unit, dict[str, Shape]] = {}
        self.outputs: dict[Unit, Shape] = {}
        self._callers: dict[Unit, list[Unit]] = {}
        self._leaks: dict[Unit, tuple[Leak, ...]] = {}
        self._todo: list[Unit] = []
        self._tied = self._ties()
        self._solved: set[Unit] = set()

    def leaks(self, unit: Unit) -> tuple[Leak, ...]:
        """The leaks of one workflow, in the order in which its steps are written."""
        if unit not in self._solved:
            self._solve(unit)
        return self._leaks.get(unit, ())

    def _ties(self) -> dict[Unit, list[Unit]]:
        """For each workflow those that it calls and those that call it."""
        tied: dict[Unit, list[Unit]] = {}
        for unit in self.program.units:
            for step in walk(unit.workflow.steps):
                kind = step.kind
                if not isinstance(kind, RunWorkflow | StartWorkflows):
                    continue
                child = self.program.child(kind.workflow)
                if child is None:
                    continue
                tied.setdefault(unit, []).append(child)
                tied.setdefault(child, []).append(unit)
                self._callers.setdefault(child, []).append(unit)
        return tied

    def _together(self, unit: Unit) -> list[Unit]:
        """All workflows tied to one, in the order of the program."""
        found = {unit}
        todo = [unit]
        while todo:
            for other in self._tied.get(todo.pop(), ()):
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return [one for one in self.program.units if one in found] if len(found) > 1 else [unit]

    def _solve(self, unit: Unit) -> None:
        from interlock.analyzer.graph.taint_steps import UnitTaint

        together = self._together(unit)
        self._solved.update(together)
        self._todo = [one for one in together if has_sources(one)]
        while self._todo:
            unit = self._todo.pop(0)
            run = UnitTaint(unit, self)
            self._leaks[unit] = run.run()
            self._give_back(unit, run.outputs)

    def _give_back(self, unit: Unit, outputs: Shape | None) -> None:
        known = self.outputs.get(unit)
        if outputs is None or covers(known, outputs):
            return
        merged = join(known, outputs)
        assert merged is not None
        self.outputs[unit] = merged
        for caller in self._callers.get(unit, ()):
            self._again(caller)

    def _again(self, unit: Unit) -> None:
        if unit not in self._todo:
            self._todo.append(unit)

    def give(self, child: Unit, name: str, shape: Shape | None) -> None:
        """An input of a child that a caller fills with a secret, reported there as stored."""
        known = self.inputs.setdefault(child, {})
        if shape is None or covers(known.get(name), shape):
            return
        merged = join(known.get(name), shape)
        assert merged is not None
        known[name] = merged
        self._again(child)

    def given_back(self, child: Unit, span: Span, text: str) -> Shape | None:
        """What a child gives to the run that waits for it; it was reported in the child."""
        return hop(self.outputs.get(child), span, text, keep_fresh=False)

    def inputs_of(self, unit: Unit) -> Shape | None:
        """What the inputs of a workflow carry: the declared secrets, and what callers put in."""
        members: dict[str, Shape | None] = dict(self.inputs.get(unit, {}))
        for declared in unit.workflow.inputs.values():
            if declared.secret:
                text = f'input "{declared.name}" is declared secret here'
                members[declared.name] = Shape((Trace(declared.key, text, f"inputs.{declared.name}"),))
        if members:
            for name, near in _misspelled(unit).items():
                members[name] = members.get(near)
        return shape_of((), members)


def _misspelled(unit: Unit) -> dict[str, str]:
    """Inputs that are read and not declared, each with the one near name that it counts as."""
    inputs = unit.workflow.inputs
    found: dict[str, str] = {}
    for site in unit.sites:
        for use in unit.uses(site.expression) if "inputs" in site.expression.source else ():
            if use.path[0] == "inputs" and use.path[1:] and use.path[1] not in inputs:
                if (near := nearest(use.path[1], inputs)) is not None:
                    found[use.path[1]] = near
    return found


def has_sources(unit: Unit) -> bool:
    """Whether a secret can arise in the workflow itself."""
    workflow = unit.workflow
    if any(declared.secret for declared in workflow.inputs.values()):
        return True
    if any("secrets" in site.expression.source for site in unit.sites):
        return True
    if not any(spec.secret_results for spec in unit.program.blocks.values()):
        return False
    for step in walk(workflow.steps):
        spec = unit.program.block(step.kind.block) if isinstance(step.kind, BlockCall) else None
        if spec is not None and spec.secret_results:
            return True
    return False


def public(shape: Shape | None) -> Shape | None:
    """The members that other runs receive: private names never cross."""
    if shape is None:
        return None
    members: dict[str, Shape | None] = {
        name: inner for name, inner in shape.members.items() if not name.startswith("_")
    }
    return shape_of(shape.own, members, shape.rest)
