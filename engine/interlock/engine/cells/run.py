"""The cell of a run: what each message and event makes of it.  Everything else is in its modules."""

from __future__ import annotations

from interlock.engine.cells import (
    blocks,
    children,
    containers,
    retrying,
    sections,
    steps,
    stopping,
    waits,
)
from interlock.engine.cells import messages as m
from interlock.engine.cells.journal import Begun, Event
from interlock.engine.cells.state import TERMINAL
from interlock.engine.cells.turn import Cell, Turn
from interlock.engine.errors import Fault
from interlock.engine.ports import Json

SHOWN = ("review", "task", "key", "runs", "signal", "delay")
STATUS = {
    "review": "held_for_review",
    "task": "running",
    "key": "waiting_for_resource",
    "runs": "waiting_for_workflows",
    "child": "waiting_for_workflows",
    "signal": "waiting_for_signal",
    "delay": "delayed",
}

_KINDS = (containers,)


def begin(turn: Turn) -> None:
    """The first turn of a run: it is dispatched, and asks for a slot or starts."""
    run = turn.run
    data: dict[str, Json] = {"workflow": run.workflow, "version": run.version}
    if run.parent is not None:
        data["parent"] = run.parent[0]
    turn.note("run.dispatched", None, None, data)
    if run.deadline is not None:
        turn.timer("deadline", "", 0, run.deadline)
    retrying.ask(turn)
    _settle(turn)


def take(turn: Turn, event: Event, poison_after: int = 3) -> None:
    """One turn: the first, or any other."""
    if isinstance(event, Begun):
        begin(turn)
    else:
        decide(turn, event, poison_after)


def decide(turn: Turn, event: m.ToRun | m.Outside, poison_after: int = 3) -> None:
    """Take one message or event.  Raises CallerError or OverBudget where the caller is refused; the turn
    is then to be thrown away."""
    if turn.run.status in TERMINAL and not isinstance(event, m.Retried | m.Evidence | m.Granted):
        return
    _dispatch(turn, event, poison_after)
    _settle(turn)


def _dispatch(turn: Turn, event: m.ToRun | m.Outside, poison_after: int) -> None:
    match event:
        case m.TaskSettled(kind="compensation"):
            stopping.compensated(turn, event)
        case m.TaskSettled():
            blocks.settled(turn, event)
        case m.Granted(visit=0):
            retrying.relocked(turn, event)
        case m.Granted():
            sections.granted(turn, event)
        case m.NotGranted(visit=0) | m.Deadlocked(visit=0):
            _relock_refused(turn, event)
        case m.NotGranted():
            sections.not_granted(turn, event)
        case m.Queued() | m.BlockedByReview():
            pass  # logged as they come (`sections.waiting`): nothing is decided
        case m.Refenced():
            sections.refenced(turn, event)
            blocks.refenced(turn, event.key)
        case m.RunEnded():
            waits.run_ended(turn, event)
            children.child_ended(turn, event)
        case m.SignalSent():
            turn.refuse_over_budget = True
            waits.signal_sent(turn, event)
            turn.refuse_over_budget = False
        case m.TimerFired():
            _timer(turn, event)
        case m.TaskLost(kind="compensation"):
            _lost_note(turn, event)
            stopping.compensation_lost(turn, event, poison_after)
        case m.TaskLost():
            _lost_note(turn, event)
            blocks.lost(turn, event, poison_after)
        case m.HandedBack(kind="block"):
            blocks.handed_back(turn, event)
        case m.Deadlocked():
            _deadlocked(turn, event)
        case m.StopAsked():
            stopping.stop_asked(turn, event)
        case m.Admitted():
            retrying.admitted(turn)
        case m.Evidence():
            blocks.evidence(turn, event)
        case m.ReviewSettled():
            sections.review_settled(turn, event)
        case m.Retried():
            retrying.retried(turn)
        case m.Broke():
            _broke(turn, event)


def _settle(turn: Turn) -> None:
    turn.work()
    run = turn.run
    if run.status not in TERMINAL:
        run.status = shown_status(turn.cell)


def shown_status(cell: Cell) -> str:
    """The first of the statuses in which something of the run is (section 12)."""
    run = cell.run
    if run.phase == "queued":
        return "queued"
    if run.phase == "relocking":
        return "waiting_for_resource"
    found = {frame.node.status for frame in cell.leaves() if frame.node is not None}
    if "child" in found:
        found.add("runs")
    for status in SHOWN:
        if status in found:
            return STATUS[status]
    return "running"


def _lost_note(turn: Turn, event: m.TaskLost) -> None:
    turn.note("worker.lost", event.path, event.visit, {"worker": event.worker})


def _relock_refused(turn: Turn, event: m.NotGranted | m.Deadlocked) -> None:
    if turn.run.phase != "relocking":
        return
    code = event.code if isinstance(event, m.NotGranted) else "deadlock"
    stopping.relock_failed(turn, Fault(code, event.message, event.path))


def _timer(turn: Turn, event: m.TimerFired) -> None:
    if event.kind == "deadline":
        stopping.stop_asked(turn, m.StopAsked(turn.run.id, "deadline"))
    elif event.kind == "delay":
        waits.delay_over(turn, event)
    elif event.kind == "timeout":
        _timed_out(turn, event)


def _timed_out(turn: Turn, event: m.TimerFired) -> None:
    """A wait has lasted longer than its step allows."""
    found = turn.at(event.path, event.visit)
    if found is None or found[1].times_out is None:
        return
    frame, node = found
    step = turn.step(frame, node.step)
    seconds = step.timeout.value if step.timeout is not None else 0
    fault = Fault("timeout", f'The step "{node.step}" waited longer than its timeout of {seconds:g} s.')
    node.times_out = None
    turn.touch(frame)
    turn.note("wait.timed_out", event.path, event.visit)
    if node.status == "child":
        children.give_up_child(turn, frame, node, fault)
        return
    if node.status == "key":
        sections.give_up(turn, frame, node)
    elif node.status in ("runs", "signal", "delay"):
        stopping.drop_wait(turn, frame)
    else:
        return
    steps.fail(turn, frame, step, node.visit, fault)


def _deadlocked(turn: Turn, event: m.Deadlocked) -> None:
    """The wait of this step could never end: it fails at once."""
    found = turn.at(event.path, event.visit)
    if found is None:
        return
    frame, node = found
    fault = Fault("deadlock", event.message)
    if node.status == "child":
        children.give_up_child(turn, frame, node, fault)
        return
    if node.status == "key":
        sections.give_up(turn, frame, node)
    elif node.status == "runs":
        stopping.drop_wait(turn, frame)
        turn.note("wait.failed", event.path, event.visit, {"message": event.message})
    else:
        return
    steps.fail(turn, frame, turn.step(frame, node.step), node.visit, fault)


def _broke(turn: Turn, event: m.Broke) -> None:
    """The core could not take an event: the run fails, and everything in it stops."""
    fault = Fault("internal", event.message)
    if turn.run.phase == "active":
        stopping.fatal(turn, fault)
    elif turn.run.phase in ("queued", "relocking"):
        stopping.end(turn, "failed", fault)


__all__ = ["begin", "decide", "shown_status", "take"]
