"""The kernel: the one owner of transactions of a store in this process (`ports.Kernel`).

A verb opens a transaction, lets the cells decide, stores what they changed, and works the messages that
they posted to each other, as many as fit; the rest waits in the inbox for the next transaction.  What
the verbs mean is decided in ``cells``; what is shown is put together in ``views``.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, TypeVar

import msgspec

from interlock.engine import ports
from interlock.engine.cells import messages as m
from interlock.engine.cells.inputs import InputsRefused, check_inputs, new_run, own_key
from interlock.engine.cells.plan import Plan
from interlock.engine.cells.sections import reviews
from interlock.engine.cells.state import TERMINAL, Run
from interlock.engine.cells.turn import MAX_RESULT, Cell, OverBudget, TaskRow
from interlock.engine.errors import RUN_CODES, CallerError
from interlock.engine.ports import (
    Batch,
    Claiming,
    Definition,
    EvaluationError,
    Failed,
    Json,
    Outcome,
    Services,
    Settled,
    Settlement,
    Success,
    Task,
)
from interlock.engine.shown import Dispatched, SignalReceipt
from interlock.engine.store.cells import Rows, redact
from interlock.engine.store.sqlite import SqliteStore, of_the_store
from interlock.engine.transactions import Transaction
from interlock.engine.values import NotJson, json_value
from interlock.engine.views import Views

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_task_row = msgspec.json.Decoder(TaskRow).decode
Answer = TypeVar("Answer")
_SIGNAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
MAX_CACHED = 4096
MAX_MESSAGES = 500
"""Messages between cells that one transaction works; the rest goes to the inbox."""
MAX_CLAIMED = 1000
"""Tasks that are claimed at once, however many a worker has room for."""
MEMORY = "memory:"


def open_kernel(url: str, services: Services) -> SqliteKernel:
    """Open the store at ``sqlite:///PATH`` or ``memory:``, making it where it is absent.

    Codes: store-corrupt, store-newer, store-readonly, store-busy, store-key.
    """
    if url == MEMORY:
        return SqliteKernel(SqliteStore(None, services.synchronous), services, durable=False)
    if url.startswith("sqlite:///"):
        return SqliteKernel(SqliteStore(url[len("sqlite:///") :], services.synchronous), services)
    raise CallerError("not-allowed", f'"{url}" is no store; use sqlite:///PATH or memory:.')


class SqliteKernel(Views):
    """`ports.Kernel` over SQLite."""

    def __init__(self, store: SqliteStore, services: Services, *, durable: bool = True) -> None:
        self.store = store
        self.services = services
        self.durable = durable
        self.max_messages = MAX_MESSAGES
        self.rows = Rows(store, services.cipher)
        self.cells: dict[str, Cell] = {}
        self.plans: dict[tuple[str, str], Plan] = {}
        self._lock = threading.RLock()
        self._beats: dict[str, tuple[int, float]] = {}
        self._fresh: set[str] = set()
        self._seen_time: tuple[float, float] | None = None

    def close(self) -> None:
        with self._lock:
            self.store.close()

    # --- cells ---

    def plan_of(self, run: Run) -> Plan:
        """The plan of a run's definition, made once."""
        at = (run.hash, run.closure_hash)
        plan = self.plans.get(at)
        if plan is None:
            plan = self.plans[at] = Plan(self.definition_of(run), self.services.blocks)
        return plan

    def know(self, definition: Definition) -> Plan:
        """The plan of a definition at hand."""
        at = (definition.hash, definition.closure_hash)
        plan = self.plans.get(at)
        if plan is None:
            plan = self.plans[at] = Plan(definition, self.services.blocks)
        return plan

    def definition_of(self, run: Run) -> Definition:
        body = self.store.one("definition", run.hash)
        row = self.store.one("closure", run.closure_hash)
        if body is None or row is None:
            raise CallerError("store-corrupt", f'The definition of the run "{run.id}" is missing.')
        closure: dict[str, str] = {}
        for name, hash in _decode(row[0]).items():
            text = self.store.one("definition", hash)
            if text is None:
                raise CallerError("store-corrupt", f'The definition of "{name}" is missing.')
            closure[name] = text[0]
        return self.services.load(body[0], closure)

    def cell(self, run: str) -> Cell | None:
        """The run's cell as the store has it in this transaction; from memory if it is the same."""
        cached = self.cells.get(run)
        if cached is not None:
            # Nobody else can have changed what this transaction has looked at already.
            if run in self._fresh:
                return cached
            self._fresh.add(run)
            if self.rows.version(run) == cached.version:
                return cached
            del self.cells[run]
        self._fresh.add(run)
        cell = self.rows.load(run, self.plan_of)
        if cell is not None:
            self.keep(cell)
        return cell

    def keep(self, cell: Cell) -> None:
        if len(self.cells) >= MAX_CACHED:
            for run in list(self.cells)[: MAX_CACHED // 4]:
                del self.cells[run]
        self.cells[cell.run.id] = cell

    # --- transactions ---

    def write(self, act: Callable[[Transaction], Answer]) -> Answer:
        """What ``act`` does, as one durable transaction.

        Where a row of it cannot be stored, all of it is undone and done once more with care, each decision
        under a savepoint of its own: what cannot be stored then fails alone (see `Transaction`).
        """
        with self._lock:
            try:
                return self._write(act, careful=False)
            except sqlite3.Error as error:
                if of_the_store(error):
                    raise
            return self._write(act, careful=True)

    def _write(self, act: Callable[[Transaction], Answer], *, careful: bool) -> Answer:
        """One attempt of a transaction; if it fails, what it touched in memory is forgotten."""
        tx = Transaction(self, careful=careful)
        self._fresh.clear()
        try:
            with self.store.writing(self.services.trace):
                tx.begin()
                answer = act(tx)
                tx.finish()
                return answer
        except BaseException:
            for run in tx.touched:
                self.cells.pop(run, None)
            self.rows.forget()
            raise

    @property
    def last_time(self) -> float:
        """Store time as this process saw it last."""
        return self._seen_time[0] if self._seen_time is not None else 0.0

    def store_time(self, stored: float) -> float:
        """Now, for the store: the wall clock, but never earlier than what is stored.

        Where the wall clock was set back, time goes on at the pace of this process's own steady clock, so
        that timers do not stand still until the wall has caught up.
        """
        clock = self.services.clock
        wall, steady = clock.now(), clock.monotonic()
        now = max(stored, wall)
        if wall < stored and self._seen_time is not None:
            then, was = self._seen_time
            now = max(now, then + steady - was)
        self._seen_time = (now, steady)
        return now

    @contextmanager
    def looking(self) -> Iterator[None]:
        with self._lock, self.store.reading():
            self._fresh.clear()
            yield

    def _found(self, run: str) -> Cell:
        cell = self.cell(run)
        if cell is None:
            raise CallerError("unknown-run", f'No run "{run}" is known to this store.')
        return cell

    # --- dispatch ---

    def dispatch(
        self,
        definition: Definition,
        inputs: Mapping[str, Json],
        *,
        account: str = "default",
        idempotency_key: str | None = None,
    ) -> Dispatched:
        """See `ports.Kernel.dispatch`."""
        self._check_durable(definition, idempotency_key)
        return self.write(lambda tx: self._dispatch(tx, definition, inputs, account, idempotency_key))

    def dispatch_many(
        self, requests: Sequence[tuple[Definition, Mapping[str, Json]]], *, account: str = "default"
    ) -> list[Dispatched]:
        """See `ports.Kernel.dispatch_many`."""
        for definition, _ in requests:
            self._check_durable(definition, None)
        return self.write(
            lambda tx: [self._dispatch(tx, definition, inputs, account, None) for definition, inputs in requests]
        )

    def _check_durable(self, definition: Definition, key: str | None) -> None:
        if self.durable:
            return
        from interlock.engine.definition import durability_needs

        if key is not None:
            text = "An idempotency key needs a durable store; the in-memory one keeps nothing."
            raise CallerError("needs-store", text)
        for each in (definition, *definition.closure.values()):
            needs = durability_needs(each.workflow)
            if needs:
                words = ", ".join(word for word, _ in needs)
                raise CallerError(
                    "needs-store",
                    f'"{each.name}" needs a durable store for {words}; use sqlite:///PATH.',
                )

    def _dispatch(
        self,
        tx: Transaction,
        definition: Definition,
        inputs: Mapping[str, Json],
        account: str,
        key: str | None,
    ) -> Dispatched:
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= 512):
            raise CallerError("inputs-refused", "An idempotency key is a text of 1 to 512 characters.")
        if not isinstance(inputs, Mapping):
            text = f"The inputs are a mapping from names to values, not of type {type(inputs).__name__}."
            raise CallerError("inputs-refused", text)
        if key is not None:
            original = self.original(account, key)
            if original is not None:
                return tx.deduplicated(original, key)
        try:
            given = json_value(dict(inputs), "the inputs")
            taken = check_inputs(definition.workflow, given)
        except (InputsRefused, NotJson) as error:
            raise CallerError("inputs-refused", str(error)) from error
        new = new_run(definition, taken, run=self.services.ids.run(), account=account, now=tx.now, key=key)
        try:
            if key is None:
                new.run.key = own_key(definition, self.services.evaluator, new)
                if new.run.key is not None:
                    original = self.original(account, new.run.key)
                    if original is not None:
                        return tx.deduplicated(original, new.run.key)
            tx.start(new)
        except EvaluationError as error:
            raise CallerError("inputs-refused", f"A key cannot be rendered: {error.message}") from error
        return Dispatched(new.run.id, True)

    def original(self, account: str, key: str) -> str | None:
        row = self.store.one("dispatch_key", account, key)
        return row[0] if row is not None else None

    # --- people ---

    def signal(self, run: str, name: str, payload: Json = None, *, signal_id: str | None = None) -> SignalReceipt:
        """See `ports.Kernel.signal`."""
        if not isinstance(name, str) or not _SIGNAL.fullmatch(name):
            raise CallerError("bad-payload", "A signal's name is text of letters, digits, dots and dashes.")
        try:
            payload = json_value(payload, "the payload")
        except NotJson as error:
            raise CallerError("bad-payload", str(error)) from error
        if len(_encode(payload)) > MAX_RESULT:
            raise CallerError("payload-too-large", "The payload has more than 1 MiB as JSON.")
        receipt = self.write(lambda tx: self._signal(tx, run, name, payload, signal_id))
        if isinstance(receipt, CallerError):
            raise receipt
        return receipt

    def _signal(
        self, tx: Transaction, run: str, name: str, payload: Json, signal_id: str | None
    ) -> SignalReceipt | CallerError:
        """The receipt, or a refusal that is logged."""
        cell = self._found(run)
        sent = self.rows.sent(run, signal_id) if signal_id is not None else None
        if sent is not None:
            if sent.name != name:
                text = (
                    f'The id "{sent.id}" is that of the signal "{sent.name}", which was sent before; take another id.'
                )
                raise CallerError("bad-payload", text)
            return SignalReceipt(run, sent.id, True)
        chosen = signal_id if signal_id is not None else self.services.ids.token()
        if cell.run.status in TERMINAL:
            refusal = CallerError("run-ended", f'The run "{run}" is {cell.run.status}.')
        else:
            try:
                kinds = tx.event(run, m.SignalSent(chosen, name, payload))
                return SignalReceipt(run, chosen, consumed="signal.consumed" in kinds)
            except OverBudget as error:
                refusal = CallerError("budget-exceeded", error.fault.message)
        tx.note(run, "signal.refused", {"name": name, "id": chosen, "code": refusal.code})
        return refusal

    def cancel(self, run: str, *, reason: str = "") -> None:
        """See `ports.Kernel.cancel`."""

        def act(tx: Transaction) -> None:
            cell = self._found(run)
            if cell.run.status in TERMINAL:
                raise CallerError("run-ended", f'The run "{run}" is {cell.run.status}.')
            tx.event(run, m.StopAsked(run, "cancel", reason))

        self.write(act)

    def retry(self, run: str) -> None:
        """See `ports.Kernel.retry`."""

        def act(tx: Transaction) -> None:
            self._found(run)
            try:
                tx.event(run, m.Retried())
            except EvaluationError as error:
                raise CallerError("not-retryable", f"A key cannot be rendered: {error.message}") from error

        self.write(act)

    def review(
        self,
        run: str,
        decision: Literal["committed", "not-committed", "abandon"],
        *,
        path: str | None = None,
        result: Json = None,
        by: str = "",
    ) -> None:
        """See `ports.Kernel.review`."""
        if decision not in ("committed", "not-committed", "abandon"):
            raise CallerError("bad-payload", f'"{decision}" is no decision: committed, not-committed or abandon.')
        try:
            result = json_value(result, "the result")
        except NotJson as error:
            raise CallerError("bad-payload", str(error)) from error

        def act(tx: Transaction) -> None:
            cell = self._found(run)
            held = [each[0] for each in reviews(cell)]
            if not held:
                raise CallerError("not-in-review", f'The run "{run}" has no open review.')
            if path is None and len(held) > 1:
                text = f"Several sections are in review: {', '.join(held)}; name one of them as the path."
                raise CallerError("bad-payload", text)
            chosen = path if path is not None else held[0]
            tx.event(run, m.ReviewSettled(chosen, decision, result, by))

        self.write(act)

    # --- workers ---

    def register(self, worker: str) -> None:
        """See `ports.Kernel.register`."""
        self.write(lambda tx: self.store.run("know_worker", worker))

    def unregister(self, worker: str) -> None:
        """See `ports.Kernel.unregister`."""
        self.write(lambda tx: self._lose(tx, worker, killed=False))

    def workers(self) -> list[str]:
        """See `ports.Kernel.workers`."""
        with self.looking():
            return [worker for worker, _ in self.store.all("workers")]

    def lose(self, worker: str) -> None:
        """See `ports.Kernel.lose`."""
        self.write(lambda tx: self._lose(tx, worker, killed=True))

    def heartbeat(self, worker: str) -> None:
        """See `ports.Kernel.heartbeat`."""
        self.write(lambda tx: self.store.run("beat", worker))

    def claim(
        self,
        worker: str,
        limit: int,
        *,
        blocks: frozenset[str] | None = None,
        tree: str | None = None,
        without: frozenset[str] = frozenset(),
    ) -> list[Task]:
        """See `ports.Kernel.claim`."""
        return self.write(lambda tx: self._claim(tx, Claiming(worker, limit, blocks, tree, without)))

    def _claim(self, tx: Transaction, ask: Claiming) -> list[Task]:
        if ask.limit <= 0:
            return []
        most = min(ask.limit, MAX_CLAIMED)
        limit = most + len(ask.without)
        names = _encode(sorted(ask.blocks)).decode() if ask.blocks is not None else None
        if ask.tree is not None:
            rows = self.store.all("ready_tasks_in", tx.now, limit, names, ask.tree)
        elif names is None:
            rows = self.store.all("ready_tasks", tx.now, limit)
        else:
            rows = self.store.all("ready_tasks_of", tx.now, limit, names)
        rows = [row for row in rows if row[0] not in ask.without][:most]
        if rows:
            self.store.run("know_worker", ask.worker)
        tasks = []
        for id, run, path, visit, kind, block, sealed, body, account, workflow, known, deadline in rows:
            claim = tx.next_claim()
            self.store.run("claim_task", ask.worker, claim, id)
            row = _task_row(self.rows.unpack(sealed, body))
            if kind == "block":
                tx.add_event(run, "step.started", path, visit, {"attempt": row.attempt})
            tasks.append(
                Task(
                    id=id,
                    claim=claim,
                    run=run,
                    account=account,
                    workflow=workflow,
                    kind=kind,
                    path=path,
                    visit=visit,
                    attempt=row.attempt,
                    block=block,
                    params=row.params,
                    deferred=row.deferred,
                    idempotency_key=row.idempotency_key,
                    timeout=row.timeout,
                    protected=row.protected,
                    deadline=deadline if kind == "block" else None,
                    fence=row.fence,
                    known_secrets=self.rows.known(known),
                )
            )
        return tasks

    def settle(self, task: Task, outcome: Outcome) -> Settled:
        """See `ports.Kernel.settle`."""
        return self.settle_many([Settlement(task, outcome)]).settled[0]

    def settle_many(self, settlements: Sequence[Settlement], claim: Claiming | None = None) -> Batch:
        """See `ports.Kernel.settle_many`."""

        def act(tx: Transaction) -> Batch:
            settled = tuple(self._settle(tx, each.task, each.outcome) for each in settlements)
            if claim is None:
                return Batch(settled)
            tx.drain()
            return Batch(settled, tuple(self._claim(tx, claim)))

        try:
            return self.write(act)
        except sqlite3.Error:
            if len(settlements) < 2:
                raise
        # One of them cannot be stored even as a failure, a lease that cannot be given back for one: the
        # others are not held up by it.
        done = [self._settle_alone(each) for each in settlements]
        failed = [each for each in done if isinstance(each, sqlite3.Error)]
        if failed:
            raise failed[0]
        settled = tuple(each for each in done if isinstance(each, Settled))
        return Batch(settled, tuple(self.write(lambda tx: self._claim(tx, claim))) if claim is not None else ())

    def _settle_alone(self, each: Settlement) -> Settled | sqlite3.Error:
        try:
            return self.write(lambda tx: self._settle(tx, each.task, each.outcome))
        except sqlite3.Error as error:
            return error

    def _settle(self, tx: Transaction, task: Task, outcome: Outcome) -> Settled:
        outcome = self._clean(outcome, task.known_secrets)
        row = self.store.one("task_claim", task.id)
        if row is None or row[1] != task.claim or row[0] is None:
            return self._late(tx, task, outcome)
        self.store.run("drop_task", task.id)
        tx.event(task.run, m.TaskSettled(task.path, task.visit, task.kind, outcome))
        return Settled(True)

    def _clean(self, outcome: Outcome, known: tuple[str, ...]) -> Outcome:
        """An outcome that the core can take: a known code, a text without secrets, a JSON result."""
        if isinstance(outcome, Success):
            try:
                return Success(json_value(outcome.result, "the result"), outcome.secrets)
            except NotJson as error:
                return Failed("result-invalid", str(error), "unknown")
        redact = self.services.cipher.redact
        code = outcome.code if outcome.code in RUN_CODES else "block-failed"
        if outcome.own:
            code = redact(outcome.code, known)
        message = redact(outcome.message, known)
        return Failed(code, message, outcome.effect, outcome.own)

    def _late(self, tx: Transaction, task: Task, outcome: Outcome) -> Settled:
        """The claim was lost: the result is only evidence."""
        if self.cell(task.run) is None:
            return Settled(False, True)
        if isinstance(outcome, Success):
            shown = redact(self.services.cipher, outcome.result, task.known_secrets)
            outcome = Success(shown)
        kinds = tx.event(task.run, m.Evidence(task.path, task.visit, f"claim {task.claim}", outcome))
        return Settled(False, True, "review.evidence" in kinds)

    def hand_back(self, task: Task, *, reason: str, delay: float = 0.0) -> None:
        """See `ports.Kernel.hand_back`."""
        shown = self.services.cipher.redact(reason, task.known_secrets)

        def act(tx: Transaction) -> None:
            row = self.store.one("task_claim", task.id)
            if row is None or row[1] != task.claim:
                return
            self.store.run("unclaim_task", tx.now + delay, task.id)
            tx.add_event(task.run, "task.handed_back", task.path, task.visit, {"reason": shown})
            tx.event(task.run, m.HandedBack(task.path, task.visit, task.kind))

        self.write(act)

    def _lose(self, tx: Transaction, worker: str, *, killed: bool) -> None:
        for id, run, path, visit, kind in self.store.all("tasks_of_worker", worker):
            self.store.run("drop_task", id)
            tx.event(run, m.TaskLost(path, visit, kind, worker, killed))
        self.store.run("drop_worker", worker)
        self._beats.pop(worker, None)

    def tick(self) -> float | None:
        """See `ports.Kernel.tick`."""
        # Looking costs no write to the disk, and mostly there is nothing to do.
        with self.looking():
            row = self.store.one("meta")
            assert row is not None
            timer = self.store.one("next_timer")
            due = timer[0] if timer is not None else None
            waiting = self.store.one("inbox", 1) is not None or bool(self._lost_workers())
            if not waiting and (due is None or due > self.store_time(row[0])):
                return due
        return self.write(self._do_what_is_due)

    def _do_what_is_due(self, tx: Transaction) -> float | None:
        for run, kind, path, visit in self.store.all("due_timers", tx.now, 200):
            self.store.run("drop_timer", run, kind, path)
            tx.event(run, m.TimerFired(kind, path, visit))
        for worker in self._lost_workers():
            self._lose(tx, worker, killed=True)
        tx.drain()
        if self.store.one("inbox", 1) is not None:
            return tx.now
        row = self.store.one("next_timer")
        return row[0] if row is not None else None

    def _lost_workers(self) -> list[str]:
        """Workers whose beat has stood still on this observer's own clock."""
        seen = self.services.clock.monotonic()
        lost = []
        rows = self.store.all("workers")
        for worker, beat in rows:
            before = self._beats.get(worker)
            if before is None or before[0] != beat:
                self._beats[worker] = (beat, seen)
            elif seen - before[1] >= self.services.lost_after:
                lost.append(worker)
        known = {worker for worker, _ in rows}
        for worker in [each for each in self._beats if each not in known]:
            del self._beats[worker]
        return lost

    # --- upkeep ---

    def prune(self, older_than: float, *, limit: int = 1000) -> int:
        """See `ports.Kernel.prune`."""

        def act(tx: Transaction) -> int:
            old = [run for (run,) in self.store.all("old_runs", older_than, limit)]
            for run in old:
                self.cells.pop(run, None)
                for part in ("frames", "vals", "comps", "signals", "events", "journal"):
                    self.store.run(f"drop_run_{part}", run)
                self.store.run("drop_run", run)
            if len(old) < limit:
                self.store.run("drop_closures")
                self.store.run("drop_definitions")
            return len(old)

        return self.write(act)


_: Callable[[str, Services], ports.Kernel] = open_kernel
