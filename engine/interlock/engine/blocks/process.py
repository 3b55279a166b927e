"""The ``shell`` block: a command in a process group of its own, with limits of output (section 5.1).

The block ends when the command itself has ended: what the command has left running is ended with it, and a
pipe that something still holds is not waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from typing import Annotated

import msgspec
from msgspec import Meta

from interlock.engine.blocks import descendants
from interlock.engine.blocks.context import BlockFailed, Context
from interlock.engine.blocks.guard import Guard
from interlock.engine.ports import Json
from interlock.engine.values import NotJson, as_text, load

MAX_OUTPUT = 1_048_576
"""Bytes of standard output, and of standard error, that a command may write."""

GONE_SECONDS = 1.0
IDLE_SECONDS = 0.5

Scalar = str | int | float | bool


class ShellParams(msgspec.Struct, forbid_unknown_fields=True):
    command: Annotated[str, Meta(min_length=1)] | Annotated[list[Scalar], Meta(min_length=1)]
    env: dict[str, Scalar] = {}
    cwd: str | None = None
    stdin: str | None = None


class _TooMuch(Exception):
    pass


def environment(hidden: frozenset[str] = frozenset()) -> dict[str, str]:
    """The environment that a command inherits: the engine's own settings and secrets are not in it."""
    return {
        name: value for name, value in os.environ.items() if name not in hidden and not name.startswith("INTERLOCK_")
    }


def end_group(pid: int) -> None:
    """Kill a whole process group; it may be gone already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


async def finish(process: asyncio.subprocess.Process, mark: str | None) -> None:
    """End a process with its group and what carries its mark (None: that is done), and what the loop keeps of it.

    The loop forgets a process only when its pipes are at their end, so what is in them is read and
    dropped; what holds them open all the same is ended too where it is found, and not waited for.
    """
    end_group(process.pid)
    if mark is not None:
        await asyncio.to_thread(descendants.end_marked, mark)

    async def drop(stream: asyncio.StreamReader | None) -> None:
        while stream is not None and await stream.read(1 << 20):
            pass

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GONE_SECONDS):
            await asyncio.gather(drop(process.stdout), drop(process.stderr))
            await process.wait()
            return
    await asyncio.to_thread(descendants.end_holders, _open_pipes(process))
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]
    transport.close()


class _Output:
    """What a command writes to one of its pipes, as it comes."""

    def __init__(self, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        self._stream = stream
        self._parts: list[bytes] = []
        self.size = 0

    async def read(self) -> None:
        """Read to the end; `_TooMuch` where that is too far."""
        while part := await self._stream.read(65536):
            self.size += len(part)
            if self.size > MAX_OUTPUT:
                raise _TooMuch
            self._parts.append(part)

    @property
    def data(self) -> bytes:
        return b"".join(self._parts)


async def _feed(process: asyncio.subprocess.Process, text: str | None) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        if text:
            process.stdin.write(text.encode("utf-8", "surrogatepass"))
            await process.stdin.drain()
        process.stdin.close()


async def _start(params: ShellParams, context: Context, guard: Guard | None, mark: str) -> asyncio.subprocess.Process:
    hidden = context.services.get("hidden_environment", frozenset())
    variables = environment(hidden) | {name: as_text(value) for name, value in params.env.items()}
    variables[descendants.MARK] = mark
    command = params.command
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else [as_text(word) for word in command]
    try:
        return await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=variables,
            cwd=params.cwd,
            start_new_session=True,
            preexec_fn=guard.enrolment() if guard is not None else None,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        name = getattr(error, "filename", None) or words[0]
        raise BlockFailed(f'The command cannot be started: "{name}": {reason}.', effect="none") from None


async def _ended(process: asyncio.subprocess.Process, readers: list[asyncio.Task[None]]) -> None:
    """Wait until the command itself has ended, or wrote too much.

    ``Process.wait`` of some Python versions waits for the pipes as well, which others may hold.
    """
    pause = 0.002
    while process.returncode is None:
        done, _ = await asyncio.wait(readers, timeout=pause, return_when=asyncio.FIRST_EXCEPTION)
        for reader in done:
            reader.result()
        if len(done) == len(readers):
            await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.1)


async def _emptied(
    process: asyncio.subprocess.Process, mark: str, outputs: list[_Output], readers: list[asyncio.Task[None]]
) -> None:
    """Read what the command has written before it ended; what it left running still holds the pipes, and goes.

    A pipe that stays open all the same is given up when nothing more has come for a while.
    """
    end_group(process.pid)
    await asyncio.to_thread(descendants.end_marked, mark)
    idle = 0
    while idle < 2:
        size = sum(output.size for output in outputs)
        done, left = await asyncio.wait(readers, timeout=IDLE_SECONDS)
        for reader in done:
            reader.result()
        if not left:
            return
        # Twice, as this loop itself may have had no time to read.
        idle = idle + 1 if sum(output.size for output in outputs) == size else 0
        await asyncio.to_thread(descendants.end_holders, _open_pipes(process))


def _open_pipes(process: asyncio.subprocess.Process) -> list[int]:
    """The numbers of this process's ends of the command's output pipes, as far as they are open."""
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]
    ends = [transport.get_pipe_transport(number) for number in (1, 2)]
    files = [end.get_extra_info("pipe") for end in ends if end is not None and not end.is_closing()]
    return [file.fileno() for file in files if file is not None]


async def run_command(params: ShellParams, context: Context) -> dict[str, Json]:
    """Run the command to its end; another exit code than 0 is a failure whose effect is unknown.

    Whatever ends this (the end of the command, a time-out, a stop, the worker's death) ends the whole
    process group, and what else of the command's descendants is found (``descendants``).
    """
    guard: Guard | None = context.services.get("guard")
    mark = descendants.new_mark(guard.mark if guard is not None else "")
    process = await _start(params, context, guard, mark)
    if guard is not None:
        guard.enrolled(process.pid)
    context.begin()
    outputs = [_Output(process.stdout), _Output(process.stderr)]
    readers = [asyncio.create_task(output.read()) for output in outputs]
    feeder = asyncio.create_task(_feed(process, params.stdin))
    left: str | None = mark
    try:
        await _ended(process, readers)
        await _emptied(process, mark, outputs, readers)
        left = None
    except _TooMuch:
        raise BlockFailed(
            f"The command wrote more than {MAX_OUTPUT:,} bytes and was stopped.", code="result-too-large"
        ) from None
    finally:
        for task in (*readers, feeder):
            task.cancel()
        await asyncio.gather(*readers, feeder, return_exceptions=True)
        end_group(process.pid)
        if guard is not None:
            guard.remove(process.pid)
        await finish(process, left)
    return _result(process.returncode or 0, outputs[0].data, outputs[1].data, context)


def _result(code: int, stdout: bytes, stderr: bytes, context: Context) -> dict[str, Json]:
    if code:
        how = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        lines = context.redact(stderr.decode("utf-8", "replace")).strip().splitlines()
        raise BlockFailed(f"The command {how}{': ' + lines[-1][:500] if lines else ''}.")
    try:
        value = load(stdout)
    except NotJson:
        value = None
    return {
        "exit_code": code,
        "stdout": stdout.decode("utf-8", "replace"),
        "stderr": stderr.decode("utf-8", "replace"),
        "json": value,
    }
