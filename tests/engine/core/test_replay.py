"""Replay: a run is decided again from its journal, and the first difference is named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import msgspec
import pytest

from interlock.engine import replay, views
from interlock.engine.cells import blocks
from interlock.engine.client import replay_export
from interlock.engine.errors import CallerError
from interlock.engine.ports import Failed, Success
from interlock.engine.simulate.world import World
from interlock.engine.store import cells

Make = Callable[..., World]

FLOW = """
workflow: w
inputs: {n: {type: integer, default: 2}, token: {type: string, secret: true, default: ""}}
on_cancel: [{id: tell, block: log, params: {message: bye}}]
steps:
  - {id: a, block: count, params: {n: "{inputs.n + 1}"}, compensate: {block: undo, params: {}}}
  - {id: kid, run_workflow: {workflow: child, result_key: got}}
  - {id: hold, concurrency: {resource: "k", steps: [{id: b, block: write, params: {}}], outputs: {n: "{a.params.n}"}}}
  - {id: go, start_workflows: {items: [1, 2], workflow: child, payload_key: x, result_key: ids, group_key: g}}
  - {id: all, wait_for_workflow_group: {group: g, result_key: seen}}
  - {id: ask, wait_for_approval: {}}
---
workflow: child
inputs: {x: {type: any, default: 0}}
steps: [{id: c, block: set, params: {x: "{inputs.x}"}}]
"""


def finished(w: World, **inputs: object) -> str:
    run = w.start("w", **inputs)
    w.work()
    w.kernel.signal(run, "approval", {"by": "me", "share": 1.0})
    w.work()
    assert w.status(run).status == "completed"
    return run


def test_a_run_and_its_export_are_decided_the_same_again(world: Make) -> None:
    w = world(FLOW)
    run = finished(w)
    stored = w.kernel.replay(run)
    assert stored.same
    assert stored.turns == len(w.kernel.export(run).journal) > 6
    assert replay_export(msgspec.json.encode(w.kernel.export(run))) == stored
    for child in w.status(run).children:
        assert w.kernel.replay(child).same


def test_a_run_that_is_still_going_is_decided_the_same_so_far(world: Make) -> None:
    w = world(FLOW)
    run = w.start("w")
    w.work()
    assert w.kernel.replay(run).same
    w.kernel.cancel(run)
    assert w.kernel.replay(run).same


def test_a_core_that_decides_otherwise_is_named_by_its_first_difference(
    world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = world(
        "workflow: r\nsteps: [{id: a, block: count, params: {}}, {id: b, block: try, retry: {max_attempts: 2}}]",
        scripts={"try": lambda task: Failed("block-failed", "no", "none")},
    )
    run = w.start("r")
    w.work()
    w.clock.advance(5)
    w.work()
    assert w.kernel.replay(run).same
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "pause", lambda retry, attempt: 2.0)
        found = w.kernel.replay(run)
    assert found.same is False
    difference = found.difference
    assert difference is not None
    assert (difference.turn, difference.event, difference.what) == (3, "task-settled b", "events")
    assert difference.then["kind"] == difference.now["kind"] == "step.retry_scheduled"
    assert difference.now["data"]["at"] == difference.then["data"]["at"] + 1


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE vals SET body = '{\"params\":{\"n\":4}}' WHERE name = 'a'", "state"),
        ("DELETE FROM events WHERE kind = 'step.completed' AND path = 'hold'", "events"),
        ('UPDATE runs SET head = replace(head, \'"phase":"ended"\', \'"attempt":2\') WHERE num = 1', "attempt"),
    ],
)
def test_a_store_that_other_hands_have_changed_is_noticed(world: Make, statement: str, what: str) -> None:
    w = world(FLOW, watch=False)
    run = finished(w)
    path = w.kernel.store.path or ""
    w.kernel.close()
    with sqlite3.connect(path) as db:
        assert db.execute(statement).rowcount == 1
    db.close()
    w.be(w.process())
    found = w.kernel.replay(run)
    assert found.same is False
    assert found.difference is not None
    assert found.difference.what == what
    w.kernel.close()


def test_a_run_of_another_version_is_said_and_only_replayed_when_asked(
    world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = world(FLOW)
    run = finished(w)
    decided_by = replay.release()
    monkeypatch.setattr(replay, "release", lambda: "99.0")
    found = w.kernel.replay(run)
    assert found.same is None
    assert found.reason == (
        f"The run was decided by version {decided_by}, and this is 99.0; replay it with that version."
    )
    assert w.kernel.replay(run, any_version=True).same


def test_a_journal_that_becomes_too_long_ends_and_the_run_goes_on(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MAX_JOURNAL", 1500)
    monkeypatch.setattr(views, "MAX_JOURNAL", 1500)
    w = world(FLOW)
    run = finished(w)
    export = w.kernel.export(run)
    assert export.cut
    assert 1 < len(export.journal) < 8
    found = w.kernel.replay(run)
    assert found.same is None
    assert found.turns == len(export.journal)
    assert "so far everything is decided the same" in (found.reason or "")
    w.kernel.close()


def test_pruning_removes_the_journal(world: Make) -> None:
    w = world(FLOW)
    finished(w)
    assert w.kernel.store.query("SELECT count(*) FROM journal") > [(0,)]
    w.clock.advance(10)
    w.kernel.prune(w.clock.now())
    assert w.kernel.store.query("SELECT count(*) FROM journal") == [(0,)]


def test_secrets_are_sealed_in_the_journal_and_hidden_in_the_export(world: Make) -> None:
    w = world(
        FLOW, scripts={"count": lambda task: Success({"params": {"n": 3}, "t": "s3cr3t-token"}, ("s3cr3t-token",))}
    )
    run = finished(w, token="t0p-s3cret-input")
    bodies = b"".join(body for (body,) in w.kernel.store.query("SELECT body FROM journal"))
    assert b"s3cr3t-token" not in bodies
    assert b"t0p-s3cret-input" not in bodies
    assert w.kernel.replay(run).same
    export = msgspec.json.encode(w.kernel.export(run))
    assert b"s3cr3t" not in export
    assert b"t0p-s3cret" not in export
    assert w.kernel.export(run).hidden
    assert replay_export(export).same


def test_a_difference_that_hidden_secrets_may_make_is_no_verdict(world: Make) -> None:
    w = world(
        "workflow: s\ninputs: {token: {type: string, secret: true}}\n"
        "steps: [{id: a, block: set, params: {size: '{inputs.token.size()}'}, when: '{inputs.token.size() > 5}'}]"
    )
    run = w.start("s", token="t0p-s3cret-input")
    w.work()
    assert w.kernel.replay(run).same
    found = replay_export(msgspec.json.encode(w.kernel.export(run)))
    assert found.same is None
    assert found.difference is not None
    assert "Secrets are hidden" in (found.reason or "")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format": 1}', b"\xff"])
def test_what_is_no_export_is_refused(data: bytes) -> None:
    with pytest.raises(CallerError) as refused:
        replay_export(data)
    assert refused.value.code == "bad-payload"


def verdict(data: bytes) -> bool | str | None:
    """What a replay of an export says, or the code with which it is refused."""
    try:
        return replay_export(data).same
    except CallerError as refused:
        return refused.code


def test_a_damaged_export_is_refused_or_differs_but_never_breaks(world: Make) -> None:
    w = world(FLOW)
    run = finished(w)
    export = msgspec.to_builtins(w.kernel.export(run))
    damages = [
        lambda e: e["journal"].pop(3),
        lambda e: e["journal"].clear(),
        lambda e: e["journal"][1].update(event={"type": "nothing"}),
        lambda e: e["journal"][0].update(event=e["journal"][1]["event"]),
        lambda e: e["journal"][0]["event"].update(head=3),
        lambda e: e["journal"][2].update(answers=[]),
        lambda e: e["journal"][0]["answers"].append(["run", "x"]),
        lambda e: e.update(definition=[1]),
        lambda e: e["definition"].update(steps=[]),
        lambda e: e["status"].update(inputs={}),
    ]
    for damage in damages:
        broken = msgspec.json.decode(msgspec.json.encode(export))
        damage(broken)
        assert verdict(msgspec.json.encode(broken)) is not True
