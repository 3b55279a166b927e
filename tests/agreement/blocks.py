"""The host blocks that generated workflows use: what a manifest says of them, and values they take.

The blocks whose names begin with ``write`` have effects; the simulated world judges by the same names.
"""

from __future__ import annotations

from typing import Any

from agreement.expressions import List, Record, Type, Words
from interlock.analyzer.language.blocks import BlockSpec


def _schema(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_TEXT, _WHOLE, _FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}

SPECS = {
    spec.name: spec
    for spec in (
        BlockSpec(
            "shop.find",
            "Looks something up.",
            params=_schema(
                ["number"],
                number=_WHOLE,
                label=_TEXT,
                deep=_FLAG,
                weight={"type": "number"},
                marks={"type": "array", "items": _TEXT},
            ),
            result=_schema(
                ["count", "name", "marks", "ratio", "fine", "mood"],
                count=_WHOLE,
                name=_TEXT,
                marks={"type": "array", "items": _TEXT},
                ratio={"type": "number"},
                fine=_FLAG,
                mood={"type": "string", "enum": ["calm", "wild"]},
            ),
            effects=False,
        ),
        BlockSpec(
            "write_item",
            "Writes something outside.",
            params=_schema([], value={}, number=_WHOLE, label=_TEXT),
            result=_schema(["revision", "place"], revision=_WHOLE, place=_TEXT),
            effects=True,
        ),
        BlockSpec(
            "count.up",
            "Counts its visits.",
            params=_schema(["upto"], upto=_WHOLE),
            result=_schema(["reached", "more"], reached=_WHOLE, more=_FLAG),
            effects=False,
        ),
    )
}

RESULTS: dict[str, Type] = {
    "shop.find": Record(
        {
            "count": "integer",
            "name": "string",
            "marks": List("string"),
            "ratio": "number",
            "fine": "boolean",
            "mood": Words(("calm", "wild")),
        }
    ),
    "write_item": Record({"revision": "integer", "place": "string"}),
    "count.up": Record({"reached": "integer", "more": "boolean"}),
    "http": Record({"status": "integer", "text": "string", "url": "string", "json": "dyn"}),
    "shell": Record({"exit_code": "integer", "stdout": "string", "stderr": "string", "json": "dyn"}),
}
