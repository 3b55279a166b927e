"""The types of what steps give: the result shapes of sections 5 to 9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.analyzer.expressions.types import (
    BOOL,
    DYN,
    INT,
    NULL,
    STRING,
    List,
    Map,
    Record,
    String,
    Type,
    from_json_schema,
    join,
    of_json,
    one_of,
)
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branch,
    Branches,
    Delay,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
)
from interlock.analyzer.model.values import ListValue, MapValue, Setting, Template, Value

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit
    from interlock.analyzer.graph.scope import Scopes

ERROR = Record({"code": STRING, "message": STRING}, False, "an error")
STATUSES = ("completed", "failed")
OUTCOMES = ("approved", "rejected")


def result_type(scopes: Scopes, step: Step) -> Type:
    """The type of the result of a step that was not skipped."""
    kind = step.kind
    name = f"the result of {step.called}"
    if isinstance(kind, BlockCall):
        return _block(scopes, kind, name)
    if isinstance(kind, Branches):
        branches: dict[str, Type] = {
            branch.name: _branch(scopes, kind, branch) for branch in kind.branches if branch.name
        }
        inner = Record(branches, False, f"the branches of {step.called}", (step,))
        return Record({"branches": inner}, False, name)
    if isinstance(kind, Section):
        return _section(scopes, step, kind, name)
    if isinstance(kind, ForEach):
        return _for_each(scopes, step, kind, name)
    if isinstance(kind, RunWorkflow):
        return scopes.child_outputs(kind)
    if isinstance(kind, StartWorkflows):
        return List(STRING)
    if isinstance(kind, DependencyWait):
        return DYN if kind.form == "one" else Map(DYN)
    if isinstance(kind, SignalWait):
        return _signal(kind, name)
    if isinstance(kind, Delay):
        return Record({}, False, name)
    return DYN


def _block(scopes: Scopes, kind: BlockCall, name: str) -> Type:
    spec = scopes.unit.program.block(kind.block)
    if spec is None:
        return DYN
    if spec.name == "set" and spec.built_in:
        if kind.params is None:
            return Record({}, False, name)
        given = value_type(scopes, kind.params.value)
        return Record(given.fields, given.open, name) if isinstance(given, Record) else given
    if spec.result is None:
        return DYN
    return from_json_schema(spec.result, name)


def outputs_type(scopes: Scopes, outputs: Setting[MapValue] | None, name: str, owner: object) -> Record:
    """What a branch, section, item or workflow (the ``owner``) shows: its outputs, each with its type."""
    if outputs is None:
        return Record({}, False, name)
    given = value_type(scopes, outputs.value)
    assert isinstance(given, Record)
    return Record(given.fields, False, name, (owner,))


def _branch(scopes: Scopes, kind: Branches, branch: Branch) -> Type:
    name = f'the output of branch "{branch.name}"'
    output: Type = outputs_type(scopes, branch.outputs, name, branch)
    error: Type = NULL
    if kind.on_error == "collect":
        output = one_of((NULL, output))
        error = one_of((NULL, ERROR))
    fields: dict[str, Type] = {"status": String(STATUSES), "output": output, "error": error}
    return Record(fields, False, f'branch "{branch.name}"')


def _section(scopes: Scopes, step: Step, kind: Section, name: str) -> Type:
    output: Type = outputs_type(scopes, kind.outputs, f"the output of {step.called}", step)
    fence: Type = INT
    if kind.on_busy == "skip" or (step.when is not None and step.when.value is not True):
        output, fence = one_of((NULL, output)), one_of((NULL, INT))
    return Record({"acquired": BOOL, "output": output, "fence": fence}, False, name)


def _for_each(scopes: Scopes, step: Step, kind: ForEach, name: str) -> Type:
    output = outputs_type(scopes, kind.outputs, f"the output of an item of {step.called}", step)
    winner: Type = Record({"index": INT, "output": output}, False, "the winner")
    result: Type = output
    if winner_may_be_absent(kind):
        winner = one_of((NULL, winner))
    if kind.mode != "all":
        result = one_of((NULL, output))
    failure = Record({"index": INT, "error": ERROR}, False, "a failure")
    quorum: Type = INT if kind.mode == "quorum" else DYN
    fields: dict[str, Type] = {
        "mode": String(("all", "first_success", "quorum")),
        "quorum": quorum,
        "total": INT,
        "succeeded": INT,
        "failed": INT,
        "winner": winner,
        "results": List(result),
        "failures": List(failure),
    }
    return Record(fields, False, name)


def winner_may_be_absent(kind: ForEach) -> bool:
    """Whether the step can complete without a success: with ``mode: all``, for want of items."""
    if kind.mode != "all":
        return False
    items = kind.items.value if kind.items is not None else None
    return not (isinstance(items, ListValue) and items.items)


def _signal(kind: SignalWait, name: str) -> Type:
    if kind.form == "decision":
        fields: dict[str, Type] = {"outcome": String(OUTCOMES), "signal": STRING, "data": DYN}
        return Record(fields, False, "the decision")
    if kind.form == "signals":
        return Map(DYN)
    return DYN


def child_record(child: Unit) -> Type:
    """What a completed run of a workflow gives: its outputs by name, or a state that is not known."""
    workflow = child.workflow
    if workflow.outputs is None:
        return DYN
    name = f'the outputs of "{child.name}"'
    if child in _OPEN:
        return DYN
    _OPEN.add(child)
    try:
        given = outputs_type(child.scopes, workflow.outputs, name, child.name)
        # Private ones never leave the child (section 2).
        public = {key: type for key, type in given.fields.items() if not key.startswith("_")}
        return Record(public, False, name, given.owners)
    finally:
        _OPEN.discard(child)


#: Children whose outputs are being typed: a workflow that runs itself must not do so without end.
_OPEN: set[object] = set()


def value_type(scopes: Scopes, value: Value) -> Type:
    """The type of a value tree; its templates are judged where they stand."""
    if isinstance(value, MapValue):
        return Record({m.name: value_type(scopes, m.value) for m in value.members})
    if isinstance(value, ListValue):
        if not value.items:
            return List(DYN)
        item = value_type(scopes, value.items[0])
        for other in value.items[1:]:
            item = join(item, value_type(scopes, other))
        return List(item)
    if isinstance(value, Template):
        if not value.whole:
            return STRING
        site = scopes.site_of(value)
        return DYN if site is None else scopes.checked(site).type
    return of_json(value.data)


__all__ = [
    "ERROR",
    "child_record",
    "outputs_type",
    "result_type",
    "value_type",
    "winner_may_be_absent",
]
