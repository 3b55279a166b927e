"""The one thread on which everything is analyzed, and the order in which it works.

Trees move when they are read again, so nobody else touches them.  Questions and changes are answered in
the order in which they came; checking waits until there are none, and gives way to them: a question is
answered in between, a change ends the check, since what it would say is outdated.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TypeVar

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Outdated(Exception):
    """The text has changed while it was checked."""


class _Job:
    __slots__ = ("changes", "future", "work")

    def __init__(self, work: Callable[[], object], changes: bool | str) -> None:
        self.work = work
        self.changes = changes
        self.future: Future[object] = Future()

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.work())
        except BaseException as error:  # whoever asked is told, whatever it is
            self.future.set_exception(error)


class Desk:
    """``check`` is the work of the background; it calls ``give_way`` now and then."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._waiting: deque[_Job] = deque()
        self._condition = threading.Condition()
        self._due: float | None = None
        self._latest = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="analysis", daemon=True)
        self.checks = 0

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stops after the job at hand; who still waits gets a cancellation."""
        with self._condition:
            self._closed = True
            waiting, self._waiting = self._waiting, deque()
            self._condition.notify()
        for job in waiting:
            job.future.cancel()

    def ask(self, work: Callable[[], T], changes: bool | str = False) -> Future[T]:
        """Puts a question; ``changes`` tells that it changes texts, or which one: a running check is outdated."""
        job = _Job(work, changes)
        with self._condition:
            if self._closed:
                job.future.cancel()
            else:
                self._waiting.append(job)
                self._condition.notify()
        return job.future  # type: ignore[return-value]

    def check_soon(self, delay: float, at_most: float = 0.1) -> None:
        """Checks once nothing has asked for it during ``delay`` seconds, or ``at_most`` after the first."""
        now = time.monotonic()
        with self._condition:
            if self._due is None:
                self._latest = now + at_most
            self._due = min(now + delay, self._latest)
            self._condition.notify()

    def give_way(self) -> None:
        """Called by the check between its parts: answers questions, and raises ``Outdated`` after a change."""
        while True:
            with self._condition:
                if self._closed:
                    raise Outdated
                if not self._waiting:
                    return
                if self._waiting[0].changes:
                    raise Outdated
                job = self._waiting.popleft()
            job.run()

    def give_way_to(self, document: str) -> None:
        """Called by a question that takes its time: raises ``Outdated`` once its own document has changed."""
        with self._condition:
            if self._closed or any(job.changes == document for job in self._waiting):
                raise Outdated

    def _work(self) -> None:
        while True:
            job: _Job | None = None
            with self._condition:
                while not self._closed and not self._waiting:
                    wait = None if self._due is None else self._due - time.monotonic()
                    if wait is not None and wait <= 0:
                        break
                    self._condition.wait(wait)
                if self._closed:
                    return
                if self._waiting:
                    job = self._waiting.popleft()
                else:
                    self._due = None
            if job is not None:
                job.run()
                continue
            try:
                self._check()
                self.checks += 1
            except (Outdated, CancelledError):
                self.check_soon(0.0)
            except Exception:
                logger.exception("The check failed")
