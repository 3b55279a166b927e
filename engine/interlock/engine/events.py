"""The closed list of event kinds (section 12).  An unknown kind cannot be made into an event."""

from __future__ import annotations

from typing import Any, TypeAlias

KINDS = frozenset(
    [
        "run.dispatched",
        "run.deduplicated",
        "run.queued",
        "run.admitted",
        "run.stop_requested",
        "run.retried",
        "run.completed",
        "run.failed",
        "run.cancelled",
        "run.superseded",
        "step.entered",
        "step.started",
        "step.attempt_failed",
        "step.retry_scheduled",
        "step.completed",
        "step.failed",
        "step.skipped",
        "step.stopped",
        "lease.queued",
        "lease.granted",
        "lease.reentered",
        "lease.refenced",
        "lease.skipped",
        "lease.refused",
        "lease.withdrawn",
        "lease.blocked_by_review",
        "lease.released",
        "review.opened",
        "review.evidence",
        "review.settled",
        "wait.opened",
        "wait.satisfied",
        "wait.failed",
        "wait.timed_out",
        "signal.received",
        "signal.consumed",
        "signal.refused",
        "child.started",
        "group.started",
        "compensation.started",
        "compensation.completed",
        "compensation.failed",
        "handler.started",
        "handler.completed",
        "handler.failed",
        "task.handed_back",
        "task.reassigned",
        "task.late_result",
        "worker.lost",
    ]
)


Note: TypeAlias = tuple[str, str | None, int | None, dict[str, Any] | None]
"""An event before it has a place in the log: (kind, path, visit, data)."""


def note(kind: str, path: str | None = None, visit: int | None = None, data: dict[str, Any] | None = None) -> Note:
    """Make an event; a kind outside the list raises ValueError."""
    if kind not in KINDS:
        raise ValueError(f'"{kind}" is no event kind')
    return (kind, path, visit, data)
