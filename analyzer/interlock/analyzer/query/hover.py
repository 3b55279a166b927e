"""What can be said about the text under the cursor, as Markdown."""

from __future__ import annotations

import msgspec

from interlock.analyzer.expressions.ast import Call, Comprehension, Has, Ident, Select
from interlock.analyzer.expressions.functions import FUNCTIONS, MACROS, METHODS, Function, Macro
from interlock.analyzer.graph.intervals import BudgetIntervals, budget_intervals
from interlock.analyzer.graph.keys import Key, key_of
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.graph.scope import input_type, result_name
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.names import spell_duration
from interlock.analyzer.model.nodes import Section, Step
from interlock.analyzer.model.values import plain
from interlock.analyzer.query import words
from interlock.analyzer.query.expression import Within, expression_at, path_to, scope_at, steps_at, type_of
from interlock.analyzer.query.place import Place, document_at, end_of, members_of, place_at, start_of
from interlock.analyzer.rules.catalog import can_suppress, find_rule
from interlock.analyzer.source.suppressions import Suppression
from interlock.analyzer.syntax.nodes import Document, Scalar


class Hover(msgspec.Struct, frozen=True):
    """``text`` is Markdown; the offsets frame what it is about."""

    text: str
    start: int
    end: int


def hover(
    program: Program,
    unit: Unit | None,
    documents: tuple[Document, ...],
    suppressions: tuple[Suppression, ...],
    offset: int,
) -> Hover | None:
    """What there is to say about an offset of a file; ``unit`` is the workflow in whose document it lies."""
    for suppression in suppressions:
        for name in suppression.rules:
            if name.span.offset <= offset <= name.span.end_offset:
                return _rule(name.name, name.span.offset, name.span.end_offset)
    if unit is not None:
        within = expression_at(unit, offset)
        if within is not None:
            return _expression(within)
    document = document_at(documents, offset)
    place = place_at(document, offset, program.blocks) if document is not None else None
    if place is None:
        return None
    if place.on == "key" and place.entry is not None:
        return _key(program, unit, place)
    if place.on == "value":
        return _value(program, unit, place)
    return None


def _rule(name: str, start: int, end: int) -> Hover | None:
    rule = find_rule(name)
    if rule is None:
        return None
    note = "" if can_suppress(rule) else "\n\nIt is an error of the language and cannot be suppressed."
    return Hover(f"**{rule.name}** ({rule.code}) · {rule.severity}\n\n{rule.title}.{note}", start, end)


# -- expressions ---------------------------------------------------------------------------------


def _expression(within: Within) -> Hover | None:
    way = path_to(within.tree, within.at)
    node = way[-1]
    at = within.at
    if isinstance(node, Has) and at <= node.start + 3:
        return _function(within, MACROS["has"], node.start, node.start + 3)
    if isinstance(node, Comprehension) and node.name_start <= at <= node.name_end:
        return _function(within, MACROS[node.name], node.name_start, node.name_end)
    if isinstance(node, Ident) and len(way) > 1:
        above = way[-2]
        if isinstance(above, Call) and above.target is node and f"{node.name}.{above.function}" in FUNCTIONS:
            return _function(within, FUNCTIONS[f"{node.name}.{above.function}"], node.start, above.name_end)
    if isinstance(node, Call) and node.name_start <= at <= node.name_end:
        name = node.function
        if isinstance(node.target, Ident) and f"{node.target.name}.{name}" in FUNCTIONS:
            name = f"{node.target.name}.{name}"
        found = METHODS.get(name) if node.target is not None and "." not in name else FUNCTIONS.get(name)
        return None if found is None else _function(within, found, node.name_start, node.name_end)
    if isinstance(node, Ident):
        return _name(within, node)
    if isinstance(node, Select) and node.field_start <= at <= node.field_end and node.field:
        kind = type_of(node, scope_at(within))
        source = within.site.expression.source[node.start : node.field_end]
        return _at(within, _typed(source, words.shape_text(kind)), node.field_start, node.field_end)
    return None


def _typed(source: str, kind: str) -> str:
    return f"```\n{source}: {kind}\n```"


def _at(within: Within, text: str, start: int, end: int) -> Hover:
    span = within.site.expression.at(start, end)
    return Hover(text, span.offset, span.end_offset)


def _function(within: Within, found: Function | Macro, start: int, end: int) -> Hover:
    signatures = found.signatures() if isinstance(found, Function) else found.signatures
    return _at(within, "```\n" + "\n".join(signatures) + f"\n```\n\n{found.doc}", start, end)


ROOT_DOCS = {
    "inputs": "The inputs of the run.",
    "secrets": "Secrets that the host supplies at each use.",
    "run": "This run: `id`, `workflow`, `version`, `account`, `started_at`, `attempt`.",
    "state": "The whole public state, for keys that are not known before the run.",
    "lease": "The lease of the section: its `key` and its `fence`.",
    "index": "The position of the item, counted from 0.",
}


def _name(within: Within, node: Ident) -> Hover | None:
    scope = scope_at(within)
    kind = scope.resolve(node.name)
    if kind is None:
        return None
    text = _typed(node.name, words.shape_text(kind))
    named = None if node.name in scope.variables else within.scope.find(node.name)
    if named is not None and named.step is not None:
        text += f"\n\n{step_text(named.step)}"
    elif node.name in ROOT_DOCS:
        text += f"\n\n{ROOT_DOCS[node.name]}"
    return _at(within, text, node.end - len(node.name), node.end)


def step_text(step: Step) -> str:
    """Where a name comes from: the step that gives it."""
    name = result_name(step)
    what = f'step "{step.id}" ({step.kind_name})'
    line = step.id_span.position.line
    given = "The result of" if name == step.id else "Written by"
    note = " It may be skipped: then it is an empty map." if step.when is not None else ""
    return f"{given} {what}, line {line}.{note}"


# -- keys ----------------------------------------------------------------------------------------


def _key(program: Program, unit: Unit | None, place: Place) -> Hover | None:
    assert place.entry is not None
    key = place.entry.key
    start, end = start_of(key), end_of(key)
    name = key.value if isinstance(key, Scalar) else ""
    level = place.leaf
    if place.key_row is not None:
        text = words.row_text(place.key_row)
        more = _more_on_key(unit, place, name)
        return Hover(text if more is None else f"{text}\n\n{more}", start, end)
    if level.schema is not None:
        found = members_of(level.schema).get(name)
        if found is not None:
            required = name in level.schema.get("required", ())
            return Hover(words.schema_text(name, found, required), start, end)
    if level.name == "inputs" and unit is not None and len(place.levels) == 2:
        return _declared_input(unit, name, start, end)
    if level.name == "inputs" and len(place.levels) > 2:
        child = program.by_name.get(_sibling(place, "workflow"))
        return None if child is None else _declared_input(child, name, start, end)
    if level.name == "branches":
        return Hover(f"**{name}** · branch", start, end)
    return None


def _sibling(place: Place, name: str) -> str:
    from interlock.analyzer.query.place import text_of

    return text_of(place.levels[-2].node, name) or ""


def _declared_input(unit: Unit, name: str, start: int, end: int) -> Hover | None:
    declared = unit.workflow.inputs.get(name)
    return None if declared is None else Hover(input_text(unit, name), start, end)


def input_text(unit: Unit, name: str) -> str:
    """Markdown about an input: type, default, whether it must be given."""
    declared = unit.workflow.inputs[name]
    head = f"**{name}** · input · {words.shape_text(input_type(declared))}"
    if declared.secret:
        head += " · secret"
    if declared.default is not None:
        return f"{head}\n\nDefault: `{words.json_text(plain(declared.default.value))}`"
    return f"{head}\n\n{'Must be given.' if declared.required else 'Null where it is not given.'}"


_QUANTITIES = {
    "max_transitions": "transitions",
    "max_cost_units": "cost_units",
    "max_for_each_items": "for_each_items",
    "max_started_workflows": "started_workflows",
    "max_state_bytes": "state_bytes",
    "deadline": "delay",
}


def _more_on_key(unit: Unit | None, place: Place, name: str) -> str | None:
    shape = place.leaf.shape
    if unit is None or shape is None:
        return None
    if name in _QUANTITIES and shape.name in ("budget", "workflow"):
        interval = getattr(budget_intervals(unit), _QUANTITIES[name])
        used = words.between(interval.least, interval.greatest, name == "deadline")
        what = "The delays of a run add up to" if name == "deadline" else "A completed run uses"
        return f"{what} {used}."
    if name in ("resource", "concurrency") and place.entry is not None:
        step = next(iter(reversed(steps_at(unit.workflow, start_of(place.entry.key)))), None)
        return None if step is None else _resource(unit, step)
    return None


# -- values --------------------------------------------------------------------------------------


def _value(program: Program, unit: Unit | None, place: Place) -> Hover | None:
    leaf = place.leaf
    node = leaf.node
    if not isinstance(node, Scalar):
        return None
    start, end = start_of(node), end_of(node)
    kind = leaf.type
    if isinstance(kind, f.Name) and kind.kind == "block" and node.value in program.blocks:
        return Hover(words.block_text(program.blocks[node.value]), start, end)
    if isinstance(kind, f.Name) and kind.kind in ("workflow", "workflow reference"):
        found = program.by_name.get(node.value)
        return None if found is None else Hover(workflow_text(found), start, end)
    if leaf.row is not None and leaf.row.name == "resource" and unit is not None:
        step = next(iter(reversed(steps_at(unit.workflow, start))), None)
        text = None if step is None else _resource(unit, step)
        if text is not None:
            return Hover(text, start, end)
    if leaf.row is not None and leaf.row.name == "correlation_key" and unit is not None:
        text = correlated_text(unit, node.value)
        return None if text is None else Hover(text, start, end)
    if isinstance(kind, f.Duration) and isinstance(node.data, int):
        return Hover(f"{node.value} seconds are {spell_duration(node.data)}.", start, end)
    if isinstance(kind, f.Choice) and leaf.row is not None:
        return Hover(words.row_text(leaf.row), start, end)
    if leaf.row is not None and isinstance(kind, f.Whole | f.Flag | f.Duration):
        return Hover(words.row_text(leaf.row), start, end)
    return None


def correlated_text(unit: Unit, name: str) -> str | None:
    """What a ``correlation_key`` names: a result in the public state, else an input (section 9)."""
    top = unit.flow.top
    for step in top.steps if top is not None else ():
        if result_name(step) == name:
            return f"**{name}** · public state\n\n{step_text(step)}"
    return input_text(unit, name) if name in unit.workflow.inputs else None


def workflow_text(unit: Unit) -> str:
    """Markdown about a workflow: what it takes, gives and costs."""
    workflow = unit.workflow
    parts = [f"**{unit.name}** · workflow"]
    if workflow.description is not None:
        parts.append(workflow.description.value)
    rows = []
    for name, declared in workflow.inputs.items():
        note = "" if declared.required else " (optional)"
        rows.append(f"- `{name}`: {words.shape_text(input_type(declared))}{note}")
    if rows:
        parts.append("Inputs:\n" + "\n".join(rows))
    if workflow.outputs is not None:
        names = ", ".join(f"`{member.name}`" for member in workflow.outputs.value.members)
        parts.append(f"Outputs: {names}")
    found: BudgetIntervals = budget_intervals(unit)
    parts.append(
        f"Costs {words.between(found.cost_units.least, found.cost_units.greatest)} units in "
        f"{words.between(found.transitions.least, found.transitions.greatest)} steps."
    )
    return "\n\n".join(parts)


def _resource(unit: Unit, step: Step) -> str | None:
    section = step.kind
    if not isinstance(section, Section) or section.resource is None:
        return None
    key = key_of(unit, section.resource.value)
    if key is None:
        return None
    lines = [
        f"**{key.text}** · resource key",
        f"At most {section.limit} may hold it; held until the end of the "
        f"{'run' if section.lifetime == 'run' else 'section'}; when busy: {section.on_busy}.",
    ]
    others = taken_elsewhere(unit.program, key, step)
    if others:
        rows = [f"- `{other.name}`: step `{at.id}`, line {at.id_span.position.line}" for other, at in others[:20]]
        lines.append("Also taken by:\n" + "\n".join(rows))
    else:
        lines.append("Nothing else in the workspace takes this key.")
    waiting = [wait for wait in unit.leases.waits if any(held.step is step for held in wait.held)]
    if waiting:
        rows = [f"- step `{wait.step.id}`, line {wait.step.id_span.position.line}" for wait in waiting[:20]]
        lines.append("While it may be held, these wait for others:\n" + "\n".join(rows))
    return "\n\n".join(lines)


def taken_elsewhere(program: Program, key: Key, step: Step) -> list[tuple[Unit, Step]]:
    """The other places of the workspace that take a key."""
    return [
        (unit, one.step)
        for unit in program.units
        for one in unit.leases.acquisitions
        if one.key == key and one.step is not step
    ]
