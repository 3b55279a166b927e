"""Questions about the whole workspace that come while its files are still read: they wait until all are here.

Everything here happens on the loop's thread.  What is asked, and of whom, is the server's part.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Later:
    """``open`` says that questions need not wait."""

    def __init__(self) -> None:
        self.open = True
        self._waiting: list[tuple[Future[Any], Callable[[], Future[Any]]]] = []

    def hold(self) -> None:
        """From now on questions wait."""
        self.open = False

    def ask(self, question: Callable[[], Future[Any]]) -> Future[Any]:
        """The answer to a question, which is put as soon as it can be; until then it can be cancelled."""
        if self.open:
            return question()
        promised: Future[Any] = Future()
        self._waiting.append((promised, question))
        return promised

    def release(self) -> None:
        """Puts all questions that have waited, in their order."""
        self.open = True
        waiting, self._waiting = self._waiting, []
        for promised, question in waiting:
            if promised.set_running_or_notify_cancel():
                question().add_done_callback(lambda done, promised=promised: _hand_on(done, promised))  # type: ignore[misc]

    def give_up(self) -> None:
        """Nobody will answer any more."""
        waiting, self._waiting = self._waiting, []
        for promised, _ in waiting:
            promised.cancel()


def _hand_on(done: Future[Any], promised: Future[Any]) -> None:
    if done.cancelled():
        promised.set_exception(RuntimeError("The server has ended."))
    elif (error := done.exception()) is not None:
        promised.set_exception(error)
    else:
        promised.set_result(done.result())
