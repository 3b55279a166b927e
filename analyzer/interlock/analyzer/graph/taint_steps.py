"""The steps of one workflow under the abstract interpretation for secrets.

Each step's result gets its shape from the values that it is made of; what reaches a place where
no secret may be becomes a leak.  The fixpoint over workflows is the part of ``taint``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.graph.flow import ListFlow
from interlock.analyzer.graph.scope import SiteScope
from interlock.analyzer.graph.taint import Leak, public
from interlock.analyzer.graph.taint_eval import evaluate
from interlock.analyzer.graph.taint_shapes import (
    Shape,
    Trace,
    covers,
    element,
    hop,
    join,
    shape_of,
    traces,
    whole,
)
from interlock.analyzer.graph.taint_starts import StartInputs
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    DependencyWait,
    ForEach,
    RunWorkflow,
    Section,
    StartWorkflows,
    Step,
    StepList,
)
from interlock.analyzer.model.values import ListValue, Literal, MapValue, Member, Setting, Template, Value
from interlock.analyzer.source.text import Span

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit
    from interlock.analyzer.graph.taint import Taint


class Place(msgspec.Struct, frozen=True, eq=False):
    """Where a value is evaluated: before the step at ``at`` of a list.

    ``step`` is the step whose own result is seen too; ``params`` tells that ``secrets`` may stand
    there.
    """

    flow: ListFlow | None
    at: int = 0
    step: Step | None = None
    params: bool = False


class UnitTaint:
    """One pass over a workflow, given what its inputs and its children carry."""

    def __init__(self, unit: Unit, taint: Taint) -> None:
        self.unit = unit
        self.taint = taint
        self.outputs: Shape | None = None
        self.inputs = taint.inputs_of(unit)
        self.leaks: list[Leak] = []
        self.names: dict[ListFlow, dict[str, Shape]] = {}
        self.state: dict[Step, dict[str, Shape]] = {}
        self.changed = False
        self._known_secrets: dict[bool, Shape] = {}

    def run(self) -> tuple[Leak, ...]:
        """Interprets the workflow until nothing changes, and gives its leaks."""
        workflow, flow = self.unit.workflow, self.unit.flow
        while True:
            self.changed = False
            self.leaks = []
            nowhere = Place(None)
            if workflow.concurrency is not None:
                key = workflow.concurrency.supersession_key
                self._key("IL502", key, nowhere, "this supersession key")
            self._key("IL503", workflow.idempotency_key, nowhere, "this idempotency key")
            for list_flow in flow.lists:
                if list_flow.owner is None:
                    self._list(list_flow)
            self.outputs = self._outputs()
            if not self.changed or not any(list_flow.jumps for list_flow in flow.lists):
                return tuple(self.leaks)

    def _outputs(self) -> Shape | None:
        workflow, top = self.unit.workflow, self.unit.flow.top
        if workflow.outputs is None:
            return public(self.state_at(Place(None))) if "outputs" not in workflow.fields else None
        place = Place(top, len(top.steps) if top is not None else 0)
        members: dict[str, Shape | None] = {}
        for output in workflow.outputs.value.members:
            if not output.name.startswith("_"):
                shape = self.stored(output.value, place, f"outputs.{output.name}", "the outputs of the run")
                members[output.name] = shape
        return shape_of((), members)

    # -- names ------------------------------------------------------------------------------

    def root(self, name: str, place: Place) -> Shape | None:
        """What a bare name carries where an expression stands."""
        if name == "inputs":
            return self.inputs
        if name == "secrets":
            return self._secrets(place)
        if name == "state":
            return self.state_at(place)
        flow = place.flow
        while flow is not None and flow.role != "handler":
            known = self.names.get(flow)
            if known is not None and name in known:
                return known[name]
            flow = flow.parent
        if not self.names:
            return None
        scope = SiteScope(self.unit.scopes, place.flow, place.at, place.step)
        if scope.find(name) is not None:
            return None
        # An unknown name counts as the one near name; the two differ, so this ends.
        near = nearest(name, dict.fromkeys(scope.names()))
        return self.root(near, place) if near is not None else None

    def _secrets(self, place: Place) -> Shape:
        """All secrets.  Where they may not stand that is what gets reported, and no storing."""
        if place.params not in self._known_secrets:
            self._known_secrets[place.params] = self._make_secrets(place.params)
        return self._known_secrets[place.params]

    def _make_secrets(self, fresh: bool) -> Shape:
        workflow = self.unit.workflow
        members: dict[str, Shape | None] = {}
        for site in self.unit.sites:
            for use in self.unit.uses(site.expression) if "secrets" in site.expression.source else ():
                if use.path[0] == "secrets" and use.path[1:]:
                    name = use.path[1]
                    members[name] = Shape((Trace(workflow.span, "", f"secrets.{name}", None, fresh),))
        for secret in workflow.secrets:
            text = f'secret "{secret.name}" is declared here'
            trace = Trace(secret.span, text, f"secrets.{secret.name}", None, fresh)
            members[secret.name] = Shape((trace,))
        rest = Shape((Trace(workflow.span, "", "secrets", None, fresh),))
        return shape_of((), members, rest) or rest

    def state_at(self, place: Place) -> Shape | None:
        """What the public state may carry: the results of top-level steps that may have settled."""
        flow, at, top = place.flow, place.at, self.unit.flow.top
        steps = set(self.state)
        if flow is not None and flow.role != "handler":
            while flow.owner is not None and flow.parent is not None:
                flow, at = self.unit.flow.of(flow.owner)
            if top is not None and at < len(top.steps):
                before = range(at) if top.straight else top.may_have_settled(at)
                steps &= {top.steps[number] for number in before}
                if place.step is not None and place.step in self.state:
                    steps.add(place.step)
        members: dict[str, Shape | None] = {}
        for step, written in self.state.items():
            if step in steps:
                for name, shape in written.items():
                    members[name] = join(members.get(name), shape)
        return shape_of((), members)

    def write(self, step: Step, flow: ListFlow, name: str, shape: Shape | None, readable: bool = True) -> None:
        """A name of a scope gets a value; top-level ones are part of the state, too."""
        if shape is None or not name:
            return
        if readable:
            self._remember(self.names.setdefault(flow, {}), name, shape)
        if flow.role == "workflow" and not name.startswith("_"):
            self._remember(self.state.setdefault(step, {}), name, shape)

    def _remember(self, known: dict[str, Shape], name: str, shape: Shape) -> None:
        if covers(known.get(name), shape):
            return
        merged = join(known.get(name), shape)
        assert merged is not None
        known[name] = merged
        self.changed = True

    # -- values -----------------------------------------------------------------------------

    def leaf(self, template: Template, place: Place, text: bool = False) -> Shape | None:
        """What a template carries; in a ``text`` field it is written as text."""
        shapes = [evaluate(expression, lambda name: self.root(name, place)) for expression in template.expressions]
        return shapes[0] if template.whole and not text else whole(*shapes)

    def carried(self, value: Value, place: Place) -> Shape | None:
        """What a value carries, without a step of its way."""
        if isinstance(value, Literal):
            return None
        if isinstance(value, Template):
            return self.leaf(value, place)
        if isinstance(value, MapValue):
            return shape_of((), {m.name: self.carried(m.value, place) for m in value.members})
        items: Shape | None = None
        for item in value.items:
            items = join(items, self.carried(item, place))
        return shape_of((), {}, items)

    def stored(self, value: Value, place: Place, label: str, storing: str | None, taken: str = "") -> Shape | None:
        """What a value carries as it is kept under ``label``.

        ``storing`` names the place where the engine would store it, for IL505 at each leaf that
        brings a secret there first; None where it is no such place.
        """
        if isinstance(value, Literal):
            return None
        if isinstance(value, MapValue):
            members = {m.name: self.stored(m.value, place, f"{label}.{m.name}", storing, taken) for m in value.members}
            return shape_of((), members)
        if isinstance(value, ListValue):
            items: Shape | None = None
            for item in value.items:
                items = join(items, self.stored(item, place, label, storing, taken))
            return shape_of((), {}, items)
        shape = self.leaf(value, place)
        if storing is not None:
            self.store(shape, value.span, storing)
        return hop(shape, value.span, taken or f'it goes into "{label}"', keep_fresh=storing is None)

    def store(self, shape: Shape | None, span: Span, storing: str) -> None:
        """A leak where the value brings a secret that was stored nowhere before."""
        first = next((trace for trace in traces(shape) if trace.fresh), None)
        if first is not None:
            self.leaks.append(Leak("IL505", span, first, storing))

    def _key(self, code: str, key: Setting[Value] | None, place: Place, title: str) -> Shape | None:
        """A key is text that everybody may see: a leak at each reading of a secret in it."""
        if key is None or not isinstance(key.value, Template):
            return None
        shape = self.leaf(key.value, place, text=True)
        self._leaked(code, shape, title)
        return hop(shape, key.value.span, f"{title} carries it".removeprefix("this "), keep_fresh=False)

    def _leaked(self, code: str, shape: Shape | None, title: str) -> None:
        self.leaks.extend(Leak(code, trace.span, trace, title) for trace in traces(shape))

    # -- steps ------------------------------------------------------------------------------

    def _list(self, flow: ListFlow) -> None:
        for number, step in enumerate(flow.steps):
            self._step(step, flow, Place(flow, number))

    def _inner(self, steps: StepList) -> Place:
        flow = self.unit.flow.inner(steps)
        self._list(flow)
        return Place(flow, len(flow.steps))

    def _step(self, step: Step, flow: ListFlow, place: Place) -> None:
        kind = step.kind
        storing = "the public state" if flow.role == "workflow" else None
        result: Shape | None = None
        if isinstance(kind, BlockCall):
            result = self._block(step, kind, Place(flow, place.at, None, True), storing)
        elif isinstance(kind, Branches):
            result = self._branches(step, kind, place, storing)
        elif isinstance(kind, Section):
            result = self._section(step, kind, place, storing)
        elif isinstance(kind, ForEach):
            result = self._for_each(step, kind, place, storing)
        elif isinstance(kind, RunWorkflow):
            self._run_workflow(step, kind, flow, place)
        elif isinstance(kind, StartWorkflows):
            StartInputs(self, kind, place).deliver()
        elif isinstance(kind, DependencyWait):
            self._wait(step, kind, flow)
        self.write(step, flow, step.id, result, readable=flow.role != "handler")
        if step.compensate is not None and step.compensate.params is not None:
            own = Place(flow, place.at, step, True)
            self._log(step.compensate.block, step.compensate.params.value, own)

    def _block(self, step: Step, kind: BlockCall, place: Place, storing: str | None) -> Shape | None:
        spec = self.unit.program.block(kind.block)
        if spec is None or kind.block is None:
            return None
        if kind.params is not None:
            if spec.name == "set":
                return self.stored(kind.params.value, place, step.id, storing)
            self._log(kind.block, kind.params.value, place)
        result: Shape | None = None
        for path in spec.secret_results:
            member_name = ".".join(path) or "the whole"
            text = f'block "{spec.name}" marks "{member_name}" of its result secret'
            shape = Shape((Trace(kind.block.span, text, ".".join((step.id, *path))),))
            if storing is not None:
                self.store(shape, kind.block.span, storing)
            result = join(result, _at(path, hop(shape, kind.block.span, text, keep_fresh=storing is None)))
        return result

    def _log(self, block: Setting[str] | None, params: MapValue, place: Place) -> None:
        spec = self.unit.program.block(block)
        if spec is None or spec.name != "log":
            return
        known = ("message", "level")
        for param in params.members:
            if param.name in known or nearest(param.name, known):
                self._leaked("IL507", whole(self.carried(param.value, place)), "the log")

    def _branches(self, step: Step, kind: Branches, place: Place, storing: str | None) -> Shape | None:
        members: dict[str, Shape | None] = {}
        for branch in kind.branches:
            inner = place if branch.steps is None else self._inner(branch.steps)
            if branch.outputs is not None:
                label = f"{step.id}.branches.{branch.name}.output"
                output = self.stored(branch.outputs.value, inner, label, storing)
                members[branch.name] = shape_of((), {"output": output})
        return shape_of((), {"branches": shape_of((), members)})

    def _section(self, step: Step, kind: Section, place: Place, storing: str | None) -> Shape | None:
        key = self._key("IL501", kind.resource, place, "this resource key")
        inner = place
        if kind.steps is not None:
            flow = self.unit.flow.inner(kind.steps)
            if key is not None:
                self._remember(self.names.setdefault(flow, {}), "lease", Shape((), {"key": key}))
            inner = self._inner(kind.steps)
        if kind.outputs is None:
            return None
        output = self.stored(kind.outputs.value, inner, f"{step.id}.output", storing)
        return shape_of((), {"output": output})

    def _for_each(self, step: Step, kind: ForEach, place: Place, storing: str | None) -> Shape | None:
        items = self.carried(kind.items.value, place) if kind.items is not None else None
        inner = place
        if kind.steps is not None:
            flow = self.unit.flow.inner(kind.steps)
            if kind.items is not None and (item := element(items)) is not None:
                text = f'each item of {step.called} is "{kind.as_name}" in its steps'
                moved = hop(item, kind.items.span, text, keep_fresh=True)
                if moved is not None:
                    self._remember(self.names.setdefault(flow, {}), kind.as_name, moved)
            inner = self._inner(kind.steps)
        if kind.outputs is None:
            return None
        output = self.stored(kind.outputs.value, inner, f"{step.id}.results", storing)
        winner = shape_of((), {"output": output})
        return shape_of((), {"results": shape_of((), {}, output), "winner": winner})

    # -- other runs -------------------------------------------------------------------------

    def declared(self, child: Unit, name: str) -> str | None:
        """The input of a child that a name stands for; None for none, and for a secret one."""
        inputs = child.workflow.inputs
        found = name if name in inputs else nearest(name, inputs)
        return None if found is None or inputs[found].secret else found

    def _run_workflow(self, step: Step, kind: RunWorkflow, flow: ListFlow, place: Place) -> None:
        child = self.unit.program.child(kind.workflow)
        if child is None or kind.workflow is None:
            return
        for given in kind.inputs.value.members if kind.inputs is not None else ():
            self._input(child, given, place)
        self._gets_back(step, flow, kind.result_key, self._given_back(child, kind.workflow.span, kind.result_key))

    def _given_back(self, child: Unit, span: Span, result_key: str | None) -> Shape | None:
        under = f' under "{result_key}"' if result_key else ""
        return self.taint.given_back(child, span, f'workflow "{child.name}" gives it back{under}')

    def _gets_back(self, step: Step, flow: ListFlow, result_key: str | None, back: Shape | None) -> None:
        """What other runs give goes under the result key, or is merged into the scope."""
        if result_key is not None:
            self.write(step, flow, result_key, back)
        elif back is not None:
            for name, shape in back.members.items():
                self.write(step, flow, name, shape, readable=False)

    def _wait(self, step: Step, kind: DependencyWait, flow: ListFlow) -> None:
        """A wait gets the outputs of the runs that this one started, as far as they are known."""
        back: Shape | None = None
        for starter in self.unit.groups.waited_for(kind):
            child = self.unit.program.child(starter.workflow)
            if child is not None:
                back = join(back, self._given_back(child, kind.key, kind.result_key))
        if kind.form != "one" and kind.result_key is not None:
            back = shape_of((), {}, back)
        self._gets_back(step, flow, kind.result_key, back)

    def _input(self, child: Unit, given: Member, place: Place) -> None:
        name = self.declared(child, given.name)
        if name is None:
            return
        label = f'input "{name}" of workflow "{child.name}"'
        self.taint.give(child, name, self.stored(given.value, place, name, label, f"it goes into {label}"))


def _at(path: tuple[str, ...], shape: Shape | None) -> Shape | None:
    """A shape at the end of a path; ``*`` is any member."""
    for name in reversed(path):
        shape = shape_of((), {}, shape) if name == "*" else shape_of((), {name: shape})
    return shape
