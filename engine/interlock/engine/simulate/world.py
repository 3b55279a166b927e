"""A world for the kernel: simulated time and ids, scripted blocks, a store with a tape on it.

The store is the real SQLite one, or plain dictionaries in its place (``store="cells"``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from interlock.analyzer.analysis import read_file
from interlock.analyzer.model.nodes import Workflow
from interlock.analyzer.source.text import SourceText
from interlock.engine.definition import Stored, load_definition, make_definition
from interlock.engine.evaluate import TemplateEvaluator
from interlock.engine.kernel import SqliteKernel
from interlock.engine.ports import Failed, Json, Outcome, Services, Success, Task
from interlock.engine.secrets import StoreCipher
from interlock.engine.shown import RunStatus
from interlock.engine.simulate.invariants import WHOLE_EVERY, Watch
from interlock.engine.simulate.memory import MemoryStore
from interlock.engine.simulate.stored import TapedStore
from interlock.engine.simulate.tape import Tape

Script = Callable[[Task], Outcome]
SimulatedStore: TypeAlias = TapedStore | MemoryStore


class Crashed(BaseException):
    """The process has died at a commit point: before it, so that nothing is stored, or after it, so that
    nobody was told."""


class SimClock:
    """Time that moves only when it is told to; the wall clock may also be set back."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self.wall = start
        self.steady = 0.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    def advance(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


class SimIds:
    """Ids in sequence, jitter from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self._runs = 0
        self._tokens = 0
        self._random = random.Random(seed)

    def run(self) -> str:
        self._runs += 1
        return f"r{self._runs}"

    def token(self) -> str:
        self._tokens += 1
        return f"t{self._tokens}"

    def jitter(self) -> float:
        return self._random.random()


class SimBlocks:
    """Blocks by name: those that begin with ``write`` or ``http`` have effects, every cost is 1 unless
    ``costs`` says otherwise."""

    def __init__(self, costs: Mapping[str, int] | None = None) -> None:
        self.costs = dict(costs or {})

    def cost(self, block: str) -> int:
        return self.costs.get(block, 1)

    def effects(self, block: str, params: Json) -> bool:
        if block == "http" and isinstance(params, dict):
            return params.get("method", "GET") not in ("GET", "HEAD", "OPTIONS")
        return block.startswith("write")


def define(text: str) -> dict[str, Stored]:
    """The definitions of a text by name, each with those that it starts as its closure."""
    return dict(_define(text))


@lru_cache(maxsize=64)
def _define(text: str) -> dict[str, Stored]:
    workflows: dict[str, Workflow] = {}
    model = read_file(SourceText("simulated.workflow.yaml", text))
    if model.findings:
        raise ValueError(model.findings[0].message)
    for workflow in model.workflows:
        assert workflow.name is not None
        workflows[workflow.name.value] = workflow
    return {name: make_definition(workflow, workflows) for name, workflow in workflows.items()}


class World:
    """One store, its kernel, and workers that do what their script says."""

    def __init__(
        self,
        text: str = "",
        *,
        path: str | None = None,
        scripts: Mapping[str, Script] | None = None,
        costs: Mapping[str, int] | None = None,
        synchronous: str = "NORMAL",
        secrets: tuple[str, ...] = (),
        watch: bool = True,
        memory: bool = False,
        store: Literal["sqlite", "cells"] = "sqlite",
        definitions: Mapping[str, Stored] | None = None,
        whole_every: int = WHOLE_EVERY,
    ) -> None:
        self.clock = SimClock()
        self.ids = SimIds()
        self.scripts: dict[str, Script] = dict(scripts or {})
        self.definitions = dict(definitions or {}) if definitions is not None else define(text) if text else {}
        self.cipher = StoreCipher(None, environment={}, secrets=secrets, temporary=True)
        self.tape = Tape()
        self.watch: Watch | None = None
        self.log: list[Task] = []
        self.crash_at: str | None = None
        """The commit point, ``before-commit`` or ``after-commit``, at which the next transaction crashes."""
        self.services = Services(
            evaluator=_evaluator(),
            blocks=SimBlocks(costs),
            clock=self.clock,
            ids=self.ids,
            cipher=self.cipher,
            load=load_definition,
            synchronous=synchronous,  # type: ignore[arg-type]
            trace=self._traced,
        )
        self._path = None if memory else path
        self._rows = MemoryStore(self.tape) if store == "cells" else None
        self.kernel: SqliteKernel = self.process()
        if watch:
            self.watch = Watch(self.kernel, self.tape, whole_every)

    @property
    def store(self) -> SimulatedStore:
        return self.kernel.store  # type: ignore[return-value]

    def process(self) -> SqliteKernel:
        """Another process at the same store."""
        store: SimulatedStore
        store = self._rows or TapedStore(self.tape, self._path, self.services.synchronous)
        durable = self._path is not None or self._rows is not None
        return SqliteKernel(store, self.services, durable=durable)  # type: ignore[arg-type]

    def _traced(self, point: str) -> None:
        if point == "after-commit" and self.watch is not None:
            self.watch.check()
        if point == self.crash_at:
            self.crash_at = None
            raise Crashed(point)

    def restart(self) -> None:
        """The process ends and another one opens the store."""
        self.kernel.close()
        self.be(self.process())

    def be(self, kernel: SqliteKernel) -> None:
        """What happens next happens in this process."""
        self.kernel = kernel
        if self.watch is not None:
            self.watch.kernel = kernel

    # --- runs ---

    def start(self, name: str, *, account: str = "default", key: str | None = None, **inputs: Json) -> str:
        """Dispatch by name; returns the run's id."""
        definition = self.definitions[name]
        return self.kernel.dispatch(definition, inputs, account=account, idempotency_key=key).run

    def status(self, run: str) -> RunStatus:
        return self.kernel.status(run)

    def kinds(self, run: str, prefix: str = "") -> list[str]:
        """The kinds of the events of a run, those that begin with a prefix."""
        return [each.kind for each in self.kernel.events(run) if each.kind.startswith(prefix)]

    # --- workers ---

    def claim(self, worker: str = "w", limit: int = 1000) -> list[Task]:
        tasks = self.kernel.claim(worker, limit)
        self.log += tasks
        return tasks

    def take(self, path: str, worker: str = "w", run: str | None = None) -> Task:
        """Claim everything and keep the task of one path; the others go back."""
        found: Task | None = None
        for task in self.claim(worker):
            if task.path == path and found is None and run in (None, task.run):
                found = task
            else:
                self.kernel.hand_back(task, reason="not wanted")
        if found is None:
            raise LookupError(f"no task at {path}")
        return found

    def perform(self, task: Task) -> Outcome:
        """What the script of the task's block gives: by path, by block, else its params."""
        script = self.scripts.get(task.path) or self.scripts.get(task.block)
        if script is not None:
            return script(task)
        if task.block == "fail":
            return Failed(task.params.get("code", "failed"), str(task.params.get("message", "")), "none", True)
        return Success(task.params if task.block == "set" else {"params": task.params, "fence": task.fence})

    def finish(self, task: Task, outcome: Outcome | None = None) -> None:
        self.kernel.settle(task, outcome if outcome is not None else self.perform(task))

    def work(self, worker: str = "w", rounds: int = 10_000) -> None:
        """Claim and settle until nothing is ready."""
        for _ in range(rounds):
            self.kernel.tick()
            tasks = self.claim(worker)
            if not tasks:
                return
            for task in tasks:
                self.finish(task)
        raise RuntimeError("the work does not end")

    def advance(self, seconds: float) -> None:
        """Time passes, and due timers fire."""
        self.clock.advance(seconds)
        while True:
            due = self.kernel.tick()
            if due is None or due > self.kernel.last_time:
                return

    def die(self, worker: str) -> None:
        """The worker stops beating, and after a while it counts as lost."""
        self.kernel.tick()
        self.clock.steady += self.services.lost_after + 1
        self.kernel.tick()


@lru_cache(maxsize=1)
def _evaluator() -> TemplateEvaluator:
    """One for all worlds: what it keeps of an expression does not depend on them."""
    return TemplateEvaluator()


def failing(code: str = "block-failed", effect: str = "none", message: str = "it broke") -> Script:
    """A script that always fails."""
    outcome: Any = Failed(code, message, "unknown" if effect == "unknown" else "none")
    return lambda task: outcome


def giving(*outcomes: Outcome) -> Script:
    """A script that gives these outcomes one after the other, the last one for ever."""
    left = list(outcomes)
    return lambda task: left.pop(0) if len(left) > 1 else left[0]
