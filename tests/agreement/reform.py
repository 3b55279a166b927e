"""Other forms of the same meaning, and other meanings, of documents as plain data."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from agreement.places import Spot, spots
from interlock.analyzer.language.table import SHAPES

Docs = list[Any]

_DEFAULTS: dict[str, dict[str, Any]] = {
    "branches": {"limit": 2, "on_error": "fail"},
    "resource": {"limit": 1, "on_busy": "wait", "lifetime": "step", "protected": False},
    "for_each": {"as": "item", "limit": 2, "mode": "all"},
    "start_workflows": {"inherit_state": True},
    "start_agents": {"inherit_state": True, "payload_key": "agent_task", "result_key": "agent_workflow_ids"},
    "wait_for_workflows": {"mode": "all"},
    "wait_for_workflow_group": {"mode": "all"},
    "wait_for_agents": {"mode": "all", "workflows": "{agent_workflow_ids}", "result_key": "agent_results"},
    "wait_for_agent_group": {"mode": "all", "result_key": "agent_results"},
    "wait_for_signals": {"mode": "all"},
    "wait_for_approval": {"result_key": "approval"},
    "wait_for_input": {"result_key": "input"},
    "wait_for_decision": {"result_key": "decision"},
}


def defaults_of(spot: Spot) -> dict[str, Any]:
    """The defaults of a step's kind, as the table of the language says them."""
    table = SHAPES.get(spot.kind_key)
    found = dict(_DEFAULTS.get(spot.kind, {}))
    if table is not None and spot.kind not in ("branches", "resource"):
        for name, field in table.fields.items():
            if field.default is not None and name not in found and spot.kind != "block":
                raise LookupError(f"the default of {spot.kind}.{name} is not known here")
    return found


def reformed(documents: Docs, rng: random.Random) -> Docs:
    """The same meaning: defaults written out or left out, short forms, other key orders."""
    docs = copy.deepcopy(documents)
    for document in docs:
        _inputs(document, rng)
        if "concurrency" in document and rng.random() < 0.5:
            document["concurrency"].setdefault("on_busy", "wait")
            document["concurrency"].setdefault("limit", 4)
        if rng.random() < 0.3:
            document.setdefault("compensate_on_failure", False)
        if rng.random() < 0.3:
            document["x-note"] = {"anything": ["at", "all"]}
        if isinstance(document.get("deadline"), str) and rng.random() < 0.5:
            document["deadline"] = {"400d": 34560000, "9000h": "375d", "399d24h": "400d"}[document["deadline"]]
    for spot in spots(docs):
        body = spot.body
        if isinstance(body, dict):
            for name, value in defaults_of(spot).items():
                if rng.random() < 0.4 and not (name == "protected" and not body.get("steps")):
                    body.setdefault(name, value)
            if spot.kind == "for_each" and "quorum" in body:
                body["mode"] = "quorum"
        _step(spot.step, rng)
    return docs


def _inputs(document: dict[str, Any], rng: random.Random) -> None:
    for name, value in document.get("inputs", {}).items():
        if isinstance(value, str) and rng.random() < 0.5:
            document["inputs"][name] = {"type": value, "required": True, "secret": False}
        elif isinstance(value, dict) and value.get("required") is True and rng.random() < 0.5:
            del value["required"]
        elif isinstance(value, dict) and value["type"] == "number" and value.get("default") == 1:
            value["default"] = 1.0


def _step(step: dict[str, Any], rng: random.Random) -> None:
    if "retry" in step and rng.random() < 0.5:
        step["retry"].setdefault("delay", "1s")
        step["retry"].setdefault("backoff", "constant")
    if step.get("when") is True and rng.random() < 0.5:
        del step["when"]
    if "block" not in step and rng.random() < 0.2:
        step.setdefault("cost_units", 0)
    if "params" not in step and "block" in step and rng.random() < 0.5:
        step["params"] = {}
    same = {"30s": 30, 45: "45s", "5m": 300, "1h30m": "90m", "2h": "120m", "3d": "72h", "48h": "2d", "30d": "720h"}
    if step.get("timeout") in same and rng.random() < 0.5:
        step["timeout"] = same[step["timeout"]]
    if "concurrency" in step and "when" in step and rng.random() < 0.5:
        step["concurrency"]["when"] = step.pop("when")


# --- other meanings ------------------------------------------------------------------------------


def changed(documents: Docs, rng: random.Random) -> tuple[str, Docs]:
    """A small change of meaning, in words, and the documents with it."""
    while True:
        docs = copy.deepcopy(documents)
        change = rng.choice(_CHANGES)
        if change(docs, rng):
            return change.__name__, docs


def _another_timeout(docs: Docs, rng: random.Random) -> bool:
    spot = rng.choice(spots(docs))
    if "block" not in spot.step:
        return False
    spot.step["timeout"] = "77s"
    return True


def _another_param(docs: Docs, rng: random.Random) -> bool:
    found = [each for each in spots(docs) if each.step.get("params")]
    if not found:
        return False
    params = rng.choice(found).step["params"]
    name = rng.choice(list(params))
    params[name] = [params[name]] if not isinstance(params[name], list) else "other"
    return True


def _another_kind_of_number(docs: Docs, rng: random.Random) -> bool:
    docs[0]["steps"][0].setdefault("params", {})
    step = docs[0]["steps"][0]
    if "block" not in step:
        return False
    step["params"]["amount"] = 2.0
    return True


def _another_order(docs: Docs, rng: random.Random) -> bool:
    found = [each for each in spots(docs) if len(each.steps) > 1]
    if not found:
        return False
    steps = rng.choice(found).steps
    steps[0], steps[1] = steps[1], steps[0]
    return True


def _another_limit(docs: Docs, rng: random.Random) -> bool:
    found = [each for each in spots(docs) if each.kind in ("branches", "resource", "for_each")]
    if not found:
        return False
    spot = rng.choice(found)
    spot.body["limit"] = 17
    return True


def _another_order_of_branches(docs: Docs, rng: random.Random) -> bool:
    found = [each for each in spots(docs) if each.kind == "branches" and len(each.body["branches"]) > 1]
    if not found:
        return False
    body = rng.choice(found).body
    items = list(body["branches"].items())
    body["branches"] = dict(items[1:] + items[:1])
    return True


def _one_step_less(docs: Docs, rng: random.Random) -> bool:
    found = [each for each in spots(docs) if len(each.steps) > 1]
    if not found:
        return False
    spot = rng.choice(found)
    del spot.steps[spot.at]
    return True


def _another_version(docs: Docs, rng: random.Random) -> bool:
    docs[0]["version"] = "another"
    return True


def _another_output(docs: Docs, rng: random.Random) -> bool:
    docs[0]["outputs"] = {**docs[0].get("outputs", {}), "another_one": True}
    return True


def _another_condition(docs: Docs, rng: random.Random) -> bool:
    spot = rng.choice(spots(docs))
    if isinstance(spot.body, dict) and "when" in spot.body:
        return False
    spot.step["when"] = False
    return True


def _another_default(docs: Docs, rng: random.Random) -> bool:
    found = [value for value in docs[0].get("inputs", {}).values() if isinstance(value, dict) and "default" in value]
    if not found:
        return False
    value = rng.choice(found)
    if value["default"] == 7:
        return False
    value["default"] = 7
    return value["type"] in ("integer", "number", "any")


_CHANGES: tuple[Callable[[Docs, random.Random], bool], ...] = (
    _another_timeout,
    _another_param,
    _another_kind_of_number,
    _another_order,
    _another_limit,
    _another_order_of_branches,
    _one_step_less,
    _another_version,
    _another_output,
    _another_condition,
    _another_default,
)
