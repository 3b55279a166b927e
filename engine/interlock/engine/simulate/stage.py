"""A stage for a scenario: its definitions and scripted blocks, and a scheduler that a seed decides.

A scenario says what happens outside (starts, signals, stops, deaths) and when; in which order everything
else comes, which worker takes what, which process does it, how much fits into a transaction, and which
harmless faults strike in between, is drawn from the seed.  What the scenario claims of the end must hold
for every seed.  The invariants are checked after every commit, as everywhere in the simulation.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from interlock.engine.cells.state import TERMINAL
from interlock.engine.errors import CallerError
from interlock.engine.kernel import SqliteKernel
from interlock.engine.ports import Json, Outcome, Settlement, Success, Task
from interlock.engine.simulate.rows import Broken
from interlock.engine.simulate.world import SimIds, World

Answer = Callable[[Task], Outcome | None]
"""What a block gives; None while it does not answer."""

HARMLESS = ("restart", "hand_back", "back", "pass")
"""Faults that change no outcome: a process starts anew, work is given back, the clock is set back, a little
time passes."""


class _Event(msgspec.Struct):
    """Something from outside, as soon as its condition holds."""

    name: str
    condition: Callable[[], bool]
    act: Callable[[], None]


class Begun(msgspec.Struct, frozen=True):
    """A worker has taken a piece of work."""

    run: str
    path: str
    kind: str
    worker: str
    key: str
    fence: int | None
    at: float


class Stage:
    """One scenario under one seed.  ``faults`` are drawn from; each may strike a few times."""

    def __init__(
        self,
        text: str,
        seed: int,
        path: str,
        *,
        store: Literal["sqlite", "cells"] = "sqlite",
        faults: tuple[str, ...] = HARMLESS,
        secrets: tuple[str, ...] = (),
        costs: dict[str, int] | None = None,
    ) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.world = World(text, path=path, synchronous="OFF", store=store, secrets=secrets, costs=costs)
        ids = SimIds(seed)
        self.world.ids.jitter = ids.jitter  # type: ignore[method-assign]
        self.kernels = [self.world.kernel, self.world.process()]
        self.most = self.random.choice([1, 2, 5, 500])
        for kernel in self.kernels:
            kernel.max_messages = self.most
        self.answers: dict[str, Answer] = {}
        self.begun: list[Begun] = []
        self.refused: list[str] = []
        self.late: list[Task] = []
        self.claims: list[tuple[str, Task]] = []
        self.events: list[_Event] = []
        self.runs: list[str] = []
        self.workers = ["w1", "w2", "w3"]
        self._workers_made = 3
        self._faults = faults
        self._strikes = self.random.randrange(7)
        self.steps = 0

    # --- what a scenario says ---

    def start(self, name: str, *, key: str | None = None, **inputs: Json) -> str:
        """Dispatch from one of the processes; returns the run's id."""
        self._any_process()
        run = self.world.start(name, key=key, **inputs)
        if run not in self.runs:
            self.runs.append(run)
        return run

    def script(self, name: str, *outcomes: Outcome | None) -> None:
        """What the block at a path, or of a name, gives: one after the other, the last one for ever."""
        left = list(outcomes)
        self.answers[name] = lambda task: left.pop(0) if len(left) > 1 else left[0]

    def held_up(self, name: str) -> Callable[[], None]:
        """The block at this path does not answer until what is returned is called."""
        self.script(name, None)

        def go() -> None:
            del self.answers[name]

        return go

    def when(self, name: str, condition: Callable[[], bool], act: Callable[[], Any]) -> None:
        """Do it at some moment at which the condition holds; there must be one."""

        def once() -> None:
            self._any_process()
            act()

        self.events.append(_Event(name, condition, once))

    def sometime(self, name: str, act: Callable[[], Any]) -> None:
        self.when(name, lambda: True, act)

    def refusing(self, act: Callable[[], Any]) -> Callable[[], None]:
        """The act, whose refusal is kept in ``refused`` by its code."""

        def tried() -> None:
            try:
                act()
            except CallerError as error:
                self.refused.append(error.code)

        return tried

    # --- looking ---

    def status(self, run: str) -> str:
        return self.world.kernel.status(run).status

    def error(self, run: str) -> str | None:
        found = self.world.kernel.status(run).error
        return found.code if found is not None else None

    def state(self, run: str) -> dict[str, Json]:
        return self.world.kernel.status(run).state

    def is_at(self, run: str, path: str) -> bool:
        """Whether a worker has the block at this path."""
        return any(task.run == run and task.path == path for _, task in self.claims)

    def worker_of(self, run: str, path: str) -> str:
        return next(worker for worker, task in self.claims if task.run == run and task.path == path)

    def times_begun(self, run: str, path: str, kind: str = "block") -> int:
        return sum((each.run, each.path, each.kind) == (run, path, kind) for each in self.begun)

    def fences(self, run: str, path: str) -> list[int | None]:
        return [each.fence for each in self.begun if (each.run, each.path) == (run, path)]

    def holders(self, key: str) -> list[str]:
        return [holder.run for lease in self.world.kernel.leases() if lease.key == key for holder in lease.holders]

    def waiters(self, key: str) -> list[str]:
        return [waiter.run for lease in self.world.kernel.leases() if lease.key == key for waiter in lease.waiters]

    def kinds(self, run: str, prefix: str = "") -> list[str]:
        return self.world.kinds(run, prefix)

    def log(self) -> list[Any]:
        """Every event of the store."""
        found: list[Any] = []
        while page := self.world.kernel.events(after=found[-1].seq if found else 0):
            found += page
        return found

    def order(self, kind: str) -> list[str]:
        """The runs in the order in which an event of this kind came to them."""
        return [event.run for event in self.log() if event.kind == kind]

    # --- faults that a scenario can ask for ---

    def die(self, worker: str) -> None:
        """kill -9: what the worker had is never answered, and after a while the others notice."""
        self._lose(worker)

    def sleep(self, worker: str) -> list[Task]:
        """The worker is believed dead; what it had is returned, and can still be given with `wake`."""
        return self._lose(worker)

    def _lose(self, worker: str) -> list[Task]:
        had = [task for name, task in self.claims if name == worker]
        self.claims = [each for each in self.claims if each[0] != worker]
        self.workers.remove(worker)
        self._workers_made += 1
        self.workers.append(f"w{self._workers_made}")
        for kernel in self.kernels:
            kernel.tick()
        self.world.clock.steady += self.world.services.lost_after + 1
        self._beat()
        for kernel in self.random.sample(self.kernels, 2):
            self.world.be(kernel)
            kernel.tick()
        return had

    def hand_back(self, tasks: list[Task]) -> None:
        """Workers give back what they have not begun."""
        for each in [each for each in self.claims if each[1] in tasks]:
            self.claims.remove(each)
            self.world.kernel.hand_back(each[1], reason="not now")

    def wake(self, task: Task, outcome: Outcome | None = None) -> bool:
        """A late result; whether it was taken."""
        self._any_process()
        given = outcome if outcome is not None else Success({"late": True})
        return self.world.kernel.settle(task, given).accepted

    # --- the play ---

    def play(self, most: int = 4000) -> None:
        """Until nothing can happen any more.  `Broken` where that does not come, or an event did not."""
        for _ in range(most):
            self.steps += 1
            if not self._step():
                break
        else:
            raise Broken("the scenario does not come to an end")
        if self.events:
            raise Broken(f"this could not happen: {[each.name for each in self.events]}")

    def end(self) -> None:
        """What holds at the end of every scenario."""
        assert self.world.watch is not None
        self.world.watch.check_whole()
        rows = self.world.kernel.runs(limit=100_000)
        if all(row.status in TERMINAL for row in rows):
            stats = self.world.kernel.stats()
            rest = (stats.tasks, stats.timers, stats.leases, stats.tickets, stats.inbox)
            if any(rest):
                raise Broken(f"left behind (tasks, timers, leases, tickets, inbox): {rest}")
        for row in rows[:20]:
            again = self.world.kernel.replay(row.run)
            if not again.same:
                raise Broken(f"{row.run} is decided otherwise: {again.difference} {again.reason}")

    def close(self) -> None:
        for kernel in self.kernels:
            kernel.close()

    def _any_process(self) -> SqliteKernel:
        kernel = self.random.choice(self.kernels)
        self.world.be(kernel)
        return kernel

    def _step(self) -> bool:
        """One move; False where there was none to make."""
        self._any_process()
        decided = self.world.tape.total
        moves: list[Callable[[], bool]] = [self._claim, self._settle, self._settle, self._tick, self._outside]
        if self._strikes > 0 and self._faults and self.random.random() < 0.15:
            self._strikes -= 1
            self._strike(self.random.choice(self._faults))
            return True
        for move in self.random.sample(moves, len(moves)):
            if move():
                return True
        # Any look at what is to be done may have worked the inbox: then there is more to do.
        return self.world.tape.total != decided or self._pass_to_next() or self.world.tape.total != decided

    def _claim(self) -> bool:
        worker = self.random.choice(self.workers)
        tasks = self.world.kernel.claim(worker, self.random.randint(1, 3))
        for task in tasks:
            self.claims.append((worker, task))
            at = self.world.kernel.last_time
            self.begun.append(Begun(task.run, task.path, task.kind, worker, task.idempotency_key, task.fence, at))
        return bool(tasks)

    def _settle(self) -> bool:
        batch: list[Settlement] = []
        for each in self.random.sample(self.claims, len(self.claims)):
            if len(batch) >= 1 and self.random.random() < 0.6:
                break
            outcome = self._answer(each[1])
            if outcome is not None:
                self.claims.remove(each)
                batch.append(Settlement(each[1], outcome))
        if batch:
            self.world.kernel.settle_many(batch)
        return bool(batch)

    def _answer(self, task: Task) -> Outcome | None:
        answer = self.answers.get(task.path) or self.answers.get(task.block)
        return answer(task) if answer is not None else self.world.perform(task)

    def _tick(self) -> bool:
        if not self.world.kernel.stats().inbox:
            return False
        self.world.kernel.tick()
        return True

    def _outside(self) -> bool:
        ready = [each for each in self.events if each.condition()]
        if not ready:
            return False
        event = self.random.choice(ready)
        self.events.remove(event)
        event.act()
        return True

    def _beat(self) -> None:
        for worker in self.workers:
            self.world.kernel.heartbeat(worker)

    def pass_time(self, seconds: float) -> None:
        """Time goes on; workers beat, due timers fire."""
        self.world.clock.advance(seconds)
        self._beat()
        self.world.kernel.tick()

    def _pass_to_next(self) -> bool:
        """To the next thing that is due, if anything is."""
        kernel = self.world.kernel
        self._beat()  # so that this process knows the time of the store
        due = [at for at in (kernel.tick(), kernel.next_ready()) if at is not None]
        if not due:
            return False
        self.pass_time(max(0.0, min(due) - kernel.last_time) + 0.001)
        return True

    def _strike(self, fault: str) -> None:
        world = self.world
        if fault == "restart":
            at = self.kernels.index(world.kernel)
            world.restart()
            world.kernel.max_messages = self.most
            self.kernels[at] = world.kernel
        elif fault == "hand_back" and self.claims:
            each = self.random.choice(self.claims)
            self.claims.remove(each)
            world.kernel.hand_back(each[1], reason="not now", delay=self.random.choice([0.0, 2.0]))
        elif fault == "back":
            world.clock.wall -= self.random.choice([1, 60, 100_000])
        elif fault == "ahead":
            world.clock.wall += self.random.choice([60, 100_000])
            world.kernel.tick()
        elif fault == "pass":
            self.pass_time(self.random.choice([0.01, 0.5]))
        elif fault == "die":
            self._lose(self.random.choice(self.workers))
        elif fault == "sleep":
            self.late += self._lose(self.random.choice(self.workers))
        elif fault == "wake" and self.late:
            self.wake(self.late.pop())
