"""Retry of a failed run: its leases again, then on from the failed step (section 12)."""

from __future__ import annotations

from interlock.engine.cells import sections, steps
from interlock.engine.cells.inputs import admission
from interlock.engine.cells.messages import Acquire, Granted, Release
from interlock.engine.cells.state import Hold, Run
from interlock.engine.cells.turn import Turn
from interlock.engine.errors import CallerError

NEVER = frozenset({"budget-exceeded", "deadline-exceeded"})


def retryable(run: Run) -> bool:
    """Whether ``retry`` would take the run."""
    return run.status == "failed" and why_not(run) is None


def why_not(run: Run) -> str | None:
    """Why a run cannot be retried, in a sentence; None if it can."""
    if run.status != "failed":
        return f"it is {run.status}, and only a failed run can be retried"
    if run.unwound:
        return "it was compensated"
    if run.fault is not None and not run.fault.own and run.fault.code in NEVER:
        return f"it failed with {run.fault.code}"
    return None


def retried(turn: Turn) -> None:
    """Put the run back into the queue."""
    run = turn.run
    reason = why_not(run)
    if reason is not None:
        raise CallerError("not-retryable", f'The run "{run.id}" cannot be retried: {reason}.')
    run.status = run.phase = "queued"
    run.attempt += 1
    run.fault, run.stop, run.fatal, run.ended_at = None, None, False, None
    turn.note("run.retried", None, None, {"attempt": run.attempt})
    if run.deadline is not None:
        turn.timer("deadline", "", 0, run.deadline)
    ask(turn)


def ask(turn: Turn) -> None:
    """Ask for a slot, or begin at once where the workflow has no limit of runs."""
    run = turn.run
    if turn.plan.workflow.concurrency is None:
        admitted(turn)
        return
    turn.note("run.queued")
    turn.post(admission(turn.plan.definition, turn.evaluator, run, turn.cell.inputs))


def admitted(turn: Turn) -> None:
    """The run may act: for the first time, or once its run-lifetime leases are its own again."""
    run = turn.run
    if run.phase != "queued":
        return
    turn.note("run.admitted")
    if run.started_at is None:
        run.started_at = turn.now
    if not run.relocks:
        _begin(turn)
        return
    run.phase = "relocking"
    for relock in run.relocks:
        relock.granted = False
        turn.post(Acquire(run.account, relock.key, run.id, relock.places[0], 0, relock.limit, "run", "wait"))


def _begin(turn: Turn) -> None:
    turn.run.phase = "active"
    turn.run.relocks = []
    root = turn.cell.frames.get("")
    if root is None:
        steps.open_frame(turn, "", "")
    else:
        steps.resume(turn, root)


def relocked(turn: Turn, message: Granted) -> None:
    """One of the leases is back, under a new fence."""
    run = turn.run
    relock = next((each for each in run.relocks if each.key == message.key), None)
    if run.phase != "relocking" or relock is None or relock.granted:
        if run.holds.get(message.key) is None:
            turn.post(Release(run.account, message.key, run.id, message.path))
        return
    relock.granted = True
    places = dict.fromkeys(relock.places, "run")
    hold = run.holds[message.key] = Hold(message.fence, relock.limit, turn.now, places)
    data = {"key": message.key, "fence": message.fence}
    turn.note("lease.granted", message.path, None, data)
    sections.refresh(turn, hold)
    if all(each.granted for each in run.relocks):
        _begin(turn)
