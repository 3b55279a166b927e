"""The engine for programs in an event loop: `AsyncEngine` has the verbs of `Engine`, awaited."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from interlock.engine.arguments import Seconds
from interlock.engine.blocks.registry import Registry
from interlock.engine.client.sync import TERMINAL, Decision, Engine, RunResult, pauses
from interlock.engine.host import DEFAULT_STORE, SecretSource
from interlock.engine.ports import Definition, Json
from interlock.engine.shown import (
    AdmissionInfo,
    Dispatched,
    Event,
    Export,
    LeaseInfo,
    Replayed,
    RunRow,
    RunStatus,
    SignalReceipt,
    Stats,
)
from interlock.engine.worker import LogLine

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class AsyncEngine:
    """`Engine` for programs in an event loop: the same verbs, awaited; the store works in a thread.

    >>> async def main():
    ...     async with AsyncEngine.open("memory:") as engine:
    ...         await engine.define("workflow: hello\\nsteps: [{id: a, block: set}]")
    ...         return (await engine.run("hello")).status
    >>> asyncio.run(main())
    'completed'
    """

    def __init__(self, engine: Engine) -> None:
        self.sync = engine
        """The engine itself; its verbs wait."""

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls,
        url: str = DEFAULT_STORE,
        *,
        blocks: Iterable[Any] | Registry = (),
        allow: Iterable[str] = (),
        secrets: SecretSource | None = None,
        account: str = "default",
    ) -> AsyncIterator[AsyncEngine]:
        """Open a store as `Engine.open` does, for the time of an ``async with``."""
        engine = await asyncio.to_thread(
            lambda: Engine.open(url, blocks=blocks, allow=allow, secrets=secrets, account=account)
        )
        try:
            yield cls(engine)
        finally:
            await asyncio.to_thread(engine.close)

    async def call(self, verb: Callable[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Any verb of the engine in a thread: ``await engine.call(engine.sync.stats)``."""
        return await asyncio.to_thread(verb, *given, **named)

    async def load(self, *paths: str | os.PathLike[str]) -> tuple[str, ...]:
        """See `Engine.load`."""
        return await self.call(self.sync.load, *paths)

    async def define(self, text: str, path: str | None = None) -> tuple[str, ...]:
        """See `Engine.define`."""
        return await self.call(self.sync.define, text, path)

    async def dispatch(
        self,
        workflow: str | Definition,
        inputs: Mapping[str, Json] | None = None,
        *,
        account: str | None = None,
        idempotency_key: str | None = None,
    ) -> Dispatched:
        """See `Engine.dispatch`."""
        return await self.call(self.sync.dispatch, workflow, inputs, account=account, idempotency_key=idempotency_key)

    async def run(
        self,
        workflow: str | Definition,
        inputs: Mapping[str, Json] | None = None,
        *,
        account: str | None = None,
        idempotency_key: str | None = None,
        on_log: Callable[[LogLine], None] | None = None,
    ) -> RunResult:
        """See `Engine.run`."""
        done = await self.dispatch(workflow, inputs, account=account, idempotency_key=idempotency_key)
        await self.call(self.sync.still_there, done)
        return await self.sync.finish(done.run, on_log=on_log)

    async def resume(self, run: str, *, on_log: Callable[[LogLine], None] | None = None) -> RunResult:
        """See `Engine.resume`."""
        await self.status(run)
        return await self.sync.finish(run, on_log=on_log)

    async def wait(self, run: str, timeout: Seconds | None = None) -> RunResult:
        """See `Engine.wait`.  Keeps no thread meanwhile, and ends at once where it is cancelled."""
        result = await self.call(self.sync.result, run)
        for pause in pauses(timeout):
            if result.status in TERMINAL:
                break
            await asyncio.sleep(pause)
            result = await self.call(self.sync.result, run)
        return result

    async def signal(self, run: str, name: str, payload: Json = None, *, signal_id: str | None = None) -> SignalReceipt:
        """See `Engine.signal`."""
        return await self.call(self.sync.signal, run, name, payload, signal_id=signal_id)

    async def approve(self, run: str, payload: Json = None, *, signal_id: str | None = None) -> SignalReceipt:
        """See `Engine.approve`."""
        return await self.call(self.sync.approve, run, payload, signal_id=signal_id)

    async def reject(self, run: str, payload: Json = None, *, signal_id: str | None = None) -> SignalReceipt:
        """See `Engine.reject`."""
        return await self.call(self.sync.reject, run, payload, signal_id=signal_id)

    async def cancel(self, run: str, *, reason: str = "") -> None:
        """See `Engine.cancel`."""
        await self.call(self.sync.cancel, run, reason=reason)

    async def retry(self, run: str) -> None:
        """See `Engine.retry`."""
        await self.call(self.sync.retry, run)

    async def review(
        self, run: str, decision: Decision, *, path: str | None = None, result: Json = None, by: str = ""
    ) -> None:
        """See `Engine.review`."""
        await self.call(self.sync.review, run, decision, path=path, result=result, by=by)

    async def status(self, run: str) -> RunStatus:
        """See `Engine.status`."""
        return await self.call(self.sync.status, run)

    async def events(self, run: str | None = None, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """See `Engine.events`."""
        return await self.call(self.sync.events, run, after=after, limit=limit)

    async def runs(
        self,
        *,
        workflow: str | None = None,
        status: str | None = None,
        account: str | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[RunRow]:
        """See `Engine.runs`."""
        return await self.call(
            self.sync.runs, workflow=workflow, status=status, account=account, limit=limit, before=before
        )

    async def follow(self, run: str, *, after: int = 0, poll: float = 0.1) -> AsyncIterator[Event]:
        """See `Engine.follow`."""
        while True:
            ended = (await self.status(run)).status in TERMINAL
            while found := await self.events(run, after=after):
                after = found[-1].seq
                for event in found:
                    yield event
            if ended:
                return
            await asyncio.sleep(poll)

    async def leases(self, account: str | None = None) -> list[LeaseInfo]:
        """See `Engine.leases`."""
        return await self.call(self.sync.leases, account)

    async def queue(self, workflow: str | None = None, account: str | None = None) -> list[AdmissionInfo]:
        """See `Engine.queue`."""
        return await self.call(self.sync.queue, workflow, account)

    async def stats(self) -> Stats:
        """See `Engine.stats`."""
        return await self.call(self.sync.stats)

    async def export(self, run: str) -> Export:
        """See `Engine.export`."""
        return await self.call(self.sync.export, run)

    async def replay(self, run: str, *, any_version: bool = False) -> Replayed:
        """See `Engine.replay`."""
        return await self.call(self.sync.replay, run, any_version=any_version)

    async def prune(self, older_than: Seconds) -> int:
        """See `Engine.prune`."""
        return await self.call(self.sync.prune, older_than)
