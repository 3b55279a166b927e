"""What happens to a cell: messages from other cells (storable in the inbox), and events from outside."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from interlock.engine.ports import Json, Outcome

# --- to a resource key -----------------------------------------------------------------------------


class Acquire(msgspec.Struct, frozen=True, tag="acquire"):
    account: str
    key: str
    run: str
    path: str
    visit: int
    limit: int
    lifetime: str
    on_busy: str


class Release(msgspec.Struct, frozen=True, tag="release"):
    """End one hold (``path``), or with None every hold and ticket of the run."""

    account: str
    key: str
    run: str
    path: str | None


class Withdraw(msgspec.Struct, frozen=True, tag="withdraw"):
    account: str
    key: str
    run: str
    path: str


class Refence(msgspec.Struct, frozen=True, tag="refence"):
    """The work under the run's lease goes to another worker."""

    account: str
    key: str
    run: str


class MarkReview(msgspec.Struct, frozen=True, tag="mark-review"):
    account: str
    key: str
    run: str
    open: bool


ToKey: TypeAlias = Acquire | Release | Withdraw | Refence | MarkReview

# --- to an admission queue -------------------------------------------------------------------------


class Join(msgspec.Struct, frozen=True, tag="join"):
    account: str
    workflow: str
    run: str
    limit: int
    policy: str
    key: str | None


class Leave(msgspec.Struct, frozen=True, tag="leave"):
    """The run has ended: its slot or its place in the queue is free."""

    account: str
    workflow: str
    run: str


ToQueue: TypeAlias = Join | Leave

# --- to a run --------------------------------------------------------------------------------------


class Admitted(msgspec.Struct, frozen=True, tag="admitted"):
    run: str


class Granted(msgspec.Struct, frozen=True, tag="granted"):
    run: str
    key: str
    path: str
    visit: int
    fence: int
    reentered: bool = False


class Queued(msgspec.Struct, frozen=True, tag="queued"):
    """A ticket was written; ``review`` tells that a review holds the key."""

    run: str
    key: str
    path: str
    visit: int
    ticket: int
    review: bool = False


class NotGranted(msgspec.Struct, frozen=True, tag="not-granted"):
    """``code`` is ``skipped``, or the error that the step fails with."""

    run: str
    key: str
    path: str
    visit: int
    code: str
    message: str


class Refenced(msgspec.Struct, frozen=True, tag="refenced"):
    run: str
    key: str
    fence: int


class BlockedByReview(msgspec.Struct, frozen=True, tag="blocked"):
    run: str
    key: str
    path: str
    visit: int
    holder: str


class StopAsked(msgspec.Struct, frozen=True, tag="stop"):
    run: str
    kind: str
    by: str = ""


class RunEnded(msgspec.Struct, frozen=True, tag="ended"):
    """To a run that waits: ``on`` has ended."""

    run: str
    path: str
    visit: int
    on: str
    status: str
    why: str = ""
    """Of a run that failed: its workflow, message and code, as words for a person."""


class Deadlocked(msgspec.Struct, frozen=True, tag="deadlocked"):
    run: str
    path: str
    visit: int
    message: str


ToRun: TypeAlias = (
    Admitted | Granted | Queued | NotGranted | Refenced | BlockedByReview | StopAsked | RunEnded | Deadlocked
)
Message: TypeAlias = ToKey | ToQueue | ToRun

# --- events from outside ---------------------------------------------------------------------------


class TaskSettled(msgspec.Struct, frozen=True, tag="task-settled"):
    path: str
    visit: int
    kind: str
    outcome: Outcome


class TaskLost(msgspec.Struct, frozen=True, tag="task-lost"):
    """The worker of a claimed task is known dead; ``killed`` unless it went by itself."""

    path: str
    visit: int
    kind: str
    worker: str
    killed: bool


class HandedBack(msgspec.Struct, frozen=True, tag="handed-back"):
    """A worker gave a task back that it had not begun."""

    path: str
    visit: int
    kind: str


class Evidence(msgspec.Struct, frozen=True, tag="evidence"):
    """A result from a worker that had lost its claim."""

    path: str
    visit: int
    worker: str
    outcome: Outcome


class SignalSent(msgspec.Struct, frozen=True, tag="signal-sent"):
    id: str
    name: str
    payload: Json


class TimerFired(msgspec.Struct, frozen=True, tag="timer"):
    kind: str
    path: str
    visit: int


class ReviewSettled(msgspec.Struct, frozen=True, tag="review-settled"):
    path: str
    decision: str
    result: Json
    by: str


class Retried(msgspec.Struct, frozen=True, tag="retried"):
    pass


class Broke(msgspec.Struct, frozen=True, tag="broke"):
    """The core itself failed on this run."""

    message: str


Outside: TypeAlias = (
    TaskSettled | TaskLost | HandedBack | Evidence | SignalSent | TimerFired | ReviewSettled | Retried | Broke
)
