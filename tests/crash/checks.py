"""What must be true of a store and of the world outside once the faults have stopped and all work is done."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from interlock.engine.kernel import SqliteKernel
from interlock.engine.shown import Event

TERMINAL = frozenset({"completed", "failed", "cancelled", "superseded"})
PROTECTED = re.compile(r"(pub|par/c/h|items/[23]/p)/act")
"""The paths of the pool's protected writes."""
DONE = frozenset({"done", "slow", "done, then 503", "done, then gone"})
"""Answers of the outside server after which the effect is there."""


STARTS = frozenset({"step.started", "handler.started", "compensation.started", "task.reassigned"})
"""What is logged before a block is begun, or begun once more."""


class After:
    """The end of one round: the store, what the callers noted, and what the outside server was sent."""

    def __init__(self, kernel: SqliteKernel, notes: list[dict[str, Any]], records: list[dict[str, Any]]) -> None:
        self.kernel = kernel
        self.notes = notes
        self.records = records
        self.asked = {note["ask"]: note for note in notes if "ask" in note}
        self.acknowledged = [(self.asked[note["ack"]], note) for note in notes if "ack" in note]
        self.pruned = any(asked["what"] == "prune" for asked in self.asked.values())
        self.status = {row.run: row.status for row in kernel.runs(limit=1_000_000)}
        self.events: dict[str, list[Event]] = defaultdict(list)
        for event in all_events(kernel):
            self.events[event.run].append(event)

    def faults(self) -> list[str]:
        """A sentence for each thing that does not hold."""
        return [
            *self._runs(),
            *self._answers(),
            *self._signals(),
            *self._effects(),
            *self._completed(),
            *self._fences(),
            *self._under_fence(),
            *self._left(),
            *self._replayed(),
        ]

    def _gone(self, run: str) -> bool:
        return self.pruned and run not in self.status

    def _runs(self) -> Iterator[str]:
        """Every acknowledged dispatch is a run that has ended; a key is one run."""
        keys: dict[str, set[str]] = defaultdict(set)
        for asked, ack in self.acknowledged:
            if asked["what"] != "dispatch":
                continue
            if ack["run"] not in self.status and not self.pruned:
                yield f"the acknowledged run {ack['run']} of {asked['workflow']} is lost"
            if asked["key"] is not None:
                keys[asked["key"]].add(ack["run"])
        for key, runs in keys.items():
            if len(runs) > 1:
                yield f"the key {key} stands for the runs {sorted(runs)}"
        for run, status in self.status.items():
            if status not in TERMINAL:
                yield f"{run} is {status} after all work was done"

    def _answers(self) -> Iterator[str]:
        """Every acknowledged stop, retry and review stands in the log of its run, as often as it was given."""
        kinds = {"cancel": "run.stop_requested", "retry": "run.retried"}
        given: Counter[tuple[str, str]] = Counter()
        reviews: Counter[tuple[str, str, str]] = Counter()
        for asked, _ in self.acknowledged:
            if asked["what"] in kinds:
                given[(asked["run"], kinds[asked["what"]])] += 1
            elif asked["what"] == "review":
                reviews[(asked["run"], asked["path"], asked["decision"])] += 1
        for (run, kind), times in given.items():
            there = sum(event.kind == kind for event in self.events[run])
            # A second stop of one run changes nothing, and is not logged again.
            if there < (1 if kind == "run.stop_requested" else times) and not self._gone(run):
                if kind != "run.stop_requested" or self.status.get(run) not in ("cancelled", "superseded"):
                    yield f"{run} has {there} of {times} acknowledged {kind}"
        for (run, path, decision), times in reviews.items():
            there = sum(
                event.kind == "review.settled" and event.path == path and event.data["decision"] == decision
                for event in self.events[run]
            )
            if there < times and not self._gone(run):
                yield f"{run} has {there} of {times} acknowledged answers {decision} for {path}"

    def _signals(self) -> Iterator[str]:
        """Every acknowledged signal was received once, and consumed at most once."""
        for asked, ack in self.acknowledged:
            if asked["what"] != "signal" or self._gone(asked["run"]):
                continue
            events = self.events[asked["run"]]
            received, consumed = (
                sum(event.kind == kind and event.data["id"] == ack["given"] for event in events)
                for kind in ("signal.received", "signal.consumed")
            )
            if received != 1 or consumed > 1:
                yield f"the signal {ack['given']} to {asked['run']} was received {received}, consumed {consumed} times"

    def _effects(self) -> Iterator[str]:
        """No request without a stored start; a protected effect once, unless a review said otherwise."""
        sent: Counter[str] = Counter(record["idempotency"] for record in self.records)
        done: Counter[str] = Counter(record["idempotency"] for record in self.records if record["answer"] in DONE)
        started: Counter[str] = Counter()
        allowed: Counter[tuple[str, str]] = Counter()
        for run, events in self.events.items():
            for event in events:
                if event.kind in STARTS:
                    started[f"{run}/{event.path}/{event.visit}"] += 1
                elif event.kind == "review.settled" and event.data["decision"] != "committed":
                    allowed[(run, str(event.path))] += 1
        for key, times in sent.items():
            run, _, rest = key.partition("/")
            place = rest.removesuffix("/compensate")
            path = place.rpartition("/")[0]
            if self._gone(run):
                continue
            if run not in self.status:
                yield f"the outside was sent {key} of an unknown run"
            elif times > started[f"{run}/{place}"]:
                yield f"{key} was sent {times} times and started {started[f'{run}/{place}']} times"
            if PROTECTED.fullmatch(path) and not rest.endswith("/compensate"):
                most = 1 + allowed[(run, path.rpartition("/")[0])]
                if done[key] > most:
                    yield f"the protected {key} was done {done[key]} times, and {most} were allowed"

    def _completed(self) -> Iterator[str]:
        """A block that completed has had its effect, under the key of that visit."""
        done = {record["idempotency"] for record in self.records if record["answer"] in DONE}
        names = {"made", "act", "a", "s", "t", "told"}
        workflows = {row.run: row.workflow for row in self.kernel.runs(limit=1_000_000)}
        for run, events in self.events.items():
            for event in events:
                path = str(event.path)
                name = path.rpartition("/")[2]
                if event.kind != "step.completed" or name not in names or workflows.get(run) in (None, "shelled"):
                    continue
                if path != "par/b/h/s" and f"{run}/{path}/{event.visit}" not in done:
                    yield f"{run} completed {path} without its effect"

    def _fences(self) -> Iterator[str]:
        """The fences of a key only grow, in the order of the log, and outside no two runs share one."""
        last: dict[str, int] = {}
        rows = [event for events in self.events.values() for event in events]
        for event in sorted(rows, key=lambda event: event.seq):
            if event.kind in ("lease.granted", "lease.refenced"):
                key, fence = event.data["key"], event.data["fence"]
                if fence <= last.get(key, 0):
                    yield f"the fence of {key} went from {last.get(key, 0)} to {fence}"
                last[key] = fence
        users: dict[tuple[str, int], set[str]] = defaultdict(set)
        for record in self.records:
            if record.get("key") is not None:
                users[(record["key"], record["fence"])].add(record["idempotency"].partition("/")[0])
        for (key, fence), runs in users.items():
            if len(runs) > 1:
                yield f"the runs {sorted(runs)} wrote with one fence {fence} of {key}"

    def _under_fence(self) -> Iterator[str]:
        """What completed was done under the fence that held then: who was believed dead cannot commit."""
        done: dict[str, set[int]] = defaultdict(set)
        keys: dict[str, str] = {}
        for record in self.records:
            if record.get("key") is not None and record["answer"] in DONE:
                done[record["idempotency"]].add(record["fence"])
                keys[record["idempotency"]] = record["key"]
        for run, events in self.events.items():
            fences: dict[str, int] = {}
            for event in events:
                if event.kind in ("lease.granted", "lease.refenced", "lease.reentered"):
                    fences[event.data["key"]] = event.data["fence"]
                place = f"{run}/{event.path}/{event.visit}"
                if event.kind != "step.completed" or place not in keys:
                    continue
                fence = fences.get(keys[place], 0)
                if fence not in done[place]:
                    yield f"{place} completed under the fence {fence} and was done under {sorted(done[place])}"

    def _left(self) -> Iterator[str]:
        """No task, timer, lease, ticket, message or slot outlives the runs."""
        stats = self.kernel.stats()
        for name in ("tasks", "timers", "leases", "tickets", "inbox"):
            if getattr(stats, name):
                yield f"{getattr(stats, name)} {name} are left"
        for queue in self.kernel.queue("default", None):
            if queue.active or queue.waiting:
                yield f"the queue of {queue.workflow} has {queue.active} active and {queue.waiting} waiting"

    def _replayed(self) -> Iterator[str]:
        """Every run is decided the same again from its journal."""
        for run in self.status:
            again = self.kernel.replay(run)
            if again.same is False:
                yield f"{run} is decided otherwise: {again.difference} {again.reason}"


def all_events(kernel: SqliteKernel) -> Iterator[Event]:
    after = 0
    while page := kernel.events(after=after, limit=1000):
        after = page[-1].seq
        yield from page


def damage(path: str) -> list[str]:
    """What SQLite's own check says of the file."""
    with closing(sqlite3.connect(path)) as db:
        found = [row[0] for row in db.execute("PRAGMA integrity_check")]
    return [] if found == ["ok"] else [f"the file is damaged: {line}" for line in found]
