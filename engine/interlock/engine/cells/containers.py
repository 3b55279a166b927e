"""Branches and ``for_each``: inner walks side by side, their limits, modes and early ends (6.2, 7)."""

from __future__ import annotations

from interlock.analyzer.model.nodes import Branches, ForEach, Step
from interlock.engine.cells import steps, stopping
from interlock.engine.cells.state import Each, Fan, Frame, Node, join
from interlock.engine.cells.turn import ITEMS, StepFault, Turn
from interlock.engine.errors import Fault
from interlock.engine.ports import EvaluationError, Json

# --- branches --------------------------------------------------------------------------------------


def begin_branches(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    """Start the first branches; a retried step keeps what its branches have completed."""
    body = step.kind
    assert isinstance(body, Branches)
    node = Node(step.id, visit, "open", turn.order(), turn.now, body=Fan())
    steps.parked(turn, frame, node, step)
    _more_branches(turn, frame, step, node)


def _more_branches(turn: Turn, frame: Frame, step: Step, node: Node) -> None:
    body, fan = step.kind, node.body
    assert isinstance(body, Branches)
    assert isinstance(fan, Fan)
    path = join(frame.prefix, step.id)
    while fan.open < body.limit and fan.begun < len(body.branches) and not frame.halt:
        prefix = join(path, body.branches[fan.begun].name)
        fan.begun += 1
        old = turn.cell.frames.get(prefix)
        if old is not None and old.status == "completed":
            continue
        fan.open += 1
        _open_or_resume(turn, prefix, path, None, old)
    turn.touch(frame)
    if fan.open == 0 and (fan.begun == len(body.branches) or frame.halt):
        _branches_settled(turn, frame, step, node, fan, body)


def _open_or_resume(turn: Turn, prefix: str, path: str, index: int | None, old: Frame | None) -> None:
    if old is not None and old.status in ("failed", "stopped") and old.unwinding is None:
        steps.resume(turn, old)
    else:
        steps.open_frame(turn, prefix, path, index=index)


def branch_done(turn: Turn, inner: Frame) -> None:
    found = turn.above(inner.prefix)
    assert found is not None
    frame, node = found
    assert isinstance(node.body, Fan)
    node.body.open -= 1
    _more_branches(turn, frame, turn.step(frame, node.step), node)


def _branches_settled(turn: Turn, frame: Frame, step: Step, node: Node, fan: Fan, body: Branches) -> None:
    path = join(frame.prefix, step.id)
    results: dict[str, Json] = {}
    failed: Frame | None = None
    for branch in body.branches[: fan.begun]:
        inner = turn.cell.frames[join(path, branch.name)]
        if inner.status == "completed":
            output = turn.cell.values[inner.prefix].get("")
            results[branch.name] = {"status": "completed", "output": output, "error": None}
        elif inner.status == "failed" and inner.fault is not None:
            failed = failed or inner
            error = {"code": inner.fault.code, "message": inner.fault.message}
            results[branch.name] = {"status": "failed", "output": None, "error": error}
        else:
            steps.quiet(turn, frame)
            return
    if fan.begun < len(body.branches):
        steps.quiet(turn, frame)
        return
    if failed is not None and body.on_error == "fail":
        assert failed.fault is not None
        name = failed.prefix.rpartition("/")[2]
        message = f'The branch "{name}" failed: {failed.fault.message}'
        steps.fail(turn, frame, step, node.visit, Fault("branch-failed", message))
        return
    _complete(turn, frame, step, node, {"branches": results})


def _complete(turn: Turn, frame: Frame, step: Step, node: Node, result: Json) -> None:
    path = join(frame.prefix, step.id)
    try:
        steps.complete(turn, frame, step, node.visit, result, before=lambda: turn.forget(path))
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


# --- for_each --------------------------------------------------------------------------------------


def begin_items(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    """Render the list and start the first items; a retried step keeps what its items have completed."""
    body = step.kind
    assert isinstance(body, ForEach)
    assert body.items is not None
    path = join(frame.prefix, step.id)
    kept = turn.cell.values.get(path, {}).get(ITEMS)
    items = kept if kept is not None else turn.evaluator.value(body.items.value, turn.scope(frame))
    if not isinstance(items, list):
        raise StepFault("bad-value", f'"items" must give a list, and gave {_kind_of(items)}.')
    turn.check_budget("max_for_each_items", len(items))
    turn.run.items = max(turn.run.items, len(items))
    each = Each(total=len(items))
    node = Node(step.id, visit, "open", turn.order(), turn.now, body=each)
    steps.parked(turn, frame, node, step)
    if kept is None:
        turn.store(path, ITEMS, visit, items)
    else:
        _recount(turn, path, each)
    _decide(turn, body, each)
    _more_items(turn, frame, step, node)


def _recount(turn: Turn, path: str, each: Each) -> None:
    for index in range(each.total):
        inner = turn.cell.frames.get(join(path, index))
        if inner is not None and inner.status == "completed":
            each.ok += 1
            each.winner = index if each.winner is None else each.winner


def _more_items(turn: Turn, frame: Frame, step: Step, node: Node) -> None:
    body, each = step.kind, node.body
    assert isinstance(body, ForEach)
    assert isinstance(each, Each)
    path = join(frame.prefix, step.id)
    while each.open < body.limit and each.begun < each.total and each.verdict is None and not frame.halt:
        index = each.begun
        each.begun += 1
        old = turn.cell.frames.get(join(path, index))
        if old is not None and old.status == "completed":
            continue
        each.open += 1
        _open_or_resume(turn, join(path, index), path, index, old)
    turn.touch(frame)
    if each.open == 0 and (each.verdict is not None or frame.halt):
        _items_settled(turn, frame, step, node, each, body)


def _decide(turn: Turn, body: ForEach, each: Each) -> None:
    """Set the verdict as soon as the mode allows (section 7)."""
    if each.verdict is not None:
        return
    if body.mode == "all":
        if each.ok + each.bad == each.total:
            each.verdict = "failed" if each.bad else "completed"
        return
    need = body.quorum.value if body.mode == "quorum" and body.quorum is not None else 1
    if each.ok >= need:
        each.verdict = "completed"
    elif each.total - each.bad < need:
        each.verdict = "failed"


def item_done(turn: Turn, inner: Frame) -> None:
    """An item has settled; one that was stopped early is compensated before it counts as quiet."""
    found = turn.above(inner.prefix)
    assert found is not None
    frame, node = found
    each, step = node.body, turn.step(frame, node.step)
    body = step.kind
    assert isinstance(each, Each)
    assert isinstance(body, ForEach)
    if inner.status == "stopped" and each.verdict is not None and not frame.halt and inner.halt:
        if inner.unwinding is None and stopping.unwind(turn, inner):
            return
    each.open -= 1
    if inner.status == "completed":
        each.ok += 1
        if each.winner is None:
            each.winner = inner.index
    elif inner.status == "failed":
        each.bad += 1
    decided = each.verdict is not None
    _decide(turn, body, each)
    if each.verdict is not None and not decided:
        path = join(frame.prefix, step.id)
        for index in range(each.begun):
            other = turn.cell.frames.get(join(path, index))
            if other is not None and other.status == "open":
                stopping.halt(turn, other)
    _more_items(turn, frame, step, node)


def _items_settled(turn: Turn, frame: Frame, step: Step, node: Node, each: Each, body: ForEach) -> None:
    if each.verdict is None:
        steps.quiet(turn, frame)
        return
    path = join(frame.prefix, step.id)
    results: list[Json] = [None] * each.total
    failures: list[Json] = []
    for index in range(each.total):
        inner = turn.cell.frames.get(join(path, index))
        if inner is None:
            continue
        if inner.status == "completed":
            results[index] = turn.cell.values[inner.prefix].get("")
        elif inner.status == "failed" and inner.fault is not None:
            error = {"code": inner.fault.code, "message": inner.fault.message}
            failures.append({"index": index, "error": error})
    if each.verdict == "failed":
        steps.fail(turn, frame, step, node.visit, _items_fault(body, each, failures))
        return
    winner = None
    if each.winner is not None:
        winner = {"index": each.winner, "output": results[each.winner]}
    result = {
        "mode": body.mode,
        "quorum": body.quorum.value if body.quorum is not None else None,
        "total": each.total,
        "succeeded": each.ok,
        "failed": each.bad,
        "winner": winner,
        "results": results,
        "failures": failures,
    }
    _complete(turn, frame, step, node, result)


def _items_fault(body: ForEach, each: Each, failures: list[Json]) -> Fault:
    if not each.total:
        code = "quorum-unreachable" if body.mode == "quorum" else "item-failed"
        return Fault(code, f'There are no items, and the mode "{body.mode}" needs a success.')
    first = f" Item {failures[0]['index']} failed: {failures[0]['error']['message']}" if failures else ""
    if body.mode == "quorum":
        need = body.quorum.value if body.quorum is not None else 1
        message = f"{each.bad} of {each.total} items failed, so {need} successes cannot be reached.{first}"
        return Fault("quorum-unreachable", message)
    return Fault("item-failed", f"{each.bad} of {each.total} items failed.{first}")


def _kind_of(value: Json) -> str:
    return {dict: "a map", str: "text", bool: "a boolean", int: "a number", float: "a number"}.get(type(value), "null")


steps.KINDS[Branches] = begin_branches
steps.KINDS[ForEach] = begin_items
steps.DONE["branch"] = branch_done
steps.DONE["item"] = item_done
