"""IL410 to IL413 and IL416: quorums, groups, and the workflows and runs that a step names (section 8).

Also IL202 to IL204 for the runs that ``wait_for_agents`` names by default, and IL104 for a
``payload_key`` that the items make necessary.  Cycles of calls are in ``call_cycles``.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from interlock.analyzer.expressions.ast import Ident
from interlock.analyzer.findings import Edit, Fix, Related, Sink
from interlock.analyzer.graph.groups import Groups
from interlock.analyzer.graph.keys import known_text
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.scope import SiteScope
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.links import MOST_TOLD
from interlock.analyzer.model.nodes import (
    DependencyWait,
    ForEach,
    RunWorkflow,
    StartWorkflows,
    Step,
    walk,
)
from interlock.analyzer.model.values import ListValue, Setting, Template, Value
from interlock.analyzer.rules.child_inputs import run_inputs, start_inputs
from interlock.analyzer.source.text import Span

#: The result key of ``start_agents``, and what ``wait_for_agents`` waits for, where none is written.
_AGENTS = "agent_workflow_ids"


def calls(unit: Unit, sink: Sink) -> None:
    """Each step that names a workflow, a run or a group, and each quorum."""
    for step in walk(unit.workflow.steps):
        kind = step.kind
        if isinstance(kind, RunWorkflow | StartWorkflows):
            _workflow(unit, kind.workflow, sink)
            child = unit.program.child(kind.workflow)
            if isinstance(kind, StartWorkflows):
                start_inputs(unit, step, kind, child, sink)
            elif child is not None and kind.workflow is not None:
                run_inputs(unit, kind, kind.workflow, child, sink)
        elif isinstance(kind, DependencyWait):
            _run_ids(unit, kind, sink)
            _default_runs(unit, step, kind, sink)
            starters = _group(unit, step, kind, unit.groups, sink)
            _quorum(kind, _most_runs(unit, step, kind, unit.groups, starters), "runs to wait for", sink)
        elif isinstance(kind, ForEach):
            _quorum(kind, _written(kind.items, "items"), "items", sink)


# -- names ---------------------------------------------------------------------------------------


def replace(span: Span, word: str) -> Fix:
    """Puts a word in the place of another one, in the quotes that stand there."""
    quote = span.text[:1]
    new = f"{quote}{word}{quote}" if quote in ('"', "'") else word
    return Fix(f'Change it to "{word}"', (Edit(span, new),))


def _workflow(unit: Unit, name: Setting[str] | None, sink: Sink) -> None:
    """IL412."""
    program = unit.program
    if name is None or name.value in program.by_name:
        return
    if any(other.workflow.broken and not other.name for other in program.units):
        return
    child = program.child(name)
    near = child.name if child is not None else None
    sink.add(
        "IL412",
        name.span,
        f'No workflow of this workspace is called "{name.value}".',
        f'Did you mean "{near}"?' if near else _known(unit),
        fix=replace(name.span, near) if near else None,
    )


def _known(unit: Unit) -> str:
    """Which workflows there are to name, beside the one that asks."""
    # What ties files together sees to it that so many of the first names are always in the program.
    others = (name for name in unit.program.by_name if name != unit.name)
    names = heapq.nsmallest(MOST_TOLD + 1, others)
    if not names:
        return "No other workflow is known here; check the whole workspace if it stands in another file."
    listed = ", ".join(f'"{name}"' for name in names[:MOST_TOLD])
    return f"Known {'are' if len(names) > 1 else 'is'} {listed}{' and others' if len(names) > MOST_TOLD else ''}."


def _run_ids(unit: Unit, kind: DependencyWait, sink: Sink) -> None:
    """IL416."""
    if kind.runs is None:
        return
    for value in _values(kind.runs.value):
        text = known_text(value)
        named = unit.program.by_name.get(text) if text is not None else None
        if named is not None and named.workflow.name is not None:
            sink.add(
                "IL416",
                value.span,
                f'"{text}" is the name of a workflow, and a run id belongs here: no run has this id.',
                "Wait for the id that start_workflows stored, or use run_workflow to run it and wait.",
                related=(Related(named.workflow.name.span, f'the workflow "{text}"'),),
            )


def _values(value: Value) -> Iterator[Value]:
    if isinstance(value, ListValue):
        yield from value.items
    else:
        yield value


def _default_runs(unit: Unit, step: Step, kind: DependencyWait, sink: Sink) -> None:
    """IL202 to IL204 for the run ids that ``wait_for_agents`` reads where it names none."""
    if kind.runs is not None or not kind.agents or kind.form != "many" or "workflows" in kind.fields:
        return
    flow, number = unit.flow.of(step)
    if flow.role == "handler" or unit.workflow.broken or SiteScope(unit.scopes, flow, number, None).find(_AGENTS):
        return
    hidden = unit.scopes.hidden(flow, _AGENTS)
    code = {"later": "IL203", "inside": "IL204"}.get(hidden.why if hidden is not None else "", "IL202")
    written = hidden.step if hidden is not None else None
    sink.add(
        code,
        kind.key,
        f'{step.called} waits for the runs of "{_AGENTS}", and no step gives that name on every path to here.',
        "Wait after a start_agents of this list or of one around it, or say which runs with workflows.",
        related=(Related(written.id_span, f'"{_AGENTS}" is written by this step'),) if written is not None else (),
    )


def _group(unit: Unit, step: Step, kind: DependencyWait, groups: Groups, sink: Sink) -> list[Step]:
    """IL411; the steps that may have started the group, by its name or by the near one it counts as."""
    if kind.group is None:
        return []
    name = kind.group.value
    started: dict[str, list[Step]] = {}
    for starter in groups.before(step):
        key = _group_key(starter)
        if key is not None:
            started.setdefault(key, []).append(starter)
    if name in started:
        return started[name]
    if unit.workflow.broken or not groups.reaches(step):
        return []
    near = nearest(name, started)
    elsewhere = [starter for starter in groups.starters if _group_key(starter) == name]
    message = f'No step that has settled before {step.called} starts a group called "{name}"'
    if near is not None:
        hint = f'Did you mean "{near}"?'
    elif elsewhere:
        message += f": {elsewhere[0].called} starts it, but not before"
        hint = "Wait for it after the step that starts it."
    else:
        hint = f'Give a start_workflows before it "group_key: {name}".'
    sink.add(
        "IL411",
        kind.group.span,
        message + ".",
        hint,
        related=tuple(
            Related(starter.kind.key, f'{starter.called} starts "{_group_key(starter)}"')
            for starter in (started[near] if near else elsewhere)
        ),
        fix=replace(kind.group.span, near) if near else None,
    )
    return started[near] if near else []


def _group_key(starter: Step) -> str | None:
    kind = starter.kind
    if isinstance(kind, StartWorkflows) and kind.group_key is not None:
        return kind.group_key.value
    return None


# -- quorums -------------------------------------------------------------------------------------


def _quorum(kind: DependencyWait | ForEach, most: tuple[int, str, Span] | None, things: str, sink: Sink) -> None:
    """IL410; ``most`` is how many there can be at the most, why, and where that is written."""
    mode = kind.mode_field
    if mode is None and "mode" in kind.fields:
        return
    quorum = kind.quorum
    if kind.mode != "quorum":
        if quorum is not None:
            sink.add(
                "IL410",
                quorum.key,
                f'"quorum" means nothing with "mode: {kind.mode}".',
                'Write "mode: quorum", or remove it.',
            )
        return
    if quorum is None:
        if "quorum" not in kind.fields and mode is not None:
            sink.add(
                "IL410",
                mode.key,
                f'"mode: quorum" needs "quorum": how many {things} must succeed is not said.',
                "Add quorum with a whole number of at least 1.",
            )
        return
    if most is not None and quorum.value > most[0]:
        sink.add(
            "IL410",
            quorum.span,
            f"A quorum of {quorum.value} can never be reached: {most[1]}.",
            f"Lower it to {most[0]} or less." if most[0] else "Add what it is to wait for.",
            related=(Related(most[2], most[1]),),
        )


def _least(*bounds: tuple[int, str, Span] | None) -> tuple[int, str, Span] | None:
    known = [bound for bound in bounds if bound is not None]
    return min(known, key=lambda bound: bound[0]) if known else None


def _written(items: Setting[Value] | None, what: str) -> tuple[int, str, Span] | None:
    """How long a list is that is written out."""
    if items is None or not isinstance(items.value, ListValue):
        return None
    count = len(items.value.items)
    return count, f"the list has {count} {what if count != 1 else what.removesuffix('s')}", items.span


def _budget(setting: Setting[int] | None, name: str) -> tuple[int, str, Span] | None:
    if setting is None:
        return None
    return setting.value, f'the budget "{name}" is {setting.value}', setting.span


def _most_runs(
    unit: Unit, step: Step, kind: DependencyWait, groups: Groups, starters: list[Step]
) -> tuple[int, str, Span] | None:
    """How many runs a wait can be for at the most, as far as the definition tells."""
    if kind.form == "many":
        written = _written(kind.runs, "run ids")
        if written is not None:
            return written
        name = _result_read(kind)
        starters = [
            starter
            for starter in groups.before(step)
            if isinstance(starter.kind, StartWorkflows) and starter.kind.result_key == name
        ]
    if not starters:
        return None
    budget = unit.workflow.budget
    total = _budget(budget.max_started_workflows if budget else None, "max_started_workflows")
    most: list[tuple[int, str, Span]] = []
    for starter in starters:
        assert isinstance(starter.kind, StartWorkflows)
        bound = _least(_written(starter.kind.items, "items"), total)
        if bound is None:
            return None
        most.append(bound)
    return max(most, key=lambda bound: bound[0])


def _result_read(kind: DependencyWait) -> str | None:
    """The result key that the run ids are read from, where they are nothing but that."""
    if kind.runs is None:
        return _AGENTS if kind.agents and "workflows" not in kind.fields else None
    value = kind.runs.value
    if isinstance(value, Template) and value.whole:
        tree = value.expressions[0].tree
        return tree.name if isinstance(tree, Ident) else None
    return None


RULES = (calls,)
