"""Random definitions in the simulation: the workflows that agreement generates, under every fault.

A seed makes the definition as well as the play.  Blocks give results that fit their schemas, people answer
what is asked, as in ``agreement.drive``; everything else is the simulation's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agreement import checks
from agreement.blocks import SPECS
from agreement.drive import ROUGH, Drive
from agreement.generate import make
from agreement.write import Style, write
from interlock.analyzer.model.nodes import Section, Step, walk
from interlock.analyzer.source.text import SourceText
from interlock.engine.definition import Stored
from interlock.engine.ports import Json, Task
from interlock.engine.project import Project
from interlock.engine.shown import RunStatus
from interlock.engine.simulate.simulation import Simulation


class Generated(Simulation):
    """The play of a seed over the workspace of the same seed."""

    def __init__(self, seed: int, path: str, **given: Any) -> None:
        workspace = make(seed, checks.size_of(seed))
        text = write(workspace.documents, Style(seed)).text
        self.definition = Project([SourceText(checks.FILE, text)], SPECS).definition(workspace.root)
        self.cast = Drive(self.definition, ROUGH, seed, watch=False)
        self.cast.world.kernel.close()
        super().__init__(seed, path, **given)
        self.cast.world = self.world
        self.cast.random = self.random
        self.inputs = [self.cast._inputs() for _ in range(2)]

    def definitions(self) -> Mapping[str, Stored]:
        return {self.definition.name: self.definition, **self.definition.closure}

    def start_one(self, key: str | None) -> str:
        # Equal inputs meet at keys.
        inputs = self.random.choice(self.inputs)
        return self.world.kernel.dispatch(self.definition, inputs, idempotency_key=key).run

    def result(self, task: Task, calm: bool) -> Json:
        return self.cast._result(task)

    def send_some(self, run: str, signal_id: str | None) -> str:
        status = self.world.status(run)
        waits = [position for position in status.positions if position.status == "signal"]
        if waits and self.random.random() < 0.8:
            wait = self.cast._wait(status, self.random.choice(waits))
            name = self.random.choice([name.value for name in wait.names])
        else:
            name = self.random.choice(["paid", "approval", "seen", "approved"])
        payload = {"told_by": "someone", "part_no": self.random.randrange(3)}
        return self.world.kernel.signal(run, name, payload, signal_id=signal_id).id

    def answer(self, status: RunStatus) -> None:
        for position in status.positions:
            if position.status == "signal":
                self.cast._signal(status, position)

    def committed(self, status: RunStatus, path: str) -> Json:
        """Outputs of the right names; what they are is what a person would say."""
        outputs = self._section(status, path).outputs
        return {each.name: 1 for each in outputs.value.members} if outputs is not None else {}

    def _section(self, status: RunStatus, path: str) -> Section:
        steps: Any = {self.definition.name: self.definition, **self.definition.closure}[status.workflow]
        found: list[Step] = [step for step in walk(steps.workflow.steps) if step.id == path.rsplit("/", 1)[-1]]
        kind = next(step.kind for step in found if isinstance(step.kind, Section))
        assert isinstance(kind, Section)
        return kind
