"""IL108, IL114, IL210 and IL214: names that collide, and inputs that nothing reads."""

from __future__ import annotations

from interlock.analyzer.findings import Related, Sink
from interlock.analyzer.graph.flow import ListFlow
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.language.names import ROOTS
from interlock.analyzer.language.nearest import near_words
from interlock.analyzer.model.nodes import ForEach, RunWorkflow, SignalWait, StartWorkflows, Step
from interlock.analyzer.model.values import Setting
from interlock.analyzer.source.text import Span


def step_ids(unit: Unit, sink: Sink) -> None:
    """IL108: an id used twice in its list, or one that hides a name of a list around it."""
    names = _Names()
    for flow in unit.flow.lists:
        seen: dict[str, Step] = {}
        for step in flow.steps:
            if not step.id:
                continue
            first = seen.get(step.id)
            if first is not None:
                related = (Related(first.id_span, f'"{step.id}" is used first here'),)
                sink.add(
                    "IL108",
                    step.id_span,
                    f'The id "{step.id}" is used twice in this list.',
                    "Give one of the steps another id, and mend what refers to it.",
                    related=related,
                    beside=(first.id_span,),
                )
                continue
            seen[step.id] = step
            hidden = names.outer(flow, step.id)
            if hidden is not None:
                related = (Related(hidden, f'the outer "{step.id}"'),)
                sink.add(
                    "IL108",
                    step.id_span,
                    f'The id "{step.id}" hides the "{step.id}" around it.',
                    "Give it another name.",
                    related=related,
                    beside=(hidden,),
                )


class _Names:
    """The names that each list defines: step ids and result keys; looked up from a list outwards."""

    def __init__(self) -> None:
        self._own: dict[ListFlow, dict[str, Span]] = {}

    def own(self, flow: ListFlow) -> dict[str, Span]:
        known = self._own.get(flow)
        if known is None:
            known = {}
            for step in flow.steps:
                if step.id:
                    known.setdefault(step.id, step.id_span)
                key = result_name(step)
                if key is not None and key != step.id:
                    known.setdefault(key, _key_span(step))
            self._own[flow] = known
        return known

    def outer(self, flow: ListFlow, name: str) -> Span | None:
        """Where a list around this one, or a ``for_each``, defines a name."""
        current: ListFlow | None = flow
        while current is not None and current.owner is not None:
            kind = current.owner.kind
            if isinstance(kind, ForEach) and kind.as_name == name:
                return kind.as_field.span if kind.as_field else kind.key
            current = current.parent
            if current is not None and (found := self.own(current).get(name)) is not None:
                return found
        return None


def _key_span(step: Step) -> Span:
    """Where a result key stands: at the field, or at the kind's key for a default one."""
    field = getattr(step.kind, "result_key_field", None)
    return field.span if field is not None else step.kind.key


def collisions(unit: Unit, sink: Sink) -> None:
    """IL214: result keys, names of items and group keys that are taken."""
    names = _Names()
    for flow in unit.flow.lists:
        if flow.role == "handler":
            continue
        ids = {step.id: step.id_span for step in flow.steps if step.id}
        keys: dict[str, Span] = {}
        groups: dict[str, Span] = {}
        for step in flow.steps:
            key = result_name(step)
            if key is not None and (key != step.id or _has_key(step)):
                _result_key(key, step, ids.get(key) or names.outer(flow, key), keys, sink)
            kind = step.kind
            if isinstance(kind, ForEach) and kind.as_field is not None:
                name = kind.as_field.value
                _item_name(kind.as_field, ids.get(name) or names.outer(flow, name), sink)
            if isinstance(kind, StartWorkflows) and kind.group_key is not None:
                _group_key(kind, groups, sink)
            if isinstance(kind, RunWorkflow) and kind.result_key is None:
                _merge(unit, kind, flow, names, sink)


def _has_key(step: Step) -> bool:
    kind = step.kind
    return getattr(kind, "result_key_field", None) is not None or (
        isinstance(kind, SignalWait) and kind.result_key is not None
    )


def _result_key(key: str, step: Step, taken: Span | None, keys: dict[str, Span], sink: Sink) -> None:
    span = _key_span(step)
    what = "result key" if getattr(step.kind, "result_key_field", None) else "default result key"
    if taken is not None:
        related = (Related(taken, f'"{key}" is a name already here'),)
        sink.add(
            "IL214",
            span,
            f'The {what} "{key}" is the name of a step or an item that can be seen here.',
            "Give this step another result key.",
            related=related,
        )
    elif key in keys:
        related = (Related(keys[key], f'"{key}" is written first here'),)
        sink.add(
            "IL214",
            span,
            f'The {what} "{key}" is written by two steps of this list.',
            "Give one of them another result key.",
            related=related,
        )
    else:
        keys[key] = span


def _item_name(name: Setting[str], taken: Span | None, sink: Sink) -> None:
    """A written ``as``; the default ``item`` may hide the ``item`` of a ``for_each`` around it."""
    if taken is not None:
        sink.add(
            "IL214",
            name.span,
            f'The item name "{name.value}" is a name that can be seen here already.',
            "Give the items another name with `as`.",
            related=(Related(taken, f'"{name.value}" is a name already here'),),
        )


def _merge(unit: Unit, kind: RunWorkflow, flow: ListFlow, names: _Names, sink: Sink) -> None:
    """Outputs of a child that are merged, and would hit a name that is taken (`state-conflict`)."""
    child = unit.program.child(kind.workflow)
    outputs = child.workflow.outputs if child is not None else None
    for member in outputs.value.members if outputs is not None else ():
        name = member.name
        declared = unit.workflow.inputs.get(name)
        home = declared.key if declared is not None else names.own(flow).get(name) or names.outer(flow, name)
        if name.startswith("_") or (home is None and name not in ROOTS):
            continue
        related = [Related(member.key, f'"{child.name if child else ""}" gives "{name}" here')]
        if home is not None:
            related.append(Related(home, f'"{name}" is a name already here'))
        sink.add(
            "IL214",
            kind.key,
            f'The child\'s output "{name}" would be merged over a name that is taken.',
            "Give the step a result_key.",
            related=tuple(related),
        )


def _group_key(kind: StartWorkflows, groups: dict[str, Span], sink: Sink) -> None:
    assert kind.group_key is not None
    name = kind.group_key.value
    if name in groups:
        related = (Related(groups[name], f'"{name}" is started first here'),)
        sink.add(
            "IL214",
            kind.group_key.span,
            f'The group "{name}" is started by two steps of this list.',
            "Give one of them another group key.",
            related=related,
        )
    else:
        groups[name] = kind.group_key.span


def unused_inputs(unit: Unit, sink: Sink) -> None:
    """IL210: an input that no expression reads, no correlation names, and no child inherits."""
    workflow = unit.workflow
    if not workflow.inputs or workflow.broken:
        return
    used = set(workflow.unread)
    if unit.ties is not None and (unit.ties.all_inputs or workflow.inputs.keys() <= used | unit.ties.inputs.keys()):
        return
    for site in unit.sites:
        for use in unit.uses(site.expression):
            if use.path[0] == "inputs":
                if len(use.path) == 1:
                    return
                used.add(use.path[1])
        if site.expression.tree is None:
            return
    for step in unit.flow.steps():
        kind = step.kind
        if isinstance(kind, SignalWait) and kind.correlation_key is not None:
            used.add(kind.correlation_key.value)
        if isinstance(kind, StartWorkflows) and kind.inherit_state:
            child = unit.program.child(kind.workflow)
            if child is None:
                return
            used.update(child.workflow.inputs)
    unread = [declared for name, declared in workflow.inputs.items() if name not in used]
    meant = _meant_inputs(unit) if unread else frozenset()
    for declared in unread:
        if declared.name not in meant:
            sink.add("IL210", declared.key, f'The input "{declared.name}" is read by nothing.', "Use it, or remove it.")


def _meant_inputs(unit: Unit) -> frozenset[str]:
    """The inputs that are read with a slip, in ``inputs`` or in their own name: those were reported."""
    declared, found = unit.workflow.inputs, set[str]()
    for site in unit.sites:
        for use in unit.uses(site.expression):
            if len(use.path) < 2:
                continue
            root, name = use.path[:2]
            # What is written without a slip is no question, and few are: names are searched for them alone.
            if name not in declared if root == "inputs" else near_words(root, ("inputs",)):
                path = unit.scopes.meant(site, use.path)
                if path[0] == "inputs":
                    found.add(path[1])
    return frozenset(found)


def workflow_names(program: Program, sink: Sink) -> None:
    """IL114: two workflows of one name in the workspace."""
    first: dict[str, Span] = {}
    for unit in program.units:
        name = unit.workflow.name
        if name is None:
            continue
        if name.value in first:
            related = (Related(first[name.value], f'"{name.value}" is defined first here'),)
            sink.add(
                "IL114",
                name.span,
                f'A workflow called "{name.value}" exists already.',
                "Give one of them another name: workflows are started by their names.",
                related=related,
            )
        else:
            first[name.value] = name.span


RULES = (step_ids, collisions, unused_inputs)
WHOLE_RULES = (unused_inputs,)
WORKSPACE_RULES = (workflow_names,)
