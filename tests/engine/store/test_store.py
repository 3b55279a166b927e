"""The store: migrations, damage, other processes, full and read-only disks, keys, pruning."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.engine.errors import CallerError
from interlock.engine.kernel import SqliteKernel, open_kernel
from interlock.engine.ports import Services, Settlement, Success
from interlock.engine.secrets import StoreCipher
from interlock.engine.simulate.world import World
from interlock.engine.store import sqlite
from interlock.engine.store.queries import migrations, statements

Make = Callable[..., World]

FLOW = """
workflow: w
inputs: {n: {type: integer, default: 0}}
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - id: pub
    concurrency: {resource: site, protected: true, steps: [{id: act, block: write, params: {}}]}
  - {id: ask, wait_for_approval: {}}
"""


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(CallerError) as found:
        act()
    assert found.value.message.endswith(".")
    return found.value.code


# --- versions --------------------------------------------------------------------------------------


def made_older(path: str, version: int) -> None:
    """Take back what the migrations after ``version`` have made."""
    with sqlite3.connect(path) as db:
        for number, script in reversed(migrations("sqlite")):
            if number > version:
                for kind, name in re.findall(r"^CREATE (TABLE|INDEX) (\w+)", script, re.MULTILINE):
                    db.execute(f"DROP {kind} IF EXISTS {name}")
        db.execute(f"PRAGMA user_version={version}")
    db.close()


@pytest.mark.parametrize("version", range(1, len(migrations("sqlite"))))
def test_a_store_of_an_older_version_is_upgraded_with_its_runs_in_flight(world: Make, version: int) -> None:
    steps = migrations("sqlite")
    assert [number for number, _ in steps] == list(range(1, len(steps) + 1))
    w = world(FLOW)
    flying, waiting = w.start("w"), w.start("w")
    task = w.take("pub/act")
    shape = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    new = w.kernel.store.query(shape)
    w.kernel.close()
    made_older(w.kernel.store.path or "", version)
    w.restart()
    assert w.kernel.store.query(shape) == new
    assert w.kernel.store.query("PRAGMA user_version") == [(steps[-1][0],)]
    w.finish(task)
    w.kernel.signal(flying, "approval")
    w.work()
    w.kernel.signal(waiting, "approval")
    w.work()
    assert [w.status(run).status for run in (flying, waiting)] == ["completed", "completed"]


def test_a_store_of_a_newer_version_is_refused(world: Make) -> None:
    w = world(FLOW)
    w.start("w")
    path = w.kernel.store.path or ""
    w.kernel.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    assert refused(lambda: open_kernel(f"sqlite:///{path}", w.services)) == "store-newer"


# --- damage ----------------------------------------------------------------------------------------


def test_what_is_no_store_is_refused(world: Make, tmp_path: Path) -> None:
    w = world(FLOW)
    garbage, other = tmp_path / "garbage.db", tmp_path / "other.db"
    garbage.write_bytes(b"this is not a database" * 500)
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    assert refused(lambda: open_kernel(f"sqlite:///{garbage}", w.services)) == "store-corrupt"
    assert refused(lambda: open_kernel(f"sqlite:///{other}", w.services)) == "store-corrupt"
    assert sqlite3.connect(other).execute("SELECT count(*) FROM mine").fetchone() == (0,)


def test_a_store_that_another_process_makes_at_this_moment_is_no_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, connect = str(tmp_path / "new.db"), sqlite3.connect

    class Slow(sqlite3.Connection):
        """Another process makes the store just before its tables are counted, if it can."""

        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            if "sqlite_master" in sql:
                monkeypatch.setattr(sqlite3, "connect", connect)
                with suppress(CallerError):
                    sqlite.SqliteStore(path, busy=0.01).close()
            return super().execute(sql, *given)

    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, factory=Slow, **named))
    store = sqlite.SqliteStore(path)
    assert store.query("PRAGMA application_id") == [(sqlite.APPLICATION_ID,)]
    store.close()


def test_a_damaged_page_is_found_at_opening(world: Make) -> None:
    w = world(FLOW, watch=False)
    for _ in range(30):
        w.start("w")
    path = w.kernel.store.path or ""
    w.kernel.close()
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for at in range(4096, size, 4096):
            file.seek(at)
            file.write(b"\xff" * 200)
    assert refused(lambda: open_kernel(f"sqlite:///{path}", w.services)) == "store-corrupt"


def test_a_folder_that_cannot_be_made_is_said(world: Make, tmp_path: Path) -> None:
    w = world(FLOW)
    (tmp_path / "file").write_text("")
    assert refused(lambda: open_kernel(f"sqlite:///{tmp_path}/file/s.db", w.services)) == "store-readonly"
    assert refused(lambda: open_kernel("mysql://x", w.services)) == "not-allowed"


# --- a store that cannot be written ----------------------------------------------------------------


def test_a_full_disk_loses_nothing_that_was_acknowledged(world: Make) -> None:
    shown = 'params: {}}], outputs: {x: "{act.x}"}}'
    w = world(FLOW.replace("params: {}}]}", shown), watch=False)
    run = w.start("w")
    task = w.take("pub/act", "mortal")
    store = w.kernel.store
    pages = store.query("PRAGMA page_count")[0][0]
    store.query(f"PRAGMA max_page_count={pages}")
    assert refused(lambda: [w.start("w") for _ in range(200)]) == "store-full"
    known = len(w.kernel.runs(limit=1000))
    assert refused(lambda: w.kernel.settle(task, Success({"x": "y" * 500_000}))) == "store-full"
    store.query("PRAGMA max_page_count=1073741823")
    assert len(w.kernel.runs(limit=1000)) == known
    w.die("mortal")
    assert w.status(run).status == "held_for_review"
    assert w.status(run).reviews[0].reason.code == "effect-unknown"


def test_a_read_only_store_refuses_writing_and_still_shows(world: Make) -> None:
    w = world(FLOW, watch=False)
    run = w.start("w")
    w.kernel.store.query("PRAGMA query_only=ON")
    assert refused(lambda: w.start("w")) == "store-readonly"
    assert refused(lambda: w.kernel.cancel(run)) == "store-readonly"
    assert w.status(run).stop is None


def test_a_store_that_another_process_holds_is_busy(world: Make) -> None:
    w = world(FLOW)
    path = w.kernel.store.path or ""
    impatient = SqliteKernel(sqlite.SqliteStore(path, busy=0.01), w.services)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert refused(lambda: impatient.dispatch(w.definitions["w"], {})) == "store-busy"
    other.execute("ROLLBACK")
    assert impatient.dispatch(w.definitions["w"], {}).created
    other.close()
    impatient.close()


def test_a_closed_store_is_said(world: Make) -> None:
    w = world(FLOW)
    w.kernel.close()
    assert refused(lambda: w.kernel.runs()) == "store-readonly"


def test_a_missing_key_is_said_and_the_rest_goes_on(world: Make, tmp_path: Path) -> None:
    text = (
        "workflow: s\ninputs: {t: {type: string, secret: true, required: false}}\n"
        "steps: [{id: a, block: work, params: {}}]"
    )
    w = world(text, watch=False)
    secret, plain = w.start("s", t="hush-hush"), w.start("s")
    other = StoreCipher(None, environment={}, temporary=True)
    w.kernel.close()
    kernel = open_kernel(f"sqlite:///{w.kernel.store.path}", _with_cipher(w, other))
    assert refused(lambda: kernel.status(secret)) == "store-key"
    assert kernel.status(plain).status == "running"
    kernel.close()


def _with_cipher(w: World, cipher: StoreCipher) -> Services:
    return msgspec.structs.replace(w.services, cipher=cipher)


# --- the in-memory store ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ("concurrency: {limit: 2}\nsteps: [{id: a, block: set, params: {}}]", "top-level concurrency"),
        ("idempotency_key: x\nsteps: [{id: a, block: set, params: {}}]", "idempotency key"),
        ("steps: [{id: a, concurrency: {resource: k, lifetime: run}}]", 'resource of step "a"'),
        ("steps: [{id: a, delay: 1s}]", 'delay of step "a"'),
        ("steps: [{id: a, wait_for_approval: {}}]", 'wait of step "a"'),
        ("steps: [{id: a, start_workflows: {workflow: w, items: [], result_key: r}}]", 'step "a" starts'),
    ],
)
def test_what_needs_durability_is_refused_before_anything_acts(steps: str, words: str) -> None:
    w = World(f"workflow: w\n{steps}", memory=True, watch=False)
    with pytest.raises(CallerError, match="needs-store") as found:
        w.start("w")
    assert words in found.value.message
    assert w.kernel.runs() == []
    w.kernel.close()


def test_the_rest_runs_in_memory_with_the_same_core() -> None:
    w = World(
        "workflow: w\nsteps: [{id: all, for_each: {items: [1, 2], steps: [{id: a, block: work, params: {}}]}}]",
        memory=True,
        watch=False,
    )
    with pytest.raises(CallerError, match="needs-store"):
        w.start("w", key="mine")
    run = w.start("w")
    w.work()
    assert w.status(run).state["all"]["succeeded"] == 2
    w.kernel.close()


# --- several processes -----------------------------------------------------------------------------

DISPATCHER = """
import sys, time
from interlock.engine.simulate.world import World
w = World(sys.argv[2], path=sys.argv[1], watch=False, synchronous="FULL")
w.ids._runs = int(sys.argv[3])
while time.time() < float(sys.argv[4]): pass
for n in range(20):
    got = w.kernel.dispatch(w.definitions["w"], {}, idempotency_key=f"same{n}")
    print(got.run, got.created)
"""


def test_dispatch_repeated_with_the_same_key_from_two_processes_at_once(world: Make) -> None:
    import time

    w = world(FLOW, watch=False)
    path = w.kernel.store.path or ""
    start = str(time.time() + 1.5)
    started = [
        subprocess.Popen([sys.executable, "-c", DISPATCHER, path, FLOW, base, start], stdout=subprocess.PIPE, text=True)
        for base in ("1000", "2000")
    ]
    one, two = ([line.split() for line in process.communicate()[0].splitlines()] for process in started)
    assert [run for run, _ in one] == [run for run, _ in two]
    assert all({a, b} == {"True", "False"} for (_, a), (_, b) in zip(one, two, strict=True))
    assert len(w.kernel.runs(limit=1000)) == 20


HOLDER = """
import sys, time
from interlock.engine.simulate.world import World
w = World(sys.argv[2], path=sys.argv[1], watch=False, synchronous="FULL")
task = w.take("pub/act", "mortal")
print("holding", flush=True)
time.sleep(60)
"""


def test_kill_9_of_a_process_that_holds(world: Make) -> None:
    w = world(FLOW)
    run, waiter = w.start("w"), w.start("w")
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), w.kernel.store.path or "", FLOW],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "holding"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    w.die("mortal")
    assert w.status(run).status == "held_for_review"
    assert w.status(waiter).tickets[0].holders == (run,)
    w.kernel.review(run, "committed", result={})
    w.kernel.signal(run, "approval")
    assert w.status(run).status == "completed"


def test_two_kernels_on_one_store_see_each_others_changes(world: Make) -> None:
    w = world(FLOW)
    other = w.process()
    run = w.start("w")
    (task,) = other.claim("x", 1)
    assert other.settle(task, Success({})).accepted
    assert w.status(run).status == "waiting_for_signal"
    w.kernel.signal(run, "approval")
    assert other.status(run).status == "completed"
    other.close()


# --- speed by index --------------------------------------------------------------------------------

HOT = [
    "ready_tasks",
    "ready_tasks_of",
    "next_ready",
    "tasks_of_worker",
    "due_timers",
    "next_timer",
    "first_ticket",
    "tickets_of",
    "tickets_of_run",
    "dependents",
    "first_waiting",
    "waiting_with",
    "waiting_place",
    "slots_with",
    "has_slot",
    "holders",
    "holds",
    "awaited",
    "frames",
    "vals",
    "comps",
    "open_signals",
    "signal_known",
    "events_of_run",
    "events_all",
    "run",
    "run_version",
    "run_peek",
    "dispatch_key",
    "old_runs",
    "children",
    "inbox",
    "waits_of",
    "deps_of",
    "drop_run_tasks",
    "drop_run_timers",
    "drop_run_waits",
    "drop_run_deps",
    "drop_dep",
    "drop_run_events",
    "timers_of_run",
    "task_claim",
    "ready_tasks_in",
    "next_ready_in",
    "next_ready_without",
    "runs_by_status",
    "runs_by_workflow",
    "runs_by_name",
    "journal",
    "drop_run_journal",
]


def places(sql: str) -> int:
    """How many values a statement takes."""
    numbered = [int(number) for number in re.findall(r"\?(\d)", sql)]
    return max(numbered) if numbered else sql.count("?")


@pytest.mark.parametrize("name", HOT)
def test_wake_ups_and_grants_are_found_by_index(world: Make, name: str) -> None:
    w = world(FLOW)
    given: list[object] = [1] * places(w.kernel.store.sql[name])
    if name.startswith("ready_tasks_"):
        given[2] = "[]"
    plan = w.kernel.store.explain(name, *given)
    scans = [
        line
        for line in plan.splitlines()
        if line.startswith("SCAN")
        and "INDEX" not in line
        and "VIRTUAL" not in line
        and line != "SCAN inbox"
        and line not in ("SCAN events", "SCAN tree", "SCAN CONSTANT ROW")
    ]
    assert scans == []


def test_every_statement_has_one_name_and_compiles(world: Make) -> None:
    w = world(FLOW)
    for name, sql in statements("sqlite").items():
        assert w.kernel.store.explain(name, *["[]"] * places(sql)) is not None


def test_runs_of_a_status_are_found_by_index(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: ask, wait_for_approval: {}}]")
    plan = w.kernel.store.explain("runs_by_status", 100, None, None, "failed", 10)
    assert plan == "SEARCH runs USING INDEX runs_by_status (status=? AND num<?)"
    first, second, third = w.start("w"), w.start("w"), w.start("w", account="other")
    w.kernel.cancel(second)
    w.kernel.cancel(third)
    find = w.kernel.runs
    assert [row.run for row in find(status="cancelled")] == [third, second]
    assert [row.run for row in find(status="cancelled", account="other", workflow="w")] == [third]
    assert [row.run for row in find(status="cancelled", before=third)] == [second]
    assert [row.run for row in find(account="default", workflow="w")] == [second, first]
    assert [row.run for row in find(workflow="w", limit=2)] == [third, second]
    assert find(status="cancelled", workflow="none") == []


# --- what cannot be stored -------------------------------------------------------------------------

BATCH = "workflow: b\nsteps: [{id: a, block: count, params: {}}, {id: ask, wait_for_approval: {}}]"


def test_what_one_run_cannot_store_fails_that_run_and_not_the_rest_of_the_batch(world: Make) -> None:
    w = world(BATCH)
    runs = [w.start("b") for _ in range(3)]
    tasks = w.kernel.claim("w", 3)
    refuse = f"CREATE TRIGGER refuse BEFORE INSERT ON vals WHEN NEW.run = '{runs[1]}' "
    w.kernel.store.query(refuse + "BEGIN SELECT RAISE(ABORT, 'no room for this'); END")
    batch = w.kernel.settle_many([Settlement(task, Success({"n": 1})) for task in tasks])
    assert [each.accepted for each in batch.settled] == [True, True, True]
    states = [w.status(run) for run in runs]
    assert [each.status for each in states] == ["waiting_for_signal", "failed", "waiting_for_signal"]
    assert states[1].error is not None
    assert states[1].error.code == "internal"
    assert "no room for this" in states[1].error.message
    kinds = [event.kind for event in w.kernel.events(runs[1])]
    assert "step.completed" not in kinds
    assert w.kernel.stats().tasks == 0


def refuse(w: World, when: str, name: str = "refuse") -> None:
    """From now on the store refuses a row."""
    w.kernel.store.query(f"CREATE TRIGGER {name} BEFORE {when} BEGIN SELECT RAISE(ABORT, 'no room for this'); END")


LOCKED = """
workflow: l
inputs: {k: string}
steps:
  - {id: a, block: count, params: {}}
  - {id: s, concurrency: {resource: "{inputs.k}", steps: [{id: b, block: work, params: {}}]}}
"""


@pytest.mark.parametrize("table", ["holders", "keys"])
def test_a_lease_that_cannot_be_stored_fails_the_run_that_asks_for_it(world: Make, table: str) -> None:
    w = world(LOCKED)
    runs = [w.start("l", k=key) for key in ("one", "two", "three")]
    tasks = w.kernel.claim("w", 3)
    refuse(w, f"INSERT ON {table} WHEN NEW.key = 'two'")
    w.kernel.settle_many([Settlement(task, Success({"n": 1})) for task in tasks])
    states = [w.status(run) for run in runs]
    assert [each.status for each in states] == ["running", "failed", "running"]
    assert states[1].error is not None
    assert (states[1].error.code, states[1].holds, states[1].tickets) == ("internal", (), ())
    assert [(lease.key, [each.run for each in lease.holders]) for lease in w.kernel.leases()] == [
        ("one", [runs[0]]),
        ("three", [runs[2]]),
    ]


def test_a_ticket_that_cannot_be_stored_fails_the_run_that_asks_for_it(world: Make) -> None:
    w = world(LOCKED)
    runs = [w.start("l", k="same") for _ in range(3)]
    tasks = w.kernel.claim("w", 3)
    refuse(w, f"INSERT ON tickets WHEN NEW.run = '{runs[1]}'")
    w.kernel.settle_many([Settlement(task, Success({"n": 1})) for task in tasks])
    states = [w.status(run) for run in runs]
    assert [each.status for each in states] == ["running", "failed", "waiting_for_resource"]
    assert w.status(runs[2]).tickets[0].position == 1


def test_a_place_in_the_queue_that_cannot_be_stored_fails_the_run(world: Make) -> None:
    w = world("workflow: q\nconcurrency: {limit: 1}\nsteps: [{id: a, block: count, params: {}}]")
    refuse(w, "INSERT ON waiting")
    first, second = w.start("q"), w.start("q")
    states = w.status(first), w.status(second)
    assert [each.status for each in states] == ["running", "failed"]
    assert states[1].error is not None
    assert states[1].error.code == "internal"


def test_a_lease_that_cannot_be_given_back_holds_up_no_other_run(world: Make) -> None:
    w = world(LOCKED)
    runs = [w.start("l", k=key) for key in ("one", "two", "three")]
    w.kernel.settle_many([Settlement(task, Success({"n": 1})) for task in w.kernel.claim("w", 3)])
    tasks = w.kernel.claim("w", 3)
    refuse(w, "DELETE ON holders WHEN OLD.key = 'two'")
    settlements = [Settlement(task, Success({})) for task in tasks]
    with pytest.raises(sqlite3.Error, match="no room for this"):
        w.kernel.settle_many(settlements)
    assert [w.status(run).status for run in runs] == ["completed", "running", "completed"]
    w.kernel.store.query("DROP TRIGGER refuse")
    assert [each.accepted for each in w.kernel.settle_many(settlements).settled] == [False, True, False]
    assert w.status(runs[1]).status == "completed"


# --- pruning ---------------------------------------------------------------------------------------


def test_prune_removes_old_terminal_runs_and_keeps_keys_and_dispatch_keys(world: Make) -> None:
    w = world(FLOW)
    old = w.start("w", key="mine")
    w.work()
    w.kernel.signal(old, "approval")
    w.clock.advance(100)
    young = w.start("w")
    assert w.kernel.prune(w.clock.now() - 50) == 1
    assert [row.run for row in w.kernel.runs()] == [young]
    for table in ("frames", "vals", "comps", "signals", "events", "tasks", "timers"):
        assert w.kernel.store.query(f"SELECT count(*) FROM {table} WHERE run = ?", old) == [(0,)]
    assert w.start("w", key="mine") == old
    assert w.status(young).holds[0].fence == 2
    assert refused(lambda: w.status(old)) == "unknown-run"


CALLS = """
workflow: parent
steps: [{id: call, run_workflow: {workflow: child, inputs: {n: 1}}}]
---
workflow: child
inputs: {n: integer}
steps: [{id: a, block: work, params: {}}]
---
workflow: other
steps: [{id: a, wait_for_approval: {}}]
"""


def kept(w: World) -> list[str]:
    """The names of the definitions that the store has."""
    return [name for (name,) in w.kernel.store.query("SELECT name FROM definitions ORDER BY name")]


def test_definitions_go_with_their_last_run_and_come_back_with_the_next(world: Make) -> None:
    w = world(CALLS)
    waiting = w.start("other")
    w.start("parent")
    w.work()
    assert kept(w) == ["child", "other", "parent"]
    w.clock.advance(10)
    # The parent is older than its child, so it goes first; what is left needs the child's definition only.
    assert w.kernel.prune(w.clock.now(), limit=1) == 1
    assert kept(w) == ["child", "other", "parent"]
    assert w.kernel.prune(w.clock.now()) == 1
    assert kept(w) == ["other"]
    assert w.kernel.store.query("SELECT count(*) FROM closures") == [(1,)]
    w.restart()
    w.kernel.signal(waiting, "approval")
    again = w.start("parent")
    w.work()
    assert [w.status(run).status for run in (waiting, again)] == ["completed", "completed"]
    assert kept(w) == ["child", "other", "parent"]


def test_the_definition_of_a_child_stays_while_its_parent_may_start_it(world: Make) -> None:
    w = world(CALLS)
    w.start("child", n=1)
    w.work()
    parent = w.start("parent")
    w.clock.advance(10)
    assert w.kernel.prune(w.clock.now() - 5) == 1
    w.restart()
    assert kept(w) == ["child", "parent"]
    w.work()
    assert w.status(parent).status == "completed"


def test_messages_that_do_not_fit_into_one_transaction_wait_in_the_inbox(world: Make) -> None:
    text = """
workflow: w
steps: [{id: s, concurrency: {resource: k, steps: [{id: a, block: work, params: {}}]}}]
---
workflow: all
inputs: {ids: array}
steps: [{id: wait, wait_for_workflows: {workflows: "{inputs.ids}", result_key: x}}]
"""
    w = world(text, watch=False)
    run = w.start("w")
    waiting = w.kernel.dispatch_many([(w.definitions["all"], {"ids": [run]})] * 1200)
    w.finish(w.take("s/a"))
    assert w.kernel.stats().inbox > 0
    w.restart()
    w.work()
    assert {w.status(each.run).status for each in waiting} == {"completed"}
    assert w.kernel.stats().inbox == 0
