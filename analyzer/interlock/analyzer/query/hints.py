"""What is in force and not written: defaults, the range of a budget, what a number of seconds is."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock.analyzer.graph.intervals import budget_intervals
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.language.names import spell_duration
from interlock.analyzer.model.nodes import Branches, ForEach, Section, Step, StepList
from interlock.analyzer.query import words
from interlock.analyzer.query.hover import taken_elsewhere
from interlock.analyzer.source.text import Span


class Hint(msgspec.Struct, frozen=True):
    """A text to show behind an offset; ``doc`` says more."""

    offset: int
    text: str
    doc: str


def hints(unit: Unit, start: int, end: int) -> Iterator[Hint]:
    """The hints of a workflow between two offsets of its file."""
    workflow = unit.workflow
    if workflow.concurrency is not None and start <= workflow.concurrency.key.offset <= end:
        admission = workflow.concurrency
        missing = []
        if "limit" not in admission.fields:
            missing.append(f"limit: {admission.limit}")
        if "on_busy" not in admission.fields:
            missing.append(f"on_busy: {admission.on_busy}")
        yield from _defaults(admission.key, missing)
    yield from _budgets(unit, start, end)
    for steps in (workflow.steps, workflow.on_cancel, workflow.on_deadline):
        yield from _steps(steps, start, end)


def _defaults(key: Span, missing: list[str]) -> Iterator[Hint]:
    if missing and key.via is None:
        yield Hint(key.end_offset + 1, "  " + ", ".join(missing), "Defaults that are in force.")


_BUDGETS = ("transitions", "cost_units", "for_each_items", "started_workflows", "state_bytes")


def _budgets(unit: Unit, start: int, end: int) -> Iterator[Hint]:
    workflow = unit.workflow
    budget = workflow.budget
    shown = []
    for name in _BUDGETS:
        setting = getattr(budget, f"max_{name}", None) if budget is not None else None
        if setting is not None and start <= setting.span.offset <= end:
            shown.append((name, setting.span))
    deadline = workflow.deadline
    if not shown and (deadline is None or not start <= deadline.span.offset <= end):
        return
    found = budget_intervals(unit)
    for name, span in shown:
        interval = getattr(found, name)
        used = words.between(interval.least, interval.greatest)
        yield Hint(span.end_offset, f" uses {used}", "What a completed run of this definition uses.")
    if deadline is not None and start <= deadline.span.offset <= end and found.delay.greatest > 0:
        used = words.between(found.delay.least, found.delay.greatest, True)
        yield Hint(deadline.span.end_offset, f" delays {used}", "What the delays of a run add up to.")


def _steps(steps: StepList | None, start: int, end: int) -> Iterator[Hint]:
    for step in steps.steps if steps is not None else ():
        if step.span.via is not None or step.span.offset > end or step.span.end_offset < start:
            continue
        yield from _step(step)
        for _, inner in step.inner():
            yield from _steps(inner, start, end)


#: The fields of a container whose defaults are worth seeing.
_SHOWN: tuple[tuple[type, tuple[str, ...]], ...] = (
    (Section, ("limit", "on_busy", "lifetime")),
    (Branches, ("limit", "on_error")),
    (ForEach, ("limit", "mode")),
)


def _step(step: Step) -> Iterator[Hint]:
    kind = step.kind
    for container, names in _SHOWN:
        if isinstance(kind, container):
            fields: dict[str, Span] = getattr(kind, "fields", {})
            missing = [f"{name}: {getattr(kind, name)}" for name in names if name not in fields]
            yield from _defaults(kind.key, missing)
    for setting in (step.timeout, getattr(kind, "seconds", None)):
        if setting is not None and setting.span.text.strip("\"'").isdigit() and setting.span.via is None:
            yield Hint(setting.span.end_offset, f" = {spell_duration(setting.value)}", "The same as a duration.")


class Lens(msgspec.Struct, frozen=True, eq=False):
    """A line above a name.  ``kind``: ``run``, ``references`` (of ``at``), or ``taken`` (by ``others``)."""

    kind: str
    title: str
    at: Span
    others: tuple[Span, ...] = ()


def lenses(unit: Unit) -> Iterator[Lens]:
    """Above the workflow: run it, who calls it.  Above a resource: who else takes it."""
    name = unit.workflow.name
    if name is not None:
        yield Lens("run", "Run", name.span)
        calls = [call for call in unit.program.calls.calls() if call.child is unit and call.name.value == unit.name]
        spans = tuple(call.name.span for call in calls)
        yield Lens("references", f"{len(spans)} {'reference' if len(spans) == 1 else 'references'}", name.span, spans)
    for one in unit.leases.acquisitions:
        if one.key is None or one.section.resource is None:
            continue
        others = taken_elsewhere(unit.program, one.key, one.step)
        if not others:
            continue
        count = len({other.name for other, _ in others} | {unit.name})
        title = f"taken by {count} {'workflow' if count == 1 else 'workflows'}"
        yield Lens("taken", title, one.resource_key, tuple(step.id_span for _, step in others))
