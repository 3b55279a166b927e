"""Every expression of a workflow with the place in which it is evaluated (section 3).

The rules about names, types, absence and secrets all walk these sites; which names mean what at
a site is decided by the scopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from interlock.analyzer.graph.flow import Flow, ListFlow
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    Delay,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    Workflow,
)
from interlock.analyzer.model.values import (
    Expression,
    ListValue,
    MapValue,
    Setting,
    Template,
    Value,
)
from interlock.analyzer.source.text import Span

Place: TypeAlias = Literal[
    "when",
    "params",
    "compensate",
    "items",
    "outputs",
    "inputs",
    "resource",
    "supersession_key",
    "idempotency_key",
    "runs",
    "match",
    "until",
    "next",
]

#: Places whose value becomes text, and may not be null, a list or a map.
KEYS: frozenset[str] = frozenset({"resource", "supersession_key", "idempotency_key"})
_TEXT_PLACES = KEYS | {"runs"}


class Site(msgspec.Struct, frozen=True, eq=False):
    """One expression in its place.

    ``step`` is the step whose field it is (for outputs, the step that contains them; None for the
    workflow's own fields).  It is evaluated in the scope of ``flow`` before the step at index
    ``at`` (the number of steps: at the end of the list); ``flow`` is None where no step's result
    can be seen.  ``own`` sites see their own step's result too.  ``path`` leads from the field to
    the leaf, ``whole`` tells that the leaf is this expression alone, ``text`` that the value is
    written as text here.  ``key`` is the field's key.  ``open`` tells that steps are missing here, which
    was reported: any name may be meant for one of them.
    """

    expression: Expression
    template: Template
    place: Place
    step: Step | None
    flow: ListFlow | None
    at: int
    own: bool
    whole: bool
    text: bool
    path: tuple[str | int, ...]
    key: Span
    open: bool = False


class _Where(msgspec.Struct, frozen=True):
    step: Step | None
    flow: ListFlow | None
    at: int
    open: bool = False


def leaf_paths(value: Value, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Value]]:
    """The leaves of a value with the path that leads to each."""
    if isinstance(value, ListValue):
        for number, item in enumerate(value.items):
            yield from leaf_paths(item, (*path, number))
    elif isinstance(value, MapValue):
        for member in value.members:
            yield from leaf_paths(member.value, (*path, member.name))
    else:
        yield path, value


def sites(workflow: Workflow, flow: Flow) -> Iterator[Site]:
    """The sites of a workflow in the order of the text, as far as fields have one."""
    nowhere = _Where(None, None, 0)
    if workflow.concurrency is not None:
        yield from _value(workflow.concurrency.supersession_key, "supersession_key", nowhere)
    yield from _value(workflow.idempotency_key, "idempotency_key", nowhere)
    for list_flow in flow.lists:
        for number, step in enumerate(list_flow.steps):
            yield from _step(step, flow, _Where(step, list_flow, number))
    yield from _workflow_outputs(workflow, flow)


def step_sites(flow: Flow, step: Step) -> Iterator[Site]:
    """The sites of one step's own fields, those of the steps inside it left out."""
    list_flow, number = flow.of(step)
    yield from _step(step, flow, _Where(step, list_flow, number))


def workflow_sites(workflow: Workflow, flow: Flow) -> Iterator[Site]:
    """The sites of a workflow's own fields, those of its steps left out."""
    nowhere = _Where(None, None, 0)
    if workflow.concurrency is not None:
        yield from _value(workflow.concurrency.supersession_key, "supersession_key", nowhere)
    yield from _value(workflow.idempotency_key, "idempotency_key", nowhere)
    yield from _workflow_outputs(workflow, flow)


def _workflow_outputs(workflow: Workflow, flow: Flow) -> Iterator[Site]:
    top = flow.top
    if workflow.outputs is not None and top is not None:
        yield from _value(workflow.outputs, "outputs", _Where(None, top, len(top.steps)))


def _step(step: Step, flow: Flow, where: _Where) -> Iterator[Site]:
    for when in (step.when, step.spare_when):
        if when is not None and isinstance(when.value, Template):
            yield from _template(when.value, "when", where, (), when.key)
    yield from _kind(step, flow, where)
    if step.compensate is not None:
        yield from _value(step.compensate.params, "compensate", where, own=True)
    if step.next is not None and isinstance(step.next.value, Template):
        yield from _template(step.next.value, "next", where, (), step.next.key, own=True)


def _kind(step: Step, flow: Flow, where: _Where) -> Iterator[Site]:
    kind = step.kind
    if isinstance(kind, BlockCall):
        yield from _value(kind.params, "params", where)
    elif isinstance(kind, Section):
        yield from _value(kind.resource, "resource", where)
        if kind.outputs is not None:
            end = _end(step, flow, 0, where)
            lacks = kind.empty and kind.lifetime != "run"
            yield from _value(kind.outputs, "outputs", _without_steps(end) if lacks else end)
    elif isinstance(kind, Branches):
        number = 0
        for branch in kind.branches:
            inner = _end(step, flow, number, where) if branch.steps is not None else _without_steps(where)
            if branch.steps is not None:
                number += 1
            yield from _value(branch.outputs, "outputs", inner)
    elif isinstance(kind, ForEach):
        yield from _value(kind.items, "items", where)
        yield from _value(kind.outputs, "outputs", _end(step, flow, 0, _without_steps(where)))
    elif isinstance(kind, RunWorkflow):
        yield from _value(kind.inputs, "inputs", where)
    elif isinstance(kind, StartWorkflows):
        yield from _value(kind.items, "items", where)
    elif isinstance(kind, DependencyWait):
        yield from _value(kind.runs, "runs", where)
    elif isinstance(kind, SignalWait):
        yield from _value(kind.match, "match", where)
    elif isinstance(kind, Delay):
        yield from _value(kind.until, "until", where)


def _without_steps(where: _Where) -> _Where:
    return _Where(where.step, where.flow, where.at, True)


def _end(step: Step, flow: Flow, number: int, where: _Where) -> _Where:
    """The end of the step's list of that number; its own place where it has none."""
    lists = [inner for _, inner in step.inner()]
    if number >= len(lists):
        return where
    inner = flow.inner(lists[number])
    return _Where(step, inner, len(inner.steps))


def _value(
    setting: Setting[Value] | Setting[MapValue] | None, place: Place, where: _Where, own: bool = False
) -> Iterator[Site]:
    if setting is None:
        return
    for path, leaf in leaf_paths(setting.value):
        if isinstance(leaf, Template):
            yield from _template(leaf, place, where, path, setting.key, own)


def _template(
    template: Template,
    place: Place,
    where: _Where,
    path: tuple[str | int, ...],
    key: Span,
    own: bool = False,
) -> Iterator[Site]:
    text = not template.whole or (place in _TEXT_PLACES and not (place == "runs" and not path))
    for expression in template.expressions:
        yield Site(
            expression,
            template,
            place,
            where.step,
            where.flow,
            where.at,
            own,
            template.whole,
            text,
            path,
            key,
            where.open,
        )
