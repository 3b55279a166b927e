"""The JSON Schema agrees with the reader: what it refuses the reader refuses, examples pass both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.language.schema import json_schema

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples").rglob("*.workflow.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def documents(text: str) -> list[Any]:
    return [one for one in YAML(typ="safe", pure=True).load_all(text) if one is not None]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.parent.name != "broken"], ids=lambda p: p.name)
def test_examples_validate(path: Path) -> None:
    for document in documents(path.read_text(encoding="utf-8")):
        assert [error.message for error in VALIDATOR.iter_errors(document)] == []


@pytest.mark.parametrize(
    "step",
    [
        "{id: a}",
        "{id: a, block: log, delay: 5s}",
        "{id: a, block: log, wehn: true}",
        "{id: a, delay: 0}",
        "{id: a, concurrency: {}}",
        "{id: a, concurrency: {resource: k, branches: {b: {steps: []}}}}",
        "{id: a, concurrency: {resource: k, on_busy: supersede}}",
        "{id: a, concurrency: {resource: k, limit: 0}}",
        "{id: a, for_each: {items: 3, steps: []}}",
        "{id: 1a, block: log}",
        "{id: a, block: log, retry: {delay: 1s}}",
        "{id: a, wait_for_workflow_group: {mode: quorum}}",
    ],
)
def test_what_the_schema_refuses_the_analyzer_refuses(step: str) -> None:
    text = f"workflow: w\nsteps: [{step}]\n"
    assert list(VALIDATOR.iter_errors(documents(text)[0]))
    assert any(one.severity == "error" for one in check_texts({"w.workflow.yaml": text}))
