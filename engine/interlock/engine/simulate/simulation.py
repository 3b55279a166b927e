"""A seeded simulation: random actions of callers, workers, people, clocks and crashes.

Every choice comes from the seed, so a failing one replays exactly.  Two kernels share the store as two
processes would.  After every transaction the invariants are checked (`Watch`); at the end faults stop,
people answer, and every run must come to its end with nothing left behind.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable
from typing import Literal

from interlock.engine.cells.state import TERMINAL
from interlock.engine.errors import CallerError
from interlock.engine.kernel import SqliteKernel
from interlock.engine.ports import Failed, Outcome, Settlement, Success, Task
from interlock.engine.simulate.invariants import Broken
from interlock.engine.simulate.pool import NAMES, POOL, SIGNALS
from interlock.engine.simulate.world import World

EXPECTED = frozenset({"run-ended", "not-retryable", "not-in-review", "budget-exceeded"})
"""What a caller may be refused with here: the action came at the wrong moment."""


class Simulation:
    """One seed, one store."""

    def __init__(
        self, seed: int, path: str, *, actions: int = 300, runs: int = 12, store: Literal["sqlite", "cells"] = "sqlite"
    ) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.actions = actions
        self.most_runs = runs
        self.world = World(POOL, path=path, synchronous="OFF", store=store)
        self.kernels: list[SqliteKernel] = [
            self.world.kernel,
            self.world.process(),
        ]
        self.max_messages = self.random.choice([1, 3, 20, 500])
        for kernel in self.kernels:
            kernel.max_messages = self.max_messages
        self.runs: list[str] = []
        self.claimed: list[tuple[str, Task]] = []
        self.stale: list[Task] = []
        self.writes: Counter[tuple[str, str, int]] = Counter()
        self.allowed: Counter[str] = Counter()
        self.trail: list[str] = []

    # --- the play ---

    def run(self) -> str:
        """Play the seed; returns a digest of everything that was logged.  Raises `Broken`."""
        moves: list[tuple[int, Callable[[], None]]] = [
            (6, self._dispatch),
            (14, self._claim),
            (24, self._settle),
            (6, self._signal),
            (3, self._cancel),
            (3, self._retry),
            (5, self._review),
            (6, self._pass_time),
            (2, self._kill),
            (2, self._wake),
            (2, self._hand_back),
            (1, self._restart),
            (1, self._jump),
            (4, self._tick),
        ]
        weights = [weight for weight, _ in moves]
        try:
            for _ in range(self.actions):
                _, move = self.random.choices(moves, weights)[0]
                self.world.be(self.random.choice(self.kernels))
                self._try(move)
            self._calm()
            self._replay()
        except Broken as broken:
            last = "\n".join(self.trail[-12:])
            raise Broken(f"seed {self.seed}: {broken}\n{last}") from broken
        return self._digest()

    def _try(self, move: Callable[[], None]) -> None:
        self.trail.append(move.__name__)
        try:
            move()
        except CallerError as error:
            if error.code not in EXPECTED:
                raise
            self.trail.append(f"  refused: {error.code}")

    def _some_run(self) -> str | None:
        return self.random.choice(self.runs) if self.runs else None

    def _dispatch(self) -> None:
        open_runs = [row for row in self.world.kernel.runs(limit=200) if row.status not in TERMINAL]
        if len(open_runs) >= self.most_runs:
            return
        name = self.random.choice(NAMES)
        key = f"key{self.random.randrange(40)}" if self.random.random() < 0.2 else None
        run = self.world.start(name, key=key, n=self.random.randrange(3))
        self.trail.append(f"  {name} {run}")
        if run not in self.runs:
            self.runs.append(run)

    def _claim(self) -> None:
        worker = f"w{self.random.randrange(3)}"
        for task in self.world.kernel.claim(worker, self.random.randint(1, 3)):
            self._took(worker, task)

    def _took(self, worker: str, task: Task) -> None:
        self.trail.append(f"  {worker} takes {task.run} {task.path} {task.kind}")
        self.claimed.append((worker, task))
        if task.protected and task.block == "write":
            at = (task.run, task.path, task.visit)
            self.writes[at] += 1
            if self.writes[at] > 1 + self.allowed[task.run]:
                raise Broken(f"{at} was written {self.writes[at]} times and nobody said so")

    def _outcome(self, task: Task) -> Outcome:
        roll = self.random.random()
        if task.block == "count":
            return Success({"more": self.random.random() < 0.6})
        if roll < (0.5 if task.block == "write" else 0.8):
            return Success({"params": task.params})
        if roll < (0.6 if task.block == "write" else 0.87):
            return Failed("block-failed", "refused", "none")
        if roll < 0.95:
            return Failed("timeout", "late", "unknown")
        return Failed("mine", "own", "none", own=True)

    def _settle(self) -> None:
        if not self.claimed:
            return
        many = self.random.sample(self.claimed, min(len(self.claimed), self.random.randint(1, 3)))
        for each in many:
            self.claimed.remove(each)
        batch = [Settlement(task, self._outcome(task)) for _, task in many]
        self.trail += [f"  settles {each.task.run} {each.task.path} {each.outcome}" for each in batch]
        self.world.kernel.settle_many(batch)

    def _signal(self) -> None:
        run = self._some_run()
        if run is not None:
            payload = {"x": "y" * self.random.choice([1, 10, 200])}
            signal = f"s{self.random.randrange(200)}" if self.random.random() < 0.3 else None
            self.world.kernel.signal(run, self.random.choice(SIGNALS), payload, signal_id=signal)

    def _cancel(self) -> None:
        run = self._some_run()
        if run is not None:
            self.trail.append(f"  cancel {run}")
            self.world.kernel.cancel(run)

    def _retry(self) -> None:
        failed = [row.run for row in self.world.kernel.runs(status="failed")]
        if failed:
            run = self.random.choice(failed)
            self.allowed[run] += 1
            self.trail.append(f"  retry {run}")
            self.world.kernel.retry(run)

    def _review(self) -> None:
        held = [row.run for row in self.world.kernel.runs(status="held_for_review")]
        if held:
            run = self.random.choice(held)
            self._decide(run, self.random.choice(["committed", "not-committed", "abandon"]))

    def _decide(self, run: str, decision: str) -> None:
        path = self.random.choice(self.world.status(run).reviews).path
        self.trail.append(f"  review {run} {path} {decision}")
        if decision == "not-committed":
            self.allowed[run] += 1
        result = {"seen": 0} if decision == "committed" else None
        self.world.kernel.review(run, decision, path=path, result=result)  # type: ignore[arg-type]

    def _pass_time(self) -> None:
        self.world.clock.advance(self.random.choice([0.5, 3, 20, 100]))
        for worker in ("w0", "w1", "w2"):
            if self.random.random() < 0.95:
                self.world.kernel.heartbeat(worker)
        self.world.kernel.tick()

    def _kill(self) -> None:
        """A worker dies: what it had is lost, or comes late."""
        worker = f"w{self.random.randrange(3)}"
        gone = [each for each in self.claimed if each[0] == worker]
        self.trail.append(f"  {worker} dies with {[task.path for _, task in gone]}")
        self.claimed = [each for each in self.claimed if each[0] != worker]
        self.stale += [task for _, task in gone]
        kernel = self.world.kernel
        kernel.tick()
        self.world.clock.steady += self.world.services.lost_after + 1
        for other in ("w0", "w1", "w2"):
            if other != worker:
                kernel.heartbeat(other)
        kernel.tick()

    def _wake(self) -> None:
        """A result from a worker that was believed dead."""
        if self.stale:
            task = self.stale.pop(self.random.randrange(len(self.stale)))
            self.trail.append(f"  late {task.run} {task.path}")
            settled = self.world.kernel.settle(task, self._outcome(task))
            if settled.accepted:
                self.trail.append("  (in time after all)")

    def _hand_back(self) -> None:
        if self.claimed:
            each = self.claimed.pop(self.random.randrange(len(self.claimed)))
            if each[1].protected and each[1].block == "write":
                self.writes[(each[1].run, each[1].path, each[1].visit)] -= 1
            self.world.kernel.hand_back(each[1], reason="not now", delay=self.random.choice([0.0, 10.0]))

    def _restart(self) -> None:
        at = self.kernels.index(self.world.kernel)
        self.world.restart()
        self.kernels[at] = self.world.kernel
        self.world.kernel.max_messages = self.max_messages

    def _jump(self) -> None:
        self.world.clock.wall += self.random.choice([-5000, 5000, 200000])

    def _tick(self) -> None:
        self.world.kernel.tick()

    # --- the end ---

    def _calm(self) -> None:
        """Faults stop and people answer: everything must come to its end."""
        for _ in range(400):
            self._answer()
            self.world.clock.advance(60)
            self._beat_and_tick()
            for task in self.world.kernel.claim("last", 100):
                self._took("last", task)
            for _, task in self.claimed:
                self.world.kernel.settle(task, Success({"params": task.params, "more": False}))
            self.claimed.clear()
            left = [row for row in self.world.kernel.runs(limit=10_000) if row.status not in TERMINAL]
            if not left and not self.world.kernel.stats().inbox:
                break
        else:
            shown = [(row.run, row.workflow, row.status) for row in left]
            raise Broken(f"these runs do not end: {shown}")
        stats = self.world.kernel.stats()
        rest = (stats.tasks, stats.timers, stats.leases, stats.tickets, stats.inbox)
        if any(rest):
            raise Broken(f"left behind (tasks, timers, leases, tickets, inbox): {rest}")
        for queue in self.world.kernel.queue():
            if queue.active or queue.waiting:
                raise Broken(f"left in the queue of {queue.workflow}: {queue}")

    def _replay(self) -> None:
        """Every run must be decided the same again from its journal."""
        for row in self.world.kernel.runs(limit=10_000):
            again = self.world.kernel.replay(row.run)
            if not again.same:
                raise Broken(f"{row.run} is decided otherwise: {again.difference} {again.reason}")

    def _beat_and_tick(self) -> None:
        kernel = self.world.kernel
        kernel.tick()
        self.world.clock.steady += self.world.services.lost_after + 1
        kernel.heartbeat("last")
        kernel.tick()
        self.stale.clear()

    def _answer(self) -> None:
        for row in self.world.kernel.runs(limit=10_000):
            if row.status in TERMINAL:
                continue
            status = self.world.status(row.run)
            if not status.reviews and row.status not in ("waiting_for_signal", "held_for_review"):
                continue
            for review in status.reviews:
                self.world.kernel.review(row.run, "committed", path=review.path, result={"seen": 0})
                break
            for signal in SIGNALS:
                try:
                    self.world.kernel.signal(row.run, signal, {"x": 1})
                except CallerError as error:
                    if error.code not in EXPECTED:
                        raise
                    if error.code == "budget-exceeded":
                        # Such a run goes on waiting for ever, as the language says: a person ends it.
                        self.world.kernel.cancel(row.run)

    def _digest(self) -> str:
        log: list[str] = []
        after = 0
        while True:
            page = self.world.kernel.events(after=after)
            log += [repr(event) for event in page]
            if len(page) < 1000:
                break
            after = page[-1].seq
        return hashlib.sha256("\n".join(log).encode()).hexdigest()

    def close(self) -> None:
        for kernel in self.kernels:
            kernel.close()
