"""What may be written at the cursor: fields, words, names, and what expressions can reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from interlock.analyzer.analysis import FileModel
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.graph.scope import input_type, result_name
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.table import KINDS, STEP, WORKFLOW
from interlock.analyzer.model.nodes import StartWorkflows, walk
from interlock.analyzer.query import words
from interlock.analyzer.query.complete_expression import complete_expression
from interlock.analyzer.query.draft import Draft, drafts
from interlock.analyzer.query.expression import expression_at, steps_at
from interlock.analyzer.query.hover import input_text, step_text, workflow_text
from interlock.analyzer.query.items import Item
from interlock.analyzer.query.mend import MARK
from interlock.analyzer.query.place import Level, Row, keys_of, members_of, rows_for, text_of
from interlock.analyzer.rules.catalog import RULES, can_suppress
from interlock.analyzer.syntax.nodes import Mapping

_WORD = re.compile(r"[A-Za-z0-9_.\-]*")
_PLAIN = re.compile(r"[^\"\\\n$]*")
_NAME = re.compile(r"[A-Za-z0-9_]*")
_IGNORE = re.compile(r"#[ \t]*interlock:[ \t]*ignore[ \t]*\[([^\]\n]*)\Z")
_DURATIONS = ("10s", "30s", "1m", "5m", "15m", "1h", "12h", "1d")


class Completions(msgspec.Struct, frozen=True):
    """What may stand there, and the stretch of the text that it takes the place of."""

    items: tuple[Item, ...]
    start: int
    end: int


def complete(file: FileModel, program: Program, unit: Unit | None, offset: int) -> Completions:
    """Everything that may be written at an offset; ``unit`` is the workflow in whose document it lies."""
    text = file.source.text
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    if (found := _IGNORE.search(line)) is not None:
        return _rules(text, offset, found[1])
    for draft in drafts(file, program, unit, offset):
        if draft.unit is not None and not _has_keys(draft):
            within = expression_at(draft.unit, draft.offset, draft.source)
            if within is not None:
                start, end = _around(text, offset, _NAME)
                items = tuple(complete_expression(within, draft.unit))
                return _in_quotes(draft, text, Completions(items, start, end))
        items = tuple(_structure(draft, program, _is_followed(text, offset)))
        start, end = _around(text, offset, _WORD)
        if draft.dash:
            items = tuple(map(_with_dash, items))
        return Completions(items, start if draft.start is None else draft.start, end)
    return Completions((), offset, offset)


def _has_keys(draft: Draft) -> bool:
    """Whether what looks like a template without quotes is a mapping that was begun, of keys that are known."""
    leaf = draft.place.leaf
    return isinstance(leaf.node, Mapping) and leaf.schema is not None and bool(members_of(leaf.schema))


def _in_quotes(draft: Draft, text: str, found: Completions) -> Completions:
    """Names for an expression; a template of one word that has no quotes yet gets them with it (section 3)."""
    if not isinstance(draft.place.leaf.node, Mapping):
        return found
    start = text.rfind("{", 0, found.start)
    closed = re.compile(r"[ \t]*\}").match(text, found.end)
    before = text[start + 1 : found.start]
    if start < 0 or not _PLAIN.fullmatch(before):
        return msgspec.structs.replace(found, items=())
    items = []
    for item in found.items:
        insert = item.insert or item.label
        insert = insert if "$0" in insert else f"{insert}$0"
        items.append(msgspec.structs.replace(item, insert=f'"{{{before}{insert}}}"', snippet=True))
    return Completions(tuple(items), start, closed.end() if closed else found.end)


def _with_dash(item: Item) -> Item:
    insert = (item.insert or item.label).replace("\n", "\n  ")
    return msgspec.structs.replace(item, insert=f"- {insert}")


def _around(text: str, offset: int, pattern: re.Pattern[str]) -> tuple[int, int]:
    """The word in which an offset lies."""
    start = offset
    while start > 0 and pattern.fullmatch(text[start - 1]):
        start -= 1
    found = pattern.match(text, offset)
    return start, found.end() if found else offset


def _is_followed(text: str, offset: int) -> bool:
    """Whether the word at the cursor has its colon already."""
    _, end = _around(text, offset, _WORD)
    return text.startswith(":", end)


def _rules(text: str, offset: int, before: str) -> Completions:
    start, end = _around(text, offset, re.compile(r"[A-Za-z0-9\-]*"))
    named = {word.strip() for word in before.split(",")[:-1]}
    items = tuple(
        Item(rule.name, "value", f"{rule.code} · {rule.severity}", rule.title, rank=2)
        for rule in RULES.values()
        if can_suppress(rule) and rule.name not in named and rule.code not in named
    )
    return Completions(items, start, end)


# -- structure -----------------------------------------------------------------------------------


def _structure(draft: Draft, program: Program, followed: bool) -> Iterator[Item]:
    place = draft.place
    level = place.leaf
    if isinstance(level.type, f.Steps) and not draft.dash:
        yield from _new_steps(level.type.blocks_only, dash=True)
        return
    if isinstance(level.node, Mapping):
        if isinstance(level.type, f.Any | f.Object | f.Text) and level.schema is None and level.name != "inputs":
            return
        yield from _keys(draft, program, level, followed)
    elif place.on == "value":
        yield from _values(draft, program, level)


def _keys(draft: Draft, program: Program, level: Level, followed: bool) -> Iterator[Item]:
    taken = {name for name in keys_of(level.node) if MARK not in name}
    if level.shape is STEP:
        yield from _step_keys(draft, level, taken, followed)
        return
    if level.shape is not None:
        if level.shape is WORKFLOW and draft.unit is not None:
            taken.update(draft.unit.workflow.fields)
        for name, row in rows_for(level).items():
            if name not in taken:
                yield _field(row, followed)
        return
    if level.schema is not None:
        required = level.schema.get("required", ())
        for name, schema in members_of(level.schema).items():
            if name in taken:
                continue
            doc = words.schema_text(name, schema, name in required)
            rank = 0 if name in required else 2
            yield Item(name, "field", words.schema_type(schema), doc, _entry(name, followed), rank=rank)
        return
    if level.name == "inputs" and len(draft.place.levels) > 2:
        child = program.by_name.get(text_of(draft.place.levels[-2].node, "workflow") or "")
        for name, declared in child.workflow.inputs.items() if child is not None else ():
            if name not in taken and child is not None:
                kind = words.shape_text(input_type(declared))
                rank = 0 if declared.required else 2
                yield Item(name, "field", kind, input_text(child, name), _entry(name, followed), rank=rank)


def _step_keys(draft: Draft, level: Level, taken: set[str], followed: bool) -> Iterator[Item]:
    blocks_only = any(isinstance(one.type, f.Steps) and one.type.blocks_only for one in draft.place.levels)
    for name, row in rows_for(level, blocks_only).items():
        if name in taken:
            continue
        if isinstance(row, f.KindRow):
            if followed:
                yield Item(name, "kind", "kind of step", words.row_text(row), name, rank=1)
            else:
                yield _kind(row, "id" in taken, dash=False)
        else:
            yield _field(row, followed)


def _new_steps(blocks_only: bool, dash: bool) -> Iterator[Item]:
    for row in KINDS.values():
        if not blocks_only or row.name == "block":
            yield _kind(row, False, dash)


def _kind(row: f.KindRow, has_id: bool, dash: bool) -> Item:
    lines = row.snippet.split("\n")
    if has_id and lines[0].startswith("id:"):
        lines = lines[1:]
    if dash:
        lines = [("- " if number == 0 else "  ") + line for number, line in enumerate(lines)]
    return Item(row.name, "kind", "kind of step", words.row_text(row), "\n".join(lines), snippet=True, rank=1)


def _field(row: Row, followed: bool) -> Item:
    required = isinstance(row, f.Field) and row.required
    insert, snippet = _entry(row.name, followed), False
    kind = row.type
    if not followed and isinstance(kind, f.Nested | f.MapOf | f.Object) and getattr(kind, "scalar", None) is None:
        insert, snippet = f"{row.name}:\n  $0", True
    elif not followed and isinstance(kind, f.Steps):
        insert, snippet = f"{row.name}:\n  - $0", True
    elif not followed and isinstance(kind, f.Text) and kind.template:
        insert, snippet = f'{row.name}: "$0"', True
    return Item(row.name, "field", words.wanted(kind), words.row_text(row), insert, snippet, rank=0 if required else 2)


def _entry(name: str, followed: bool) -> str:
    return name if followed else f"{name}: "


# -- values --------------------------------------------------------------------------------------


def _values(draft: Draft, program: Program, level: Level) -> Iterator[Item]:
    kind = level.type
    row = level.row
    if level.schema is not None:
        yield from _schema_values(level)
    elif isinstance(kind, f.Choice):
        default = row.default if isinstance(row, f.Field) else None
        yield from _words(kind.words, default)
    elif isinstance(kind, f.Flag):
        yield from _words(("true", "false"), row.default if isinstance(row, f.Field) else None)
    elif isinstance(kind, f.Duration):
        yield from _words(_DURATIONS, None)
    elif isinstance(kind, f.Steps):
        yield from _new_steps(kind.blocks_only, dash=True)
    elif isinstance(kind, f.Name):
        yield from _names(draft, program, level, kind.kind)
    elif row is not None and row.name == "next":
        yield from _targets(draft)
    elif row is not None and row.name == "correlation_key" and draft.unit is not None:
        for name in draft.unit.workflow.inputs:
            yield Item(name, "name", "input", input_text(draft.unit, name))
        top = draft.unit.flow.top
        for step in top.steps if top is not None else ():
            if (given := result_name(step)) is not None and given not in draft.unit.workflow.inputs:
                yield Item(given, "name", "public state", step_text(step))


def _words(found: Iterable[str], default: str | None) -> Iterator[Item]:
    for number, word in enumerate(found):
        note = "default" if word == default else ""
        yield Item(word, "value", note, rank=1, order=number)


def _schema_values(level: Level) -> Iterator[Item]:
    schema = level.schema
    assert schema is not None
    found = schema.get("enum")
    if isinstance(found, list):
        yield from _words([words.json_text(one) for one in found], words.json_text(schema.get("default")))
    elif schema.get("type") == "boolean":
        yield from _words(("true", "false"), words.json_text(schema.get("default")))


def _names(draft: Draft, program: Program, level: Level, kind: str) -> Iterator[Item]:
    unit = draft.unit
    if kind == "block":
        for name, spec in program.blocks.items():
            yield Item(name, "block", spec.doc, partial(words.block_text, spec))
    elif kind == "workflow reference":
        for name, other in program.by_name.items():
            yield Item(name, "workflow", "workflow", partial(workflow_text, other))
    elif kind == "group reference" and unit is not None:
        for step in walk(unit.workflow.steps):
            started = step.kind
            if isinstance(started, StartWorkflows) and started.group_key is not None:
                yield Item(started.group_key.value, "name", f'group of "{step.id}"')
    elif kind == "payload":
        child = program.by_name.get(text_of(draft.place.levels[-2].node, "workflow") or "")
        if child is not None:
            for name in child.workflow.inputs:
                yield Item(name, "name", "input", input_text(child, name))


def _targets(draft: Draft) -> Iterator[Item]:
    """Where ``next`` may go: the steps of the same list, and its end."""
    if draft.unit is None:
        return
    around = steps_at(draft.unit.workflow, draft.offset, draft.source)
    if not around:
        return
    flow, at = draft.unit.flow.of(around[-1])
    for number, step in enumerate(flow.steps):
        if step.id and number != at:
            yield Item(step.id, "name", f"step ({step.kind_name})", rank=1, order=number)
    yield Item("end", "value", "the end of this list", rank=2)
