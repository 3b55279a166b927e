"""The loop of a worker (section 12): what is due, what is done, what can begin, until it is told to stop.

One thread speaks to the kernel; what finished meanwhile is settled together in one transaction that
also claims the next work.  Deciding anything is left to the kernel, running a block to ``attempt``.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from interlock.engine.arguments import names
from interlock.engine.blocks.children import Children
from interlock.engine.blocks.guard import Guard
from interlock.engine.blocks.http import new_client
from interlock.engine.blocks.registry import Registry
from interlock.engine.errors import CallerError
from interlock.engine.host import SecretSource
from interlock.engine.ports import Batch, Claiming, Kernel, Outcome, Settlement, Task
from interlock.engine.secrets import StoreCipher
from interlock.engine.worker.attempt import Attempt, LogLine, NoSecret
from interlock.engine.worker.presence import has_ended, new_name

Result = TypeVar("Result")

BEAT_SECONDS = 3.0
BUSY_SECONDS = 60.0
HAND_BACK_SECONDS = 5.0
LONGEST_HAND_BACK = 60.0
MOST_LEFT_ALONE = 1000
_PASSING = frozenset({"store-busy", "store-full"})


class Counts:
    """What a worker has done so far."""

    def __init__(self) -> None:
        self.completed = 0
        self.failed = 0
        self.handed_back = 0
        self.late = 0


class Worker:
    """Works on the runs of one store.

    ``concurrency`` is how many blocks run at the same time, ``grace`` how long a stop waits for them,
    in seconds.  Only work of blocks that may run here is taken.  With ``only_for`` it is the work of that
    run, of those that it started, and of those that these wait for; with ``others`` that of the whole
    store as well.  ``secrets`` are asked at each use; work that needs one which is not given is handed
    back, or fails with ``secret-unavailable`` if it is of the run ``only_for`` or of a run that this
    one started, for which no other worker is expected.  ``on_log`` gets what blocks log, redacted.

    >>> worker = Worker(kernel, Registry(), cipher=cipher)  # doctest: +SKIP
    >>> await worker.run()                                  # doctest: +SKIP
    """

    def __init__(
        self,
        kernel: Kernel,
        registry: Registry,
        *,
        cipher: StoreCipher,
        secrets: SecretSource | None = None,
        hidden_environment: Iterable[str] = (),
        concurrency: int = 32,
        grace: float = 30.0,
        poll: float = 0.1,
        only_for: str | None = None,
        others: bool = False,
        name: str | None = None,
        on_log: Callable[[LogLine], None] | None = None,
    ) -> None:
        self.kernel = kernel
        self.registry = registry
        self.cipher = cipher
        self.secrets = secrets
        self.hidden_environment = frozenset(names(hidden_environment, "hidden_environment"))
        self.concurrency = concurrency
        self.grace = grace
        self.poll = poll
        self.only_for = only_for
        self.others = others
        self.name = name or new_name()
        self.on_log = on_log
        self.counts = Counts()
        self._attempts: dict[asyncio.Task[Outcome], Attempt] = {}
        self._wake = asyncio.Event()
        self._stopping = False
        self._lacking: dict[str, tuple[int, float]] = {}
        """Tasks that were handed back: how often, and until when they are left to others."""
        self._thread = ThreadPoolExecutor(1, "interlock-kernel")

    @property
    def running(self) -> int:
        """How many blocks run now."""
        return len(self._attempts)

    def stop(self) -> None:
        """Ask the worker to end: nothing more is claimed, what runs may finish within the grace time."""
        self._stopping = True
        self._wake.set()

    def hurry(self) -> None:
        """Ask a worker that ends to wait no longer for what runs."""
        self.grace = 0.0
        self.stop()

    def wake(self) -> None:
        """Look for work now, instead of at the next look."""
        self._wake.set()

    async def run(self) -> None:
        """Work until `stop`; `CallerError` where the store can no longer be used."""
        guard = Guard()
        limit = max(2, min(self.concurrency, 8))
        children = Children(limit=limit, hidden=self.hidden_environment, guard=guard)
        try:
            # As many as there can be blocks: an attempt that waited for a connection would lose its own time.
            async with new_client(max(200, self.concurrency)) as client:
                services = {
                    "http": client,
                    "children": children,
                    "guard": guard,
                    "hidden_environment": self.hidden_environment,
                }
                await self._ask(self.kernel.register, self.name)
                try:
                    await self._work(services)
                finally:
                    await self._end()
        finally:
            await children.close()
            guard.close()
            self._thread.shutdown(wait=True)

    # --- the loop ---

    async def _work(self, services: dict[str, Any]) -> None:
        beaten = time.monotonic()
        await self._ask(self._notice_the_dead)
        while not self._stopping:
            self._wake.clear()
            moved, due = await self._turn(services)
            now = time.monotonic()
            if now - beaten >= BEAT_SECONDS:
                beaten = now
                await self._ask(self.kernel.heartbeat, self.name)
                await self._ask(self._notice_the_dead)
            if moved or any(task.done() for task in self._attempts) or (due is not None and due <= self._now()):
                continue
            await self._rest(due)

    def _notice_the_dead(self) -> None:
        """Give up workers whose processes on this machine have ended, without waiting for their beat."""
        for worker in self.kernel.workers():
            if worker != self.name and has_ended(worker):
                self.kernel.lose(worker)

    def _now(self) -> float:
        """Store time, as nearly as it is known without asking: what is ready and due is told in it."""
        return max(time.time(), self.kernel.last_time)

    async def _rest(self, due: float | None) -> None:
        """Wait for an end of a block, for the next timer, or for the next look."""
        pause = self.poll
        if due is not None:
            pause = min(pause, max(0.0, due - self._now()))
        await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        """Wait for an end of a block, for a wake-up, or so long."""
        waker = asyncio.ensure_future(self._wake.wait())
        await asyncio.wait([waker, *self._attempts], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        waker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waker

    async def _turn(self, services: dict[str, Any]) -> tuple[bool, float | None]:
        """Settle what is done, claim what can begin, do what is due.

        Whether anything was settled or begun, and when the next timer is due.
        """
        settlements = self._finished()
        free = 0 if self._stopping else self.concurrency - len(self._attempts)
        tree = None if self.others else self.only_for
        claim = Claiming(self.name, free, self.registry.runnable, tree, self._left_alone()) if free else None
        batch, due = await self._ask(self._move, settlements, claim)
        self._count(settlements, [item.accepted for item in batch.settled])
        for task in batch.tasks:
            await self._begin(task, services)
        if batch.tasks:
            await asyncio.sleep(0)  # what takes no time is done now, and settled at once
        return bool(batch.tasks or settlements), due

    def _move(self, settlements: list[Settlement], claim: Claiming | None) -> tuple[Batch, float | None]:
        """One visit to the kernel, in its thread."""
        if settlements:
            batch = self.kernel.settle_many(settlements, claim)
        else:
            batch = Batch((), tuple(self._claimed(claim)) if claim is not None else ())
        try:
            return batch, self.kernel.tick()
        except CallerError as error:
            if error.code not in _PASSING or not (batch.settled or batch.tasks):
                raise
            return batch, 0.0  # what has been settled and claimed counts; what is due is looked for again at once

    def _claimed(self, claim: Claiming) -> list[Task]:
        # Looking first keeps an idle worker from writing to the store at every look.
        ready = self.kernel.next_ready(claim.tree, claim.without)
        if ready is None or ready > self._now() + 0.001:
            return []
        return self.kernel.claim(claim.worker, claim.limit, blocks=claim.blocks, tree=claim.tree, without=claim.without)

    async def _begin(self, task: Task, services: dict[str, Any]) -> None:
        attempt = Attempt(task, self.registry, self.cipher, self.secrets, services, self.on_log)
        try:
            attempt.prepare()
        except NoSecret as error:
            if not await self._ask(self._nobody_else, task.run):
                self._leave_alone(task)
                await self._hand_back(task, str(error))
                return
            attempt.refuse("secret-unavailable", str(error))
        self._attempts[asyncio.create_task(attempt.run())] = attempt

    def _nobody_else(self, run: str) -> bool:
        """Whether a run is the one that this worker is for, or was started by it at any depth."""
        above: str | None = run if self.only_for is not None else None
        while above is not None and above != self.only_for:
            above = self.kernel.status(above).parent
        return above is not None

    def _leave_alone(self, task: Task) -> None:
        """Work that cannot be done here is left to others, each time for longer, as each time is an event."""
        times = self._lacking.pop(task.id, (0, 0.0))[0] + 1
        rest = min(HAND_BACK_SECONDS * 2 ** (times - 1), LONGEST_HAND_BACK)
        self._lacking[task.id] = (times, time.monotonic() + rest)
        while len(self._lacking) > MOST_LEFT_ALONE:
            del self._lacking[next(iter(self._lacking))]

    def _left_alone(self) -> frozenset[str]:
        now = time.monotonic()
        return frozenset(id for id, (_, until) in self._lacking.items() if until > now)

    def _finished(self, *, ending: bool = False) -> list[Settlement]:
        """What there is to settle.

        Until the worker ends only a block itself can have cancelled its attempt.  From then on it may be
        the loop that closes or a person who interrupts, and the work is left to run again.
        """
        done = [task for task in self._attempts if task.done()]
        settlements = []
        for task in done:
            attempt = self._attempts.pop(task)
            if ending and (task.cancelled() or task.exception() is not None):
                continue
            settlements.append(Settlement(attempt.task, attempt.outcome(task)))
        return settlements

    def _count(self, settlements: list[Settlement], accepted: list[bool]) -> None:
        for settlement, taken in zip(settlements, accepted, strict=True):
            if not taken:
                self.counts.late += 1
            elif type(settlement.outcome).__name__ == "Success":
                self.counts.completed += 1
            else:
                self.counts.failed += 1

    # --- the end ---

    async def _end(self) -> None:
        """Hand back what has not begun, wait for the rest, and leave what is still running as unknown.

        Nothing is left running, also where the store can no longer be asked.
        """
        try:
            await self._wind_down()
        finally:
            for task in self._attempts:
                task.cancel()
            await asyncio.gather(*self._attempts, return_exceptions=True)
            self._attempts.clear()
        await self._ask(self.kernel.unregister, self.name)

    async def _wind_down(self) -> None:
        for task, attempt in list(self._attempts.items()):
            if attempt.untouched and not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                del self._attempts[task]
                await self._hand_back(attempt.task, "the worker stops")
        began = time.monotonic()
        while self._attempts and (left := began + self.grace - time.monotonic()) > 0:
            self._wake.clear()
            await self._pause(min(left, BEAT_SECONDS))
            if settlements := self._finished(ending=True):
                batch = await self._ask(self.kernel.settle_many, settlements, None)
                self._count(settlements, [item.accepted for item in batch.settled])
            await self._ask(self.kernel.heartbeat, self.name)

    async def _hand_back(self, task: Task, reason: str) -> None:
        await self._ask(lambda: self.kernel.hand_back(task, reason=reason))
        self.counts.handed_back += 1

    # --- the store ---

    async def _ask(self, verb: Callable[..., Result], *arguments: Any) -> Result:
        """A verb of the kernel in its thread; a store that is busy or full is asked again for a while."""
        loop = asyncio.get_running_loop()
        until = time.monotonic() + BUSY_SECONDS
        pause = 0.05
        while True:
            try:
                return await loop.run_in_executor(self._thread, lambda: verb(*arguments))
            except CallerError as error:
                if error.code not in _PASSING or time.monotonic() > until:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)
