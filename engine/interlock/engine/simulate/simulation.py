"""A seeded simulation: random actions of callers, workers, people, clocks and crashes.

Every choice comes from the seed, so a failing one replays exactly.  Two kernels share the store as two
processes would.  After every transaction the invariants are checked (`Watch`); at the end faults stop, and
every run that waits for no person must end by itself within a bounded number of steps; then people answer,
and every run must come to its end with nothing left behind.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

from interlock.engine.cells.state import TERMINAL
from interlock.engine.definition import Stored
from interlock.engine.errors import CallerError
from interlock.engine.kernel import SqliteKernel
from interlock.engine.ports import Failed, Json, Outcome, Settlement, Success, Task
from interlock.engine.shown import RunStatus
from interlock.engine.simulate.invariants import WHOLE_EVERY
from interlock.engine.simulate.liveness import waits_for_nobody
from interlock.engine.simulate.pool import NAMES, POOL, SIGNALS
from interlock.engine.simulate.rows import Broken
from interlock.engine.simulate.world import Crashed, World, define

EXPECTED = frozenset({"run-ended", "not-retryable", "not-in-review", "budget-exceeded"})
"""What a caller may be refused with here: the action came at the wrong moment."""
MOST_STEPS = 2000
"""Steps (all ready work, or the time to the next thing due) in which everything must have come to rest."""
SOON = 86_400.0
"""Seconds within which whatever needs no person must go on."""

_FAIL = Failed("failed", "as it was told", "none", own=True)


class Simulation:
    """One seed, one store.  ``replays`` decides every run again at the end."""

    def __init__(
        self,
        seed: int,
        path: str,
        *,
        actions: int = 300,
        runs: int = 12,
        store: Literal["sqlite", "cells"] = "sqlite",
        whole_every: int = WHOLE_EVERY,
        replays: bool = True,
    ) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.actions = actions
        self.most_runs = runs
        self.replays = replays
        self.world = World(
            definitions=self.definitions(), path=path, synchronous="OFF", store=store, whole_every=whole_every
        )
        self.kernels: list[SqliteKernel] = [self.world.kernel, self.world.process()]
        self.max_messages = self.random.choice([1, 3, 20, 500])
        for kernel in self.kernels:
            kernel.max_messages = self.max_messages
        self.runs: list[str] = []
        self.claimed: list[tuple[str, Task]] = []
        self.silent: list[tuple[str, Task]] = []
        """Tasks that are never answered, as long as there are faults."""
        self.stale: list[Task] = []
        self.writes: Counter[tuple[str, str, int]] = Counter()
        self.allowed: Counter[str] = Counter()
        self.signalled: dict[str, set[str]] = {}
        self.cancelled: set[str] = set()
        self.trail: list[str] = []
        self.moves: Counter[str] = Counter()
        self.steps_to_rest = 0

    # --- what another cast of workflows does otherwise ---

    def definitions(self) -> Mapping[str, Stored]:
        return define(POOL)

    def weight(self, move: str, weight: int) -> int:
        """How often a move is made, among the others."""
        return weight

    def start_one(self, key: str | None) -> str:
        """Dispatch something; returns the run's id."""
        name = self.random.choice(NAMES)
        self.trail.append(f"  {name}")
        return self.world.start(name, key=key, n=self.random.randrange(3))

    def result(self, task: Task, calm: bool) -> Json:
        """What a block gives that succeeds."""
        if task.block == "count":
            return {"more": not calm and self.random.random() < 0.6}
        return {"params": task.params, "more": False}

    def send_some(self, run: str, signal_id: str | None) -> str:
        """Send a signal that may or may not be waited for; returns its id."""
        payload = {"x": "y" * self.random.choice([1, 10, 200])}
        return self.world.kernel.signal(run, self.random.choice(SIGNALS), payload, signal_id=signal_id).id

    def answer(self, status: RunStatus) -> None:
        """Say what a run waits for a person to say."""
        for signal in SIGNALS:
            self.world.kernel.signal(status.run, signal, {"x": 1})

    def committed(self, status: RunStatus, path: str) -> Json:
        """The outputs of a section that a person says was committed."""
        return {"seen": 0}

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
            (1, self._silence),
            (2, self._crash),
        ]
        weights = [self.weight(move.__name__[1:], weight) for weight, move in moves]
        try:
            for _ in range(self.actions):
                _, move = self.random.choices(moves, weights)[0]
                self.world.be(self.random.choice(self.kernels))
                self._try(move)
            self.world.crash_at = None
            self._rest()
            self._calm()
            self._nothing_lost()
            if self.replays:
                self._replay()
        except Broken as broken:
            last = "\n".join(self.trail[-12:])
            raise Broken(f"seed {self.seed}: {broken}\n{last}") from broken
        return self._digest()

    def _try(self, move: Callable[[], None]) -> None:
        self.trail.append(move.__name__)
        self.moves[move.__name__[1:]] += 1
        kept = list(self.claimed), list(self.silent), list(self.stale), self.writes.copy()
        try:
            move()
        except CallerError as error:
            if error.code not in EXPECTED:
                raise
            self.trail.append(f"  refused: {error.code}")
        except Crashed as crash:
            # Whoever asked was not answered: what was in hand is still in hand, and may be tried again.
            self.trail.append(f"  crashed {crash}")
            self.claimed, self.silent, self.stale, writes = kept
            if str(crash) == "before-commit":
                self.writes = writes  # what was handed back is not: it may be written yet
            if self.random.random() < 0.7:
                self._restart()

    def _some_run(self) -> str | None:
        return self.random.choice(self.runs) if self.runs else None

    def _dispatch(self) -> None:
        open_runs = [row for row in self.world.kernel.runs(limit=200) if row.status not in TERMINAL]
        if len(open_runs) >= self.most_runs:
            return
        key = f"key{self.random.randrange(40)}" if self.random.random() < 0.2 else None
        run = self.start_one(key)
        self.trail.append(f"  is {run}")
        if run not in self.runs:
            self.runs.append(run)

    def _claim(self) -> None:
        worker = f"w{self.random.randrange(3)}"
        for task in self.world.kernel.claim(worker, self.random.randint(1, 3)):
            self._took(worker, task)

    def _took(self, worker: str, task: Task) -> None:
        self.trail.append(f"  {worker} takes {task.run} {task.path} {task.kind}")
        self.claimed.append((worker, task))
        if task.protected and task.block.startswith("write"):
            at = (task.run, task.path, task.visit)
            self.writes[at] += 1
            if self.writes[at] > 1 + self.allowed[task.run]:
                raise Broken(f"{at} was written {self.writes[at]} times and nobody said so")

    def outcome(self, task: Task) -> Outcome:
        """What becomes of a task while there are faults."""
        roll = self.random.random()
        if task.block == "fail":
            return _FAIL
        if roll < (0.5 if task.protected else 0.8):
            return Success(self.result(task, False))
        if roll < (0.6 if task.protected else 0.87):
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
        batch = [Settlement(task, self.outcome(task)) for _, task in many]
        self.trail += [f"  settles {each.task.run} {each.task.path} {each.outcome}" for each in batch]
        self.world.kernel.settle_many(batch)

    def _signal(self) -> None:
        run = self._some_run()
        if run is not None:
            signal = f"s{self.random.randrange(200)}" if self.random.random() < 0.3 else None
            try:
                self.signalled.setdefault(run, set()).add(self.send_some(run, signal))
            except CallerError as error:
                # An id belongs to the signal that was sent with it first.
                if error.code != "bad-payload" or signal not in self.world.store.signal_ids(run):
                    raise

    def _cancel(self) -> None:
        run = self._some_run()
        if run is not None:
            self.trail.append(f"  cancel {run}")
            self.world.kernel.cancel(run)
            self.cancelled.add(run)

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
            self._decide(self.random.choice(held), self.random.choice(["committed", "not-committed", "abandon"]))
        elif (run := self._some_run()) is not None:
            self.world.kernel.review(run, "abandon")

    def _decide(self, run: str, decision: str) -> None:
        status = self.world.status(run)
        path = self.random.choice(status.reviews).path
        self.trail.append(f"  review {run} {path} {decision}")
        if decision == "not-committed":
            self.allowed[run] += 1
        result = self.committed(status, path) if decision == "committed" else None
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
        gone = [each for each in self.claimed + self.silent if each[0] == worker]
        self.silent = [each for each in self.silent if each[0] != worker]
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
            settled = self.world.kernel.settle(task, self.outcome(task))
            if settled.accepted:
                self.trail.append("  (in time after all)")

    def _hand_back(self) -> None:
        if self.claimed:
            each = self.claimed.pop(self.random.randrange(len(self.claimed)))
            if each[1].protected and each[1].block.startswith("write"):
                self.writes[(each[1].run, each[1].path, each[1].visit)] -= 1
            self.world.kernel.hand_back(each[1], reason="not now", delay=self.random.choice([0.0, 10.0]))

    def _silence(self) -> None:
        if self.claimed:
            self.silent.append(self.claimed.pop(self.random.randrange(len(self.claimed))))

    def _restart(self) -> None:
        at = self.kernels.index(self.world.kernel)
        self.world.restart()
        self.kernels[at] = self.world.kernel
        self.world.kernel.max_messages = self.max_messages

    def _crash(self) -> None:
        """The next transaction finds the process dead, before it is stored or before that is told."""
        self.world.crash_at = self.random.choice(["before-commit", "after-commit"])

    def _jump(self) -> None:
        self.world.clock.wall += self.random.choice([-5000, 5000, 200000])

    def _tick(self) -> None:
        self.world.kernel.tick()

    # --- the end ---

    def _rest(self) -> None:
        """Faults stop and nobody says anything: whatever waits for no person must end by itself."""
        self._beat_and_tick()
        self.steps_to_rest = self._until_rest()
        if self.world.watch is not None:
            self.world.watch.check_whole()
        self.at_rest()

    def at_rest(self) -> None:
        """What must hold once nothing moves by itself any more."""
        forgotten = waits_for_nobody(self.world.kernel)
        if forgotten:
            raise Broken(f"these runs wait for nobody and do not end: {forgotten}")

    def _until_rest(self) -> int:
        """Work and time, until nothing is ready and nothing near is due; in how many steps."""
        kernel = self.world.kernel
        for steps in range(MOST_STEPS):
            kernel.heartbeat("last")
            due = kernel.tick()
            if self._work_all() or kernel.stats().inbox:
                continue
            soon = [at for at in (due, kernel.next_ready()) if at is not None]
            wait = min(soon, default=float("inf")) - kernel.last_time
            if wait > SOON:
                return steps
            self.world.clock.advance(max(0.0, wait) + 0.001)
        raise Broken("this does not come to rest")

    def _work_all(self) -> bool:
        """Everything that is ready succeeds; whether there was anything."""
        for task in self.world.kernel.claim("last", 100):
            self._took("last", task)
        work, self.claimed, self.silent = [*self.claimed, *self.silent], [], []
        for _, task in work:
            outcome: Outcome = _FAIL if task.block == "fail" else Success(self.result(task, True))
            self.world.kernel.settle(task, outcome)
        return bool(work)

    def _calm(self) -> None:
        """People answer: everything must come to its end."""
        for _ in range(400):
            self._answer_all()
            self.world.clock.advance(60)
            self._beat_and_tick()
            self._until_rest()
            left = [row for row in self.world.kernel.runs(limit=10_000) if row.status not in TERMINAL]
            if not left and not self.world.kernel.stats().inbox:
                break
        else:
            shown = [(row.run, row.workflow, row.status) for row in left]
            raise Broken(f"these runs do not end: {shown}")
        if self.world.watch is not None:
            self.world.watch.check_whole()
        stats = self.world.kernel.stats()
        rest = (stats.tasks, stats.timers, stats.leases, stats.tickets, stats.inbox)
        if any(rest):
            raise Broken(f"left behind (tasks, timers, leases, tickets, inbox): {rest}")
        for queue in self.world.kernel.queue():
            if queue.active or queue.waiting:
                raise Broken(f"left in the queue of {queue.workflow}: {queue}")

    def _nothing_lost(self) -> None:
        """What was acknowledged is there, and the core never failed."""
        store = self.world.store
        known = {row.run: row for row in self.world.kernel.runs(limit=10_000)}
        for run in self.runs:
            if run not in known:
                raise Broken(f"the dispatch of {run} is lost")
            lost = self.signalled.get(run, set()) - store.signal_ids(run)
            if lost:
                raise Broken(f"signals to {run} are lost: {lost}")
            if run in self.cancelled and not store.count_events(run, "run.stop_requested"):
                raise Broken(f"the stop of {run} is lost")
        for row in known.values():
            if row.error == "internal":
                raise Broken(f"the core failed on {row.run}: {self.world.status(row.run).error}")

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

    def _answer_all(self) -> None:
        for row in self.world.kernel.runs(limit=10_000):
            if row.status in TERMINAL:
                continue
            status = self.world.status(row.run)
            if not status.reviews and row.status not in ("waiting_for_signal", "held_for_review"):
                continue
            for review in status.reviews:
                given = self.committed(status, review.path)
                self.world.kernel.review(row.run, "committed", path=review.path, result=given)
                break
            try:
                self.answer(self.world.status(row.run))
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
