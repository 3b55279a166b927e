"""Mistakes of form: fields, types, names, kinds, choices, numbers (IL102 to IL115, IL201, IL3xx, IL6xx)."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable
from typing import Any

from agreement.places import Spot, at_path, ends_early, misspell, put, rename, spots, texts
from agreement.plant import Place, planting
from agreement.write import Again, Path, Raw
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.language.table import KINDS, SHAPES

Docs = list[Any]


def pick(rng: random.Random, found: list[Spot]) -> Spot | None:
    return rng.choice(found) if found else None


def some(docs: Docs, *kinds: str) -> list[Spot]:
    return [spot for spot in spots(docs) if spot.kind in kinds]


def block(name: str, **params: Any) -> dict[str, Any]:
    return {"id": name, "block": "set", "params": params or {"x": 1}}


def matters(steps: list[Any]) -> bool:
    """Whether something elsewhere is only there for these steps, so that without them it is idle."""
    return any(word in repr(steps) for word in ("compensate", "group_key"))


@planting("IL102")
def second_key(docs: Docs, rng: random.Random) -> Place | None:
    spot = rng.choice(spots(docs))
    name = rng.choice([name for name in spot.step if name != spot.kind_key])
    again = Again(name)
    spot.step[again] = copy.deepcopy(spot.step[name])
    return Place((*spot.path, again), "key")


@planting("IL103")
def misspelled_field(docs: Docs, rng: random.Random) -> Place | None:
    """A field of a step, or of what its kind holds, with one slip."""
    spot = rng.choice(spots(docs))
    places: list[tuple[dict[str, Any], Path, Iterable[str]]] = [
        (spot.step, spot.path, [*SHAPES["step"].fields, *KINDS])
    ]
    body, shape = spot.body, spot.kind_key
    if isinstance(body, dict) and shape in SHAPES:
        places.append((body, (*spot.path, shape), SHAPES[shape].fields))
    inner = [name for name in ("retry", "compensate") if name in spot.step]
    places += [(spot.step[name], (*spot.path, name), SHAPES[name].fields) for name in inner]
    mapping, path, known = rng.choice(places)
    if not mapping:
        return None
    word = rng.choice(list(mapping))
    new = misspell(word, lambda other: nearest(other, [*known, "x-"]) != word, rng.randrange(99))
    if new is None:
        return None
    rename(mapping, word, new)
    return Place((*path, new), "key", True)


@planting("IL103")
def unknown_field(docs: Docs, rng: random.Random) -> Place | None:
    path = rng.choice([(0,), rng.choice(spots(docs)).path])
    at_path(docs, path)["quixotic"] = 5
    return Place((*path, "quixotic"), "key")


@planting("IL104")
def missing_field(docs: Docs, rng: random.Random) -> Place | None:
    needed = {"wait_for_signal": "name", "wait_for_signals": "names", "wait_for_workflow": "workflow"}
    spot = pick(rng, some(docs, *needed))
    if spot is None:
        return None
    del spot.body[needed[spot.kind]]
    return Place((*spot.path, spot.kind_key), "key")


@planting("IL104")
def missing_attempts(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in spots(docs) if each.kind == "block" and not each.protected])
    if spot is None:
        return None
    spot.step["retry"] = {"delay": "3s"}
    return Place((*spot.path, "retry"), "key")


@planting("IL105")
def params_of_another_type(docs: Docs, rng: random.Random) -> Place | None:
    path, value = rng.choice(
        [((0, "version"), ["v1"]), ((0, "description"), {"a": 1}), ((0, "compensate_on_failure"), "maybe")]
    )
    put(docs, path, value)
    return Place(path)


@planting("IL105")
def template_where_none_may_stand(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "wait_for_signal"))
    if spot is not None and rng.random() < 0.7:
        spot.body["name"] = "{run.id}"
        return Place((*spot.path, "wait_for_signal", "name"))
    docs[0]["description"] = "about {run.id}"
    return Place((0, "description"))


@planting("IL106")
def reserved_id(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, block(rng.choice(["list", "inputs", "end", "in", "1st", "get-it", "_mine"])))
    return Place((number, "steps", 0, "id"))


@planting("IL107")
def second_kind(docs: Docs, rng: random.Random) -> Place | None:
    spot = rng.choice(spots(docs))
    new = rng.choice([name for name in ("delay", "wait_for_approval") if name not in spot.step])
    spot.step[new] = "5m" if new == "delay" else {}
    if list(spot.step).index(new) < list(spot.step).index(spot.kind_key):
        return None
    return Place((*spot.path, new), "key")


@planting("IL107")
def no_kind(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, {"id": "nothing_at_all", "when": True})
    return Place((number, "steps", 0))


@planting("IL108")
def same_id_twice(docs: Docs, rng: random.Random) -> Place | None:
    spot = rng.choice(spots(docs))
    name = spot.step["id"]
    if any(each.step["id"] == name and each.steps is not spot.steps for each in spots(docs)):
        return None
    if any(next_of == name for each in spots(docs) for next_of in [each.step.get("next")]) or _writes_elsewhere(spot):
        return None
    if ends_early(spot.steps):
        return None
    spot.steps.append(block(name))
    return Place((*spot.path[:-1], len(spot.steps) - 1, "id"))


def _writes_elsewhere(spot: Spot) -> bool:
    return spot.kind.startswith(("wait_for", "start", "run"))


@planting("IL109")
def no_quotes(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, {"id": "bare_value", "block": "set", "params": {"x": Raw("{run.id}")}})
    return Place((number, "steps", 0, "params", "x"), restored=False)


@planting("IL111")
def bad_duration(docs: Docs, rng: random.Random) -> Place | None:
    wrong = rng.choice(["5 minutes", "soon", "-3s", 0, "1x", "m5"])
    found = [each for each in spots(docs) if each.kind == "block"]
    delays = [each for each in some(docs, "delay") if not isinstance(each.body, dict)]
    if delays and rng.random() < 0.5:
        spot = rng.choice(delays)
        spot.step["delay"] = wrong
        return Place((*spot.path, "delay"))
    if found and rng.random() < 0.7:
        spot = rng.choice(found)
        spot.step["timeout"] = wrong
        return Place((*spot.path, "timeout"))
    docs[0]["deadline"] = wrong
    return Place((0, "deadline"))


@planting("IL112")
def bad_choice(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "branches", "for_each", "resource"))
    if spot is None:
        return None
    field = {"branches": "on_error", "for_each": "mode", "resource": "lifetime"}[spot.kind]
    if spot.kind == "resource" and not spot.body.get("steps"):
        return None
    if field == "mode" and spot.body.get("mode", "all") != "all":
        return None
    if spot.kind == "branches" and spot.body.get("on_error") == "collect":
        return None
    spot.body[field] = "sideways"
    return Place((*spot.path, spot.kind_key, field))


@planting("IL112")
def misspelled_choice(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "for_each", "branches") if {"mode", "on_error"} & set(each.body)])
    if spot is None:
        return None
    field = "mode" if "mode" in spot.body else "on_error"
    words = {"first_success": "first_succes", "quorum": "qorum", "collect": "colect", "fail": "fial"}
    if spot.body[field] not in words:
        return None
    spot.body[field] = words[spot.body[field]]
    return Place((*spot.path, spot.kind_key, field), restored=True)


@planting("IL113")
def no_steps(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "for_each"))
    if spot is None or rng.random() < 0.3:
        if "on_cancel" in docs[0]:
            return None
        docs[0]["on_cancel"] = []
        return Place((0, "on_cancel"), "key")
    if matters(spot.body["steps"]):
        return None
    spot.body["steps"] = []
    return Place((*spot.path, "for_each", "steps"), "key")


@planting("IL114")
def second_workflow(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs.append({"workflow": docs[number]["workflow"], "steps": [block("only")]})
    return Place((len(docs) - 1, "workflow"))


@planting("IL115")
def bad_default(docs: Docs, rng: random.Random) -> Place | None:
    docs[0]["inputs"] = {**docs[0].get("inputs", {}), "surplus": {"type": "integer", "default": "five"}}
    docs[0]["steps"].insert(0, block("reader", x="{inputs.surplus}"))
    return Place((0, "inputs", "surplus", "default"))


@planting("IL201")
def broken_expression(docs: Docs, rng: random.Random) -> Place | None:
    """An expression that ends too early, or a brace too many, in a place that takes any value."""
    wrong = rng.choice(["{1 +}", "{run.id", "a } b", "{size(}", "{'x}", "{}", "{run.id run.id}", "{run..id}"])
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, block("broken_one", x=wrong))
    return Place((number, "steps", 0, "params", "x"))


@planting("IL201")
def broken_template(docs: Docs, rng: random.Random) -> Place | None:
    """A template that is there already, and ends too early: what it read still counts as read."""
    found = [path for spot in spots(docs) for path in templates(spot)]
    if not found:
        return None
    path = rng.choice(found)
    text = at_path(docs, path)
    put(docs, path, rng.choice([text[:-1] + " +}", text[:-1], text[:-1] + " ]}", "{(" + text[1:]]))
    return Place(path)


@planting("IL301")
def branches_and_resource(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "branches"))
    if spot is None:
        return None
    spot.body["resource"] = "both-of-them"
    return Place((*spot.path, "concurrency"), "key")


@planting("IL301")
def neither(docs: Docs, rng: random.Random) -> Place | None:
    docs[0]["steps"].insert(0, {"id": "neither_one", "concurrency": {}})
    return Place((0, "steps", 0, "concurrency"), "key")


@planting("IL302")
def field_of_another_kind(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "delay", "for_each", "wait_for_approval", "wait_for_signal"))
    if spot is None:
        return None
    spot.step["retry"] = {"max_attempts": 2}
    return Place((*spot.path, "retry"), "key")


@planting("IL302")
def policy_of_another_place(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "branches"))
    if spot is None:
        return None
    field, value = rng.choice([("on_busy", "wait"), ("lifetime", "run"), ("protected", True)])
    spot.body[field] = value
    return Place((*spot.path, "concurrency", field), "key")


@planting("IL303")
def bad_limit(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "branches", "for_each", "resource"))
    if spot is None:
        return None
    spot.body["limit"] = rng.choice([0, -1, 1.5, "two", "{run.attempt}"])
    return Place((*spot.path, spot.kind_key, "limit"))


@planting("IL304")
def policy_not_allowed(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "resource") if not each.held and "timeout" not in each.step])
    if spot is None:
        return None
    policies = ["supersede", "latest_waiting", "queue"]
    if spot.body.get("on_busy", "wait") != "wait":
        return None
    spot.body["on_busy"] = rng.choice(policies)
    return Place((*spot.path, "concurrency", "on_busy"))


@planting("IL305")
def supersession_of_many(docs: Docs, rng: random.Random) -> Place | None:
    policy = rng.choice(["supersede", "latest_waiting"])
    docs[0]["concurrency"] = {"limit": 2, "on_busy": policy, "supersession_key": "x"}
    return Place((0, "concurrency", "limit"))


@planting("IL306")
def supersession_without_key(docs: Docs, rng: random.Random) -> Place | None:
    docs[0]["concurrency"] = {"limit": 1, "on_busy": rng.choice(["supersede", "latest_waiting"])}
    return Place((0, "concurrency", "on_busy"))


@planting("IL307")
def key_without_policy(docs: Docs, rng: random.Random) -> Place | None:
    docs[0]["concurrency"] = {"limit": 1, "supersession_key": "x-{run.workflow}"}
    return Place((0, "concurrency", "supersession_key"), "key")


@planting("IL308")
def empty_section(docs: Docs, rng: random.Random) -> Place | None:
    docs[0]["steps"].insert(0, {"id": "hollow_one", "concurrency": {"resource": "hollow"}})
    return Place((0, "steps", 0, "concurrency"), "key")


@planting("IL309")
def no_branches(docs: Docs, rng: random.Random) -> Place | None:
    if rng.random() < 0.5:
        docs[0]["steps"].insert(0, {"id": "no_ways", "concurrency": {"branches": {}}})
        return Place((0, "steps", 0, "concurrency", "branches"), "key")
    spot = pick(rng, some(docs, "branches"))
    if spot is None:
        return None
    name = rng.choice(list(spot.body["branches"]))
    if matters(spot.body["branches"][name]["steps"]):
        return None
    spot.body["branches"][name]["steps"] = []
    return Place((*spot.path, "concurrency", "branches", name), "key")


@planting("IL311")
def empty_key(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "resource"))
    if spot is None:
        return None
    spot.body["resource"] = rng.choice(["", "k" * 513])
    return Place((*spot.path, "concurrency", "resource"))


@planting("IL313")
def limit_above_branches(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, some(docs, "branches"))
    if spot is None:
        return None
    spot.body["limit"] = len(spot.body["branches"]) + 1
    return Place((*spot.path, "concurrency", "limit"))


@planting("IL314")
def protected_claim(docs: Docs, rng: random.Random) -> Place | None:
    found = [each for each in some(docs, "resource") if not each.body.get("steps") and not each.held]
    spot = pick(rng, found)
    if spot is None:
        return None
    spot.body["protected"] = True
    return Place((*spot.path, "concurrency", "protected"), "key")


@planting("IL315")
def two_conditions(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "resource", "branches") if "when" not in each.body])
    if spot is None or "when" not in spot.step:
        return None
    spot.body["when"] = "{run.attempt < 4}"
    return Place((*spot.path, "concurrency", "when"), "key")


@planting("IL601")
def bad_budget(docs: Docs, rng: random.Random) -> Place | None:
    budget = docs[0].setdefault("budget", {})
    name = rng.choice(["max_for_each_items", "max_state_bytes", "max_cost_units"])
    budget[name] = rng.choice([0, -5, 1.5, "many"])
    return Place((0, "budget", name))


@planting("IL606")
def bad_cost(docs: Docs, rng: random.Random) -> Place | None:
    spot = rng.choice(spots(docs))
    spot.step["cost_units"] = rng.choice([-1, 0.5, "two"])
    return Place((*spot.path, "cost_units"))


@planting("IL603")
def tiny_budget(docs: Docs, rng: random.Random) -> Place | None:
    """Two steps that always run, and room for one."""
    budget = docs[0].setdefault("budget", {})
    budget["max_transitions"] = 1
    docs[0]["steps"][:0] = [block("one_of_two"), block("two_of_two")]
    return Place((0, "budget", "max_transitions"))


@planting("IL604")
def items_over_budget(docs: Docs, rng: random.Random) -> Place | None:
    docs[0].setdefault("budget", {})["max_for_each_items"] = 200
    items = list(range(201))
    docs[0]["steps"].insert(0, {"id": "so_many", "for_each": {"items": items, "steps": [block("each_of_many")]}})
    return Place((0, "steps", 0, "for_each", "items"))


@planting("IL607")
def deadline_too_short(docs: Docs, rng: random.Random) -> Place | None:
    docs[0]["deadline"] = "59m"
    docs[0]["steps"].insert(0, {"id": "an_hour", "delay": "1h"})
    return Place((0, "deadline"))


@planting("IL602")
def unbounded_loop(docs: Docs, rng: random.Random) -> Place | None:
    if "deadline" in docs[0] or "max_transitions" in docs[0].get("budget", {}):
        return None
    first = {"id": "look_again", "block": "count.up", "params": {"upto": 3}}
    last = {"id": "go_back", "block": "set", "next": "{look_again.more ? 'look_again' : '%s'}"}
    last["next"] = last["next"].replace("%s", docs[0]["steps"][0]["id"])
    docs[0]["steps"][:0] = [first, last]
    return Place((0, "steps", 1, "next"))


def templates(spot: Spot) -> list[tuple[Any, ...]]:
    """The paths of whole templates in the params of a block."""
    return [
        path
        for path, text in texts(spot.step.get("params", {}), (*spot.path, "params"))
        if text.startswith("{") and text.endswith("}") and not text.startswith("{{")
    ]
