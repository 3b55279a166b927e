"""Ends the process groups of blocks when their worker dies, however it dies.

A worker that is killed cannot end the commands that it has started.  A small shell process beside it
can: it reads the groups from a pipe, and when the pipe ends because the worker is gone, it kills what is
left, and on Linux what carries the worker's mark outside of the groups (``descendants``).  It is started
before the first group, and needs nothing but a POSIX shell.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable

from interlock.engine.blocks.descendants import MARK, new_mark

_WATCH = """
live=' '
while read -r what group; do
    case $what in
        +) live="$live$group " ;;
        -) live="${live%% $group *} ${live#* $group }" ;;
    esac
done
for group in $live; do kill -9 "-$group"; done
[ "$live" = ' ' ] && exit
for pass in 1 2 3; do
    found=$(grep -l "$1" /proc/[0-9]*/environ)
    [ -n "$found" ] || break
    for file in $found; do
        pid=${file#/proc/}
        kill -9 "${pid%/environ}"
    done
done
"""


class Guard:
    """The watcher of one worker."""

    def __init__(self) -> None:
        self.mark = new_mark()
        """What the marks of this worker's commands begin with."""
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()

    def ready(self) -> None:
        """Have the watcher stand before a process is started: nothing is to run unwatched meanwhile."""
        if not self._tell(""):
            self._start()
            for group in self._groups:
                self._tell(f"+ {group}\n")

    def enrolment(self) -> Callable[[], None] | None:
        """What a new process does for itself before it becomes its command; None without a watcher.

        The process tells the watcher its group, so that a worker which dies while it starts leaves
        nothing unknown behind.  It only writes to the pipe: little is safe between fork and exec.
        """
        self.ready()
        if self._process is None or self._process.stdin is None:
            return None
        pipe = self._process.stdin.fileno()

        def enrol() -> None:
            os.write(pipe, b"+ %d\n" % os.getpid())

        return enrol

    def enrolled(self, group: int) -> None:
        """A process that enrolled itself has started."""
        self._groups.add(group)
        if not self._tell(""):
            self.add(group)

    def add(self, group: int) -> None:
        """From now on this process group ends with the worker."""
        self._groups.add(group)
        if not self._tell(f"+ {group}\n"):
            # The watcher itself was killed: a new one knows them all.
            self._start()
            self._tell("".join(f"+ {each}\n" for each in self._groups))

    def remove(self, group: int) -> None:
        """The group has ended; its number may soon be another's."""
        if group in self._groups:
            self._groups.discard(group)
            self._tell(f"- {group}\n")

    def close(self) -> None:
        """End the watcher, and with it whatever is still known to it."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        self._process = None

    def _start(self) -> None:
        if self._process is not None:
            self.close()
        # A session of its own: what stops the worker at the terminal must not stop the watcher first.
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "sh", f"{MARK}={self.mark}-"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )

    def _tell(self, words: str) -> bool:
        if self._process is None or self._process.poll() is not None:
            return False
        assert self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), words.encode())
        except OSError:
            return False
        return True
