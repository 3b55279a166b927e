"""What another process can see of the invariants: the rows of a store at one instant, while others write to it.

The simulation's own watch (``interlock.engine.simulate``) sits inside the process that decides and hears every
decision; this one only reads, and remembers what it saw at the last look.
"""

from __future__ import annotations

from interlock.engine.cells.sizes import canonical_size
from interlock.engine.cells.state import TERMINAL, Held
from interlock.engine.cells.turn import Cell
from interlock.engine.kernel import SqliteKernel
from interlock.engine.store.sqlite import Row


class Broken(AssertionError):
    """An invariant does not hold."""


class Watch:
    """Looks at a kernel's store; remembers fences and tickets, so that one that goes back or is passed is seen."""

    def __init__(self, kernel: SqliteKernel) -> None:
        self.kernel = kernel
        self.fences: dict[tuple[str, str], int] = {}
        self.seen: dict[str, int] = {}
        self.tickets: dict[tuple[str, str], dict[int, str]] = {}
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        kernel = self.kernel
        with kernel.store.reading():
            settled = kernel.store.one("inbox", 1) is None
            self._keys(settled)
            self._queues(settled)
            for (run,) in _rows(kernel, "SELECT id FROM runs ORDER BY num"):
                self._run(run, settled)

    def _keys(self, settled: bool) -> None:
        kernel = self.kernel
        for account, key, limit, _, next_fence in _rows(kernel, "SELECT * FROM keys"):
            at = (account, key)
            holders = kernel.store.all("holders", account, key)
            tickets = kernel.store.all("tickets", account, key)
            _must(next_fence >= self.fences.get(at, 0), f"the fence of {key} went back")
            self.fences[at] = next_fence
            fences = [each[1] for each in holders]
            _must(len(set(fences)) == len(fences), f"two holders of {key} share a fence")
            _must(all(fence < next_fence for fence in fences), f"{key} has a fence of the future")
            if limit is None:
                _must(not holders and not tickets, f"{key} is held or waited for without a limit")
                continue
            _must(len(holders) <= limit, f"{key} has {len(holders)} holders and a limit of {limit}")
            self._in_order(at, {each[0]: each[1] for each in tickets}, {each[0] for each in holders})
            waiting = {each[1] for each in tickets}
            _must(not waiting & {each[0] for each in holders}, f"a holder of {key} waits for it")
            if tickets:
                _must(len(holders) == limit, f"{key} has room, and a waiter")
            if settled:
                for run in waiting | {each[0] for each in holders}:
                    peek = kernel.rows.peek(run)
                    _must(peek is not None and peek.status not in TERMINAL, f"{run} ended and has to do with {key}")
        held = {(each[0], each[1], each[2]) for each in _rows(kernel, "SELECT * FROM holders")}
        places = {(each[0], each[1], each[2]) for each in _rows(kernel, "SELECT * FROM holds")}
        _must(held == places, "holders and holds do not agree")

    def _in_order(self, at: tuple[str, str], now: dict[int, str], holders: set[str]) -> None:
        """Who was served since the last look had no earlier ticket of another run before it."""
        before = self.tickets.get(at, {})
        for number, run in before.items():
            if number in now or run not in holders:
                continue
            passed = [other for early, other in before.items() if early < number and early in now]
            _must(set(passed) <= {run}, f"{run} was served at {at[1]} before {passed}")
        self.tickets[at] = now

    def _queues(self, settled: bool) -> None:
        kernel = self.kernel
        for account, workflow, _ in _rows(kernel, "SELECT * FROM queues"):
            active = [each for (each,) in kernel.store.all("slots", account, workflow)]
            head = kernel.store.one("first_waiting", account, workflow, 0)
            if head is not None:
                _must(len(active) >= head[2], f"{workflow} has a slot for {head[1]}, which waits")
            if settled:
                for run in active:
                    peek = kernel.rows.peek(run)
                    _must(peek is not None and peek.status not in TERMINAL, f"{run} ended and has a slot")

    def _run(self, run: str, settled: bool) -> None:
        kernel = self.kernel
        version = kernel.rows.version(run)
        if version is not None and self.seen.get(run) == version:
            return
        if settled:
            self.seen[run] = version or 0
        cell = kernel.rows.load(run, kernel.plan_of)
        assert cell is not None
        self._budget(cell)
        mine = {
            table: _rows(kernel, f"SELECT count(*) FROM {table} WHERE run = ?", run)[0][0]
            for table in ("tasks", "timers", "waits", "deps", "tickets", "holders", "waiting")
        }
        if cell.run.status in TERMINAL:
            for table in ("tasks", "timers", "waits", "deps"):
                _must(mine[table] == 0, f"{run} has ended and has rows in {table}")
            reserved = (cell.run.reserved_transitions, cell.run.reserved_cost)
            _must(reserved == (0, 0), f"{run} has ended with a reservation")
            if settled:
                _must(mine["tickets"] + mine["holders"] == 0, f"{run} has ended and holds or waits")
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
        _must(people or waits, f"{cell.run.id} is {cell.run.status} and nothing will move it")
        if cell.run.phase == "active":
            for frame in cell.frames.values():
                if frame.status == "open" and frame.node is None:
                    raise Broken(f"{cell.run.id} stands nowhere in {frame.prefix!r}")

    def _leases(self, cell: Cell) -> None:
        store = self.kernel.store
        stored = {key for _, key in store.query("SELECT account, key FROM holders WHERE run = ?", cell.run.id)}
        _must(stored == set(cell.run.holds), f"{cell.run.id} and its keys do not agree on what it holds")
        for key, hold in cell.run.holds.items():
            rows = store.all("holders", cell.run.account, key)
            fence = next(each[1] for each in rows if each[0] == cell.run.id)
            _must(fence == hold.fence, f"{cell.run.id} has an old fence of {key}")
        for frame in cell.frames.values():
            node = frame.node
            if node is None or not isinstance(node.body, Held) or node.status == "key":
                continue
            _must(node.body.key in cell.run.holds, f"{cell.run.id} is in a section without its lease")

    def _budget(self, cell: Cell) -> None:
        run = cell.run
        done = _rows(self.kernel, "SELECT count(*) FROM events WHERE run = ? AND kind = 'step.completed'", run.id)
        _must(run.transitions == done[0][0], f"{run.id} counts {run.transitions} of {done[0][0]} transitions")
        _must(run.reserved_transitions >= 0 and run.reserved_cost >= 0, f"{run.id} has a negative reservation")
        public = cell.public()
        _must(
            run.state_bytes == canonical_size(public),
            f"{run.id} counts {run.state_bytes} of {canonical_size(public)} bytes of state",
        )
        stored = sum(sum(sizes.values()) for sizes in cell.sizes.values())
        _must(run.stored == stored, f"{run.id} counts {run.stored} of {stored} stored bytes")
        budget = cell.plan.workflow.budget
        if budget is not None and run.stop is None:
            limit = budget.max_transitions
            _must(limit is None or run.transitions <= limit.value, f"{run.id} is over its transitions")


def _must(holds: bool, message: str) -> None:
    if not holds:
        raise Broken(message)


def _rows(kernel: SqliteKernel, sql: str, *given: object) -> list[Row]:
    return kernel.store.query(sql, *given)
