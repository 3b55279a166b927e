"""Messages in and out: framing on a pair of byte streams, and when to stop listening.

What a message means is left to the protocol.  A header that cannot be read is skipped; nothing that a
client writes ends the server but ``exit``, the end of the stream, or the end of the client's process.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import BinaryIO

MAX_BODY = 256 * 1024 * 1024
"""How large one message may be, in bytes."""


def read_message(stream: BinaryIO) -> bytes | None:
    """The body of the next message; None at the end of the stream."""
    length: int | None = None
    while True:
        line = stream.readline(64 * 1024)
        if not line:
            return None
        if not line.strip():
            if length is not None:
                body = stream.read(length)
                return body if len(body) == length else None
            continue
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            length = int(digits) if digits.isdigit() and len(digits) < 12 else None
            if length is not None and length > MAX_BODY:
                return None


class Listener(threading.Thread):
    """Reads messages until the stream ends; ``heard`` gets each body, ``ended`` is called once."""

    def __init__(self, stream: BinaryIO, heard: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        super().__init__(name="listener", daemon=True)
        self._stream = stream
        self._heard = heard
        self._ended = ended

    def run(self) -> None:
        try:
            while (body := read_message(self._stream)) is not None:
                self._heard(body)
        except (OSError, ValueError, RuntimeError):  # closed from another side
            pass
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._ended()


class Writer:
    """What the protocol writes to; a client that went away is no failure of ours."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError):
            pass

    def close(self) -> None:
        return None


def is_alive(process: int) -> bool:
    """Whether a process still exists; where that cannot be told, it counts as alive."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError, ValueError):
        return True
    return True


class Watcher(threading.Thread):
    """Tells once when a process is gone."""

    def __init__(self, process: int, gone: Callable[[], None], every: float = 1.0) -> None:
        super().__init__(name="watcher", daemon=True)
        self._process = process
        self._gone = gone
        self._every = every
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        while not self._stop.wait(self._every):
            if not is_alive(self._process):
                self._gone()
                return
