"""IL305 to IL307, IL313 and IL318: fields that need, or miss, another field beside them."""

from __future__ import annotations

from interlock.analyzer.findings import Edit, Fix, Sink
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.model.nodes import Branches, RunConcurrency
from interlock.analyzer.source.text import Span


def supersession(unit: Unit, sink: Sink) -> None:
    """What ``latest_waiting`` and ``supersede`` need (section 6.1), and a key that they do not use."""
    runs = unit.workflow.concurrency
    if runs is None:
        return
    policy = runs.on_busy_field
    if policy is None:
        if runs.supersession_key is not None and "on_busy" not in runs.fields:
            _idle_key(runs, sink)
        return
    if policy.value == "wait":
        if runs.supersession_key is not None:
            _idle_key(runs, sink)
        return
    _limit(runs, policy.value, sink)
    if "supersession_key" not in runs.fields:
        sink.add(
            "IL306",
            policy.key,
            f'"on_busy: {policy.value}" needs a "supersession_key": which runs replace each other is not said.',
            'Add one, such as supersession_key: "{inputs.id}".',
        )


def _limit(runs: RunConcurrency, policy: str, sink: Sink) -> None:
    if runs.limit_field is not None:
        if runs.limit_field.value != 1:
            sink.add(
                "IL305",
                runs.limit_field.key,
                f'"on_busy: {policy}" needs "limit: 1", and this is {runs.limit_field.value}.',
                fix=Fix("Change it to 1", (Edit(runs.limit_field.span, "1"),)),
            )
    elif "limit" not in runs.fields and runs.on_busy_field is not None:
        key = runs.on_busy_field.key
        sink.add(
            "IL305",
            key,
            f'"on_busy: {policy}" needs "limit: 1" written out: without it the limit is 4.',
            "Add limit: 1.",
            fix=_insert_before(key, "limit: 1"),
        )


def _insert_before(key: Span, text: str) -> Fix | None:
    """A fix that writes a field before another one of the same mapping."""
    if key.via is not None:
        return None
    piece = key.piece.text
    start = piece.rfind("\n", 0, key.start) + 1
    lead = piece[start : key.start]
    if not lead.strip():
        return Fix(f'Add "{text}"', (Edit(Span(key.piece, key.start, key.start), f"{text}\n{lead}"),))
    if lead.rstrip().endswith(("{", ",")):
        return Fix(f'Add "{text}"', (Edit(Span(key.piece, key.start, key.start), f"{text}, "),))
    return None


def _idle_key(runs: RunConcurrency, sink: Sink) -> None:
    assert runs.supersession_key is not None
    sink.add(
        "IL307",
        runs.supersession_key.key,
        '"supersession_key" does nothing with "on_busy: wait": no run replaces another.',
        'Use "latest_waiting" or "supersede", or remove the key.',
    )


def idle_limits(unit: Unit, sink: Sink) -> None:
    """IL313: more branches at once than there are."""
    for step in unit.flow.steps():
        kind = step.kind
        if not isinstance(kind, Branches) or kind.limit_field is None or not kind.branches:
            continue
        if kind.limit_field.value > len(kind.branches):
            count = len(kind.branches)
            sink.add(
                "IL313",
                kind.limit_field.key,
                f'"limit" is {kind.limit_field.value}, and there {"is" if count == 1 else "are"} only '
                f"{count} {'branch' if count == 1 else 'branches'}.",
                "Lower it, or remove it.",
            )


def idle_fields(unit: Unit, sink: Sink) -> None:
    """IL318 for the workflow's own fields: handlers and compensations that can never run."""
    workflow = unit.workflow
    if "on_deadline" in workflow.fields and "deadline" not in workflow.fields and not workflow.broken:
        sink.add(
            "IL318",
            workflow.fields["on_deadline"],
            '"on_deadline" never runs: the workflow has no "deadline".',
            "Add a deadline, or remove it.",
        )
    wanted = workflow.compensate_on_failure
    if wanted is not None and wanted.value and not workflow.broken:
        if not any("compensate" in step.fields for step in unit.flow.steps()):
            sink.add(
                "IL318",
                wanted.key,
                '"compensate_on_failure" does nothing: no step has a "compensate".',
                "Give a step a compensation, or remove it.",
            )


RULES = (supersession, idle_limits, idle_fields)
WHOLE_RULES = (idle_fields,)
