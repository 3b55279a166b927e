"""The ``shell`` block: a command in a process group of its own, with limits of output (section 5.1)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from typing import Annotated

import msgspec
from msgspec import Meta

from interlock.engine.blocks.context import BlockFailed, Context
from interlock.engine.blocks.guard import Guard
from interlock.engine.ports import Json
from interlock.engine.values import NotJson, as_text, load

MAX_OUTPUT = 1_048_576
"""Bytes of standard output, and of standard error, that a command may write."""

GONE_SECONDS = 5.0

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


async def finish(process: asyncio.subprocess.Process) -> None:
    """End a process with its group, and what the loop keeps of it.

    The loop forgets a process only when its pipes are at their end, so what is in them is read and
    dropped; a program that left its group may hold them open for ever, and is not waited for.
    """
    end_group(process.pid)

    async def drop(stream: asyncio.StreamReader | None) -> None:
        while stream is not None and await stream.read(1 << 20):
            pass

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GONE_SECONDS):
            await asyncio.gather(drop(process.stdout), drop(process.stderr))
            await process.wait()
            return
    transport: asyncio.SubprocessTransport = process._transport  # type: ignore[attr-defined]
    transport.close()


async def _read(stream: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(65536):
        size += len(part)
        if size > MAX_OUTPUT:
            raise _TooMuch
        parts.append(part)
    return b"".join(parts)


async def _feed(process: asyncio.subprocess.Process, text: str | None) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        if text:
            process.stdin.write(text.encode("utf-8", "surrogatepass"))
            await process.stdin.drain()
        process.stdin.close()


async def _start(params: ShellParams, context: Context, guard: Guard | None) -> asyncio.subprocess.Process:
    hidden = context.services.get("hidden_environment", frozenset())
    variables = environment(hidden) | {name: as_text(value) for name, value in params.env.items()}
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


async def _ended(process: asyncio.subprocess.Process, readers: list[asyncio.Task[bytes]]) -> None:
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


async def run_command(params: ShellParams, context: Context) -> dict[str, Json]:
    """Run the command to its end; another exit code than 0 is a failure whose effect is unknown.

    Whatever ends this (the end of the command, a time-out, a stop, the worker's death) ends the whole
    process group.
    """
    guard: Guard | None = context.services.get("guard")
    process = await _start(params, context, guard)
    if guard is not None:
        guard.enrolled(process.pid)
    context.begin()
    assert process.stdout is not None
    assert process.stderr is not None
    readers = [asyncio.create_task(_read(process.stdout)), asyncio.create_task(_read(process.stderr))]
    feeder = asyncio.create_task(_feed(process, params.stdin))
    try:
        await _ended(process, readers)
        # What the command left running in its group still holds the pipes.
        end_group(process.pid)
        stdout, stderr = await asyncio.gather(*readers)
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
        await finish(process)
    return _result(process.returncode or 0, stdout, stderr, context)


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
