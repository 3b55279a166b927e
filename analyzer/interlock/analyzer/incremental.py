"""Judging again and again: what an edit does not touch is not judged a second time.

Findings of a workflow depend on it, on the workflows that it is connected with by calls (types of outputs
and secrets go both ways), on the names that there are, and on the blocks.  As long as all of these are the
same objects, its findings are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from interlock.analyzer.analysis import FileModel, weigh
from interlock.analyzer.findings import Finding, Sink
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.language.blocks import BUILT_IN, BlockSpec
from interlock.analyzer.model.nodes import RunWorkflow, StartWorkflows, Workflow, walk
from interlock.analyzer.rules.registry import unit_rules, workspace_rules


def _go_on() -> None:
    return None


class Judge:
    """The memory of one set of files that are seen together."""

    def __init__(self) -> None:
        self._program: Program | None = None
        self._made_of: tuple[tuple[Workflow, ...], tuple[BlockSpec, ...]] = ((), ())
        self._known: dict[Workflow, tuple[object, list[Finding]]] = {}

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
        findings = [finding for file in files for finding in file.findings]
        names = tuple(program.by_name)
        specs = self._made_of[1]
        parts = _connected(program)
        kept: dict[Workflow, tuple[object, list[Finding]]] = {}
        for unit in program.units:
            basis = (parts[unit], names, specs)
            known = self._known.get(unit.workflow)
            if known is None or known[0] != basis:
                known = (basis, _judge_unit(unit, give_way))
                self._known[unit.workflow] = known
            kept[unit.workflow] = known
            findings.extend(known[1])
        self._known = kept
        sink = Sink()
        for workspace_rule in workspace_rules():
            give_way()
            workspace_rule(program, sink)
        findings.extend(sink.findings())
        return weigh(findings)


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
