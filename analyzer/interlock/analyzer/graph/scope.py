"""Which names stand where an expression stands, and what type each has (section 3).

A name stands for a root, an item of a ``for_each``, or the result of a step that has settled on
every path to the place.  Names that exist but cannot be read there are told apart: steps that
have not settled, steps inside other branches and sections, steps that give nothing under their id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.expressions.check import Checked, check
from interlock.analyzer.expressions.types import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    Double,
    Int,
    List,
    Map,
    Record,
    String,
    Type,
    one_of,
    without_null,
)
from interlock.analyzer.graph.flow import ListFlow
from interlock.analyzer.graph.results import child_record, result_type, value_type
from interlock.analyzer.graph.sites import Site
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import (
    DependencyWait,
    ForEach,
    Input,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
)
from interlock.analyzer.model.values import Expression, Template, plain

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit

_INPUT_TYPES: dict[str, Type] = {
    "string": STRING,
    "integer": INT,
    "number": DOUBLE,
    "boolean": BOOL,
    "array": List(DYN),
    "object": Map(DYN),
    "any": DYN,
}


def input_type(declared: Input) -> Type:
    """The type of an input's value; null is one of its values where it is not required."""
    kind = _INPUT_TYPES[declared.type]
    if declared.enum is not None and declared.enum.value.items:
        values = [plain(item) for item in declared.enum.value.items]
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        if declared.type == "string":
            kind = String(tuple(str(value) for value in values))
        elif declared.type == "integer" and len(numbers) == len(values):
            kind = Int(tuple(int(value) for value in numbers))
        elif declared.type == "number" and len(numbers) == len(values):
            kind = Double(tuple(float(value) for value in numbers))
    if not declared.required and declared.default is None and declared.type != "any":
        return one_of((NULL, kind))
    return kind


def result_name(step: Step) -> str | None:
    """The name under which a step writes its result: its id or its result key; None where it merges."""
    kind = step.kind
    if isinstance(kind, RunWorkflow | DependencyWait | SignalWait):
        return kind.result_key
    if isinstance(kind, StartWorkflows):
        return kind.result_key
    return step.id or None


class Named(msgspec.Struct, frozen=True, eq=False):
    """A name that can be read: its type, and the step that gives it (None for roots and items)."""

    type: Type
    step: Step | None = None


class Hidden(msgspec.Struct, frozen=True, eq=False):
    """A name that exists and cannot be read here.

    ``why``: ``later`` (not settled on every path), ``inside`` (an inner step of ``owner``),
    ``keyed`` (a step that writes under ``key`` instead, or merges), ``handler`` (a step, where handlers see
    none), ``root`` (a root of elsewhere).
    """

    why: str
    step: Step | None = None
    owner: Step | None = None
    key: str | None = None


class SiteScope:
    """The names of one place, as the checker of expressions asks for them.

    Names are looked up from the inside out: the place's own list, what its owner adds, the lists
    around it, the roots.
    """

    __slots__ = ("at", "flow", "open", "own", "scopes")

    def __init__(self, scopes: Scopes, flow: ListFlow | None, at: int, own: Step | None, open: bool = False) -> None:
        self.scopes = scopes
        self.flow = flow
        self.at = at
        self.own = own
        self.open = open

    def _visible(self) -> tuple[ListFlow | None, int]:
        """The innermost list whose steps can be seen: handlers see none, not even their own (4)."""
        if self.flow is None or self.flow.role == "handler":
            return None, 0
        return self.flow, self.at

    def find(self, name: str) -> Named | None:
        """What a name stands for here; None where it cannot be read."""
        scopes = self.scopes
        if self.own is not None and result_name(self.own) == name and not self._in_handler():
            return Named(scopes.result(self.own), self.own)
        flow, at = self._visible()
        while flow is not None:
            for number in scopes.writers(flow).get(name, ()):
                if flow.is_settled(number, at):
                    step = flow.steps[number]
                    return Named(scopes.result(step), step)
            if flow.owner is None or flow.parent is None:
                break
            if (added := scopes.added(flow.owner, name)) is not None:
                return added
            at = scopes.unit.flow.of(flow.owner)[1]
            flow = flow.parent
        if self.flow is not None and name in scopes.unit.workflow.broken_ids:
            return Named(DYN)
        found = scopes.roots.get(name) if self._stands(name) else None
        return Named(DYN) if found is None and self.open else found

    def _stands(self, name: str) -> bool:
        """Whether a root stands here: a run has no state when its own keys are rendered."""
        return name != "state" or self.flow is not None

    def _in_handler(self) -> bool:
        return self.flow is not None and self.flow.role == "handler"

    def resolve(self, name: str) -> Type | None:
        """As the checker asks: a name that exists and cannot be read here is known, and has no type.

        The rules on references say what is wrong with it.
        """
        found = self.find(name)
        if found is not None:
            return found.type
        return DYN if self.scopes.hidden(self.flow, name) is not None else None

    def names(self) -> Iterator[str]:
        scopes = self.scopes
        if self.own is not None and (own := result_name(self.own)) is not None:
            yield own
        flow, at = self._visible()
        while flow is not None:
            for name, numbers in scopes.writers(flow).items():
                if any(flow.is_settled(number, at) for number in numbers):
                    yield name
            if flow.owner is None or flow.parent is None:
                break
            yield from scopes.added_names(flow.owner)
            at = scopes.unit.flow.of(flow.owner)[1]
            flow = flow.parent
        yield from (name for name in scopes.roots if self._stands(name))


class Scopes:
    """The names and types of one workflow."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._roots: dict[str, Named] | None = None
        self._writers: dict[ListFlow, dict[str, list[int]]] = {}
        self._results: dict[Step, Type] = {}
        self._busy: set[Step] = set()
        self._checked: dict[Expression, Checked] = {}
        self._by_template: dict[Template, Site] | None = None

    # -- roots ------------------------------------------------------------------------------

    @property
    def roots(self) -> dict[str, Named]:
        if self._roots is None:
            workflow = self.unit.workflow
            inputs = {name: input_type(declared) for name, declared in workflow.inputs.items()}
            run: dict[str, Type] = {
                "id": STRING,
                "workflow": STRING,
                "version": STRING if workflow.version is not None else one_of((NULL, STRING)),
                "account": STRING,
                "started_at": DYN,
                "attempt": INT,
            }
            secrets: dict[str, Type] = {secret.name: STRING for secret in workflow.secrets}
            self._roots = {
                "inputs": Named(Record(inputs, workflow.inputs_open, "the inputs")),
                "run": Named(Record(run, False, "the run")),
                "state": Named(Map(DYN)),
                # Unknown secrets have a rule of their own (IL506), so the record is open.
                "secrets": Named(Record(secrets, True, "the secrets")),
            }
        return self._roots

    # -- places -----------------------------------------------------------------------------

    def at(self, site: Site) -> SiteScope:
        """The names that stand at a site."""
        return SiteScope(self, site.flow, site.at, site.step if site.own else None, site.open)

    def writers(self, flow: ListFlow) -> dict[str, list[int]]:
        """The steps of a list by the name under which they write."""
        known = self._writers.get(flow)
        if known is None:
            known = {}
            for number, step in enumerate(flow.steps):
                name = result_name(step)
                if name is not None:
                    known.setdefault(name, []).append(number)
            self._writers[flow] = known
        return known

    def added(self, owner: Step, name: str) -> Named | None:
        """A name that a section or a ``for_each`` adds for the steps inside it."""
        kind = owner.kind
        if isinstance(kind, Section) and name == "lease":
            return Named(Record({"key": STRING, "fence": INT}, False, "the lease"))
        if isinstance(kind, ForEach):
            if name == "index":
                return Named(INT)
            if name == kind.as_name:
                return Named(self.item_type(owner))
        return None

    def added_names(self, owner: Step) -> tuple[str, ...]:
        kind = owner.kind
        if isinstance(kind, Section):
            return ("lease",)
        return ("index", kind.as_name) if isinstance(kind, ForEach) else ()

    # -- types ------------------------------------------------------------------------------

    def item_type(self, step: Step) -> Type:
        """The type of one item of a ``for_each``."""
        kind = step.kind
        if not isinstance(kind, ForEach) or kind.items is None:
            return DYN
        items = value_type(self, kind.items.value)
        return items.item if isinstance(items, List) else DYN

    def result(self, step: Step) -> Type:
        """The type of what a step writes, where it is not skipped."""
        known = self._results.get(step)
        if known is None:
            if step in self._busy:
                return DYN
            self._busy.add(step)
            known = result_type(self, step)
            self._busy.discard(step)
            self._results[step] = known
        return known

    def checked(self, site: Site) -> Checked:
        """The type of the expression at a site, and what is wrong with it."""
        known = self._checked.get(site.expression)
        if known is None:
            tree = site.expression.tree
            known = check(tree, self.at(site)) if tree is not None else Checked(DYN, ())
            self._checked[site.expression] = known
        return known

    def site_of(self, template: Template) -> Site | None:
        """The site of a template that is one expression."""
        if self._by_template is None:
            self._by_template = {site.template: site for site in self.unit.sites}
        return self._by_template.get(template)

    def child_outputs(self, kind: RunWorkflow) -> Type:
        """What a child gives back: its outputs by name, or its state of which nothing is known."""
        child = self.unit.program.child(kind.workflow)
        return DYN if child is None else child_record(child)

    # -- names that cannot be read ----------------------------------------------------------

    def hidden(self, at: ListFlow | None, name: str) -> Hidden | None:
        """Why a name that exists cannot be read in a list (None: in the workflow's own fields).

        The answer is None for no such name.
        """
        if at is None and name == "state":
            return Hidden("root")
        if at is not None and at.role == "handler":
            return Hidden("root") if name in ("lease", "index") else self._behind(name)
        flow = at if at is not None else self.unit.flow.top
        while flow is not None:
            for step in flow.steps:
                if step.id == name and result_name(step) != name:
                    return Hidden("keyed", step, key=result_name(step))
            for step in flow.steps:
                if result_name(step) == name:
                    return Hidden("later", step)
            flow = flow.parent
        if name in ("lease", "index"):
            return Hidden("root")
        for inner in self.unit.flow.lists:
            if inner.role == "handler" or inner.owner is None:
                continue
            for step in inner.steps:
                if result_name(step) == name:
                    return Hidden("inside", step, owner=inner.owner)
            kind = inner.owner.kind
            if isinstance(kind, ForEach) and kind.as_field is not None and kind.as_name == name:
                return Hidden("root", owner=inner.owner)
        return None

    def _behind(self, name: str) -> Hidden | None:
        """A step that a handler names: those of the run and its own are out of its sight."""
        for flow in self.unit.flow.lists:
            for step in flow.steps:
                if result_name(step) == name:
                    return Hidden("handler", step)
        return None

    def meant(self, site: Site, path: tuple[str, ...]) -> tuple[str, ...]:
        """A path with each unknown name replaced by the near one that it counts as (section 13)."""
        scope = self.at(site)
        root = path[0]
        named = scope.find(root)
        if named is None and self.hidden(site.flow, root) is None:
            root = nearest(root, dict.fromkeys(scope.names())) or root
            named = scope.find(root)
        names = [root]
        current: Type = named.type if named is not None else DYN
        for name in path[1:]:
            current = without_null(current)
            if isinstance(current, Record):
                if name not in current.fields and not current.open:
                    name = nearest(name, current.fields) or name
                current = current.fields.get(name, DYN)
            else:
                current = DYN
            names.append(name)
        return tuple(names)
