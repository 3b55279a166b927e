"""Who a worker is, and whether the process of another one on this machine has ended.

A beat that stands still tells everywhere, after some seconds, that a worker is lost.  On the same
machine the process table tells it at once, so a killed run goes on without waiting.  Whatever is in
doubt (another machine, another process namespace, a system without /proc) is left to the beat.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys


def _started(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def _machine() -> str | None:
    """This machine, this boot of it, and this namespace of processes; None where it cannot be known."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip().replace("-", "")
        return f"{boot}{os.stat('/proc/self/ns/pid').st_ino:x}"
    except OSError:
        return None


def new_name() -> str:
    """A name for a worker of this process: host, process, start, machine, and a part at random."""
    pid = os.getpid()
    host = socket.gethostname()[:64].replace("/", "-")
    return "/".join((host, str(pid), _started(pid) or "-", _machine() or "-", secrets.token_hex(3)))


def has_ended(name: str) -> bool:
    """Whether a worker of this name ran on this machine and its process is gone for certain."""
    parts = name.split("/")
    if len(parts) != 5 or not parts[1].isdecimal():
        return False
    _, pid, started, machine, _ = parts
    here = _machine()
    if here is None or machine != here or started == "-":
        return False
    try:
        return _started(int(pid)) != started
    except (OSError, IndexError):
        return False
