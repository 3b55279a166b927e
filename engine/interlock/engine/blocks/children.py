"""Child processes that run synchronous blocks, so that they can be stopped (section 5.1).

A child is kept and given one call after another; it is killed with its whole group at a time-out or
a stop, or when it goes silent.  What runs in it is ``child``.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from interlock.engine.blocks.context import BlockFailed, Context
from interlock.engine.blocks.descendants import MARK, new_mark
from interlock.engine.blocks.guard import Guard
from interlock.engine.blocks.process import end_group, environment, finish
from interlock.engine.ports import Json
from interlock.engine.values import NotJson, dump, load

MAX_ANSWER = 32 * 1024 * 1024
_TAIL = 2_000


class Call(msgspec.Struct, frozen=True):
    """What a child is asked: the function's place, its params, and how they are given to it."""

    module: str
    name: str
    params: Json
    typed: bool
    context: dict[str, Json]
    path: list[str]


class _Child:
    """One process and the pipes to it."""

    def __init__(self, process: asyncio.subprocess.Process, guard: Guard | None, mark: str) -> None:
        self.process = process
        self._mark = mark
        self._guard = guard
        if guard is not None:
            guard.enrolled(process.pid)
        self.tail = b""
        self._drain = asyncio.create_task(self._read_errors())

    async def _read_errors(self) -> None:
        """Keeps the last words of what blocks print: they explain an end without an answer."""
        assert self.process.stderr is not None
        while part := await self.process.stderr.read(65536):
            self.tail = (self.tail + part)[-_TAIL:]

    async def ask(self, call: Call) -> Any:
        """The answer; EOFError where the child ended without one."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        packed = dump(msgspec.to_builtins(call))
        try:
            self.process.stdin.write(len(packed).to_bytes(4, "big") + packed)
            await self.process.stdin.drain()
            head = await self.process.stdout.readexactly(4)
            size = int.from_bytes(head, "big")
            if size > MAX_ANSWER:
                raise BlockFailed(f"The block returned more than {MAX_ANSWER:,} bytes.", code="result-too-large")
            return load(await self.process.stdout.readexactly(size))
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError, NotJson):
            raise EOFError from None

    def last_words(self, context: Context) -> str:
        lines = context.redact(self.tail.decode("utf-8", "replace")).strip().splitlines()
        return lines[-1][:500] if lines else ""

    async def end(self) -> None:
        if self._guard is not None:
            end_group(self.process.pid)
            self._guard.remove(self.process.pid)
        self._drain.cancel()
        await asyncio.gather(self._drain, return_exceptions=True)
        await finish(self.process, self._mark)


class Children:
    """A pool of child processes for one worker; ``hidden`` names variables that they do not inherit.

    With a ``guard`` they and what they start end when the worker dies.
    """

    def __init__(self, limit: int = 8, hidden: Iterable[str] = (), guard: Guard | None = None) -> None:
        self._idle: list[_Child] = []
        self._slots = asyncio.Semaphore(limit)
        self._hidden = frozenset(hidden)
        self._guard = guard

    async def call(self, place: tuple[str, str], params: Json, typed: Any, context: Context) -> Json:
        """What the function at this place returns, as JSON; `BlockFailed` where it fails.

        With ``typed`` the child reads the function's signature and converts the params; else a list
        or mapping of arguments is passed as it is.
        """
        call = Call(*place, params, bool(typed), context.described(), [*sys.path])
        async with self._place(context):
            child = self._idle.pop() if self._idle else await self._start()
            context.begin()
            kept = False
            try:
                answer = await child.ask(call)
                kept = True
            except EOFError:
                words = child.last_words(context)
                raise BlockFailed(
                    f"The block's process ended without an answer{': ' + words if words else ''}."
                ) from None
            finally:
                if kept:
                    self._idle.append(child)
                else:
                    await asyncio.shield(child.end())
        return _read_answer(answer, context)

    @asynccontextmanager
    async def _place(self, context: Context) -> AsyncIterator[None]:
        """One of the places that there are; what is waited for it is no time of the block."""
        context.waits(True)
        async with self._slots:
            context.waits(False)
            yield

    async def _start(self) -> _Child:
        try:
            return await self._started()
        except OSError as error:
            raise BlockFailed(f"No process can be started: {error.strerror or error}.", effect="none") from None

    async def _started(self) -> _Child:
        mark = new_mark(self._guard.mark if self._guard is not None else "")
        variables = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), MARK: mark}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "interlock.engine.blocks.child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(self._hidden) | variables,
            start_new_session=True,
            preexec_fn=self._guard.enrolment() if self._guard is not None else None,
        )
        return _Child(process, self._guard, mark)

    async def close(self) -> None:
        """End every child."""
        while self._idle:
            await self._idle.pop().end()


def _read_answer(answer: Any, context: Context) -> Json:
    for level, message in answer["log"]:
        context.log(message, level)
    if "result" in answer:
        return answer["result"]
    raise BlockFailed(answer["message"], effect=answer["effect"], code=answer["code"])
