"""One attempt of one block: its params completed with secrets, its log lines redacted, its outcome told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from interlock.engine.blocks.context import Context
from interlock.engine.blocks.registry import Registry
from interlock.engine.blocks.running import failed, run_block
from interlock.engine.evaluate import fill, secret_names
from interlock.engine.host import SecretSource, secret_value
from interlock.engine.ports import EvaluationError, Failed, Json, Outcome, Success, Task
from interlock.engine.secrets import StoreCipher
from interlock.engine.values import dump


class LogLine(msgspec.Struct, frozen=True):
    """What a block logged, redacted; ``at`` in seconds since 1970."""

    at: float
    run: str
    path: str
    level: str
    message: str


class NoSecret(Exception):
    """A secret is not given here; the text is the sentence to show."""


class Attempt:
    """A claimed task on its way to an outcome."""

    def __init__(
        self,
        task: Task,
        registry: Registry,
        cipher: StoreCipher,
        secrets: SecretSource | None,
        services: Mapping[str, Any],
        on_log: Callable[[LogLine], None] | None,
    ) -> None:
        self.task = task
        self._registry = registry
        self._cipher = cipher
        self._secrets = secrets
        self._on_log = on_log
        self._outcome: Outcome | None = None
        self._params: Json = task.params
        self._started = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self.context = Context(
            run=task.run,
            account=task.account,
            workflow=task.workflow,
            path=task.path,
            visit=task.visit,
            attempt=task.attempt,
            idempotency_key=task.idempotency_key,
            fence=task.fence,
            deadline=task.deadline,
            log=self._log,
            redact=self._redact,
            services=services,
        )

    def prepare(self) -> None:
        """Complete the params; `NoSecret` where the host lacks one that they read."""
        if not self.task.deferred:
            return
        values: dict[str, str] = {}
        for name in sorted(secret_names(self.task.deferred)):
            values[name] = self._secret(name)
        self._cipher.learn(values.values())
        try:
            self._params = fill(self.task.params, self.task.deferred, values)
        except EvaluationError as error:
            self.refuse(error.code, error.message)

    def _secret(self, name: str) -> str:
        try:
            value = secret_value(self._secrets, name)
        except Exception as error:
            # The text of the error may hold what is not to be shown.
            raise NoSecret(f'the secret "{name}" cannot be had here now ({type(error).__name__})') from None
        if value is None:
            raise NoSecret(f'the secret "{name}" is not given here')
        if not isinstance(value, str):
            raise NoSecret(f'the secret "{name}" that is given here is no text')
        return value

    def refuse(self, code: str, message: str) -> None:
        """Let the attempt fail without beginning."""
        self._outcome = Failed(code, f"{message[:1].upper()}{message[1:].rstrip('.')}.", "none")

    @property
    def untouched(self) -> bool:
        """Whether nothing outside can have been touched yet, so that it can be handed back."""
        if self._outcome is not None:
            return False
        block = self._registry.get(self.task.block)
        known = block is not None and block.begins
        return not self._started or (known and not self.context.begun)

    async def run(self) -> Outcome:
        """The outcome, with its texts redacted; never raises, except when it is cancelled."""
        if self._outcome is not None:
            return self._outcome
        self._started = True
        self._loop = asyncio.get_running_loop()
        outcome = await run_block(
            self._registry, self.task.block, self._params, self.context, timeout=self.task.timeout
        )
        if isinstance(outcome, Success):
            return self._marked(outcome)
        return Failed(self._redact(outcome.code), self._redact(outcome.message), outcome.effect, outcome.own)

    def outcome(self, task: asyncio.Task[Outcome]) -> Outcome:
        """The outcome of the task that ran this attempt, also where the block ended that task itself.

        A block runs in the task of its attempt, and can cancel it; unless that counted as an outcome,
        nobody would ever settle the step.
        """
        try:
            return task.result()
        except BaseException as error:
            ended = failed(error, self._registry.effects(self.task.block, self._params))
            return Failed(ended.code, self._redact(ended.message), ended.effect)

    def _marked(self, outcome: Success) -> Success:
        """The result with those of the host's secrets that occur in it named, for all who show it later."""
        found = self._cipher.own_in(dump(outcome.result).decode())
        return Success(outcome.result, (*outcome.secrets, *found)) if found else outcome

    def _redact(self, text: str) -> str:
        return self._cipher.redact(text, self.task.known_secrets)

    def _log(self, level: str, message: str) -> None:
        if self._on_log is None:
            return
        line = LogLine(time.time(), self.task.run, self.task.path, level, self._redact(message))
        try:
            self._on_log(line)
        except Exception as error:
            # Where the line cannot be shown, the block has done nothing wrong; it may log in a thread of its own.
            told = {"message": f"a line that the block at {line.path} logged could not be passed on"}
            if self._loop is not None:
                self._loop.call_exception_handler({**told, "exception": error})
