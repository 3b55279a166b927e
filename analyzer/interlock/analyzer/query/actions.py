"""Changes that an editor can offer beside the fixes of the rules: edits as offsets into the text.

Nothing here is done without being asked for, so unlike a fix a change may need a second look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.expressions.uses import uses
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.model.values import Template
from interlock.analyzer.query.expression import expression_at, steps_at
from interlock.analyzer.query.place import Level, document_at, end_of, keys_of, place_at, start_of
from interlock.analyzer.query.rewrite import removal, written
from interlock.analyzer.rules.catalog import RULES, can_suppress
from interlock.analyzer.source.suppressions import Suppression
from interlock.analyzer.syntax.nodes import Document, Mapping, Scalar, Tree

Edits = tuple[tuple[int, int, str], ...]


class Change(msgspec.Struct, frozen=True):
    """A change of one file; ``edits`` are offsets into its text, with what to put there."""

    title: str
    edits: Edits


def suppress(tree: Tree, suppressions: tuple[Suppression, ...], one: Diagnostic) -> Change | None:
    """A comment that suppresses a diagnostic where it stands; None where it cannot be suppressed."""
    rule = RULES[one.code]
    if not can_suppress(rule):
        return None
    text = tree.source.text
    title = f'Suppress "{rule.name}" here'
    starts = tree.source.line_starts
    begin = starts[one.line - 1]
    for suppression in suppressions:
        if suppression.line == one.line and suppression.rules:
            at = suppression.rules[-1].span.end_offset
            return Change(title, ((at, at, f", {rule.name}"),))
    end = text.find("\n", begin)
    end = len(text) if end < 0 else end
    if end > begin and text[end - 1] == "\r":
        end -= 1
    comment = f"# interlock: ignore[{rule.name}]"
    if _open_at(tree, end) or any(begin <= other.span.offset <= end for other in tree.comments):
        line = text[begin:end]
        indent = line[: len(line) - len(line.lstrip())]
        if _open_at(tree, begin):
            return None  # in a text of several lines no comment can stand
        return Change(title, ((begin, begin, f"{indent}{comment}{_newline(text)}"),))
    return Change(title, ((end, end, f"  {comment}"),))


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _open_at(tree: Tree, offset: int) -> bool:
    """Whether an offset is inside of a scalar, where a comment would be text."""
    document = document_at(tree.documents, offset)
    if document is None or document.root is None:
        return False
    place = place_at(document, offset, {})
    if place is None or place.on != "value" or not isinstance(place.leaf.node, Scalar):
        return False
    node = place.leaf.node
    if node.style in ("literal", "folded"):
        return start_of(node) <= offset < end_of(node)
    return start_of(node) < offset < end_of(node)


# -- missing fields ------------------------------------------------------------------------------


def add_missing(document: Document, blocks: dict[str, BlockSpec], offset: int, text: str) -> Change | None:
    """The required fields that the mapping at an offset lacks, written at its end."""
    place = place_at(document, offset, blocks)
    if place is None:
        return None
    for level in reversed(place.levels):
        node = level.node
        if not isinstance(node, Mapping) or not node.entries:
            continue
        lines = _missing_of(level)
        if not lines:
            continue
        return _insert(node, lines, text)
    return None


def _missing_of(level: Level) -> list[str]:
    names = set(keys_of(level.node))
    if level.shape is not None:
        shape = level.shape
        return [_skeleton(row) for name, row in shape.fields.items() if row.required and name not in names]
    if level.schema is not None:
        required = level.schema.get("required", ())
        return [f'{name}: ""' for name in required if name not in names]
    return []


def _skeleton(row: f.Field) -> str:
    kind = row.type
    if isinstance(kind, f.Steps):
        return f"{row.name}: []"
    if isinstance(kind, f.ListOf):
        return f"{row.name}: []"
    if isinstance(kind, f.Whole):
        return f"{row.name}: {kind.minimum}"
    if isinstance(kind, f.Choice):
        return f"{row.name}: {kind.words[0]}"
    if isinstance(kind, f.Name):
        return f"{row.name}: {row.default or 'name'}"
    return f'{row.name}: ""'


def _insert(node: Mapping, lines: list[str], text: str) -> Change | None:
    title = "Add " + " and ".join(f'"{line.split(":", 1)[0]}"' for line in lines)
    if node.flow:
        at = end_of(node) - 1
        return Change(title, ((at, at, ", " + ", ".join(lines)),))
    start = start_of(node)
    column = start - (text.rfind("\n", 0, start) + 1)
    pad = " " * column
    first = node.entries[0]
    at = text.find("\n", end_of(first.value))
    newline = _newline(text)
    if isinstance(first.value, Scalar) and first.value.style not in ("literal", "folded") and at >= 0:
        return Change(title, ((at + 1, at + 1, "".join(f"{pad}{line}{newline}" for line in lines)),))
    return Change(title, ((start, start, "".join(f"{line}{newline}{pad}" for line in lines)),))


# -- refactorings --------------------------------------------------------------------------------

_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


def extract_input(unit: Unit, document: Document, blocks: dict[str, BlockSpec], offset: int) -> Change | None:
    """A literal value made an input whose default it is."""
    place = place_at(document, offset, blocks)
    if place is None or place.on != "value" or not isinstance(place.leaf.node, Scalar):
        return None
    node = place.leaf.node
    if not _takes_templates(place.leaf) or node.style in ("literal", "folded") or node.anchor is not None:
        return None
    data = node.data
    if type(data) not in _TYPES or (isinstance(data, str) and ("{" in data or "}" in data)):
        return None
    base = re.sub(r"\W", "_", str(place.leaf.name)) or "value"
    name = base if not base[0].isdigit() else f"value_{base}"
    number = 2
    while name in unit.workflow.inputs:
        name, number = f"{base}_{number}", number + 1
    written = node.piece.text[node.start : node.end]
    declared = f"{name}: {{type: {_TYPES[type(data)]}, default: {written}}}"
    text = node.piece.source.text
    insert = _declare(unit, text, "inputs", f"  {declared}")
    if insert is None:
        return None
    return Change(f'Make it an input "{name}"', (insert, (start_of(node), end_of(node), f'"{{inputs.{name}}}"')))


def _takes_templates(level: Level) -> bool:
    kind = level.type
    if level.schema is not None:
        return True
    return isinstance(kind, f.Any | f.Text | f.Object) and kind.template


def _declare(unit: Unit, text: str, field: str, line: str) -> tuple[int, int, str] | None:
    """Where a line goes that declares something under a field of the workflow."""
    newline = _newline(text)
    key = unit.workflow.fields.get(field)
    if key is not None:
        at = text.find("\n", key.end_offset)
        if at < 0 or text[key.end_offset : at].strip().lstrip(":").strip():
            return None
        return (at + 1, at + 1, line + newline)
    steps = unit.workflow.fields.get("steps")
    if steps is None:
        return None
    start = steps.offset
    return (start, start, f"{field}:{newline}{line}{newline}")


def declare_secret(unit: Unit, offset: int) -> Change | None:
    """A secret that is read and not declared, put into ``secrets``."""
    within = expression_at(unit, offset)
    if within is None:
        return None
    known = {secret.name for secret in unit.workflow.secrets}
    for use in uses(within.tree):
        if use.path[0] != "secrets" or len(use.path) < 2 or use.path[1] in known:
            continue
        if not use.start <= within.at <= use.end:
            continue
        name = use.path[1]
        secrets = unit.workflow.secrets
        if secrets:
            at = secrets[-1].span
            text = at.source.text
            line = text[text.rfind("\n", 0, at.offset) + 1 : at.offset]
            if line.strip() == "-":
                added = _newline(text) + line + name
                return Change(f'Declare the secret "{name}"', ((at.end_offset, at.end_offset, added),))
            return Change(f'Declare the secret "{name}"', ((at.end_offset, at.end_offset, f", {name}"),))
        steps = unit.workflow.fields.get("steps")
        if steps is None or "secrets" in unit.workflow.fields:
            return None
        newline = _newline(steps.source.text)
        return Change(f'Declare the secret "{name}"', ((steps.offset, steps.offset, f"secrets: [{name}]{newline}"),))
    return None


def guard(unit: Unit, offset: int) -> Change | None:
    """A ``when`` for the step at an offset that holds only where what it reads is there."""
    within = expression_at(unit, offset)
    steps = steps_at(unit.workflow, offset)
    if within is None or not steps or within.site.step is not steps[-1]:
        return None
    step = steps[-1]
    if step.when is not None or step.id_span.via is not None or within.site.place in ("when", "next"):
        return None
    for use in uses(within.tree):
        named = within.scope.find(use.path[0])
        if named is None or named.step is None or not use.start <= within.at <= use.end:
            continue
        other = named.step
        if other.when is None or not isinstance(other.when.value, Template) or result_name(other) is None:
            continue
        text = step.id_span.source.text
        condition = other.when.span.source.text[other.when.span.offset : other.when.span.end_offset]
        if "\n" in condition:
            continue
        at = text.find("\n", step.id_span.end_offset)
        begin = text.rfind("\n", 0, step.span.offset) + 1
        if at < 0 or text[step.span.offset : step.span.offset + 1] == "{":
            continue
        pad = " " * (step.span.offset - begin)
        added = f"{pad}when: {condition}{_newline(text)}"
        return Change(f'Run only when "{other.id}" does', ((at + 1, at + 1, added),))
    return None


#: Rules that say that a value is not one that its field takes.
_MISWRITTEN = frozenset({"IL105", "IL111", "IL112", "IL209", "IL303", "IL601", "IL606"})


def changes_at(
    unit: Unit | None, document: Document | None, blocks: dict[str, BlockSpec], offset: int, codes: set[str]
) -> Iterator[Change]:
    """What can be changed at an offset; ``codes`` are the rules that found something there."""
    if document is None:
        return
    text = document.pieces[0].source.text if document.pieces else ""
    if "IL104" in codes or "IL209" in codes:
        change = add_missing(document, blocks, offset, text)
        if change is not None:
            yield change
    place = place_at(document, offset, blocks)
    if place is not None and not codes.isdisjoint(_MISWRITTEN) and (new := written(place)) is not None:
        node = place.leaf.node
        yield Change(f"Write {new}", ((start_of(node), end_of(node), new),))
    if place is not None and "IL210" in codes and (gone := removal(place, text)) is not None:
        yield Change("Remove the input", ((*gone, ""),))
    if unit is None:
        return
    if "IL506" in codes:
        change = declare_secret(unit, offset)
        if change is not None:
            yield change
    if "IL207" in codes:
        change = guard(unit, offset)
        if change is not None:
            yield change
    change = extract_input(unit, document, blocks, offset)
    if change is not None:
        yield change
