"""What each step at the top of a workflow brings, and what of the rest it can see.

From that follows which steps an edit of others can matter to, and which a step depends on: names tie
them together, as the language has no other way.  What is judged again is decided by ``incremental``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.expressions.uses import string_literals
from interlock.analyzer.graph.flow import ListFlow, given_literals, never_completes
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.language.names import ROOTS
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    Workflow,
    walk,
    with_inner,
)
from interlock.analyzer.model.values import Template
from interlock.analyzer.source.text import Piece, Span
from interlock.analyzer.syntax.nodes import Scalar

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit
    from interlock.analyzer.graph.sites import Site

#: Stand for what has no name: the whole state, what is merged into it, runs that are started and waited
#: for, and whether a part of the text could not be read.
WHOLE_STATE, MERGED, RUNS, RUINS = "state", "state.*", "@runs", "!ruins"
_ALIAS = re.compile(r"(?:^|(?<=[\s\[{,:-]))\*\w")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LOCAL = frozenset({"lease", "index"})
_SILENT = frozenset(ROOTS) | _LOCAL


class Mentions(msgspec.Struct, frozen=True, eq=False):
    """One step with all inside it, or what is of no step (the workflow's outputs and handlers).

    ``outer`` are the names under which others read it, ``inner`` those that it defines for itself (``inside``
    those of them that can be read there), ``free`` those that it reads and does not define before.
    ``merges``: it takes names from elsewhere, so any name may matter to it.  ``inputs`` are the inputs that it
    reads; ``all_inputs`` says that it may read any, ``inherits`` that a run it starts may.  ``secrets`` are
    those that it reads, with ``*`` where it may read any; ``run``: it reads ``run``.  ``claims`` are the claims
    that somebody has to ask for.  ``passes``: what it gives follows from what it reads, so that who reads it can
    tell when that has changed.  ``counts``: the budget limits something in it.  ``holds``: leases, calls or waits
    for runs are in it.  ``jumps``: a ``next``, at any depth; ``turns``: the list at the top does not simply go
    on after it, and ``targets`` are the ids to which it may go.
    """

    outer: frozenset[str]
    inner: frozenset[str]
    inside: frozenset[str]
    free: frozenset[str]
    merges: bool
    inputs: frozenset[str]
    all_inputs: bool
    inherits: bool
    secrets: frozenset[str]
    run: bool
    claims: frozenset[str]
    passes: bool
    counts: bool
    holds: bool
    jumps: bool
    turns: bool
    targets: frozenset[str]
    homes: frozenset[Piece] | None
    """The pieces that its aliases lead to; None without aliases."""


def mentions(unit: Unit) -> dict[Step | None, Mentions]:
    """Those of each step at the top, and of the rest (None)."""
    flow = unit.flow
    top = flow.top
    found: dict[Step | None, _Notes] = {None: _Notes()}
    for step in top.steps if top is not None else ():
        found[step] = notes = _Notes()
        notes.step(unit, step)
        for one in with_inner(step):
            notes.kind(one, flow.of(one)[0])
    for steps in (unit.workflow.on_cancel, unit.workflow.on_deadline):
        for step in walk(steps):
            found[None].handler(step)
    for site in unit.sites:
        owner = _owner(unit, site)
        found[owner].site(unit, site)
    return {step: notes.made(step) for step, notes in found.items()}


def _owner(unit: Unit, site: Site) -> Step | None:
    """The step at the top to which a site belongs."""
    step = site.step
    if step is None:
        return None
    flow = unit.flow.of(step)[0]
    while flow.owner is not None:
        step = flow.owner
        flow = unit.flow.of(step)[0]
    return step if flow.role == "workflow" else None


class _Notes:
    def __init__(self) -> None:
        self.outer: set[str] = set()
        self.inner: set[str] = set()
        self.inside: set[str] = set()
        self.free: set[str] = set()
        self.merges = False
        self.inputs: set[str] = set()
        self.all_inputs = False
        self.inherits = False
        self.secrets: set[str] = set()
        self.run = False
        self.claims: set[str] = set()
        self.passes = False
        self.counts = False
        self.holds = False
        self.jumps = False
        self.turns = False
        self.targets: set[str] = set()

    def step(self, unit: Unit, step: Step) -> None:
        self.outer.update(name for name in (step.id, result_name(step)) if name)
        self.turns = step.next is not None or never_completes(step)
        self.targets = _targets(step)
        self.passes = _passes(unit, step)

    def handler(self, step: Step) -> None:
        self.inner.update(name for name in (step.id,) if name)
        self.jumps |= step.next is not None

    def kind(self, step: Step, flow: ListFlow) -> None:
        """What a step at any depth means to others beside its expressions."""
        kind = step.kind
        self.counts |= isinstance(kind, ForEach | StartWorkflows | DependencyWait)
        if flow.owner is not None:
            name = result_name(step)
            self.inner.update(one for one in (step.id, name) if one)
            self.inside.update((name,) if name else ())
        if isinstance(kind, ForEach):
            self.inner.add(kind.as_name)
            self.inside.update((kind.as_name,) if kind.as_field is not None else ())
        if isinstance(kind, Section | RunWorkflow | StartWorkflows | DependencyWait):
            self.holds = True
        if isinstance(kind, Section) and kind.empty and kind.on_busy == "skip" and kind.lifetime == "run":
            self.claims.add(step.id)
            self.free.add(RUINS)
        if isinstance(kind, RunWorkflow | StartWorkflows | DependencyWait):
            self.outer.add(RUNS)
            self.free.update((RUNS, RUINS))
        if isinstance(kind, RunWorkflow | DependencyWait | SignalWait) and result_name(step) is None:
            self.outer.add(MERGED)
            self.merges |= isinstance(kind, RunWorkflow)
        if isinstance(kind, StartWorkflows):
            self.inherits |= kind.inherit_state
        if isinstance(kind, DependencyWait) and kind.runs is None and kind.agents:
            self.free.add("agent_workflow_ids")
        if isinstance(kind, SignalWait) and kind.correlation_key is not None:
            self.inputs.add(kind.correlation_key.value)
        if step.next is not None:
            self.jumps = True
            value = step.next.value
            targets = [text for text, _ in given_literals(value)] if isinstance(value, Template) else [value]
            self.free.update(one for one in targets if one not in flow.index and one != "end")

    def site(self, unit: Unit, site: Site) -> None:
        """What an expression reads."""
        if site.expression.tree is None:
            self.all_inputs = True
            words = set(_WORD.findall(site.expression.source))
            self.free.update(words - _SILENT | (words & {WHOLE_STATE}))
            self.secrets.update(("*",) if "secrets" in words else ())
            self.run |= "run" in words
            return
        for use in unit.uses(site.expression):
            name, more = use.path[0], use.path[1:]
            self.run |= name == "run"
            if name == "inputs":
                self.all_inputs |= not more
                self.inputs.update(more[:1])
            elif name == "secrets":
                self.secrets.update(more[:1] or ("*",))
                if not more:
                    self.free.add(WHOLE_STATE)
            elif name == "state":
                self.free.update((more[0], MERGED) if more else (WHOLE_STATE, MERGED))
            elif name not in _SILENT and not _bound(unit, site, name):
                self.free.add(name)

    def made(self, step: Step | None) -> Mentions:
        return Mentions(
            frozenset(self.outer),
            frozenset(self.inner),
            frozenset(self.inside),
            frozenset(self.free),
            self.merges,
            frozenset(self.inputs),
            self.all_inputs,
            self.inherits,
            frozenset(self.secrets),
            self.run,
            frozenset(self.claims),
            self.passes,
            self.counts,
            self.holds,
            self.jumps,
            self.turns,
            frozenset(self.targets),
            homes(step) if step is not None and _has_aliases(step) else None,
        )


def _targets(step: Step) -> set[str]:
    """The ids that the ``next`` of a step may name, as ``flow`` finds them in it."""
    if step.next is None:
        return set()
    value = step.next.value
    if not isinstance(value, Template):
        return {value}
    trees = [expression.tree for expression in value.expressions if expression.tree is not None]
    return {str(literal.value) for tree in trees for literal in string_literals(tree)}


def _passes(unit: Unit, step: Step) -> bool:
    """Whether the type of what a step gives, or the secrets in it, follow from what is read in it."""
    kind = step.kind
    if isinstance(kind, BlockCall):
        spec = unit.program.block(kind.block)
        return spec is not None and spec.name == "set"
    if isinstance(kind, Branches):
        return any(branch.outputs is not None for branch in kind.branches)
    if isinstance(kind, Section | ForEach):
        return kind.outputs is not None
    return isinstance(kind, RunWorkflow | StartWorkflows | DependencyWait)


def _bound(unit: Unit, site: Site, name: str) -> bool:
    """Whether a name is defined inside the step at the top in which it is read, before that place."""
    flow, at = site.flow, site.at
    own = site.own
    while flow is not None and flow.owner is not None:
        if own and site.step is not None and result_name(site.step) == name:
            return True
        if flow.straight and any(result_name(step) == name for step in flow.steps[:at]):
            return True
        if name in unit.scopes.added_names(flow.owner):
            return True
        flow, at = unit.flow.of(flow.owner)
        own = False
    return False


def _has_aliases(step: Step) -> bool:
    return step.span.via is not None or _ALIAS.search(step.span.piece.text) is not None


def homes(value: object) -> frozenset[Piece]:
    """The pieces in which what aliases stand for is written."""
    found: set[Piece] = set()
    todo: list[object] = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, Span):
            if one.via is not None:
                found.update((one.piece, one.via.piece))
        elif isinstance(one, tuple | list):
            todo.extend(one)
        elif isinstance(one, dict):
            todo.extend(one.values())
        elif isinstance(one, msgspec.Struct) and not isinstance(one, Scalar):
            todo.extend(getattr(one, name) for name in one.__struct_fields__)
    return frozenset(found)


class Ties:
    """The steps at the top of a workflow by the names that they bring and read."""

    def __init__(self, known: dict[Step | None, Mentions], workflow: Workflow) -> None:
        self.order: dict[Step | None, int] = {}
        self.lost: frozenset[str] = frozenset()
        self._unknown: list[str] | None = None
        self.put_in_order(workflow)
        self.known: dict[Step | None, Mentions] = {}
        self.outer: dict[str, dict[Step | None, None]] = {}
        self.own: dict[str, dict[Step | None, None]] = {}
        self.inside: dict[str, dict[Step | None, None]] = {}
        self.free: dict[str, dict[Step | None, None]] = {}
        self.claims: dict[str, dict[Step | None, None]] = {}
        self.inputs: dict[str, dict[Step | None, None]] = {}
        self.merging: dict[Step | None, None] = {}
        self.jumping: dict[Step | None, None] = {}
        self.turning: dict[Step | None, None] = {}
        self.aliased: dict[Step | None, None] = {}
        self.all_inputs: dict[Step | None, None] = {}
        self.inheriting: dict[Step | None, None] = {}
        self.counting: dict[Step | None, None] = {}
        self.running: dict[Step | None, None] = {}
        self.secrets: dict[str, dict[Step | None, None]] = {}
        for step, one in known.items():
            self.add(step, one)

    def _flags(self, one: Mentions) -> Iterator[dict[Step | None, None]]:
        if one.merges:
            yield self.merging
        if one.jumps:
            yield self.jumping
        if one.turns:
            yield self.turning
        if one.homes is not None:
            yield self.aliased
        if one.all_inputs:
            yield self.all_inputs
        if one.inherits:
            yield self.inheriting
        if one.counts:
            yield self.counting
        if one.run:
            yield self.running

    def _names(self, one: Mentions) -> Iterator[tuple[dict[str, dict[Step | None, None]], Iterable[str]]]:
        yield self.outer, one.outer
        yield self.own, one.outer | one.inner
        yield self.inside, one.inside
        yield self.free, one.free
        yield self.claims, one.claims
        yield self.inputs, one.inputs
        yield self.secrets, one.secrets

    def add(self, step: Step | None, one: Mentions) -> None:
        self.known[step] = one
        for table, names in self._names(one):
            for name in names:
                table.setdefault(name, {})[step] = None
        for flag in self._flags(one):
            flag[step] = None

    def remove(self, step: Step | None) -> None:
        one = self.known.pop(step)
        for table, names in self._names(one):
            for name in names:
                del table[name][step]
                if not table[name]:
                    del table[name]
        for flag in self._flags(one):
            del flag[step]

    def unknown(self) -> list[str]:
        """The names that are read where no step before has brought them: they may count as any near one."""
        if self._unknown is not None:
            return self._unknown
        order = self.order
        found: list[str] = []
        for name, readers in self.free.items():
            writers = self.outer.get(name)
            if writers is None:
                if name != WHOLE_STATE and name != RUINS and name not in self.lost:
                    found.append(name)
            elif min(map(order.__getitem__, writers)) >= min(map(order.__getitem__, readers)):
                found.append(name)
        self._unknown = found
        return found

    def first_inside(self, name: str) -> set[Step | None]:
        """The first steps that define a name for themselves: what is said of one who cannot read it there."""
        tables = (self.inside.get(name), self.own.get(name))
        return {min(steps, key=self.order.__getitem__) for steps in tables if steps}

    def put_in_order(self, workflow: Workflow) -> None:
        """Tells where the steps stand now."""
        steps = workflow.steps.steps if workflow.steps is not None else ()
        self.order = {step: number for number, step in enumerate(steps)}
        self.order[None] = len(steps)
        self.lost = frozenset(workflow.broken_ids)
        self._unknown = None

    def touched(self, outer: set[str], inner: set[str]) -> set[Step | None]:
        """The steps that can see names of these: brought to all, or defined inside of some step."""
        found: set[Step | None] = set()
        for name in outer | inner:
            found.update(self.free.get(name, ()))
        for name in outer:
            found.update(self.own.get(name, ()))
        if outer:
            found.update(self.free.get(WHOLE_STATE, ()))
            found.update(self.merging)
            for name in self.unknown():
                found.update(self.free[name])
        return found

    def with_readers(self, steps: set[Step | None]) -> set[Step | None]:
        """Steps that see a difference, and those that read, at any distance, what these give."""
        found = set(steps)
        todo = [step for step in steps if self.known[step].passes]
        loose: set[Step | None] | None = None
        while todo:
            readers: set[Step | None] = set()
            for name in self.known[todo.pop()].outer:
                readers.update(self.free.get(name, ()))
            if loose is None:  # who reads anything, or a name that may be meant for one of these
                loose = {one for name in (WHOLE_STATE, *self.unknown()) for one in self.free.get(name, ())}
                readers |= loose
            readers -= found
            found |= readers
            todo.extend(step for step in readers if self.known[step].passes)
        return found

    def undeclared(self, declared: Set[str]) -> set[Step | None]:
        """The steps that read secrets other than these."""
        return {step for name, readers in self.secrets.items() if name not in declared for step in readers}

    def asked(self, names: Iterable[str]) -> set[Step | None]:
        """The claims that are asked for under names of these."""
        found: set[Step | None] = set()
        for name in names:
            if name == WHOLE_STATE:
                for steps in self.claims.values():
                    found.update(steps)
            found.update(self.claims.get(name, ()))
        return found
