"""The processes of the crash tests: workers and callers, forked by a nursery that has imported everything.

A worker is the engine's own `Worker`.  A caller dispatches, signals, answers and stops at random, and writes
what it asks, and then what was acknowledged, to a log of its own.  ``python program.py`` is the nursery:
it reads ``{"start": …}`` and ``{"reap": pid}`` as JSON lines and answers each with one.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

from crash.points import Countdown, Plan, Pointed, watch_statements
from crash.pool import NAMES, POOL, SIGNALS, WEIGHTS
from interlock.analyzer.source.text import SourceText
from interlock.engine.blocks.registry import Registry
from interlock.engine.errors import CallerError
from interlock.engine.host import services_of
from interlock.engine.ports import Json
from interlock.engine.project import Project
from interlock.engine.secrets import StoreCipher
from interlock.engine.store.sqlite import SqliteStore
from interlock.engine.worker import Worker, loop

Result = TypeVar("Result")
PASSING = ("store-busy", "store-full")


class Settings(msgspec.Struct, frozen=True):
    """What a process is told.  ``skew`` is a file that holds by how many seconds the wall clock is wrong.

    ``role``: worker, caller, or command: the worker as a person starts it, which knows nothing of all this.
    """

    role: str
    store: str
    url: str
    seed: int
    notes: str
    skew: str
    plan: Plan | None = None
    prunes: bool = False
    poison: int = 50
    checkpoint: int = 1000


def open_kernel(settings: Settings, registry: Registry, countdown: Countdown | None) -> tuple[Pointed, StoreCipher]:
    """The store as `host.open_store` opens it, with a kernel that can die at a point."""
    if countdown is not None and countdown.plan.side == "inside":
        watch_statements(countdown)
    cipher = StoreCipher(f"{settings.store}.key")
    store = patient(lambda: SqliteStore(settings.store, "FULL", busy=1.0))
    store.query(f"PRAGMA wal_autocheckpoint={settings.checkpoint}")
    services = msgspec.structs.replace(services_of(registry, cipher), poison_after=settings.poison, lost_after=1.0)
    return Pointed(store, services, countdown), cipher


def patient(act: Callable[[], Result]) -> Result:
    """Try something until the store is neither held by another nor full."""
    while True:
        try:
            return act()
        except CallerError as error:
            if error.code not in PASSING:
                raise
            time.sleep(0.05)


def skewed(path: str) -> None:
    """The wall clock of this process is wrong by what a file says, and may jump at any moment."""
    right, right_ns = time.time, time.time_ns
    file = os.open(path, os.O_RDONLY)

    def wrong() -> float:
        return float(os.pread(file, 32, 0) or 0)

    time.time = lambda: right() + wrong()  # type: ignore[assignment]
    time.time_ns = lambda: right_ns() + int(wrong() * 1e9)  # type: ignore[assignment]


class Notes:
    """A log that is whole after a kill: every line is one write."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, **facts: Any) -> None:
        os.write(self._file, json.dumps(facts).encode() + b"\n")


def read_notes(path: Path) -> list[dict[str, Any]]:
    """The lines of one log, or of all logs of a folder."""
    files = sorted(path.glob("*.notes")) if path.is_dir() else [path]
    return [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]


# --- a worker --------------------------------------------------------------------------------------


def work(settings: Settings, countdown: Countdown | None) -> None:
    loop.BEAT_SECONDS = 0.3
    registry = Registry(allow=["shell"])
    kernel, cipher = open_kernel(settings, registry, countdown)
    worker = Worker(kernel, registry, cipher=cipher, concurrency=8, grace=5.0, poll=0.02)

    async def main() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()

    asyncio.run(main())
    kernel.close()


# --- a caller --------------------------------------------------------------------------------------


class Caller:
    """Random acts of callers and of people; what was asked and not acknowledged is asked again at the start."""

    def __init__(self, settings: Settings, countdown: Countdown | None) -> None:
        registry = Registry(allow=["shell"])
        self.settings = settings
        self.kernel, _ = open_kernel(settings, registry, countdown)
        self.project = Project((), registry.specs)
        self.project.add(SourceText("crash.workflow.yaml", POOL))
        self.random = random.Random(settings.seed)
        self.notes = Notes(settings.notes)
        self.asked = 0

    def run(self) -> None:
        patient(self._repeat)
        acts = [self.dispatch, self.signal, self.answer, self.cancel, self.retry, self.review, self.prune]
        weights = [8, 4, 8, 1, 3, 2, 1 if self.settings.prunes else 0]
        while True:
            try:
                self.random.choices(acts, weights)[0]()
            except CallerError as error:
                if error.code not in PASSING:
                    raise
            time.sleep(self.random.random() * 0.1)

    def _asking(self, what: str, **facts: Any) -> dict[str, Any]:
        self.asked += 1
        asked = {"what": what, "ask": f"{self.settings.seed}.{self.asked}", **facts}
        self.notes.write(**asked)
        return asked

    def _acknowledged(self, asked: dict[str, Any], **facts: Any) -> None:
        self.notes.write(ack=asked["ask"], **facts)

    def _repeat(self) -> None:
        """A client that was interrupted asks again, where a key or an id makes that harmless."""
        notes = read_notes(Path(self.settings.notes))
        known = {note["ack"] for note in notes if "ack" in note}
        for note in notes:
            if "ask" not in note or note["ask"] in known:
                continue
            if note["what"] == "dispatch" and note["key"] is not None:
                self._dispatch(note)
            elif note["what"] == "signal" and note["id"] is not None:
                self._signal(note)

    # --- acts ---

    def dispatch(self) -> None:
        moving = sum(self.kernel.stats().runs.get(status, 0) for status in ("queued", "running"))
        if moving > 25:
            return
        name = self.random.choices(NAMES, WEIGHTS)[0]
        inputs: dict[str, Json] = {"url": self.settings.url, "n": self.random.randrange(3)}
        if name == "publish":
            inputs["token"] = "a-token-that-is-hidden"
        key = f"key{self.random.randrange(100_000)}" if self.random.random() < 0.5 else None
        self._dispatch(self._asking("dispatch", workflow=name, inputs=inputs, key=key))

    def _dispatch(self, asked: dict[str, Any]) -> None:
        definition = self.project.definition(asked["workflow"])
        done = self.kernel.dispatch(definition, asked["inputs"], idempotency_key=asked["key"])
        self._acknowledged(asked, run=done.run, created=done.created)

    def _some_run(self, *statuses: str) -> str | None:
        status = self.random.choice(statuses) if statuses else None
        rows = [row.run for row in self.kernel.runs(status=status, limit=60)]
        return self.random.choice(rows) if rows else None

    def signal(self) -> None:
        run = self._some_run("waiting_for_signal", "running", "completed")
        if run is not None:
            self.send(run, self.random.choice(SIGNALS))

    def answer(self) -> None:
        run = self._some_run("waiting_for_signal")
        if run is None:
            return
        names = [name for position in self.kernel.status(run).positions for name in position.waits_for]
        if names:
            self.send(run, self.random.choice(names))

    def send(self, run: str, name: str) -> None:
        id = f"s{self.settings.seed}.{self.asked}" if self.random.random() < 0.7 else None
        self._signal(self._asking("signal", run=run, name=name, id=id))

    def _signal(self, asked: dict[str, Any]) -> None:
        self._tried(asked, lambda: self.kernel.signal(asked["run"], asked["name"], {"x": 1}, signal_id=asked["id"]).id)

    def cancel(self) -> None:
        run = self._some_run("running", "queued", "waiting_for_signal", "waiting_for_resource")
        if run is not None:
            self._tried(self._asking("cancel", run=run), lambda: self.kernel.cancel(run))

    def retry(self) -> None:
        run = self._some_run("failed")
        if run is not None:
            self._tried(self._asking("retry", run=run), lambda: self.kernel.retry(run))

    def review(self) -> None:
        run = self._some_run("held_for_review")
        if run is None:
            return
        held = self.kernel.status(run).reviews
        if held:
            each = self.random.choice(held)
            decision = self.random.choices(("committed", "not-committed", "abandon"), (5, 3, 1))[0]
            self.decide(run, each.path, decision)

    def decide(self, run: str, path: str, decision: str) -> None:
        result = {"seen": 0} if decision == "committed" else None
        asked = self._asking("review", run=run, path=path, decision=decision)
        self._tried(asked, lambda: self.kernel.review(run, decision, path=path, result=result))  # type: ignore[arg-type]

    def prune(self) -> None:
        asked = self._asking("prune")
        self._tried(asked, lambda: self.kernel.prune(self.kernel.last_time - 5, limit=3))

    def _tried(self, asked: dict[str, Any], act: Any) -> None:
        """Ask; what is acknowledged is noted, a refusal too: it came at the wrong moment."""
        try:
            given = act()
        except CallerError as error:
            if error.code in PASSING:
                raise
            self.notes.write(refused=asked["ask"], code=error.code)
        else:
            self._acknowledged(asked, given=given)


# --- the nursery -----------------------------------------------------------------------------------


def live(settings: Settings) -> None:
    """The life of a forked process."""
    skewed(settings.skew)
    random.seed()
    countdown = Countdown(settings.plan) if settings.plan is not None else None
    if settings.role == "worker":
        work(settings, countdown)
    else:
        Caller(settings, countdown).run()


def _die_with_the_nursery() -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _start(settings: Settings) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        _die_with_the_nursery()
        errors = os.open(f"{settings.notes}.errors", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, file in ((0, nothing), (1, nothing), (2, errors)):
            os.dup2(file, number)
        if settings.role == "command":
            words = ["worker", "--store", f"sqlite:///{settings.store}", "--allow", "shell"]
            os.execv(sys.executable, [sys.executable, "-m", "interlock.server.cli.main", *words])
        live(settings)
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    children: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "start" in order:
            pid = _start(msgspec.convert(order["start"], Settings))
            children.add(pid)
            answer: Any = pid
        else:
            pid, status = os.waitpid(order["reap"], 0 if order["wait"] else os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                answer = "stopped"
            else:
                children.discard(pid)
                answer = os.waitstatus_to_exitcode(status) if pid else None
        print(json.dumps(answer), flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
