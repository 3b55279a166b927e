"""What a picture of a workflow shows: lanes of nodes, boxes inside boxes, and the arrows between.

The outline knows no shapes and no coordinates; the forms of output are made from it.
"""

from __future__ import annotations

import msgspec

from interlock.analyzer.graph.flow import END, ListFlow
from interlock.analyzer.graph.intervals import BudgetIntervals, budget_intervals
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.language.names import spell_duration
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    Delay,
    DependencyWait,
    ForEach,
    Kind,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    StepList,
)
from interlock.analyzer.model.values import ListValue, Literal, Setting, Template, Value
from interlock.analyzer.source.text import Span

LONGEST = 46


class Arrow(msgspec.Struct, frozen=True):
    """A way on that is not simply the next line: by ``next``, or past a step that is skipped.

    ``target`` is the index of a node of the lane, or -1 for its end.
    """

    source: int
    target: int
    kind: str
    label: str = ""


class Node(msgspec.Struct, frozen=True):
    """One step.  ``lanes`` are the lists inside it; ``lease`` is the key that it takes.

    ``shape`` is ``block``, ``branches``, ``section``, ``claim``, ``items``, ``child``, ``start``,
    ``wait``, ``pause`` or ``broken``.  ``marks`` are short words such as ``retry 3`` or ``protected``.
    """

    path: str
    step: str
    kind: str
    shape: str
    detail: str
    line: int
    column: int
    offset: int
    end_offset: int
    when: str = ""
    marks: tuple[str, ...] = ()
    lease: str = ""
    to_the_end: bool = False
    lanes: tuple[Lane, ...] = ()
    follows: bool = True


class Lane(msgspec.Struct, frozen=True):
    """One list of steps, in order; ``name`` is the branch's."""

    name: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...] = ()


class Outline(msgspec.Struct, frozen=True):
    """A whole workflow.  ``admission`` says how runs are let in, ``intervals`` what a run can use."""

    workflow: str
    file: str
    line: int
    admission: str
    lane: Lane
    handlers: tuple[Lane, ...]
    intervals: tuple[tuple[str, str], ...]


def outline(unit: Unit) -> Outline:
    """The outline of one workflow."""
    workflow = unit.workflow
    empty = Lane("", ())
    handlers = [
        _lane(unit, steps, name, name)
        for name, steps in (("on_cancel", workflow.on_cancel), ("on_deadline", workflow.on_deadline))
        if steps is not None
    ]
    span = workflow.name.span if workflow.name is not None else workflow.span
    return Outline(
        unit.name or "unnamed",
        span.source.path,
        span.position.line,
        _admission(unit),
        _lane(unit, workflow.steps, "", "") if workflow.steps is not None else empty,
        tuple(handlers),
        tuple(_intervals(budget_intervals(unit))),
    )


def _admission(unit: Unit) -> str:
    runs = unit.workflow.concurrency
    if runs is None:
        return ""
    key = f" by {show(runs.supersession_key)}" if runs.supersession_key is not None else ""
    return f"{runs.limit} at once, {runs.on_busy}{key}"


def _intervals(found: BudgetIntervals) -> list[tuple[str, str]]:
    rows = (
        ("transitions", found.transitions),
        ("cost units", found.cost_units),
        ("started runs", found.started_workflows),
    )
    shown: list[tuple[str, str]] = []
    for name, interval in rows:
        least = "?" if interval.least is None else f"{interval.least:g}"
        most = "∞" if interval.greatest == float("inf") else f"{interval.greatest:g}"
        if most == "0":
            continue
        of = f" of {interval.limit}" if interval.limit is not None else ""
        if interval.least is not None and interval.least > interval.greatest:
            shown.append((name, f"at least {least}, limit {interval.limit}"))
        else:
            shown.append((name, (least if least == most else f"{least} to {most}") + of))
    return shown


def _lane(unit: Unit, steps: StepList, name: str, path: str) -> Lane:
    flow = unit.flow.inner(steps)
    nodes = tuple(_node(unit, flow, number, path) for number in range(len(flow.steps)))
    return Lane(name, nodes, tuple(_arrows(flow)))


def _arrows(flow: ListFlow) -> list[Arrow]:
    arrows: list[Arrow] = []
    for number, step in enumerate(flow.steps):
        for edge in flow.edges[number]:
            if not edge.explicit:
                continue
            back = edge.target != END and edge.target <= number
            if edge.target == number + 1:
                continue
            label = ""
            if step.next is not None and isinstance(step.next.value, Template):
                label = "maybe"
            arrows.append(Arrow(number, edge.target, "loop" if back else "jump", label))
    return arrows


def _node(unit: Unit, flow: ListFlow, number: int, path: str) -> Node:
    step = flow.steps[number]
    kind = step.kind
    here = f"{path}/{step.id or number}" if path else (step.id or str(number))
    shape, detail = _face(kind)
    lanes: list[Lane] = []
    for name, inner in step.inner():
        lanes.append(_lane(unit, inner, name, f"{here}/{name}" if name else here))
    place = step.span.position
    section = kind if isinstance(kind, Section) else None
    following = number + 1 if number + 1 < len(flow.steps) else END
    return Node(
        here,
        step.id,
        step.kind_name,
        shape,
        detail,
        place.line,
        place.column,
        step.span.offset,
        step.span.end_offset,
        _condition(step),
        tuple(_marks(step)),
        show(section.resource) if section is not None else "",
        section is not None and section.lifetime == "run",
        tuple(lanes),
        any(edge.target == following for edge in flow.edges[number]),
    )


def _condition(step: Step) -> str:
    if step.when is None:
        return ""
    value = step.when.value
    return shorten(value.text.strip("{} ")) if isinstance(value, Template) else str(value).lower()


def _marks(step: Step) -> list[str]:
    kind = step.kind
    marks: list[str] = []
    if step.retry is not None:
        marks.append(f"retry {step.retry.max_attempts}")
    if step.timeout is not None:
        marks.append(f"timeout {spell_duration(step.timeout.value)}")
    if step.compensate is not None:
        marks.append("compensated")
    if isinstance(kind, Section):
        if kind.protected:
            marks.append("protected")
        if kind.on_busy != "wait":
            marks.append(f"busy: {kind.on_busy}")
        if kind.limit != 1:
            marks.append(f"{kind.limit} holders")
    if isinstance(kind, Branches) and kind.on_error == "collect":
        marks.append("collect")
    return marks


def _face(kind: Kind) -> tuple[str, str]:
    """The shape of a kind, and the line of detail under its name."""
    if isinstance(kind, BlockCall):
        return "block", _block(kind)
    if isinstance(kind, Branches):
        return "branches", f"{kind.limit} at once"
    if isinstance(kind, Section):
        return ("claim" if kind.empty else "section"), show(kind.resource)
    if isinstance(kind, ForEach):
        mode = f"quorum {kind.quorum.value}" if kind.mode == "quorum" and kind.quorum else kind.mode
        return "items", f"each {kind.as_name} of {show(kind.items)}, {kind.limit} at once, {mode}"
    if isinstance(kind, RunWorkflow):
        return "child", kind.workflow.value if kind.workflow else ""
    if isinstance(kind, StartWorkflows):
        target = kind.workflow.value if kind.workflow else ""
        return "start", f"{target} for each of {show(kind.items)}"
    if isinstance(kind, DependencyWait):
        return "wait", _dependency(kind)
    if isinstance(kind, SignalWait):
        glue = " and " if kind.mode == "all" else " or "
        return "wait", "for " + glue.join(name.value for name in kind.names)
    if isinstance(kind, Delay):
        return "pause", spell_duration(kind.seconds.value) if kind.seconds else f"until {show(kind.until)}"
    return "broken", ""


def _block(kind: BlockCall) -> str:
    name = kind.block.value if kind.block else ""
    if kind.params is None:
        return name
    params = kind.params.value
    parts = [name]
    for field in ("method", "url", "message", "call", "command"):
        value = params.get(field)
        if value is not None:
            parts.append(show_value(value))
    return shorten(" ".join(parts))


def _dependency(kind: DependencyWait) -> str:
    if kind.form == "group":
        what = f"group {kind.group.value}" if kind.group else "a group"
    else:
        what = show(kind.runs) if kind.runs is not None else "{agent_workflow_ids}"
    if kind.form == "one":
        return f"for {what}"
    mode = f"{kind.quorum.value}" if kind.mode == "quorum" and kind.quorum else kind.mode
    return f"for {mode} of {what}"


def show(setting: Setting[Value] | None) -> str:
    """A value as one short line."""
    return "" if setting is None else show_value(setting.value)


def show_value(value: Value) -> str:
    if isinstance(value, Template):
        return shorten(" ".join(value.text.split()))
    if isinstance(value, Literal):
        return shorten(str(value.data))
    return f"{len(value.items)} items" if isinstance(value, ListValue) else f"{len(value.members)} values"


def shorten(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def span_of(step: Step) -> Span:
    return step.span
