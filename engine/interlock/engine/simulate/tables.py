"""The rows of a simulated store, and every named statement of the SQL files over them.

Statements answer as those of SQLite do, ties in the order of its indexes included.  Transactions are the
matter of ``memory``: here every change only notes how it is undone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlock.engine.store.sqlite import Row

_ABSENT: Any = object()
_decode = msgspec.json.Decoder().decode


class Tables:
    """The rows, and what undoes the changes of the open transaction."""

    def __init__(self) -> None:
        self.undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self.meta: dict[str, Any] = {"row": (0.0, 1)}
        self.plain: dict[str, dict[Any, Any]] = {name: {} for name in _PLAIN}
        self.by_owner: dict[str, dict[Any, dict[Any, Any]]] = {name: {} for name in _BY_OWNER}

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        self.undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def drop(self, table: dict[Any, Any], key: Any) -> None:
        old = table.pop(key, _ABSENT)
        if old is not _ABSENT:
            self.undo.append((table, key, old))

    def back(self, mark: int) -> None:
        """Take back every change after the mark, the last one first."""
        while len(self.undo) > mark:
            table, key, old = self.undo.pop()
            if old is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = old

    def of(self, table: str, owner: Any) -> dict[Any, Any]:
        """The rows of one owner (a run, a key, a queue)."""
        rows = self.by_owner[table].get(owner)
        if rows is None:
            rows = self.by_owner[table][owner] = {}
        return rows

    def next(self, name: str) -> int:
        """Numbers of rows; one that was rolled back is given again, as SQLite does it."""
        rows: dict[str, int] = self.plain["numbers"]
        number = rows.get(name, 0) + 1
        self.put(rows, name, number)
        return number


_PLAIN = ("numbers", "definitions", "closures", "dispatch_keys", "runs", "tasks", "workers", "timers", "keys")
_PLAIN += ("queues", "inbox", "events", "cores")
_BY_OWNER = ("frames", "vals", "comps", "signals", "journal", "waits", "deps", "dependents", "holders", "holds")
_BY_OWNER += ("tickets", "slots", "waiting", "run_tasks", "run_timers", "run_tickets", "run_holders", "run_waiting")
_BY_OWNER += ("run_events", "children")


class Statements:
    """One method for each named statement; what it gives is rows."""

    def __init__(self) -> None:
        self.t = Tables()

    # --- head ---

    def meta(self) -> list[Row]:
        return [self.t.meta["row"]]

    def set_meta(self, time: float, claim: int) -> None:
        self.t.put(self.t.meta, "row", (time, claim))

    def add_definition(self, hash: str, name: str, body: str) -> None:
        if hash not in self.t.plain["definitions"]:
            self.t.put(self.t.plain["definitions"], hash, (body,))

    def definition(self, hash: str) -> list[Row]:
        return _maybe(self.t.plain["definitions"].get(hash))

    def add_closure(self, hash: str, members: str) -> None:
        if hash not in self.t.plain["closures"]:
            self.t.put(self.t.plain["closures"], hash, (members,))

    def closure(self, hash: str) -> list[Row]:
        return _maybe(self.t.plain["closures"].get(hash))

    def dispatch_key(self, account: str, key: str) -> list[Row]:
        return _maybe(self.t.plain["dispatch_keys"].get((account, key)))

    def add_dispatch_key(self, account: str, key: str, run: str) -> None:
        self.t.put(self.t.plain["dispatch_keys"], (account, key), (run,))

    # --- runs: (num, account, workflow, status, dispatched_at, deadline, ended_at, code, starter, version, head,
    # inputs, sealed, known) by id ---

    def add_run(self, id: str, account: str, workflow: str, status: str, at: float, deadline: float | None,
                starter: str | None, head: bytes, inputs: bytes, sealed: int, known: bytes | None) -> None:  # fmt: skip
        row = [self.t.next("runs"), account, workflow, status, at, deadline, None, None, starter, 0]
        self.t.put(self.t.plain["runs"], id, (*row, head, inputs, sealed, known))
        if starter is not None:
            self.t.put(self.t.of("children", starter), id, row[0])

    def run_version(self, id: str) -> list[Row]:
        row = self.t.plain["runs"].get(id)
        return [(row[9],)] if row is not None else []

    def run(self, id: str) -> list[Row]:
        row = self.t.plain["runs"].get(id)
        return [row[9:]] if row is not None else []

    def run_peek(self, id: str) -> list[Row]:
        row = self.t.plain["runs"].get(id)
        return [row[1:4]] if row is not None else []

    def set_head(self, version: int, head: bytes, id: str) -> None:
        row = self.t.plain["runs"][id]
        self.t.put(self.t.plain["runs"], id, (*row[:9], version, head, *row[11:]))

    def set_status(
        self, version: int, head: bytes, status: str, ended: float | None, code: str | None, id: str
    ) -> None:
        row = self.t.plain["runs"][id]
        new = (*row[:3], status, *row[4:6], ended, code, row[8], version, head, *row[11:])
        self.t.put(self.t.plain["runs"], id, new)

    def set_known(self, known: bytes, id: str) -> None:
        row = self.t.plain["runs"][id]
        self.t.put(self.t.plain["runs"], id, (*row[:13], known))

    def run_num(self, id: str) -> list[Row]:
        row = self.t.plain["runs"].get(id)
        return [(row[0],)] if row is not None else []

    def runs_by_age(self, num: int, account: str | None, limit: int) -> list[Row]:
        return self.runs_by_status(num, account, None, None, limit)

    def runs_by_name(self, num: int, workflow: str, limit: int) -> list[Row]:
        return self.runs_by_status(num, None, workflow, None, limit)

    def runs_by_workflow(self, num: int, account: str, workflow: str, limit: int) -> list[Row]:
        return self.runs_by_status(num, account, workflow, None, limit)

    def runs_by_status(
        self, num: int, account: str | None, workflow: str | None, status: str | None, limit: int
    ) -> list[Row]:
        found: list[Row] = []
        for id, row in reversed(self.t.plain["runs"].items()):
            if row[0] >= num or (status is not None and row[3] != status):
                continue
            if account in (None, row[1]) and workflow in (None, row[2]):
                found.append((id, row[1], row[2], row[3], row[4], row[6], row[7]))
                if len(found) >= limit:
                    break
        return found

    def count_runs(self) -> list[Row]:
        found: dict[str, int] = {}
        for row in self.t.plain["runs"].values():
            found[row[3]] = found.get(row[3], 0) + 1
        return sorted(found.items())

    def children_of(self, id: str) -> list[Row]:
        return [(each,) for each in self.t.of("children", id)]

    # --- the inside of a run ---

    def frames(self, run: str) -> list[Row]:
        return [(prefix, *row) for prefix, row in sorted(self.t.of("frames", run).items())]

    def set_frame(self, run: str, prefix: str, sealed: int, body: bytes) -> None:
        self.t.put(self.t.of("frames", run), prefix, (sealed, body))

    def vals(self, run: str) -> list[Row]:
        rows = sorted(self.t.of("vals", run).items(), key=lambda each: (each[1][0], each[0][1]))
        return [(scope, name, sealed, body) for (scope, name), (_, sealed, body) in rows]

    def vals_of(self, run: str, scope: str) -> list[Row]:
        return [row[1:] for row in self.vals(run) if row[0] == scope]

    def set_val(self, run: str, scope: str, name: str, visit: int, rank: int, sealed: int, body: bytes) -> None:
        rows = self.t.of("vals", run)
        old = rows.get((scope, name))
        self.t.put(rows, (scope, name), (rank if old is None else old[0], sealed, body))

    def drop_vals(self, run: str, scope: str) -> None:
        rows = self.t.of("vals", run)
        for at in [at for at in rows if at[0] == scope]:
            self.t.drop(rows, at)

    def drop_vals_below(self, run: str, scope: str) -> None:
        rows = self.t.of("vals", run)
        for at in [at for at in rows if at[0].startswith(scope + "/")]:
            self.t.drop(rows, at)

    def comps(self, run: str) -> list[Row]:
        return [row for _, row in sorted(self.t.of("comps", run).items())]

    def set_comp(self, run: str, seq: int, sealed: int, body: bytes) -> None:
        self.t.put(self.t.of("comps", run), seq, (sealed, body))

    def drop_comp(self, run: str, seq: int) -> None:
        self.t.drop(self.t.of("comps", run), seq)

    def open_signals(self, run: str) -> list[Row]:
        rows = sorted(self.t.of("signals", run).items())
        return [(sealed, body) for _, (_, consumed, sealed, body) in rows if not consumed]

    def signal_known(self, run: str, id: str) -> list[Row]:
        return [(row[2], row[3]) for row in self.t.of("signals", run).values() if row[0] == id]

    def add_signal(self, run: str, seq: int, id: str, sealed: int, body: bytes) -> None:
        self.t.put(self.t.of("signals", run), seq, (id, 0, sealed, body))

    def consume_signal(self, run: str, seq: int) -> None:
        rows = self.t.of("signals", run)
        if seq in rows:
            self.t.put(rows, seq, (rows[seq][0], 1, *rows[seq][2:]))

    # --- the log ---

    def add_event(self, run: str, at: float, kind: str, path: str | None, visit: int | None, data: str | None) -> None:
        seq = self.t.next("events")
        self.t.put(self.t.plain["events"], seq, (seq, run, at, kind, path, visit, data))
        self.t.put(self.t.of("run_events", run), seq, kind)

    def events_all(self, after: int, limit: int) -> list[Row]:
        events = self.t.plain["events"]
        last = self.t.plain["numbers"].get("events", 0)
        return [events[seq] for seq in range(after + 1, min(after + limit, last) + 1) if seq in events]

    def events_of_run(self, run: str, after: int, limit: int) -> list[Row]:
        events = self.t.plain["events"]
        return [events[seq] for seq in self.t.of("run_events", run) if seq > after][:limit]

    def last_handed_back(self, run: str, path: str, visit: int) -> list[Row]:
        wanted = ("task.handed_back", path, visit)
        found = [row for row in self.events_of_run(run, 0, 2**62) if row[3:6] == wanted]
        return [(found[-1][6],)] if found else []

    def core(self, version: str) -> list[Row]:
        return _maybe(self.t.plain["cores"].get(version))

    def add_core(self, version: str) -> None:
        if version not in self.t.plain["cores"]:
            self.t.put(self.t.plain["cores"], version, (len(self.t.plain["cores"]) + 1,))

    def add_entry(self, run: str, turn: int, core: int, at: float, sealed: int, body: bytes) -> None:
        self.t.put(self.t.of("journal", run), turn, (core, at, sealed, body))

    def journal(self, run: str) -> list[Row]:
        names = {row[0]: version for version, row in self.t.plain["cores"].items()}
        rows = sorted(self.t.of("journal", run).items())
        return [(turn, names[core], at, sealed, body) for turn, (core, at, sealed, body) in rows]

    # --- work: (run, path, visit, kind, block, ready_at, worker, claim, sealed, body) by id ---

    def set_task(self, id: str, run: str, path: str, visit: int, kind: str, block: str, ready: float, sealed: int,
                 body: bytes) -> None:  # fmt: skip
        self.t.put(self.t.plain["tasks"], id, (run, path, visit, kind, block, ready, None, 0, sealed, body))
        self.t.put(self.t.of("run_tasks", run), id, True)

    def drop_task(self, id: str) -> None:
        row = self.t.plain["tasks"].get(id)
        if row is not None:
            self.t.drop(self.t.plain["tasks"], id)
            self.t.drop(self.t.of("run_tasks", row[0]), id)

    def drop_run_tasks(self, run: str) -> None:
        for id in list(self.t.of("run_tasks", run)):
            self.drop_task(id)

    def task_claim(self, id: str) -> list[Row]:
        row = self.t.plain["tasks"].get(id)
        return [(row[6], row[7], *row[:4])] if row is not None else []

    def task_claimed(self, id: str) -> list[Row]:
        row = self.t.plain["tasks"].get(id)
        return [(1,)] if row is not None and row[6] is not None else []

    def ready_tasks(self, now: float, limit: int) -> list[Row]:
        return self._ready(now, limit, lambda row: True)

    def ready_tasks_of(self, now: float, limit: int, names: str) -> list[Row]:
        wanted = set(_decode(names))
        return self._ready(now, limit, lambda row: row[4] in wanted)

    def _ready(self, now: float, limit: int, wanted: Callable[[Row], bool]) -> list[Row]:
        runs = self.t.plain["runs"]
        rows = [
            (row[5], id, row)
            for id, row in self.t.plain["tasks"].items()
            if row[6] is None and row[5] <= now and wanted(row)
        ]
        rows.sort(key=lambda each: each[:2])
        found = []
        for _, id, row in rows[:limit]:
            run = runs[row[0]]
            found.append((id, *row[:5], row[8], row[9], run[1], run[2], run[13], run[5]))
        return found

    def next_ready(self) -> list[Row]:
        found = [row[5] for row in self.t.plain["tasks"].values() if row[6] is None]
        return [(min(found, default=None),)]

    def next_ready_without(self, names: str) -> list[Row]:
        left = set(_decode(names))
        found = [row[5] for id, row in self.t.plain["tasks"].items() if row[6] is None and id not in left]
        return [(min(found),)] if found else []

    def claim_task(self, worker: str, claim: int, id: str) -> None:
        row = self.t.plain["tasks"][id]
        self.t.put(self.t.plain["tasks"], id, (*row[:6], worker, claim, *row[8:]))

    def unclaim_task(self, ready: float, id: str) -> None:
        row = self.t.plain["tasks"][id]
        self.t.put(self.t.plain["tasks"], id, (*row[:5], ready, None, 0, *row[8:]))

    def tasks_of_worker(self, worker: str) -> list[Row]:
        rows = [(row[7], id, row) for id, row in self.t.plain["tasks"].items() if row[6] == worker]
        return [(id, *row[:4]) for _, id, row in sorted(rows, key=lambda each: each[0])]

    def know_worker(self, worker: str) -> None:
        if worker not in self.t.plain["workers"]:
            self.t.put(self.t.plain["workers"], worker, 0)

    def beat(self, worker: str) -> None:
        self.t.put(self.t.plain["workers"], worker, self.t.plain["workers"].get(worker, 0) + 1)

    def workers(self) -> list[Row]:
        return sorted(self.t.plain["workers"].items())

    def drop_worker(self, worker: str) -> None:
        self.t.drop(self.t.plain["workers"], worker)

    # --- timers ---

    def set_timer(self, run: str, kind: str, path: str, visit: int, at: float) -> None:
        self.t.put(self.t.plain["timers"], (run, kind, path), (visit, at))
        self.t.put(self.t.of("run_timers", run), (kind, path), True)

    def drop_timer(self, run: str, kind: str, path: str) -> None:
        self.t.drop(self.t.plain["timers"], (run, kind, path))
        self.t.drop(self.t.of("run_timers", run), (kind, path))

    def drop_run_timers(self, run: str) -> None:
        for kind, path in list(self.t.of("run_timers", run)):
            self.drop_timer(run, kind, path)

    def timers_of_run(self, run: str) -> list[Row]:
        timers = self.t.plain["timers"]
        return [(kind, path, timers[(run, kind, path)][1]) for kind, path in sorted(self.t.of("run_timers", run))]

    def due_timers(self, now: float, limit: int) -> list[Row]:
        rows = sorted((at, where, visit) for where, (visit, at) in self.t.plain["timers"].items() if at <= now)
        return [(*where, visit) for _, where, visit in rows[:limit]]

    def next_timer(self) -> list[Row]:
        return [(min((at for _, at in self.t.plain["timers"].values()), default=None),)]

    # --- waits for other runs ---

    def set_wait(self, run: str, path: str, visit: int, kind: str, need: int) -> None:
        self.t.put(self.t.of("waits", run), path, (visit, kind, need))

    def drop_wait(self, run: str, path: str) -> None:
        self.t.drop(self.t.of("waits", run), path)

    def drop_run_waits(self, run: str) -> None:
        for path in list(self.t.of("waits", run)):
            self.drop_wait(run, path)

    def waits_of(self, run: str) -> list[Row]:
        return [(path, row[2]) for path, row in sorted(self.t.of("waits", run).items())]

    def add_dep(self, run: str, path: str, on: str, visit: int) -> None:
        rows = self.t.of("deps", run)
        self.t.put(rows, (path, on), visit)
        self.t.put(self.t.of("dependents", on), (run, path), visit)

    def _drop_dep(self, run: str, path: str, on: str) -> None:
        self.t.drop(self.t.of("deps", run), (path, on))
        self.t.drop(self.t.of("dependents", on), (run, path))

    def drop_deps(self, run: str, path: str) -> None:
        for at, on in [each for each in self.t.of("deps", run) if each[0] == path]:
            self._drop_dep(run, at, on)

    def drop_run_deps(self, run: str) -> None:
        for path, on in list(self.t.of("deps", run)):
            self._drop_dep(run, path, on)

    def deps_of(self, run: str, path: str) -> list[Row]:
        return [(on,) for at, on in sorted(self.t.of("deps", run)) if at == path]

    def dependents(self, on: str) -> list[Row]:
        return [(run, path, visit) for (run, path), visit in sorted(self.t.of("dependents", on).items())]

    def drop_dep(self, run: str, path: str, on: str, visit: int) -> None:
        if self.t.of("deps", run).get((path, on)) == visit:
            self._drop_dep(run, path, on)

    # --- the inbox ---

    def post(self, body: bytes) -> None:
        self.t.put(self.t.plain["inbox"], self.t.next("inbox"), body)

    def inbox(self, limit: int) -> list[Row]:
        rows = self.t.plain["inbox"]
        return sorted(rows.items())[:limit] if rows else []

    def worked(self, seq: int) -> None:
        for each in [each for each in self.t.plain["inbox"] if each <= seq]:
            self.t.drop(self.t.plain["inbox"], each)


class LeaseStatements(Statements):
    """Keys and queues."""

    def key(self, account: str, key: str) -> list[Row]:
        return _maybe(self.t.plain["keys"].get((account, key)))

    def set_key(self, account: str, key: str, limit: int | None, ticket: int, fence: int) -> None:
        self.t.put(self.t.plain["keys"], (account, key), (limit, ticket, fence))

    def holders(self, account: str, key: str) -> list[Row]:
        rows = [(run, *row) for run, row in self.t.of("holders", (account, key)).items()]
        return sorted(rows, key=lambda each: each[1])

    def set_holder(self, account: str, key: str, run: str, fence: int, since: float, review: int) -> None:
        rows = self.t.of("holders", (account, key))
        old = rows.get(run)
        self.t.put(rows, run, (fence, since if old is None else old[1], review))
        self.t.put(self.t.of("run_holders", run), (account, key), True)

    def drop_holder(self, account: str, key: str, run: str) -> None:
        self.t.drop(self.t.of("holders", (account, key)), run)
        self.t.drop(self.t.of("run_holders", run), (account, key))

    def holds(self, account: str, key: str) -> list[Row]:
        return [(run, path, life) for (run, path), life in sorted(self.t.of("holds", (account, key)).items())]

    def set_hold(self, account: str, key: str, run: str, path: str, lifetime: str) -> None:
        self.t.put(self.t.of("holds", (account, key)), (run, path), lifetime)

    def drop_hold(self, account: str, key: str, run: str, path: str) -> None:
        self.t.drop(self.t.of("holds", (account, key)), (run, path))

    def add_ticket(self, account: str, key: str, number: int, run: str, *row: Any) -> None:
        self.t.put(self.t.of("tickets", (account, key)), number, (number, run, *row))
        self.t.put(self.t.of("run_tickets", run), (account, key, number), True)

    def drop_ticket(self, account: str, key: str, number: int) -> None:
        row = self.t.of("tickets", (account, key)).get(number)
        if row is not None:
            self.t.drop(self.t.of("tickets", (account, key)), number)
            self.t.drop(self.t.of("run_tickets", row[1]), (account, key, number))

    def tickets(self, account: str, key: str) -> list[Row]:
        return [row for _, row in sorted(self.t.of("tickets", (account, key)).items())]

    def first_ticket(self, account: str, key: str, after: int) -> list[Row]:
        rows = self.t.of("tickets", (account, key))
        first = min((number for number in rows if number > after), default=None)
        return [rows[first]] if first is not None else []

    def tickets_of(self, run: str, key: str, account: str) -> list[Row]:
        rows = self.t.of("tickets", (account, key))
        mine = sorted(at[2] for at in self.t.of("run_tickets", run) if at[:2] == (account, key))
        return [rows[number] for number in mine]

    def tickets_of_run(self, run: str) -> list[Row]:
        found = []
        for account, key, number in sorted(self.t.of("run_tickets", run)):
            row = self.t.of("tickets", (account, key))[number]
            found.append((key, row[2], number, row[5]))
        return found

    def tickets_before(self, account: str, key: str, number: int) -> list[Row]:
        rows = self.t.of("tickets", (account, key))
        return [(len({row[1] for each, row in rows.items() if each < number}),)]

    def keys_of_account(self, account: str) -> list[Row]:
        found = set()
        for table in ("holders", "tickets"):
            found |= {at[1] for at, rows in self.t.by_owner[table].items() if rows and at[0] == account}
        return [(key,) for key in sorted(found)]

    def awaited(self, run: str) -> list[Row]:
        return [(int(self._awaited(run)),)]

    def _awaited(self, run: str) -> bool:
        if self.t.of("dependents", run):
            return True
        for at in self.t.of("run_holders", run):
            if any(row[1] != run for row in self.t.of("tickets", at).values()):
                return True
        for account, key, number in self.t.of("run_tickets", run):
            rows = self.t.of("tickets", (account, key))
            if any(each > number and row[1] != run for each, row in rows.items()):
                return True
        row = self.t.plain["runs"].get(run)
        return row is not None and bool(self.t.of("waiting", (row[1], row[2])))

    # --- queues ---

    def queue(self, account: str, workflow: str) -> list[Row]:
        return _maybe(self.t.plain["queues"].get((account, workflow)))

    def set_queue(self, account: str, workflow: str, position: int) -> None:
        self.t.put(self.t.plain["queues"], (account, workflow), (position,))

    def queues_of_account(self, account: str) -> list[Row]:
        return [(at[1],) for at in sorted(self.t.plain["queues"]) if at[0] == account]

    def slots(self, account: str, workflow: str) -> list[Row]:
        return [(run,) for run in sorted(self.t.of("slots", (account, workflow)))]

    def count_slots(self, account: str, workflow: str) -> list[Row]:
        return [(len(self.t.of("slots", (account, workflow))),)]

    def slots_with(self, account: str, workflow: str, key: str) -> list[Row]:
        return [(run,) for run, each in sorted(self.t.of("slots", (account, workflow)).items()) if each == key]

    def has_slot(self, account: str, workflow: str, run: str) -> list[Row]:
        return [(1,)] if run in self.t.of("slots", (account, workflow)) else []

    def add_slot(self, account: str, workflow: str, run: str, key: str | None) -> None:
        self.t.put(self.t.of("slots", (account, workflow)), run, key)

    def drop_slot(self, account: str, workflow: str, run: str) -> None:
        self.t.drop(self.t.of("slots", (account, workflow)), run)

    def waiting(self, account: str, workflow: str) -> list[Row]:
        return [(row[1],) for _, row in sorted(self.t.of("waiting", (account, workflow)).items())]

    def first_waiting(self, account: str, workflow: str, after: int) -> list[Row]:
        rows = self.t.of("waiting", (account, workflow))
        first = min((position for position in rows if position > after), default=None)
        return [rows[first]] if first is not None else []

    def waiting_with(self, account: str, workflow: str, key: str) -> list[Row]:
        return [row for _, row in sorted(self.t.of("waiting", (account, workflow)).items()) if row[3] == key][:1]

    def waiting_place(self, run: str, account: str, workflow: str) -> list[Row]:
        return [row for row in self.t.of("waiting", (account, workflow)).values() if row[1] == run]

    def waiting_before(self, account: str, workflow: str, position: int) -> list[Row]:
        rows = sorted(self.t.of("waiting", (account, workflow)).items())
        return [(row[1],) for each, row in rows if each < position]

    def count_waiting_before(self, account: str, workflow: str, position: int) -> list[Row]:
        return [(len(self.waiting_before(account, workflow, position)),)]

    def add_waiting(self, account: str, workflow: str, position: int, run: str, limit: int, key: str | None) -> None:
        self.t.put(self.t.of("waiting", (account, workflow)), position, (position, run, limit, key))
        self.t.put(self.t.of("run_waiting", run), (account, workflow), True)

    def drop_waiting(self, account: str, workflow: str, position: int) -> None:
        row = self.t.of("waiting", (account, workflow)).get(position)
        if row is not None:
            self.t.drop(self.t.of("waiting", (account, workflow)), position)
            self.t.drop(self.t.of("run_waiting", row[1]), (account, workflow))

    def counts(self) -> list[Row]:
        plain, owned = self.t.plain, self.t.by_owner
        claimed = sum(row[6] is not None for row in plain["tasks"].values())
        leases = sum(map(len, owned["holders"].values()))
        tickets = sum(map(len, owned["tickets"].values()))
        return [(len(plain["tasks"]), claimed, len(plain["timers"]), leases, tickets, len(plain["inbox"]),
                 len(plain["workers"]))]  # fmt: skip


def _maybe(row: Row | None) -> list[Row]:
    return [row] if row is not None else []
