"""``run_workflow``, ``start_workflows`` and ``start_agents``: runs that a run dispatches (section 8)."""

from __future__ import annotations

from interlock.analyzer.expressions.uses import uses
from interlock.analyzer.model.nodes import RunWorkflow, StartWorkflows, Step
from interlock.analyzer.model.values import Value, expressions
from interlock.engine.cells import steps
from interlock.engine.cells.inputs import InputsRefused, admission, check_inputs, new_run, own_key
from interlock.engine.cells.messages import RunEnded, StopAsked
from interlock.engine.cells.state import Child, Frame, Group, Node, inside, join, parent_of
from interlock.engine.cells.turn import NewRun, StepFault, Turn, WaitRow
from interlock.engine.errors import Fault
from interlock.engine.ports import Definition, EvaluationError, Json

# --- a child ---------------------------------------------------------------------------------------


def begin_child(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    """Dispatch the child; the step lasts until it has ended."""
    body = step.kind
    assert isinstance(body, RunWorkflow)
    given: Json = {}
    if body.inputs is not None:
        given = turn.evaluator.value(body.inputs.value, turn.scope(frame))
    definition = _definition(turn, body.workflow.value if body.workflow is not None else "")
    try:
        inputs = check_inputs(definition.workflow, given)
    except InputsRefused as error:
        raise StepFault("child-inputs", str(error)) from error
    path = join(frame.prefix, step.id)
    run = turn.run
    child = new_run(
        definition,
        inputs,
        run=turn.ids.run(),
        account=run.account,
        now=turn.now,
        parent=(run.id, path, visit),
        starter=run.id,
    )
    _check_admission(turn, child)
    node = Node(step.id, visit, "child", turn.order(), turn.now, body=Child(child.run.id))
    steps.parked(turn, frame, node, step)
    turn.out.new_runs.append(child)
    turn.note("child.started", path, visit, {"run": child.run.id, "workflow": definition.name})
    turn.out.waits[path] = WaitRow(path, visit, "child", 1, (child.run.id,))


def _definition(turn: Turn, name: str) -> Definition:
    own = turn.plan.definition
    return own.closure.get(name, own)


def _check_admission(turn: Turn, child: NewRun) -> None:
    """A supersession key that cannot be rendered fails the step, not the child."""
    if child.definition.workflow.concurrency is not None:
        admission(child.definition, turn.evaluator, child.run, child.inputs)


def child_ended(turn: Turn, message: RunEnded) -> None:
    found = turn.at(message.path, message.visit)
    if found is None or found[1].status != "child":
        return
    frame, node = found
    body = node.body
    assert isinstance(body, Child)
    if body.run != message.on:
        return
    step = turn.step(frame, node.step)
    steps.unparked(turn, frame, node)
    turn.out.waits[message.path] = None
    turn.touch(frame)
    if body.fault is not None:
        steps.fail(turn, frame, step, node.visit, body.fault)
    elif message.status == "completed":
        _returned(turn, frame, step, node, body)
    elif frame.halt:
        steps.quiet(turn, frame)
    else:
        text = f'The child run "{message.on}" is {message.status}.'
        if message.why:
            text += f" {message.why}"
        steps.fail(turn, frame, step, node.visit, Fault("child-failed", text))


def _returned(turn: Turn, frame: Frame, step: Step, node: Node, body: Child) -> None:
    kind = step.kind
    assert isinstance(kind, RunWorkflow)
    outputs = turn.view.given(body.run)
    try:
        if kind.result_key is not None:
            writes = [(kind.result_key, outputs)]
            steps.complete(turn, frame, step, node.visit, outputs, writes=writes)
        else:
            steps.complete(turn, frame, step, node.visit, outputs, writes=[], merged=[outputs])
    except (StepFault, EvaluationError) as error:
        steps.refuse(turn, frame, step, node.visit, error)


def give_up_child(turn: Turn, frame: Frame, node: Node, fault: Fault) -> None:
    """The step fails with ``fault``, once its child has been stopped and has ended."""
    body = node.body
    assert isinstance(body, Child)
    if body.fault is not None:
        return
    body.fault = fault
    steps.unparked(turn, frame, node)
    turn.touch(frame)
    turn.post(StopAsked(body.run, "parent", turn.run.id))


# --- independent runs ------------------------------------------------------------------------------


def begin_starts(turn: Turn, frame: Frame, step: Step, visit: int) -> None:
    """Dispatch one run per item, all of them or none."""
    body = step.kind
    assert isinstance(body, StartWorkflows)
    assert body.items is not None
    items = turn.evaluator.value(body.items.value, turn.scope(frame))
    if not isinstance(items, list):
        raise StepFault("bad-value", '"items" must give a list.')
    path = join(frame.prefix, step.id)
    if body.group_key is not None:
        _check_group(turn, path, body.group_key.value)
    definition = _definition(turn, body.workflow.value if body.workflow is not None else "")
    offered = _offered(turn, body) if body.inherit_state else {}
    ids: list[str] = []
    new: list[NewRun] = []
    keys: dict[str, str] = {}
    for index, item in enumerate(items):
        inputs = _inputs_of(definition, offered, body, index, item)
        child = new_run(
            definition,
            inputs,
            run=turn.ids.run(),
            account=turn.run.account,
            now=turn.now,
            starter=turn.run.id,
        )
        child.run.key = own_key(definition, turn.evaluator, child)
        original = None
        if child.run.key is not None:
            original = keys.get(child.run.key) or turn.view.original(turn.run.account, child.run.key)
        if original is not None:
            ids.append(original)
            continue
        _check_admission(turn, child)
        if child.run.key is not None:
            keys[child.run.key] = child.run.id
        new.append(child)
        ids.append(child.run.id)
    ids = list(dict.fromkeys(ids))
    turn.check_budget("max_started_workflows", turn.run.started + len(new))
    turn.out.new_runs.extend(new)
    turn.run.started += len(new)
    for child in new:
        data = {"run": child.run.id, "workflow": definition.name}
        turn.note("child.started", path, visit, data)
    if body.group_key is not None:
        turn.run.groups[body.group_key.value] = Group(ids, path, turn.order())
        turn.note("group.started", path, visit, {"group": body.group_key.value, "runs": ids})
    writes = [(body.result_key, ids)] if body.result_key is not None else []
    try:
        steps.complete(turn, frame, step, visit, ids, writes=writes)
    except (StepFault, EvaluationError):
        turn.out.new_runs = [each for each in turn.out.new_runs if each not in new]
        turn.run.started -= len(new)
        turn.out.notes = [each for each in turn.out.notes if each[1] != path or each[0] == "step.entered"]
        if body.group_key is not None:
            del turn.run.groups[body.group_key.value]
        raise


def _inputs_of(
    definition: Definition, offered: dict[str, Json], body: StartWorkflows, index: int, item: Json
) -> dict[str, Json]:
    if isinstance(item, dict):
        own = {name: value for name, value in item.items() if not name.startswith("_")}
    elif body.payload_key is not None:
        own = {body.payload_key: item}
    else:
        raise StepFault("bad-value", f'Item {index} is no map, so "payload_key" must say under which input.')
    declared = definition.workflow.inputs
    given = {name: value for name, value in {**offered, **own}.items() if name in declared}
    try:
        return check_inputs(definition.workflow, given)
    except InputsRefused as error:
        raise StepFault("child-inputs", f"Item {index}: {error}") from error


def _offered(turn: Turn, body: StartWorkflows) -> dict[str, Json]:
    """The parent's inputs and public state, less what ``items`` reads from and the result key."""
    assert body.items is not None
    left_out = read_names(body.items.value)
    if body.result_key is not None:
        left_out.add(body.result_key)
    offered = {**turn.cell.inputs, **turn.cell.public()}
    return {name: value for name, value in offered.items() if name not in left_out}


def read_names(value: Value) -> set[str]:
    """The names of inputs and of the state that a value reads."""
    names: set[str] = set()
    for expression in expressions(value):
        if expression.tree is None:
            continue
        for use in uses(expression.tree):
            if use.path[0] not in ("inputs", "state"):
                names.add(use.path[0])
            elif len(use.path) > 1:
                names.add(use.path[1])
    return names


def _check_group(turn: Turn, path: str, group: str) -> None:
    """Two branches or items that stand side by side must not start the same group."""
    old = turn.run.groups.get(group)
    if old is None:
        return
    frame = turn.cell.frames[parent_of(path)]
    while frame.prefix:
        up = turn.above(frame.prefix)
        assert up is not None
        owner_frame, owner = up
        around = join(owner_frame.prefix, owner.step)
        beside = inside(old.path, around) and not inside(old.path, frame.prefix)
        if beside and old.seq > owner.opened:
            raise StepFault(
                "group-conflict", f'The group "{group}" was started by "{old.path}", which runs beside this.'
            )
        frame = owner_frame


steps.KINDS[RunWorkflow] = begin_child
steps.KINDS[StartWorkflows] = begin_starts
