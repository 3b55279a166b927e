"""Sections and claims under a resource lease, protected writes and their reviews (6.3, 6.4)."""

from __future__ import annotations

from interlock.analyzer.model.nodes import Section, Step
from interlock.engine.cells import steps
from interlock.engine.cells.messages import (
    Acquire,
    BlockedByReview,
    Granted,
    MarkReview,
    NotGranted,
    Queued,
    Refenced,
    Release,
    ReviewSettled,
    Withdraw,
)
from interlock.engine.cells.state import Frame, Held, Hold, Node, Review, inside, join, parent_of
from interlock.engine.cells.turn import Cell, OverBudget, StepFault, Turn, node_at
from interlock.engine.errors import CallerError, Fault
from interlock.engine.events import Note, note
from interlock.engine.ports import EvaluationError, Json


def begin(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    """Ask for the lease; the key answers."""
    section = step.kind
    assert isinstance(section, Section)
    assert section.resource is not None
    key = turn.evaluator.key(section.resource.value, turn.scope(frame))
    held = Held(key, section.limit, section.lifetime, section.protected)
    node = Node(step.id, visit, "key", turn.order(), turn.now, body=held)
    steps.parked(turn, frame, node, step)
    path = join(frame.prefix, step.id)
    run = turn.run
    turn.post(Acquire(run.account, key, run.id, path, visit, section.limit, section.lifetime, section.on_busy))


def granted(turn: Turn, message: Granted) -> None:
    """The lease is the run's; begin the section, or give it back where nobody waits any more."""
    run, path = turn.run, message.path
    found = turn.at(path, message.visit)
    if found is None or found[1].status != "key":
        hold = run.holds.get(message.key)
        if hold is None or path not in hold.places:
            turn.post(Release(run.account, message.key, run.id, path))
        return
    frame, node = found
    held = node.body
    assert isinstance(held, Held)
    hold = run.holds.get(message.key)
    if hold is None:
        hold = run.holds[message.key] = Hold(message.fence, held.limit, turn.now)
    hold.fence = held.fence = message.fence
    if hold.places.get(path) != "run":
        hold.places[path] = held.lifetime
    steps.unparked(turn, frame, node)
    turn.touch(frame)
    kind = "lease.reentered" if message.reentered else "lease.granted"
    turn.note(kind, path, node.visit, {"key": message.key, "fence": message.fence})
    step = turn.step(frame, node.step)
    section = step.kind
    assert isinstance(section, Section)
    if section.empty:
        _claimed(turn, frame, step, node, held)
        return
    node.status = "open"
    _restart(turn, frame, node)


def _claimed(turn: Turn, frame: Frame, step: Step, node: Node, held: Held) -> None:
    section = step.kind
    assert isinstance(section, Section)
    try:
        shown: Json = {}
        if section.outputs is not None:
            shown = turn.evaluator.value(section.outputs.value, turn.scope(frame))
        result = {"acquired": True, "output": shown, "fence": held.fence}
        steps.complete(turn, frame, step, node.visit, result)
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


def _restart(turn: Turn, frame: Frame, node: Node) -> None:
    """Walk the section from its beginning: a new visit of it, or the same visit once more.

    The same visit repeats the visits of its inner steps, so their idempotency keys stay.
    """
    path = join(frame.prefix, node.step)
    inner = turn.cell.frames.get(path)
    same = inner is not None and inner.status != "closed"
    if same:
        turn.forget(path)
    for each in turn.cell.frames.values():
        if each.prefix and inside(each.prefix, path):
            if same:
                each.visits = dict(each.base)
            else:
                each.base = dict(each.visits)
            each.status, each.node, each.fault, each.halt = "closed", None, None, False
            turn.touch(each)
    steps.open_frame(turn, path, path)


def waiting(cell: Cell, message: Queued | BlockedByReview) -> list[Note]:
    """What is logged of a step that waits for a key, as long as it does."""
    path, visit = message.path, message.visit
    if node_at(cell, path, visit) is None:
        return []
    if isinstance(message, BlockedByReview):
        return [note("lease.blocked_by_review", path, visit, {"key": message.key, "holder": message.holder})]
    logged = [note("lease.queued", path, visit, {"key": message.key, "ticket": message.ticket})]
    if message.review:
        logged.append(note("lease.blocked_by_review", path, visit, {"key": message.key}))
    return logged


def not_granted(turn: Turn, message: NotGranted) -> None:
    """The key was busy and the step does not wait, or the request was refused."""
    found = turn.at(message.path, message.visit)
    if found is None or found[1].status != "key":
        return
    frame, node = found
    step = turn.step(frame, node.step)
    steps.unparked(turn, frame, node)
    if message.code != "skipped":
        data = {"key": message.key, "code": message.code}
        turn.note("lease.refused", message.path, message.visit, data)
        steps.fail(turn, frame, step, node.visit, Fault(message.code, message.message))
        return
    turn.note("lease.skipped", message.path, message.visit, {"key": message.key})
    try:
        steps.complete(turn, frame, step, node.visit, dict(steps.NOT_ACQUIRED))
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


def give_up(turn: Turn, frame: Frame, node: Node) -> None:
    """Withdraw the ticket of a section that waits no longer."""
    held = node.body
    assert isinstance(held, Held)
    path = join(frame.prefix, node.step)
    steps.unparked(turn, frame, node)
    turn.post(Withdraw(turn.run.account, held.key, turn.run.id, path))
    turn.note("lease.withdrawn", path, node.visit, {"key": held.key})


def refenced(turn: Turn, message: Refenced) -> None:
    """A lease has a new fence: wherever its old one is kept, the new one goes."""
    hold = turn.run.holds.get(message.key)
    if hold is None:
        return
    hold.fence = message.fence
    turn.note("lease.refenced", None, None, {"key": message.key, "fence": message.fence})
    refresh(turn, hold)


def refresh(turn: Turn, hold: Hold) -> None:
    """Write a lease's fence into the live sections and the stored results of its places."""
    lenient, turn.lenient = turn.lenient, True
    for path in hold.places:
        frame = turn.cell.frames.get(parent_of(path))
        name = path.rpartition("/")[2]
        if frame is None:
            continue
        node = frame.node
        if node is not None and node.step == name and isinstance(node.body, Held):
            node.body.fence = hold.fence
            turn.touch(frame)
        result = turn.cell.values.get(frame.prefix, {}).get(name)
        if isinstance(result, dict) and result.get("acquired") is True:
            visit = frame.visits.get(name, 1)
            turn.store(frame.prefix, name, visit, {**result, "fence": hold.fence})
    turn.lenient = lenient


def section_done(turn: Turn, inner: Frame) -> None:
    """The steps of a section have settled."""
    found = turn.above(inner.prefix)
    assert found is not None
    frame, node = found
    held = node.body
    assert isinstance(held, Held)
    step = turn.step(frame, node.step)
    if inner.status == "completed":
        output = turn.cell.values[inner.prefix].get("")
        _close(turn, frame, step, node, held, output)
    elif inner.status == "failed" and held.intent and held.touched:
        assert inner.fault is not None
        _open_review(turn, frame, node, held, inner.fault)
    elif inner.status == "failed":
        assert inner.fault is not None
        leave(turn, frame, node, held)
        steps.fail(turn, frame, step, node.visit, inner.fault)
    else:
        leave(turn, frame, node, held)
        steps.quiet(turn, frame)


def _close(turn: Turn, frame: Frame, step: Step, node: Node, held: Held, output: Json) -> None:
    """Store the section's result and let the lease go with it."""
    path = join(frame.prefix, step.id)
    result = {"acquired": True, "output": output, "fence": held.fence}

    def before() -> None:
        leave(turn, frame, node, held)
        turn.forget(path)

    try:
        steps.complete(turn, frame, step, node.visit, result, before=before)
    except (StepFault, EvaluationError) as error:
        fault = error.fault if isinstance(error, StepFault) else Fault(error.code, error.message)
        if held.intent and held.touched:
            _open_review(turn, frame, node, held, steps.located(turn, fault, path, node.visit))
            return
        leave(turn, frame, node, held)
        if isinstance(error, OverBudget):
            held.intent = False
        steps.refuse(turn, frame, step, node.visit, error)


def leave(turn: Turn, frame: Frame, node: Node, held: Held) -> None:
    """End a section's hold: its lease goes unless it lives as long as the run."""
    steps.unreserve(turn, held, held.reserved_transitions, held.reserved_cost)
    turn.touch(frame)
    path = join(frame.prefix, node.step)
    hold = turn.run.holds.get(held.key)
    if hold is None or hold.places.get(path) != "step":
        return
    del hold.places[path]
    turn.post(Release(turn.run.account, held.key, turn.run.id, path))
    if not hold.places:
        del turn.run.holds[held.key]
        turn.note("lease.released", path, node.visit, {"key": held.key, "fence": hold.fence})


def _open_review(turn: Turn, frame: Frame, node: Node, held: Held, fault: Fault) -> None:
    path = join(frame.prefix, node.step)
    node.status = "review"
    held.review = Review(turn.now, fault)
    turn.touch(frame)
    data = {"key": held.key, "fence": held.fence, "code": fault.code, "message": fault.message}
    turn.note("review.opened", path, node.visit, data)
    turn.post(MarkReview(turn.run.account, held.key, turn.run.id, True))


def reviews(cell: Cell) -> list[tuple[str, Frame, Node, Held]]:
    """The open reviews of the run, by path."""
    found = []
    for frame in cell.frames.values():
        node = frame.node
        if node is not None and node.status == "review" and isinstance(node.body, Held):
            found.append((join(frame.prefix, node.step), frame, node, node.body))
    return found


def review_settled(turn: Turn, event: ReviewSettled) -> None:
    """A person has said what became of a protected write."""
    found = next((each for each in reviews(turn.cell) if each[0] == event.path), None)
    if found is None:
        raise CallerError("not-in-review", f'The section "{event.path}" is not in review.')
    path, frame, node, held = found
    turn.post(MarkReview(turn.run.account, held.key, turn.run.id, False))
    data = {"decision": event.decision, "by": event.by, "key": held.key}
    turn.note("review.settled", path, node.visit, data)
    step = turn.step(frame, node.step)
    turn.touch(frame)
    held.review = None
    if event.decision == "committed":
        _committed(turn, frame, step, node, held, event.result)
    elif event.decision == "not-committed":
        steps.unreserve(turn, held, held.reserved_transitions, held.reserved_cost)
        held.intent = held.touched = False
        held.passed_transitions = held.passed_cost = 0
        if frame.halt:
            leave(turn, frame, node, held)
            steps.quiet(turn, frame)
        else:
            node.status = "open"
            _restart(turn, frame, node)
    else:
        leave(turn, frame, node, held)
        if not frame.halt:
            who = f' by "{event.by}"' if event.by else ""
            message = f'The review of the section "{path}" was abandoned{who}.'
            steps.fatal(turn, Fault("abandoned", message, path, node.visit))
        steps.quiet(turn, frame)


def _committed(turn: Turn, frame: Frame, step: Step, node: Node, held: Held, output: Json) -> None:
    path = join(frame.prefix, step.id)
    output = {} if output is None else output
    shown = turn.plan.list_of(path).outputs
    if not isinstance(output, dict):
        raise CallerError("bad-payload", f'The result of the section "{path}" must be a map of its outputs.')
    missing = [each.name for each in shown.members if each.name not in output] if shown is not None else []
    if missing:
        names = ", ".join(f'"{name}"' for name in missing)
        raise CallerError("bad-payload", f'The result of the section "{path}" lacks its outputs {names}.')
    result = {"acquired": True, "output": output, "fence": held.fence}

    def before() -> None:
        leave(turn, frame, node, held)
        turn.forget(path)

    try:
        steps.complete(turn, frame, step, node.visit, result, before=before)
    except (StepFault, EvaluationError) as error:
        message = error.fault.message if isinstance(error, StepFault) else error.message
        raise CallerError("bad-payload", f"The result cannot be stored: {message}") from error


steps.KINDS[Section] = begin
steps.DONE["section"] = section_done
