"""Deadlocks in the simulation: every circle is told of, and what is told of is one.

A seed makes workflows that take keys, start and wait for each other in every way; none waits for a person.
In half of the seeds all runs must end by themselves, since each circle fails a wait, whatever else fails, is
stopped or is retried.  In the other half nobody hears of a deadlock, and nothing happens that could break a
circle from outside: then the waits that would have failed must still stand there when everything has come to
rest.  One that went on was told wrongly.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from interlock.engine.cells.state import join
from interlock.engine.definition import Stored
from interlock.engine.ports import Failed, Json, Outcome, Success, Task
from interlock.engine.simulate.rows import Broken
from interlock.engine.simulate.simulation import Simulation
from interlock.engine.simulate.world import define

WORKFLOWS = 4
KEYS = ("a", "b", "c")


class Circles(Simulation):
    """The play of a seed over its own workflows."""

    def __init__(self, seed: int, path: str, **given: Any) -> None:
        self.left_out = {"signal", "review"}
        self.maker = _Maker(random.Random(f"circles {seed}"))
        self.text = self.maker.text()
        super().__init__(seed, path, **given)
        if seed // 8 % 2:
            self.world.tape.unheard = []
            self.replays = False  # what was kept from the runs stands in their journals
            self.left_out = {"cancel", "retry", "kill", "wake", "silence", "signal", "review", "jump"}

    def definitions(self) -> Mapping[str, Stored]:
        return define(self.text)

    def weight(self, move: str, weight: int) -> int:
        return 0 if move in self.left_out else weight

    def start_one(self, key: str | None) -> str:
        return self.world.start(f"w{self.random.randrange(WORKFLOWS)}")

    def result(self, task: Task, calm: bool) -> Json:
        return {}

    def outcome(self, task: Task) -> Outcome:
        fails = self.world.tape.unheard is None and self.random.random() < 0.08
        return Failed("block-failed", "refused", "none") if fails else Success({})

    def at_rest(self) -> None:
        unheard = self.world.tape.unheard
        if unheard is None:
            super().at_rest()
            return
        for each in unheard:
            if not self._stands(each.run, each.path, each.visit):
                raise Broken(f"{each.run} went on at {each.path} though: {each.message}\n{self.text}")
        # Nobody was told, so a person ends what is stuck; from now on who closes a circle hears of it.
        self.world.tape.unheard = None
        for row in self.world.kernel.runs(limit=10_000):
            if row.ended_at is None:
                self._try(lambda run=row.run: self.world.kernel.cancel(run))  # type: ignore[misc]

    def _stands(self, run: str, path: str, visit: int) -> bool:
        with self.world.kernel.looking():
            cell = self.world.kernel.cell(run)
        assert cell is not None
        return any(
            frame.node is not None
            and join(frame.prefix, frame.node.step) == path
            and frame.node.visit == visit
            and frame.node.status in ("key", "runs", "child")
            for frame in cell.frames.values()
        )


class _Maker:
    """Workflows that wait for keys and for each other; only later ones are started, so none starts itself."""

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.limits = {key: rng.choice([1, 1, 2]) for key in KEYS}
        self.ids = 0

    def text(self) -> str:
        return "---\n".join(self._workflow(number) for number in range(WORKFLOWS))

    def _workflow(self, number: int) -> str:
        head = f"workflow: w{number}\n"
        if self.random.random() < 0.5:
            head += f"concurrency: {{limit: {self.random.randint(1, 2)}}}\n"
        steps = [line for _ in range(self.random.randint(2, 4)) for line in self._step(number, True)]
        return head + "steps:\n" + "".join(f"  - {line}\n" for line in steps)

    def _step(self, number: int, top: bool) -> list[str]:
        self.ids += 1
        id, key = f"s{self.ids}", self.random.choice(KEYS)
        kinds = ["claim", "claim", "section", "block"]
        kinds += ["run", "start", "start"] if number < WORKFLOWS - 1 else []
        kinds += ["branches", "each"] if top else []
        kind = self.random.choice(kinds)
        later = f"w{self.random.randrange(number + 1, WORKFLOWS)}" if number < WORKFLOWS - 1 else ""
        if kind == "claim":
            return [f"{{id: {id}, concurrency: {{resource: {key}, lifetime: run, limit: {self.limits[key]}}}}}"]
        if kind == "section":
            inner = f"steps: [{{id: i{id}, block: work, params: {{}}}}]"
            return [f"{{id: {id}, concurrency: {{resource: {key}, limit: {self.limits[key]}, {inner}}}}}"]
        if kind == "run":
            return [f"{{id: {id}, run_workflow: {{workflow: {later}, inputs: {{}}, result_key: r{id}}}}}"]
        if kind == "start":
            count = self.random.randint(1, 3)
            mode = self.random.choice(["all", "any", f"quorum, quorum: {self.random.randint(1, count)}"])
            items = [{} for _ in range(count)]
            return [
                f"{{id: {id}, start_workflows: {{workflow: {later}, items: {items}, result_key: ids{id}}}}}",
                f"{{id: p{id}, block: work, params: {{}}}}",
                f'{{id: w{id}, wait_for_workflows: {{workflows: "{{ids{id}}}", mode: {mode}, result_key: r{id}}}}}',
            ]
        if kind == "each":
            inner = ", ".join(self._step(number, False))
            return [f"{{id: {id}, for_each: {{items: [1, 2], limit: 2, steps: [{inner}]}}}}"]
        if kind == "branches":
            parts = [f"{name}: {{steps: [{', '.join(self._step(number, False))}]}}" for name in ("x", "y")]
            return [f"{{id: {id}, concurrency: {{on_error: collect, branches: {{{', '.join(parts)}}}}}}}"]
        return [f"{{id: {id}, block: work, params: {{}}}}"]
