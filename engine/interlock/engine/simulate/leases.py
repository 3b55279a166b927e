"""Keys and admission queues by themselves: the two cells alone, decision after decision, against the model.

No runs, no kernel, no store: the cells' own ports (`Tickets`, `Line`) over dictionaries.  Runs are only
names that ask, release, withdraw, come and go in any order that the engine could send them.  A hundred times
as many decisions fit into the same time as in a whole simulation.
"""

from __future__ import annotations

import random
from typing import Any

from interlock.engine.cells import admission, keys
from interlock.engine.cells.messages import (
    Acquire,
    Join,
    Leave,
    MarkReview,
    Refence,
    Release,
    ToKey,
    ToQueue,
    Withdraw,
)
from interlock.engine.simulate.reference import Reference, answer
from interlock.engine.simulate.rows import Broken

ACCOUNT = "default"
RUNS = tuple(f"r{number}" for number in range(9))


class Tickets:
    """`keys.Tickets` over a dictionary; numbers grow, so its order is theirs."""

    def __init__(self) -> None:
        self.rows: dict[int, keys.Ticket] = {}

    def first(self, after: int) -> keys.Ticket | None:
        return next((ticket for number, ticket in self.rows.items() if number > after), None)

    def of(self, run: str) -> list[keys.Ticket]:
        return [ticket for ticket in self.rows.values() if ticket.run == run]

    def apply(self, out: keys.KeyChanges) -> None:
        for ticket in out.queued:
            self.rows[ticket.number] = ticket
        for number in out.unqueued:
            self.rows.pop(number, None)


class Line:
    """`admission.Line` over dictionaries."""

    def __init__(self) -> None:
        self.slots: dict[str, str | None] = {}
        self.places: dict[int, admission.Waiting] = {}

    def active(self) -> int:
        return len(self.slots)

    def active_with(self, key: str) -> list[str]:
        return [run for run, each in self.slots.items() if each == key]

    def first(self, after: int) -> admission.Waiting | None:
        position = min((each for each in self.places if each > after), default=None)
        return self.places[position] if position is not None else None

    def waiting_with(self, key: str) -> admission.Waiting | None:
        return next((each for each in self.places.values() if each.key == key), None)

    def place(self, run: str) -> admission.Waiting | None:
        return next((each for each in self.places.values() if each.run == run), None)

    def holds(self, run: str) -> bool:
        return run in self.slots

    def apply(self, out: admission.QueueChanges) -> None:
        for position in out.left:
            self.places.pop(position, None)
        for run in out.freed:
            self.slots.pop(run, None)
        for entry in out.joined:
            self.places[entry.position] = entry
        for entry in out.admitted:
            self.places.pop(entry.position, None)
            self.slots[entry.run] = entry.key


class Leases:
    """One seed: a few keys and queues, and what names do to them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.reference = Reference()
        self.keys = {name: (keys.Key(ACCOUNT, name), Tickets()) for name in ("k", "l", "m")}
        self.limits = {name: self.random.choice([1, 1, 1, 2, 3]) for name in self.keys}
        self.policies = {"wait": "wait", "latest": "latest_waiting", "newest": "supersede"}
        self.queues = {name: (admission.Queue(ACCOUNT, name), Line()) for name in self.policies}
        self.slot_limits = {name: self.random.randint(1, 3) if name == "wait" else 1 for name in self.policies}
        self.made = 0
        self.decided = 0
        self.trail: list[Any] = []

    def run(self, decisions: int) -> None:
        """Raises `Broken` with the messages that led there."""
        pick = self.random.random
        try:
            for _ in range(decisions):
                if pick() < 0.75:
                    self._key(self.random.choice(list(self.keys)))
                else:
                    self._queue(self.random.choice(list(self.queues)))
        except Broken as broken:
            last = "\n".join(repr(each) for each in self.trail[-15:])
            raise Broken(f"seed {self.seed}: {broken}\n{last}") from broken

    # --- keys ---

    def _key(self, name: str) -> None:
        key, tickets = self.keys[name]
        message = self._ask(name, key, tickets)
        self.trail.append(message)
        out = keys.decide(key, message, float(self.decided), tickets)
        tickets.apply(out)
        self._same((ACCOUNT, name), message, out.messages)
        model = self.reference.key((ACCOUNT, name))
        held = {run: holder.fence for run, holder in key.holders.items()}
        places = {(run, path): life for run, holder in key.holders.items() for path, life in holder.holds.items()}
        waiting = [(ticket.number, ticket.run, ticket.path) for ticket in tickets.rows.values()]
        right = [(each.number, each.run, each.place) for each in model.waiting()]
        if held != model.holding():
            raise Broken(f"{name} is held by {held}, and should be by {model.holding()}")
        if places != model.places():
            raise Broken(f"{name} is held at {places}, and should be at {model.places()}")
        if waiting != right:
            raise Broken(f"{waiting} wait for {name}, and it should be {right}")
        if key.limit != model.limit:
            raise Broken(f"{name} has the limit {key.limit}, and should have {model.limit}")
        if key.limit is not None and len(held) > key.limit:
            raise Broken(f"{name} has more holders than its limit")

    def _ask(self, name: str, key: keys.Key, tickets: Tickets) -> ToKey:
        roll = self.random.random()
        if roll < 0.45 or not (key.holders or tickets.rows):
            return self._acquire(name, key)
        if roll < 0.55 and tickets.rows:
            ticket = self.random.choice(list(tickets.rows.values()))
            return Withdraw(ACCOUNT, name, ticket.run, ticket.path)
        holders = list(key.holders) or list(RUNS)
        run = self.random.choice(holders) if roll < 0.95 else self.random.choice(RUNS)
        if roll < 0.75:
            holder = key.holders.get(run)
            path = self.random.choice(list(holder.holds)) if holder is not None else "p0"
            return Release(ACCOUNT, name, run, path)
        if roll < 0.85:
            return Release(ACCOUNT, name, run, None)
        if roll < 0.92:
            return Refence(ACCOUNT, name, run)
        return MarkReview(ACCOUNT, name, run, self.random.random() < 0.6)

    def _acquire(self, name: str, key: keys.Key) -> Acquire:
        self.made += 1
        limit = self.limits[name] if self.random.random() < 0.95 else self.random.randint(1, 3)
        run, path = self.random.choice(RUNS), f"p{self.made}"
        holder = key.holders.get(run)
        if holder is not None and self.random.random() < 0.3:
            path = self.random.choice(list(holder.holds))  # a claim that is visited again
        life = self.random.choice(["step", "step", "run"])
        busy = self.random.choice(["wait", "wait", "wait", "skip", "fail"])
        return Acquire(ACCOUNT, name, run, path, 1, limit, life, busy)

    # --- queues ---

    def _queue(self, name: str) -> None:
        queue, line = self.queues[name]
        message = self._come_or_go(name, line)
        self.trail.append(message)
        out = admission.decide(queue, message, line)
        line.apply(out)
        self._same((ACCOUNT, name), message, out.messages)
        model = self.reference.queue((ACCOUNT, name))
        waiting = [each.run for _, each in sorted(line.places.items())]
        if set(line.slots) != model.active():
            raise Broken(f"{set(line.slots)} are active in {name}, not {model.active()}")
        if waiting != model.waiting():
            raise Broken(f"{waiting} wait in {name}, and it should be {model.waiting()}")

    def _come_or_go(self, name: str, line: Line) -> ToQueue:
        there = [*line.slots, *(each.run for each in line.places.values())]
        if there and (len(there) > 6 or self.random.random() < 0.45):
            return Leave(ACCOUNT, name, self.random.choice(there))
        self.made += 1
        policy = self.policies[name]
        key = None if policy == "wait" else f"s{self.random.randrange(3)}"
        limit = self.slot_limits[name]
        if policy == "wait" and self.random.random() < 0.2:
            limit = self.random.randint(1, 3)  # a run of an older definition
        return Join(ACCOUNT, name, f"q{self.made}", limit, policy, key)

    def _same(self, at: tuple[str, str], message: ToKey | ToQueue, messages: list[Any]) -> None:
        self.decided += 1
        said, right = [answer(each) for each in messages], self.reference.take(at, message)
        if said != right:
            raise Broken(f"{message} was answered {said}, and should have been {right}")


__all__ = ["Leases", "Line", "Tickets"]
