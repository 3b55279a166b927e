"""Judging again and again: what an edit does not touch is not judged a second time.

Findings are kept by what they depend on.  Those of the rules of steps depend on a step, on the workflow's
own fields, and on what the names in it stand for: after an edit, the steps that it changed are judged, and
those that can see a name which the changed ones bring, each in the slice that it depends on.  Those of the
rules of workflows are found again from what is known of each step, and those of the workspace when
something has changed that they look at.  A workflow depends besides on those that it is connected with by
calls, on the names that there are, and on the blocks.  What is not as simple as that is judged whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TypeAlias

import msgspec

from interlock.analyzer.analysis import FileModel, weigh
from interlock.analyzer.findings import Finding, Sink
from interlock.analyzer.graph.intervals import Least
from interlock.analyzer.graph.mentions import RUINS, RUNS, Mentions, Ties, homes, mentions
from interlock.analyzer.graph.own_fields import OwnFields, own_fields, own_pieces, own_values
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.graph.slice import (
    Dependence,
    changed_steps,
    depended_on,
    expressions_of,
    goes_on_alike,
    looks_the_same,
    only,
    slice_of,
)
from interlock.analyzer.language.blocks import BUILT_IN, BlockSpec
from interlock.analyzer.model.nodes import RunWorkflow, StartWorkflows, Step, Workflow, walk, with_inner
from interlock.analyzer.model.values import Setting
from interlock.analyzer.rules.registry import UnitRule, step_rules, whole_rules, workspace_rules
from interlock.analyzer.source.text import Piece

#: What the findings of a workflow depend on: it and those it is connected with, all names, all blocks.
_Basis: TypeAlias = tuple[tuple[Workflow, ...], tuple[str, ...], tuple[BlockSpec, ...]]


MANY = 50
"""Of more workflows than this, what was derived for judging them is not kept: most are never asked about."""


def _go_on() -> None:
    return None


class _Known(msgspec.Struct, eq=False):
    """What is known of one workflow: its findings, and how its steps hang together."""

    basis: _Basis
    steps: list[Finding]
    whole: dict[UnitRule, list[Finding]]
    ties: Ties
    shells: dict[Step, Step]
    least: dict[str, dict[Step, Least | None]]

    def findings(self) -> list[Finding]:
        return [*self.steps, *(one for found in self.whole.values() for one in found)]


class _Edit(msgspec.Struct, frozen=True, eq=False):
    """The steps at the top that went and came (None: what is of no step), and what is known of them.

    ``own`` is what the workflow's own fields say differently, None where nothing in them was written anew.
    ``seen``: others, or the workflow as a whole, can tell the difference.  Of the names of ``outer``
    and ``inner`` the meaning may have changed, for others and inside of steps.
    """

    old: dict[Step | None, Mentions]
    new: dict[Step | None, Mentions]
    own: OwnFields | None
    gone: frozenset[Piece]
    seen: bool
    outer: set[str]
    inner: set[str]

    @property
    def holds(self) -> bool:
        """Whether leases, other runs, or how many runs may go on at once have to do with it."""
        return self.own is not None or any(one.holds for one in (*self.old.values(), *self.new.values()))


class Judge:
    """The memory of one set of files that are seen together."""

    def __init__(self) -> None:
        self._program: Program | None = None
        self._made_of: tuple[tuple[Workflow, ...], tuple[BlockSpec, ...]] = ((), ())
        self._known: dict[Workflow, _Known] = {}
        self._places: dict[tuple[str, int], Workflow] = {}
        self._calls: dict[Workflow, tuple[Setting[str], ...]] = {}
        self._wide: list[Finding] = []
        #: Readings that no other workflow can tell from the ones before them, by these; and what went with them.
        self._quiet: dict[Workflow, tuple[Workflow, frozenset[Piece]]] = {}
        #: What the rules of the workspace have not seen yet: edits inside of workflows, or anything (None).
        self._unseen: list[_Edit] | None = None

    def program(self, files: Sequence[FileModel], blocks: Mapping[str, BlockSpec] | None = None) -> Program:
        """The program of these files; the same object as long as nothing in them has changed."""
        workflows = tuple([workflow for file in files for workflow in file.workflows])
        known = {**BUILT_IN, **(blocks or {})}
        made_of = (workflows, tuple(known.values()))
        old = self._made_of
        same = len(old[0]) == len(workflows) and all(a is b for a, b in zip(old[0], workflows, strict=True))
        if self._program is None or not same or old[1] != made_of[1]:
            last = self._program if old[1] == made_of[1] else None
            self._program = self._renewed(last, workflows, known)
            self._made_of = made_of
        return self._program

    def _renewed(self, last: Program | None, workflows: tuple[Workflow, ...], blocks: dict[str, BlockSpec]) -> Program:
        """A program that takes over what was derived for workflows that are the same, or nearly so."""
        if last is None or [unit.workflow.name and unit.name for unit in last.units] != [
            workflow.name and workflow.name.value for workflow in workflows
        ]:
            return Program(list(workflows), blocks)
        parts = self._connected(last)
        now = set(workflows)
        for unit, workflow in zip(last.units, workflows, strict=True):
            if workflow not in self._calls and (calls := self._calls.get(unit.workflow)) is not None:
                if not _calls_changed(unit.workflow, workflow):
                    self._calls[workflow] = calls
        kept = {unit.workflow: unit for unit in last.units if now.issuperset(parts[unit])}
        pairs = zip(last.units, workflows, strict=True)
        return Program(list(workflows), blocks, kept, {workflow: unit for unit, workflow in pairs})

    def judge(
        self,
        files: Sequence[FileModel],
        blocks: Mapping[str, BlockSpec] | None = None,
        give_way: Callable[[], None] = _go_on,
    ) -> list[Finding]:
        """As ``analysis.judge``; ``give_way`` is called between its parts, and may raise to stop it."""
        program = self.program(files, blocks)
        own = [finding for file in files for finding in file.findings]
        self._judge(program, give_way)
        found = [finding for unit in program.units for finding in self._known[unit.workflow].findings()]
        return weigh([*own, *found, *self._wide])

    def _judge(self, program: Program, give_way: Callable[[], None]) -> None:
        """Brings what is known up to date, workflow by workflow: what was done stays done if it is stopped."""
        names = tuple(program.by_name)
        specs = self._made_of[1]
        parts = self._connected(program)
        places = _places(program)
        if places.keys() != self._places.keys():
            self._unseen = None
        # Those that were read again come first: the others need not be judged where these look the same to them.
        for place, unit in sorted(places.items(), key=lambda item: item[1].workflow in self._known):
            basis = (parts[unit], names, specs)
            known = self._known.get(unit.workflow)
            if known is None:
                self._read_again(program, place, unit, basis, give_way)
            elif known.basis != basis and not self._sees_nothing(known, basis):
                self._known[unit.workflow] = _whole(unit, basis, give_way)
                self._unseen = None
            self._places[place] = unit.workflow
            if len(places) > MANY:
                unit.let_go(True)
        self._wide = self._workspace(program, give_way)
        self._unseen = []
        self._quiet = {}
        self._places = {place: unit.workflow for place, unit in places.items()}
        for gone in self._known.keys() - {unit.workflow for unit in program.units}:
            del self._known[gone]

    def _read_again(
        self, program: Program, place: tuple[str, int], unit: Unit, basis: _Basis, give_way: Callable[[], None]
    ) -> None:
        """Judges a workflow that is not the one that stood in its place before."""
        before = self._places.get(place)
        last = self._known.get(before) if before is not None else None
        again = None
        if before is not None and last is not None and last.basis[1:] == basis[1:]:
            again = _Again(program, unit, before, last, basis).known(give_way)
        if before is None or again is None:
            self._known[unit.workflow] = _whole(unit, basis, give_way)
            self._unseen = None
        else:
            self._known[unit.workflow], edit = again
            if self._unseen is not None:
                self._unseen.append(edit)
            if not edit.seen:
                self._quiet[before] = (unit.workflow, edit.gone)
        if before is not None:
            self._known.pop(before, None)

    def _sees_nothing(self, known: _Known, basis: _Basis) -> bool:
        """Whether what is known of a workflow still holds: it cannot tell what it depends on from what that was."""
        now: list[Workflow] = []
        gone: set[Piece] = set()
        for one in known.basis[0]:
            while one in self._quiet:
                one, went = self._quiet[one]
                gone |= went
            now.append(one)
        if known.basis[1:] != basis[1:] or tuple(now) != basis[0]:
            return False
        if any(_points_into(finding, gone) for finding in known.findings()):
            return False
        known.basis = basis
        return True

    def _workspace(self, program: Program, give_way: Callable[[], None]) -> list[Finding]:
        """What the rules of the workspace find: the same as before, where they look at nothing that changed."""
        if self._unseen is not None:
            gone = frozenset(piece for edit in self._unseen for piece in edit.gone)
            held = any(edit.seen and edit.holds for edit in self._unseen)
            if not held and not any(_points_into(one, gone) for one in self._wide):
                return self._wide
        if len(program.units) == 1:
            unit = program.units[0]
            ties = self._known[unit.workflow].ties
            if unit.workflow.steps is not None and not ties.turning and not ties.aliased:
                program = Program([only(unit.workflow, ties)], program.blocks)
        sink = Sink()
        for workspace_rule in workspace_rules():
            give_way()
            workspace_rule(program, sink)
        return sink.findings()

    def _connected(self, program: Program) -> dict[Unit, tuple[Workflow, ...]]:
        """For each workflow those that calls connect it with, itself included, in a fixed order."""
        calls = {unit.workflow: self._calls.get(unit.workflow) for unit in program.units}
        self._calls = {one: _called(one) if known is None else known for one, known in calls.items()}
        leader = {unit: unit for unit in program.units}

        def find(unit: Unit) -> Unit:
            while leader[unit] is not unit:
                leader[unit] = leader[leader[unit]]
                unit = leader[unit]
            return unit

        for unit in program.units:
            for name in self._calls[unit.workflow]:
                child = program.child(name)
                if child is not None:
                    leader[find(child)] = find(unit)
        members: dict[Unit, list[Workflow]] = {}
        for unit in program.units:
            members.setdefault(find(unit), []).append(unit.workflow)
        return {unit: tuple(members[find(unit)]) for unit in program.units}


def _called(workflow: Workflow) -> tuple[Setting[str], ...]:
    """The names of the workflows that one calls."""
    kinds = (step.kind for step in walk(workflow.steps))
    return tuple(
        [one.workflow for one in kinds if isinstance(one, RunWorkflow | StartWorkflows) and one.workflow is not None]
    )


def _calls_changed(before: Workflow, after: Workflow) -> bool:
    """Whether a step that went or came calls another workflow."""
    if before.steps is None or after.steps is None:
        return True
    changed = changed_steps(before.steps, after.steps)
    return any(
        isinstance(one.kind, RunWorkflow | StartWorkflows)
        for steps in changed
        for step in steps
        for one in with_inner(step)
    )


def _places(program: Program) -> dict[tuple[str, int], Unit]:
    """The workflows by file and number in it."""
    found: dict[tuple[str, int], Unit] = {}
    for unit in program.units:
        path, number = unit.workflow.span.source.path, 0
        while (path, number) in found:
            number += 1
        found[path, number] = unit
    return found


def _points_into(finding: Finding, gone: Set[Piece]) -> bool:
    """Whether a finding, or what belongs to its story, stands in a piece that is no more."""
    if finding.span.piece in gone or any(one.span.piece in gone for one in finding.related):
        return True
    return finding.fix is not None and any(edit.span.piece in gone for edit in finding.fix.edits)


def _found(rules: tuple[UnitRule, ...], unit: Unit, give_way: Callable[[], None]) -> list[Finding]:
    sink = Sink()
    for rule in rules:
        give_way()
        rule(unit, sink)
    return sink.findings()


def _whole(unit: Unit, basis: _Basis, give_way: Callable[[], None]) -> _Known:
    """A workflow judged from the start."""
    unit.least = {}
    unit.ties = None
    steps = _found(step_rules(), unit, give_way)
    whole = {rule: _found((rule,), unit, give_way) for rule in whole_rules()}
    unit.ties = Ties(mentions(unit), unit.workflow)
    return _Known(basis, steps, whole, unit.ties, {}, unit.least)


class _Again:
    """One workflow that was judged before, after an edit."""

    def __init__(self, program: Program, unit: Unit, before: Workflow, last: _Known, basis: _Basis) -> None:
        self.program = program
        self.unit = unit
        self.before = before
        self.after = unit.workflow
        self.last = last
        self.basis = basis

    def known(self, give_way: Callable[[], None]) -> tuple[_Known, _Edit] | None:
        """What is known now, and what changed; None where the workflow has to be judged whole."""
        edit = self._edit()
        if edit is None:
            return None
        ties, known = self.last.ties, None
        _replace(ties, edit.old, edit.new)
        ties.put_in_order(self.after)
        try:
            known = self._judged(edit, give_way)
        finally:
            if known is None:  # what is kept is that of before, until the whole is judged
                _replace(ties, edit.new, edit.old)
                ties.put_in_order(self.before)
        if known is None:
            return None
        self._forget(edit)
        return known, edit

    def _forget(self, edit: _Edit) -> None:
        """Drops what was kept for steps that are no more, and for what the workflow said itself."""
        self.unit.forget(expressions_of(tuple(own_values(self.before))))
        for step in edit.old:
            if step is None:
                continue
            self.last.shells.pop(step, None)
            self.unit.forget(expressions_of(step))
            for least in self.last.least.values():
                for one in with_inner(step):
                    least.pop(one, None)

    # -- what has changed -------------------------------------------------------------------

    def _edit(self) -> _Edit | None:
        """What has changed; None where it is not known who can see it."""
        before, after = self.before, self.after
        old, new = before.steps, after.steps
        others = [one for one in self.last.basis[0] if one is not before]
        if others != [one for one in self.basis[0] if one is not after] or old is None or new is None:
            return None
        own_before, own_after = own_pieces(before), own_pieces(after)
        own = None
        if own_before != own_after or before.fields.keys() != after.fields.keys():
            own = own_fields(before, after, self.program.blocks)
            if own is None:
                return None
        went, came = changed_steps(old, new)
        if any(step.span.piece in own_before for step in went) or any(step.span.piece in own_after for step in came):
            return None
        known = self.last.ties.known
        gone: dict[Step | None, Mentions] = {step: known[step] for step in went}
        read = _mentions_of(self.program, after, came)
        none = read.pop(None)
        same = len(went) == len(came) and all(
            looks_the_same(a, b, self.program.blocks) for a, b in zip(went, came, strict=True)
        )
        # Names in what could not be read are known to whoever reads them, and hide nothing.
        inner = set(before.broken_ids) ^ set(after.broken_ids)
        if before.broken != after.broken:
            inner.add(RUINS)
        seen = not same or bool(inner) or before.unread != after.unread or (own is not None and bool(own.changed))
        outer: set[str] = set()
        if not same:
            for one in (*gone.values(), *read.values()):
                outer |= one.outer
                inner |= one.inner
        if own is not None:
            gone[None], read[None] = known[None], none
            inner |= known[None].inner ^ none.inner
        pieces = frozenset(step.span.piece for step in went) - {step.span.piece for step in new.steps}
        return _Edit(gone, read, own, pieces | (own_before - own_after), seen, outer, inner)

    def _same_ways(self, edit: _Edit) -> bool:
        """Whether the ways through the other steps are what they were before."""
        old = [step for step in edit.old if step is not None]
        new = [step for step in edit.new if step is not None]
        turns = any(one.turns for one in (*edit.old.values(), *edit.new.values()))
        if not turns and not self.last.ties.turning:
            return True
        blocks = self.program.blocks
        if len(old) == len(new) and all(goes_on_alike(a, b, blocks) for a, b in zip(old, new, strict=True)):
            return True
        # A step that simply goes on, and to which no other one jumps, is not met but on the way.
        names = {step.id for step in (*old, *new)}
        return not turns and all(names.isdisjoint(self.last.ties.known[one].targets) for one in self.last.ties.turning)

    # -- what has to be judged --------------------------------------------------------------

    def _judged(self, edit: _Edit, give_way: Callable[[], None]) -> _Known | None:
        asked = self._asked(edit)
        if asked is None or not self._same_ways(edit):
            return None
        ties, last = self.last.ties, self.last
        connected = len(self.basis[0]) > 1 or self._calls_itself()
        # What a caller hands on may come back to this workflow as its inputs.
        needed = depended_on(ties, asked.union(ties.outer.get(RUNS, ())) if connected else asked)
        if needed is None:
            return None
        if connected and edit.seen and (None in asked or any(ties.known[step].holds for step in asked) or edit.holds):
            return None  # what others see of it may be another
        at_steps = {step.span.piece for step in self.after.steps.steps} if self.after.steps is not None else set()
        pieces = {step.span.piece for step in asked if step is not None}
        rest = None in asked

        def again(piece: Piece) -> bool:
            return piece in pieces or piece in edit.gone or (rest and piece not in at_steps)

        steps = [one for one in last.steps if not again(one.span.piece)]
        if asked:
            unit = self._slice(needed, connected or any(ties.known[step].holds for step in needed.kept))
            steps += [one for one in _found(step_rules(), unit, give_way) if again(one.span.piece)]
        self.unit.ties = ties
        self.unit.least = last.least if not connected else {}
        whole = dict(last.whole)
        for rule, found in last.whole.items():
            if edit.seen or any(_points_into(one, edit.gone) for one in found):
                whole[rule] = _found((rule,), self.unit, give_way)
        return _Known(self.basis, steps, whole, ties, last.shells, self.unit.least)

    def _calls_itself(self) -> bool:
        program = self.program
        calls = [step.kind for top in self.last.ties.outer.get(RUNS, ()) if top is not None for step in with_inner(top)]
        return any(
            isinstance(kind, RunWorkflow | StartWorkflows) and program.child(kind.workflow) is self.unit
            for kind in calls
        )

    def _asked(self, edit: _Edit) -> set[Step | None] | None:
        """The steps whose findings may be others than before; None where that cannot be told."""
        ties = self.last.ties
        asked: set[Step | None] = set(edit.new)
        if edit.seen:
            asked |= ties.touched(edit.outer, edit.inner)
            if edit.own is not None:
                asked |= edit.own.seen_by(ties)
            if RUINS in edit.inner:
                asked |= ties.undeclared({secret.name for secret in self.after.secrets})
            asked = ties.with_readers(asked)
            asked |= ties.asked(name for one in (*edit.old.values(), *edit.new.values()) for name in one.free)
            if ties.turning:
                asked |= self._with_another_before()
        pointing = {one.span.piece for one in self.last.steps if _points_into(one, edit.gone)} - edit.gone
        pieces = {step.span.piece for step in asked if step is not None} | pointing
        steps = self.after.steps.steps if self.after.steps is not None else ()
        at_steps = set()
        for step in steps:
            at_steps.add(step.span.piece)
            if step.span.piece in pieces:
                asked.add(step)
        if not pointing <= at_steps:
            asked.add(None)
        for aliased in ties.aliased:
            if aliased in asked or not pieces.isdisjoint(ties.known[aliased].homes or ()):
                return None
        if None in asked and homes(tuple(own_values(self.after))):
            return None
        return asked

    def _with_another_before(self) -> set[Step | None]:
        """The steps that stand behind another one than before: a stretch that no path reaches begins with one."""
        assert self.before.steps is not None
        assert self.after.steps is not None
        old, new = self.before.steps.steps, self.after.steps.steps
        behind = dict(zip(old, (None, *old), strict=False))
        return {step for step, last in zip(new, (None, *new), strict=False) if behind.get(step) is not last}

    def _slice(self, needed: Dependence, together: bool) -> Unit:
        """The part of the workflow with these steps, with the other workflows where they matter."""
        part = slice_of(self.after, self.last.ties, needed, self.last.shells)
        workflows = [unit.workflow for unit in self.program.units] if together else [self.after]
        program = Program([part if one is self.after else one for one in workflows], self.program.blocks)
        return next(unit for unit in program.units if unit.workflow is part)


def _replace(ties: Ties, old: Mapping[Step | None, Mentions], new: Mapping[Step | None, Mentions]) -> None:
    for step in old:
        ties.remove(step)
    for step, one in new.items():
        ties.add(step, one)


def _mentions_of(program: Program, workflow: Workflow, steps: tuple[Step, ...]) -> dict[Step | None, Mentions]:
    """What is known of some steps at the top by themselves, and of what is of no step (None)."""
    assert workflow.steps is not None
    alone = msgspec.structs.replace(workflow, steps=msgspec.structs.replace(workflow.steps, steps=steps))
    return mentions(Program([alone], program.blocks).units[0])
