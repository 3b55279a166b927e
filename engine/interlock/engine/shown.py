"""What people and programs see of a store: receipts, status, listings, events, exports; plain data.

Every text in it is redacted where it is made (``views``); only a `History` holds what really was.  What the
parts of the engine ask of each other stands in ``ports``.  Times are seconds since 1970 UTC, ``Json`` is a JSON
value.
"""

from __future__ import annotations

import msgspec

from interlock.engine.values import Json


class Dispatched(msgspec.Struct, frozen=True):
    """The run that a dispatch made (``created``), or the original one of its idempotency key."""

    run: str
    created: bool


class SignalReceipt(msgspec.Struct, frozen=True):
    """``repeated``: a signal of this id had been recorded already and nothing happened.  ``consumed``: a step
    that waited for it has taken it; otherwise it is stored for one that will."""

    run: str
    id: str
    repeated: bool = False
    consumed: bool = False


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    code: str
    message: str
    path: str | None = None
    visit: int | None = None


class StopInfo(msgspec.Struct, frozen=True):
    """``kind``: cancel, supersede, deadline or parent.  ``blocked_by``: paths that must settle first."""

    kind: str
    at: float
    blocked_by: tuple[str, ...] = ()


class Position(msgspec.Struct, frozen=True):
    """Where one line of the run stands; ``waits_on`` in words, ``wakes_at`` if a timer will wake it.

    ``waits_for`` are the names of the signals that it waits for, of which any one or each is missing.
    """

    path: str
    visit: int
    status: str
    attempt: int = 0
    waits_on: str | None = None
    wakes_at: float | None = None
    waits_for: tuple[str, ...] = ()


class HoldInfo(msgspec.Struct, frozen=True):
    key: str
    fence: int
    lifetime: str
    review: bool = False


class TicketInfo(msgspec.Struct, frozen=True):
    """One wait for a key: its place in the queue (first is 1) and the runs that hold the key."""

    key: str
    path: str
    position: int
    holders: tuple[str, ...]
    held_for_review: bool = False
    since: float = 0.0


class QueueInfo(msgspec.Struct, frozen=True):
    """A queued run's place (first is 1) and the active runs that hold the slots."""

    position: int
    blocked_by: tuple[str, ...]


class ReviewInfo(msgspec.Struct, frozen=True):
    """An open or settled review of a protected section: why it was opened, and late results kept."""

    path: str
    visit: int
    key: str
    fence: int
    opened_at: float
    reason: ErrorInfo
    evidence: tuple[Json, ...] = ()
    decision: str | None = None


class BudgetUse(msgspec.Struct, frozen=True):
    """Limits (None: not limited) and use so far; ``state_bytes`` is the size of the public state."""

    limits: dict[str, int | None]
    used: dict[str, int]


class RunStatus(msgspec.Struct, frozen=True):
    """Section 12's status of one run; every text is redacted."""

    run: str
    account: str
    workflow: str
    status: str
    definition_version: str
    definition_hash: str
    closure_hash: str
    idempotency_key: str | None
    dispatched_at: float
    started_at: float | None
    ended_at: float | None
    attempt: int
    deadline: float | None
    budget: BudgetUse
    inputs: dict[str, Json]
    state: dict[str, Json]
    outputs: Json = None
    error: ErrorInfo | None = None
    stop: StopInfo | None = None
    positions: tuple[Position, ...] = ()
    holds: tuple[HoldInfo, ...] = ()
    tickets: tuple[TicketInfo, ...] = ()
    reviews: tuple[ReviewInfo, ...] = ()
    queue: QueueInfo | None = None
    wait_type: str | None = None
    waiting_for: tuple[str, ...] = ()
    wait_mode: str | None = None
    wait_details: tuple[Json, ...] = ()
    parent: str | None = None
    children: tuple[str, ...] = ()
    superseded_by: str | None = None
    retryable: bool = False


class RunRow(msgspec.Struct, frozen=True):
    """One line of a listing."""

    run: str
    account: str
    workflow: str
    status: str
    dispatched_at: float
    ended_at: float | None
    error: str | None = None


class Event(msgspec.Struct, frozen=True):
    """One entry of a run's log; ``seq`` grows by the store's order, ``kind`` is of section 12's list."""

    seq: int
    run: str
    at: float
    kind: str
    path: str | None = None
    visit: int | None = None
    data: dict[str, Json] = {}


class HolderInfo(msgspec.Struct, frozen=True):
    run: str
    fence: int
    since: float
    lifetime: str
    review: bool = False


class WaiterInfo(msgspec.Struct, frozen=True):
    run: str
    path: str
    ticket: int
    since: float


class LeaseInfo(msgspec.Struct, frozen=True):
    """One key of an account: its limit, its holders, and the tickets in the order they are served."""

    key: str
    limit: int | None
    holders: tuple[HolderInfo, ...]
    waiters: tuple[WaiterInfo, ...]


class AdmissionInfo(msgspec.Struct, frozen=True):
    """One workflow's admission queue: the active runs, and the waiting ones in order."""

    workflow: str
    active: tuple[str, ...]
    waiting: tuple[str, ...]


class Stats(msgspec.Struct, frozen=True):
    """Counts over the store: runs by status, and rows of what is in motion."""

    runs: dict[str, int]
    tasks: int
    claimed: int
    timers: int
    leases: int
    tickets: int
    inbox: int
    workers: int


class JournalEntry(msgspec.Struct, frozen=True):
    """What one turn of a run was given: its event, and what it asked with the answers.

    ``turn`` counts from 1; ``version`` is the release that decided it; ``costs`` are what blocks cost
    where they do not cost 1.
    """

    turn: int
    version: str
    at: float
    event: dict[str, Json]
    answers: list[tuple[str, Json]] = []
    costs: dict[str, int] = {}


class Export(msgspec.Struct, frozen=True):
    """A run with its definitions, log and journal as JSON-able data, secrets redacted.

    ``hidden`` tells that something in the inputs or the journal is redacted, so that a replay of the
    export may find a difference where there is none; ``cut`` that the journal became too long, and what
    came after was not kept.
    """

    format: int
    definition: Json
    closure: dict[str, Json]
    status: RunStatus
    events: tuple[Event, ...]
    journal: tuple[JournalEntry, ...] = ()
    hidden: bool = False
    cut: bool = False


class History(msgspec.Struct, frozen=True):
    """What a replay needs: the export, and the inputs and journal as they really were."""

    export: Export
    inputs: dict[str, Json]
    journal: tuple[JournalEntry, ...]


class Difference(msgspec.Struct, frozen=True):
    """Where a replay decides otherwise first: in a turn (0: at the end), in ``what``; then and now."""

    turn: int
    event: str
    what: str
    then: Json
    now: Json


class Replayed(msgspec.Struct, frozen=True):
    """What a replay found.  ``same`` is None where it cannot be said; ``reason`` tells why.

    ``versions`` are those that decided the run, ``here`` is this one.
    """

    run: str
    workflow: str
    versions: tuple[str, ...]
    here: str
    turns: int
    same: bool | None
    difference: Difference | None = None
    reason: str | None = None
