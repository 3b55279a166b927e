"""Where a process of the crash tests can be killed, and the kernel that kills its process there.

A point is a verb of the kernel (``claim``), an event that a transaction logs (``lease.granted``), or a
statement (``INSERT INTO holders``).  Verbs and events are commit points: the process dies right before or
right after the commit.  At a statement it dies inside the transaction, before the statement is executed.
Nothing of this is in the engine: it only calls the ``trace`` that a host may give it.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from collections.abc import Callable
from typing import Any

import msgspec

from interlock.engine.kernel import SqliteKernel
from interlock.engine.ports import Services
from interlock.engine.store.sqlite import SqliteStore

BY_WORKERS = (
    *("claim", "settle_many", "heartbeat", "tick", "register", "lose"),
    *("run.admitted", "run.completed", "run.failed", "run.cancelled", "run.superseded", "run.stop_requested"),
    *("step.entered", "step.started", "step.completed", "step.attempt_failed", "step.retry_scheduled"),
    *("step.failed", "step.skipped", "step.stopped"),
    *("lease.queued", "lease.granted", "lease.refenced", "lease.released", "lease.skipped", "lease.withdrawn"),
    *("lease.blocked_by_review", "review.opened", "wait.opened", "wait.satisfied"),
    *("child.started", "group.started", "compensation.started", "compensation.completed"),
    *("handler.started", "handler.completed", "task.reassigned", "worker.lost"),
)
BY_CALLERS = (
    *("dispatch", "signal", "cancel", "retry", "review", "prune"),
    *("run.dispatched", "run.deduplicated", "run.queued", "run.superseded", "run.retried", "run.stop_requested"),
    *("signal.received", "signal.consumed", "review.settled", "lease.queued", "lease.granted"),
)
TABLES = ("runs", "frames", "vals", "signals", "tasks", "timers", "keys", "holders", "holds", "tickets")
STATEMENTS = (
    *(f"INSERT INTO {name}" for name in (*TABLES, "slots", "waiting", "events", "journal", "comps", "deps", "waits")),
    *(f"DELETE FROM {name}" for name in ("tasks", "timers", "holders", "holds", "tickets", "slots", "deps")),
    *("UPDATE runs", "UPDATE tasks", "UPDATE meta", "COMMIT"),
)
_VERBS = (
    *("dispatch", "dispatch_many", "signal", "cancel", "retry", "review", "register", "unregister"),
    *("lose", "heartbeat", "claim", "settle_many", "hand_back", "tick", "prune"),
)
_STATEMENT = re.compile(
    r"(?:\s|--.*\n)*(INSERT INTO \w+|DELETE FROM \w+|UPDATE \w+|CREATE TABLE \w+|CREATE INDEX \w+|COMMIT)"
)


class Plan(msgspec.Struct, frozen=True):
    """Die at the ``nth`` time of a point: ``side`` is before or after a commit, or inside a transaction.

    With ``sleeps`` the process does not die there but stops, and is woken later.
    """

    point: str
    side: str
    nth: int = 1
    sleeps: bool = False

    @property
    def name(self) -> str:
        return f"{self.side} {self.point}"


class Countdown:
    """Counts the times of a plan's point."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.left = plan.nth

    def passes(self, names: set[str]) -> bool:
        """Whether this is the time to die."""
        if self.plan.point not in names:
            return False
        self.left -= 1
        return self.left == 0

    def strike(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP if self.plan.sleeps else signal.SIGKILL)


class Pointed(SqliteKernel):
    """The kernel of a process that is to die at a point."""

    def __init__(self, store: SqliteStore, services: Services, countdown: Countdown | None) -> None:
        trace = self._traced if countdown is not None and countdown.plan.side != "inside" else None
        super().__init__(store, msgspec.structs.replace(services, trace=trace))
        self.countdown = countdown
        self.verb = ""
        self._seen = self._pending = store.query("SELECT ifnull(max(seq), 0) FROM events")[0][0]
        self._due = False
        for name in _VERBS:
            setattr(self, name, self._named(name, getattr(self, name)))

    def _named(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            self.verb = name
            return verb(*given, **named)

        return call

    def _traced(self, point: str) -> None:
        countdown = self.countdown
        assert countdown is not None
        if point == "after-commit":
            self._seen = self._pending
            if self._due:
                self._due = False
                countdown.strike()
            return
        rows = self.store.query("SELECT seq, kind FROM events WHERE seq > ?", self._seen)
        self._pending = max((seq for seq, _ in rows), default=self._seen)
        if countdown.passes({self.verb, *(kind for _, kind in rows)}):
            if countdown.plan.side == "before":
                countdown.strike()
            self._due = True


def watch_statements(countdown: Countdown) -> None:
    """From now on every connection of this process dies at the plan's statement."""
    connect = sqlite3.connect

    def watched(*given: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*given, **named)

        def traced(sql: str) -> None:
            found = _STATEMENT.match(sql)
            if found is not None and countdown.passes({found[1]}):
                countdown.strike()

        connection.set_trace_callback(traced)
        return connection

    sqlite3.connect = watched  # type: ignore[assignment]
