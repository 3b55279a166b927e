"""Losses of power: a kernel works on a disk that is recorded, and every image that a loss could leave is judged.

An image must open, be sound, and be exactly the store after some commit: with ``synchronous=FULL`` the last
acknowledged one or the one that was being made, with ``NORMAL`` possibly an earlier one.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from crash.invariants import Watch
from crash.lossy import Disk, LossyVfs, Record, stores_over
from crash.pool import NAMES, POOL, SIGNALS, WEIGHTS
from interlock.analyzer.source.text import SourceText
from interlock.engine.blocks.registry import Registry
from interlock.engine.errors import CallerError
from interlock.engine.host import services_of
from interlock.engine.kernel import SqliteKernel
from interlock.engine.ports import Failed, Outcome, Services, Success, Task
from interlock.engine.project import Project
from interlock.engine.secrets import StoreCipher
from interlock.engine.simulate.rows import Broken
from interlock.engine.store.sqlite import SqliteStore

REFUSALS = frozenset({"run-ended", "not-retryable", "not-in-review", "store-full"})


class Clock:
    """Time that moves only when it is told to."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


class Found(msgspec.Struct):
    """How many images were judged, how many of them had lost something, and what did not hold."""

    images: int = 0
    harmed: int = 0
    behind: int = 0
    """Images that lacked an acknowledged commit (only ``NORMAL`` may have them)."""
    faults: list[str] = []


class Play:
    """One seed: random acts on a store that lies on a recorded disk."""

    def __init__(self, seed: int, folder: Path, *, synchronous: str = "FULL", fails: bool = False) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.record = Record()
        self.digests: list[str] = []
        """The store after each commit that was begun, whether it came to its end or not."""
        self.marks: list[tuple[int, int, int]] = []
        """(length of the record, commits begun, commits that were acknowledged) at each change of these."""
        self.clock = Clock()
        self.acknowledged = 0
        self.project = Project((), Registry(allow=["shell"]).specs)
        self.project.add(SourceText("crash.workflow.yaml", POOL))
        self.cipher = StoreCipher(None, environment={}, temporary=True)
        self.tasks: list[Task] = []
        self.vfs = LossyVfs(f"lossy{seed}{synchronous}", self.record)
        self.marks.append((0, 0, 0))
        self.services = msgspec.structs.replace(
            services_of(Registry(allow=["shell"]), self.cipher), clock=self.clock, trace=self._traced
        )
        with stores_over(self.vfs.name):
            store = SqliteStore(str(folder / "state.db"), synchronous)
        store.query(f"PRAGMA wal_autocheckpoint={self.random.choice([5, 40, 1000])}")
        self.kernel = SqliteKernel(store, self.services)
        if fails:
            self.record.fails = lambda kind: self.random.random() < (0.004 if kind == "write" else 0.02)

    def _traced(self, point: str) -> None:
        if point == "before-commit":
            self.digests.append(digest(self.kernel.store))
        else:
            self.acknowledged = len(self.digests)
        self.marks.append((len(self.record.ops), len(self.digests), self.acknowledged))

    # --- acts ---

    def act(self, times: int) -> None:
        acts: list[tuple[int, Callable[[], None]]] = [
            (5, self._dispatch),
            (8, self._claim),
            (14, self._settle),
            (5, self._signal),
            (2, self._review),
            (1, self._cancel),
            (1, self._retry),
            (1, self._lose),
            (4, self._tick),
        ]
        for _ in range(times):
            try:
                self.random.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()
            except CallerError as error:
                if error.code not in REFUSALS:
                    raise

    def _dispatch(self) -> None:
        name = self.random.choices(NAMES, WEIGHTS)[0]
        inputs: dict[str, Any] = {"url": "http://127.0.0.1:9/", "n": self.random.randrange(3)}
        if name == "publish":
            inputs["token"] = "a-token-that-is-hidden"
        self.kernel.dispatch(self.project.definition(name), inputs)

    def _claim(self) -> None:
        self.tasks += self.kernel.claim(f"w{self.random.randrange(2)}", 3)

    def _settle(self) -> None:
        if self.tasks:
            task = self.tasks.pop(self.random.randrange(len(self.tasks)))
            self.kernel.settle(task, self._outcome(task))

    def _outcome(self, task: Task) -> Outcome:
        roll = self.random.random()
        if roll < 0.8:
            return Success(
                {"params": task.params, "fence": 1, "more": False, "stdout": "x" * self.random.randrange(9000)}
            )
        return Failed("timeout", "late", "unknown" if roll < 0.9 else "none")

    def _some(self, status: str) -> str | None:
        rows = self.kernel.runs(status=status)
        return self.random.choice(rows).run if rows else None

    def _signal(self) -> None:
        run = self._some("waiting_for_signal")
        if run is not None:
            self.kernel.signal(run, self.random.choice(SIGNALS), {"x": 1})

    def _review(self) -> None:
        run = self._some("held_for_review")
        if run is not None:
            path = self.kernel.status(run).reviews[0].path
            self.kernel.review(run, "committed", path=path, result={"seen": 0})

    def _cancel(self) -> None:
        run = self._some("running")
        if run is not None:
            self.kernel.cancel(run)

    def _retry(self) -> None:
        run = self._some("failed")
        if run is not None:
            self.kernel.retry(run)

    def _lose(self) -> None:
        self.kernel.lose(f"w{self.random.randrange(2)}")

    def _tick(self) -> None:
        self.clock.seconds += self.random.choice([1, 30, 600])
        self.kernel.tick()

    # --- judging ---

    def judge(self, images: int, synchronous: str = "FULL") -> Found:
        """Lose the power at that many moments of the record, the moments in order."""
        found = Found()
        moments = sorted(self.random.randrange(len(self.record.ops) + 1) for _ in range(images))
        disk, done = Disk(), 0
        services = msgspec.structs.replace(self.services, trace=None)
        for number, moment in enumerate(moments):
            for op in self.record.ops[done:moment]:
                disk.do(op)
            done = moment
            folder = self.folder / f"image{number}"
            found.harmed += disk.image(folder, self.random)
            found.images += 1
            begun, acknowledged = self._known(moment)
            try:
                at = self._judged(folder, services, begun)
                found.behind += at < acknowledged
                if at < acknowledged and synchronous == "FULL":
                    found.faults.append(f"image {number} is commit {at}, and {acknowledged} was acknowledged")
            except (Broken, CallerError, sqlite3.Error) as error:
                found.faults.append(f"image {number} at {moment} of the record: {error!r}")
            shutil.rmtree(folder)
        return found

    def _known(self, moment: int) -> tuple[int, int]:
        """How many commits had been begun and acknowledged when the record was so long."""
        begun, acknowledged = 0, 0
        for length, more_begun, more_acknowledged in self.marks:
            if length <= moment:
                begun, acknowledged = more_begun, more_acknowledged
        return begun, acknowledged

    def _judged(self, folder: Path, services: Services, begun: int) -> int:
        """Which commit an image is; `Broken` where it is none, or unsound."""
        kernel = SqliteKernel(SqliteStore(str(folder / "state.db")), services)
        with closing(kernel):
            sound = kernel.store.query("PRAGMA integrity_check")
            if sound != [("ok",)]:
                raise Broken(f"the file is damaged: {sound}")
            Watch(kernel).check()
            mine = digest(kernel.store)
        for number in range(begun, 0, -1):
            if self.digests[number - 1] == mine:
                return number
        if mine == self.empty:
            return 0
        raise Broken("the store is not as any commit left it")

    @property
    def empty(self) -> str:
        """The digest of a store in which nothing was done yet."""
        with closing(SqliteStore(None)) as store:
            return digest(store)


def digest(store: SqliteStore) -> str:
    """Everything that is stored, as one hash."""
    found = hashlib.sha256()
    tables = store.query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    for (name,) in tables:
        rows = sorted(repr(row) for row in store.query(f"SELECT * FROM {name}"))
        found.update(f"{name} {rows}".encode())
    return found.hexdigest()


def play(
    seed: int, folder: Path, *, images: int, acts: int = 120, synchronous: str = "FULL", fails: bool | None = None
) -> Found:
    """One seed: its acts, then its losses of power.  Every second seed has a disk that fails as well."""
    played = Play(seed, folder, synchronous=synchronous, fails=seed % 2 == 1 if fails is None else fails)
    try:
        played.act(acts)
        Watch(played.kernel).check()
    finally:
        played.record.fails = lambda kind: False
        played.kernel.close()
        played.vfs.unregister()
    return played.judge(images, synchronous)
