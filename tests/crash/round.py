"""One round of the crash campaign: a store, processes that are killed, stopped and misled, and then peace.

Every choice comes from the seed; when a kill meets a process is up to the machine, so a seed repeats a round
as closely as real processes allow.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec

from crash import checks
from crash.invariants import Watch
from crash.points import BY_CALLERS, BY_WORKERS, STATEMENTS, Plan
from crash.program import PASSING, Settings, read_notes
from interlock.engine.blocks.registry import Registry
from interlock.engine.errors import CallerError
from interlock.engine.host import services_of
from interlock.engine.kernel import SqliteKernel
from interlock.engine.secrets import StoreCipher
from interlock.engine.simulate.rows import Broken
from interlock.engine.store.queries import migrations
from interlock.engine.store.sqlite import SqliteStore

HERE = Path(__file__).parent
PATIENCE = 120.0
"""Seconds without any progress after which work that does not end is a fault."""


class Nursery:
    """The process that forks the others."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, settings: Settings) -> int:
        return int(self._say({"start": msgspec.to_builtins(settings)}))

    def reap(self, pid: int, *, wait: bool = False) -> int | Literal["stopped"] | None:
        """The exit code of a process that has ended, negative for a signal; ``stopped`` once it has stopped;
        None while it lives."""
        code: int | Literal["stopped"] | None = self._say({"reap": pid, "wait": wait})
        return code

    def _say(self, order: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the nursery; its children die with it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


class Outside:
    """The outside server, and what it was sent."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "outside.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def calm(self) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/calm", b"{}"), timeout=60).close()

    def ask(self, what: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/{what}", timeout=60) as answer:
            return json.load(answer)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Figures:
    """What a campaign has done and found."""

    def __init__(self) -> None:
        self.kills: Counter[str] = Counter()
        self.points: Counter[str] = Counter()
        self.troubles: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    @property
    def killed(self) -> int:
        return sum(self.kills.values())


class Child:
    """A process that works on the store."""

    def __init__(self, pid: int, settings: Settings, until: float) -> None:
        self.pid = pid
        self.settings = settings
        self.until = until
        self.wakes: float | None = None


class Round:
    """One seed, one store; ``kills`` is how many processes die.

    The store lies in ``disk`` below the folder, which may be a small disk; what the processes note beside it.
    """

    def __init__(self, seed: int, folder: Path, kills: int, figures: Figures, *, workers: int = 4) -> None:
        self.seed = seed
        self.folder = folder
        self.kills = kills
        self.figures = figures
        self.workers = workers
        self.program = HERE / "program.py"
        self.random = random.Random(seed)
        self.disk = folder / "disk"
        self.disk.mkdir(parents=True, exist_ok=True)
        self.store = str(self.disk / "state.db")
        self.skew = folder / "skew"
        self.skew.write_text("0".ljust(32))
        self.wrong = 0.0
        self.prunes = self.random.random() < 0.25
        self.poison = self.random.choice([3, 50])
        self.checkpoint = self.random.choice([20, 200, 8000])
        self.commands = int(self.random.random() < 0.5)
        self.upgrades_at = kills // 2 if self.random.random() < 0.4 else None
        self.started = 0
        self.children: list[Child] = []
        self.killed = 0

    def __enter__(self) -> Round:
        self.nursery = Nursery(self.program)
        self.outside = Outside()
        self.observer = observer(self.store, self.poison)
        self.watch = Watch(self.observer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.observer.close()
        self.nursery.close()
        self.outside.close()

    # --- processes ---

    def _start(self, role: str, plan: Plan | None = None) -> Child:
        self.started += 1
        notes = self.folder / f"{'caller' if role == 'caller' else f'worker{self.started}'}.notes"
        settings = Settings(
            role=role,
            store=self.store,
            url=self.outside.url,
            seed=self.seed * 10_000 + self.started,
            notes=str(notes),
            skew=str(self.skew),
            plan=plan,
            prunes=self.prunes,
            poison=self.poison,
            checkpoint=self.checkpoint,
        )
        child = Child(self.nursery.start(settings), settings, time.monotonic() + self.random.uniform(3.0, 8.0))
        self.children.append(child)
        return child

    def _plan(self, role: str) -> Plan | None:
        """Where a new process is to die; points at which none has died yet come first."""
        roll = self.random.random()
        if roll < 0.25:
            return None
        if roll < 0.4 and role == "worker":
            point = self.random.choice(["step.started", "step.started", "step.started", "claim", "heartbeat"])
            return Plan(point, "after", self.random.choice([1, 2, 5]), sleeps=True)
        if roll < 0.55:
            names, sides = STATEMENTS, ["inside"]
        else:
            names, sides = (BY_CALLERS if role == "caller" else BY_WORKERS), ["before", "after"]
        plans = [Plan(name, side) for name in names for side in sides]
        fresh = [plan for plan in plans if not self.figures.points[plan.name]]
        chosen = self.random.choice(fresh if fresh and self.random.random() < 0.7 else plans)
        return Plan(chosen.point, chosen.side, self.random.choice([1, 1, 2, 5]))

    def _renew(self) -> None:
        """Count who has died, and start others in their place."""
        for child in list(self.children):
            code = self.nursery.reap(child.pid)
            if code == "stopped":
                child.wakes = time.monotonic() + self.random.choice([0.5, 1.2, 2.0, 4.0])
            elif code is not None:
                self._ended(child, code)
            if child.wakes is not None and time.monotonic() >= child.wakes:
                child.wakes = None
                os.kill(child.pid, signal.SIGCONT)
                self.figures.troubles["asleep at a commit and woken late"] += 1
        for role, number in (("worker", self.workers), ("caller", 1), ("command", self.commands)):
            while sum(child.settings.role == role for child in self.children) < number:
                self._start(role, self._plan(role) if role != "command" else None)

    def _ended(self, child: Child, code: int) -> None:
        self.children.remove(child)
        if code != -signal.SIGKILL:
            errors = Path(f"{child.settings.notes}.errors")
            last = errors.read_text().strip().splitlines()[-1:] if errors.exists() else []
            self.figures.faults.append(f"seed {self.seed}: a {child.settings.role} ended with {code}: {last}")
            return
        assert child.settings.plan is not None, "killed by somebody else"
        plan = child.settings.plan
        self._killed(f"{plan.side} a {'statement' if plan.side == 'inside' else 'commit'}")
        self.figures.points[plan.name] += 1

    def _killed(self, kind: str) -> None:
        self.killed += 1
        self.figures.kills[kind] += 1

    def _kill(self, child: Child, kind: str) -> None:
        """Kill a process now; it may have died at its own point a moment before."""
        if child.settings.role == "command":
            kind = f"{kind}, an interlock worker of the command line"
        os.kill(child.pid, signal.SIGKILL)
        self.nursery.reap(child.pid, wait=True)
        self.children.remove(child)
        self._killed(kind)

    def _some(self, role: str) -> Child:
        """One of a role, and rather one that is awake: those that sleep are to wake late."""
        able = [child for child in self.children if child.settings.role == role]
        return self.random.choice([child for child in able if child.wakes is None] or able)

    def await_end(self, child: Child) -> int | Literal["stopped"]:
        """The exit code of a process that is to end, or to stop, by itself; `Broken` where it does not."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            code = self.nursery.reap(child.pid)
            if code is not None:
                return code
            time.sleep(0.01)
        raise Broken(f"the {child.settings.role} does not end: {child.settings.plan}")

    # --- faults ---

    def play(self) -> None:
        """Faults until enough have died, then peace; what does not hold is kept in the figures."""
        troubles: list[tuple[float, Callable[[], None]]] = [
            (3, self._kill_at_random),
            (3, self._kill_in_effect),
            (1, self._kill_while_it_stops),
            (2, self._stop_and_wake),
            (2, self._jump),
            (1, self._lock),
            (1, self._fill),
            (2, self._look),
        ]
        begun = self.figures.killed
        while self.killed < self.kills or self.upgrades_at is not None:
            if self.upgrades_at is not None and self.killed >= self.upgrades_at:
                self.upgrades_at = None
                self.upgrade()
            self._renew()
            time.sleep(self.random.uniform(0.02, 0.15))
            for child in self.children:
                if child.settings.plan is not None and child.wakes is None and time.monotonic() > child.until:
                    self._kill(child, "at random")
                    break
            else:
                if self.random.random() < 0.3:
                    self.random.choices([each for _, each in troubles], [weight for weight, _ in troubles])[0]()
        for child in list(self.children):
            self._kill(child, "at random")
        self.figures.counts["kills"] += self.figures.killed - begun
        self.judge()

    def _kill_at_random(self) -> None:
        role = self.random.choice(["worker", "worker", "caller", *["command"] * self.commands])
        self._kill(self._some(role), "at random")

    def _kill_in_effect(self) -> None:
        """Kill a worker while the outside has a request of one in hand."""
        self._wait_for_an_effect()
        self._kill(self._some("worker"), "during an effect")

    def _kill_while_it_stops(self) -> None:
        """A worker is asked to stop, and killed before it has come to that, if it is not quicker."""
        child = self._some("worker")
        os.kill(child.pid, signal.SIGTERM)
        time.sleep(self.random.uniform(0.0, 0.1))
        code = self.nursery.reap(child.pid)
        if code in (None, "stopped"):
            self._kill(child, "while it stops")
        elif code in (0, -signal.SIGTERM):
            self.children.remove(child)
            self.figures.troubles["worker stopped"] += 1
        else:
            self._ended(child, int(code))

    def _wait_for_an_effect(self) -> None:
        for _ in range(30):
            if self.outside.ask("under-way"):
                break
            time.sleep(0.01)

    def _stop_and_wake(self) -> None:
        """A worker sleeps, perhaps so long that others take its work, and wakes."""
        if self.random.random() < 0.5:
            self._wait_for_an_effect()
        child = self._some("worker")
        os.kill(child.pid, signal.SIGSTOP)
        time.sleep(self.random.choice([0.3, 1.0, 3.0]))
        os.kill(child.pid, signal.SIGCONT)
        self.figures.troubles["worker put to sleep and woken"] += 1

    def _jump(self) -> None:
        """The wall clock of every process jumps, forward or back."""
        self.wrong = self.random.choice([0.0, 40.0, 3600.0, -3600.0, 100_000.0, -500.0])
        # One write of one length: a process that reads meanwhile sees the old or the new one.
        with open(self.skew, "r+b", buffering=0) as file:
            file.write(f"{self.wrong}".ljust(32).encode())
        self.figures.troubles["wall clock set"] += 1

    def _lock(self) -> None:
        """Somebody else holds the store for longer than its users are patient."""
        with contextlib.closing(sqlite3.connect(self.store, isolation_level=None, timeout=5)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return
            time.sleep(self.random.choice([0.2, 1.5]))
            other.execute("ROLLBACK")
        self.figures.troubles["store held by another"] += 1

    def _fill(self) -> None:
        """The disk has no room for a while, where the store lies on a small one."""
        if not os.path.ismount(self.disk):
            return
        ballast = self.disk / "ballast"
        with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 65536):
                pass
        time.sleep(self.random.choice([0.3, 1.5]))
        ballast.unlink()
        self.figures.troubles["disk full"] += 1

    def _look(self) -> None:
        """The invariants hold at every instant, also between the kills."""
        try:
            self.watch.check()
            self.figures.counts["looks at the invariants"] += 1
        except Broken as broken:
            self.figures.faults.append(f"seed {self.seed}: {broken}")
        except CallerError as error:
            if error.code not in PASSING:
                raise

    # --- upgrades ---

    def upgrade(self) -> None:
        """Everybody stops, the store becomes one of an older version, and all start upon it at once."""
        for child in list(self.children):
            self._kill(child, "at random")
        self.observer.close()
        steps = [number for number, _ in migrations("sqlite")]
        version = self.random.choice(steps[:-1])
        made_older(self.store, version)
        for number in range(self.workers + 2):
            kind, name = self.random.choice(made_after(version))
            self._start("worker", Plan(f"CREATE {kind} {name}", "inside") if number < 2 else None)
        time.sleep(self.random.uniform(0.0, 0.2))
        self._kill(self.children[-1], "during an upgrade")
        self.observer = observer(self.store, self.poison)
        self.watch = Watch(self.observer)
        self.figures.troubles[f"upgrade from version {version} with runs in flight"] += 1

    # --- peace ---

    def judge(self) -> None:
        """Fresh workers finish all work, people answer everything, and then everything must hold."""
        self.outside.calm()
        for _ in range(2):
            self._start("worker")
        try:
            self._finish()
            self.watch.check()
        except Broken as broken:
            self.figures.faults.append(f"seed {self.seed}: {broken}")
        for child in list(self.children):
            os.kill(child.pid, signal.SIGTERM)
            code = self.nursery.reap(child.pid, wait=True)
            self.children.remove(child)
            if code not in (0, -signal.SIGTERM):  # it may have come too late to know the signal yet
                self.figures.faults.append(f"seed {self.seed}: the last worker ended with {code}")
        records = self.outside.ask("records")
        after = checks.After(self.observer, self.notes(), records)
        self.figures.faults += [f"seed {self.seed}: {fault}" for fault in (*after.faults(), *checks.damage(self.store))]
        self._count(after)

    def notes(self) -> list[dict[str, Any]]:
        """What the callers have asked, and what they were answered."""
        return read_notes(self.folder)

    def _finish(self) -> None:
        """People answer until no run is under way; time-outs and deadlines need not be waited for."""
        moved, before = time.monotonic(), 0
        while True:
            rows = self.observer.runs(limit=100_000)
            left = [row.run for row in rows if row.status not in checks.TERMINAL]
            stats = self.observer.stats()
            if not left and not stats.inbox and not stats.tasks:
                return
            for run in left:
                self._answer(run)
            last = self.observer.store.query("SELECT ifnull(max(seq), 0) FROM events")[0][0]
            if last != before:
                moved, before = time.monotonic(), last
            elif time.monotonic() - moved > PATIENCE:
                shown = [(row.run, row.workflow, row.status) for row in rows if row.run in left]
                raise Broken(f"these runs do not end: {shown}")
            time.sleep(0.05)

    def _answer(self, run: str) -> None:
        with contextlib.suppress(CallerError):
            status = self.observer.status(run)
            for review in status.reviews:
                self.observer.review(run, "committed", path=review.path, result={"seen": 0})
            for name in {name for position in status.positions for name in position.waits_for}:
                self.observer.signal(run, name, {"x": 1})

    def _count(self, after: checks.After) -> None:
        counts, what = self.figures.counts, Counter(asked["what"] for asked, _ in after.acknowledged)
        counts["runs"] += len(after.status)
        counts["acknowledged dispatches"] += what["dispatch"]
        counts["acknowledged signals"] += what["signal"]
        counts["acknowledged answers to reviews"] += what["review"]
        counts["acknowledged stops and retries"] += what["cancel"] + what["retry"]
        told = {note.get("ack", note.get("refused")) for note in after.notes}
        counts["asked and never answered"] += len(after.asked.keys() - told)
        counts["requests that the outside was sent"] += len(after.records)
        counts["writes refused for a stale fence"] += sum(each["answer"] == "stale fence" for each in after.records)
        kinds = Counter(event.kind for events in after.events.values() for event in events)
        for kind in ("review.opened", "worker.lost", "task.late_result", "review.evidence", "lease.refenced"):
            counts[f"events {kind}"] += kinds[kind]
        counts["events"] += sum(kinds.values())


def observer(path: str, poison: int) -> SqliteKernel:
    """The kernel of a process that looks at a store and answers for people."""
    services = services_of(Registry(allow=["shell"]), StoreCipher(f"{path}.key"))
    services = msgspec.structs.replace(services, poison_after=poison)
    return SqliteKernel(SqliteStore(path, busy=30.0), services)


def made_after(version: int) -> list[tuple[str, str]]:
    """The tables and indexes, by kind and name, that the migrations after a version make."""
    scripts = [script for number, script in migrations("sqlite") if number > version]
    return [found for script in scripts for found in re.findall(r"(?m)^CREATE (TABLE|INDEX) (\w+)", script)]


def made_older(path: str, version: int) -> None:
    """Take back what the migrations after ``version`` have made."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for kind, name in reversed(made_after(version)):
            db.execute(f"DROP {kind} IF EXISTS {name}")
        db.execute(f"PRAGMA user_version={version}")


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[bool]:
    """A file system in memory of this size at a folder, where the machine lets one be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    given = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    able = sys.platform.startswith("linux") and shutil.which("mount") is not None
    mounted = able and subprocess.run(given, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], capture_output=True, check=False)
