"""The order of work at the desk: questions before checks, one check for a burst, none for what is outdated."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from interlock.server.lsp.desk import Desk, Outdated

WAIT = 30.0


class Bench:
    """A desk whose check goes on until it is let go, or has to give way for good."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.free = threading.Event()
        self.finished = threading.Semaphore(0)
        self.stopped = 0
        self.desk = Desk(self.check)
        self.desk.start()

    def check(self) -> None:
        self.began.release()
        while not self.free.wait(0.001):
            try:
                self.desk.give_way()
            except Outdated:
                self.stopped += 1
                raise
        self.finished.release()


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.free.set()
    bench.desk.close()


def test_a_question_during_a_check_is_answered_before_the_check_ends(bench: Bench) -> None:
    bench.desk.check_soon(0.0)
    assert bench.began.acquire(timeout=WAIT)
    assert bench.desk.ask(lambda: "answer").result(WAIT) == "answer"
    assert bench.desk.checks == 0
    assert bench.stopped == 0
    bench.free.set()
    assert bench.finished.acquire(timeout=WAIT)


def test_a_change_ends_the_check_at_hand_and_another_one_follows(bench: Bench) -> None:
    bench.desk.check_soon(0.0)
    assert bench.began.acquire(timeout=WAIT)
    bench.desk.ask(lambda: None, changes=True).result(WAIT)
    assert bench.began.acquire(timeout=WAIT)
    assert bench.stopped == 1
    bench.free.set()
    assert bench.finished.acquire(timeout=WAIT)


def test_a_burst_of_changes_costs_one_check(bench: Bench) -> None:
    held = threading.Event()
    bench.desk.ask(lambda: held.wait(WAIT))
    changes = []
    for _ in range(50):
        changes.append(bench.desk.ask(lambda: None, changes=True))
        bench.desk.check_soon(0.0)
    bench.free.set()
    held.set()
    for change in changes:
        change.result(WAIT)
    assert bench.finished.acquire(timeout=WAIT)
    bench.desk.ask(lambda: None).result(WAIT)
    assert not bench.finished.acquire(timeout=0.05)
