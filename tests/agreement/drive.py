"""Runs generated workflows in a simulated world and says what should not have happened.

Blocks are scripted by a seed: they give results that fit their schema, or fail in every known way; people
answer signals, decisions and reviews; time passes when nothing else can happen.  Everything that a run
was told in its events is held against `PREVENTED`: codes that a static rule should have prevented.
"""

from __future__ import annotations

import random
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec

from agreement.blocks import SPECS
from interlock.analyzer.language.blocks import BUILT_IN
from interlock.analyzer.model.nodes import SignalWait, Workflow, walk
from interlock.engine.cells.state import TERMINAL
from interlock.engine.definition import Stored
from interlock.engine.errors import CallerError
from interlock.engine.ports import EvaluationError, Failed, Json, Outcome, Success, Task
from interlock.engine.shown import Position, RunStatus
from interlock.engine.simulate.world import World

PREVENTED = {
    "expression": "IL201 to IL207; legitimate: JSON bodies, states and payloads, division, conversions, limits",
    "null-in-text": "IL207; legitimate: null in what is not known before the run",
    "bad-key": "IL206, IL311; legitimate: an empty or long text that is not known before the run",
    "bad-value": "IL206; legitimate: a time or a list that is not known before the run",
    "bad-next": "IL213; legitimate: a template without literal ids",
    "limit-conflict": "IL310; legitimate: templates that give one key",
    "deadlock": "IL408, IL414, warning IL407; legitimate: keys that are equal only at run time",
    "child-inputs": "IL413; legitimate: values that are not known before the run",
    "unknown-run": "IL416; legitimate: ids that are made at run time",
    "unknown-group": "IL411; legitimate: none, a group is started on every path to its wait",
    "group-conflict": "IL214; legitimate: sibling branches that start one group",
    "state-conflict": "IL214; legitimate: merged payloads and states",
    "budget-exceeded": "IL603, IL604; legitimate: loops, run-time items, sizes",
    "deadline-exceeded": "IL607; legitimate: time that waits and blocks take",
    "block-unavailable": "IL208; legitimate: a worker without the block",
    "secret-unavailable": "IL506; legitimate: a host without the secret",
    "quorum-unreachable": "IL410; legitimate: failed items or runs, fewer items at run time",
    "internal": "never",
}
"""Run-time codes and the rules that keep them from workflows without errors.

The generator makes none of the legitimate reasons but failures, so in what it makes a code of this
list is a disagreement; `quorum-unreachable` is one only where nothing was scripted to fail.
"""

FOLLOWS = frozenset({"branch-failed", "item-failed", "child-failed", "dependency-failed", "quorum-unreachable"})
ROUNDS = 3000
VALIDATORS = {name: jsonschema.Draft202012Validator(spec.params) for name, spec in {**BUILT_IN, **SPECS}.items()}


class Fault(msgspec.Struct, frozen=True):
    """A disagreement: what happened, and where."""

    what: str
    where: str = ""


class Plan(msgspec.Struct, frozen=True):
    """How the world treats a workflow: how many runs, and how likely each trouble is."""

    runs: int = 1
    failing: float = 0.0
    silent: float = 0.0
    stops: float = 0.0
    crashes: float = 0.0
    rejected: float = 0.3

    @property
    def calm(self) -> bool:
        return self.runs == 1 and not (self.failing or self.silent or self.stops or self.crashes)


CALM = Plan()
ROUGH = Plan(runs=3, failing=0.12, silent=0.1, stops=0.02, crashes=0.03)


class Drive:
    """One world in which runs of one root are driven to their ends."""

    def __init__(self, definition: Stored, plan: Plan, seed: int, *, watch: bool = True) -> None:
        self.random = random.Random(f"{seed}/{plan}")
        self.plan = plan
        self.definition = definition
        self.world = World(memory=True, watch=watch)
        # One process and no crash of it: SQLite in memory serves as the durable store.
        self.world.kernel.durable = True
        self.world.perform = self._perform  # type: ignore[method-assign]
        self.faults: list[Fault] = []
        self.workflows: dict[str, Workflow] = {
            name: each.workflow for name, each in {definition.name: definition, **definition.closure}.items()
        }
        self.calls = 0
        self.signals = 0
        self.troubles = 0
        self.retries = 0
        self.busy = False

    def run(self) -> list[Fault]:
        """Dispatch, drive, look; what should not have happened."""
        try:
            given = self._inputs()
            for number in range(self.plan.runs):
                # Equal inputs meet at keys, others pass by.
                inputs = given if number == 0 or self.random.random() < 0.7 else self._inputs()
                self.world.kernel.dispatch(self.definition, inputs)
            if self._drive():
                self._look()
        finally:
            self.world.kernel.close()
        return self.faults

    # --- what goes in ---

    def _inputs(self) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for name, declared in self.definition.workflow.inputs.items():
            if declared.required or self.random.random() < 0.5:
                words = [item.data for item in declared.enum.value.items] if declared.enum else []  # type: ignore[union-attr]
                made[name] = self.random.choice(words) if words else self._input(declared.type)
        return made

    def _input(self, kind: str) -> Json:
        pick = self.random
        values: dict[str, list[Json]] = {
            "string": ["red", "a b", "é{}'\"", ""],
            "integer": [0, 7, -3],
            "number": [1, 2.5, -0.0],
            "boolean": [True, False],
            "array": [[], [1, "x"], [None, {"a": 1.0}]],
            "object": [{}, {"a": [1]}],
            "any": [1, "x", [2], {"b": 1.5}, True],
        }
        return pick.choice(values[kind])

    def _perform(self, task: Task) -> Outcome:
        self.calls += 1
        self._check_params(task)
        if task.block == "fail":
            return Failed(task.params.get("code", "failed"), str(task.params["message"]), "none", True)
        if self.random.random() < self.plan.failing:
            self.troubles += 1
            return self.random.choice(
                [
                    Failed("block-failed", "refused", "none"),
                    Failed("effect-unknown", "who knows", "unknown"),
                    Failed("timeout", "late", "unknown"),
                    Failed("result-invalid", "odd", "unknown"),
                ]
            )
        return Success(self._result(task))

    def _check_params(self, task: Task) -> None:
        """The analyzer vouched for the types of params: what a template gives must fit the schema."""
        if not task.deferred:
            for error in VALIDATORS[task.block].iter_errors(task.params):
                self.faults.append(Fault(f"the params of {task.block} do not fit: {error.message}", task.path))

    def _result(self, task: Task) -> Json:
        pick = self.random
        word = pick.choice(["", "able", "Zoë", "a-b"])
        results: dict[str, Json] = {
            "shop.find": {
                "count": pick.randint(-5, 90),
                "name": word,
                "marks": pick.choice([[], ["m"], ["x", "y z"]]),
                "ratio": pick.choice([0.5, 2.0, -1.25]),
                "fine": pick.random() < 0.5,
                "mood": pick.choice(["calm", "wild"]),
            },
            "write_item": {"revision": pick.randint(1, 9), "place": word},
            "count.up": {"reached": task.visit, "more": task.visit < (task.params or {}).get("upto", 0)},
            "http": {
                "status": 200,
                "headers": {"content-type": "text/plain"},
                "text": word,
                "json": pick.choice([None, {"a": 1}]),
                "url": "https://a.example/",
            },
            "shell": {"exit_code": 0, "stdout": word, "stderr": "", "json": None},
            "set": task.params,
            "log": {},
        }
        return results[task.block]

    # --- driving ---

    def _drive(self) -> bool:
        """Until every run has ended; False where that does not happen."""
        kernel = self.world.kernel
        for _ in range(ROUNDS):
            due = kernel.tick()
            tasks = kernel.claim("w", 100)
            for task in tasks:
                self._settle(task)
            if tasks or (due is not None and due <= self.world.clock.now()):
                continue
            if self._stop_some():
                continue
            left = [row for row in kernel.runs(limit=10_000) if row.status not in TERMINAL]
            if not left:
                if not self._retry_some():
                    return True
                continue
            silent = self.random.random() < self.plan.silent
            if not (not silent and self._answer(left)) and not self._pass_time() and not self._answer(left):
                shown = [(row.run, row.workflow, row.status) for row in left]
                self.faults.append(Fault(f"nothing will ever move these runs: {shown}"))
                return False
        self.faults.append(Fault("the runs do not come to an end"))
        return False

    def _settle(self, task: Task) -> None:
        if self.random.random() < self.plan.crashes and self.calls < 400:
            self.troubles += 1
            self.world.kernel.hand_back(task, reason="not now") if self.random.random() < 0.5 else self._die()
            return
        self.world.kernel.settle(task, self._perform(task))

    def _die(self) -> None:
        """The worker is lost with everything that it had."""
        self.world.kernel.tick()
        self.world.clock.steady += self.world.services.lost_after + 1
        self.world.kernel.tick()

    def _stop_some(self) -> bool:
        if self.random.random() >= self.plan.stops:
            return False
        rows = [row for row in self.world.kernel.runs(limit=100) if row.status not in TERMINAL]
        if not rows:
            return False
        self.troubles += 1
        self.world.kernel.cancel(self.random.choice(rows).run)
        return True

    def _retry_some(self) -> bool:
        """A failed run goes on from its failed step; whether there was one."""
        if self.plan.calm or self.retries >= 2:
            return False
        for row in self.world.kernel.runs(status="failed"):
            if self.world.status(row.run).retryable:
                self.retries += 1
                self.world.kernel.retry(row.run)
                return True
        return False

    def _answer(self, rows: list[Any]) -> bool:
        """Answers one thing that some run waits for a person to say; whether there was one."""
        self.random.shuffle(rows)
        for row in rows:
            status = self.world.status(row.run)
            if status.reviews and any(review.decision is None for review in status.reviews):
                return self._review(status)
            for position in status.positions:
                if position.status == "signal" and self._signal(status, position):
                    return True
        return False

    def _review(self, status: RunStatus) -> bool:
        review = next(each for each in status.reviews if each.decision is None)
        decision = self.random.choice(["not-committed", "abandon"])
        self.world.kernel.review(status.run, decision, path=review.path)  # type: ignore[arg-type]
        return True

    def _signal(self, status: RunStatus, position: Position) -> bool:
        wait = self._wait(status, position)
        names = [name.value for name in wait.names]
        name = self.random.choice(names)
        payload: Json = {"told_by": "someone", "_private": 1}
        if wait.match is not None:
            payload |= self._matching(wait, status, position.path)
        if wait.correlation_key is not None:
            payload[wait.correlation_key.value] = status.inputs[wait.correlation_key.value]
        self.signals += 1
        try:
            self.world.kernel.signal(status.run, name, payload, signal_id=f"s{self.signals}")
        except CallerError as error:
            self.faults.append(Fault(f"a signal was refused: {error}", position.path))
            return False
        return True

    def _matching(self, wait: SignalWait, status: RunStatus, path: str) -> dict[str, Json]:
        """What a wait asks of a payload, which reads nothing but inputs."""
        assert wait.match is not None
        try:
            scope = {"inputs": status.inputs}
            found: dict[str, Json] = self.world.services.evaluator.value(wait.match.value, scope)
        except EvaluationError as error:
            self.faults.append(Fault(f"a match cannot be read: {error.code}: {error.message}", path))
            return {}
        return found

    def _wait(self, status: RunStatus, position: Position) -> SignalWait:
        name = position.path.rsplit("/", 1)[-1]
        for step in walk(self.workflows[status.workflow].steps):
            if step.id == name and isinstance(step.kind, SignalWait):
                return step.kind
        raise LookupError(position.path)

    def _pass_time(self) -> bool:
        """Time goes on to the next thing that is due; whether there is one."""
        kernel = self.world.kernel
        due = [at for at in (kernel.tick(), kernel.next_ready()) if at is not None]
        if not due:
            return False
        self.world.clock.advance(max(0.0, min(due) - self.world.clock.now()) + 0.001)
        return True

    # --- looking ---

    def _look(self) -> None:
        kernel = self.world.kernel
        stats = kernel.stats()
        rest = (stats.tasks, stats.timers, stats.leases, stats.tickets, stats.inbox)
        if any(rest):
            self.faults.append(Fault(f"left behind (tasks, timers, leases, tickets, inbox): {rest}"))
        told: list[tuple[str, str, str, str]] = []
        after = 0
        while page := kernel.events(after=after):
            after = page[-1].seq
            for event in page:
                if event.kind in ("step.failed", "handler.failed", "compensation.failed", "run.failed"):
                    code, message = event.data.get("code"), event.data.get("message")
                    told.append((f"{event.kind} of {event.run}", event.path or "", str(code or ""), str(message)))
        self.busy = any(code in ("resource-busy", "timeout") for _, _, code, _ in told)
        for what, path, code, message in told:
            if code and not self._legitimate(code):
                self.faults.append(Fault(f"{what}: {code}: {message}", path))

    def _legitimate(self, code: str) -> bool:
        if code in ("no_stock", "gone", "failed"):
            return True
        if code in FOLLOWS:
            # In a calm world nothing fails but the branches that were made to.
            return code == "branch-failed" or self.busy or not self.plan.calm
        if code in PREVENTED:
            # Silence and retries take time, and only they do.
            return code == "deadline-exceeded" and not self.plan.calm
        return code == "resource-busy" or (code == "timeout" and self.busy) or not self.plan.calm
