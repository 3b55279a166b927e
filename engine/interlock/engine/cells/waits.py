"""Waits for signals, for time and for other runs (sections 8 and 9)."""

from __future__ import annotations

from interlock.analyzer.model.nodes import Delay, DependencyWait, SignalWait, Step
from interlock.engine.cells import steps, stopping
from interlock.engine.cells.messages import RunEnded, SignalSent, TimerFired
from interlock.engine.cells.state import TERMINAL, Frame, Node, Pause, Runs, Signal, Signals, join
from interlock.engine.cells.turn import StepFault, Turn, WaitRow
from interlock.engine.errors import Fault
from interlock.engine.ports import EvaluationError, Json

# --- signals ---------------------------------------------------------------------------------------


def begin_signal(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    """Wait for a signal; one that came before counts, the oldest first."""
    wait = step.kind
    assert isinstance(wait, SignalWait)
    if wait.match is not None:
        try:
            turn.evaluator.value(wait.match.value, turn.scope(frame))
        except EvaluationError as error:
            # No signal could ever match: the run would wait for ever and not say why.
            steps.refuse(turn, frame, step, visit, error)
            return
    node = Node(step.id, visit, "signal", turn.order(), turn.now, body=Signals())
    steps.parked(turn, frame, node, step)
    names = [name.value for name in wait.names]
    turn.note("wait.opened", join(frame.prefix, step.id), visit, {"wait": wait.form, "names": names})
    for signal in list(turn.cell.signals):
        if _matches(turn, frame, step, node, signal):
            turn.cell.signals.remove(signal)
            turn.out.consumed.append(signal.seq)
            if _take(turn, frame, step, node, signal):
                return


def signal_sent(turn: Turn, event: SignalSent) -> None:
    """Record a signal; the oldest open wait that it matches consumes it."""
    signal = Signal(turn.order(), event.id, event.name, event.payload, turn.now)
    turn.out.signals.append(signal)
    turn.note("signal.received", None, None, {"name": event.name, "id": event.id})
    waiting = [
        (frame.node.opened, frame, frame.node)
        for frame in turn.cell.frames.values()
        if frame.node is not None and frame.node.status == "signal"
    ]
    for _, frame, node in sorted(waiting, key=lambda each: each[0]):
        step = turn.step(frame, node.step)
        if _matches(turn, frame, step, node, signal):
            turn.out.consumed.append(signal.seq)
            _take(turn, frame, step, node, signal)
            return
    turn.cell.signals.append(signal)


def _matches(turn: Turn, frame: Frame, step: Step, node: Node, signal: Signal) -> bool:
    wait, body = step.kind, node.body
    assert isinstance(wait, SignalWait)
    assert isinstance(body, Signals)
    if signal.name in body.got or all(name.value != signal.name for name in wait.names):
        return False
    if wait.correlation_key is not None and not _correlates(turn, wait.correlation_key.value, signal.payload):
        return False
    if wait.match is not None:
        try:
            wanted = turn.evaluator.value(wait.match.value, turn.scope(frame))
        except EvaluationError:
            return False
        return contains(signal.payload, wanted)
    return True


def _correlates(turn: Turn, key: str, payload: Json) -> bool:
    public = turn.cell.public()
    known = public if key in public else turn.cell.inputs
    return isinstance(payload, dict) and key in payload and key in known and same(payload[key], known[key])


def contains(payload: Json, wanted: Json) -> bool:
    """Whether a payload has these values: maps recursively, anything else by equality (section 9)."""
    if isinstance(wanted, dict):
        return isinstance(payload, dict) and all(
            key in payload and contains(payload[key], value) for key, value in wanted.items()
        )
    return same(payload, wanted)


def same(one: Json, other: Json) -> bool:
    """Equality of JSON values: a boolean is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def _take(turn: Turn, frame: Frame, step: Step, node: Node, signal: Signal) -> bool:
    """The wait consumes a signal.  Returns whether the wait is over."""
    wait, body = step.kind, node.body
    assert isinstance(wait, SignalWait)
    assert isinstance(body, Signals)
    path = join(frame.prefix, step.id)
    turn.note("signal.consumed", path, node.visit, {"name": signal.name, "id": signal.id})
    body.got[signal.name] = _public(signal.payload)
    turn.touch(frame)
    if wait.form == "signals" and wait.mode == "all":
        if len(body.got) < len({name.value for name in wait.names}):
            return False
    turn.note("wait.satisfied", path, node.visit)
    steps.unparked(turn, frame, node)
    try:
        _signalled(turn, frame, step, node, wait, body, signal)
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)
    turn.refuse_over_budget = False
    return True


def _signalled(
    turn: Turn, frame: Frame, step: Step, node: Node, wait: SignalWait, body: Signals, signal: Signal
) -> None:
    payload: Json = body.got[signal.name]
    if wait.form == "signals":
        payload = body.got
    elif wait.form == "decision":
        payload = {"outcome": signal.name, "signal": signal.name, "data": payload}
    if wait.result_key is not None:
        steps.complete(turn, frame, step, node.visit, payload, writes=[(wait.result_key, payload)])
        return
    merged = [payload]
    if wait.form == "signals":
        merged = [body.got[name.value] for name in wait.names if name.value in body.got]
    for each in merged:
        if each is not None and not isinstance(each, dict):
            raise StepFault("bad-value", f'The signal "{signal.name}" carries no map to merge; give a "result_key".')
    maps = [each for each in merged if each is not None]
    steps.complete(turn, frame, step, node.visit, payload, writes=[], merged=maps)


def _public(payload: Json) -> Json:
    if isinstance(payload, dict):
        return {name: value for name, value in payload.items() if not name.startswith("_")}
    return payload


# --- time ------------------------------------------------------------------------------------------


def begin_delay(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    delay = step.kind
    assert isinstance(delay, Delay)
    if delay.seconds is not None:
        until = turn.now + delay.seconds.value
    else:
        assert delay.until is not None
        until = turn.evaluator.until(delay.until.value, turn.scope(frame))
    node = Node(step.id, visit, "delay", turn.order(), turn.now, body=Pause(until))
    steps.parked(turn, frame, node, step)
    path = join(frame.prefix, step.id)
    turn.note("wait.opened", path, visit, {"wait": "delay", "until": until})
    if until <= turn.now:
        _paused(turn, frame, step, node)
    else:
        turn.timer("delay", path, visit, until)


def _paused(turn: Turn, frame: Frame, step: Step, node: Node) -> None:
    turn.note("wait.satisfied", join(frame.prefix, step.id), node.visit)
    try:
        steps.complete(turn, frame, step, node.visit, {})
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


def delay_over(turn: Turn, event: TimerFired) -> None:
    found = turn.at(event.path, event.visit)
    if found is not None and found[1].status == "delay":
        frame, node = found
        turn.touch(frame)
        _paused(turn, frame, turn.step(frame, node.step), node)


# --- other runs ------------------------------------------------------------------------------------


def begin_runs(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    """Wait for other runs; those already terminal count at once."""
    wait = step.kind
    assert isinstance(wait, DependencyWait)
    ids = _ids(turn, frame, wait)
    body = Runs(ids, wait.mode, wait.quorum.value if wait.quorum is not None else 1)
    failed: list[tuple[str, str]] = []
    for run in ids:
        peek = turn.peek(run)
        if peek is None or peek.account != turn.run.account:
            raise StepFault("unknown-run", f'No run "{run}" is known in this account.')
        if peek.status not in TERMINAL:
            body.pending.append(run)
        elif peek.status == "completed":
            body.done.append(run)
        else:
            failed.append((run, peek.status))
    node = Node(step.id, visit, "runs", turn.order(), turn.now, body=body)
    steps.parked(turn, frame, node, step)
    path = join(frame.prefix, step.id)
    turn.note("wait.opened", path, visit, {"wait": "workflow", "mode": wait.mode, "runs": ids})
    _judge(turn, frame, step, node, body, failed[0] if failed else None, opened=True)


def _ids(turn: Turn, frame: Frame, wait: DependencyWait) -> list[str]:
    if wait.form == "group":
        assert wait.group is not None
        group = turn.run.groups.get(wait.group.value)
        if group is None:
            raise StepFault("unknown-group", f'This run has started no group "{wait.group.value}".')
        return list(dict.fromkeys(group.runs))
    scope = turn.scope(frame)
    if wait.runs is None:
        given = scope.get("agent_workflow_ids")
    else:
        given = turn.evaluator.value(wait.runs.value, scope)
    if wait.form == "one":
        given = [given]
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise StepFault("bad-value", "A wait for workflows needs run ids as text, and got something else.")
    return list(dict.fromkeys(given))


def _judge(
    turn: Turn,
    frame: Frame,
    step: Step,
    node: Node,
    body: Runs,
    failed: tuple[str, str] | None,
    why: str = "",
    opened: bool = False,
) -> None:
    """Complete, fail, or go on waiting (section 8, ``mode``)."""
    verdict = _verdict(body, failed)
    path = join(frame.prefix, step.id)
    if verdict is None:
        need = {"all": len(body.pending), "any": 1}.get(body.mode, body.quorum - len(body.done))
        turn.out.waits[path] = WaitRow(path, node.visit, "runs", need, tuple(body.pending), opened)
        turn.touch(frame)
        return
    stopping.drop_wait(turn, frame)
    if verdict:
        if why:
            verdict += f" {why}"
        turn.note("wait.failed", path, node.visit, {"message": verdict})
        steps.fail(turn, frame, step, node.visit, Fault("dependency-failed", verdict))
        return
    turn.note("wait.satisfied", path, node.visit)
    try:
        _depended(turn, frame, step, node, body)
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


def _verdict(body: Runs, failed: tuple[str, str] | None) -> str | None:
    """None: still open; empty: satisfied; else why it cannot be satisfied any more."""
    which = f' The run "{failed[0]}" is {failed[1]}.' if failed is not None else ""
    if body.mode == "all":
        if failed is not None:
            return f'The run "{failed[0]}" that this step waits for is {failed[1]}.'
        return None if body.pending else ""
    need = body.quorum if body.mode == "quorum" else 1
    if len(body.done) >= need:
        return ""
    if len(body.done) + len(body.pending) < need:
        if not body.ids:
            return f'There are no runs to wait for, and the mode "{body.mode}" needs one to complete.'
        return f"{need} of {len(body.ids)} runs would have to complete, and that cannot be reached.{which}"
    return None


def _depended(turn: Turn, frame: Frame, step: Step, node: Node, body: Runs) -> None:
    wait = step.kind
    assert isinstance(wait, DependencyWait)
    done = [run for run in body.ids if run in body.done]
    states = {run: turn.view.given(run) for run in done}
    if wait.result_key is None:
        maps = [states[run] for run in done]
        steps.complete(turn, frame, step, node.visit, states, writes=[], merged=maps)
        return
    result: Json = states[done[0]] if wait.form == "one" else states
    steps.complete(turn, frame, step, node.visit, result, writes=[(wait.result_key, result)])


def run_ended(turn: Turn, message: RunEnded) -> None:
    """A run that this one waits for has ended."""
    found = turn.at(message.path, message.visit)
    if found is None or found[1].status != "runs":
        return
    frame, node = found
    body = node.body
    assert isinstance(body, Runs)
    if message.on not in body.pending:
        return
    body.pending.remove(message.on)
    failed = None
    if message.status == "completed":
        body.done.append(message.on)
    else:
        failed = (message.on, message.status)
    _judge(turn, frame, turn.step(frame, node.step), node, body, failed, message.why)


steps.KINDS[SignalWait] = begin_signal
steps.KINDS[Delay] = begin_delay
steps.KINDS[DependencyWait] = begin_runs
