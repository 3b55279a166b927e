"""Types, fields and defaults in words, for hovers, completions and hints."""

from __future__ import annotations

import math
from typing import Any

from interlock.analyzer.expressions.types import Dyn, List, Map, OneOf, Optional, Record, String, Type, signature_name
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.blocks import BlockSpec, EffectsUnless
from interlock.analyzer.language.names import spell_duration
from interlock.analyzer.language.table import FAMILY_TITLES
from interlock.analyzer.query.place import JsonSchema, Row


def shape_text(kind: Type, depth: int = 2) -> str:
    """A type with the members of its records: ``{status: int, json: any}``."""
    if isinstance(kind, Dyn):
        return "any"
    if isinstance(kind, OneOf):
        return " | ".join(shape_text(option, depth) for option in kind.options)
    if isinstance(kind, String) and kind.words is not None and len(kind.words) <= 8:
        return " | ".join(f'"{word}"' for word in kind.words)
    if isinstance(kind, List):
        return f"list({shape_text(kind.item, depth)})"
    if isinstance(kind, Optional):
        return f"optional({shape_text(kind.of, depth)})"
    if isinstance(kind, Map):
        return f"map({shape_text(kind.value, depth)})"
    if isinstance(kind, Record):
        if depth == 0 and kind.fields:
            return "{…}"
        members = [f"{name}: {shape_text(member, depth - 1)}" for name, member in list(kind.fields.items())[:12]]
        if kind.open or len(kind.fields) > 12:
            members.append("…")
        return "{" + ", ".join(members) + "}"
    return signature_name(kind)


def wanted(kind: f.FieldType) -> str:
    """What a field takes, in a few words."""
    if isinstance(kind, f.Text):
        return "template" if kind.template else "text"
    if isinstance(kind, f.Name):
        return f"{kind.kind} name" if kind.kind not in ("as", "payload") else "name"
    if isinstance(kind, f.Duration):
        return "duration"
    if isinstance(kind, f.Whole):
        return f"whole number ≥ {kind.minimum}"
    if isinstance(kind, f.Flag):
        return "boolean or template" if kind.template else "boolean"
    if isinstance(kind, f.Choice):
        return " | ".join(kind.words)
    if isinstance(kind, f.ListOf):
        return f"list of {wanted(kind.of)}" + (" or template" if kind.template else "")
    if isinstance(kind, f.Steps):
        return "list of blocks" if kind.blocks_only else "list of steps"
    if isinstance(kind, f.Nested) and kind.scalar is not None:
        return f"{wanted(kind.scalar)} or mapping"
    if isinstance(kind, f.MapOf | f.Nested | f.Object):
        return "mapping"
    return "any value"


def row_text(row: Row) -> str:
    """Markdown about a field or a kind of step."""
    lines = [f"**{row.name}** · {wanted(row.type)}"]
    if isinstance(row, f.Field):
        if row.required:
            lines[0] += " · required"
        elif row.default is not None:
            lines[0] += f" · default `{row.default}`"
    else:
        lines[0] = f"**{row.name}** · kind of step"
    lines.append(row.doc)
    if isinstance(row, f.Field) and row.on:
        homes = ", ".join(sorted(FAMILY_TITLES[home] for home in row.on))
        lines.append(f"*On {homes}.*")
    return "\n\n".join(lines)


def schema_text(name: str, schema: JsonSchema, required: bool = False) -> str:
    """Markdown about a parameter of a block."""
    head = f"**{name}** · {schema_type(schema)}"
    if required:
        head += " · required"
    elif "default" in schema:
        head += f" · default `{json_text(schema['default'])}`"
    doc = schema.get("description")
    return head if not isinstance(doc, str) else f"{head}\n\n{doc}"


def schema_type(schema: JsonSchema) -> str:
    if isinstance(schema.get("enum"), list):
        return " | ".join(json_text(word) for word in schema["enum"])
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return " | ".join(schema_type(part) for part in schema[word] if isinstance(part, dict))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(str(one) for one in kind)
    return kind if isinstance(kind, str) else "any"


def json_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def block_text(spec: BlockSpec) -> str:
    """Markdown about a block: what it takes, gives and does."""
    parts = [f"**{spec.name}** · block", spec.doc]
    properties = spec.params.get("properties")
    if isinstance(properties, dict) and properties:
        required = spec.params.get("required", ())
        rows = [f"- `{name}`{' (required)' if name in required else ''}" for name in properties]
        parts.append("Takes:\n" + "\n".join(rows))
    given = spec.result.get("properties") if spec.result is not None else None
    if isinstance(given, dict) and given:
        parts.append("Gives: " + ", ".join(f"`{name}`" for name in given))
    parts.append(f"{effects_text(spec)} Costs {spec.cost_units}.")
    return "\n\n".join(part for part in parts if part)


def effects_text(spec: BlockSpec) -> str:
    if isinstance(spec.effects, EffectsUnless):
        return f"Acts on the outside unless `{spec.effects.param}` is {', '.join(spec.effects.values)}."
    return "Acts on the outside." if spec.effects else "Has no effect on the outside."


def amount(value: float | None, delay: bool = False) -> str:
    """A bound of an interval."""
    if value is None:
        return "never completes"
    if math.isinf(value):
        return "∞"
    return spell_duration(value) if delay and value else f"{value:g}"


def between(least: float | None, greatest: float, delay: bool = False) -> str:
    """An interval: ``3 to 7``, or ``3`` where both ends are the same.

    The greatest is no more than a budget allows: where a run needs more than that, ``at least 9``.
    """
    if least is None or least == greatest:
        return amount(least, delay)
    if least > greatest:
        return f"at least {amount(least, delay)}"
    return f"{amount(least, delay)} to {amount(greatest, delay)}"
