"""A definition made ready to be walked: every list of steps by its static prefix, and the names in it."""

from __future__ import annotations

import re

import msgspec

from interlock.analyzer.expressions.uses import string_literals
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    StepList,
    Workflow,
)
from interlock.analyzer.model.values import MapValue, Template
from interlock.engine.cells.state import join
from interlock.engine.ports import Blocks, Definition

ROOTS = frozenset({"inputs", "secrets", "state", "run", "lease", "index", "item"})
HANDLERS = ("@on_cancel", "@on_deadline")

_POSITION = re.compile(r"(?<=/)\d+(?=/|$)")


class ListPlan(msgspec.Struct, frozen=True, eq=False):
    """One list of steps.  ``names`` are those that a merge must not hit (here and around it); ``item`` is
    the name of the item that an item's list reads."""

    steps: tuple[Step, ...]
    index: dict[str, int]
    outputs: MapValue | None
    names: frozenset[str]
    kind: str
    item: str = ""

    def first(self) -> str | None:
        return self.steps[0].id if self.steps else None

    def targets(self, template: Template) -> frozenset[str]:
        """The ids, and ``end``, that stand in a ``next`` template as string literals (section 5)."""
        named = {
            literal.value
            for expression in template.expressions
            if expression.tree is not None
            for literal in string_literals(expression.tree)
        }
        return frozenset(name for name in named if isinstance(name, str) and (name in self.index or name == "end"))

    def following(self, step: str) -> str | None:
        at = self.index[step] + 1
        return self.steps[at].id if at < len(self.steps) else None


class Plan:
    """A definition with its lists of steps found by prefix; item positions count as ``*``."""

    def __init__(self, definition: Definition, blocks: Blocks) -> None:
        self.definition = definition
        self.workflow: Workflow = definition.workflow
        self.blocks = blocks
        self.lists: dict[str, ListPlan] = {}
        self._seen: dict[str, ListPlan] = {}
        self._costs: dict[str, int] | None = None
        workflow = definition.workflow
        names = ROOTS | frozenset(workflow.inputs)
        self._add("", workflow.steps, None, names, "root")
        self._add(HANDLERS[0], workflow.on_cancel, None, names, "handler")
        self._add(HANDLERS[1], workflow.on_deadline, None, names, "handler")
        self.secret_inputs = tuple(name for name, given in workflow.inputs.items() if given.secret)
        self.compensates = bool(workflow.compensate_on_failure and workflow.compensate_on_failure.value)

    def _add(
        self,
        prefix: str,
        steps: StepList | None,
        outputs: MapValue | None,
        outer: frozenset[str],
        kind: str,
        item: str = "",
    ) -> None:
        listed = steps.steps if steps is not None else ()
        names = outer | {step.id for step in listed} | {key for step in listed for key in result_keys(step)}
        index = {step.id: at for at, step in enumerate(listed)}
        self.lists[prefix] = ListPlan(listed, index, outputs, names, kind, item)
        for step in listed:
            body = step.kind
            path = join(prefix, step.id)
            if isinstance(body, Branches):
                for branch in body.branches:
                    shown = branch.outputs.value if branch.outputs else None
                    self._add(join(path, branch.name), branch.steps, shown, names, "branch")
            elif isinstance(body, Section):
                shown = body.outputs.value if body.outputs else None
                self._add(path, body.steps, shown, names, "section")
            elif isinstance(body, ForEach):
                shown = body.outputs.value if body.outputs else None
                self._add(join(path, "*"), body.steps, shown, names | {body.as_name}, "item", body.as_name)

    def list_of(self, prefix: str) -> ListPlan:
        """The list that the frame of this prefix walks."""
        found = self._seen.get(prefix)
        if found is None:
            found = self.lists[_POSITION.sub("*", prefix)]
            self._seen[prefix] = found
        return found

    def step(self, prefix: str, step: str) -> Step:
        listed = self.list_of(prefix)
        return listed.steps[listed.index[step]]

    def cost(self, step: Step) -> int:
        """``cost_units`` of a step: its own, else the block's default, else 0 (section 10)."""
        if step.cost_units is not None:
            return step.cost_units.value
        if isinstance(step.kind, BlockCall) and step.kind.block is not None:
            return self.blocks.cost(step.kind.block.value)
        return 0

    @property
    def costs(self) -> dict[str, int]:
        """What the blocks of this definition cost where they do not cost 1."""
        if self._costs is None:
            calls = [step.kind for listed in self.lists.values() for step in listed.steps]
            names = {call.block.value for call in calls if isinstance(call, BlockCall) and call.block is not None}
            costs = {name: self.blocks.cost(name) for name in sorted(names)}
            self._costs = {name: cost for name, cost in costs.items() if cost != 1}
        return self._costs

    def protected_use(self, prefix: str, section: Step) -> tuple[int, int]:
        """Transitions and cost that one straight pass through a section takes, its own end included."""
        transitions, cost = 1, self.cost(section)
        static = _POSITION.sub("*", join(prefix, section.id))
        for name, listed in self.lists.items():
            if listed.kind != "handler" and (name == static or name.startswith(static + "/")):
                transitions += len(listed.steps)
                cost += sum(self.cost(step) for step in listed.steps)
        return transitions, cost


def result_keys(step: Step) -> tuple[str, ...]:
    """The names under which a step writes instead of its id."""
    body = step.kind
    if isinstance(body, RunWorkflow | StartWorkflows | DependencyWait | SignalWait):
        return (body.result_key,) if body.result_key else ()
    return ()


def writes_id(step: Step) -> bool:
    """Whether the step's result goes under its id (else under a result key, or it merges)."""
    return not isinstance(step.kind, RunWorkflow | StartWorkflows | DependencyWait | SignalWait)
