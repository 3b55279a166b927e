"""What stands at an offset: the nodes around it, and what the language expects of each."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from typing import Any, Literal, TypeAlias

import msgspec

from interlock.analyzer.language import fields as f
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.language.table import KINDS, SHAPES, STEP, WORKFLOW
from interlock.analyzer.syntax.nodes import Alias, Document, Entry, Mapping, Node, Scalar, Sequence

Row: TypeAlias = f.Field | f.KindRow
JsonSchema: TypeAlias = AnyMapping[str, Any]


class Level(msgspec.Struct, frozen=True, eq=False):
    """One node on the way to an offset.

    ``type`` is what the language wants here, ``shape`` the kind of mapping; both None where the place is
    free.  ``row`` is the field whose value it is, ``name`` its key (or number in a list), ``schema`` what
    a block says of a parameter, ``block`` the block whose ``params`` these are.
    """

    node: Node
    type: f.FieldType | None = None
    shape: f.Shape | None = None
    name: str | int | None = None
    key: Scalar | None = None
    row: Row | None = None
    schema: JsonSchema | None = None
    block: str | None = None


class Place(msgspec.Struct, frozen=True, eq=False):
    """The way from the document's root to an offset.

    ``on`` tells whether the offset is on the key of ``entry``, in its value, or in the innermost node
    without being in any of its parts.
    """

    levels: tuple[Level, ...]
    on: Literal["key", "value", "inside"]
    entry: Entry | None = None
    key_row: Row | None = None

    @property
    def leaf(self) -> Level:
        return self.levels[-1]

    def around(self, shape: str) -> Level | None:
        """The innermost mapping of a shape around the place."""
        for level in reversed(self.levels):
            if level.shape is not None and level.shape.name == shape:
                return level
        return None


def start_of(node: Node) -> int:
    """Where a node starts in its file."""
    return node.piece.base + node.start


def end_of(node: Node) -> int:
    return node.piece.base + node.end


def document_at(documents: tuple[Document, ...], offset: int) -> Document | None:
    """The document in which an offset lies: the last one that begins before it."""
    found: Document | None = None
    for document in documents:
        if found is None or not document.pieces or document.pieces[0].base <= offset:
            found = document
    return found


def place_at(document: Document, offset: int, blocks: AnyMapping[str, BlockSpec]) -> Place | None:
    """The place of an offset; None where no node of the document reaches it."""
    root = document.root
    if root is None:
        return None
    levels = [Level(root, None, WORKFLOW)]
    while True:
        level = levels[-1]
        node = level.node
        if isinstance(node, Mapping):
            entry = _entry_at(node, offset)
            if entry is None:
                return Place(tuple(levels), "inside")
            below = value_level(level, entry, blocks)
            if offset <= end_of(entry.key):
                return Place(tuple(levels), "key", entry, below.row)
            value = entry.value
            if start_of(value) <= offset <= end_of(value):
                levels.append(below)
                continue
            return Place(tuple(levels), "inside", entry, below.row)
        if isinstance(node, Sequence):
            number = _item_at(node, offset)
            if number is None:
                return Place(tuple(levels), "inside")
            levels.append(item_level(level, number))
            continue
        return Place(tuple(levels), "value")


def _entry_at(node: Mapping, offset: int) -> Entry | None:
    """The last entry that begins at an offset or before it."""
    found: Entry | None = None
    for entry in node.entries:
        if start_of(entry.key) > offset:
            break
        found = entry
    return found


def _item_at(node: Sequence, offset: int) -> int | None:
    low, high = 0, len(node.items)
    while low < high:
        middle = (low + high) // 2
        if start_of(node.items[middle]) <= offset:
            low = middle + 1
        else:
            high = middle
    if not low or end_of(node.items[low - 1]) < offset:
        return None
    return low - 1


def value_level(level: Level, entry: Entry, blocks: AnyMapping[str, BlockSpec]) -> Level:
    """What is expected of the value of an entry."""
    key = entry.key if isinstance(entry.key, Scalar) else None
    name = key.value if key is not None else None
    row: Row | None = None
    kind: f.FieldType | None = None
    schema: JsonSchema | None = None
    block: str | None = None
    if level.shape is not None and name is not None:
        row = level.shape.fields.get(name)
        if row is None and level.shape is STEP:
            row = KINDS.get(name)
        kind = row.type if row is not None else None
    elif isinstance(level.type, f.MapOf):
        kind = level.type.of
    elif isinstance(level.type, f.Object | f.Any):
        kind = f.Any(level.type.template)
    if name == "params" and level.shape is not None and level.shape.name in ("step", "compensate"):
        block = text_of(level.node, "block")
        spec = blocks.get(block) if block is not None else None
        schema = spec.params if spec is not None else None
    elif level.schema is not None and name is not None:
        schema = member_schema(level.schema, name)
    return _level(entry.value, kind, name, key, row, schema, block)


def item_level(level: Level, number: int) -> Level:
    """What is expected of an item of a list."""
    node = level.node
    assert isinstance(node, Sequence)
    item = node.items[number]
    schema = item_schema(level.schema) if level.schema is not None else None
    if isinstance(level.type, f.Steps):
        return Level(item, None, STEP, number)
    kind: f.FieldType | None = None
    if isinstance(level.type, f.ListOf):
        kind = level.type.of
    elif isinstance(level.type, f.Any):
        kind = level.type
    return _level(item, kind, number, None, None, schema, None)


def _level(
    node: Node,
    kind: f.FieldType | None,
    name: str | int | None,
    key: Scalar | None,
    row: Row | None,
    schema: JsonSchema | None,
    block: str | None,
) -> Level:
    shape: f.Shape | None = None
    if isinstance(kind, f.Nested):
        if kind.scalar is not None and not isinstance(node, Mapping):
            return Level(node, kind.scalar, None, name, key, row, schema, block)
        shape = SHAPES[kind.shape]
    return Level(node, kind, shape, name, key, row, schema, block)


def members_of(schema: JsonSchema) -> dict[str, JsonSchema]:
    """What a schema says of the members that it names, those of its alternatives and parts included."""
    found: dict[str, JsonSchema] = {}
    for word in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(word)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                found.update(members_of(part))
    properties = schema.get("properties")
    if isinstance(properties, dict):
        found.update({str(name): one for name, one in properties.items() if isinstance(one, dict)})
    return found


def item_schema(schema: JsonSchema) -> JsonSchema | None:
    """What a schema says of the items of a list."""
    items = schema.get("items")
    if isinstance(items, dict):
        return items
    for word in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(word)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and (found := item_schema(part)) is not None:
                return found
    return None


def member_schema(schema: JsonSchema, name: str) -> JsonSchema | None:
    """What a schema of an object says of one of its members."""
    found = members_of(schema).get(name)
    if found is not None:
        return found
    extra = schema.get("additionalProperties")
    return extra if isinstance(extra, dict) else None


def text_of(node: Node, name: str) -> str | None:
    """The text that stands under a key of a mapping."""
    value = value_of(node, name)
    return value.value if isinstance(value, Scalar) else None


def value_of(node: Node, name: str) -> Node | None:
    """What stands under a key of a mapping, aliases followed."""
    if isinstance(node, Alias) and node.target is not None:
        node = node.target
    if not isinstance(node, Mapping):
        return None
    for entry in node.entries:
        if isinstance(entry.key, Scalar) and entry.key.value == name:
            value = entry.value
            return value.target if isinstance(value, Alias) and value.target is not None else value
    return None


def keys_of(node: Node) -> list[str]:
    """The keys of a mapping that are texts."""
    if not isinstance(node, Mapping):
        return []
    return [entry.key.value for entry in node.entries if isinstance(entry.key, Scalar)]


def families(node: Node) -> tuple[str, ...]:
    """To which families the kind of a step belongs, as far as its keys tell; none where it has no kind."""
    for key in keys_of(node):
        if key == "concurrency":
            inner = value_of(node, key)
            return concurrency_families(inner) if inner is not None else KINDS[key].families
        if key in KINDS:
            return KINDS[key].families
    return ()


def concurrency_families(node: Node) -> tuple[str, ...]:
    """Branches or a resource, as the fields that are there tell; both where they do not."""
    names = keys_of(node)
    if "branches" in names or "on_error" in names:
        return ("branches",)
    if any(name in names for name in ("resource", "lifetime", "protected", "on_busy", "steps")):
        return ("resource",)
    return ("branches", "resource")


def rows_for(level: Level, blocks_only: bool = False) -> dict[str, Row]:
    """The fields that may stand in a mapping beside those that stand there."""
    shape = level.shape
    if shape is None:
        return {}
    rows: dict[str, Row] = dict(shape.fields)
    if shape is STEP:
        has = families(level.node)
        if not has:
            rows.update({"block": KINDS["block"]} if blocks_only else KINDS)
        else:
            rows = {name: row for name, row in rows.items() if _takes(row, has)}
    elif shape.name == "concurrency":
        has = concurrency_families(level.node)
        rows = {name: row for name, row in rows.items() if _takes(row, has)}
    return rows


def _takes(row: Row, has: tuple[str, ...]) -> bool:
    return isinstance(row, f.KindRow) or not row.on or not row.on.isdisjoint(has)
