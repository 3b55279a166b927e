"""Scenarios of stops: a cancellation or a supersession that finds a run in each of its states (12)."""

from __future__ import annotations

from collections.abc import Callable

from interlock.engine.ports import Failed, Success
from interlock.engine.simulate.stage import Stage
from simulation.scenario import scenario

UNKNOWN = Failed("timeout", "late", "unknown")
REFUSED = Failed("block-failed", "refused", "none")

RICH = """
workflow: rich
concurrency: CONCURRENCY
compensate_on_failure: true
steps:
  - {id: made, block: work, params: {}, compensate: {block: undo, params: {}}}
  - {id: hold, concurrency: {resource: k, steps: [{id: inner, block: work, params: {}}]}}
  - {id: pub, concurrency: {resource: site, protected: true, steps: [{id: act, block: write, params: {}}]}}
  - {id: after, block: work, params: {}}
on_cancel: [{id: tidy, block: tidy, params: {}}]
---
workflow: taker
steps: [{id: h, concurrency: {resource: k, steps: [{id: t, block: work, params: {}}]}}]
"""
PLAIN = RICH.replace("CONCURRENCY", "{limit: 2}")
ONE = RICH.replace("CONCURRENCY", "{limit: 1}")
SUPERSEDE = RICH.replace("CONCURRENCY", '{limit: 1, on_busy: supersede, supersession_key: "same"}')
GENTLE = ("restart", "back", "pass")
"""What was handed back is not begun again once a run is stopped: that would be another scenario."""
STOPPED = ["compensation.started", "compensation.completed", "handler.started", "handler.completed"]

Stop = Callable[[Stage, str], None]


def cancel(stage: Stage, run: str) -> None:
    stage.world.kernel.cancel(run)


def supersede(stage: Stage, run: str) -> None:
    stage.start("rich")


def unwinding(stage: Stage, run: str) -> list[str]:
    return [kind for kind in stage.kinds(run) if kind.startswith(("compensation.", "handler."))]


def for_both(state: str) -> Callable[[Callable[[Stage, Stop, str], None]], None]:
    """The same play for a cancellation and for a supersession."""

    def put(play: Callable[[Stage, Stop, str], None]) -> None:
        text = ONE if state == "is queued" else PLAIN
        scenario(f"cancelling a run that {state}", text, faults=GENTLE)(lambda stage: play(stage, cancel, "cancelled"))
        scenario(f"supersede arriving at a run that {state}", SUPERSEDE, faults=GENTLE)(
            lambda stage: play(stage, supersede, "superseded")
        )

    return put


def the_new_one_completes(stage: Stage, stop: Stop) -> None:
    if stop is supersede:
        assert stage.status(stage.runs[-1]) == "completed"


@for_both("holds")
def holds(stage: Stage, stop: Stop, end: str) -> None:
    go = stage.held_up("hold/inner")
    run = stage.start("rich")
    stage.when("a waiter", lambda: stage.is_at(run, "hold/inner"), lambda: stage.start("taker"))
    stage.when("the stop", lambda: stage.waiters("k") != [], lambda: stop(stage, run))

    def still_held() -> None:
        # A block in flight: its lease stays until it has stopped.
        assert stage.holders("k") == [run]
        go()

    stopped = lambda: "run.stop_requested" in stage.kinds(run) and stage.is_at(run, "hold/inner")  # noqa: E731
    stage.when("the block ends", stopped, still_held)
    stage.play()
    assert stage.status(run) == end
    assert unwinding(stage, run) == STOPPED
    assert stage.status(stage.runs[1]) == "completed"
    assert stage.times_begun(run, "pub/act") == stage.times_begun(run, "after") == 0
    the_new_one_completes(stage, stop)


@for_both("waits")
def waits(stage: Stage, stop: Stop, end: str) -> None:
    go = stage.held_up("h/t")
    taker = stage.start("taker")
    stage.when("the run", lambda: stage.is_at(taker, "h/t"), lambda: stage.start("rich"))
    stage.when("the stop", lambda: stage.waiters("k") != [], lambda: stop(stage, stage.runs[1]))
    gone = lambda: len(stage.runs) > 1 and "lease.withdrawn" in stage.kinds(stage.runs[1])  # noqa: E731
    stage.when("the holder goes", gone, go)
    stage.play()
    run = stage.runs[1]
    assert stage.status(run) == end
    assert unwinding(stage, run) == STOPPED
    assert "lease.granted" not in stage.kinds(run)
    assert stage.times_begun(run, "hold/inner") == 0
    assert stage.status(taker) == "completed"
    the_new_one_completes(stage, stop)


@for_both("is queued")
def queued(stage: Stage, stop: Stop, end: str) -> None:
    go = stage.held_up("made")
    first = stage.start("rich")
    stage.when("the second", lambda: stage.is_at(first, "made"), lambda: stage.start("rich"))
    there = lambda: len(stage.runs) == 2 and stage.status(stage.runs[1]) == "queued"  # noqa: E731
    stage.when("the stop", there, lambda: stop(stage, stage.runs[1]))
    stage.when("the first goes on", lambda: len(stage.runs) >= 2 and stage.status(stage.runs[1]) == end, go)
    stage.play()
    run = stage.runs[1]
    assert stage.status(run) == end
    assert stage.kinds(run) == [
        "run.dispatched",
        "run.queued",
        "run.stop_requested",
        f"run.{end}",
    ]
    assert stage.status(first) == ("completed" if stop is cancel else "superseded")
    the_new_one_completes(stage, stop)


@for_both("is in review")
def in_review(stage: Stage, stop: Stop, end: str) -> None:
    decision = stage.random.choice(["committed", "not-committed", "abandon"])
    stage.script("pub/act", UNKNOWN, Success({}))
    run = stage.start("rich")
    stage.when("the stop", lambda: stage.status(run) == "held_for_review", lambda: stop(stage, run))

    def decide() -> None:
        assert stage.status(run) == "held_for_review"
        assert stage.holders("site") == [run]
        stage.world.kernel.review(run, decision, result={} if decision == "committed" else None)  # type: ignore[arg-type]

    stage.when("the decision", lambda: "run.stop_requested" in stage.kinds(run), decide)
    stage.play()
    assert stage.status(run) == end
    assert unwinding(stage, run) == STOPPED
    assert len(stage.kinds(run, "review.opened")) == 1
    settled = [each for each in stage.log() if each.run == run and each.path == "pub" and each.kind == "step.completed"]
    assert len(settled) == (1 if decision == "committed" else 0)
    assert stage.times_begun(run, "after") == 0
    the_new_one_completes(stage, stop)


@for_both("is compensating")
def compensating(stage: Stage, stop: Stop, end: str) -> None:
    """What a failure has begun to undo goes on; the stop is only recorded."""
    stage.script("hold/inner", REFUSED, Success({}))
    go = stage.held_up("undo")
    run = stage.start("rich")
    begun = lambda: stage.times_begun(run, "made", "compensation") > 0  # noqa: E731
    stage.when("the stop", begun, lambda: stop(stage, run))
    stage.when("the compensation ends", lambda: "run.stop_requested" in stage.kinds(run), go)
    stage.play()
    assert (stage.status(run), stage.error(run)) == ("failed", "block-failed")
    assert unwinding(stage, run) == STOPPED[:2]
    the_new_one_completes(stage, stop)


@for_both("writes in a protected section")
def protected(stage: Stage, stop: Stop, end: str) -> None:
    go = stage.held_up("pub/act")
    run = stage.start("rich")
    stage.when("the stop", lambda: stage.is_at(run, "pub/act"), lambda: stop(stage, run))

    def not_yet() -> None:
        assert stage.status(run) == "running"
        assert unwinding(stage, run) == []
        go()

    stopped = lambda: "run.stop_requested" in stage.kinds(run) and stage.is_at(run, "pub/act")  # noqa: E731
    stage.when("the write ends", stopped, not_yet)
    stage.play()
    assert stage.status(run) == end
    assert "pub" in stage.state(run)
    assert unwinding(stage, run) == STOPPED
    assert stage.times_begun(run, "after") == 0
    the_new_one_completes(stage, stop)
