"""The report as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from interlock.analyzer.diagnostics import Diagnostic, RelatedPlace, TextEdit
from interlock.analyzer.rules.catalog import RULES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}


def render_sarif(found: Sequence[Diagnostic], version: str) -> str:
    """The whole report, with a line end; ``version`` is that of the tool.  Columns count code points."""
    codes = sorted({one.code for one in found})
    index = {code: number for number, code in enumerate(codes)}
    run = {
        "tool": {
            "driver": {
                "name": "interlock",
                "semanticVersion": version,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, index) for one in found],
    }
    report = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule = RULES[code]
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "help": {"text": f"interlock explain {rule.name}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(one: Diagnostic, index: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": index[one.code],
        "level": _LEVELS[one.severity],
        "message": {"text": f"{one.message} {one.hint}" if one.hint else one.message},
        "locations": [{"physicalLocation": _place(one.file, one)}],
    }
    if one.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": other.message}, "physicalLocation": _place(other.file, other)}
            for number, other in enumerate(one.related)
        ]
    fix = one.reported_fix
    if fix is not None:
        changes: dict[str, list[dict[str, Any]]] = {}
        for edit in fix.edits:
            changes.setdefault(edit.file, []).append(
                {"deletedRegion": _region(edit), "insertedContent": {"text": edit.text}}
            )
        result["fixes"] = [
            {
                "description": {"text": fix.title},
                "artifactChanges": [
                    {"artifactLocation": {"uri": _uri(file)}, "replacements": replacements}
                    for file, replacements in changes.items()
                ],
            }
        ]
    return result


def _place(file: str, place: Diagnostic | RelatedPlace) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(file)}, "region": _region(place)}


def _region(place: Diagnostic | RelatedPlace | TextEdit) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _uri(file: str) -> str:
    from urllib.parse import quote

    path = quote(file.replace(os.sep, "/").encode("utf-8", "surrogateescape"), safe="/")
    return f"file://{path}" if path.startswith("/") else path
