"""What must be true after every transaction, whatever has happened: checked on the store itself.

After each commit everything is checked that it has touched, as the tape tells it: the decisions of keys and
queues against the reference model, and the rows of what was decided.  Every so often the whole store is
checked, and what is stored against what is in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.engine.cells.turn import Cell
from interlock.engine.simulate.reference import At, Reference, answer
from interlock.engine.simulate.rows import Broken, RowChecks
from interlock.engine.simulate.tape import Decision, Tape

if TYPE_CHECKING:
    from interlock.engine.kernel import SqliteKernel
    from interlock.engine.simulate.world import SimulatedStore

WHOLE_EVERY = 40
"""Commits after which the whole store is checked once more."""


class Watch(RowChecks):
    """Checks a kernel's store after each commit, by the tape of what was decided in it."""

    def __init__(self, kernel: SqliteKernel, tape: Tape, every: int = WHOLE_EVERY) -> None:
        super().__init__(kernel)
        self.tape = tape
        self.every = every
        self.reference = Reference()
        self.checks = 0
        self._unsettled: dict[str, None] = {}
        """Runs that were touched since the inbox was empty last."""

    @property
    def store(self) -> SimulatedStore:
        store: SimulatedStore = self.kernel.store  # type: ignore[assignment]
        return store

    def motion(self, run: str) -> dict[str, int]:
        return self.store.motion(run)

    def held_keys(self, run: str) -> set[str]:
        return self.store.held_keys(run)

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
                    self.key(who)
                elif kind == "queue":
                    self.queue(who)
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
                self.run(self._cell(run), settled)
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
            self.key(key)
            self._as_the_model("key", key)
            if settled:
                self.living(key)
        for queue in self.store.known_queues():
            self.queue(queue)
            self._as_the_model("queue", queue)
            if settled:
                for (run,) in self.store.all("slots", *queue):
                    if not self.lives(run):
                        raise Broken(f"{run} ended and has a slot")
        for run in self.store.known_runs():
            stored = self.kernel.rows.load(run, self.kernel.plan_of)
            assert stored is not None
            self.run(stored, settled)
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
