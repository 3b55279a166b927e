"""Block steps: their tasks, attempts, crash re-runs, and the intent of a protected write (5.1, 6.4)."""

from __future__ import annotations

from interlock.analyzer.model.nodes import BlockCall, Retry, Step
from interlock.engine.cells import steps
from interlock.engine.cells.messages import Evidence, HandedBack, Refence, TaskLost, TaskSettled
from interlock.engine.cells.state import Frame, Held, Node, Work, inside, join
from interlock.engine.cells.turn import StepFault, TaskRow, Turn
from interlock.engine.errors import Fault
from interlock.engine.ports import EvaluationError, Failed, Json, Success

REPEATED = frozenset({"block-failed", "effect-unknown", "timeout"})


def task_id(run: str, path: str, visit: int, kind: str = "block") -> str:
    """The name of a piece of work: the same over attempts and claims."""
    mark = "!" if kind == "compensation" else "#"
    return f"{run}/{path}{mark}{visit}"


def begin(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    node = Node(step.id, visit, "task", turn.order(), turn.now, body=Work(turn.now))
    steps.parked(turn, frame, node, step)
    _post(turn, frame, step, node, turn.now)
    if frame.handler:
        turn.note("handler.started", join(frame.prefix, step.id), visit)


def _post(turn: Turn, frame: Frame, step: Step, node: Node, ready_at: float) -> None:
    """Write the task of the next attempt; before the first effectful one in a protected section, its
    intent."""
    call, work = step.kind, node.body
    assert isinstance(call, BlockCall)
    assert isinstance(work, Work)
    name = call.block.value if call.block is not None else ""
    rendered = turn.evaluator.params(call.params.value if call.params else None, turn.scope(frame))
    work.effects = turn.blocks.effects(name, rendered.value)
    work.ready_at = ready_at
    guard = turn.protecting(frame.prefix) if frame.prefix and not frame.handler else None
    if guard is not None and work.effects and not guard[2].intent:
        _intend(turn, guard[0], guard[1], guard[2])
    path = join(frame.prefix, step.id)
    around = turn.sections(frame.prefix) if frame.prefix and not frame.handler else []
    turn.out.tasks[task_id(turn.run.id, path, node.visit)] = TaskRow(
        id=task_id(turn.run.id, path, node.visit),
        path=path,
        visit=node.visit,
        kind="handler" if frame.handler else "block",
        attempt=node.attempt,
        block=name,
        ready_at=ready_at,
        params=rendered.value,
        deferred=rendered.deferred,
        timeout=step.timeout.value if step.timeout is not None else None,
        protected=guard is not None and guard[2].intent,
        fence=around[0][2].fence if around else None,
        idempotency_key=f"{turn.run.id}/{path}/{node.visit}",
    )
    turn.touch(frame)


def _intend(turn: Turn, frame: Frame, node: Node, held: Held) -> None:
    """Store the intent: reserve what one pass through the section takes, or refuse before it acts."""
    section = turn.step(frame, node.step)
    transitions, cost = turn.plan.protected_use(frame.prefix, section)
    transitions -= held.passed_transitions
    cost -= held.passed_cost
    run = turn.run
    turn.check_budget("max_transitions", run.transitions + run.reserved_transitions + transitions)
    turn.check_budget("max_cost_units", run.cost + run.reserved_cost + cost)
    held.intent, held.touched = True, False
    held.reserved_transitions, held.reserved_cost = transitions, cost
    run.reserved_transitions += transitions
    run.reserved_cost += cost
    turn.touch(frame)


def settled(turn: Turn, event: TaskSettled) -> None:
    """A worker gives the outcome of the current attempt."""
    found = turn.at(event.path, event.visit)
    if found is None or found[1].status != "task":
        return
    frame, node = found
    step = turn.step(frame, node.step)
    work, outcome = node.body, event.outcome
    assert isinstance(work, Work)
    guard = turn.protecting(frame.prefix)
    if guard is not None and work.effects and guard[2].intent and _may_have_acted(outcome):
        guard[2].touched = True
        turn.touch(guard[0])
    if isinstance(outcome, Success):
        _succeeded(turn, frame, step, node, outcome)
    else:
        _failed(turn, frame, step, node, outcome, guard is not None and guard[2].intent)


def _may_have_acted(outcome: Success | Failed) -> bool:
    return isinstance(outcome, Success) or outcome.effect == "unknown"


def _succeeded(turn: Turn, frame: Frame, step: Step, node: Node, outcome: Success) -> None:
    for secret in outcome.secrets:
        if secret not in turn.cell.known:
            turn.out.secrets.append(secret)
            turn.cell.known = (*turn.cell.known, secret)
    if frame.handler:
        turn.note("handler.completed", join(frame.prefix, step.id), node.visit)
        try:
            target = steps.next_target(turn, frame, step, turn.scope(frame))
        except (StepFault, EvaluationError) as error:
            steps.refuse(turn, frame, step, node.visit, error)
            return
        steps.go(turn, frame, target)
        return
    try:
        steps.complete(turn, frame, step, node.visit, outcome.result)
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


def _failed(turn: Turn, frame: Frame, step: Step, node: Node, outcome: Failed, intended: bool) -> None:
    path = join(frame.prefix, step.id)
    data: dict[str, Json] = {
        "code": outcome.code,
        "message": outcome.message,
        "effect": outcome.effect,
        "attempt": node.attempt,
    }
    retry = step.retry
    again = (
        retry is not None
        and outcome.code in REPEATED
        and not outcome.own
        and node.attempt < retry.max_attempts
        and not frame.halt
        and not intended
    )
    if not again or retry is None:
        steps.fail(turn, frame, step, node.visit, _fault(outcome))
        return
    turn.note("step.attempt_failed", path, node.visit, data)
    ready_at = turn.now + pause(retry, node.attempt)
    node.attempt += 1
    turn.note("step.retry_scheduled", path, node.visit, {"attempt": node.attempt, "at": ready_at})
    try:
        _post(turn, frame, step, node, ready_at)
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


def _fault(outcome: Failed) -> Fault:
    return Fault(outcome.code, outcome.message, own=outcome.own)


def pause(retry: Retry, attempt: int) -> float:
    """Seconds after the failure of ``attempt`` (section 5)."""
    if retry.backoff == "linear":
        seconds = retry.delay * attempt
    elif retry.backoff == "exponential":
        seconds = retry.delay * 2.0 ** min(attempt - 1, 62)
    else:
        seconds = retry.delay
    return seconds if retry.max_delay is None else min(seconds, retry.max_delay)


def lost(turn: Turn, event: TaskLost, poison_after: int) -> None:
    """The worker of a claimed attempt is dead: run the block again, unless it stands protected."""
    found = turn.at(event.path, event.visit)
    if found is None or found[1].status != "task":
        return
    frame, node = found
    step = turn.step(frame, node.step)
    work = node.body
    assert isinstance(work, Work)
    guard = turn.protecting(frame.prefix) if not frame.handler else None
    node.kills += 1 if event.killed else 0
    turn.touch(frame)
    if guard is not None and guard[2].intent:
        if work.effects:
            guard[2].touched = True
            turn.touch(guard[0])
        # It may only sleep: what it still writes must be told from what is written after the review.
        _refence(turn, _covering(turn, join(frame.prefix, step.id)))
        message = f'The worker "{event.worker}" died while the block ran; whether it acted is not known.'
        steps.fail(turn, frame, step, node.visit, Fault("effect-unknown", message))
    elif node.kills >= poison_after:
        message = f"The block killed its worker {node.kills} times."
        steps.fail(turn, frame, step, node.visit, Fault("poisoned", message))
    elif frame.halt:
        steps.quiet(turn, frame)
    else:
        turn.note("task.reassigned", event.path, event.visit, {"worker": event.worker})
        _take_over(turn, frame, step, node, work)


def handed_back(turn: Turn, event: HandedBack) -> None:
    """Work that had not begun is free again; in a stopped frame it is not begun any more."""
    found = turn.at(event.path, event.visit)
    if found is not None and found[1].status == "task" and found[0].halt:
        frame, node = found
        turn.out.tasks[task_id(turn.run.id, event.path, node.visit)] = None
        steps.quiet(turn, frame)


def _take_over(turn: Turn, frame: Frame, step: Step, node: Node, work: Work) -> None:
    """New fences for the leases that cover the work, then the task again."""
    keys = _covering(turn, join(frame.prefix, step.id))
    if not keys or frame.handler:
        repost(turn, frame, step, node)
        return
    work.refencing = keys
    _refence(turn, keys)


def _covering(turn: Turn, path: str) -> list[str]:
    """The keys of the leases under which the step of a path stands."""
    return [
        key
        for key, hold in turn.run.holds.items()
        if any(lifetime == "run" or inside(path, place) for place, lifetime in hold.places.items())
    ]


def _refence(turn: Turn, keys: list[str]) -> None:
    for key in keys:
        turn.post(Refence(turn.run.account, key, turn.run.id))


def repost(turn: Turn, frame: Frame, step: Step, node: Node) -> None:
    """The same attempt once more."""
    try:
        _post(turn, frame, step, node, turn.now)
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


def refenced(turn: Turn, key: str) -> None:
    """A lease has its new fence: work that waited for it may be posted."""
    for frame in list(turn.cell.frames.values()):
        node = frame.node
        if node is None or not isinstance(node.body, Work) or key not in node.body.refencing:
            continue
        node.body.refencing = [other for other in node.body.refencing if other != key]
        turn.touch(frame)
        if not node.body.refencing:
            repost(turn, frame, turn.step(frame, node.step), node)


def evidence(turn: Turn, event: Evidence) -> None:
    """A late result: kept on the review of the protected section around it, if one is open."""
    outcome = event.outcome
    data: dict[str, Json] = {"worker": event.worker}
    if isinstance(outcome, Success):
        data["result"] = outcome.result
    else:
        data.update(code=outcome.code, message=outcome.message, effect=outcome.effect)
    turn.note("task.late_result", event.path, event.visit, data)
    for frame in turn.cell.frames.values():
        node = frame.node
        if node is None or not isinstance(node.body, Held) or node.body.review is None:
            continue
        path = join(frame.prefix, node.step)
        if inside(event.path, path):
            node.body.review.evidence.append({"path": event.path, "visit": event.visit, **data})
            turn.touch(frame)
            turn.note("review.evidence", path, node.visit, {"from": event.path, **data})


def withdraw(turn: Turn, frame: Frame, node: Node) -> bool:
    """Take the task back if no worker has it.  Returns whether the step is quiet now."""
    task = task_id(turn.run.id, join(frame.prefix, node.step), node.visit)
    pending = turn.out.tasks.get(task)
    if pending is None and turn.view.claimed(task):
        return False
    turn.out.tasks[task] = None
    return True


steps.KINDS[BlockCall] = begin
