"""The JSON Schema of workflow files, for editors that know nothing else; made from the table.

It says what a schema can say: fields, kinds, words, defaults.  Names, types of expressions and
everything that needs two places at once is the analyzer's.
"""

from __future__ import annotations

from typing import Any

from interlock.analyzer.language import fields as f
from interlock.analyzer.language.names import NAME_LENGTH, WORKFLOW_LENGTH
from interlock.analyzer.language.table import BRANCH, CONCURRENCY, KINDS, SHAPES, STEP, WORKFLOW

Schema = dict[str, Any]

_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"
_WORKFLOW = r"^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$"
_TEMPLATE: Schema = {"type": "string", "pattern": r"\{"}


def json_schema() -> Schema:
    """The whole schema, draft 2020-12."""
    definitions: dict[str, Schema] = {
        name: _shape(shape) for name, shape in SHAPES.items() if shape not in (WORKFLOW, STEP, CONCURRENCY)
    }
    definitions["concurrency"] = _concurrency()
    definitions["step"] = _step()
    definitions["handler"] = {"allOf": [{"$ref": "#/$defs/step"}, {"required": ["block"]}]}
    root = _shape(WORKFLOW)
    root["patternProperties"] = {"^x-": True}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Interlock workflow",
        **root,
        "$defs": {key.replace(" ", "_"): value for key, value in definitions.items()},
    }


def _shape(shape: f.Shape) -> Schema:
    schema: Schema = {
        "type": "object",
        "description": shape.doc,
        "properties": {name: _field(field) for name, field in shape.fields.items()},
        "additionalProperties": False,
    }
    required = [name for name, field in shape.fields.items() if field.required]
    if required:
        schema["required"] = required
    return schema


def _field(field: f.Field) -> Schema:
    schema = {"description": field.doc, **_type(field.type)}
    if field.default is not None:
        schema["default"] = _default(field)
    return schema


def _default(field: f.Field) -> object:
    text = field.default
    if isinstance(field.type, f.Whole):
        return int(text) if text else None
    if isinstance(field.type, f.Flag):
        return text == "true"
    return text


def _concurrency() -> Schema:
    """Branches or a resource: never both, never neither."""
    schema = _shape(CONCURRENCY)
    schema["properties"].pop("supersession_key")
    families: list[Schema] = []
    for family in ("branches", "resource"):
        others = [name for name, field in CONCURRENCY.fields.items() if field.on and family not in field.on]
        families.append(
            {
                "required": [family],
                "properties": {name: False for name in others if name != "supersession_key"},
            }
        )
    schema["oneOf"] = families
    return schema


def _step() -> Schema:
    """The fields of a step with exactly one kind."""
    schema = _shape(STEP)
    for name, row in KINDS.items():
        schema["properties"][name] = {"description": row.doc, **_type(row.type)}
    schema["oneOf"] = [{"required": [name]} for name in KINDS]
    return schema


def _type(kind: f.FieldType) -> Schema:
    if isinstance(kind, f.Text):
        return {"type": "string", **({"maxLength": kind.maximum} if kind.maximum else {})}
    if isinstance(kind, f.Name):
        return _name(kind.kind)
    if isinstance(kind, f.Duration):
        return {
            "oneOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$|^\d+$", "minLength": 1},
            ]
        }
    if isinstance(kind, f.Whole):
        return {"type": "integer", "minimum": kind.minimum}
    if isinstance(kind, f.Flag):
        return {"oneOf": [{"type": "boolean"}, _TEMPLATE]} if kind.template else {"type": "boolean"}
    if isinstance(kind, f.Choice):
        return {"enum": list(kind.words)}
    if isinstance(kind, f.Any):
        return {}
    return _compound(kind)


def _name(kind: str) -> Schema:
    if kind == "block":
        return {"type": "string", "minLength": 1}
    if kind in ("workflow", "workflow reference"):
        return {"type": "string", "pattern": _WORKFLOW, "maxLength": WORKFLOW_LENGTH}
    return {"type": "string", "pattern": _NAME, "maxLength": NAME_LENGTH}


def _compound(kind: f.FieldType) -> Schema:
    if isinstance(kind, f.Object):
        schema: Schema = {"type": "object"}
        if kind.names == "output":
            schema["propertyNames"] = {"pattern": _NAME, "maxLength": NAME_LENGTH}
        return schema
    if isinstance(kind, f.ListOf):
        items: Schema = {"type": "array", "items": _type(kind.of)}
        return {"oneOf": [items, _TEMPLATE]} if kind.template else items
    if isinstance(kind, f.MapOf):
        return {
            "type": "object",
            "propertyNames": {"pattern": _NAME, "maxLength": NAME_LENGTH},
            "additionalProperties": _type(kind.of),
            **({"minProperties": 1} if kind.of == f.Nested(BRANCH.name) else {}),
        }
    if isinstance(kind, f.Nested):
        inner: Schema = {"$ref": f"#/$defs/{kind.shape.replace(' ', '_')}"}
        return {"oneOf": [_type(kind.scalar), inner]} if kind.scalar is not None else inner
    assert isinstance(kind, f.Steps)
    name = "handler" if kind.blocks_only else "step"
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}
