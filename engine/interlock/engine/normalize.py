"""Brings a workflow into its normal form: one JSON value for everything that means the same (section 10).

Comments, key order, quoting, short forms and defaults that are written out leave no trace; whatever
changes the meaning shows.  The normal form is itself a workflow document, so the analyzer's reader
makes the workflow of it again.

Three things that RFC 8785 would lose are kept beside it, under top-level keys that the language
ignores: ``x-doubles`` and ``x-integers`` list the places of numbers whose kind or digits JSON's
canonical form does not show, ``x-order`` the order of branches where it is not that of their names.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from interlock.analyzer.language.blocks import BUILT_IN
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    Compensate,
    Delay,
    DependencyWait,
    ForEach,
    Input,
    Kind,
    Retry,
    RunConcurrency,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    StepList,
    Workflow,
)
from interlock.analyzer.model.values import ListValue, MapValue, Setting, Template, Value
from interlock.engine.values import Json

Place: TypeAlias = list[str | int]

_EXACT = 2**53
BUDGETS = (
    "max_transitions",
    "max_for_each_items",
    "max_state_bytes",
    "max_cost_units",
    "max_started_workflows",
)


def escaped(text: str) -> str:
    """A literal text as a document writes it: every brace doubled."""
    return text.replace("{", "{{").replace("}", "}}")


def literal(value: Value) -> Json:
    """A value as a document writes it."""
    if isinstance(value, Template):
        return value.text
    if isinstance(value, ListValue):
        return [literal(item) for item in value.items]
    if isinstance(value, MapValue):
        return {member.name: literal(member.value) for member in value.members}
    return escaped(value.data) if isinstance(value.data, str) else value.data


def _put(made: dict[str, Any], name: str, setting: Setting[Any] | None) -> None:
    """A field that has no default: there where it was written."""
    if setting is None:
        return
    value = setting.value
    if isinstance(value, str):
        made[name] = escaped(value)
    elif isinstance(value, bool | int | float):
        made[name] = value
    else:
        made[name] = literal(value)


def _map(made: dict[str, Any], name: str, setting: Setting[MapValue] | None) -> None:
    """A mapping whose absence and emptiness mean the same."""
    if setting is not None and setting.value.members:
        made[name] = literal(setting.value)


def _seconds(value: float) -> Json:
    return int(value) if value == int(value) else value


class _Normal:
    """Makes the normal form of one workflow; ``order`` gathers the places of branches out of order."""

    def __init__(self) -> None:
        self.order: list[list[Any]] = []

    def workflow(self, workflow: Workflow) -> dict[str, Json]:
        made: dict[str, Json] = {}
        _put(made, "workflow", workflow.name)
        _put(made, "version", workflow.version)
        _put(made, "description", workflow.description)
        if workflow.inputs:
            made["inputs"] = {name: self.input(given) for name, given in workflow.inputs.items()}
        if workflow.secrets:
            made["secrets"] = sorted({secret.name for secret in workflow.secrets})
        if workflow.concurrency is not None:
            made["concurrency"] = self.admission(workflow.concurrency)
        budget = workflow.budget
        limits = {name: getattr(budget, name).value for name in BUDGETS if budget and getattr(budget, name)}
        if limits:
            made["budget"] = limits
        _put(made, "idempotency_key", workflow.idempotency_key)
        if workflow.deadline is not None:
            made["deadline"] = _seconds(workflow.deadline.value)
        if workflow.compensate_on_failure is not None and workflow.compensate_on_failure.value:
            made["compensate_on_failure"] = True
        made["steps"] = self.steps(workflow.steps, ["steps"])
        if workflow.outputs is not None:
            made["outputs"] = literal(workflow.outputs.value)
        for name, handler in (("on_cancel", workflow.on_cancel), ("on_deadline", workflow.on_deadline)):
            if handler is not None:
                made[name] = self.steps(handler, [name])
        return made

    def input(self, given: Input) -> dict[str, Json]:
        made: dict[str, Json] = {"type": given.type}
        if given.secret:
            made["secret"] = True
        if given.default is not None:
            made["default"] = self.number(given, literal(given.default.value))
        elif not given.required:
            made["required"] = False
        if given.enum is not None:
            made["enum"] = [self.number(given, literal(item)) for item in given.enum.value.items]
        return made

    def number(self, given: Input, value: Json) -> Json:
        """A ``number`` is always a double, so ``1`` and ``1.0`` say the same of it."""
        if given.type == "number" and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        return value

    def admission(self, given: RunConcurrency) -> dict[str, Json]:
        made: dict[str, Json] = {"limit": given.limit, "on_busy": given.on_busy}
        _put(made, "supersession_key", given.supersession_key)
        return made

    # -- steps ------------------------------------------------------------------------------

    def steps(self, steps: StepList | None, at: Place) -> list[Json]:
        if steps is None:
            return []
        return [self.step(step, [*at, place]) for place, step in enumerate(steps.steps)]

    def step(self, step: Step, at: Place) -> dict[str, Json]:
        made: dict[str, Json] = {"id": step.id}
        made.update(self.kind(step.kind, step.kind_name, at))
        if step.when is not None and step.when.value is not True:
            value = step.when.value
            made["when"] = value.text if isinstance(value, Template) else value
        if step.retry is not None:
            made["retry"] = self.retry(step.retry)
        if step.timeout is not None:
            made["timeout"] = _seconds(step.timeout.value)
        if step.cost_units is not None and step.cost_units.value != _usual_cost(step.kind):
            made["cost_units"] = step.cost_units.value
        if step.compensate is not None:
            made["compensate"] = self.compensate(step.compensate)
        if step.next is not None:
            target = step.next.value
            made["next"] = target.text if isinstance(target, Template) else escaped(target)
        return made

    def retry(self, retry: Retry) -> dict[str, Json]:
        made: dict[str, Json] = {
            "max_attempts": retry.max_attempts,
            "delay": _seconds(retry.delay),
            "backoff": retry.backoff,
        }
        if retry.max_delay is not None:
            made["max_delay"] = _seconds(retry.max_delay)
        return made

    def compensate(self, given: Compensate) -> dict[str, Json]:
        made: dict[str, Json] = {}
        _put(made, "block", given.block)
        _map(made, "params", given.params)
        return made

    def kind(self, kind: Kind, name: str, at: Place) -> dict[str, Json]:
        if isinstance(kind, BlockCall):
            made: dict[str, Json] = {}
            _put(made, "block", kind.block)
            _map(made, "params", kind.params)
            return made
        if isinstance(kind, Branches):
            return {"concurrency": self.branches(kind, [*at, "concurrency", "branches"])}
        if isinstance(kind, Section):
            return {"concurrency": self.section(kind, [*at, "concurrency", "steps"])}
        if isinstance(kind, ForEach):
            return {name: self.for_each(kind, [*at, name, "steps"])}
        if isinstance(kind, Delay):
            return {"delay": self.delay(kind)}
        if isinstance(kind, RunWorkflow):
            return {name: self.run_workflow(kind)}
        if isinstance(kind, StartWorkflows):
            return {name: self.start(kind)}
        if isinstance(kind, DependencyWait):
            return {name: self.dependencies(kind)}
        if isinstance(kind, SignalWait):
            return {name: self.signals(kind)}
        raise ValueError("a step without a kind has no normal form")

    def branches(self, kind: Branches, at: Place) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for branch in kind.branches:
            inner: dict[str, Json] = {"steps": self.steps(branch.steps, [*at, branch.name, "steps"])}
            _map(inner, "outputs", branch.outputs)
            made[branch.name] = inner
        names = list(made)
        if names != sorted(names):
            self.order.append([at, names])
        return {"branches": made, "limit": kind.limit, "on_error": kind.on_error}

    def section(self, kind: Section, at: Place) -> dict[str, Json]:
        made: dict[str, Json] = {
            "limit": kind.limit,
            "on_busy": kind.on_busy,
            "lifetime": kind.lifetime,
            "protected": kind.protected,
        }
        _put(made, "resource", kind.resource)
        if not kind.empty:
            made["steps"] = self.steps(kind.steps, at)
        _map(made, "outputs", kind.outputs)
        return made

    def for_each(self, kind: ForEach, at: Place) -> dict[str, Json]:
        made: dict[str, Json] = {"as": kind.as_name, "limit": kind.limit, "mode": kind.mode}
        _put(made, "items", kind.items)
        _put(made, "quorum", kind.quorum)
        made["steps"] = self.steps(kind.steps, at)
        _map(made, "outputs", kind.outputs)
        return made

    def delay(self, kind: Delay) -> Json:
        if kind.seconds is not None:
            return _seconds(kind.seconds.value)
        made: dict[str, Json] = {}
        _put(made, "until", kind.until)
        return made

    def run_workflow(self, kind: RunWorkflow) -> dict[str, Json]:
        made: dict[str, Json] = {}
        _put(made, "workflow", kind.workflow)
        _map(made, "inputs", kind.inputs)
        _named(made, "result_key", kind.result_key)
        return made

    def start(self, kind: StartWorkflows) -> dict[str, Json]:
        made: dict[str, Json] = {"inherit_state": kind.inherit_state}
        _put(made, "items", kind.items)
        _put(made, "workflow", kind.workflow)
        _named(made, "payload_key", kind.payload_key)
        _named(made, "result_key", kind.result_key)
        _put(made, "group_key", kind.group_key)
        return made

    def dependencies(self, kind: DependencyWait) -> dict[str, Json]:
        made: dict[str, Json] = {}
        if kind.form == "one":
            _put(made, "workflow", kind.runs)
        else:
            made["mode"] = kind.mode
            _put(made, "workflows", kind.runs)
            if kind.form == "many" and kind.runs is None:
                made["workflows"] = "{agent_workflow_ids}"
        _put(made, "group", kind.group)
        _put(made, "quorum", kind.quorum)
        _named(made, "result_key", kind.result_key)
        return made

    def signals(self, kind: SignalWait) -> dict[str, Json]:
        made: dict[str, Json] = {}
        if kind.form == "signal":
            _put(made, "name", kind.names[0])
        elif kind.form == "signals":
            made["names"] = [escaped(name.value) for name in kind.names]
            made["mode"] = kind.mode
        _map(made, "match", kind.match)
        _put(made, "correlation_key", kind.correlation_key)
        _named(made, "result_key", kind.result_key)
        return made


def _named(made: dict[str, Json], name: str, value: str | None) -> None:
    if value is not None:
        made[name] = escaped(value)


def _usual_cost(kind: Kind) -> int | None:
    """What a step costs where nothing is written; None where that is the host's to say."""
    if not isinstance(kind, BlockCall):
        return 0
    name = kind.block.value if kind.block is not None else ""
    return BUILT_IN[name].cost_units if name in BUILT_IN else None


# --- what canonical JSON does not show ---------------------------------------------------------


def _numbers(value: Json, at: Place, doubles: list[Place], integers: list[Place]) -> Json:
    """The value as canonical JSON can hold it; the places of what that hides are gathered."""
    if isinstance(value, dict):
        return {name: _numbers(value[name], [*at, name], doubles, integers) for name in sorted(value)}
    if isinstance(value, list):
        return [_numbers(item, [*at, place], doubles, integers) for place, item in enumerate(value)]
    if isinstance(value, float) and value == int(value):
        doubles.append(at)
        return "-0" if str(value) == "-0.0" else value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        integers.append(at)
        return str(value)
    return value


def normal_form(workflow: Workflow) -> dict[str, Json]:
    """The normal form of a workflow without errors, ready for canonical JSON."""
    normal = _Normal()
    made = normal.workflow(workflow)
    doubles: list[Place] = []
    integers: list[Place] = []
    packed: dict[str, Json] = _numbers(made, [], doubles, integers)
    hidden = {"x-doubles": doubles, "x-integers": integers, "x-order": normal.order}
    return packed | {name: places for name, places in hidden.items() if places}


def document(packed: dict[str, Json]) -> dict[str, Json]:
    """What `normal_form` packed, with its numbers and orders as they were: the document to be read."""
    made = dict(packed)
    for place in made.pop("x-doubles", ()):
        _change(made, place, float)
    for place in made.pop("x-integers", ()):
        _change(made, place, int)
    for place, names in made.pop("x-order", ()):
        _change(made, place, lambda value, names=names: {name: value[name] for name in names})
    return made


def _change(root: Any, place: Place, change: Any) -> None:
    for step in place[:-1]:
        root = root[step]
    root[place[-1]] = change(root[place[-1]])
