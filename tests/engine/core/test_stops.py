"""Stops: one durable request, in every state that a run can be in (section 12)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.errors import CallerError
from interlock.engine.ports import Failed, Success, Task
from interlock.engine.simulate.world import World, failing

Make = Callable[..., World]

RICH = """
workflow: rich
inputs: {doc: {type: integer, default: 1}}
concurrency: {limit: 1, on_busy: POLICY, supersession_key: "{inputs.doc}"}
steps:
  - {id: made, block: work, params: {}, compensate: {block: undo, params: {id: "{made.params}"}}}
  - id: hold
    concurrency: {resource: k, lifetime: run}
  - {id: ask, wait_for_approval: {}}
  - id: pub
    concurrency:
      resource: site
      protected: true
      steps: [{id: act, block: write, params: {}}]
  - {id: after, block: work, params: {}}
on_cancel: [{id: tidy, block: tidy, params: {was: "{state.made.params}"}}]
---
workflow: taker
steps: [{id: h, concurrency: {resource: k, steps: [{id: w, block: work, params: {}}]}}]
"""
LATEST, SUPERSEDE, WAIT = (RICH.replace("POLICY", word) for word in ("latest_waiting", "supersede", "wait"))
ORDER = ["compensation.started", "compensation.completed", "handler.started", "handler.completed"]


def at_approval(w: World) -> str:
    run = w.start("rich")
    w.work()
    assert w.status(run).status == "waiting_for_signal"
    return run


def ending(w: World, run: str) -> list[str]:
    return [kind for kind in w.kinds(run) if kind.startswith(("compensation.", "handler."))]


def test_cancelling_a_run_that_holds_a_lease(world: Make) -> None:
    w = world(WAIT)
    run = at_approval(w)
    taker = w.start("taker")
    w.kernel.cancel(run, reason="no longer")
    assert w.status(run).stop is not None
    assert w.status(taker).status == "waiting_for_resource"
    w.work()
    assert w.status(run).status == "cancelled"
    assert ending(w, run) == ORDER
    assert w.status(taker).status == "completed"


def test_cancelling_a_run_that_waits_withdraws_its_ticket_at_once(world: Make) -> None:
    w = world(WAIT)
    first = w.start("taker")
    waiting = w.start("taker")
    w.kernel.cancel(waiting)
    assert w.status(waiting).status == "cancelled"
    assert [len(each.waiters) for each in w.kernel.leases()] == [0]
    assert "lease.withdrawn" in w.kinds(waiting)
    w.work()
    assert w.status(first).status == "completed"


def test_cancelling_a_queued_run_ends_it_without_handlers(world: Make) -> None:
    w = world(WAIT)
    first = w.start("rich")
    queued = w.start("rich")
    assert w.status(queued).queue is not None
    w.kernel.cancel(queued)
    assert w.status(queued).status == "cancelled"
    assert ending(w, queued) == []
    assert w.status(first).status == "running"


def test_cancelling_a_run_in_review_waits_for_the_person(world: Make) -> None:
    w = world(WAIT, scripts={"write": failing("timeout", "unknown")})
    run = at_approval(w)
    w.kernel.signal(run, "approval")
    w.work()
    assert w.status(run).status == "held_for_review"
    w.kernel.cancel(run)
    status = w.status(run)
    assert status.status == "held_for_review"
    assert status.stop is not None
    assert status.stop.blocked_by == ("pub",)
    w.kernel.review(run, "not-committed")
    w.work()
    assert w.status(run).status == "cancelled"
    assert [task.path for task in w.log].count("pub/act") == 1
    assert ending(w, run) == ORDER


def test_a_committed_review_of_a_cancelled_run_stores_the_result_and_stops(world: Make) -> None:
    w = world(WAIT, scripts={"write": failing("timeout", "unknown")})
    run = at_approval(w)
    w.kernel.signal(run, "approval")
    w.work()
    w.kernel.cancel(run)
    w.kernel.review(run, "committed", result={})
    w.work()
    assert w.status(run).status == "cancelled"
    assert w.status(run).state["pub"]["acquired"]
    assert "after" not in w.status(run).state


def test_cancelling_a_run_that_is_compensating_is_only_recorded(world: Make) -> None:
    w = world(
        WAIT.replace("concurrency: {limit", "compensate_on_failure: true\nconcurrency: {limit"),
        scripts={"after": failing(), "write": lambda task: Success({})},
    )
    run = at_approval(w)
    w.kernel.signal(run, "approval")
    w.finish(w.take("pub/act"))
    w.finish(w.take("after"))
    assert "compensation.started" in w.kinds(run)
    w.kernel.cancel(run)
    w.kernel.cancel(run)
    w.work()
    status = w.status(run)
    assert status.status == "failed"
    assert status.stop is not None
    assert ending(w, run) == ORDER[:2]


def test_cancelling_inside_a_protected_section_waits_until_its_result_is_stored(world: Make) -> None:
    w = world(WAIT)
    run = at_approval(w)
    w.kernel.signal(run, "approval")
    task = w.take("pub/act")
    w.kernel.cancel(run)
    w.kernel.tick()
    assert w.status(run).status == "running"
    w.finish(task, Success({"id": 1}))
    w.work()
    assert w.status(run).status == "cancelled"
    assert w.status(run).state["pub"]["acquired"]


def test_the_result_of_a_block_in_flight_is_stored_and_compensated(world: Make) -> None:
    w = world(WAIT)
    run = w.start("rich")
    task = w.take("made")
    w.kernel.cancel(run)
    assert w.status(run).status == "running"
    w.finish(task, Success({"params": 5}))
    w.work()
    assert w.status(run).status == "cancelled"
    assert [each.params for each in w.log if each.kind == "compensation"] == [{"id": 5}]


def test_a_block_in_flight_whose_worker_is_dead_is_not_run_again(world: Make) -> None:
    w = world(WAIT)
    run = w.start("rich")
    w.take("made", "mortal")
    w.kernel.cancel(run)
    w.die("mortal")
    w.work("other")
    assert w.status(run).status == "cancelled"
    assert [task.path for task in w.log if task.kind == "block"] == ["made"]


def test_compensations_run_in_reverse_order_and_their_failures_change_nothing(world: Make) -> None:
    ran: list[str] = []

    def undo(task: Task) -> Success | Failed:
        ran.append(task.path)
        return Failed("block-failed", "cannot", "none") if task.path == "b" else Success({})

    w = world(
        """
workflow: saga
steps:
  - {id: a, block: work, params: {}, compensate: {block: undo, params: {}}}
  - {id: b, block: work, params: {}, compensate: {block: undo, params: {}}}
  - {id: c, block: work, params: {}, compensate: {block: undo, params: {}}}
  - {id: ask, wait_for_approval: {}}
""",
        scripts={"undo": undo},
    )
    run = w.start("saga")
    w.work()
    w.kernel.cancel(run)
    w.work()
    assert ran == ["c", "b", "a"]
    assert w.status(run).status == "cancelled"
    assert w.kinds(run).count("compensation.failed") == 1


def test_a_passed_deadline_runs_its_handlers_then_compensates_if_asked_to(world: Make) -> None:
    text = """
workflow: late
deadline: 1h
compensate_on_failure: true
steps:
  - {id: a, block: work, params: {}, compensate: {block: undo, params: {}}}
  - {id: ask, wait_for_approval: {}}
on_deadline: [{id: tell, block: fail, params: {message: x}}, {id: more, block: work, params: {}}]
"""
    w = world(text)
    run = w.start("late")
    w.work()
    w.advance(3601)
    w.work()
    status = w.status(run)
    assert status.error is not None
    assert (status.status, status.error.code) == ("failed", "deadline-exceeded")
    assert ending(w, run) == [
        "handler.started",
        "handler.failed",
        "handler.started",
        "handler.completed",
        "compensation.started",
        "compensation.completed",
    ]
    assert not status.retryable
    with pytest.raises(CallerError, match="not-retryable"):
        w.kernel.retry(run)


def test_the_deadline_of_a_queued_run_ends_it_at_once(world: Make) -> None:
    w = world(
        """
workflow: line
deadline: 1m
concurrency: {limit: 1}
steps: [{id: a, block: work, params: {}}]
on_deadline: [{id: tell, block: work, params: {}}]
"""
    )
    first, queued = w.start("line"), w.start("line")
    task = w.take("a")
    w.advance(61)
    error = w.status(queued).error
    assert error is not None
    assert error.code == "deadline-exceeded"
    assert ending(w, queued) == []
    w.finish(task)
    w.work()
    assert w.status(first).status == "failed"
    assert ending(w, first) == ["handler.started", "handler.completed"]


def test_the_first_committed_stop_decides_the_end(world: Make) -> None:
    w = world(WAIT.replace("concurrency: {limit", "deadline: 1h\nconcurrency: {limit"))
    run = w.start("rich")
    task = w.take("made")
    w.kernel.cancel(run)
    w.advance(3601)
    w.finish(task)
    w.work()
    assert w.status(run).status == "cancelled"


def test_a_run_that_has_ended_cannot_be_stopped(world: Make) -> None:
    w = world(WAIT)
    run = w.start("taker")
    w.work()
    with pytest.raises(CallerError, match="run-ended"):
        w.kernel.cancel(run)
    with pytest.raises(CallerError, match="unknown-run"):
        w.kernel.cancel("nobody")


# --- supersede -------------------------------------------------------------------------------------


def test_supersede_arriving_at_a_run_that_holds(world: Make) -> None:
    w = world(SUPERSEDE)
    run = at_approval(w)
    newer = w.start("rich")
    assert w.status(newer).status == "queued"
    w.work()
    status = w.status(run)
    assert (status.status, status.superseded_by) == ("superseded", newer)
    assert ending(w, run) == ORDER
    assert w.status(newer).status == "waiting_for_signal"


def test_supersede_arriving_at_a_run_that_waits_for_a_lease(world: Make) -> None:
    w = world(SUPERSEDE)
    w.start("taker")
    run = w.start("rich")
    w.finish(w.take("made"))
    assert w.status(run).status == "waiting_for_resource"
    newer = w.start("rich")
    assert w.status(run).tickets == ()
    w.work()
    assert w.status(run).status == "superseded"
    assert w.status(newer).status == "waiting_for_signal"


def test_supersede_arriving_at_a_queued_run(world: Make) -> None:
    w = world(SUPERSEDE)
    other = w.start("rich", doc=2)
    queued = w.start("rich", doc=1)
    newest = w.start("rich", doc=1)
    assert w.status(queued).status == "superseded"
    assert w.status(other).status == "running"
    assert w.kinds(queued, "step.") == []
    assert w.status(newest).queue is not None


def test_supersede_arriving_at_a_run_in_review(world: Make) -> None:
    w = world(SUPERSEDE, scripts={"write": failing("timeout", "unknown")})
    run = at_approval(w)
    w.kernel.signal(run, "approval")
    w.work()
    newer = w.start("rich")
    w.work()
    assert w.status(run).status == "held_for_review"
    assert w.status(newer).status == "queued"
    w.kernel.review(run, "committed", result={})
    w.work()
    assert w.status(run).status == "superseded"
    assert w.status(newer).status == "waiting_for_signal"


def test_supersede_arriving_at_a_run_that_is_compensating(world: Make) -> None:
    w = world(SUPERSEDE)
    run = at_approval(w)
    w.kernel.cancel(run)
    newer = w.start("rich")
    w.work()
    assert w.status(run).status == "cancelled"
    assert w.status(newer).status == "waiting_for_signal"


def test_supersede_arriving_inside_a_protected_section(world: Make) -> None:
    w = world(SUPERSEDE)
    run = at_approval(w)
    w.kernel.signal(run, "approval")
    task = w.take("pub/act")
    newer = w.start("rich")
    w.kernel.tick()
    assert w.status(run).status == "running"
    w.finish(task)
    w.work()
    assert w.status(run).state["pub"]["acquired"]
    assert w.status(run).status == "superseded"
    assert w.status(newer).status == "waiting_for_signal"


def test_latest_waiting_replaces_only_the_waiting_run_and_takes_its_place(world: Make) -> None:
    w = world(LATEST)
    active = w.start("rich", doc=1)
    waiting, behind = w.start("rich", doc=1), w.start("rich", doc=2)
    newest = w.start("rich", doc=1)
    assert w.status(waiting).status == "superseded"
    assert w.kinds(waiting, "step.") == []
    assert w.status(active).stop is None
    assert w.kernel.queue()[0].waiting == (newest, behind)
