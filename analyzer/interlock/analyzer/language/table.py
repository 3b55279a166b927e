"""The language as data: every mapping, its fields, their types, defaults and meaning.

Reading, completion, hover, "did you mean", the JSON Schema and the reference page are all made
from these rows (sections 4 to 10).  A new field is one new row.
"""

from __future__ import annotations

from interlock.analyzer.language.fields import (
    Any,
    Choice,
    Duration,
    Field,
    FieldType,
    Flag,
    KindRow,
    ListOf,
    MapOf,
    Name,
    Nested,
    Object,
    Shape,
    Steps,
    Text,
    Whole,
)

INPUT_TYPES = ("string", "integer", "number", "boolean", "array", "object", "any")
RUN_POLICIES = ("wait", "latest_waiting", "supersede")
RESOURCE_POLICIES = ("wait", "skip", "fail")

BLOCKS = frozenset({"block"})
WAITS = frozenset({"dependency", "signal"})

_WHEN = "Whether it happens: a boolean, or a template of one boolean expression."


def _shape(name: str, title: str, doc: str, *fields: Field) -> Shape:
    return Shape(name, title, doc, {field.name: field for field in fields})


def _field(
    name: str,
    kind: FieldType,
    doc: str,
    *,
    required: bool = False,
    default: str | None = None,
    on: frozenset[str] | tuple[str, ...] = (),
) -> Field:
    return Field(name, kind, doc, required, default, frozenset(on))


WORKFLOW = _shape(
    "workflow",
    "a workflow",
    "One document is one workflow.",
    _field("workflow", Name("workflow"), "The workflow's name: how others start and run it.", required=True),
    _field("version", Text(maximum=255), "A label of the application, stored and shown with every run."),
    _field("description", Text(), "What the workflow is for, in a sentence or two."),
    _field("inputs", MapOf("input", Nested("input", Choice(INPUT_TYPES))), "What a dispatch must or may give."),
    _field("secrets", ListOf(Name("secret")), "Secrets that the host supplies at each use; never stored."),
    _field(
        "concurrency",
        Nested("run concurrency"),
        "How many runs of this workflow are admitted at once, and what a new one does when that is full.",
    ),
    _field("budget", Nested("budget"), "Limits that a run must not pass; over one of them it fails at once."),
    _field(
        "idempotency_key",
        Text(template=True),
        "A second dispatch with the same key gives back the first run instead of a new one.",
    ),
    _field("deadline", Duration(), "How long a run may take, measured from its dispatch."),
    _field(
        "compensate_on_failure",
        Flag(),
        "Whether a failed run runs its compensations too, not only a cancelled one.",
        default="false",
    ),
    _field("steps", Steps(), "What a run does, in order.", required=True),
    _field(
        "outputs",
        Object("output"),
        "What a completed run gives to those that depend on it; without it they get the public state.",
    ),
    _field("on_cancel", Steps(blocks_only=True), "Blocks that run once after a cancellation."),
    _field("on_deadline", Steps(blocks_only=True), "Blocks that run once when the deadline passes."),
)

INPUT = _shape(
    "input",
    "an input",
    "One input of a workflow; `name: string` is short for `name: {type: string}`.",
    _field("type", Choice(INPUT_TYPES), "The JSON type of the value.", required=True),
    _field("secret", Flag(), "Whether the value is a secret: stored encrypted, never shown.", default="false"),
    _field("default", Any(template=False), "The value where a dispatch gives none."),
    _field("enum", ListOf(Any(template=False)), "The values that are allowed."),
    _field(
        "required",
        Flag(),
        "Whether a dispatch must give it; where it need not and does not, the value is null.",
        default="true",
    ),
)

RUN_CONCURRENCY = _shape(
    "run concurrency",
    "the concurrency of runs",
    "Admission of runs: at the top level of a workflow.",
    _field("limit", Whole(1, "IL303"), "How many runs of the workflow are active at once.", default="4"),
    _field(
        "on_busy",
        Choice(RUN_POLICIES, "IL304"),
        "What a new run does when the limit is reached: queue, replace the waiting run with the same "
        "supersession key, or replace it and ask the active one to stop.",
        default="wait",
    ),
    _field("supersession_key", Text(template=True), "Which runs can replace each other: those with an equal key."),
)

CONCURRENCY = _shape(
    "concurrency",
    "concurrency",
    "Parallel branches, or a section under a resource lease.",
    _field(
        "limit",
        Whole(1, "IL303"),
        "Branches that run at once (2), or holders of the key (1).",
        on=("branches", "resource"),
    ),
    _field(
        "on_busy",
        Choice(RESOURCE_POLICIES, "IL304"),
        "What happens when the key is taken: wait in line, skip the section, or fail.",
        default="wait",
        on=("resource",),
    ),
    _field(
        "branches",
        MapOf("branch", Nested("branch")),
        "Named branches that run side by side.",
        on=("branches",),
    ),
    _field(
        "on_error",
        Choice(("fail", "collect")),
        "Whether a failed branch fails the step, once all have settled, or is only reported in the result.",
        default="fail",
        on=("branches",),
    ),
    _field("resource", Text(template=True), "The key of the resource within the account.", on=("resource",)),
    _field(
        "lifetime",
        Choice(("step", "run")),
        "How long the lease is held: to the end of the section, or of the run.",
        default="step",
        on=("resource",),
    ),
    _field(
        "protected",
        Flag(),
        "One short outside write: stops wait until its result is stored, and a doubtful end is held for review.",
        default="false",
        on=("resource",),
    ),
    _field("steps", Steps(), "The section that runs under the lease.", on=("resource",)),
    _field("outputs", Object("output"), "What the section shows of its inner results.", on=("resource",)),
    _field("when", Flag(template=True), _WHEN, on=("branches", "resource")),
    _field("supersession_key", Text(template=True), "Which runs can replace each other.", on=("runs",)),
)

BRANCH = _shape(
    "branch",
    "a branch",
    "One of the parallel branches.",
    _field("steps", Steps(), "What the branch does.", required=True),
    _field("outputs", Object("output"), "What the branch shows of its inner results."),
)

FOR_EACH = _shape(
    "for_each",
    "for_each",
    "The same steps for each item of a list that is known only at run time.",
    _field("items", ListOf(Any(), template=True), "The list.", required=True),
    _field("as", Name("as"), "The name under which the steps see their item.", default="item"),
    _field("limit", Whole(1, "IL303"), "Items at work at once.", default="2"),
    _field(
        "mode",
        Choice(("all", "first_success", "quorum")),
        "When the step settles: after every item, at the first success, or at `quorum` successes.",
        default="all",
    ),
    _field("quorum", Whole(1, "IL410"), "How many items must succeed; with `mode: quorum` only."),
    _field("steps", Steps(), "What is done for each item.", required=True),
    _field("outputs", Object("output"), "What each item shows of its inner results."),
)

RUN_WORKFLOW = _shape(
    "run_workflow",
    "run_workflow",
    "A child run that this run waits for.",
    _field("workflow", Name("workflow reference"), "The name of the workflow to run.", required=True),
    _field("inputs", Object("input"), "The inputs of the child run."),
    _field("result_key", Name("result"), "Where the child's outputs go; without it they are merged."),
)


def _start(name: str, payload: str | None, result: str | None) -> Shape:
    return _shape(
        name,
        name,
        "Independent runs, one for each item.",
        _field("items", ListOf(Any(), template=True), "One run is started for each.", required=True),
        _field("workflow", Name("workflow reference"), "The name of the workflow to start.", required=True),
        _field(
            "payload_key",
            Name("payload"),
            "The child's input that takes an item which is no map.",
            default=payload,
        ),
        _field(
            "inherit_state",
            Flag(),
            "Whether the children are also offered this run's inputs and public state.",
            default="true",
        ),
        _field("result_key", Name("result"), "Where the run ids go; without it they are not kept.", default=result),
        _field("group_key", Name("group"), "The name of the group, for a later wait."),
    )


_MODE = _field(
    "mode",
    Choice(("all", "any", "quorum")),
    "How many of the runs must complete: all, any one, or `quorum` of them.",
    default="all",
)
_QUORUM = _field("quorum", Whole(1, "IL410"), "How many runs must complete; with `mode: quorum` only.")


def _waited_key(default: str | None) -> Field:
    return _field(
        "result_key",
        Name("result"),
        "Where the runs' states go; without it they are merged.",
        default=default,
    )


_RUN_IDS = ListOf(Text(template=True), template=True)

WAIT_FOR_WORKFLOW = _shape(
    "wait_for_workflow",
    "wait_for_workflow",
    "A wait for one run.",
    _field("workflow", Text(template=True), "The id of the run to wait for.", required=True),
    _waited_key(None),
)
WAIT_FOR_WORKFLOWS = _shape(
    "wait_for_workflows",
    "wait_for_workflows",
    "A wait for several runs.",
    _field("workflows", _RUN_IDS, "The ids of the runs to wait for.", required=True),
    _MODE,
    _QUORUM,
    _waited_key(None),
)
WAIT_FOR_AGENTS = _shape(
    "wait_for_agents",
    "wait_for_agents",
    "A wait for the runs that `start_agents` started.",
    _field("workflows", _RUN_IDS, "The ids of the runs to wait for.", default="{agent_workflow_ids}"),
    _MODE,
    _QUORUM,
    _waited_key("agent_results"),
)
WAIT_FOR_GROUP = _shape(
    "wait_for_workflow_group",
    "wait_for_workflow_group",
    "A wait for a group of runs that this run started.",
    _field("group", Name("group reference"), "The group's key.", required=True),
    _MODE,
    _QUORUM,
    _waited_key(None),
)
WAIT_FOR_AGENT_GROUP = _shape(
    "wait_for_agent_group",
    "wait_for_agent_group",
    "A wait for a group of agents that this run started.",
    _field("group", Name("group reference"), "The group's key.", required=True),
    _MODE,
    _QUORUM,
    _waited_key("agent_results"),
)

_MATCH = _field("match", Object(), "Values that the payload must contain.")
_CORRELATION = _field(
    "correlation_key",
    Text(),
    "A key whose value in the payload must equal the one in the state or the inputs.",
)


def _payload_key(default: str | None) -> Field:
    return _field("result_key", Name("result"), "Where the payload goes; without it it is merged.", default=default)


WAIT_FOR_SIGNAL = _shape(
    "wait_for_signal",
    "wait_for_signal",
    "A wait for one signal.",
    _field("name", Text(maximum=128), "The name of the signal.", required=True),
    _payload_key(None),
    _MATCH,
    _CORRELATION,
)
WAIT_FOR_SIGNALS = _shape(
    "wait_for_signals",
    "wait_for_signals",
    "A wait for several signals.",
    _field("names", ListOf(Text(maximum=128)), "The names of the signals.", required=True),
    _field("mode", Choice(("all", "any")), "Whether all of them are needed, or any one.", default="all"),
    _payload_key(None),
    _MATCH,
    _CORRELATION,
)


def _answer(name: str, doc: str, default: str, *more: Field) -> Shape:
    return _shape(name, name, doc, _payload_key(default), *more)


WAIT_FOR_APPROVAL = _answer("wait_for_approval", "A wait for the signal `approval`.", "approval", _MATCH, _CORRELATION)
WAIT_FOR_INPUT = _answer("wait_for_input", "A wait for the signal `input`.", "input", _MATCH, _CORRELATION)
WAIT_FOR_DECISION = _answer("wait_for_decision", "A wait for `approved` or `rejected`.", "decision")

DELAY = _shape(
    "delay",
    "delay",
    "A durable pause until a time.",
    _field("until", Text(template=True), "The time at which the run goes on.", required=True),
)

RETRY = _shape(
    "retry",
    "retry",
    "How often a failed block is tried again, and how long between.",
    _field("max_attempts", Whole(1, "IL105"), "Attempts in all, the first one counted.", required=True),
    _field("delay", Duration(), "The time before the second attempt.", default="1s"),
    _field(
        "backoff",
        Choice(("constant", "linear", "exponential")),
        "How the delay grows from attempt to attempt.",
        default="constant",
    ),
    _field("max_delay", Duration(), "The longest delay."),
)

COMPENSATE = _shape(
    "compensate",
    "compensate",
    "What undoes the step, run in reverse order of completion when the run is cancelled.",
    _field("block", Name("block"), "The block that undoes it.", required=True),
    _field("params", Object(), "Its parameters; they may read the step's own result."),
)

BUDGET = _shape(
    "budget",
    "budget",
    "Limits that a run must not pass.",
    _field("max_transitions", Whole(1, "IL601"), "Steps that may complete, inner ones included."),
    _field("max_for_each_items", Whole(1, "IL601"), "Items of one `for_each`."),
    _field("max_state_bytes", Whole(1, "IL601"), "Bytes of the public state as canonical JSON."),
    _field("max_cost_units", Whole(1, "IL601"), "The sum of the cost of completed steps."),
    _field("max_started_workflows", Whole(1, "IL601"), "Runs started by `start_workflows` and `start_agents`."),
)

STEP = _shape(
    "step",
    "a step",
    "One step: an id, exactly one kind, and fields that say how it runs.",
    _field("id", Name("step"), "The step's name: its result is written under it.", required=True),
    _field("when", Flag(template=True), _WHEN),
    _field("params", Object(), "The parameters of the block.", on=BLOCKS),
    _field("retry", Nested("retry"), "Repeats a failed block.", on=BLOCKS),
    _field(
        "timeout",
        Duration(),
        "How long a block may run, or a wait may last, before it fails; per attempt.",
        on=BLOCKS | WAITS | {"resource", "run_workflow"},
    ),
    _field("cost_units", Whole(0, "IL606"), "What the step costs of `max_cost_units`."),
    _field("compensate", Nested("compensate"), "Undoes the step when the run is cancelled.", on=BLOCKS),
    _field(
        "next",
        Text(template=True),
        "Where to go after the step completes: the id of a step of the same list, or `end`.",
    ),
)

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        WORKFLOW,
        INPUT,
        RUN_CONCURRENCY,
        CONCURRENCY,
        BRANCH,
        FOR_EACH,
        RUN_WORKFLOW,
        _start("start_workflows", None, None),
        _start("start_agents", "agent_task", "agent_workflow_ids"),
        WAIT_FOR_WORKFLOW,
        WAIT_FOR_WORKFLOWS,
        WAIT_FOR_AGENTS,
        WAIT_FOR_GROUP,
        WAIT_FOR_AGENT_GROUP,
        WAIT_FOR_SIGNAL,
        WAIT_FOR_SIGNALS,
        WAIT_FOR_APPROVAL,
        WAIT_FOR_INPUT,
        WAIT_FOR_DECISION,
        DELAY,
        RETRY,
        COMPENSATE,
        BUDGET,
        STEP,
    )
}

_SNIPPETS = {
    "block": "id: $1\nblock: ${2:http}\nparams:\n  $0",
    "concurrency": 'id: $1\nconcurrency:\n  resource: "$2"\n  steps:\n    - $0',
    "for_each": 'id: $1\nfor_each:\n  items: "{$2}"\n  steps:\n    - $0',
    "run_workflow": "id: $1\nrun_workflow:\n  workflow: $2\n  result_key: $0",
    "start_workflows": (
        'id: $1\nstart_workflows:\n  items: "{$2}"\n  workflow: $3\n  payload_key: $4\n  result_key: $0'
    ),
    "start_agents": 'id: $1\nstart_agents:\n  items: "{$2}"\n  workflow: $3\n  group_key: $0',
    "wait_for_workflow": 'id: $1\nwait_for_workflow:\n  workflow: "{$2}"\n  result_key: $0',
    "wait_for_workflows": 'id: $1\nwait_for_workflows:\n  workflows: "{$2}"\n  result_key: $0',
    "wait_for_agents": "id: $1\nwait_for_agents: {}$0",
    "wait_for_workflow_group": "id: $1\nwait_for_workflow_group:\n  group: $2\n  result_key: $0",
    "wait_for_agent_group": "id: $1\nwait_for_agent_group:\n  group: $0",
    "wait_for_signal": "id: $1\nwait_for_signal:\n  name: $2\n  result_key: $0",
    "wait_for_signals": "id: $1\nwait_for_signals:\n  names: [$2]\n  result_key: $0",
    "wait_for_approval": "id: $1\nwait_for_approval: {}$0",
    "wait_for_input": "id: $1\nwait_for_input: {}$0",
    "wait_for_decision": "id: $1\nwait_for_decision: {}$0",
    "delay": "id: $1\ndelay: ${0:10m}",
}


def _kind(name: str, families: tuple[str, ...], doc: str, of: FieldType | None = None) -> KindRow:
    return KindRow(name, of or Nested(name), families, doc, _SNIPPETS[name])


KINDS: dict[str, KindRow] = {
    row.name: row
    for row in (
        _kind("block", ("block",), "One unit of outside work.", Name("block")),
        _kind("concurrency", ("branches", "resource"), "Parallel branches, or a section under a lease."),
        _kind("for_each", ("for_each",), "The same steps for each item found at run time."),
        _kind("run_workflow", ("run_workflow",), "A child run; this run waits for it."),
        _kind("start_workflows", ("start",), "Independent runs, one for each item."),
        _kind("start_agents", ("start",), "Independent agent runs, one for each item."),
        _kind("wait_for_workflow", ("dependency",), "Waits for one run."),
        _kind("wait_for_workflows", ("dependency",), "Waits for several runs."),
        _kind("wait_for_agents", ("dependency",), "Waits for the agents that were started."),
        _kind("wait_for_workflow_group", ("dependency",), "Waits for a group of runs."),
        _kind("wait_for_agent_group", ("dependency",), "Waits for a group of agents."),
        _kind("wait_for_signal", ("signal",), "Waits for a signal."),
        _kind("wait_for_signals", ("signal",), "Waits for several signals."),
        _kind("wait_for_approval", ("signal",), "Waits for an approval."),
        _kind("wait_for_input", ("signal",), "Waits for an input."),
        _kind("wait_for_decision", ("signal",), "Waits until a person approves or rejects."),
        _kind("delay", ("delay",), "A durable pause.", Nested("delay", Duration())),
    )
}

#: A default result key counts as given (section 13, IL214); it stands at the kind's key.
FAMILY_TITLES = {
    "block": "a block",
    "branches": "branches",
    "resource": "a resource",
    "runs": "the admission of runs, at the top level",
    "for_each": "for_each",
    "run_workflow": "run_workflow",
    "start": "start_workflows",
    "dependency": "a dependency wait",
    "signal": "a wait for signals",
    "delay": "a delay",
}
