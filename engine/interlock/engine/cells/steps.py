"""Walking a list of steps: entering, completing, failing and skipping a step, and where to go next.

What a kind of step does is left to its own module; the kinds and what happens when a frame of theirs has
settled are registered here by name, so that the walk knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from interlock.analyzer.model.nodes import Section, Step
from interlock.engine.cells.plan import result_keys, writes_id
from interlock.engine.cells.state import Compensation, Frame, Held, Node, join
from interlock.engine.cells.turn import OverBudget, StepFault, Turn
from interlock.engine.errors import Fault
from interlock.engine.ports import EvaluationError, Json

Begin = Callable[[Turn, Frame, Step, int], None]
Done = Callable[[Turn, Frame], None]

KINDS: dict[type, Begin] = {}
"""What begins a step, by the class of its kind in the model."""

DONE: dict[str, Done] = {}
"""What takes note of a settled frame, by the kind of its list (``root``, ``branch``, …)."""

NOT_ACQUIRED: dict[str, Json] = {"acquired": False, "output": None, "fence": None}

Write = tuple[str, Json]


def open_frame(turn: Turn, prefix: str, owner: str, *, index: int | None = None, handler: bool = False) -> Frame:
    """Begin a walk; what was there under this prefix from an earlier visit is forgotten but its counts."""
    cell = turn.cell
    old = cell.frames.get(prefix)
    frame = Frame(prefix, owner, index=index, handler=handler)
    if old is not None:
        frame.visits, frame.base = old.visits, old.base
    if old is not None and old.status != "closed":
        turn.forget(prefix)
    cell.frames[prefix] = frame
    go(turn, frame, turn.plan.list_of(prefix).first())
    return frame


def go(turn: Turn, frame: Frame, target: str | None) -> None:
    """The frame's next place is ``target`` (None: the end of its list)."""
    frame.node = None
    frame.at = target
    frame.fresh = True
    turn.touch(frame)
    if target is None:
        turn.later(_finish, frame)
    elif frame.halt:
        frame.status = "stopped"
        turn.later(frame_done, frame)
    else:
        turn.later(enter, frame, target)


def resume(turn: Turn, frame: Frame) -> None:
    """A retried run goes on in this frame from where it stands."""
    frame.status, frame.halt, frame.fault, frame.node = "open", False, None, None
    turn.touch(frame)
    if frame.at is None:
        turn.later(_finish, frame)
    else:
        turn.later(enter, frame, frame.at, frame.fresh)


def enter(turn: Turn, frame: Frame, name: str, fresh: bool = True) -> None:
    """Begin a step: ``fresh`` for a new visit, else the visit that failed goes on."""
    if frame.status != "open":
        return
    if frame.halt:
        frame.status = "stopped"
        turn.touch(frame)
        frame_done(turn, frame)
        return
    step = turn.step(frame, name)
    if fresh:
        frame.visits[name] = frame.visits.get(name, 0) + 1
    visit = frame.visits[name]
    frame.at, frame.fresh = name, False
    turn.touch(frame)
    try:
        if fresh and step.when is not None and not _holds(turn, frame, step):
            _skip(turn, frame, step, visit)
            return
        if not frame.handler:
            turn.note("step.entered", join(frame.prefix, name), visit)
        KINDS[type(step.kind)](turn, frame, step, visit)
    except (EvaluationError, StepFault) as error:
        refuse(turn, frame, step, visit, error)


def _holds(turn: Turn, frame: Frame, step: Step) -> bool:
    condition = step.when
    assert condition is not None
    if isinstance(condition.value, bool):
        return condition.value
    return turn.evaluator.condition(condition, turn.scope(frame))


def _skip(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    turn.note("step.skipped", join(frame.prefix, step.id), visit)
    if not frame.handler:
        keys = result_keys(step)
        name = step.id if writes_id(step) else (keys[0] if keys else None)
        if name is not None:
            empty = dict(NOT_ACQUIRED) if isinstance(step.kind, Section) else {}
            turn.store(frame.prefix, name, visit, empty)
    go(turn, frame, turn.plan.list_of(frame.prefix).following(step.id))


def refuse(turn: Turn, frame: Frame, step: Step, visit: int, error: EvaluationError | StepFault) -> None:
    """A step could not be begun or completed."""
    if isinstance(error, EvaluationError):
        fault = Fault(error.code, error.message)
    else:
        fault = error.fault
        if isinstance(error, OverBudget) and turn.refuse_over_budget:
            raise error
    over = isinstance(error, OverBudget) and turn.run.phase == "active" and not frame.halt
    if over and not _reviewable(turn, frame):
        fatal(turn, located(turn, fault, join(frame.prefix, step.id), visit))
        return
    fail(turn, frame, step, visit, fault)


def _reviewable(turn: Turn, frame: Frame) -> bool:
    """Whether a failure here ends in a review: inside a protected section after its intent."""
    guard = turn.protecting(frame.prefix)
    if guard is not None and guard[2].intent:
        return True
    node = frame.node
    return node is not None and isinstance(node.body, Held) and node.body.intent


def located(turn: Turn, fault: Fault, path: str, visit: int) -> Fault:
    """The fault with its place, and without any secret in its text."""
    if fault.path is not None:
        return fault
    return Fault(fault.code, turn.redact(fault.message), path, visit, fault.own)


def fail(turn: Turn, frame: Frame, step: Step, visit: int, fault: Fault) -> None:
    """The step fails, and with it the walk over its list."""
    path = join(frame.prefix, step.id)
    fault = located(turn, fault, path, visit)
    if frame.handler:
        turn.note("handler.failed", path, visit, {"code": fault.code, "message": fault.message})
        go(turn, frame, turn.plan.list_of(frame.prefix).following(step.id))
        return
    turn.note("step.failed", path, visit, {"code": fault.code, "message": fault.message})
    frame.node = None
    frame.status = "stopped" if frame.halt else "failed"
    frame.fault = fault
    turn.touch(frame)
    turn.later(frame_done, frame)


def complete(
    turn: Turn,
    frame: Frame,
    step: Step,
    visit: int,
    result: Json,
    *,
    writes: Sequence[Write] | None = None,
    merged: Sequence[Mapping[str, Json]] = (),
    before: Callable[[], None] | None = None,
) -> None:
    """Store what a step gives and go on.

    ``result`` goes under the id; ``writes`` instead of it under other names; ``merged`` are maps laid
    into the scope in order.  ``before`` is done once nothing can be refused any more.  Raises StepFault
    or EvaluationError, and has changed nothing then.
    """
    path = join(frame.prefix, step.id)
    names = [(step.id, result)] if writes is None else list(writes)
    names += _merge(turn, frame, merged)
    scope = None
    if step.next is not None or step.compensate is not None:
        scope = turn.scope(frame)
        scope[step.id] = result
        scope.update(names)
        if not frame.prefix:
            public = {name: value for name, value in names if not name.startswith("_")}
            scope["state"] = {**scope["state"], **public}
    target = next_target(turn, frame, step, scope)
    undo = _compensation(turn, frame, step, visit, scope)
    with_undo = turn.run.transitions, turn.run.cost, turn.run.stored, turn.run.state_bytes
    try:
        spend(turn, frame, step)
        _store_all(turn, frame, visit, names)
    except StepFault:
        turn.run.transitions, turn.run.cost, turn.run.stored, turn.run.state_bytes = with_undo
        raise
    if before is not None:
        before()
    if undo is not None:
        turn.cell.comps.append(undo)
        turn.out.comps_added.append(undo)
    turn.note("step.completed", path, visit)
    go(turn, frame, target)


def _merge(turn: Turn, frame: Frame, merged: Sequence[Mapping[str, Json]]) -> list[Write]:
    taken = turn.plan.list_of(frame.prefix).names
    writes: dict[str, Json] = {}
    for values in merged:
        for name, value in values.items():
            if name.startswith("_"):
                continue
            if name in taken:
                raise StepFault(
                    "state-conflict",
                    f'The merged name "{name}" is already the name of a step, result, input or root here;'
                    ' give a "result_key".',
                )
            writes[name] = value
    return list(writes.items())


def next_target(turn: Turn, frame: Frame, step: Step, scope: dict[str, Json] | None) -> str | None:
    """Where to go after a step has completed (None: the end of its list)."""
    listed = turn.plan.list_of(frame.prefix)
    if step.next is None:
        return listed.following(step.id)
    wanted = step.next.value
    if not isinstance(wanted, str):
        allowed = listed.targets(wanted)
        wanted = turn.evaluator.next(wanted, scope or {})
        if allowed and wanted not in allowed:
            names = ", ".join(f'"{name}"' for name in sorted(allowed))
            raise StepFault("bad-next", f'"next" gave "{wanted}", and its expression names only {names}.')
    if wanted == "end":
        return None
    if wanted not in listed.index:
        raise StepFault("bad-next", f'"{wanted}" is no step of this list; "next" must name one, or "end".')
    return wanted


def _compensation(
    turn: Turn, frame: Frame, step: Step, visit: int, scope: dict[str, Json] | None
) -> Compensation | None:
    if step.compensate is None or step.compensate.block is None or frame.handler:
        return None
    params = step.compensate.params.value if step.compensate.params else None
    rendered = turn.evaluator.params(params, scope or {})
    path = join(frame.prefix, step.id)
    return Compensation(turn.order(), path, visit, step.compensate.block.value, rendered.value, rendered.deferred)


def spend(turn: Turn, frame: Frame, step: Step) -> None:
    """Count a completed step against the run's budgets, out of a reservation first (section 10)."""
    run = turn.run
    cost = turn.plan.cost(step)
    transitions, reserved_cost = 1, cost
    guard = turn.protecting(frame.prefix)
    held = guard[2] if guard is not None else None
    if held is None and frame.node is not None and isinstance(frame.node.body, Held):
        held = frame.node.body
    if held is not None and held.intent:
        transitions = max(0, 1 - held.reserved_transitions)
        reserved_cost = max(0, cost - held.reserved_cost)
    if not frame.halt:
        turn.check_budget("max_transitions", run.transitions + run.reserved_transitions + transitions)
        turn.check_budget("max_cost_units", run.cost + run.reserved_cost + reserved_cost)
    run.transitions += 1
    run.cost += cost
    if held is not None and held.protected:
        held.passed_transitions += 1
        held.passed_cost += cost
        if held.intent:
            unreserve(turn, held, 1 - transitions, cost - reserved_cost)


def unreserve(turn: Turn, held: Held, transitions: int, cost: int) -> None:
    """Give back a part of a section's reservation."""
    held.reserved_transitions -= transitions
    held.reserved_cost -= cost
    turn.run.reserved_transitions -= transitions
    turn.run.reserved_cost -= cost


def _store_all(turn: Turn, frame: Frame, visit: int, names: Sequence[Write]) -> None:
    """All of the names or none: what was there before comes back when one is refused."""
    cell, scope = turn.cell, frame.prefix
    lenient, turn.lenient = turn.lenient, turn.lenient or frame.halt
    values = cell.values.setdefault(scope, {})
    sizes = cell.sizes.setdefault(scope, {})
    before = [(name, name in values, values.get(name), sizes.get(name, 0)) for name, _ in names]
    stored = {name: turn.out.vals.get((scope, name)) for name, _ in names}
    try:
        for name, value in names:
            turn.store(scope, name, visit, value)
    except StepFault:
        for name, was, value, size in before:
            if was:
                values[name], sizes[name] = value, size
            else:
                values.pop(name, None)
                sizes.pop(name, None)
            old = stored[name]
            if old is None:
                turn.out.vals.pop((scope, name), None)
            else:
                turn.out.vals[(scope, name)] = old
        raise
    finally:
        turn.lenient = lenient


def _finish(turn: Turn, frame: Frame) -> None:
    """The end of a list: render what it shows."""
    if frame.status != "open":
        return
    listed = turn.plan.list_of(frame.prefix)
    turn.touch(frame)
    if listed.kind in ("branch", "section", "item"):
        try:
            shown: Json = {}
            if listed.outputs is not None:
                shown = turn.evaluator.value(listed.outputs, turn.scope(frame))
            turn.store(frame.prefix, "", 0, shown)
        except (EvaluationError, StepFault) as error:
            code, message = (
                (error.code, error.message)
                if isinstance(error, EvaluationError)
                else (error.fault.code, error.fault.message)
            )
            frame.status = "stopped" if frame.halt else "failed"
            frame.fault = Fault(code, turn.redact(message), frame.prefix, None)
            frame_done(turn, frame)
            return
    frame.status = "completed"
    frame_done(turn, frame)


def frame_done(turn: Turn, frame: Frame) -> None:
    """A walk is over (``status``): tell what it belongs to."""
    DONE[turn.plan.list_of(frame.prefix).kind](turn, frame)


def quiet(turn: Turn, frame: Frame) -> None:
    """The step of a stopped frame has ended without a result."""
    node = frame.node
    if node is not None:
        turn.note("step.stopped", join(frame.prefix, node.step), node.visit)
    frame.node = None
    frame.status = "stopped"
    turn.touch(frame)
    turn.later(frame_done, frame)


def fatal(turn: Turn, fault: Fault) -> None:
    """The run fails at once, whatever contains the step; siblings are stopped."""
    FATAL[0](turn, fault)


FATAL: list[Callable[[Turn, Fault], None]] = []


def parked(turn: Turn, frame: Frame, node: Node, step: Step) -> None:
    """The frame stands at a node now; starts its timeout, where the step has one."""
    frame.node = node
    turn.touch(frame)
    if step.timeout is not None and node.status != "task":
        node.times_out = turn.now + step.timeout.value
        turn.timer("timeout", join(frame.prefix, step.id), node.visit, node.times_out)


def unparked(turn: Turn, frame: Frame, node: Node) -> None:
    """The wait is over: its timeout goes."""
    if node.times_out is not None:
        turn.no_timer("timeout", join(frame.prefix, node.step))
        node.times_out = None
