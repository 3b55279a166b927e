"""``interlock check --watch``: checks again whenever a file of the workspace changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from interlock.analyzer.config import ConfigError
from interlock.analyzer.workspace import MissingPath, workspaces
from interlock.server.cli.checking import Asked
from interlock.server.cli.main import UsageError

#: Seconds between two looks, at least; where looking takes long, it is done more rarely.
PAUSE = 0.4


def watch(once: Callable[[], int], asked: Asked) -> int:
    """Goes on until it is interrupted, which is its proper end."""
    try:
        while True:
            before = _signature(asked)
            try:
                once()
            except UsageError as error:
                # A setting that is being edited: wait for it to be right again.
                print(f"interlock check: {error}", file=sys.stderr)
            sys.stdout.flush()
            print("interlock check: watching; end with Ctrl-C", file=sys.stderr)
            while True:
                started = time.monotonic()
                now = _signature(asked)
                if now != before:
                    break
                time.sleep(max(PAUSE, 5 * (time.monotonic() - started)))
            print(f"\n── {time.strftime('%H:%M:%S')} ──", file=sys.stderr)
    except KeyboardInterrupt:
        return 0


def _signature(asked: Asked) -> tuple[object, ...]:
    """What changes when any of the files does."""
    try:
        spaces = workspaces([path for path in asked.paths if os.path.lexists(path)] or asked.paths)
    except (ConfigError, MissingPath) as error:
        return (str(error),)
    paths: list[str] = []
    for space in spaces:
        paths += [member.path for member in space.members]
        paths += space.config.manifests
        if space.root.settings is not None:
            paths.append(space.root.settings)
    return tuple((path, *_status(path)) for path in paths)


def _status(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
