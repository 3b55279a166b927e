"""Finds what a command has started and left behind, also where it left the command's process group.

On Linux: what has the command's mark in its environment, or holds one of its pipes.  Elsewhere nothing is
found, and the process group is all that ends.  A process that drops its environment, leaves the group and
closes the pipes is not found either.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Callable, Iterable, Iterator

MARK = "INTERLOCK_MARK"
"""The variable by which a command and its descendants are known."""

_PASSES = 5


def new_mark(of: str = "") -> str:
    """A mark for one command; those of one worker begin alike."""
    return f"{of}{'-' if of else ''}{secrets.token_hex(4)}"


def end_marked(mark: str) -> int:
    """Kill every process that carries a mark; how many were found.  May take some milliseconds."""
    wanted = f"{MARK}={mark}".encode()

    def carries(pid: str) -> bool:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return wanted in file.read().split(b"\0")

    return _end(carries)


def end_holders(pipes: Iterable[int]) -> int:
    """Kill every other process that holds the far end of these pipes; how many were found."""
    names = set()
    for pipe in pipes:
        with contextlib.suppress(OSError):
            names.add(os.readlink(f"/proc/self/fd/{pipe}"))

    def holds(pid: str) -> bool:
        folder = f"/proc/{pid}/fd"
        return any(_linked(f"{folder}/{name}") in names for name in os.listdir(folder))

    return _end(holds) if names else 0


def _linked(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _end(wanted: Callable[[str], bool]) -> int:
    """Kill what is wanted until nothing more is found: what is killed may have started more meanwhile."""
    ended = 0
    for _ in range(_PASSES):
        found = sum(_ended(pid, wanted) for pid in _processes())
        if not found:
            break
        ended += found
    return ended


def _processes() -> Iterator[str]:
    mine = str(os.getpid())
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdecimal() and name != mine:
            yield name


def _ended(pid: str, wanted: Callable[[str], bool]) -> bool:
    try:
        if not wanted(pid):
            return False
        handle = os.pidfd_open(int(pid))
    except (OSError, AttributeError):
        return False
    try:
        # Its number could be another's by now; the handle's cannot.
        if not wanted(pid):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
