"""Transactions in their corners: messages that do not fit, keys that are new, what is left behind.  Each of these
fails with one small change of the kernel, the transactions or the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.engine.cells.turn import MAX_RESULT
from interlock.engine.errors import CallerError
from interlock.engine.ports import Failed
from interlock.engine.simulate.world import World
from interlock.engine.store import sqlite
from interlock.engine.store.sqlite import SqliteStore

Make = Callable[..., World]


def work(w: World) -> None:
    """Work until nothing is ready and nothing waits in the inbox."""
    w.work()
    while w.kernel.stats().inbox:
        w.kernel.tick()
        w.work()


CIRCLE = """
workflow: w
inputs: {first: string, second: string}
steps:
  - {id: a, concurrency: {resource: "{inputs.first}", lifetime: run}}
  - {id: go, block: work, params: {}}
  - {id: b, concurrency: {resource: "{inputs.second}", lifetime: run}}
"""


@pytest.mark.parametrize("most", [1, 2, 3, 500])
def test_a_deadlock_is_found_whatever_has_been_spilled(world: Make, most: int) -> None:
    w = world(CIRCLE)
    w.kernel.max_messages = most
    runs = [w.start("w", first="x", second="y"), w.start("w", first="y", second="x")]
    work(w)
    ends = sorted((w.status(run).status, getattr(w.status(run).error, "code", None) or "") for run in runs)
    assert ends == [("completed", ""), ("failed", "deadlock")]
    assert w.kernel.stats().inbox == 0


WAITS = """
workflow: w
inputs: {on: array}
steps:
  - {id: ask, wait_for_signal: {name: go}}
  - {id: wait, wait_for_workflows: {workflows: "{inputs.on}"}}
"""


@pytest.mark.parametrize("most", [1, 2, 500])
def test_a_circle_of_waits_for_runs_is_found_whatever_has_been_spilled(world: Make, most: int) -> None:
    w = world(WAITS)
    w.kernel.max_messages = most
    ids = [f"r{number}" for number in (1, 2, 3)]
    runs = [w.start("w", on=[ids[(place + 1) % 3]]) for place in range(3)]
    assert runs == ids
    for run in runs:
        w.kernel.signal(run, "go")
    work(w)
    codes = [getattr(w.status(run).error, "code", None) for run in runs]
    assert codes.count("deadlock") == 1
    assert w.kernel.stats().inbox == 0
    assert {w.status(run).status for run in runs} <= {"failed", "completed"}


@pytest.mark.parametrize("most", [1, 2, 3, 500])
def test_tickets_stand_in_the_order_of_their_requests_whatever_has_been_spilled(world: Make, most: int) -> None:
    w = world("workflow: w\nsteps: [{id: s, concurrency: {resource: k, steps: [{id: a, block: work, params: {}}]}}]")
    w.kernel.max_messages = most
    runs = [each.run for each in w.kernel.dispatch_many([(w.definitions["w"], {})] * 4)]
    runs += [w.start("w") for _ in range(2)]
    work(w)
    assert [task.run for task in w.log] == runs
    assert [task.fence for task in w.log] == [1, 2, 3, 4, 5, 6]
    starts = [each.run for each in w.kernel.events() if each.kind == "lease.granted"]
    assert starts == runs


def test_ticks_alone_work_what_waits_in_the_inbox(world: Make) -> None:
    """Nobody dispatches, claims or settles any more: who looks after timers looks after the inbox too."""
    w = world(
        """
workflow: slow
steps: [{id: ask, wait_for_approval: {}}]
---
workflow: w
inputs: {on: array}
steps: [{id: wait, wait_for_workflows: {workflows: "{inputs.on}"}}]
"""
    )
    slow = w.start("slow")
    waiting = [each.run for each in w.kernel.dispatch_many([(w.definitions["w"], {"on": [slow]})] * 5)]
    w.kernel.max_messages = 1
    w.kernel.signal(slow, "approval")
    left = [w.kernel.stats().inbox]
    while left[-1]:
        due = w.kernel.tick()
        left.append(w.kernel.stats().inbox)
        assert (due is None) == (not left[-1])  # come again at once, or not at all
    assert left == [4, 3, 2, 1, 0]
    assert {w.status(run).status for run in waiting} == {"completed"}


def test_a_tick_tells_of_timers_that_its_messages_have_set(world: Make) -> None:
    """The child ends by its timer, its parent begins a delay: the worker may not sleep past that."""
    w = world(
        """
workflow: parent
steps:
  - {id: call, run_workflow: {workflow: child, result_key: x}}
  - {id: rest, delay: 5s}
---
workflow: child
steps: [{id: nap, delay: 1s}]
"""
    )
    run = w.start("parent")
    w.clock.advance(1)
    due = w.kernel.tick()
    assert due == pytest.approx(w.kernel.last_time + 5)
    w.advance(5)
    assert w.status(run).status == "completed"


def test_a_signal_says_whether_anything_took_it(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: a, wait_for_signal: {name: go}}, {id: b, wait_for_signal: {name: on}}]")
    run = w.start("w")
    assert w.kernel.signal(run, "on").consumed is False
    assert w.kernel.signal(run, "go").consumed is True
    assert w.status(run).status == "completed"


def test_a_payload_of_just_one_mebibyte_is_taken(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: a, wait_for_signal: {name: go}}]")
    run = w.start("w")
    with pytest.raises(CallerError) as found:
        w.kernel.signal(run, "go", "x" * (MAX_RESULT - 1))
    assert found.value.code == "payload-too-large"
    assert w.kernel.signal(run, "go", "x" * (MAX_RESULT - 2)).consumed is True


def test_a_store_makes_the_folders_above_it(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet" / "here.db"
    SqliteStore(str(path)).close()
    assert path.exists()


def test_the_time_of_the_check_at_opening_bounds_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "store.db")
    SqliteStore(path).close()
    monkeypatch.setattr(sqlite, "CHECK_SECONDS", 0.0)
    store = SqliteStore(path)
    time.sleep(0.01)
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT max(i) FROM n"
    assert store.query(counting) == [(200_000,)]
    store.close()


SLOTS = """
workflow: one
concurrency: {limit: 1}
inputs: {deep: boolean}
steps:
  - {id: go, wait_for_signal: {name: go}, when: "{inputs.deep}"}
  - {id: call, run_workflow: {workflow: two, inputs: {deep: false}, result_key: x}, when: "{inputs.deep}"}
---
workflow: two
concurrency: {limit: 1}
inputs: {deep: boolean}
steps:
  - {id: go, wait_for_signal: {name: go}, when: "{inputs.deep}"}
  - {id: call, run_workflow: {workflow: one, inputs: {deep: false}, result_key: x}, when: "{inputs.deep}"}
"""


@pytest.mark.parametrize("most", [1, 2, 500])
def test_children_that_wait_for_the_slots_of_each_others_parents_fail_one_of_these(world: Make, most: int) -> None:
    w = world(SLOTS)
    w.kernel.max_messages = most
    runs = [w.start("one", deep=True), w.start("two", deep=True)]
    for run in runs:
        w.kernel.signal(run, "go")
    work(w)
    assert sorted(w.status(run).status for run in runs) == ["completed", "failed"]
    failed = next(state for state in map(w.status, runs) if state.status == "failed")
    assert failed.error is not None
    assert (failed.error.code, failed.error.path) == ("deadlock", "call")
    assert "The slot of the child" in failed.error.message


def test_an_idempotency_key_has_512_characters_at_most(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: a, wait_for_approval: {}}]")
    run = w.start("w", key="k" * 512)
    assert w.status(run).idempotency_key == "k" * 512
    for key in ("", "k" * 513):
        with pytest.raises(CallerError) as found:
            w.start("w", key=key)
        assert found.value.code == "inputs-refused"


NEW_KEY = """
workflow: a
inputs: {c: string}
steps:
  - {id: k, concurrency: {resource: k, limit: 2, lifetime: run}}
  - {id: wait, wait_for_workflows: {workflows: ["{inputs.c}"], result_key: x}}
---
workflow: b
steps:
  - {id: k, concurrency: {resource: k, limit: 2, lifetime: run}}
  - {id: ask, wait_for_approval: {}}
---
workflow: c
steps:
  - {id: k, concurrency: {resource: k, limit: 2, lifetime: run}}
"""


def test_a_key_that_is_new_in_a_transaction_is_judged_by_its_limit(world: Make) -> None:
    """One of two holders waits for the run that waits for the key; the other one can still end."""
    w = world(NEW_KEY)
    given = [("a", {"c": "r3"}), ("b", {}), ("c", {})]
    a, b, c = (each.run for each in w.kernel.dispatch_many([(w.definitions[name], put) for name, put in given]))
    assert c == "r3"
    states = [w.status(run).status for run in (a, b, c)]
    assert states == ["waiting_for_workflows", "waiting_for_signal", "waiting_for_resource"]
    w.kernel.signal(b, "approval")
    w.work()
    assert {w.status(run).status for run in (a, b, c)} == {"completed"}


def test_a_wait_that_ends_early_leaves_no_dependencies_behind(world: Make) -> None:
    w = world(
        """
workflow: asks
steps: [{id: ask, wait_for_approval: {}}]
---
workflow: w
inputs: {on: array}
steps:
  - {id: wait, wait_for_workflows: {workflows: "{inputs.on}", mode: any, result_key: x}}
  - {id: ask, wait_for_approval: {}}
"""
    )
    asks = [w.start("asks") for _ in range(3)]
    run = w.start("w", on=asks)
    assert w.kernel.store.query("SELECT count(*) FROM deps") == [(3,)]
    w.kernel.signal(asks[0], "approval")
    w.work()
    assert w.status(run).status == "waiting_for_signal"
    assert w.kernel.store.query("SELECT count(*) FROM deps") == [(0,)]
    timed = w.start("w", on=asks[1:])
    w.kernel.cancel(timed)
    assert w.kernel.store.query("SELECT count(*) FROM deps") == [(0,)]


def test_prune_leaves_no_row_of_a_run_behind(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - {id: a, block: work, params: {}, compensate: {block: undo, params: {}}}
  - {id: s, concurrency: {resource: k, steps: [{id: b, block: work, params: {}}]}}
  - {id: go, wait_for_signal: {name: go}}
"""
    )
    run = w.start("w", key="once")
    w.work()
    w.kernel.signal(run, "other")
    w.kernel.signal(run, "go")
    assert w.status(run).status == "completed"
    w.clock.advance(1)
    assert w.kernel.prune(w.clock.now()) == 1
    tables = [name for (name,) in w.kernel.store.query("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {name: [row[1] for row in w.kernel.store.query(f"PRAGMA table_info({name})")] for name in tables}
    left = {
        name: w.kernel.store.query(f"SELECT count(*) FROM {name} WHERE run = '{run}'")[0][0]
        for name in tables
        if "run" in columns[name]
    }
    assert "comps" in left
    assert {name: count for name, count in left.items() if count} == {"dispatch_keys": 1}


def test_a_claim_that_was_lost_hands_nothing_back(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: a, block: work, params: {}}]")
    run = w.start("w")
    (late,) = w.claim("one")
    w.kernel.unregister("one")
    (now,) = w.claim("two")
    w.kernel.hand_back(late, reason="too late")
    assert w.claim("three") == []
    assert "task.handed_back" not in w.kinds(run)
    w.finish(now)
    assert w.status(run).status == "completed"


def test_two_sections_in_review_are_named_by_their_paths(world: Make) -> None:
    inner = "[{id: a, block: write, params: {}}]"
    section = f"{{steps: [{{id: s, concurrency: {{resource: KEY, protected: true, steps: {inner}}}}}]}}"
    x, y = section.replace("KEY", "kx"), section.replace("KEY", "ky")
    w = world(f"workflow: w\nsteps: [{{id: par, concurrency: {{on_error: collect, branches: {{x: {x}, y: {y}}}}}}}]")
    run = w.start("w")
    for task in w.claim():
        w.finish(task, Failed("effect-unknown", "lost", "unknown"))
    assert [review.path for review in w.status(run).reviews] == ["par/x/s", "par/y/s"]
    with pytest.raises(CallerError) as found:
        w.kernel.review(run, "not-committed")
    assert found.value.code == "bad-payload"
    assert '"par/x/s"' in found.value.message or "par/x/s, par/y/s" in found.value.message
    w.kernel.review(run, "not-committed", path="par/x/s")
    w.kernel.review(run, "not-committed")
    w.work()
    assert w.status(run).status == "completed"
