"""What a block is given besides its params, and how it says that it failed (section 5.1)."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Mapping
from typing import Any

from interlock.engine.ports import Effect, Json

LEVELS = ("debug", "info", "warning", "error")


class BlockFailed(Exception):
    """Raised by a block that failed: what happened, and whether its effect is known.

    ``effect`` is ``none`` where nothing was done (refused, never sent), ``unknown`` where nobody
    knows; left out, it is ``unknown`` for a block with effects and ``none`` for one without.

    >>> raise BlockFailed("the printer is out of paper", effect="none")
    Traceback (most recent call last):
    ...
    interlock.engine.blocks.context.BlockFailed: the printer is out of paper
    """

    message = ""
    effect: Effect | None = None
    code: str | None = None

    def __init__(self, message: str, *, effect: Effect | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.effect = effect
        self.code = code


class OwnFailure(BlockFailed):
    """What the ``fail`` block raises: a failure with a code of the workflow's own."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, effect="none", code=code)


def as_failure(error: BaseException) -> tuple[str, Effect | None, str | None]:
    """What an error of a block says: message, effect and code, whatever its author made of them.

    The message is text that can be stored; an effect that is none of the two words is open.
    """
    if not isinstance(error, BlockFailed):
        name = type(error).__name__
        text = _sayable(error)
        if not text and isinstance(error, CancelledError):
            text = "something that the block waited for was cancelled"
        return f"{name}: {text}" if text else name, None, None
    effect = error.effect if error.effect in ("none", "unknown", None) else "unknown"
    return _sayable(error.message or error), effect, error.code if isinstance(error.code, str) else None


def _sayable(said: object) -> str:
    """Text of anything: also of what cannot be written as text, or holds half of a surrogate pair."""
    try:
        text = str(said)
    except Exception:
        text = "its text cannot be written"
    return text.encode("utf-8", "replace").decode()


class Context:
    """One attempt of one block: who asks, and what the outside may need to know of it.

    ``idempotency_key`` stays the same over attempts, crashes and retries of the run; ``fence`` is the
    number of the lease that the block runs under, for an outside system to refuse a stale holder.
    Times are seconds since 1970.
    """

    __slots__ = (
        "_log",
        "_redact",
        "_wait",
        "account",
        "attempt",
        "begun",
        "deadline",
        "fence",
        "idempotency_key",
        "path",
        "run",
        "services",
        "visit",
        "workflow",
    )

    def __init__(
        self,
        *,
        run: str = "",
        account: str = "default",
        workflow: str = "",
        path: str = "",
        visit: int = 1,
        attempt: int = 1,
        idempotency_key: str = "",
        fence: int | None = None,
        deadline: float | None = None,
        log: Callable[[str, str], None] | None = None,
        redact: Callable[[str], str] = str,
        services: Mapping[str, Any] | None = None,
    ) -> None:
        self._wait: Callable[[bool], None] | None = None
        self.run = run
        self.account = account
        self.workflow = workflow
        self.path = path
        self.visit = visit
        self.attempt = attempt
        self.idempotency_key = idempotency_key
        self.fence = fence
        self.deadline = deadline
        self.services = services or {}
        self.begun = False
        self._log = log
        self._redact = redact

    def begin(self) -> None:
        """Say that the outside may be touched from now on.

        A block that fails, or is out of time, before it has begun counts as not done.  Blocks that
        never call it count as begun from the start.
        """
        self.begun = True

    def log(self, message: str, level: str = "info") -> None:
        """Write a line to the run's log; ``level`` is debug, info, warning or error.

        Another level fails nothing, for a line of the log does not decide a step: it is told in the log.
        """
        if self._log is None:
            return
        if level not in LEVELS:
            told = f'"{_sayable(level)}" is no level of a log line: it is {", ".join(LEVELS[:-1])} or {LEVELS[-1]}.'
            self._log("warning", told)
            level = "info"
        self._log(level, _sayable(message))

    def on_wait(self, told: Callable[[bool], None]) -> None:
        """Who is told when the attempt begins (true) and ends (false) to wait for a place to run at."""
        self._wait = told

    def waits(self, waiting: bool) -> None:
        """Say that the attempt waits for a place to run at: that is not yet time of the block."""
        if self._wait is not None:
            self._wait(waiting)

    def redact(self, text: str) -> str:
        """The text with secrets as ``***``: for what is cut before it is shown, for half a secret is not found."""
        return self._redact(text)

    def described(self) -> dict[str, Json]:
        """The facts of the attempt as JSON, for a child process."""
        names = (
            "run",
            "account",
            "workflow",
            "path",
            "visit",
            "attempt",
            "idempotency_key",
            "fence",
            "deadline",
        )
        return {name: getattr(self, name) for name in names}
