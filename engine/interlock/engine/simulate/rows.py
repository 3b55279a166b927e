"""What the rows of a store must say at any instant, whoever looks at them and whatever happened before.

The simulation's watch looks after each commit at what that has touched; the crash tests look from outside, while
others write.  What is stored against what is remembered, and against the model, is ``invariants``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.engine.cells.sizes import canonical_size
from interlock.engine.cells.state import TERMINAL, Held
from interlock.engine.cells.turn import Cell
from interlock.engine.simulate.reference import At
from interlock.engine.simulate.stored import held_keys, motion

if TYPE_CHECKING:
    from interlock.engine.kernel import SqliteKernel


class Broken(AssertionError):
    """An invariant does not hold."""


class RowChecks:
    """Looks at keys, queues and runs; remembers fences and tickets, so that one that goes back or is passed is seen.

    ``settled`` says that no message between cells is under way: only then do the rows of several agree.
    """

    def __init__(self, kernel: SqliteKernel) -> None:
        self.kernel = kernel
        self.fences: dict[At, int] = {}
        self.tickets: dict[At, dict[int, str]] = {}

    def motion(self, run: str) -> dict[str, int]:
        """How many rows of each kind something of the run is in motion by."""
        return motion(self.kernel.store, run)

    def held_keys(self, run: str) -> set[str]:
        """The keys that the run holds, as they say."""
        return held_keys(self.kernel.store, run)

    # --- keys ---

    def key(self, at: At) -> None:
        """A key: its holders, tickets and holds, and its fences since the last look."""
        key = at[1]
        row = self.kernel.store.one("key", *at)
        if row is None:
            return
        limit, _, next_fence = row
        holders = self.kernel.store.all("holders", *at)
        tickets = self.kernel.store.all("tickets", *at)
        if next_fence < self.fences.get(at, 0):
            raise Broken(f"the fence of {key} went back")
        self.fences[at] = next_fence
        fences = [each[1] for each in holders]
        if len(set(fences)) != len(fences):
            raise Broken(f"two holders of {key} share a fence")
        if any(fence >= next_fence for fence in fences):
            raise Broken(f"{key} has a fence of the future")
        if limit is None:
            if holders or tickets:
                raise Broken(f"{key} is held or waited for without a limit")
        else:
            if len(holders) > limit:
                raise Broken(f"{key} has {len(holders)} holders and a limit of {limit}")
            self._in_order(at, {each[0]: each[1] for each in tickets}, {each[0] for each in holders})
            waiting = {each[1] for each in tickets}
            if waiting & {each[0] for each in holders}:
                raise Broken(f"a holder of {key} waits for it")
            if tickets:
                if len(holders) != limit:
                    raise Broken(f"{key} has room, and a waiter")
        holds = {(run, path): lifetime for run, path, lifetime in self.kernel.store.all("holds", *at)}
        if {run for run, _ in holds} != {each[0] for each in holders}:
            raise Broken("holders and holds do not agree")

    def _in_order(self, at: At, now: dict[int, str], holders: set[str]) -> None:
        """Who was served since the last look had no earlier ticket of another run before it."""
        before = self.tickets.get(at, {})
        for number, run in before.items():
            if number in now or run not in holders:
                continue
            passed = [other for early, other in before.items() if early < number and early in now]
            if not set(passed) <= {run}:
                raise Broken(f"{run} was served at {at[1]} before {passed}")
        self.tickets[at] = now

    def living(self, at: At) -> None:
        """Whoever holds a key or waits for it has not ended; where nothing is under way."""
        runs = {each[1] for each in self.kernel.store.all("tickets", *at)} | {
            each[0] for each in self.kernel.store.all("holders", *at)
        }
        for run in runs:
            if not self.lives(run):
                raise Broken(f"{run} ended and has to do with {at[1]}")

    def lives(self, run: str) -> bool:
        """Whether a run is there and has not ended."""
        peek = self.kernel.rows.peek(run)
        return peek is not None and peek.status not in TERMINAL

    # --- queues ---

    def queue(self, at: At) -> None:
        """A queue: nobody waits at its head while there is room."""
        active = [run for (run,) in self.kernel.store.all("slots", *at)]
        head = self.kernel.store.one("first_waiting", *at, 0)
        if head is not None:
            if len(active) < head[2]:
                raise Broken(f"{at[1]} has a slot for {head[1]}, which waits")

    # --- runs ---

    def run(self, cell: Cell, settled: bool) -> None:
        """A run: its counts; what it must not have left when it ended; what moves it, and what it holds, till then."""
        run = cell.run.id
        self.budget(cell)
        mine = self.motion(run)
        if cell.run.status in TERMINAL:
            for table in ("tasks", "timers", "waits", "deps"):
                if mine[table]:
                    raise Broken(f"{run} has ended and has rows in {table}")
            reserved = (cell.run.reserved_transitions, cell.run.reserved_cost)
            if reserved != (0, 0):
                raise Broken(f"{run} has ended with a reservation")
            if settled:
                if mine["tickets"] + mine["holders"]:
                    raise Broken(f"{run} has ended and holds or waits")
            return
        if settled:
            self._moving(cell, mine)
            self._leases(cell)

    def _moving(self, cell: Cell, mine: dict[str, int]) -> None:
        """A run that has not ended waits for something that can come."""
        people = any(
            frame.node is not None and frame.node.status in ("signal", "review") for frame in cell.frames.values()
        )
        waits = any(mine[table] for table in ("tasks", "timers", "waits", "tickets", "waiting"))
        if not (people or waits):
            raise Broken(f"{cell.run.id} is {cell.run.status} and nothing will move it")
        if cell.run.phase == "active":
            for frame in cell.frames.values():
                if frame.status == "open" and frame.node is None:
                    raise Broken(f"{cell.run.id} stands nowhere in {frame.prefix!r}")

    def _leases(self, cell: Cell) -> None:
        stored = self.held_keys(cell.run.id)
        if stored != set(cell.run.holds):
            raise Broken(f"{cell.run.id} and its keys do not agree on what it holds")
        for key, hold in cell.run.holds.items():
            rows = self.kernel.store.all("holders", cell.run.account, key)
            fence = next(each[1] for each in rows if each[0] == cell.run.id)
            if fence != hold.fence:
                raise Broken(f"{cell.run.id} has an old fence of {key}")
        for frame in cell.frames.values():
            node = frame.node
            if node is None or not isinstance(node.body, Held) or node.status == "key":
                continue
            if node.body.key not in cell.run.holds:
                raise Broken(f"{cell.run.id} is in a section without its lease")

    def budget(self, cell: Cell) -> None:
        """What a run counts is what it has, and within its limits."""
        run = cell.run
        if run.reserved_transitions < 0 or run.reserved_cost < 0:
            raise Broken(f"{run.id} has a negative reservation")
        size = canonical_size(cell.public())
        if run.state_bytes != size:
            raise Broken(f"{run.id} counts {run.state_bytes} of {size} bytes of state")
        stored = sum(sum(sizes.values()) for sizes in cell.sizes.values())
        if run.stored != stored:
            raise Broken(f"{run.id} counts {run.stored} of {stored} stored bytes")
        budget = cell.plan.workflow.budget
        if budget is not None and run.stop is None:
            limit = budget.max_transitions
            if limit is not None and run.transitions > limit.value:
                raise Broken(f"{run.id} is over its transitions")
