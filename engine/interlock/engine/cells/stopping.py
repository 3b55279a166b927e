"""Ends: the durable stop request, stopping what runs, compensation, handlers, the terminal state (12)."""

from __future__ import annotations

from interlock.engine.cells import blocks, sections, steps
from interlock.engine.cells.messages import Leave, Release, StopAsked, TaskLost, TaskSettled, Withdraw
from interlock.engine.cells.plan import HANDLERS
from interlock.engine.cells.state import (
    TERMINAL,
    Child,
    Compensation,
    Frame,
    Held,
    Relock,
    Stop,
    inside,
    join,
)
from interlock.engine.cells.turn import StepFault, TaskRow, Turn
from interlock.engine.errors import Fault
from interlock.engine.ports import EvaluationError, Json, Success

ENDS = {"cancel": "cancelled", "parent": "cancelled", "supersede": "superseded", "deadline": "failed"}


def stop_asked(turn: Turn, message: StopAsked) -> None:
    """Record the request; the first one that finds the run undecided decides its end."""
    run = turn.run
    if run.status in TERMINAL:
        return
    if run.stop is None:
        run.stop = Stop(message.kind, turn.now, message.by)
        data: dict[str, Json] = {"kind": message.kind}
        if message.by:
            data["reason" if message.kind == "cancel" else "by"] = message.by
            if message.kind == "supersede":
                run.superseded_by = message.by
        turn.note("run.stop_requested", None, None, data)
        if run.phase == "queued":
            end(turn, ENDS[message.kind], _deadline_fault(turn) if message.kind == "deadline" else None)
        elif run.phase == "relocking":
            _give_up_relocks(turn)
            _after_stop(turn)
        elif run.phase == "active":
            run.phase = "stopping"
            halt(turn, turn.cell.frames[""])


def _deadline_fault(turn: Turn) -> Fault:
    assert turn.run.deadline is not None
    return Fault("deadline-exceeded", "The deadline of the run has passed.")


def fatal(turn: Turn, fault: Fault) -> None:
    """The run fails at once: everything in it is stopped, then it ends as failed."""
    run = turn.run
    if run.phase != "active":
        return
    run.phase, run.fatal, run.fault = "stopping", True, fault
    if fault.path is not None:
        data = {"code": fault.code, "message": fault.message}
        turn.note("step.failed", fault.path, fault.visit, data)
        found = turn.at(fault.path, fault.visit or 0)
        if found is not None and found[1].status != "review":
            frame, node = found
            steps.unparked(turn, frame, node)
            frame.node = None
            frame.status, frame.halt = "stopped", True
            turn.touch(frame)
            turn.later(steps.frame_done, frame)
        else:
            _stand_down(turn, fault.path)
    halt(turn, turn.cell.frames[""])


def _stand_down(turn: Turn, path: str) -> None:
    """The step that failed had not been begun yet: its frame stops where it stands."""
    frame = turn.cell.frames.get(path.rpartition("/")[0])
    if frame is not None and frame.status == "open" and frame.node is None:
        frame.status, frame.halt = "stopped", True
        turn.touch(frame)
        turn.later(steps.frame_done, frame)


def halt(turn: Turn, frame: Frame) -> None:
    """Stop a frame and what is inside, but for what must settle first."""
    if frame.halt or frame.status != "open":
        return
    frame.halt = True
    turn.touch(frame)
    node = frame.node
    if node is None:
        return
    path = join(frame.prefix, node.step)
    if node.status == "task":
        if blocks.withdraw(turn, frame, node):
            steps.quiet(turn, frame)
    elif node.status == "key":
        sections.give_up(turn, frame, node)
        steps.quiet(turn, frame)
    elif node.status == "open":
        if isinstance(node.body, Held):
            if not node.body.protected:
                halt(turn, turn.cell.frames[path])
            return
        for inner in list(turn.cell.frames.values()):
            if inner.owner == path and inner.status == "open":
                halt(turn, inner)
    elif node.status == "child":
        assert isinstance(node.body, Child)
        turn.post(StopAsked(node.body.run, "parent", turn.run.id))
    elif node.status in ("runs", "signal", "delay"):
        drop_wait(turn, frame)
        steps.quiet(turn, frame)


def drop_wait(turn: Turn, frame: Frame) -> None:
    """Forget what a parked step waits for."""
    node = frame.node
    assert node is not None
    path = join(frame.prefix, node.step)
    steps.unparked(turn, frame, node)
    if node.status == "delay":
        turn.no_timer("delay", path)
    elif node.status in ("runs", "child"):
        turn.out.waits[path] = None


# --- the end of the root ---------------------------------------------------------------------------


def root_done(turn: Turn, frame: Frame) -> None:
    """Everything in the run is quiet: decide how it ends."""
    run = turn.run
    if run.phase == "compensating":
        _unwound(turn)
    elif run.fatal:
        _fail(turn)
    elif run.stop is not None:
        _after_stop(turn)
    elif frame.status == "completed":
        _completed(turn)
    else:
        run.fault = frame.fault
        _fail(turn)


def _completed(turn: Turn) -> None:
    outputs = turn.plan.workflow.outputs
    if outputs is not None:
        try:
            shown = turn.evaluator.value(outputs.value, turn.scope(turn.cell.frames[""]))
            if isinstance(shown, dict):
                shown = {name: value for name, value in shown.items() if not name.startswith("_")}
            turn.store("@outputs", "", 0, shown)
        except EvaluationError as error:
            turn.run.fault = Fault(error.code, turn.redact(f'"outputs": {error.message}'), "outputs")
        except StepFault as error:
            turn.run.fault = Fault(error.fault.code, f'"outputs": {error.fault.message}', "outputs")
        if turn.run.fault is not None:
            _fail(turn)
            return
    end(turn, "completed", None)


def _fail(turn: Turn) -> None:
    if turn.plan.compensates and turn.cell.comps:
        _unwind_run(turn)
    else:
        end(turn, "failed", turn.run.fault)


def _after_stop(turn: Turn) -> None:
    stop = turn.run.stop
    assert stop is not None
    if stop.kind == "deadline":
        turn.run.fault = _deadline_fault(turn)
        _handle(turn, HANDLERS[1])
    elif turn.cell.comps:
        _unwind_run(turn)
    else:
        _handle(turn, HANDLERS[0])


def _unwind_run(turn: Turn) -> None:
    run = turn.run
    run.phase, run.unwound = "compensating", True
    root = turn.cell.frames[""]
    if not unwind(turn, root):
        _unwound(turn)


def _unwound(turn: Turn) -> None:
    """Every compensation has run: a failure ends the run here, another stop has its handlers yet."""
    if turn.run.fault is not None:
        end(turn, "failed", turn.run.fault)
    else:
        _handle(turn, HANDLERS[0])


def _handle(turn: Turn, prefix: str) -> None:
    """Run the blocks of ``on_cancel`` or ``on_deadline``."""
    turn.run.phase = "handlers"
    if not turn.plan.lists[prefix].steps:
        _handled(turn)
        return
    steps.open_frame(turn, prefix, "", handler=True)


def handler_done(turn: Turn, frame: Frame) -> None:
    _handled(turn)


def _handled(turn: Turn) -> None:
    stop = turn.run.stop
    assert stop is not None
    if stop.kind != "deadline":
        end(turn, ENDS[stop.kind], None)
    elif turn.plan.compensates and turn.cell.comps:
        _unwind_run(turn)
    else:
        end(turn, "failed", turn.run.fault)


def end(turn: Turn, status: str, fault: Fault | None) -> None:
    """The terminal state: everything that the run holds goes, whoever waits for it is told."""
    run = turn.run
    run.status, run.phase, run.fault, run.ended_at = status, "ended", fault, turn.now
    run.relocks = [each for each in run.relocks if not each.granted] if status == "failed" else []
    for key, hold in run.holds.items():
        places = [path for path, lifetime in hold.places.items() if lifetime == "run"]
        if status == "failed" and places:
            run.relocks.append(Relock(key, hold.limit, places))
        turn.post(Release(run.account, key, run.id, None))
        turn.note("lease.released", None, None, {"key": key, "fence": hold.fence})
    run.holds = {}
    if run.slot:
        turn.post(Leave(run.account, run.workflow, run.id))
    turn.no_timer("deadline", "")
    data: dict[str, Json] = {}
    if fault is not None:
        data = {"code": fault.code, "message": fault.message, "path": fault.path}
    elif run.superseded_by is not None and status == "superseded":
        data = {"by": run.superseded_by}
    turn.note(f"run.{status}", None, None, data)
    turn.out.ended = True


def _give_up_relocks(turn: Turn) -> None:
    run = turn.run
    for relock in run.relocks:
        if not relock.granted:
            turn.post(Withdraw(run.account, relock.key, run.id, relock.places[0]))
            turn.note("lease.withdrawn", relock.places[0], None, {"key": relock.key})
    turn.no_timer("relock", "")


def relock_failed(turn: Turn, fault: Fault) -> None:
    """A retried run cannot get its leases back: it has failed again."""
    _give_up_relocks(turn)
    turn.run.fault = fault
    _fail(turn)


# --- compensation ----------------------------------------------------------------------------------


def unwind(turn: Turn, frame: Frame) -> bool:
    """Run the compensations registered inside a frame, the latest first.  False where there is none."""
    mine = [each for each in turn.cell.comps if inside(each.path, frame.prefix)]
    if not mine:
        frame.unwinding = None
        return False
    chosen = max(mine, key=lambda each: each.seq)
    frame.unwinding = chosen.seq
    frame.status = "unwinding"
    turn.touch(frame)
    turn.note("compensation.started", chosen.path, chosen.visit, {"block": chosen.block})
    _post(turn, chosen)
    return True


def _post(turn: Turn, chosen: Compensation) -> None:
    task = blocks.task_id(turn.run.id, chosen.path, chosen.visit, "compensation")
    turn.out.tasks[task] = TaskRow(
        id=task,
        path=chosen.path,
        visit=chosen.visit,
        kind="compensation",
        attempt=1,
        block=chosen.block,
        ready_at=turn.now,
        params=chosen.params,
        deferred=chosen.deferred,
        timeout=None,
        protected=False,
        fence=None,
        idempotency_key=f"{turn.run.id}/{chosen.path}/{chosen.visit}/compensate",
    )


def _unwinding(turn: Turn, path: str, visit: int) -> tuple[Frame, Compensation] | None:
    for frame in turn.cell.frames.values():
        if frame.unwinding is None:
            continue
        for each in turn.cell.comps:
            if each.seq == frame.unwinding and (each.path, each.visit) == (path, visit):
                return frame, each
    return None


def compensated(turn: Turn, event: TaskSettled) -> None:
    """A compensation has run; its failure is recorded and changes nothing."""
    found = _unwinding(turn, event.path, event.visit)
    if found is None:
        return
    if isinstance(event.outcome, Success):
        turn.note("compensation.completed", event.path, event.visit)
    else:
        data = {"code": event.outcome.code, "message": event.outcome.message}
        turn.note("compensation.failed", event.path, event.visit, data)
    _next_compensation(turn, *found)


def _next_compensation(turn: Turn, frame: Frame, done: Compensation) -> None:
    turn.cell.comps.remove(done)
    turn.out.comps_dropped.append(done.seq)
    if not unwind(turn, frame):
        frame.status = "stopped"
        frame.unwinding = -1
        turn.touch(frame)
        turn.later(steps.frame_done, frame)


def compensation_lost(turn: Turn, event: TaskLost, poison_after: int) -> None:
    """The worker of a compensation is dead: run it again, unless it kills its workers."""
    found = _unwinding(turn, event.path, event.visit)
    if found is None:
        return
    frame, chosen = found
    chosen.kills += 1 if event.killed else 0
    if chosen.kills >= poison_after:
        message = f"The compensation killed its worker {chosen.kills} times."
        data = {"code": "poisoned", "message": message}
        turn.note("compensation.failed", event.path, event.visit, data)
        _next_compensation(turn, frame, chosen)
        return
    turn.out.comps_added.append(chosen)
    turn.note("task.reassigned", event.path, event.visit, {"worker": event.worker})
    _post(turn, chosen)


steps.DONE["root"] = root_done
steps.DONE["handler"] = handler_done
steps.FATAL.append(fatal)
