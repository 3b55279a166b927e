"""Workers that die, sleep, wake late, and the work that kills them (section 12)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from interlock.engine.errors import CallerError
from interlock.engine.ports import Claiming, Settlement, Success
from interlock.engine.simulate.world import World

Make = Callable[..., World]

HOLD = """
workflow: w
steps:
  - id: hold
    concurrency:
      resource: k
      steps: [{id: act, block: work, params: {fence: "{lease.fence}"}}]
  - {id: after, block: set, params: {}}
"""


def test_kill_of_a_holder_gives_its_work_to_another_under_a_new_fence(world: Make) -> None:
    w = world(HOLD)
    run, other = w.start("w"), w.start("w")
    dead = w.take("hold/act", "mortal")
    w.die("mortal")
    assert w.status(run).holds[0].fence == 2
    task = w.take("hold/act", "heir")
    assert (dead.params["fence"], task.params["fence"]) == (1, 2)
    assert (dead.idempotency_key, dead.attempt) == (task.idempotency_key, task.attempt)
    w.finish(task)
    assert w.status(run).state["hold"]["fence"] == 2
    w.work()
    assert w.status(other).state["hold"]["fence"] == 3
    assert {"worker.lost", "task.reassigned", "lease.refenced"} <= set(w.kinds(run))


def test_a_run_lifetime_lease_is_refenced_too(world: Make) -> None:
    w = world(
        "workflow: w\nsteps: [{id: c, concurrency: {resource: k, lifetime: run}},"
        ' {id: act, block: work, params: {f: "{c.fence}"}}]'
    )
    run = w.start("w")
    w.take("act", "mortal")
    w.die("mortal")
    task = w.take("act", "heir")
    assert task.params == {"f": 2}
    w.finish(task)
    assert w.status(run).state["c"]["fence"] == 2


def test_the_reaper_meeting_a_live_worker(world: Make) -> None:
    """A beat that moves keeps the work, however long it takes."""
    w = world(HOLD)
    w.start("w")
    task = w.take("hold/act", "slow")
    for _ in range(10):
        w.kernel.tick()
        w.clock.steady += w.services.lost_after - 1
        w.kernel.heartbeat("slow")
    w.kernel.tick()
    assert w.claim("thief") == []
    assert w.kernel.settle(task, Success({})).accepted


def test_a_wall_clock_that_jumps_loses_no_worker(world: Make) -> None:
    w = world(HOLD)
    w.start("w")
    task = w.take("hold/act", "slow")
    w.kernel.tick()
    w.clock.wall += 86400
    w.kernel.tick()
    assert w.kernel.settle(task, Success({})).accepted


def test_a_sleeping_worker_that_wakes_late_cannot_commit(world: Make) -> None:
    w = world(HOLD)
    run = w.start("w")
    old = w.take("hold/act", "sleeper")
    w.die("sleeper")
    new = w.take("hold/act", "heir")
    late = w.kernel.settle(old, Success({"who": "sleeper"}))
    assert (late.accepted, late.late, late.evidence) == (False, True, False)
    assert w.kernel.settle(new, Success({"who": "heir"})).accepted
    assert not w.kernel.settle(new, Success({"who": "twice"})).accepted
    assert "task.late_result" in w.kinds(run)
    w.work()
    assert w.status(run).status == "completed"


def test_a_poison_item_that_kills_its_worker_fails_alone(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - id: all
    for_each:
      items: [0, 1]
      mode: first_success
      steps: [{id: act, block: work, params: {n: "{item}"}}]
"""
    )
    run = w.start("w")
    for at in range(3):
        w.take("all/0/act", f"mortal{at}")
        w.die(f"mortal{at}")
    assert "poisoned" in [each.data.get("code") for each in w.kernel.events(run)]
    w.work("survivor")
    result = w.status(run).state["all"]
    assert result["failures"][0]["error"]["code"] == "poisoned"
    assert result["winner"]["index"] == 1


def test_a_worker_that_leaves_gives_its_work_up_at_once(world: Make) -> None:
    w = world(HOLD)
    run = w.start("w")
    for _ in range(5):
        w.take("hold/act", "leaver")
        w.kernel.unregister("leaver")
    w.work("heir")
    assert w.status(run).status == "completed"


def test_a_task_handed_back_spends_no_attempt(world: Make) -> None:
    w = world(HOLD)
    w.start("w")
    task = w.take("hold/act")
    w.kernel.hand_back(task, reason="no secret", delay=30)
    assert w.claim() == []
    w.advance(31)
    again = w.take("hold/act")
    assert (again.attempt, again.id) == (task.attempt, task.id)
    assert again.claim > task.claim
    assert not w.kernel.settle(task, Success({})).accepted


def test_a_task_handed_back_while_its_run_stops_is_not_done(world: Make) -> None:
    w = world(HOLD)
    run = w.start("w")
    task = w.take("hold/act")
    w.kernel.cancel(run)
    assert w.status(run).status == "running"
    w.kernel.hand_back(task, reason="no secret")
    assert w.status(run).status == "cancelled"
    assert w.claim() == []


def test_a_worker_gets_only_the_blocks_that_it_runs(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: a, block: work, params: {}}, {id: b, block: set, params: {}}]")
    w.start("w")
    assert w.kernel.claim("w", 10, blocks=frozenset({"set"})) == []
    (task,) = w.kernel.claim("w", 10, blocks=frozenset({"work", "set"}))
    assert task.path == "a"


def test_a_failure_of_the_engine_itself_ends_only_its_run(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: a, block: work, params: {}}]")
    bad, good = w.start("w"), w.start("w")
    tasks = {task.run: task for task in w.claim()}
    cell = w.kernel.cells[bad]
    cell.run.transitions = None  # type: ignore[assignment]
    w.kernel.settle(tasks[bad], Success({}))
    w.kernel.settle(tasks[good], Success({}))
    error = w.status(bad).error
    assert error is not None
    assert error.code == "internal"
    assert w.status(good).status == "completed"


def test_settlements_that_share_a_transaction_are_judged_one_by_one(world: Make) -> None:
    """A lost claim among them is refused alone; what becomes ready is claimed in the same transaction."""
    w = world("workflow: w\nsteps: [{id: a, block: work, params: {}}, {id: b, block: work, params: {}}]")
    runs = [w.start("w") for _ in range(3)]
    lost = w.take("a", "sleeper", run=runs[0])
    w.die("sleeper")
    tasks = [task for task in w.claim() if task.run != runs[0]]
    batch = w.kernel.settle_many([Settlement(task, Success({})) for task in [lost, *tasks]], Claiming("w", 10))
    assert [each.accepted for each in batch.settled] == [False, True, True]
    assert sorted((task.run, task.path) for task in batch.tasks) == [(run, "b") for run in runs[1:]]


def test_many_dispatches_are_all_or_none(world: Make) -> None:
    w = world("workflow: w\ninputs: {n: integer}\nsteps: [{id: a, block: work, params: {}}]")
    definition = w.definitions["w"]
    with pytest.raises(CallerError, match="inputs-refused"):
        w.kernel.dispatch_many([(definition, {"n": 1}), (definition, {"n": "x"})])
    assert w.kernel.runs() == []
    assert w.claim() == []
    made = w.kernel.dispatch_many([(definition, {"n": 1}), (definition, {"n": 2})])
    assert [w.status(each.run).inputs["n"] for each in made] == [1, 2]


def test_a_transaction_that_fails_leaves_nothing_in_memory(world: Make) -> None:
    """What a rolled-back transaction had decided is forgotten with it."""
    w = world(HOLD)
    run = w.start("w")
    task = w.take("hold/act")
    before = w.status(run)

    def broken(point: str) -> None:
        if point == "before-commit":
            raise OSError("pulled the plug")

    trace, w.kernel.services = w.kernel.services.trace, msgspec.structs.replace(w.services, trace=broken)
    with pytest.raises(OSError, match="plug"):
        w.kernel.settle(task, Success({}))
    w.kernel.services = msgspec.structs.replace(w.services, trace=trace)
    assert w.status(run) == before
    assert w.kernel.settle(task, Success({})).accepted
    w.work()
    assert w.status(run).status == "completed"
