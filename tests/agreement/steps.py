"""The steps of generated workflows: one function for a kind, and how they follow each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from agreement.blocks import RESULTS
from agreement.expressions import SCALARS, Entry, List, Maybe, Record, Scope, Type, Words
from agreement.generate import BRANCH_WORDS, Document, Maker, Place, Signature
from agreement.params import http_params, params_of, write_params

Made: TypeAlias = "tuple[Document, Type | None]"


def steps(maker: Maker, scope: Scope, place: Place, count: int) -> tuple[list[Any], Scope]:
    """A list of about ``count`` steps, and the scope behind it."""
    made: list[Any] = []
    while len(made) < count and (maker.left > 0 or not made):
        roll = maker.random.random()
        if roll < 0.05 and not place.protected and count - len(made) > 2 and maker.left > 2:
            loop(maker, scope, place, made)
        elif roll < 0.11 and count - len(made) > 2 and not place.protected:
            fork(maker, scope, place, made)
        else:
            add(maker, scope, place, made)
    for number, step in enumerate(made):
        if "next" not in step and maker.chance(0.04) and not any(step is each[1] for each in maker.followers):
            step["next"] = made[number + 1]["id"] if number + 1 < len(made) else "end"
    return made, scope


def add(maker: Maker, scope: Scope, place: Place, made: list[Any]) -> None:
    """One step (or a claim and the one that reads it) at the end of a list."""
    maker.left -= 1
    kind = maker.random.choices(KINDS, WEIGHTS)[0]
    if not _allowed(maker, kind, place):
        kind = block
    if kind in PAIRED:
        PAIRED[kind](maker, scope, place, made)
        return
    when = maker.write.condition(scope) if maker.chance(0.18) else None
    step, type_ = kind(maker, scope, place, when)
    if when is not None:
        _set_when(maker, step, "{" + when + "}")
    elif maker.chance(0.03):
        step["when"] = True
    _general(maker, step, kind)
    made.append(step)
    name = _result_name(step)
    if type_ is not None and name is not None:
        if isinstance(type_, Record) and kind is section and when is not None:
            type_ = Record(
                {"acquired": "boolean", **{n: _maybe(t) for n, t in type_.fields.items() if n != "acquired"}}
            )
            scope.entries.append(Entry(name, type_))
        else:
            scope.entries.append(Entry(name, type_, when))


def _maybe(type_: Type) -> Type:
    return type_ if isinstance(type_, Maybe) else Maybe(type_)


def _set_when(maker: Maker, step: Document, text: str) -> None:
    if "concurrency" in step and maker.chance(0.4):
        step["concurrency"]["when"] = text
    else:
        step["when"] = text


def _general(maker: Maker, step: Document, kind: Any) -> None:
    if maker.chance(0.08):
        step["cost_units"] = maker.random.randint(0, 5)
    if maker.chance(0.1):
        items = list(step.items())
        maker.random.shuffle(items)
        step.clear()
        step.update(items)


def _result_name(step: Document) -> str | None:
    for name, value in step.items():
        if name in ("run_workflow", "start_workflows", "start_agents") or name.startswith("wait_for_"):
            key = value.get("result_key")
            default = {"wait_for_approval": "approval", "wait_for_input": "input", "wait_for_decision": "decision"}
            found = key if key is not None else default.get(name)
            return str(found) if found is not None else None
    return str(step["id"])


def _allowed(maker: Maker, kind: Any, place: Place) -> bool:
    if place.protected and kind is not block:
        return False
    if kind in (branches, for_each, section) and (place.depth >= 3 or maker.left < 2):
        return False
    if kind is section:
        return not place.held and place.leases in ("any", "sections") and place.each < 2
    if kind is claim:
        return place.leases in ("any", "claims") and place.each < 2 and not (place.held and place.loop)
    if kind in (child, started):
        return bool(maker.children) and not place.loop and not (kind is child and place.held) and place.depth < 3
    if kind is agents:
        return bool(maker.children) and not maker.agents and place.depth == 0 and not place.loop
    return True


# --- blocks --------------------------------------------------------------------------------------


def block(maker: Maker, scope: Scope, place: Place, when: str | None) -> Made:
    """One unit of work; inside a protected section the one that writes comes from `section`."""
    choices = ["shop.find"] * 4 + ["http"] * 3 + ["set"] * 3 + ["log", "shell"]
    if not place.protected:
        choices += ["write_item"] * 2
    else:
        choices = ["shop.find", "set", "log"]
    name = maker.random.choice(choices)
    step: Document = {"id": maker.new_id(), "block": name}
    params, type_ = params_of(maker, scope, name, when)
    if params or maker.chance(0.5):
        step["params"] = params
    if not place.protected and maker.chance(0.15):
        step["retry"] = _retry(maker)
    if maker.chance(0.12):
        step["timeout"] = maker.random.choice(["30s", 45, "5m", "1h30m"])
    if maker.chance(0.12) and name != "log":
        own = scope.inner(Entry(step["id"], type_)) if type_ is not None else scope
        undo = maker.random.choice(["shop.find", "write_item", "http"])
        step["compensate"] = {"block": undo, "params": params_of(maker, own, undo, when)[0]}
    return step, type_


def _retry(maker: Maker) -> Document:
    made: Document = {"max_attempts": maker.random.randint(1, 3)}
    if maker.chance(0.5):
        made["delay"] = maker.random.choice(["5s", "1m", 2])
    if maker.chance(0.4):
        made["backoff"] = maker.random.choice(["constant", "linear", "exponential"])
    if maker.chance(0.3):
        made["max_delay"] = "10m"
    return made


# --- next ----------------------------------------------------------------------------------------


def loop(maker: Maker, scope: Scope, place: Place, made: list[Any]) -> None:
    """Steps that are repeated until a count is reached."""
    inside = place.inside(loop=True, leases="sections" if place.leases == "any" else place.leases, depth=place.depth)
    first = len(made)
    for _ in range(maker.random.randint(1, 2)):
        add(maker, scope, inside, made)
    counter: Document = {"id": maker.new_id(), "block": "count.up", "params": {"upto": maker.random.randint(1, 3)}}
    made.append(counter)
    maker.left -= 1
    scope.entries.append(Entry(counter["id"], RESULTS["count.up"]))
    maker.later(made, counter, counter, "{" + f"{counter['id']}.more ? '{made[first]['id']}' : '%s'" + "}")


def fork(maker: Maker, scope: Scope, place: Place, made: list[Any]) -> None:
    """A step that goes on with the next ones, or past them; behind them only what is sure can be read."""
    step, type_ = block(maker, scope, place, None)
    made.append(step)
    maker.left -= 1
    if type_ is not None:
        scope.entries.append(Entry(step["id"], type_))
    test = maker.write.condition(scope)
    if maker.chance(0.25):
        # The way on or out: what follows is not sure at the end.
        scope.leave()
        maker.later(made, step, step, "{" + f"{test} ? 'end' : '%s'" + "}")
        add(maker, scope, place, made)
        return
    aside = scope.copy()
    start = len(made)
    add(maker, aside, place, made)
    maker.later(made, step, made[-1], "{" + f"{test} ? '{made[start]['id']}' : '%s'" + "}")


# --- containers ----------------------------------------------------------------------------------


def branches(maker: Maker, scope: Scope, place: Place, when: str | None) -> Made:
    collect = maker.chance(0.4)
    leases = place.leases
    if leases == "any":
        leases = maker.random.choice(["sections", "claims"])
    made: Document = {}
    types: dict[str, Type] = {}
    names = maker.random.sample(BRANCH_WORDS, maker.random.randint(1, 3))
    for name in names:
        inner, after = steps(maker, scope.inner(), place.inside(leases=leases), maker.random.randint(1, 3))
        outputs, shown = maker.outputs(after.at_end, 0.7)
        made[name] = {"steps": inner, **({"outputs": outputs} if outputs else {})}
        output: Type = Maybe(shown) if collect else shown
        fields: dict[str, Type] = {"status": Words(("completed", "failed")), "output": output}
        if collect:
            fields["error"] = Maybe(Record({"code": "string", "message": "string"}))
        types[name] = Record(fields)
    body: Document = {"branches": made}
    if collect:
        body["on_error"] = "collect"
    elif maker.chance(0.2):
        body["on_error"] = "fail"
    if maker.chance(0.3):
        body["limit"] = maker.random.randint(1, len(made))
    return {"id": maker.new_id(), "concurrency": body}, Record({"branches": Record(types)})


def _key(maker: Maker, scope: Scope, place: Place) -> tuple[Any, int]:
    """The next key of the order, with the limit that goes with it."""
    number = maker.key
    maker.key += 1
    prefix = f"k{maker.level}-{number:03}"
    limit = 2 if number % 4 == 3 else 1
    fixed = Scope([each for each in scope.entries if each.name in ("inputs", "run") and maker.chance(0.9)])
    if place.index:
        return f"{prefix}:{{index}}", limit
    if maker.chance(0.4):
        return prefix, limit
    return f"{prefix}:" + maker.write.template(_without_run_id(fixed), key=True), limit


def _without_run_id(scope: Scope) -> Scope:
    """A key with the run's own id excludes nobody, so it is not made."""
    run = Entry("run", Record({"workflow": "string", "account": "string"}))
    return Scope([each for each in scope.entries if each.name != "run"] + [run])


def section(maker: Maker, scope: Scope, place: Place, when: str | None) -> Made:
    """Steps under a lease."""
    key, limit = _key(maker, scope, place)
    body: Document = {"resource": key}
    if limit > 1 or maker.chance(0.2):
        body["limit"] = limit
    policy = maker.random.choice(["wait", "wait", "wait", "skip", "fail"])
    if policy != "wait" or maker.chance(0.3):
        body["on_busy"] = policy
    protected = maker.chance(0.35)
    if place.leases == "any" and not place.loop and not place.each and maker.chance(0.2):
        body["lifetime"] = "run"
    elif maker.chance(0.2):
        body["lifetime"] = "step"
    lease = Entry("lease", Record({"key": "string", "fence": "integer"}))
    inside = place.inside(held=True, protected=protected, leases="none" if place.loop or protected else "claims")
    inner_scope = scope.inner(lease)
    if protected:
        body["protected"] = True
        inner = _protected(maker, inner_scope, inside)
    else:
        inner, inner_scope = steps(maker, inner_scope, inside, maker.random.randint(1, 3))
    outputs, shown = maker.outputs(inner_scope.at_end, 0.7)
    body["steps"] = inner
    if outputs:
        body["outputs"] = outputs
    step: Document = {"id": maker.new_id(), "concurrency": body}
    if policy == "wait" and maker.chance(0.2):
        step["timeout"] = "2h"
    output, fence = (Maybe(shown), Maybe("integer")) if policy == "skip" else (shown, "integer")
    return step, Record({"acquired": "boolean", "output": output, "fence": fence})


def _protected(maker: Maker, scope: Scope, place: Place) -> list[Any]:
    """Looks, writes once, and looks again."""
    made: list[Any] = []
    for _ in range(maker.random.randint(0, 1)):
        add(maker, scope, place, made)
    name = maker.random.choice(["write_item", "http"])
    params = (
        write_params(maker, scope, None)
        if name == "write_item"
        else {**http_params(maker, scope, None), "method": "POST"}
    )
    step: Document = {"id": maker.new_id(), "block": name, "params": params}
    made.append(step)
    scope.entries.append(Entry(step["id"], RESULTS[name]))
    if maker.chance(0.3):
        add(maker, scope, place, made)
    return made


def claim(maker: Maker, scope: Scope, place: Place, made: list[Any]) -> None:
    """An empty lease for the rest of the run; one that may be skipped is asked for by the step behind it."""
    waits = place.leases == "any" and not (place.held or place.loop or place.each or not place.top)
    policy = maker.random.choice(["wait", "wait", "skip", "fail"] if waits else ["skip", "fail"])
    key, limit = _key(maker, scope, place)
    body: Document = {"resource": key, "lifetime": "run", "limit": limit}
    if limit == 1 and maker.chance(0.7):
        del body["limit"]
    if policy != "wait" or maker.chance(0.3):
        body["on_busy"] = policy
    if maker.chance(0.1):
        body["steps"] = []
    step: Document = {"id": maker.new_id(), "concurrency": body}
    made.append(step)
    fence: Type = Maybe("integer") if policy == "skip" else "integer"
    scope.entries.append(Entry(step["id"], Record({"acquired": "boolean", "fence": fence})))
    if policy == "skip":
        after, type_ = block(maker, scope, place, f"{step['id']}.acquired")
        after["when"] = "{" + f"{step['id']}.acquired" + "}"
        made.append(after)
        if type_ is not None:
            scope.entries.append(Entry(after["id"], type_, f"{step['id']}.acquired"))


def for_each(maker: Maker, scope: Scope, place: Place, when: str | None) -> Made:
    mode = maker.random.choice(["all", "all", "first_success", "quorum"])
    items, item, count = _items(maker, scope, when, literal=mode != "all")
    name = maker.random.choice(["item", "row_value", "one_part", "unit"])
    while name != "item" and any(entry.name == name for entry in scope.entries):
        name = "item"
    if name == "item" and any(entry.name == "item" for entry in scope.entries):
        name = f"item_{place.depth}{maker.random.randint(1, 99)}"
    body: Document = {"items": items}
    if name != "item" or maker.chance(0.1):
        body["as"] = name
    if maker.chance(0.3):
        body["limit"] = maker.random.randint(1, 4)
    if mode != "all" or maker.chance(0.2):
        body["mode"] = mode
    if mode == "quorum":
        body["quorum"] = maker.random.randint(1, count)
    leases = maker.random.choice(["sections", "claims"]) if place.leases == "any" else place.leases
    # A list of the items' own names: an outer index is hidden by the inner one.
    outer = Scope([each for each in scope.entries if each.name != "index"])
    inner_scope = outer.inner(Entry(name, item), Entry("index", "integer"))
    inside = place.inside(each=place.each + 1, leases=leases, index=True)
    inner, after = steps(maker, inner_scope, inside, maker.random.randint(1, 3))
    outputs, shown = maker.outputs(after.at_end, 0.7)
    body["steps"] = inner
    if outputs:
        body["outputs"] = outputs
    winner: Type = Record({"index": "integer", "output": shown})
    result: Type = Record(
        {
            "mode": Words(("all", "first_success", "quorum")),
            "total": "integer",
            "succeeded": "integer",
            "failed": "integer",
            "winner": Maybe(winner) if mode == "all" and not isinstance(items, list) else winner,
        }
    )
    return {"id": maker.new_id(), "for_each": body}, result


def _items(maker: Maker, scope: Scope, when: str | None, *, literal: bool) -> tuple[Any, Type, int]:
    """Items, the type of one, and how many there are at least."""
    kind = maker.random.choice(SCALARS[:3])
    if literal or maker.chance(0.4):
        count = maker.random.randint(1, 3)
        if maker.chance(0.3):
            return [{"part": maker.whole(scope, kind, when)} for _ in range(count)], Record({"part": kind}), count
        return [maker.whole(scope, kind, when) for _ in range(count)], kind, count
    return maker.whole(scope, List(kind), when), kind, 0


# --- other workflows -----------------------------------------------------------------------------


def _given(maker: Maker, scope: Scope, callee: Signature, when: str | None, *, every: bool) -> Document:
    made: Document = {}
    for name, (type_, required, words) in callee.inputs.items():
        if required or (every and maker.chance(0.5)):
            made[name] = _input_value(maker, scope, type_, words, when)
    return made


def _input_value(maker: Maker, scope: Scope, type_: Type, words: tuple[Any, ...], when: str | None) -> Any:
    if isinstance(type_, Maybe):
        type_ = type_.type
    if words:
        return maker.random.choice(words)
    if isinstance(type_, List):
        return maker.random.choice([["x", 2], maker.whole(scope, List("integer"), when)])
    if type_ == "map":
        return {"k": maker.whole(scope, "string", when)}
    if type_ == "dyn":
        return maker.value(scope, when)[0]
    return maker.whole(scope, type_, when)


def child(maker: Maker, scope: Scope, place: Place, when: str | None) -> Made:
    callee = maker.random.choice(maker.children)
    given = _given(maker, scope, callee, when, every=True)
    body: Document = {"workflow": callee.name}
    if given:
        body["inputs"] = given
    step: Document = {"id": maker.new_id(), "run_workflow": body}
    merges = callee.outputs is not None and maker.chance(0.25)
    if not merges:
        body["result_key"] = maker.new_id()
    if maker.chance(0.15):
        step["timeout"] = "48h"
    return step, callee.outputs if callee.outputs is not None else None


def started(maker: Maker, scope: Scope, place: Place, made: list[Any]) -> None:
    """Runs that are started, and most times a wait for them."""
    callee = maker.random.choice(maker.children)
    maker.started += 1
    required = [name for name, (_, needed, _) in callee.inputs.items() if needed]
    count = maker.random.randint(1, 3)
    body: Document = {"workflow": callee.name}
    if len(required) <= 1 and callee.inputs and maker.chance(0.5):
        name = required[0] if required else next(iter(callee.inputs))
        type_, _, words = callee.inputs[name]
        body["items"] = [_input_value(maker, scope, type_, words, None) for _ in range(count)]
        if any(isinstance(item, dict) for item in body["items"]) or type_ == "dyn":
            body["items"] = [{name: item} for item in body["items"]]
        else:
            body["payload_key"] = name
            if type_ in ("string", "integer") and not words and maker.chance(0.4):
                body["items"] = maker.whole(scope, List(type_))
                maker.fan_out, count = True, 0
    else:
        body["items"] = [_given(maker, scope, callee, None, every=True) for _ in range(count)]
    if maker.chance(0.3):
        body["inherit_state"] = maker.chance(0.5)
    key = maker.new_id()
    step: Document = {"id": maker.new_id(), "start_workflows": body}
    made.append(step)
    form = maker.random.choice(["none", "ids", "one", "group"])
    if place.held or (form == "group" and place.depth):
        form = "none"
    if form == "none" or (form == "one" and not count):
        return
    if form == "group":
        body["group_key"] = maker.new_id()
        wait = {"wait_for_workflow_group": {"group": body["group_key"], **_mode(maker, count)}}
    else:
        body["result_key"] = key
        scope.entries.append(Entry(key, List("string")))
        if form == "one":
            wait = {"wait_for_workflow": {"workflow": "{" + f"{key}[0]" + "}"}}
        else:
            wait = {"wait_for_workflows": {"workflows": "{" + key + "}", **_mode(maker, count)}}
    if maker.chance(0.3):
        add(maker, scope, place, made)
    body = next(iter(wait.values()))
    if callee.outputs is None or maker.chance(0.7):
        body["result_key"] = maker.new_id()
    waiting: Document = {"id": maker.new_id(), **wait}
    if maker.chance(0.2):
        waiting["timeout"] = "30d"
    made.append(waiting)


def _mode(maker: Maker, count: int) -> Document:
    mode = maker.random.choice(["all", "any", "quorum"]) if count else "all"
    if mode == "quorum":
        return {"mode": "quorum", "quorum": maker.random.randint(1, count)}
    return {"mode": mode} if mode != "all" or maker.chance(0.3) else {}


def agents(maker: Maker, scope: Scope, place: Place, made: list[Any]) -> None:
    """Agents with the default keys, and a wait for them."""
    maker.agents = True
    callee = maker.random.choice(maker.children)
    items = [_given(maker, scope, callee, None, every=True) for _ in range(maker.random.randint(1, 2))]
    body: Document = {"workflow": callee.name, "items": items}
    made.append({"id": maker.new_id(), "start_agents": body})
    scope.entries.append(Entry("agent_workflow_ids", List("string")))
    if place.held:
        return
    if maker.chance(0.5):
        made.append({"id": maker.new_id(), "wait_for_agents": _mode(maker, len(items))})
    else:
        body["group_key"] = maker.new_id()
        group = {"group": body["group_key"], **_mode(maker, len(items))}
        made.append({"id": maker.new_id(), "wait_for_agent_group": group})


# --- signals and time ----------------------------------------------------------------------------


def signal(maker: Maker, scope: Scope, place: Place, when: str | None) -> Made:
    kind = maker.random.choice(
        ["wait_for_signal", "wait_for_signals", "wait_for_approval", "wait_for_input", "wait_for_decision"]
    )
    body: Document = {}
    type_: Type | None = None
    if kind == "wait_for_signal":
        body["name"] = maker.random.choice(["paid", "order.shipped", "go-on"])
    elif kind == "wait_for_signals":
        body["names"] = maker.random.sample(["paid", "seen", "packed"], maker.random.randint(1, 3))
        if maker.chance(0.5):
            body["mode"] = maker.random.choice(["all", "any"])
    if kind == "wait_for_decision":
        type_ = Record({"outcome": Words(("approved", "rejected")), "signal": "string"})
    body["result_key"] = maker.new_id()
    if kind != "wait_for_decision":
        if maker.chance(0.25):
            # Whoever answers knows the inputs.
            given = Scope([each for each in scope.entries if each.name == "inputs"])
            body["match"] = {"part_no": maker.whole(given, "integer"), "where": {"shelf_no": 3}}
        plain = [name for name, each in maker.types.items() if not isinstance(each, Maybe)]
        plain = [name for name in plain if name not in maker.secret_inputs]
        if plain and not maker.merges_signals and maker.chance(0.25):
            body["correlation_key"] = maker.random.choice(plain)
        elif maker.merges_signals and kind in ("wait_for_signal", "wait_for_signals") and maker.chance(0.4):
            del body["result_key"]
    step: Document = {"id": maker.new_id(), kind: body}
    if maker.chance(0.2):
        step["timeout"] = "3d"
    return step, type_


def delay(maker: Maker, scope: Scope, place: Place, when: str | None) -> Made:
    until = {"until": "{timestamp('2023-01-02T03:04:05Z') + duration('90m')}"}
    soon = {"until": "{timestamp(run.started_at) + duration('20m')}"}
    value = maker.random.choice(["10m", 30, "1h30m", until, soon, {"until": "2023-05-06T07:08:09Z"}])
    return {"id": maker.new_id(), "delay": value}, None


def failing(maker: Maker, scope: Scope, place: Place, made: list[Any]) -> None:
    """A step that fails, where the run goes on in spite of it."""
    inner: list[Any] = [{"id": maker.new_id(), "block": "fail", "params": {"message": maker.value(scope)[0]}}]
    if maker.chance(0.5):
        inner[0]["params"]["code"] = maker.random.choice(["no_stock", "gone"])
    body = {"on_error": "collect", "branches": {maker.random.choice(BRANCH_WORDS): {"steps": inner}}}
    made.append({"id": maker.new_id(), "concurrency": body})


KINDS: tuple[Any, ...] = (
    block,
    branches,
    for_each,
    section,
    claim,
    child,
    started,
    agents,
    signal,
    delay,
    failing,
)
WEIGHTS = (50, 8, 8, 10, 7, 7, 5, 3, 9, 4, 2)
PAIRED: dict[Any, Callable[[Maker, Scope, Place, list[Any]], None]] = {
    claim: claim,
    started: started,
    agents: agents,
    failing: failing,
}
