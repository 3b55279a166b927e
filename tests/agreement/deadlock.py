"""Workspaces that can deadlock, or cannot, and the search for a schedule that does.

A rule that says "a deadlock can happen" is only right if some schedule deadlocks.  Schedules are made by a
seed: transactions that work one message each, so that runs interleave at every step, blocks that return in
any order, dispatches at any moment.  What is found is the engine's own answer, the code ``deadlock``.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec

from agreement.write import Style, write
from interlock.analyzer.source.text import SourceText
from interlock.engine.cells.state import TERMINAL
from interlock.engine.ports import Json, Success, Task
from interlock.engine.project import Project
from interlock.engine.simulate.world import World

Start = tuple[str, dict[str, Json]]


class Case(msgspec.Struct, frozen=True):
    """A workspace, the runs that meet in it, and whether the analyzer should warn of a circle."""

    text: str
    starts: list[Start]
    code: str
    circle: bool


# --- workspaces ----------------------------------------------------------------------------------


def _take(rng: random.Random, name: str, key: str, *, last: bool = False) -> dict[str, Any]:
    """A lease for the rest of the run; at the end of a workflow a section does as well."""
    body: dict[str, Any] = {"resource": key, "lifetime": "run"}
    if last and rng.random() < 0.4:
        body = {"resource": key, "steps": [_work(rng, f"{name}_inside")]}
    return {"id": name, "concurrency": body}


def _work(rng: random.Random, name: str) -> dict[str, Any]:
    kind = rng.choice(["block", "block", "delay", "signal"])
    if kind == "delay":
        return {"id": name, "delay": "5s"}
    if kind == "signal":
        return {"id": name, "wait_for_approval": {"result_key": f"{name}_answer"}}
    return _block(name)


def _block(name: str) -> dict[str, Any]:
    return {"id": name, "block": "set", "params": {"x": 1}}


def _takes(rng: random.Random, name: str, keys: list[str]) -> dict[str, Any]:
    """A workflow that takes keys one after the other, with work in between."""
    steps: list[Any] = []
    for number, key in enumerate(keys):
        if rng.random() < 0.4:
            steps.append(_work(rng, f"work_{number}"))
        steps.append(_take(rng, f"take_{number}", key, last=number == len(keys) - 1))
    # While a run has all of its keys others line up for them, each at its first one.
    steps.append(_work(rng, "work_last"))
    return {"workflow": name, "steps": steps}


def ring(rng: random.Random, circle: bool) -> tuple[list[Any], list[Start]]:
    """Each workflow holds one key and waits for that of the next one."""
    count = rng.randint(2, 3)
    names = [f"w{number}" for number in range(count)]
    documents = []
    for number, name in enumerate(names):
        keys = [f"k{number}", f"k{(number + 1) % count}"]
        documents.append(_takes(rng, name, keys if circle else sorted(keys)))
    return documents, [(name, {}) for name in names * 2]


def beside(rng: random.Random, circle: bool) -> tuple[list[Any], list[Start]]:
    """Two branches of one workflow take two keys: two runs of it can have one each."""
    keys = ("k0", "k1") if circle else ("k0", "k0")
    # Blocks come back in any order; delays of one length do not.
    ways = {
        f"way{number}": {"steps": [_block(f"work_{number}"), _take(rng, f"take_{number}", key)]}
        for number, key in enumerate(keys)
    }
    if not circle:
        del ways["way1"]
    document = {"workflow": "forked", "steps": [{"id": "both", "concurrency": {"branches": ways}}]}
    return [document], [("forked", {}), ("forked", {})]


def items(rng: random.Random, circle: bool) -> tuple[list[Any], list[Start]]:
    """Items of a list take a key each, and keep it: another run may have the list in another order."""
    key = "part-{item}" if circle else "part-{inputs.first}"
    body = {"items": "{inputs.parts}", "limit": 1, "steps": [_take(rng, "take", key)]}
    document = {
        "workflow": "parts",
        "inputs": {"parts": "array", "first": "string"},
        "steps": [{"id": "each", "for_each": body}, {"id": "told", "block": "set", "params": {"x": "{inputs.first}"}}],
    }
    orders = (["a", "b"], ["b", "a"], ["a", "b"])
    return [document], [("parts", {"parts": order, "first": "a"}) for order in orders]


def parent(rng: random.Random, circle: bool) -> tuple[list[Any], list[Start]]:
    """A parent holds a key while its child waits for another one, which a third holds while it waits for the first."""
    call = {"id": "call", "run_workflow": {"workflow": "child", "result_key": "came"}}
    first = {"workflow": "parent", "steps": [_take(rng, "take", "k0"), call]}
    child = {"workflow": "child", "steps": [_take(rng, "take", "k1", last=True)], "outputs": {"x": 1}}
    other = _takes(rng, "other", ["k1", "k0"] if circle else ["k0", "k1"])
    return [first, child, other], [("parent", {}), ("other", {}), ("other", {})]


def own(rng: random.Random, circle: bool) -> tuple[list[Any], list[Start]]:
    """A child waits for the key that its own parent holds."""
    call = {"id": "call", "run_workflow": {"workflow": "child", "result_key": "came"}}
    first = {"workflow": "parent", "steps": [_take(rng, "take", "k0"), call]}
    key = "k0" if circle else "k1"
    child = {"workflow": "child", "steps": [_take(rng, "take", key, last=True)], "outputs": {"x": 1}}
    return [first, child], [("parent", {})]


def slot(rng: random.Random, circle: bool) -> tuple[list[Any], list[Start]]:
    """A chain of calls comes back to the workflow whose only slot it holds."""
    count = rng.randint(1, 3)
    documents: list[Any] = []
    for number in range(count):
        following = (number + 1) % count
        inputs = {"depth": "{inputs.depth - 1}"}
        body = {"workflow": f"w{following}", "inputs": inputs, "result_key": "came"}
        call = {"id": "call", "when": "{inputs.depth > 0}", "run_workflow": body}
        steps = [_work(rng, "work"), call]
        document = {"workflow": f"w{number}", "inputs": {"depth": "integer"}, "steps": steps, "outputs": {"x": 1}}
        if number == 0 and circle:
            document["concurrency"] = {"limit": 1}
        documents.append(document)
    return documents, [("w0", {"depth": count})]


KINDS = {"ring": ring, "beside": beside, "items": items, "parent": parent, "own": own, "slot": slot}


def case(kind: str, seed: int, circle: bool) -> Case:
    """A workspace of a kind, whose keys close a circle or do not."""
    rng = random.Random(f"{kind}/{seed}/{circle}")
    documents, starts = KINDS[kind](rng, circle)
    text = write(documents, Style(seed)).text
    return Case(text, starts, "IL414" if kind == "slot" else "IL408", circle)


# --- the search ----------------------------------------------------------------------------------


class Schedule:
    """One schedule of some runs, decided by a seed."""

    def __init__(self, project: Project, starts: list[Start], seed: int) -> None:
        self.random = random.Random(seed)
        self.project = project
        self.world = World(memory=True)
        self.world.kernel.durable = True
        self.world.kernel.max_messages = self.random.choice([1, 1, 1, 2, 500])
        self.pending = starts[:]
        self.random.shuffle(self.pending)
        self.tasks: list[Task] = []

    def run(self, actions: int = 1000) -> bool:
        """Whether the engine answered ``deadlock`` to some wait."""
        try:
            for _ in range(actions):
                if not self._act():
                    break
            else:
                raise AssertionError("the runs of a schedule do not come to an end")
            return self._deadlocked()
        finally:
            self.world.kernel.close()

    def _act(self) -> bool:
        """One thing happens; False when nothing is left to happen."""
        kernel, roll = self.world.kernel, self.random.random()
        if self.pending and roll < 0.3:
            name, inputs = self.pending.pop()
            kernel.dispatch(self.project.definition(name), inputs)
            return True
        due = kernel.tick()
        if self.random.random() < 0.5:
            self.tasks += kernel.claim("w", 1)
        if self.tasks and self.random.random() < 0.5:
            task = self.tasks.pop(self.random.randrange(len(self.tasks)))
            kernel.settle(task, Success(_result(task)))
            return True
        late = bool(self.pending) and self.random.random() < 0.2
        if kernel.stats().inbox or ((self.tasks or self.pending) and not late):
            return True
        waiting = [row.run for row in kernel.runs() if row.status not in TERMINAL]
        if not waiting:
            return bool(self.pending)
        ready = kernel.next_ready()
        if ready is not None and ready <= self.world.clock.now():
            return True
        for run in self.random.sample(waiting, len(waiting)):
            if any(position.status == "signal" for position in kernel.status(run).positions):
                kernel.signal(run, "approval", {})
                return True
        if due is not None:
            self.world.clock.advance(max(0.0, due - self.world.clock.now()) + 0.01)
            return True
        if self.pending or self.tasks:
            return True
        raise AssertionError("nothing will move these runs, and none was told of a deadlock")

    def _deadlocked(self) -> bool:
        events = self.world.kernel.events(limit=100_000)
        return any(event.kind == "step.failed" and event.data.get("code") == "deadlock" for event in events)


def _result(task: Task) -> Json:
    if task.block == "http":
        return {"status": 200, "headers": {}, "text": "", "json": {"child": "deeper"}, "url": "https://a.example"}
    return task.params if task.block == "set" else {}


def search(text: str, starts: list[Start], tries: int = 200) -> int | None:
    """The seed of a schedule that deadlocks, None where none of so many does."""
    project = Project([SourceText("deadlock.workflow.yaml", text)])
    return next((seed for seed in range(tries) if Schedule(project, starts, seed).run()), None)
