"""A workflow as objects: what the analyzer judges and the engine runs (sections 4 to 9).

Every node knows where it stands.  An optional field is a ``Setting`` or None where it was not
written; the defaults of the language are properties, so that what was written and what is in
force stay apart.  A field whose value was reported as an error is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from interlock.analyzer.model.values import ListValue, MapValue, Setting, Template, Value
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Plain


class Condition(msgspec.Struct, frozen=True, eq=False):
    """A ``when``: a YAML boolean (a switch) or a template of one boolean expression."""

    value: bool | Template
    key: Span
    span: Span


class Input(msgspec.Struct, frozen=True, eq=False):
    """One input.  ``type`` is one of the words of section 4; a wrong one is read as ``any``."""

    name: str
    key: Span
    type: str
    type_span: Span
    secret: bool = False
    default: Setting[Value] | None = None
    enum: Setting[ListValue] | None = None
    required_field: Setting[bool] | None = None

    @property
    def required(self) -> bool:
        """Whether a dispatch must give it: without default, unless ``required: false``."""
        if self.default is not None:
            return False
        return self.required_field is None or self.required_field.value


class Secret(msgspec.Struct, frozen=True, eq=False):
    name: str
    span: Span


class RunConcurrency(msgspec.Struct, frozen=True, eq=False):
    """Top-level ``concurrency``: the admission of runs (section 6.1)."""

    key: Span
    limit_field: Setting[int] | None = None
    on_busy_field: Setting[str] | None = None
    supersession_key: Setting[Value] | None = None
    fields: dict[str, Span] = {}

    @property
    def limit(self) -> int:
        return self.limit_field.value if self.limit_field else 4

    @property
    def on_busy(self) -> str:
        return self.on_busy_field.value if self.on_busy_field else "wait"


class Budget(msgspec.Struct, frozen=True, eq=False):
    """The budgets of section 10; each None where it is not limited.

    ``fields`` are the keys that were written, those with a wrong value (IL601) among them.
    """

    key: Span
    max_transitions: Setting[int] | None = None
    max_for_each_items: Setting[int] | None = None
    max_state_bytes: Setting[int] | None = None
    max_cost_units: Setting[int] | None = None
    max_started_workflows: Setting[int] | None = None
    fields: dict[str, Span] = {}


class Retry(msgspec.Struct, frozen=True, eq=False):
    """``retry`` of a block; times in seconds."""

    key: Span
    max_attempts_field: Setting[int] | None = None
    delay_field: Setting[float] | None = None
    backoff_field: Setting[str] | None = None
    max_delay_field: Setting[float] | None = None

    @property
    def max_attempts(self) -> int:
        return self.max_attempts_field.value if self.max_attempts_field else 1

    @property
    def delay(self) -> float:
        return self.delay_field.value if self.delay_field else 1.0

    @property
    def backoff(self) -> str:
        return self.backoff_field.value if self.backoff_field else "constant"

    @property
    def max_delay(self) -> float | None:
        return self.max_delay_field.value if self.max_delay_field else None


class Compensate(msgspec.Struct, frozen=True, eq=False):
    """What undoes a step.  ``fields`` are the keys that were written."""

    key: Span
    block: Setting[str] | None
    params: Setting[MapValue] | None
    fields: dict[str, Span] = {}


class BlockCall(msgspec.Struct, frozen=True, eq=False):
    """``block`` + ``params``: one unit of outside work (section 5.1)."""

    key: Span
    block: Setting[str] | None
    params: Setting[MapValue] | None


class StepList(msgspec.Struct, frozen=True, eq=False):
    """The steps of a workflow, branch, section, item or handler, in the order written."""

    key: Span
    span: Span
    steps: tuple[Step, ...]


class Branch(msgspec.Struct, frozen=True, eq=False):
    name: str
    key: Span
    steps: StepList | None
    outputs: Setting[MapValue] | None


class Branches(msgspec.Struct, frozen=True, eq=False):
    """``concurrency`` with ``branches`` (section 6.2).  ``fields`` are the keys that were written."""

    key: Span
    branches: tuple[Branch, ...]
    branches_key: Span
    limit_field: Setting[int] | None = None
    on_error_field: Setting[str] | None = None
    fields: dict[str, Span] = {}

    @property
    def limit(self) -> int:
        return self.limit_field.value if self.limit_field else 2

    @property
    def on_error(self) -> str:
        return self.on_error_field.value if self.on_error_field else "fail"


class Section(msgspec.Struct, frozen=True, eq=False):
    """``concurrency`` with ``resource``: a section, or an empty claim (sections 6.3, 6.4).

    ``unsure`` says that it may have steps that could not be read, which was reported.
    """

    key: Span
    resource: Setting[Value] | None
    limit_field: Setting[int] | None = None
    on_busy_field: Setting[str] | None = None
    lifetime_field: Setting[str] | None = None
    protected_field: Setting[bool] | None = None
    steps: StepList | None = None
    outputs: Setting[MapValue] | None = None
    fields: dict[str, Span] = {}
    unsure: bool = False

    @property
    def limit(self) -> int:
        return self.limit_field.value if self.limit_field else 1

    @property
    def on_busy(self) -> str:
        return self.on_busy_field.value if self.on_busy_field else "wait"

    @property
    def lifetime(self) -> str:
        return self.lifetime_field.value if self.lifetime_field else "step"

    @property
    def protected(self) -> bool:
        return self.protected_field is not None and self.protected_field.value

    @property
    def empty(self) -> bool:
        return self.steps is None or not self.steps.steps


class ForEach(msgspec.Struct, frozen=True, eq=False):
    """The same steps for each item of a list (section 7)."""

    key: Span
    items: Setting[Value] | None
    as_field: Setting[str] | None = None
    limit_field: Setting[int] | None = None
    mode_field: Setting[str] | None = None
    quorum: Setting[int] | None = None
    steps: StepList | None = None
    outputs: Setting[MapValue] | None = None
    fields: dict[str, Span] = {}

    @property
    def as_name(self) -> str:
        return self.as_field.value if self.as_field else "item"

    @property
    def limit(self) -> int:
        return self.limit_field.value if self.limit_field else 2

    @property
    def mode(self) -> str:
        return self.mode_field.value if self.mode_field else "all"


class RunWorkflow(msgspec.Struct, frozen=True, eq=False):
    """``run_workflow``: a child run that this run waits for (section 8)."""

    key: Span
    workflow: Setting[str] | None
    inputs: Setting[MapValue] | None = None
    result_key_field: Setting[str] | None = None
    fields: dict[str, Span] = {}

    @property
    def result_key(self) -> str | None:
        """Where the child's outputs go; None merges them into the scope."""
        return self.result_key_field.value if self.result_key_field else None


class StartWorkflows(msgspec.Struct, frozen=True, eq=False):
    """``start_workflows`` or ``start_agents`` (``agents`` true): one independent run per item."""

    key: Span
    agents: bool
    items: Setting[Value] | None
    workflow: Setting[str] | None
    payload_key_field: Setting[str] | None = None
    inherit_state_field: Setting[bool] | None = None
    result_key_field: Setting[str] | None = None
    group_key: Setting[str] | None = None
    fields: dict[str, Span] = {}

    @property
    def payload_key(self) -> str | None:
        if self.payload_key_field:
            return self.payload_key_field.value
        return "agent_task" if self.agents else None

    @property
    def inherit_state(self) -> bool:
        return self.inherit_state_field is None or self.inherit_state_field.value

    @property
    def result_key(self) -> str | None:
        if self.result_key_field:
            return self.result_key_field.value
        return "agent_workflow_ids" if self.agents else None


class DependencyWait(msgspec.Struct, frozen=True, eq=False):
    """A wait for other runs (section 8).

    ``form`` is ``one`` (``wait_for_workflow``), ``many`` (``wait_for_workflows`` and
    ``wait_for_agents``) or ``group``; ``agents`` tells the agent spellings.  ``runs`` is the
    ``workflow`` or ``workflows`` field; None there with ``agents`` means the default
    ``{agent_workflow_ids}``.
    """

    key: Span
    form: str
    agents: bool
    runs: Setting[Value] | None = None
    group: Setting[str] | None = None
    mode_field: Setting[str] | None = None
    quorum: Setting[int] | None = None
    result_key_field: Setting[str] | None = None
    fields: dict[str, Span] = {}

    @property
    def mode(self) -> str:
        return self.mode_field.value if self.mode_field else "all"

    @property
    def result_key(self) -> str | None:
        if self.result_key_field:
            return self.result_key_field.value
        return "agent_results" if self.agents else None


class SignalWait(msgspec.Struct, frozen=True, eq=False):
    """A wait for signals (section 9).

    ``form`` is ``signal``, ``signals``, ``approval``, ``input`` or ``decision``; ``names`` are the
    signals it waits for (two for a decision).  ``mode`` matters only for ``signals``.
    """

    key: Span
    form: str
    names: tuple[Setting[str], ...]
    mode_field: Setting[str] | None = None
    result_key_field: Setting[str] | None = None
    match: Setting[MapValue] | None = None
    correlation_key: Setting[str] | None = None
    fields: dict[str, Span] = {}

    @property
    def mode(self) -> str:
        if self.form == "decision":
            return "any"
        return self.mode_field.value if self.mode_field else "all"

    @property
    def result_key(self) -> str | None:
        """The key under which the payload goes; None merges it into the scope."""
        if self.result_key_field:
            return self.result_key_field.value
        return {"approval": "approval", "input": "input", "decision": "decision"}.get(self.form)


class Delay(msgspec.Struct, frozen=True, eq=False):
    """A durable pause: ``seconds``, or ``until`` a time (a template, or a literal RFC 3339 text)."""

    key: Span
    seconds: Setting[float] | None = None
    until: Setting[Value] | None = None


class Broken(msgspec.Struct, frozen=True, eq=False):
    """A step whose kind is missing or wrong; it was reported, and nothing more is said of it."""

    key: Span


Kind: TypeAlias = (
    BlockCall
    | Branches
    | Section
    | ForEach
    | RunWorkflow
    | StartWorkflows
    | DependencyWait
    | SignalWait
    | Delay
    | Broken
)


NAMELESS = "a step without an id"
"""What messages call a step of which not even a bad id is known."""


class Step(msgspec.Struct, frozen=True, eq=False):
    """One step.  ``id`` is empty where it is missing or unreadable; ``span`` is the whole mapping.

    ``kind_name`` is the key that gives the kind (``block``, ``wait_for_agents``, …).  ``when`` is
    the condition wherever it stands; ``inner_when`` tells that it stands inside ``concurrency``.
    ``spare_when`` is the inner one of two conditions (IL315): it decides nothing, but it is judged.
    ``strange`` tells that an unknown field stands in it that is near to none (IL103): what seems to
    be missing may be that field.  ``written`` is what stands where the id should, where that is none.
    """

    id: str
    id_span: Span
    span: Span
    kind: Kind
    kind_name: str
    when: Condition | None = None
    inner_when: bool = False
    retry: Retry | None = None
    timeout: Setting[float] | None = None
    cost_units: Setting[int] | None = None
    compensate: Compensate | None = None
    next: Setting[str | Template] | None = None
    fields: dict[str, Span] = {}
    spare_when: Condition | None = None
    strange: bool = False
    written: str = ""

    @property
    def name(self) -> str:
        """Its id, else what stands in the place of one."""
        return self.id or self.written

    @property
    def called(self) -> str:
        """What messages call it.  No line is in it: what was found outlives edits above."""
        return f'"{self.name}"' if self.name else NAMELESS

    def inner(self) -> Iterator[tuple[str, StepList]]:
        """The step lists inside it, each with the name of its branch (empty elsewhere)."""
        kind = self.kind
        if isinstance(kind, Branches):
            for branch in kind.branches:
                if branch.steps is not None:
                    yield branch.name, branch.steps
        elif isinstance(kind, Section | ForEach) and kind.steps is not None:
            yield "", kind.steps


class Workflow(msgspec.Struct, frozen=True, eq=False):
    """One document: a workflow definition (section 4).  ``name`` is None where it is unreadable.

    ``broken`` says that a part of the document could not be parsed: what is missing may stand
    there; ``broken_ids`` are step ids seen in such parts.  ``inputs_open`` says that there may be
    inputs that could not be read.  ``unread`` are inputs that are named in what was reported and left out.
    """

    span: Span
    name: Setting[str] | None
    version: Setting[str] | None = None
    description: Setting[str] | None = None
    inputs: dict[str, Input] = {}
    inputs_key: Span | None = None
    secrets: tuple[Secret, ...] = ()
    concurrency: RunConcurrency | None = None
    budget: Budget | None = None
    idempotency_key: Setting[Value] | None = None
    deadline: Setting[float] | None = None
    compensate_on_failure: Setting[bool] | None = None
    steps: StepList | None = None
    outputs: Setting[MapValue] | None = None
    on_cancel: StepList | None = None
    on_deadline: StepList | None = None
    fields: dict[str, Span] = {}
    broken: bool = False
    broken_ids: tuple[str, ...] = ()
    inputs_open: bool = False
    unread: tuple[str, ...] = ()


def walk(steps: StepList | None) -> Iterator[Step]:
    """Every step of a list at any depth, in the order of the text."""
    if steps is None:
        return
    for step in steps.steps:
        yield step
        for _, inner in step.inner():
            yield from walk(inner)


def with_inner(step: Step) -> Iterator[Step]:
    """A step and every step inside it, in the order of the text."""
    yield step
    for _, inner in step.inner():
        yield from walk(inner)


__all__ = [
    "BlockCall",
    "Branch",
    "Branches",
    "Broken",
    "Budget",
    "Compensate",
    "Condition",
    "Delay",
    "DependencyWait",
    "ForEach",
    "Input",
    "Kind",
    "Plain",
    "Retry",
    "RunConcurrency",
    "RunWorkflow",
    "Secret",
    "Section",
    "SignalWait",
    "StartWorkflows",
    "Step",
    "StepList",
    "Workflow",
    "walk",
    "with_inner",
]


def blocks_of(workflow: Workflow) -> set[str]:
    """The names of the blocks that a workflow uses itself, compensations and handlers included."""
    names: set[str] = set()
    for steps in (workflow.steps, workflow.on_cancel, workflow.on_deadline):
        for step in walk(steps):
            if isinstance(step.kind, BlockCall) and step.kind.block is not None:
                names.add(step.kind.block.value)
            if step.compensate is not None and step.compensate.block is not None:
                names.add(step.compensate.block.value)
    return names
