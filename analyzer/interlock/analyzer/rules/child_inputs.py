"""IL413: what a child run is given against what it declares; IL104 for a missing ``payload_key``.

``run_workflow`` must give exactly what the child declares.  Of what ``start_workflows`` offers, the
child takes what it declares and drops the rest, so there only what is surely missing or surely of
a wrong type is told.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock.analyzer.expressions.types import (
    NULL,
    Dyn,
    List,
    Map,
    OneOf,
    Record,
    Type,
    assignable,
    describe,
    is_json,
    options,
)
from interlock.analyzer.findings import Related, Sink
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.results import value_type
from interlock.analyzer.graph.scope import input_type, result_name
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import Input, RunWorkflow, StartWorkflows, Step
from interlock.analyzer.model.values import (
    ListValue,
    Literal,
    MapValue,
    Setting,
    Template,
    Value,
    expressions,
    is_literal,
    plain,
)


def run_inputs(unit: Unit, kind: RunWorkflow, workflow: Setting[str], child: Unit, sink: Sink) -> None:
    """The inputs of a ``run_workflow``."""
    declared = _declared(child)
    if declared is None or (kind.inputs is None and "inputs" in kind.fields):
        return
    given: set[str] = set()
    members = kind.inputs.value.members if kind.inputs is not None else ()
    written = {member.name for member in members}
    for member in members:
        name = member.name
        if name not in declared:
            near = nearest(name, declared)
            sink.add(
                "IL413",
                member.key,
                f'Workflow "{child.name}" has no input "{name}".',
                f'Did you mean "{near}"?' if near and near not in written else _inputs_of(declared),
                related=_head(child),
            )
            if near is None or near in written:
                continue
            name = near
        given.add(name)
        _fits(unit, member.value, declared[name], child, sink)
    place = kind.inputs.key if kind.inputs is not None else workflow.span
    for one in declared.values():
        if one.required and one.name not in given:
            sink.add(
                "IL413",
                place,
                f'Workflow "{child.name}" needs the input "{one.name}", and it is not given.',
                f'Add "{one.name}" to "inputs", or give the input a default.',
                related=(Related(one.key, f'"{one.name}" is declared here, as {one.type}, without a default'),),
            )


def _declared(child: Unit) -> dict[str, Input] | None:
    """The inputs of a workflow; None where they could not be read."""
    workflow = child.workflow
    if not workflow.inputs and ("inputs" in workflow.fields or workflow.broken):
        return None
    return workflow.inputs


def _inputs_of(declared: dict[str, Input]) -> str:
    if not declared:
        return "It takes no inputs."
    names = list(declared)
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"Its inputs are {shown}."


def _head(child: Unit) -> tuple[Related, ...]:
    workflow = child.workflow
    if workflow.inputs_key is not None:
        return (Related(workflow.inputs_key, f'the inputs of "{child.name}"'),)
    return (Related(workflow.name.span, f'"{child.name}" declares no inputs'),) if workflow.name is not None else ()


# -- one value -----------------------------------------------------------------------------------


def _fits(unit: Unit, value: Value, declared: Input, child: Unit, sink: Sink) -> None:
    why = _misfit(unit, value, declared)
    if why is not None:
        sink.add(
            "IL413",
            value.span,
            f'The input "{declared.name}" of "{child.name}" {why}.',
            related=(Related(declared.type_span, f'"{declared.name}" is declared here'),),
        )


def _misfit(unit: Unit, value: Value, declared: Input) -> str | None:
    """Why a value can never be one of an input; None where it can, or where that is not known."""
    actual = _type_of(unit, value)
    if actual is None:
        return None
    wanted = input_type(declared)
    article = "an" if declared.type[0] in "aeio" else "a"
    needed = f"is {article} {declared.type}" if declared.type != "any" else "takes any value"
    if declared.enum is not None and is_literal(value) and not (plain(value) is None and assignable(NULL, wanted)):
        allowed = [plain(item) for item in declared.enum.value.items]
        if allowed and not any(_same(plain(value), item) for item in allowed):
            words = ", ".join(f'"{item}"' if isinstance(item, str) else str(item) for item in allowed[:8])
            return f"takes one of {words}, and this is {_shown(value)}"
        return None
    if assignable(actual, wanted):
        return None
    if declared.enum is not None and assignable(actual, input_type(msgspec.structs.replace(declared, enum=None))):
        return "takes one of a few words, and this is never one of them"
    return f"{needed}, and this is {describe(actual)}"


def _type_of(unit: Unit, value: Value) -> Type | None:
    """The type of a value; None where an expression in it is wrong, which is told already."""
    for expression in expressions(value):
        if expression.tree is None:
            return None
    if isinstance(value, Template) and value.whole:
        site = unit.scopes.site_of(value)
        if site is None or unit.scopes.checked(site).problems:
            return None
    found = value_type(unit.scopes, value)
    return found if is_json(found) else None


def _same(one: object, other: object) -> bool:
    """JSON equality: true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _shown(value: Value) -> str:
    if isinstance(value, Literal):
        return f'"{value.data}"' if isinstance(value.data, str) else str(value.data)
    return "a map" if isinstance(value, MapValue) else "a list"


# -- started runs --------------------------------------------------------------------------------


def start_inputs(unit: Unit, step: Step, kind: StartWorkflows, child: Unit | None, sink: Sink) -> None:
    """What a ``start_workflows`` offers to its children, as far as its items are known."""
    unreadable = kind.payload_key_field is None and "payload_key" in kind.fields
    declared = _declared(child) if child is not None else None
    told: set[str] = set()
    inherited: frozenset[str] | None = _UNASKED
    for value, type in _items(unit, kind):
        if isinstance(value, MapValue):
            offered = {member.name for member in value.members if not member.name.startswith("_")}
            for member in value.members:
                if child is not None and declared is not None and member.name in declared:
                    if member.name in offered:
                        _fits(unit, member.value, declared[member.name], child, sink)
        elif _never_map(type):
            if unreadable:
                continue
            if kind.payload_key is None:
                if "payload" not in told:
                    told.add("payload")
                    sink.add(
                        "IL104",
                        kind.key,
                        f'{step.called} starts a run for an item that is no map, so it needs a "payload_key": '
                        "under which input the run gets it is not said.",
                        "Add payload_key with the name of that input.",
                        related=(Related(value.span, f"this is {describe(type)}"),) if value is not None else (),
                    )
                continue
            offered = {kind.payload_key}
            if value is not None and child is not None and declared is not None and kind.payload_key in declared:
                _fits(unit, value, declared[kind.payload_key], child, sink)
        else:
            continue
        if child is not None and declared is not None:
            if inherited is _UNASKED:
                inherited = _inherited(unit, step, kind)
            if inherited is not None:
                _missing(kind, child, declared, offered | inherited, told, sink)


def _items(unit: Unit, kind: StartWorkflows) -> Iterator[tuple[Value | None, Type]]:
    """The items that are written, each with its type; for a list of the run, the type of its items."""
    if kind.items is None:
        return
    value = kind.items.value
    if isinstance(value, ListValue):
        for item in value.items:
            type = _type_of(unit, item)
            if type is not None:
                yield item, type
        return
    whole = _type_of(unit, value)
    if isinstance(whole, List):
        yield None, whole.item


def _never_map(type: Type) -> bool:
    if isinstance(type, OneOf):
        return all(_never_map(option) for option in options(type))
    return not isinstance(type, Dyn | Map | Record)


#: Stands for what no item has asked for yet.
_UNASKED = frozenset({""})


def _inherited(unit: Unit, step: Step, kind: StartWorkflows) -> frozenset[str] | None:
    """The names that the parent may offer beside the items: its inputs and its public state.

    None where they are not known: an unreadable part, or a merge of what other runs or signals give.
    """
    if kind.inherit_state_field is None and "inherit_state" in kind.fields:
        return None
    if not kind.inherit_state:
        return frozenset()
    workflow = unit.workflow
    if workflow.broken or workflow.inputs_open:
        return None
    names = set(workflow.inputs)
    flow, number = unit.flow.of(step)
    while flow.owner is not None:
        flow, number = unit.flow.of(flow.owner)
    for before in flow.may_have_settled(number):
        other = flow.steps[before]
        name = result_name(other)
        if name is not None:
            names.add(name)
            continue
        given = unit.scopes.child_outputs(other.kind) if isinstance(other.kind, RunWorkflow) else None
        if not isinstance(given, Record) or given.open:
            return None
        names.update(given.fields)
    return frozenset(name for name in names if not name.startswith("_"))


def _missing(
    kind: StartWorkflows, child: Unit, declared: dict[str, Input], offered: set[str], told: set[str], sink: Sink
) -> None:
    """A required input that an item does not give, nor anything that is inherited."""
    if kind.workflow is None:
        return
    beside = (
        "and neither the inputs nor the state here hold it"
        if kind.inherit_state
        else 'and "inherit_state: false" offers nothing else'
    )
    for one in declared.values():
        if one.required and one.name not in offered and one.name not in told:
            told.add(one.name)
            sink.add(
                "IL413",
                kind.workflow.span,
                f'Workflow "{child.name}" needs the input "{one.name}", an item does not give it, {beside}.',
                "Add it to the items, or give the input a default."
                if kind.inherit_state
                else "Add it to the items, inherit the state, or give the input a default.",
                related=(Related(one.key, f'"{one.name}" is declared here, as {one.type}, without a default'),),
            )
