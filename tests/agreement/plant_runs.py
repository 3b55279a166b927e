"""Mistakes of leases, other workflows, secrets and order (IL310, IL312, IL4xx, IL5xx)."""

from __future__ import annotations

import random
from typing import Any

from agreement.places import Spot, ends_early, misspell, spots
from agreement.plant import Place, planting
from agreement.plant_form import Docs, block, pick, some
from interlock.analyzer.language.nearest import nearest


def _claim(name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "concurrency": {"resource": key, "lifetime": "run", **more}}


def _section(name: str, key: str, *steps: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "concurrency": {"resource": key, **more, "steps": list(steps)}}


def _write(name: str) -> dict[str, Any]:
    return {"id": name, "block": "write_item", "params": {"number": 1}}


def _held(docs: Docs, rng: random.Random, *, protected: bool) -> Spot | None:
    found = [each for each in some(docs, "resource") if each.body.get("steps") and not each.held]
    return pick(rng, [each for each in found if bool(each.body.get("protected")) is protected])


@planting("IL310")
def other_limit(docs: Docs, rng: random.Random) -> Place | None:
    """The second of two places that take one key with two limits."""
    docs[0]["steps"][:0] = [
        _section("one_limit", "aa-limit", block("within_one")),
        _section("other_limit", "aa-limit", block("within_other"), limit=2),
    ]
    return Place((0, "steps", 1, "concurrency", "limit"))


@planting("IL312")
def lease_of_two_branches(docs: Docs, rng: random.Random) -> Place | None:
    ways = {
        "one_way": {"steps": [_section("first_in", "aa-shared", block("within_first"))]},
        "other_way": {"steps": [_section("second_in", "aa-shared", block("within_second"))]},
    }
    docs[0]["steps"].insert(0, {"id": "both_take_it", "concurrency": {"branches": ways}})
    path = (0, "steps", 0, "concurrency", "branches", "other_way", "steps", 0, "concurrency", "resource")
    return Place(path, "key")


def _waits_later(docs: Docs) -> bool:
    """Whether a lease for the rest of the run would have something to be said about: a later wait."""
    waits = [each for each in some(docs, "resource") if each.body.get("on_busy", "wait") == "wait" and not each.held]
    return len(waits) > 1 or any(each.kind.startswith(("run_", "wait_for_w", "wait_for_ag")) for each in spots(docs))


@planting("IL401")
def nested_wait(docs: Docs, rng: random.Random) -> Place | None:
    spot = _held(docs, rng, protected=False)
    if spot is None or spot.each:
        return None
    if _waits_later(docs):
        return None
    more = rng.choice([{}, {"on_busy": "wait"}])
    spot.body["steps"].insert(0, _claim("waits_within", "zz-nested", **more))
    path = (*spot.path, "concurrency", "steps", 0, "concurrency", "on_busy" if more else "resource")
    return Place(path, "key")


@planting("IL402")
def nested_section(docs: Docs, rng: random.Random) -> Place | None:
    spot = _held(docs, rng, protected=False)
    if spot is None or spot.each:
        return None
    spot.body["steps"].insert(0, _section("holds_within", "zz-nested", block("deep_within"), on_busy="skip"))
    return Place((*spot.path, "concurrency", "steps", 0, "concurrency"), "key")


@planting("IL403")
def claim_after_write(docs: Docs, rng: random.Random) -> Place | None:
    spot = _held(docs, rng, protected=True)
    if spot is None or spot.each:
        return None
    steps = spot.body["steps"]
    if ends_early(steps):
        return None
    if _waits_later(docs):
        return None
    steps.append(_claim("claims_late", "zz-late", on_busy="fail"))
    return Place((*spot.path, "concurrency", "steps", len(steps) - 1, "concurrency"), "key")


@planting("IL404")
def pause_while_protected(docs: Docs, rng: random.Random) -> Place | None:
    spot = _held(docs, rng, protected=True)
    if spot is None:
        return None
    kind, value = rng.choice(
        [("delay", "5m"), ("wait_for_approval", {"result_key": "asked_within"}), ("wait_for_signal", {"name": "go"})]
    )
    spot.body["steps"].insert(0, {"id": "pauses_within", kind: value})
    return Place((*spot.path, "concurrency", "steps", 0, kind), "key")


@planting("IL405")
def dependency_wait_while_held(docs: Docs, rng: random.Random) -> Place | None:
    spot = _held(docs, rng, protected=False)
    if spot is None:
        return None
    wait = {"workflow": "run-{run.id}", "result_key": "came_back"}
    spot.body["steps"].insert(0, {"id": "depends_within", "wait_for_workflow": wait})
    return Place((*spot.path, "concurrency", "steps", 0, "wait_for_workflow"), "key")


@planting("IL406")
def retry_while_protected(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "block") if each.protected])
    if spot is None:
        return None
    spot.step["retry"] = {"max_attempts": 2}
    return Place((*spot.path, "retry"), "key")


@planting("IL407")
def hold_and_wait(docs: Docs, rng: random.Random) -> Place | None:
    claims = [each for each in some(docs, "resource") if each.body.get("lifetime") == "run"]
    if claims or len(docs) > 1:
        return None
    docs[0]["steps"][:0] = [_claim("takes_one", "aa-one"), _section("takes_two", "aa-two", block("within_two"))]
    if len(some(docs, "resource")) > 2:
        return None
    return Place((0, "steps", 1, "concurrency", "resource"), "key")


@planting("IL408")
def opposite_orders(docs: Docs, rng: random.Random) -> Place | None:
    """Two more workflows that take two keys in opposite orders: each wait at the head of an edge."""
    for name, keys in (("zz.forth", ("zz-a", "zz-b")), ("zz.back", ("zz-b", "zz-a"))):
        steps = [_claim("takes_one", keys[0]), _claim("takes_two", keys[1])]
        docs.append({"workflow": name, "steps": steps})
    return Place((len(docs) - 1, "steps", 1, "concurrency", "resource"), "key", count=2)


@planting("IL409")
def endless_calls(docs: Docs, rng: random.Random) -> Place | None:
    name = "zz.endless"
    docs.append(
        {"workflow": name, "steps": [{"id": "calls_itself", "run_workflow": {"workflow": name, "result_key": "r"}}]}
    )
    return Place((len(docs) - 1, "steps", 0, "run_workflow", "workflow"))


@planting("IL414")
def own_slot(docs: Docs, rng: random.Random) -> Place | None:
    name = "zz.single"
    call = {
        "id": "calls_itself",
        "when": "{inputs.again}",
        "run_workflow": {"workflow": name, "inputs": {"again": False}},
    }
    call["run_workflow"]["result_key"] = "r"  # type: ignore[index]
    docs.append(
        {
            "workflow": name,
            "inputs": {"again": "boolean"},
            "concurrency": {"limit": 1},
            "steps": [call],
            "outputs": {"x": 1},
        }
    )
    return Place((len(docs) - 1, "steps", 0, "run_workflow", "workflow"))


@planting("IL410")
def bad_quorum(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "for_each") if each.body.get("mode") == "quorum"])
    if spot is None:
        return None
    form = rng.choice(["missing", "zero", "above"])
    path = (*spot.path, "for_each")
    if form == "missing":
        del spot.body["quorum"]
        return Place((*path, "mode"), "key")
    if form == "above" and not isinstance(spot.body["items"], list):
        return None
    spot.body["quorum"] = 0 if form == "zero" else len(spot.body["items"]) + 1
    return Place((*path, "quorum"), "key")


@planting("IL410")
def quorum_without_mode(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "for_each") if each.body.get("mode", "all") == "all"])
    if spot is None:
        return None
    spot.body["quorum"] = 1
    return Place((*spot.path, "for_each", "quorum"), "key")


@planting("IL411")
def unknown_group(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "wait_for_workflow_group", "wait_for_agent_group"))
    if spot is None:
        return None
    groups = [
        each.body["group_key"]
        for each in spots(docs)
        if "group_key" in (each.body if isinstance(each.body, dict) else {})
    ]
    group = spot.body["group"]
    new = misspell(group, lambda other: nearest(other, groups) != group, rng.randrange(99))
    if new is None:
        return None
    spot.body["group"] = new
    return Place((*spot.path, spot.kind, "group"), "key", restored=True)


@planting("IL412")
def unknown_workflow(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "run_workflow", "start_workflows", "start_agents"))
    if spot is None:
        return None
    names = [each["workflow"] for each in docs]
    name = spot.body["workflow"]
    new = misspell(name, lambda other: nearest(other, names) != name or "." not in other, rng.randrange(99))
    if new is None or new.startswith(".") or ".." in new or new.endswith("."):
        return None
    spot.body["workflow"] = new
    return Place((*spot.path, spot.kind, "workflow"), restored=True)


@planting("IL413")
def unknown_child_input(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "run_workflow"))
    if spot is None:
        return None
    spot.body["inputs"] = {**spot.body.get("inputs", {}), "never_heard_of": 1}
    return Place((*spot.path, "run_workflow", "inputs", "never_heard_of"), "key")


@planting("IL413")
def missing_child_input(docs: Docs, rng: random.Random) -> Place | None:
    docs.append(
        {"workflow": "zz.needy", "inputs": {"needed": "string"}, "steps": [block("reads_it", x="{inputs.needed}")]}
    )
    call = {"id": "calls_needy", "run_workflow": {"workflow": "zz.needy", "result_key": "needy_came"}}
    docs[0]["steps"].insert(0, call)
    return Place((0, "steps", 0, "run_workflow", "workflow"))


@planting("IL413")
def wrong_child_input(docs: Docs, rng: random.Random) -> Place | None:
    docs.append(
        {"workflow": "zz.needy", "inputs": {"needed": "integer"}, "steps": [block("reads_it", x="{inputs.needed}")]}
    )
    value = rng.choice(["five", "{run.id}", True, 1.5, [1]])
    body = {"workflow": "zz.needy", "inputs": {"needed": value}, "result_key": "needy_came"}
    docs[0]["steps"].insert(0, {"id": "calls_needy", "run_workflow": body})
    return Place((0, "steps", 0, "run_workflow", "inputs", "needed"))


@planting("IL415")
def wait_in_handler(docs: Docs, rng: random.Random) -> Place | None:
    docs[0].setdefault("on_cancel", []).append({"id": "waits_at_end", "delay": "5m"})
    return Place((0, "on_cancel", len(docs[0]["on_cancel"]) - 1, "delay"), "key")


@planting("IL416")
def name_for_an_id(docs: Docs, rng: random.Random) -> Place | None:
    wait = {"workflow": docs[-1]["workflow"], "result_key": "came_back"}
    docs[0]["steps"].insert(0, {"id": "waits_for_name", "wait_for_workflow": wait})
    return Place((0, "steps", 0, "wait_for_workflow", "workflow"))


def _secret(docs: Docs) -> None:
    docs[0].setdefault("secrets", ["API_TOKEN"])


@planting("IL501")
def secret_in_key(docs: Docs, rng: random.Random) -> Place | None:
    _secret(docs)
    docs[0]["steps"].insert(0, _section("tells_all", "aa-{secrets.API_TOKEN}", block("within_it")))
    return Place((0, "steps", 0, "concurrency", "resource"))


@planting("IL502")
def secret_in_supersession_key(docs: Docs, rng: random.Random) -> Place | None:
    _secret(docs)
    docs[0]["concurrency"] = {"limit": 1, "on_busy": "supersede", "supersession_key": "{secrets.API_TOKEN}"}
    return Place((0, "concurrency", "supersession_key"))


@planting("IL503")
def secret_in_idempotency_key(docs: Docs, rng: random.Random) -> Place | None:
    _secret(docs)
    docs[0]["idempotency_key"] = "one-{secrets.API_TOKEN}"
    return Place((0, "idempotency_key"))


@planting("IL506")
def unknown_secret(docs: Docs, rng: random.Random) -> Place | None:
    _secret(docs)
    call = {"url": "https://a.example", "headers": {"x": rng.choice(["{secrets.API_TOKNE}", "{secrets.OTHER_THING}"])}}
    docs[0]["steps"].insert(0, {"id": "sends_it", "block": "http", "params": call})
    return Place((0, "steps", 0, "params", "headers", "x"))


@planting("IL507")
def secret_in_log(docs: Docs, rng: random.Random) -> Place | None:
    _secret(docs)
    docs[0]["steps"].insert(0, {"id": "tells_it", "block": "log", "params": {"message": "with {secrets.API_TOKEN}"}})
    return Place((0, "steps", 0, "params", "message"))


@planting("IL508")
def secret_elsewhere(docs: Docs, rng: random.Random) -> Place | None:
    _secret(docs)
    docs[0]["steps"].insert(0, {**block("tests_it"), "when": "{secrets.API_TOKEN == 'x'}"})
    return Place((0, "steps", 0, "when"))


@planting("IL505")
def secret_in_state(docs: Docs, rng: random.Random) -> Place | None:
    _secret(docs)
    docs[0]["steps"].insert(0, block("keeps_it", x="{secrets.API_TOKEN}"))
    return Place((0, "steps", 0, "params", "x"))


@planting("IL605")
def unbounded_fan_out(docs: Docs, rng: random.Random) -> Place | None:
    if "max_started_workflows" in docs[0].get("budget", {}):
        return None
    docs[0]["inputs"] = {**docs[0].get("inputs", {}), "all_of_them": "array"}
    docs.append({"workflow": "zz.taker", "inputs": {"taken": "any"}, "steps": [block("reads_it", x="{inputs.taken}")]})
    body = {"workflow": "zz.taker", "items": "{inputs.all_of_them}", "payload_key": "taken"}
    docs[0]["steps"].insert(0, {"id": "starts_all", "start_workflows": body})
    return Place((0, "steps", 0, "start_workflows"), "key")
