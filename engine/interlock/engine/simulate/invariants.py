"""What must be true after every transaction, whatever has happened: checked on the store itself.

After each commit everything is checked that it has touched, as the tape tells it: the decisions of keys and
queues against the reference model, and the rows of what was decided.  Every so often the whole store is
checked, and what is stored against what is in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.engine.cells.sizes import canonical_size
from interlock.engine.cells.state import TERMINAL, Held
from interlock.engine.cells.turn import Cell
from interlock.engine.simulate.reference import At, Reference, answer
from interlock.engine.simulate.tape import Decision, Tape

if TYPE_CHECKING:
    from interlock.engine.kernel import SqliteKernel
    from interlock.engine.simulate.world import SimulatedStore

WHOLE_EVERY = 40
"""Commits after which the whole store is checked once more."""


class Broken(AssertionError):
    """An invariant does not hold."""


class Watch:
    """Checks a kernel's store; remembers fences, so that one that repeats or goes back is seen."""

    def __init__(self, kernel: SqliteKernel, tape: Tape, every: int = WHOLE_EVERY) -> None:
        self.kernel = kernel
        self.tape = tape
        self.every = every
        self.reference = Reference()
        self.fences: dict[At, int] = {}
        self.tickets: dict[At, dict[int, str]] = {}
        self.checks = 0
        self._unsettled: dict[str, None] = {}
        """Runs that were touched since the inbox was empty last."""

    @property
    def store(self) -> SimulatedStore:
        store: SimulatedStore = self.kernel.store  # type: ignore[assignment]
        return store

    # --- after a commit ---

    def check(self) -> None:
        """What the last transaction has touched, and the whole now and then."""
        self.checks += 1
        decisions = self.tape.decisions
        with self.store.reading():
            wrong = self._replay(decisions)
            touched = list(dict.fromkeys((each.cell, each.who) for each in decisions))
            for kind, who in touched:
                if kind == "key":
                    self._key(who)
                elif kind == "queue":
                    self._queue(who)
                else:
                    self._unsettled[who] = None
            if wrong is not None:
                raise Broken(wrong)
            for kind, who in touched:
                self._as_the_model(kind, who)
            settled = self.store.one("inbox", 1) is None
            if settled:
                runs, self._unsettled = list(self._unsettled), {}
            else:
                runs = list(dict.fromkeys(each.who for each in decisions if each.cell == "run"))
            for run in runs:
                self._run(self._cell(run), settled)
            if self.checks % self.every == 0:
                self._whole(settled)

    def check_whole(self) -> None:
        """Everything, now."""
        with self.store.reading():
            self._whole(self.store.one("inbox", 1) is None)

    def _replay(self, decisions: list[Decision]) -> str | None:
        """What the keys and queues answered must be what the language says; else the first that is not."""
        wrong: str | None = None
        for each in decisions:
            if each.cell not in ("key", "queue"):
                continue
            said = [answer(message) for message in each.answers]
            right = self.reference.take(each.who, each.message)
            if said != right and wrong is None:
                wrong = f"{each.who}: {each.message} was answered {said}, and should have been {right}"
        return wrong

    def _whole(self, settled: bool) -> None:
        for key in self.store.known_keys():
            self._key(key)
            self._as_the_model("key", key)
            if settled:
                self._living(key)
        for queue in self.store.known_queues():
            self._queue(queue)
            self._as_the_model("queue", queue)
            if settled:
                for (run,) in self.store.all("slots", *queue):
                    if not self._lives(run):
                        raise Broken(f"{run} ended and has a slot")
        for run in self.store.known_runs():
            stored = self.kernel.rows.load(run, self.kernel.plan_of)
            assert stored is not None
            self._run(stored, settled)
            done = self.store.count_events(run, "step.completed")
            if stored.run.transitions != done:
                raise Broken(f"{run} counts {stored.run.transitions} of {done} transitions")
            self._same(stored)

    def _same(self, stored: Cell) -> None:
        """What a kernel remembers of a run is what is stored, unless another one has changed it since."""
        cell = self.kernel.cells.get(stored.run.id)
        if cell is None or cell.version != stored.version:
            return
        for part in ("run", "inputs", "values", "comps", "signals", "known"):
            mine, its = getattr(cell, part), getattr(stored, part)
            if part == "values":
                mine = {scope: names for scope, names in mine.items() if names}
            if mine != its:
                raise Broken(f"{stored.run.id}: {part} in memory is {mine}, and stored is {its}")
        if cell.frames != stored.frames:
            raise Broken(f"{stored.run.id}: frames in memory are not those that are stored")

    # --- keys ---

    def _key(self, at: At) -> None:
        key = at[1]
        row = self.store.one("key", *at)
        if row is None:
            return
        limit, _, next_fence = row
        holders = self.store.all("holders", *at)
        tickets = self.store.all("tickets", *at)
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
        holds = {(run, path): lifetime for run, path, lifetime in self.store.all("holds", *at)}
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

    def _living(self, at: At) -> None:
        runs = {each[1] for each in self.store.all("tickets", *at)} | {
            each[0] for each in self.store.all("holders", *at)
        }
        for run in runs:
            if not self._lives(run):
                raise Broken(f"{run} ended and has to do with {at[1]}")

    def _lives(self, run: str) -> bool:
        peek = self.kernel.rows.peek(run)
        return peek is not None and peek.status not in TERMINAL

    # --- queues ---

    def _queue(self, at: At) -> None:
        active = [run for (run,) in self.store.all("slots", *at)]
        head = self.store.one("first_waiting", *at, 0)
        if head is not None:
            if len(active) < head[2]:
                raise Broken(f"{at[1]} has a slot for {head[1]}, which waits")

    # --- against the model ---

    def _as_the_model(self, kind: str, at: At) -> None:
        if kind == "key":
            self._key_as_the_model(at)
        elif kind == "queue":
            self._queue_as_the_model(at)

    def _key_as_the_model(self, at: At) -> None:
        row = self.store.one("key", *at)
        key, limit = at[1], row[0] if row is not None else None
        holders, tickets = self.store.all("holders", *at), self.store.all("tickets", *at)
        holds = {(run, path): lifetime for run, path, lifetime in self.store.all("holds", *at)}
        model = self.reference.key(at)
        if model.limit != limit:
            raise Broken(f"{key} has the limit {limit}, and should have {model.limit}")
        held = {each[0]: each[1] for each in holders}
        if model.holding() != held:
            raise Broken(f"{key} is held by {held}, and should be by {model.holding()}")
        if model.places() != holds:
            raise Broken(f"{key} is held at {holds}, and should be at {model.places()}")
        queue = [(each[0], each[1], each[2]) for each in tickets]
        right = [(each.number, each.run, each.place) for each in model.waiting()]
        if queue != right:
            raise Broken(f"{queue} wait for {key}, and it should be {right}")
        reviews = {each[0] for each in holders if each[3]}
        if reviews != model.in_review:
            raise Broken(f"{key} is in review by {reviews}, and should be by {model.in_review}")

    def _queue_as_the_model(self, at: At) -> None:
        active = [run for (run,) in self.store.all("slots", *at)]
        model = self.reference.queue(at)
        if set(active) != model.active():
            raise Broken(f"{active} are active in {at[1]}, and it should be {model.active()}")
        waiting = [run for (run,) in self.store.all("waiting", *at)]
        if waiting != model.waiting():
            raise Broken(f"{waiting} wait in {at[1]}, and it should be {model.waiting()}")

    # --- runs ---

    def _cell(self, run: str) -> Cell:
        """As the process remembers it, or read anew where another one has changed it."""
        cell = self.kernel.cells.get(run)
        if cell is None or self.kernel.rows.version(run) != cell.version:
            cell = self.kernel.rows.load(run, self.kernel.plan_of)
        assert cell is not None
        return cell

    def _run(self, cell: Cell, settled: bool) -> None:
        run = cell.run.id
        self._budget(cell)
        mine = self.store.motion(run)
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
        stored = self.store.held_keys(cell.run.id)
        if stored != set(cell.run.holds):
            raise Broken(f"{cell.run.id} and its keys do not agree on what it holds")
        for key, hold in cell.run.holds.items():
            rows = self.store.all("holders", cell.run.account, key)
            fence = next(each[1] for each in rows if each[0] == cell.run.id)
            if fence != hold.fence:
                raise Broken(f"{cell.run.id} has an old fence of {key}")
        for frame in cell.frames.values():
            node = frame.node
            if node is None or not isinstance(node.body, Held) or node.status == "key":
                continue
            if node.body.key not in cell.run.holds:
                raise Broken(f"{cell.run.id} is in a section without its lease")

    def _budget(self, cell: Cell) -> None:
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
