"""Cells as rows: reading a run, a key or a queue for a decision, and writing what it has changed."""

from __future__ import annotations

from typing import Any

import msgspec

from interlock.engine.cells.admission import Queue, QueueChanges, Waiting
from interlock.engine.cells.journal import MAX_JOURNAL, Entry, size_of
from interlock.engine.cells.keys import Holder, Key, KeyChanges, Ticket
from interlock.engine.cells.messages import TaskSettled
from interlock.engine.cells.plan import Plan
from interlock.engine.cells.state import TERMINAL, Compensation, Frame, Run, Signal
from interlock.engine.cells.turn import Cell, Changes, NewRun, Peek
from interlock.engine.ports import Cipher, Json, Success
from interlock.engine.release import release
from interlock.engine.store.sqlite import SqliteStore

_encode = msgspec.json.Encoder().encode
_json = msgspec.json.Decoder().decode
_run = msgspec.json.Decoder(Run).decode
_frame = msgspec.json.Decoder(Frame).decode
_comp = msgspec.json.Decoder(Compensation).decode
_signal = msgspec.json.Decoder(Signal).decode


class Rows:
    """Reads and writes cells in the current transaction of a store."""

    def __init__(self, store: SqliteStore, cipher: Cipher) -> None:
        self.store = store
        self.cipher = cipher
        self._core: int | None = None

    # --- sealing ---

    def pack(self, body: bytes, known: tuple[str, ...]) -> tuple[int, bytes]:
        """A value's row: encrypted where a secret occurs in it."""
        if self.cipher.finds(body.decode(), known):
            return 1, self.cipher.seal(body)
        return 0, body

    def shown(self, data: dict[str, Json], known: tuple[str, ...]) -> str:
        """What is logged with an event, without secrets; looked through only where one occurs."""
        text = _encode(data).decode()
        if self.cipher.finds(text, known):
            return _encode(redact(self.cipher, data, known)).decode()
        return text

    def unpack(self, sealed: int, body: bytes) -> bytes:
        return self.cipher.unseal(body) if sealed else body

    def known(self, row: bytes | None) -> tuple[str, ...]:
        return tuple(_json(self.cipher.unseal(row))) if row else ()

    # --- runs ---

    def version(self, run: str) -> int | None:
        row = self.store.one("run_version", run)
        return row[0] if row is not None else None

    def peek(self, run: str) -> Peek | None:
        row = self.store.one("run_peek", run)
        return Peek(*row) if row is not None else None

    def head(self, run: str) -> Run | None:
        row = self.store.one("run", run)
        return _run(row[1]) if row is not None else None

    def load(self, run: str, plan_of: Any) -> Cell | None:
        """A run's cell; ``plan_of`` gives the plan of a head."""
        store = self.store
        row = store.one("run", run)
        if row is None:
            return None
        version, head, inputs, sealed, known = row
        run_head = _run(head)
        plan: Plan = plan_of(run_head)
        cell = Cell(run_head, plan, _json(self.unpack(sealed, inputs)), self.known(known))
        cell.version = version
        for _, is_sealed, body in store.all("frames", run):
            frame = _frame(self.unpack(is_sealed, body))
            cell.frames[frame.prefix] = frame
        for scope, name, is_sealed, body in store.all("vals", run):
            clear = self.unpack(is_sealed, body)
            cell.values.setdefault(scope, {})[name] = _json(clear)
            cell.sizes.setdefault(scope, {})[name] = len(clear)
        cell.comps = [_comp(self.unpack(s, body)) for s, body in store.all("comps", run)]
        cell.signals = [_signal(self.unpack(s, body)) for s, body in store.all("open_signals", run)]
        return cell

    def sent(self, run: str, id: str) -> Signal | None:
        """The signal of a run that was sent with this id."""
        row = self.store.one("signal_known", run, id)
        return _signal(self.unpack(*row)) if row is not None else None

    def add_run(self, new: NewRun, known: tuple[str, ...], secret: bool) -> None:
        """A new run's rows: its head, inputs, definition and idempotency key."""
        run, store, definition = new.run, self.store, new.definition
        members = {name: each.hash for name, each in definition.closure.items()}
        if store.one("closure", definition.closure_hash) is None:
            for each in (definition, *definition.closure.values()):
                store.run("add_definition", each.hash, each.name, each.text)
            store.run("add_closure", definition.closure_hash, _encode(members).decode())
        body = _encode(new.inputs)
        sealed, body = (1, self.cipher.seal(body)) if secret else self.pack(body, known)
        kept = self.cipher.seal(_encode(known)) if known else None
        store.run(
            "add_run",
            run.id,
            run.account,
            run.workflow,
            run.status,
            run.dispatched_at,
            run.deadline,
            run.starter,
            _encode(run),
            body,
            sealed,
            kept,
        )
        if run.key is not None:
            store.run("add_dispatch_key", run.account, run.key, run.id)

    def save(self, cell: Cell, out: Changes, before: str | None, now: float, entry: Entry) -> None:
        """Write what a turn has changed, and what it was given; ``before`` is the status of the row now."""
        run, store, known = cell.run, self.store, cell.known
        name = run.id
        cell.version += 1
        self._save_entry(cell, entry, now)
        vals = []
        for (scope, key), (visit, body) in out.vals.items():
            run.seq += 1
            vals.append((name, scope, key, visit, run.seq, *self.pack(body, known)))
        head = _encode(run)
        if run.status == before:
            store.run("set_head", cell.version, head, name)
        else:
            code = run.fault.code if run.fault is not None else None
            store.run("set_status", cell.version, head, run.status, run.ended_at, code, name)
        if out.secrets:
            store.run("set_known", self.cipher.seal(_encode(known)), name)
        for frame in out.frames.values():
            store.run("set_frame", name, frame.prefix, *self.pack(_encode(frame), known))
        for scope in out.dropped:
            store.run("drop_vals", name, scope)
            store.run("drop_vals_below", name, scope)
        if vals:
            store.many("set_val", vals)
        if out.comps_added or out.comps_dropped:
            self._save_comps(name, out, known)
        for signal in out.signals:
            store.run("add_signal", name, signal.seq, signal.id, *self.pack(_encode(signal), known))
        for seq in out.consumed:
            store.run("consume_signal", name, seq)
        self._save_motion(name, out, known)
        self._save_notes(cell, out, now)

    def _save_entry(self, cell: Cell, entry: Entry, now: float) -> None:
        """What the turn was given; nothing more of a run whose journal has become too long."""
        run = cell.run
        if run.journal > MAX_JOURNAL:
            return
        body = _encode(entry)
        run.journal += size_of(body)
        if run.journal > MAX_JOURNAL:
            return
        event = entry.event
        if isinstance(event, TaskSettled) and isinstance(event.outcome, Success) and event.outcome.secrets:
            sealed, body = 1, self.cipher.seal(body)
        else:
            sealed, body = self.pack(body, cell.known)
        self.store.run("add_entry", run.id, cell.version, self._core_id(), now, sealed, body)

    def _core_id(self) -> int:
        """The number of this version in the store.  Looked up once, unless that was rolled back."""
        if self._core is None:
            self.store.run("add_core", release())
            row = self.store.one("core", release())
            assert row is not None
            self._core = int(row[0])
        return self._core

    def forget(self) -> None:
        """A transaction failed: what was looked up in it may be gone."""
        self._core = None

    def _save_comps(self, name: str, out: Changes, known: tuple[str, ...]) -> None:
        for comp in out.comps_added:
            self.store.run("set_comp", name, comp.seq, *self.pack(_encode(comp), known))
        for seq in out.comps_dropped:
            self.store.run("drop_comp", name, seq)

    def _save_motion(self, name: str, out: Changes, known: tuple[str, ...]) -> None:
        """Tasks, timers and waits."""
        store = self.store
        for task, row in out.tasks.items():
            if row is None:
                store.run("drop_task", task)
                continue
            body = self.pack(_encode(row), known)
            store.run("set_task", task, name, row.path, row.visit, row.kind, row.block, row.ready_at, *body)
        for (kind, path), timer in out.timers.items():
            if timer is None:
                store.run("drop_timer", name, kind, path)
            else:
                store.run("set_timer", name, kind, path, *timer)
        for path, wait in out.waits.items():
            if wait is None:
                store.run("drop_deps", name, path)
                store.run("drop_wait", name, path)
                continue
            store.run("set_wait", name, path, wait.visit, wait.kind, wait.need)
            if wait.opened:
                store.many("add_dep", [(name, path, on, wait.visit) for on in wait.on])
        if out.ended:
            for statement in ("drop_run_tasks", "drop_run_timers", "drop_run_waits", "drop_run_deps"):
                store.run(statement, name)

    def _save_notes(self, cell: Cell, out: Changes, now: float) -> None:
        rows = []
        for kind, path, visit, data in out.notes:
            text = None
            if data:
                text = self.shown(data, cell.known)
            rows.append((cell.run.id, now, kind, path, visit, text))
        if rows:
            self.store.many("add_event", rows)

    def given(self, run: str) -> Json:
        """What a completed run gives to its dependents: its outputs, else its public state."""
        for scope in ("@outputs", ""):
            rows = self.store.all("vals_of", run, scope)
            if scope and not rows:
                continue
            values = {name: _json(self.unpack(sealed, body)) for name, sealed, body in rows}
            if scope:
                return values[""]
            return {name: value for name, value in values.items() if not name.startswith("_")}
        return {}

    # --- keys and queues ---

    def key(self, account: str, name: str) -> Key:
        row = self.store.one("key", account, name)
        key = Key(account, name, *row) if row is not None else Key(account, name)
        for run, fence, since, review in self.store.all("holders", account, name):
            key.holders[run] = Holder(run, fence, since, bool(review), {})
        if key.holders:
            for run, path, lifetime in self.store.all("holds", account, name):
                key.holders[run].holds[path] = lifetime
        return key

    def save_key(self, key: Key) -> None:
        """The key's own row: its limit, the next ticket and the next fence."""
        self.store.run("set_key", key.account, key.key, key.limit, key.next_ticket, key.next_fence)

    def save_holds(self, key: Key, out: KeyChanges) -> None:
        """Who holds the key and who waits for it, as a decision has changed it."""
        store, at = self.store, (key.account, key.key)
        for run, path in out.holds_dropped:
            store.run("drop_hold", *at, run, path)
        for run in out.dropped:
            store.run("drop_holder", *at, run)
        for number in out.unqueued:
            store.run("drop_ticket", *at, number)
        for holder in out.put.values():
            if holder.run in key.holders:
                store.run("set_holder", *at, holder.run, holder.fence, holder.since, int(holder.review))
        for run, path, lifetime in out.holds_put:
            store.run("set_hold", *at, run, path, lifetime)
        for each in out.queued:
            row = (each.number, each.run, each.path, each.visit, each.lifetime, each.since)
            store.run("add_ticket", *at, *row)

    def queue(self, account: str, workflow: str) -> Queue:
        row = self.store.one("queue", account, workflow)
        return Queue(account, workflow, row[0]) if row is not None else Queue(account, workflow)

    def save_queue(self, queue: Queue, out: QueueChanges) -> None:
        store, at = self.store, (queue.account, queue.workflow)
        store.run("set_queue", *at, queue.next_position)
        for position in out.left:
            store.run("drop_waiting", *at, position)
        for run in out.freed:
            store.run("drop_slot", *at, run)
        joined = set(out.joined)
        for entry in out.admitted:
            if entry not in joined:
                store.run("drop_waiting", *at, entry.position)
            store.run("add_slot", *at, entry.run, entry.key)
        for entry in out.joined:
            if entry not in out.admitted:
                store.run("add_waiting", *at, entry.position, entry.run, entry.limit, entry.key)


class StoredTickets:
    """The queue of a key, read as far as it is asked for.

    Good for one transaction: it remembers that nobody waits, until it is told that somebody does.
    """

    def __init__(self, store: SqliteStore, account: str, key: str) -> None:
        self._store, self._account, self._key = store, account, key
        self.empty = False

    def first(self, after: int) -> Ticket | None:
        if self.empty:
            return None
        row = self._store.one("first_ticket", self._account, self._key, after)
        if row is None and not after:
            self.empty = True
        return Ticket(*row) if row is not None else None

    def of(self, run: str) -> list[Ticket]:
        if self.empty:
            return []
        rows = self._store.all("tickets_of", run, self._key, self._account)
        return [Ticket(*row) for row in rows]


class StoredLine:
    """An admission queue, read as far as it is asked for."""

    def __init__(self, store: SqliteStore, account: str, workflow: str) -> None:
        self._store, self._at = store, (account, workflow)

    def active(self) -> int:
        row = self._store.one("count_slots", *self._at)
        return int(row[0]) if row is not None else 0

    def active_with(self, key: str) -> list[str]:
        return [run for (run,) in self._store.all("slots_with", *self._at, key)]

    def first(self, after: int) -> Waiting | None:
        row = self._store.one("first_waiting", *self._at, after)
        return Waiting(*row) if row is not None else None

    def waiting_with(self, key: str) -> Waiting | None:
        row = self._store.one("waiting_with", *self._at, key)
        return Waiting(*row) if row is not None else None

    def place(self, run: str) -> Waiting | None:
        row = self._store.one("waiting_place", run, *self._at)
        return Waiting(*row) if row is not None else None

    def holds(self, run: str) -> bool:
        return self._store.one("has_slot", *self._at, run) is not None


def redact(cipher: Cipher, value: Json, known: tuple[str, ...]) -> Json:
    """A value as it may be shown: ``***`` wherever a secret occurs in a text or a name."""
    if isinstance(value, str):
        return cipher.redact(value, known)
    if isinstance(value, dict):
        return {cipher.redact(name, known): redact(cipher, each, known) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [redact(cipher, each, known) for each in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = str(value)
        return value if cipher.redact(text, known) == text else "***"
    return value


__all__ = ["TERMINAL", "Rows", "StoredLine", "StoredTickets", "redact"]
