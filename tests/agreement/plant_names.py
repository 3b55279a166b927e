"""Mistakes of names and types: references, members, blocks, params, jumps (IL202 to IL216)."""

from __future__ import annotations

import random
import re

from agreement.blocks import SPECS
from agreement.places import ends_early, misspell, put, spots, texts
from agreement.plant import Place, planting
from agreement.plant_form import Docs, block, pick, some
from interlock.analyzer.language.blocks import BUILT_IN
from interlock.analyzer.language.nearest import nearest


@planting("IL202")
def unknown_name(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, block("asks_nobody", x="{nobody_at_all.here}"))
    return Place((number, "steps", 0, "params", "x"))


@planting("IL202")
def misspelled_name(docs: Docs, rng: random.Random) -> Place | None:
    """A read of an earlier step with one slip in its name."""
    number = rng.randrange(len(docs))
    docs[number]["steps"][:0] = [block("quizmaster", x=1), block("reads_it", x="{quizmaser.x}")]
    return Place((number, "steps", 1, "params", "x"), restored=True)


@planting("IL202")
def misspelled_root(docs: Docs, rng: random.Random) -> Place | None:
    found = [(path, text) for path, text in texts(docs[0]["steps"], (0, "steps")) if re.search(r"\binputs\.", text)]
    if not found:
        return None
    path, text = rng.choice(found)
    if len(re.findall(r"\binputs\.", text)) != 1 or "inputs.?" in text:
        return None
    put(docs, path, re.sub(r"\binputs\.", "inptus.", text))
    return Place(path, restored=True)


@planting("IL203")
def later_step(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["steps"][:0] = [block("too_early", x="{comes_after.x}"), block("comes_after", x=1)]
    return Place((number, "steps", 0, "params", "x"))


@planting("IL203")
def step_beside_the_path(docs: Docs, rng: random.Random) -> Place | None:
    """A step that only one of two ways passes."""
    docs[0]["steps"][:0] = [
        {**block("at_the_fork", x=1), "next": "{at_the_fork.x > 0 ? 'by_the_way' : 'both_ways'}"},
        block("by_the_way", y=2),
        block("both_ways", z="{by_the_way.y}"),
    ]
    return Place((0, "steps", 2, "params", "z"))


@planting("IL204")
def inner_step(docs: Docs, rng: random.Random) -> Place | None:
    """A step after a container reads one inside it."""
    found = [each for each in some(docs, "branches", "for_each", "resource") if not each.inner]
    spot = pick(rng, found)
    if spot is None or ends_early(spot.steps):
        return None
    inner = next((each for each in spots(docs) if each.path[: len(spot.path)] == spot.path and each.inner), None)
    if inner is None or inner.kind != "block" or _twice(docs, inner.step["id"]):
        return None
    spot.steps.append(block("looks_inside", x="{" + inner.step["id"] + ".x}"))
    return Place((*spot.path[:-1], len(spot.steps) - 1, "params", "x"))


def _twice(docs: Docs, name: str) -> bool:
    return [each.step["id"] for each in spots(docs)].count(name) > 1


@planting("IL205")
def unknown_input(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, block("asks_too_much", x="{inputs.nonesuch_at_all}"))
    return Place((number, "steps", 0, "params", "x"))


@planting("IL205")
def unknown_output(docs: Docs, rng: random.Random) -> Place | None:
    """A member that a block's result does not have, in a slip or out of thin air."""
    number = rng.randrange(len(docs))
    member, restored = rng.choice([("cuont", True), ("moods", True), ("weather", False)])
    find = {"id": "first_of_all", "block": "shop.find", "params": {"number": 1}}
    docs[number]["steps"][:0] = [find, block("reads_first", x="{first_of_all." + member + "}")]
    return Place((number, "steps", 1, "params", "x"), restored=restored)


@planting("IL206")
def wrong_operand(docs: Docs, rng: random.Random) -> Place | None:
    wrong = ["{1 + 'a'}", "{run.id + 1}", "{size(5)}", "{!run.attempt}", "{run.attempt + 1.5}", "{b'x'}", "{[1] + 2}"]
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, block("adds_wrong", x=rng.choice(wrong)))
    return Place((number, "steps", 0, "params", "x"))


@planting("IL206")
def wrong_field_type(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    step, path = rng.choice(
        [
            ({**block("tests_wrong"), "when": "{run.attempt}"}, ("when",)),
            ({"id": "finds_wrong", "block": "shop.find", "params": {"number": "{run.id}"}}, ("params", "number")),
            (
                {"id": "goes_wrong", "for_each": {"items": "{run.attempt}", "steps": [block("within_it")]}},
                ("for_each", "items"),
            ),
            (
                {"id": "holds_wrong", "concurrency": {"resource": "zz-{[1]}", "steps": [block("within_it")]}},
                ("concurrency", "resource"),
            ),
        ]
    )
    docs[number]["steps"].insert(0, step)
    return Place((number, "steps", 0, *path))


@planting("IL207")
def unguarded_read(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    find = {"id": "may_not_be", "block": "shop.find", "params": {"number": 1}, "when": "{run.attempt > 1}"}
    docs[number]["steps"][:0] = [find, block("reads_anyway", x="{may_not_be.count}")]
    return Place((number, "steps", 1, "params", "x"))


@planting("IL208")
def misspelled_block(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "block") if each.body in ("shop.find", "write_item", "shell")])
    if spot is None:
        return None
    known = [*SPECS, *BUILT_IN]
    new = misspell(spot.body, lambda other: nearest(other, known) != spot.body, rng.randrange(99))
    if new is None:
        return None
    spot.step["block"] = new
    return Place((*spot.path, "block"), restored=True)


@planting("IL208")
def unknown_block(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, {"id": "from_nowhere", "block": "far.away.thing"})
    return Place((number, "steps", 0, "block"))


@planting("IL209")
def missing_param(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "block") if each.body in ("http", "shop.find", "log")])
    if spot is None:
        return None
    needed = {"http": "url", "shop.find": "number", "log": "message"}[spot.body]
    del spot.step["params"][needed]
    return Place((*spot.path, "params"), "key")


@planting("IL209")
def unknown_param(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "block") if each.body in ("http", "shop.find", "log")])
    if spot is None:
        return None
    spot.step["params"]["frobnicate"] = 1
    return Place((*spot.path, "params", "frobnicate"), "key")


@planting("IL209")
def wrong_param(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "block") if each.body in ("http", "shop.find", "log")])
    if spot is None:
        return None
    name, value = {"http": ("method", "FETCH"), "shop.find": ("number", "five"), "log": ("level", "loud")}[spot.body]
    if spot.body == "http" and spot.step["params"].get("method", "GET") == "GET":
        # An unknown method would count as one with effects.
        name, value = "follow", "maybe"
    if spot.body == "shop.find" and "inputs." in repr(spot.step["params"]["number"]):
        return None
    spot.step["params"][name] = value
    return Place((*spot.path, "params", name))


@planting("IL211")
def constant_condition(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["steps"].insert(0, {**block("always_so"), "when": "{1 < 2}"})
    return Place((number, "steps", 0, "when"))


@planting("IL212")
def passed_by(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    name = docs[number]["steps"][0]["id"]
    docs[number]["steps"][:0] = [{**block("jumps_over"), "next": name}, block("never_seen")]
    return Place((number, "steps", 1))


@planting("IL213")
def jump_to_nowhere(docs: Docs, rng: random.Random) -> Place | None:
    spot = pick(rng, [each for each in some(docs, "block") if "next" not in each.step])
    if spot is None:
        return None
    following = spot.steps[spot.at + 1]["id"] if spot.at + 1 < len(spot.steps) else "end"
    template = "{run.attempt > 1 ? 'nowhere_to_be_seen' : '" + following + "'}"
    spot.step["next"] = rng.choice(["nowhere_to_be_seen", template])
    return Place((*spot.path, "next"))


@planting("IL214")
def key_of_a_step(docs: Docs, rng: random.Random) -> Place | None:
    docs[0]["steps"][:0] = [
        block("already_here"),
        {"id": "asks_them", "wait_for_input": {"result_key": "already_here"}},
    ]
    return Place((0, "steps", 1, "wait_for_input", "result_key"))


@planting("IL214")
def default_key_twice(docs: Docs, rng: random.Random) -> Place | None:
    docs[0]["steps"][:0] = [
        {"id": "asks_one", "wait_for_approval": {}},
        {"id": "asks_two", "wait_for_approval": {}},
    ]
    return Place((0, "steps", 1, "wait_for_approval"), "key")


@planting("IL215")
def impossible_word(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    find = {"id": "in_a_mood", "block": "shop.find", "params": {"number": 1}}
    docs[number]["steps"][:0] = [find, block("reads_mood", x="{in_a_mood.mood == 'clam'}")]
    return Place((number, "steps", 1, "params", "x"), restored=True)


@planting("IL210")
def unused_input(docs: Docs, rng: random.Random) -> Place | None:
    number = rng.randrange(len(docs))
    docs[number]["inputs"] = {**docs[number].get("inputs", {}), "for_nothing": {"type": "string", "default": "x"}}
    return Place((number, "inputs", "for_nothing"), "key")
