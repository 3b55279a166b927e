"""The short form of the crash campaign: kills of every kind, an upgrade, losses of power, and nets that catch."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crash import checks, power
from crash.invariants import Watch
from crash.lossy import Disk, Op
from crash.points import BY_CALLERS, BY_WORKERS, STATEMENTS, Plan
from crash.round import Figures, Round, observer, small_disk
from interlock.engine.events import KINDS

# --- processes that are killed ---------------------------------------------------------------------


@pytest.fixture
def figures() -> Figures:
    return Figures()


def test_nothing_is_lost_whatever_is_killed(tmp_path: Path, figures: Figures) -> None:
    """Kills at named points, inside statements, at random and during effects; sleep, clocks, locks, a full disk."""
    with small_disk(tmp_path / "disk", "48m"), Round(1, tmp_path, 10, figures) as played:
        played.upgrades_at = None
        played.play()
    assert figures.faults == []
    assert figures.killed >= 10
    assert figures.counts["acknowledged dispatches"] > 0


def test_an_upgrade_with_runs_in_flight_loses_nothing_while_workers_start(tmp_path: Path, figures: Figures) -> None:
    with Round(2, tmp_path, 6, figures) as played:
        played.upgrades_at = 3
        played.play()
    assert figures.faults == []
    assert any(name.startswith("upgrade") for name in figures.troubles)


@pytest.mark.parametrize(
    "plan",
    [
        Plan("claim", "after"),
        Plan("step.started", "after", sleeps=True),
        Plan("settle_many", "before"),
        Plan("INSERT INTO vals", "inside"),
    ],
    ids=lambda plan: plan.name,
)
def test_a_worker_dies_or_sleeps_at_the_point_that_it_is_told(tmp_path: Path, figures: Figures, plan: Plan) -> None:
    with Round(3, tmp_path, 0, figures) as played:
        victim = played._start("worker", plan)
        played._start("caller")
        assert played.await_end(victim) == ("stopped" if plan.sleeps else -9)
        for child in list(played.children):
            if child is not victim or plan.sleeps:
                played._kill(child, "at random")
            else:
                played.children.remove(child)
        played.judge()
    assert figures.faults == []
    assert figures.counts["events worker.lost"] > 0


@pytest.mark.parametrize("table", ["meta", "events", "journal"])
def test_a_process_that_dies_while_it_makes_the_store_leaves_it_to_others(
    tmp_path: Path, figures: Figures, table: str
) -> None:
    with Round(5, tmp_path, 0, figures) as played:
        played.observer.close()
        played.store = str(tmp_path / "new.db")
        first = played._start("worker", Plan(f"CREATE TABLE {table}", "inside"))
        assert played.await_end(first) == -9
        played.children.remove(first)
        for role in ("worker", "worker", "worker", "caller"):
            played._start(role)
        played.observer = observer(played.store, played.poison)
        while not played.observer.runs():
            assert [played.nursery.reap(child.pid) for child in played.children] == [None] * 4
            time.sleep(0.02)
        for child in list(played.children):
            played._kill(child, "at random")
        played.watch = Watch(played.observer)
        played.judge()
    assert figures.faults == []


def test_the_points_are_events_verbs_and_statements_that_there_are() -> None:
    from crash.points import _VERBS
    from interlock.engine.store.queries import statements

    named = {*BY_WORKERS, *BY_CALLERS}
    assert {name for name in named if "." in name} <= KINDS
    assert {name for name in named if "." not in name} <= set(_VERBS)
    texts = "\n".join(statements("sqlite").values())
    assert [each for each in STATEMENTS if each != "COMMIT" and not re.search(rf"{each}\b", texts)] == []


# --- losses of power -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_a_loss_of_power_leaves_the_last_acknowledged_commit(seed: int, tmp_path: Path) -> None:
    found = power.play(seed, tmp_path, images=50)
    assert found.faults == []
    assert found.harmed > 10


def test_with_synchronous_normal_the_latest_commits_can_go_and_what_is_left_is_whole(tmp_path: Path) -> None:
    """It also shows that the disk does lose what was not synced."""
    found = power.play(0, tmp_path, images=60, synchronous="NORMAL")
    assert found.faults == []
    assert found.behind > 0


def test_a_disk_that_only_says_that_it_has_synced_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Disk.do
    monkeypatch.setattr(Disk, "do", lambda self, op: None if op.kind == "sync" else real(self, op))
    assert power.play(0, tmp_path, images=20).faults


def test_a_torn_write_keeps_some_of_its_sectors(tmp_path: Path) -> None:
    disk = Disk()
    for op in (Op("create", "f"), Op("write", "f", b"a" * 4096), Op("sync", "f"), Op("write", "f", b"b" * 4096)):
        disk.do(op)
    seen = set()
    for number in range(60):
        disk.image(tmp_path / str(number), random.Random(number))
        content = (tmp_path / str(number) / "f").read_bytes()
        assert set(content) <= {97, 98}
        seen.add(content.count(b"b"))
    assert {0, 4096} < seen
    assert all(count % 512 == 0 for count in seen)


# --- the checks themselves -------------------------------------------------------------------------


FORGETFUL = """
import sqlite3, sys
sys.path.insert(0, {tests!r})
from crash import program

class Forgetful(sqlite3.Connection):
    def execute(self, sql, *given):
        self.commits = getattr(self, "commits", 0) + (sql == "COMMIT")
        return super().execute("ROLLBACK" if sql == "COMMIT" and self.commits % 4 == 0 else sql, *given)

class Caller(program.Caller):
    def __init__(self, *given):
        connect = sqlite3.connect
        sqlite3.connect = lambda *given, **named: connect(*given, factory=Forgetful, **named)
        super().__init__(*given)

program.Caller = Caller
program.main()
"""


def test_a_commit_that_is_acknowledged_and_not_made_is_found(tmp_path: Path, figures: Figures) -> None:
    forgetful = Round(6, tmp_path, 0, figures)
    forgetful.prunes = False
    forgetful.program = tmp_path / "forgetful.py"
    forgetful.program.write_text(FORGETFUL.format(tests=str(Path(__file__).parent.parent)))
    with forgetful as played:
        caller = played._start("caller")
        while sum("ack" in note for note in played.notes()) < 12:
            assert played.nursery.reap(caller.pid) is None
            time.sleep(0.02)
        played._kill(caller, "at random")
        played.judge()
    assert any("is lost" in fault or "was received 0" in fault for fault in figures.faults)


class Quiet(NamedTuple):
    """A round without a fault: its store, what its callers noted, and what the outside was sent."""

    store: Path
    poison: int
    notes: list[dict[str, Any]]
    records: list[dict[str, Any]]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Quiet:
    figures = Figures()
    with Round(4, tmp_path_factory.mktemp("quiet"), 0, figures) as played:
        played.prunes = False
        for role in ("worker", "caller"):
            played._start(role)
        wanted = "SELECT count(DISTINCT kind) FROM events WHERE kind IN ('signal.received', 'lease.granted')"
        while played.observer.stats().runs.get("completed", 0) < 2 or played.observer.store.query(wanted) != [(2,)]:
            assert [played.nursery.reap(child.pid) for child in played.children] == [None, None]
            time.sleep(0.02)
        for child in list(played.children):
            played._kill(child, "at random")
        played.judge()
        assert figures.faults == []
        return Quiet(Path(played.store), played.poison, played.notes(), played.outside.ask("records"))


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM runs WHERE num = 1", "is lost"),
        ("DELETE FROM events WHERE kind = 'signal.received'", "was received 0"),
        ("UPDATE events SET data = json_set(data, '$.fence', 0) WHERE kind = 'lease.granted'", "the fence of"),
        ("DELETE FROM events WHERE kind = 'step.started'", "started 0 times"),
        ("INSERT INTO timers VALUES ('x', 'y', 'z', 1, 0)", "timers are left"),
        ("UPDATE events SET kind = 'step.skipped' WHERE kind = 'step.completed'", "is decided otherwise"),
    ],
)
def test_what_was_lost_or_changed_is_found(quiet: Quiet, tmp_path: Path, sql: str, said: str) -> None:
    for file in quiet.store.parent.glob(f"{quiet.store.name}*"):
        shutil.copy(file, tmp_path)
    path = str(tmp_path / quiet.store.name)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert db.execute(sql).rowcount > 0
    with closing(observer(path, quiet.poison)) as kernel:
        faults = checks.After(kernel, quiet.notes, quiet.records).faults()
    assert any(said in fault for fault in faults)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"idempotency": "RUN/pub/act/1", "answer": "done", "key": "site", "fence": 1}, "was sent"),
        ({"idempotency": "nobody/a/1", "answer": "done"}, "unknown run"),
    ],
)
def test_an_effect_that_should_not_be_is_found(quiet: Quiet, record: dict[str, Any], said: str) -> None:
    with closing(observer(str(quiet.store), quiet.poison)) as kernel:
        run = kernel.runs()[0].run
        more = [{**record, "idempotency": record["idempotency"].replace("RUN", run)}] * 9
        faults = checks.After(kernel, quiet.notes, [*quiet.records, *more]).faults()
    assert any(said in fault for fault in faults)
    assert ("RUN" in record["idempotency"]) == any("protected" in fault for fault in faults)
