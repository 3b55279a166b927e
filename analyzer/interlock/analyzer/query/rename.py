"""Renaming: which places change, and why a name cannot be taken."""

from __future__ import annotations

import re

import msgspec

from interlock.analyzer.graph.flow import ListFlow
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.language.names import TITLES, name_problem
from interlock.analyzer.model.nodes import Branches, ForEach, SignalWait, StartWorkflows, Step, walk
from interlock.analyzer.query.symbols import Occurrence, Symbol, anchors, everywhere, occurrences
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Document

_ANCHOR = re.compile(r"[^\s,\[\]{}]+\Z")


class Refusal(msgspec.Struct, frozen=True):
    """Why a name cannot be given, as a sentence."""

    reason: str


def places(program: Program, document: Document | None, one: Occurrence) -> list[Occurrence]:
    """All places of a name; of an anchor those of its document."""
    if one.symbol.kind == "anchor":
        return [] if document is None else [other for other in anchors(document) if other.symbol == one.symbol]
    return everywhere(program, one.symbol)


def rename(program: Program, unit: Unit, document: Document | None, one: Occurrence, new: str) -> list[Span] | Refusal:
    """The spans to replace by ``new``, or why that would break something."""
    symbol = one.symbol
    found = places(program, document, one)
    if not any(other.defines for other in found):
        return Refusal(f'"{symbol.name}" is not defined in this workspace, so it cannot be renamed.')
    if new == symbol.name:
        return []
    problem = fixed(symbol) or _problem(program, unit, document, symbol, new)
    if problem is not None:
        return Refusal(problem)
    return [other.span for other in found]


def fixed(symbol: Symbol) -> str | None:
    """Why a name stands nowhere as one that could be changed: it is what the kind of the step says by default."""
    step = getattr(symbol.owner, "of", None)
    if symbol.kind != "result" or not isinstance(step, Step) or getattr(step.kind, "result_key_field", None):
        return None
    return f'"{symbol.name}" is the default result key of "{step.id}": write `result_key` there to give another.'


def _problem(program: Program, unit: Unit, document: Document | None, symbol: Symbol, new: str) -> str | None:
    kind = symbol.kind
    if kind == "anchor":
        if not _ANCHOR.match(new):
            return f'"{new}" is no name for an anchor: it may not hold blanks, commas or brackets.'
        taken = document is not None and any(other.symbol.name == new for other in anchors(document))
        return f'There is an anchor "{new}" already.' if taken else None
    word = "as" if kind == "item" else kind
    why = name_problem(word, new)
    if why is not None:
        return f'"{new}" is no {TITLES.get(word, word)}: it {why}.'
    owner = unit
    if kind == "workflow":
        return f'There is a workflow "{new}" already.' if new in program.by_name else None
    if isinstance(symbol.owner, str):
        owner = program.by_name.get(symbol.owner, unit)
    if kind == "input":
        taken = new in owner.workflow.inputs
        return f'There is an input "{new}" already.' if taken else _other_correlation(owner, symbol, new)
    if kind == "secret":
        taken = any(secret.name == new for secret in owner.workflow.secrets)
        return f'There is a secret "{new}" already.' if taken else None
    if kind == "group":
        return _group_taken(owner, new)
    if kind == "output":
        taken = any(
            other.symbol.kind == "output" and other.symbol.owner == symbol.owner and other.symbol.name == new
            for other in everywhere_of_owner(program, symbol)
        )
        return f'There is an output "{new}" already.' if taken else None
    step = getattr(symbol.owner, "of", None)
    if not isinstance(step, Step):
        return None
    if kind == "branch":
        taken = isinstance(step.kind, Branches) and any(branch.name == new for branch in step.kind.branches)
        return f'There is a branch "{new}" already.' if taken else None
    owner = _unit_of(program, step) or unit
    return _visible(owner, step, new, inside=kind == "item") or _other_correlation(owner, symbol, new)


def _unit_of(program: Program, step: Step) -> Unit | None:
    """The workflow in which a step stands."""
    for unit in program.units:
        workflow = unit.workflow
        if workflow.span.source is step.span.source:
            lists = (workflow.steps, workflow.on_cancel, workflow.on_deadline)
            if any(one is step for steps in lists for one in walk(steps)):
                return unit
    return None


def _other_correlation(unit: Unit, symbol: Symbol, new: str) -> str | None:
    """Whether a ``correlation_key`` would mean something else: it names the state, else the inputs (section 9)."""
    flow = unit.flow.top
    taken = {*unit.workflow.inputs, *(result_name(step) for step in (flow.steps if flow is not None else ()))}
    for step in walk(unit.workflow.steps):
        kind = step.kind
        key = kind.correlation_key if isinstance(kind, SignalWait) else None
        if key is None or key.value not in (symbol.name, new):
            continue
        meant = {one.symbol for one in occurrences(unit) if one.span == key.span}
        if symbol in meant and (len(meant) > 1 or new in taken):
            return f'The correlation_key of "{step.id}" would then mean both an input and a result.'
        if key.value == new and _in_state(unit, symbol):
            return f'The correlation_key of "{step.id}" would then mean this name.'
    return None


def _in_state(unit: Unit, symbol: Symbol) -> bool:
    """Whether a name is one that a ``correlation_key`` can mean."""
    step = getattr(symbol.owner, "of", None)
    return symbol.kind == "input" or (isinstance(step, Step) and unit.flow.of(step)[0] is unit.flow.top)


def everywhere_of_owner(program: Program, symbol: Symbol) -> list[Occurrence]:
    return [
        one
        for unit in program.units
        for one in occurrences(unit)
        if one.symbol.kind == symbol.kind and one.symbol.owner == symbol.owner
    ]


def _group_taken(unit: Unit, new: str) -> str | None:
    for step in walk(unit.workflow.steps):
        kind = step.kind
        if isinstance(kind, StartWorkflows) and kind.group_key is not None and kind.group_key.value == new:
            return f'There is a group "{new}" already.'
    return None


def _visible(unit: Unit, step: Step, new: str, inside: bool) -> str | None:
    """Whether a bare name would meet another: in its list, the lists around it, or those inside."""
    flow: ListFlow | None
    flow, _ = unit.flow.of(step)
    start = flow
    while flow is not None:
        for other in flow.steps:
            if new in (other.id, result_name(other)):
                return f'"{new}" is the name of a step or result that can be seen there already.'
        if flow.owner is not None and isinstance(flow.owner.kind, ForEach) and flow.owner.kind.as_name == new:
            return f'"{new}" is the name of an item that can be seen there already.'
        flow = flow.parent
    for inner in unit.flow.lists:
        above: ListFlow | None = inner
        while above is not None and above is not start:
            above = above.parent
        if above is None or inner is start:
            continue
        if inside and not _within(inner, step):
            continue
        owner = inner.owner
        if owner is not None and isinstance(owner.kind, ForEach) and owner.kind.as_name == new:
            return f'"{new}" is the name of an item inside it already.'
        for other in inner.steps:
            if new in (other.id, result_name(other)):
                return f'"{new}" is the name of a step inside it already.'
    return None


def _within(flow: ListFlow, step: Step) -> bool:
    at: ListFlow | None = flow
    while at is not None:
        if at.owner is step:
            return True
        at = at.parent
    return False
