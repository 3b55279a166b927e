"""The closed lists of error codes (section 12), and the errors that carry them.

A code outside its list cannot be constructed; the codes of ``fail`` blocks are marked as a workflow's own.
"""

from __future__ import annotations

import msgspec

RUN_CODES = frozenset(
    [
        "expression",
        "null-in-text",
        "bad-key",
        "bad-value",
        "block-failed",
        "effect-unknown",
        "block-unavailable",
        "result-invalid",
        "result-too-large",
        "timeout",
        "resource-busy",
        "limit-conflict",
        "deadlock",
        "branch-failed",
        "item-failed",
        "quorum-unreachable",
        "child-failed",
        "child-inputs",
        "dependency-failed",
        "unknown-run",
        "unknown-group",
        "group-conflict",
        "bad-next",
        "state-conflict",
        "secret-unavailable",
        "abandoned",
        "poisoned",
        "budget-exceeded",
        "deadline-exceeded",
        "internal",
    ]
)
"""What a run, a step, a branch or an item can fail with, besides the codes of ``fail``."""

CALLER_CODES = frozenset(
    [
        "definition-refused",
        "inputs-refused",
        "not-allowed",
        "needs-store",
        "unknown-workflow",
        "unknown-run",
        "run-ended",
        "not-retryable",
        "not-in-review",
        "bad-payload",
        "payload-too-large",
        "budget-exceeded",
        "store-busy",
        "store-full",
        "store-readonly",
        "store-corrupt",
        "store-newer",
        "store-key",
    ]
)
"""What a verb can refuse with."""


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a step, branch, item or run failed; ``own`` marks a code that a ``fail`` block gave."""

    code: str
    message: str
    path: str | None = None
    visit: int | None = None
    own: bool = False

    def __post_init__(self) -> None:
        if not self.own and self.code not in RUN_CODES:
            raise ValueError(f'"{self.code}" is no error code of a run')


class CallerError(Exception):
    """A verb refused: a code of section 12 and one sentence for the caller."""

    def __init__(self, code: str, message: str) -> None:
        if code not in CALLER_CODES:
            raise ValueError(f'"{code}" is no error code for a caller')
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
