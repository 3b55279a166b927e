"""The state of a run, as data: what is stored of it between two transitions.

A run is a tree of frames.  A frame is one list of steps that is being walked (the workflow's own list, a
branch, a section, one item); it stands at one step at a time, whose live state is its node.  Paths are
step ids joined by ``/`` with branch names and item positions between (``par/left/fetch``,
``results/3/fetch``); a frame is named by the path before its steps (its prefix; the root's is empty).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from interlock.engine.errors import Fault
from interlock.engine.ports import Deferred, Json


class Stop(msgspec.Struct, frozen=True):
    """The one durable stop request: ``kind`` is cancel, supersede, deadline or parent."""

    kind: str
    at: float
    by: str = ""


class Hold(msgspec.Struct):
    """A lease as its run knows it.  ``places`` maps the path of each hold to its lifetime."""

    fence: int
    limit: int
    since: float
    places: dict[str, str] = {}

    @property
    def lifetime(self) -> str:
        return "run" if "run" in self.places.values() else "step"


class Review(msgspec.Struct):
    """An open review of a protected section."""

    opened_at: float
    reason: Fault
    evidence: list[Json] = []


class Work(msgspec.Struct, tag="work"):
    """A block: ``ready_at`` is when its next attempt may begin."""

    ready_at: float = 0.0
    effects: bool = False
    refencing: list[str] = []


class Held(msgspec.Struct, tag="held", omit_defaults=True):
    """A section or claim: the lease it asks for or holds, and the state of its protected write.

    ``touched`` says that something may have been done outside since the intent was stored.
    """

    key: str
    limit: int
    lifetime: str
    protected: bool = False
    fence: int | None = None
    intent: bool = False
    touched: bool = False
    reserved_transitions: int = 0
    reserved_cost: int = 0
    passed_transitions: int = 0
    passed_cost: int = 0
    review: Review | None = None


class Fan(msgspec.Struct, tag="fan"):
    """Branches: how many were begun, and how many of these have not settled."""

    begun: int = 0
    open: int = 0


class Each(msgspec.Struct, tag="each", omit_defaults=True):
    """``for_each``: counts of its items.  ``verdict`` is set as soon as its end is decided:
    ``completed`` or ``failed``; what is left is then only being stopped."""

    total: int = 0
    begun: int = 0
    open: int = 0
    ok: int = 0
    bad: int = 0
    winner: int | None = None
    verdict: str | None = None


class Child(msgspec.Struct, tag="child", omit_defaults=True):
    """``run_workflow``: the child, and why the step fails once the child has been stopped."""

    run: str
    fault: Fault | None = None


class Runs(msgspec.Struct, tag="runs", omit_defaults=True):
    """A dependency wait: ids in order, those not terminal, those completed."""

    ids: list[str]
    mode: str
    quorum: int
    pending: list[str] = []
    done: list[str] = []


class Signals(msgspec.Struct, tag="signals", omit_defaults=True):
    """A wait for signals: what it has consumed so far, by signal name."""

    got: dict[str, Json] = {}


class Pause(msgspec.Struct, tag="pause"):
    until: float


Body: TypeAlias = Work | Held | Fan | Each | Child | Runs | Signals | Pause


class Node(msgspec.Struct, omit_defaults=True):
    """The live step of a frame.

    ``status``: ``task`` (a block waits for a worker or runs), ``key`` (waits for a lease), ``open`` (a
    container whose inner steps run), ``review``, ``child``, ``runs``, ``signal``, ``delay``.
    ``opened`` orders waits by age.  ``times_out`` is when the wait's timeout passes.
    """

    step: str
    visit: int
    status: str
    opened: int
    since: float = 0.0
    attempt: int = 1
    kills: int = 0
    times_out: float | None = None
    body: Body | None = None


class Frame(msgspec.Struct, omit_defaults=True):
    """One walk over a list of steps.

    ``status``: ``open``, ``completed``, ``failed``, ``stopped``, ``unwinding`` (compensations run),
    ``closed`` (its container has completed).  ``at`` is the step where it stands, or would go on
    (``fresh``: it has not been entered yet); ``halt`` says that it is to stop there.  ``unwinding`` is the
    compensation that runs, -1 once all have.  ``visits`` counts visits by step id; ``base`` is what it was
    when the section around it was entered, so that a section that starts again repeats its visits.
    """

    prefix: str
    owner: str
    status: str = "open"
    at: str | None = None
    fresh: bool = False
    node: Node | None = None
    fault: Fault | None = None
    halt: bool = False
    index: int | None = None
    handler: bool = False
    unwinding: int | None = None
    visits: dict[str, int] = {}
    base: dict[str, int] = {}


class Compensation(msgspec.Struct):
    """A registered compensation; ``seq`` is the order of completion."""

    seq: int
    path: str
    visit: int
    block: str
    params: Json
    deferred: tuple[Deferred, ...] = ()
    attempt: int = 1
    kills: int = 0


class Signal(msgspec.Struct):
    """A recorded signal that no wait has consumed yet."""

    seq: int
    id: str
    name: str
    payload: Json
    at: float


class Group(msgspec.Struct):
    """The runs of a group key: who started it, when in the run's own order."""

    runs: list[str]
    path: str
    seq: int


class Relock(msgspec.Struct):
    """A run-lifetime lease that a retried run must hold again before it goes on."""

    key: str
    limit: int
    places: list[str]
    granted: bool = False


class Run(msgspec.Struct, omit_defaults=True):
    """The head of a run.

    ``phase``: ``queued``, ``relocking`` (a retried run waits for its leases), ``active``, ``stopping``,
    ``compensating``, ``handlers``, ``ended``.  ``seq`` orders what happens inside the run.  ``items`` is
    the length of the longest ``for_each`` so far, ``journal`` the bytes of the run's journal.
    """

    id: str
    account: str
    workflow: str
    version: str
    hash: str
    closure_hash: str
    dispatched_at: float
    key: str | None = None
    status: str = "queued"
    phase: str = "queued"
    started_at: float | None = None
    ended_at: float | None = None
    attempt: int = 1
    deadline: float | None = None
    parent: tuple[str, str, int] | None = None
    starter: str | None = None
    slot: bool = False
    stop: Stop | None = None
    fault: Fault | None = None
    fatal: bool = False
    transitions: int = 0
    cost: int = 0
    started: int = 0
    reserved_transitions: int = 0
    reserved_cost: int = 0
    stored: int = 0
    state_bytes: int = 2
    seq: int = 0
    holds: dict[str, Hold] = {}
    relocks: list[Relock] = []
    groups: dict[str, Group] = {}
    superseded_by: str | None = None
    unwound: bool = False
    journal: int = 0
    items: int = 0


TERMINAL = frozenset({"completed", "failed", "cancelled", "superseded"})


def join(prefix: str, name: str | int) -> str:
    """The path of a step, branch or item below a prefix."""
    return f"{prefix}/{name}" if prefix else str(name)


def parent_of(path: str) -> str:
    """The prefix of the frame in which the step of this path stands."""
    return path.rpartition("/")[0]


def inside(path: str, prefix: str) -> bool:
    """Whether a path or prefix lies in the subtree of ``prefix`` (itself included)."""
    return not prefix or path == prefix or path.startswith(prefix + "/")
