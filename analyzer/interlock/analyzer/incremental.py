"""Judging again and again: what an edit does not touch is not judged a second time.

Findings of a workflow depend on it, on the workflows that it is connected with by calls (types of outputs
and secrets go both ways), on the names that there are, and on the blocks.  As long as all of these are the
same objects, its findings are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from interlock.analyzer.analysis import FileModel, weigh
from interlock.analyzer.findings import Finding, Sink
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.graph.slice import edited_step
from interlock.analyzer.language.blocks import BUILT_IN, BlockSpec
from interlock.analyzer.model.nodes import RunWorkflow, StartWorkflows, Workflow, walk
from interlock.analyzer.rules.registry import unit_rules, workspace_rules
from interlock.analyzer.source.text import Piece

#: What the findings of a workflow depend on: it and those it is connected with, all names, all blocks.
_Basis: TypeAlias = tuple[tuple[Workflow, ...], tuple[str, ...], tuple[BlockSpec, ...]]


def _go_on() -> None:
    return None


class Judge:
    """The memory of one set of files that are seen together."""

    def __init__(self) -> None:
        self._program: Program | None = None
        self._made_of: tuple[tuple[Workflow, ...], tuple[BlockSpec, ...]] = ((), ())
        self._known: dict[Workflow, tuple[_Basis, list[Finding]]] = {}
        self._places: dict[tuple[str, int], Workflow] = {}
        self._wide: list[Finding] = []

    def program(self, files: Sequence[FileModel], blocks: Mapping[str, BlockSpec] | None = None) -> Program:
        """The program of these files; the same object as long as nothing in them has changed."""
        workflows = tuple([workflow for file in files for workflow in file.workflows])
        known = {**BUILT_IN, **(blocks or {})}
        made_of = (workflows, tuple(known.values()))
        old = self._made_of
        same = len(old[0]) == len(workflows) and all(a is b for a, b in zip(old[0], workflows, strict=True))
        if self._program is None or not same or old[1] != made_of[1]:
            self._program = Program(list(workflows), known)
            self._made_of = made_of
        return self._program

    def judge(
        self,
        files: Sequence[FileModel],
        blocks: Mapping[str, BlockSpec] | None = None,
        give_way: Callable[[], None] = _go_on,
    ) -> list[Finding]:
        """As ``analysis.judge``; ``give_way`` is called between its parts, and may raise to stop it."""
        program = self.program(files, blocks)
        own = [finding for file in files for finding in file.findings]
        if not self._renew(program):
            self._judge(program, give_way)
        found = [finding for unit in program.units for finding in self._known[unit.workflow][1]]
        self._places = _places(program)
        return weigh([*own, *found, *self._wide])

    def _judge(self, program: Program, give_way: Callable[[], None]) -> None:
        names = tuple(program.by_name)
        specs = self._made_of[1]
        parts = _connected(program)
        kept: dict[Workflow, tuple[_Basis, list[Finding]]] = {}
        for unit in program.units:
            basis = (parts[unit], names, specs)
            known = self._known.get(unit.workflow)
            if known is None or known[0] != basis:
                known = (basis, _judge_unit(unit, give_way))
                self._known[unit.workflow] = known
            kept[unit.workflow] = known
        self._known = kept
        sink = Sink()
        for workspace_rule in workspace_rules():
            give_way()
            workspace_rule(program, sink)
        self._wide = sink.findings()

    def _renew(self, program: Program) -> bool:
        """Judges only the step that was edited, where that is all that can have changed; else false.

        So it is where one step at the top of one workflow is another, and what others see of it is the
        same: then the findings elsewhere are those of before.
        """
        old = list(self._known)
        places = _places(program)
        if places.keys() != self._places.keys() or len(old) != len(program.units):
            return False
        changed = [place for place, workflow in places.items() if workflow not in self._known]
        if not changed and old:
            _, names, specs = self._known[old[0]][0]
            return names == tuple(program.by_name) and specs == self._made_of[1]
        if len(changed) != 1:
            return False
        before, after = self._places[changed[0]], places[changed[0]]
        known = self._known.get(before)
        if known is None:
            return False
        (part, names, specs), findings = known
        if part != (before,) or names != tuple(program.by_name) or specs != self._made_of[1]:
            return False
        edit = edited_step(before, after, program.blocks)
        if edit is None:
            return False
        piece = edit.old.span.piece
        rest = [finding for finding in findings if finding.span.piece is not piece]
        if any(_points_into(finding, piece) for finding in (*rest, *self._wide)):
            return False
        unit = Program([edit.slice], program.blocks).units[0]
        new = [one for one in _judge_unit(unit, _go_on) if one.span.piece is edit.new.span.piece]
        self._known = {(after if workflow is before else workflow): one for workflow, one in self._known.items()}
        self._known[after] = (((after,), names, specs), [*rest, *new])
        return True


def _places(program: Program) -> dict[tuple[str, int], Workflow]:
    """The workflows by file and number in it."""
    found: dict[tuple[str, int], Workflow] = {}
    for unit in program.units:
        path, number = unit.workflow.span.source.path, 0
        while (path, number) in found:
            number += 1
        found[path, number] = unit.workflow
    return found


def _points_into(finding: Finding, piece: Piece) -> bool:
    """Whether a finding, or what belongs to its story, stands in a piece that is no more."""
    if finding.span.piece is piece or any(one.span.piece is piece for one in finding.related):
        return True
    return finding.fix is not None and any(edit.span.piece is piece for edit in finding.fix.edits)


def _judge_unit(unit: Unit, give_way: Callable[[], None]) -> list[Finding]:
    sink = Sink()
    for rule in unit_rules():
        give_way()
        rule(unit, sink)
    return sink.findings()


def _connected(program: Program) -> dict[Unit, tuple[Workflow, ...]]:
    """For each workflow those that calls connect it with, itself included, in a fixed order."""
    leader = {unit: unit for unit in program.units}

    def find(unit: Unit) -> Unit:
        while leader[unit] is not unit:
            leader[unit] = leader[leader[unit]]
            unit = leader[unit]
        return unit

    for unit in program.units:
        for step in walk(unit.workflow.steps):
            kind = step.kind
            if isinstance(kind, RunWorkflow | StartWorkflows) and kind.workflow is not None:
                child = program.child(kind.workflow)
                if child is not None:
                    leader[find(child)] = find(unit)
    members: dict[Unit, list[Workflow]] = {}
    for unit in program.units:
        members.setdefault(find(unit), []).append(unit.workflow)
    return {unit: tuple(members[find(unit)]) for unit in program.units}
