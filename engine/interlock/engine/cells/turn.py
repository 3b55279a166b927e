"""One turn of a run's cell: its state in memory, what it may look at, and the changes it makes.

A turn changes the `Cell` in place and records in `Changes` what must be stored with it.  If a turn fails,
the cell is thrown away and read again; nothing of it was stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import msgspec

from interlock.analyzer.model.nodes import Step
from interlock.engine.cells.messages import Message
from interlock.engine.cells.plan import Plan
from interlock.engine.cells.sizes import canonical_size
from interlock.engine.cells.state import (
    Compensation,
    Frame,
    Held,
    Node,
    Run,
    Signal,
    inside,
    join,
    parent_of,
)
from interlock.engine.cells.times import rfc3339
from interlock.engine.errors import Fault
from interlock.engine.events import Note, note
from interlock.engine.ports import Blocks, Deferred, Definition, EvaluationError, Evaluator, Ids, Json

ITEMS = "@items"
"""The name under which a ``for_each`` keeps its list, in the scope of its own path."""

MAX_RESULT = 1024 * 1024
MAX_STORED = 64 * 1024 * 1024

_encode = msgspec.json.Encoder().encode


class StepFault(Exception):
    """A step cannot go on; carries the fault that it fails with."""

    def __init__(self, code: str, message: str, own: bool = False) -> None:
        super().__init__(message)
        self.fault = Fault(code, message, own=own)


class OverBudget(StepFault):
    """A budget does not allow what a step would store."""


class Peek(msgspec.Struct, frozen=True):
    """What a run may know of another: whose it is, and how it stands."""

    account: str
    workflow: str
    status: str


class View(Protocol):
    """What a run may look at beyond its own cell, as the store has it in this transaction."""

    def claimed(self, task: str) -> bool:
        """Whether a worker has this task."""
        ...

    def peek(self, run: str) -> Peek | None: ...

    def given(self, run: str) -> Json:
        """What a completed run gives to its dependents (a map)."""
        ...

    def original(self, account: str, key: str) -> str | None:
        """The run that used this idempotency key, if any."""
        ...


class TaskRow(msgspec.Struct, frozen=True):
    """Work for a worker, as a turn posts it."""

    id: str
    path: str
    visit: int
    kind: str
    attempt: int
    block: str
    ready_at: float
    params: Json
    deferred: tuple[Deferred, ...]
    timeout: float | None
    protected: bool
    fence: int | None
    idempotency_key: str


class WaitRow(msgspec.Struct, frozen=True):
    """An open wait for other runs, as the deadlock check sees it: ``need`` of ``on`` must end.

    ``opened`` is false where one of them has ended and only ``need`` changes.
    """

    path: str
    visit: int
    kind: str
    need: int
    on: tuple[str, ...]
    opened: bool = True


class NewRun(msgspec.Struct, frozen=True, eq=False):
    """A run to be stored: its head, its definition, its inputs."""

    run: Run
    definition: Definition
    inputs: dict[str, Json]


class Changes:
    """What a turn has changed, to be stored together with the head of the run."""

    __slots__ = (
        "comps_added",
        "comps_dropped",
        "consumed",
        "dropped",
        "ended",
        "frames",
        "messages",
        "new_runs",
        "notes",
        "secrets",
        "signals",
        "tasks",
        "timers",
        "vals",
        "waits",
    )

    def __init__(self) -> None:
        self.frames: dict[str, Frame] = {}
        self.vals: dict[tuple[str, str], tuple[int, bytes]] = {}
        self.dropped: list[str] = []
        self.tasks: dict[str, TaskRow | None] = {}
        self.timers: dict[tuple[str, str], tuple[int, float] | None] = {}
        self.waits: dict[str, WaitRow | None] = {}
        self.comps_added: list[Compensation] = []
        self.comps_dropped: list[int] = []
        self.signals: list[Signal] = []
        self.consumed: list[int] = []
        self.messages: list[Message] = []
        self.notes: list[Note] = []
        self.new_runs: list[NewRun] = []
        self.secrets: list[str] = []
        self.ended = False


class Cell:
    """A run in memory.  ``values`` are the names of each frame (by prefix); an item's or branch's rendered
    outputs stand under the empty name."""

    __slots__ = ("comps", "frames", "inputs", "known", "plan", "run", "signals", "sizes", "values", "version")

    def __init__(self, run: Run, plan: Plan, inputs: dict[str, Json], known: tuple[str, ...]) -> None:
        self.run = run
        self.plan = plan
        self.inputs = inputs
        self.known = known
        self.frames: dict[str, Frame] = {}
        self.values: dict[str, dict[str, Json]] = {}
        self.sizes: dict[str, dict[str, int]] = {}
        self.comps: list[Compensation] = []
        self.signals: list[Signal] = []
        self.version = 0

    def public(self) -> dict[str, Json]:
        """The public state: the root's names that are not private.  To be read only."""
        root = self.values.get("")
        if not root:
            return {}
        if not any(name[:1] == "_" for name in root):
            return root
        return {name: value for name, value in root.items() if name and name[0] != "_"}

    def leaves(self, prefix: str = "") -> list[Frame]:
        """The frames below ``prefix`` that stand at a step of their own (not at a container)."""
        return [
            frame
            for frame in self.frames.values()
            if frame.node is not None and frame.node.status != "open" and inside(frame.prefix, prefix)
        ]


def node_at(cell: Cell, path: str, visit: int) -> tuple[Frame, Node] | None:
    """The live node of a step path with its frame, if it still stands at this visit."""
    frame = cell.frames.get(parent_of(path))
    if frame is None or frame.node is None:
        return None
    node = frame.node
    if node.visit != visit or join(frame.prefix, node.step) != path:
        return None
    return frame, node


class Turn:
    """The working place of one decision."""

    def __init__(
        self,
        cell: Cell,
        now: float,
        evaluator: Evaluator,
        blocks: Blocks,
        ids: Ids,
        view: View,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.cell = cell
        self.run = cell.run
        self.plan = cell.plan
        self.now = now
        self.evaluator = evaluator
        self.blocks = blocks
        self.ids = ids
        self.view = view
        self.redact = redact
        self.out = Changes()
        self.lenient = False
        """Budgets are not checked: a stopped step's result is stored whatever they say."""
        self.refuse_over_budget = False
        """The caller is to be refused when a budget would be passed (the exception for signals)."""
        self._new_scopes: set[str] = set()
        """Scopes that this turn has begun: nothing of them is stored yet."""
        self.agenda: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()

    # --- bookkeeping ---

    def later(self, act: Callable[..., None], *given: Any) -> None:
        """Do it once the present act is over: walks are loops, however long the lists."""
        self.agenda.append((act, given))

    def work(self) -> None:
        while self.agenda:
            act, given = self.agenda.popleft()
            act(self, *given)

    def note(
        self,
        kind: str,
        path: str | None = None,
        visit: int | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        self.out.notes.append(note(kind, path, visit, data))

    def post(self, message: Message) -> None:
        self.out.messages.append(message)

    def touch(self, frame: Frame) -> None:
        self.out.frames[frame.prefix] = frame

    def order(self) -> int:
        self.run.seq += 1
        return self.run.seq

    def timer(self, kind: str, path: str, visit: int, at: float) -> None:
        self.out.timers[(kind, path)] = (visit, at)

    def no_timer(self, kind: str, path: str) -> None:
        self.out.timers[(kind, path)] = None

    # --- finding ---

    def peek(self, run: str) -> Peek | None:
        """How another run stands; one that this turn dispatches has only just begun."""
        for new in self.out.new_runs:
            if new.run.id == run:
                return Peek(new.run.account, new.run.workflow, new.run.status)
        return self.view.peek(run)

    def at(self, path: str, visit: int) -> tuple[Frame, Node] | None:
        """The live node of a step path, if it still stands at this visit."""
        return node_at(self.cell, path, visit)

    def step(self, frame: Frame, name: str) -> Step:
        return self.plan.step(frame.prefix, name)

    def above(self, prefix: str) -> tuple[Frame, Node] | None:
        """The container node whose frame this prefix is, with the frame it stands in."""
        owner = self.cell.frames[prefix].owner
        if not owner:
            return None
        frame = self.cell.frames[parent_of(owner)]
        if frame.node is None:
            raise RuntimeError(f"the container of {prefix} is gone")
        return frame, frame.node

    def sections(self, prefix: str) -> list[tuple[Frame, Node, Held]]:
        """The held sections around a frame, innermost first."""
        found = []
        while prefix:
            up = self.above(prefix)
            if up is None:
                break
            frame, node = up
            if isinstance(node.body, Held):
                found.append((frame, node, node.body))
            prefix = frame.prefix
        return found

    def protecting(self, prefix: str) -> tuple[Frame, Node, Held] | None:
        """The protected section around a frame, if any."""
        for found in self.sections(prefix):
            if found[2].protected:
                return found
        return None

    # --- values ---

    def scope(self, frame: Frame | None) -> dict[str, Json]:
        """What expressions may read in a frame (section 3)."""
        cell, run = self.cell, self.run
        scope: dict[str, Json] = {}
        if frame is not None and not frame.handler:
            chain = [frame]
            while chain[-1].prefix:
                owner = chain[-1].owner
                chain.append(cell.frames[parent_of(owner)])
            for each in reversed(chain):
                values = cell.values.get(each.prefix)
                if values:
                    scope.update(values)
                if each.index is not None:
                    scope["index"] = each.index
                    name = self.plan.list_of(each.prefix).item
                    scope[name] = cell.values[each.owner][ITEMS][each.index]
                inner = each.node
                if inner is not None and each is not frame and isinstance(inner.body, Held):
                    scope["lease"] = {"key": inner.body.key, "fence": inner.body.fence}
            scope.pop("", None)
        scope["inputs"] = cell.inputs
        scope["state"] = cell.public()
        scope["run"] = run_root(run)
        return scope

    def store(self, scope: str, name: str, visit: int, value: Json) -> None:
        """Keep a value under a name of a frame; checks the limits of sizes and of the state's budget."""
        body = _encode(value)
        if len(body) > MAX_RESULT:
            raise StepFault("result-too-large", f"The result has {len(body)} bytes; at most 1 MiB is stored.")
        sizes = self.cell.sizes.setdefault(scope, {})
        stored = self.run.stored + len(body) - sizes.get(name, 0)
        if stored > MAX_STORED:
            raise StepFault("result-too-large", "The run would store more than 64 MiB.")
        values = self.cell.values.get(scope)
        if values is None:
            values = self.cell.values[scope] = {}
            self._new_scopes.add(scope)
        if not scope and name and name[0] != "_":
            self._count_state(name, value, body, values)
        self.run.stored = stored
        sizes[name] = len(body)
        values[name] = value
        self.out.vals[(scope, name)] = (visit, body)

    def _count_state(self, name: str, value: Json, body: bytes, values: dict[str, Json]) -> None:
        size = self.run.state_bytes + canonical_size(value, body)
        if name in values:
            size -= canonical_size(values[name])
        else:
            first = not any(key and key[0] != "_" for key in values)
            size += len(name) + 3 + (0 if first else 1)
        self.check_budget("max_state_bytes", size)
        self.run.state_bytes = size

    def forget(self, prefix: str) -> None:
        """Drop the inner values of a container that has completed."""
        cell = self.cell
        scopes = [scope for scope in cell.values if scope and inside(scope, prefix)]
        for scope in scopes:
            self.run.stored -= sum(cell.sizes.pop(scope, {}).values())
            del cell.values[scope]
            for key in [key for key in self.out.vals if key[0] == scope]:
                del self.out.vals[key]
        if any(scope not in self._new_scopes for scope in scopes):
            self.out.dropped.append(prefix)
        for frame in cell.frames.values():
            if frame.prefix and inside(frame.prefix, prefix) and frame.status != "closed":
                frame.status, frame.fault, frame.halt = "closed", None, False
                self.touch(frame)

    # --- budgets ---

    def limit(self, name: str) -> int | None:
        budget = self.plan.workflow.budget
        setting = getattr(budget, name) if budget is not None else None
        return setting.value if setting is not None else None

    def check_budget(self, name: str, value: int) -> None:
        limit = self.limit(name)
        if limit is not None and value > limit and not self.lenient:
            raise OverBudget("budget-exceeded", f'The budget "{name}" allows {limit}, and this would make it {value}.')

    # --- evaluation ---

    def fault_of(self, error: EvaluationError) -> NoReturn:
        raise StepFault(error.code, error.message) from error


def run_root(run: Run) -> dict[str, Json]:
    """The root ``run`` of expressions."""
    return {
        "id": run.id,
        "workflow": run.workflow,
        "version": run.version,
        "account": run.account,
        "started_at": rfc3339(run.started_at if run.started_at is not None else run.dispatched_at),
        "attempt": run.attempt,
    }
