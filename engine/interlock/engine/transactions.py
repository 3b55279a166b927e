"""One transaction of the kernel: turns of cells, the messages between them, deadlock judgements."""

from __future__ import annotations

import sqlite3
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from interlock.engine.cells import admission, deadlock, keys, sections
from interlock.engine.cells import messages as m
from interlock.engine.cells import run as run_cell
from interlock.engine.cells.journal import Asked, Begun, Entry, Event
from interlock.engine.cells.turn import Cell, NewRun, Peek, StepFault, Turn
from interlock.engine.errors import CallerError
from interlock.engine.events import note
from interlock.engine.ports import EvaluationError, Json
from interlock.engine.secrets import texts_in
from interlock.engine.shown import Dispatched
from interlock.engine.store.cells import StoredLine, StoredTickets
from interlock.engine.store.graph import StoredGraph
from interlock.engine.store.sqlite import of_the_store

if TYPE_CHECKING:
    from interlock.engine.kernel import SqliteKernel

_encode = msgspec.json.Encoder().encode
_message = msgspec.json.Decoder(m.Message).decode


class _Judgement(msgspec.Struct, frozen=True):
    """A wait to be judged for deadlock, in its turn among the messages (``visit`` -1: as it stands)."""

    account: str
    run: str
    thing: deadlock.Thing
    path: str
    visit: int


class Transaction:
    """What a verb works with between BEGIN and COMMIT.

    Mostly everything can be stored, so nothing is done for the other case; a row that cannot be stored ends
    the transaction.  A ``careful`` one writes each decision under a savepoint: a run whose rows cannot be
    stored ends as ``internal``, as does one whose request a key or a queue cannot store, and the rest goes on.
    """

    def __init__(self, kernel: SqliteKernel, *, careful: bool = False) -> None:
        self.careful = careful
        self.kernel = kernel
        self.store = kernel.store
        self.rows = kernel.rows
        self.services = kernel.services
        self.touched: set[str] = set()
        self.now = 0.0
        self._claim = 0
        self._queue: deque[m.Message | _Judgement] = deque()
        self._worked = 0
        self._spilling = False
        self._keys: dict[tuple[str, str], tuple[keys.Key, StoredTickets]] = {}
        self._unsaved: dict[tuple[str, str], keys.Key] = {}
        """Keys whose own row is to be written: once, however many messages the key takes."""
        self._behind: dict[tuple[str, str, str], int] = {}
        """Waits (account, run, path) for a run that has joined a queue only now, with their visits."""

    def begin(self) -> None:
        """Store time never goes back; messages of earlier transactions come first."""
        row = self.store.one("meta")
        assert row is not None
        self.now = self.kernel.store_time(row[0])
        self._claim = row[1]
        self._read_inbox()

    def _read_inbox(self) -> None:
        most = self.kernel.max_messages
        waiting = self.store.all("inbox", most + 1)
        if not waiting:
            return
        taken = waiting[:most]
        self._spilling = len(waiting) > most
        self.store.run("worked", taken[-1][0])
        self._queue.extend(_message(body) for _, body in taken)
        self.drain()

    def finish(self) -> None:
        self.drain()
        self._save_keys()
        self.store.run("set_meta", self.now, self._claim)

    def next_claim(self) -> int:
        self._claim += 1
        return self._claim

    # --- the log ---

    def add_event(
        self,
        run: str,
        kind: str,
        path: str | None,
        visit: int | None,
        data: dict[str, Json] | None,
        known: tuple[str, ...] = (),
    ) -> None:
        name, _, _, _ = note(kind, path, visit, data)
        text = self.rows.shown(data, known) if data else None
        self.store.run("add_event", run, self.now, name, path, visit, text)

    def note(self, run: str, kind: str, data: dict[str, Json]) -> None:
        """An event that changes nothing of its run."""
        self.add_event(run, kind, None, None, data)

    # --- runs ---

    def start(self, new: NewRun) -> None:
        """Store a new run and let it begin."""
        begun = Begun(msgspec.Raw(_encode(new.run)))
        self._turn(self._add(new), begun)

    def _add(self, new: NewRun) -> Cell:
        plan = self.kernel.know(new.definition)
        secret = [new.inputs[name] for name in plan.secret_inputs]
        known = tuple(dict.fromkeys(text for value in secret for text in texts_in(value)))
        self.rows.add_run(new, known, any(value is not None for value in secret))
        cell = Cell(new.run, plan, new.inputs, known)
        self.kernel.keep(cell)
        self.touched.add(new.run.id)
        return cell

    def deduplicated(self, original: str, key: str) -> Dispatched:
        """A dispatch whose key was used already: the original run, nothing new."""
        if self.rows.version(original) is not None:
            self.note(original, "run.deduplicated", {"key": key})
        return Dispatched(original, False)

    def event(self, run: str, event: m.ToRun | m.Outside) -> set[str]:
        """Let a run take an event.  Returns the kinds of what was logged."""
        cell = self.kernel.cell(run)
        if cell is None:
            return set()
        return self._turn(cell, event)

    def _turn(self, cell: Cell, event: Event) -> set[str]:
        run, known = cell.run.id, cell.known
        before = cell.run.status
        self.touched.add(run)
        asked = Asked(self.services.blocks, self.services.ids, self)
        turn = self._new_turn(cell, known, asked)
        try:
            run_cell.take(turn, event, self.services.poison_after)
        except (CallerError, StepFault, EvaluationError):
            self.kernel.cells.pop(run, None)
            raise
        except Exception as error:
            self.kernel.cells.pop(run, None)
            return self._broke(run, error)
        if self.careful:
            try:
                with self.store.together():
                    self._write(cell, turn, before, event, asked)
            except sqlite3.Error as error:
                if of_the_store(error):
                    raise
                self.kernel.cells.pop(run, None)
                self.rows.forget()
                return self._broke(run, error)
        else:
            self._write(cell, turn, before, event, asked)
        self._send(cell, turn)
        return {each[0] for each in turn.out.notes}

    def _broke(self, run: str, error: Exception) -> set[str]:
        """The core failed on this run: it ends as ``internal``, and everything else goes on."""
        cell = self.kernel.cell(run)
        if cell is None:
            raise error
        before = cell.run.status
        asked = Asked(self.services.blocks, self.services.ids, self)
        turn = self._new_turn(cell, cell.known, asked)
        message = f"The engine failed on this run ({type(error).__name__}: {error})."
        event = m.Broke(turn.redact(message))
        try:
            run_cell.decide(turn, event)
        except Exception as second:
            self.kernel.cells.pop(run, None)
            raise second from error
        self._write(cell, turn, before, event, asked)
        self._send(cell, turn)
        return {each[0] for each in turn.out.notes}

    def _new_turn(self, cell: Cell, known: tuple[str, ...], asked: Asked) -> Turn:
        services = self.services
        return Turn(
            cell,
            self.now,
            services.evaluator,
            asked,
            asked,
            asked,
            lambda text: services.cipher.redact(text, known),
        )

    def _write(self, cell: Cell, turn: Turn, before: str, event: Event, asked: Asked) -> None:
        self.rows.save(cell, turn.out, before, self.now, Entry(event, asked.answers, cell.plan.costs))

    def _send(self, cell: Cell, turn: Turn) -> None:
        """What a turn has set going in other cells."""
        out, run = turn.out, cell.run
        for message in out.messages:
            self.post(message)
        for path, wait in out.waits.items():
            if wait is not None:
                self._judge_later(run.account, run.id, ("wait", run.id, path), path, wait.visit)
        for new in out.new_runs:
            self.start(new)
        if out.ended:
            why = _why(cell)
            for waiter, path, visit in self.store.all("dependents", run.id):
                self.post(m.RunEnded(waiter, path, visit, run.id, run.status, why))

    # --- what a turn may look at ---

    def claimed(self, task: str) -> bool:
        return self.store.one("task_claimed", task) is not None

    def peek(self, run: str) -> Peek | None:
        return self.rows.peek(run)

    def given(self, run: str) -> Json:
        return self.rows.given(run)

    def original(self, account: str, key: str) -> str | None:
        return self.kernel.original(account, key)

    # --- messages ---

    def post(self, message: m.Message) -> None:
        """Deliver in this transaction, in order; behind what is in the inbox, if anything is."""
        if self._spilling:
            self.store.run("post", _encode(message))
        else:
            self._queue.append(message)

    def _judge_later(self, account: str, run: str, thing: deadlock.Thing, path: str, visit: int) -> None:
        """Judge a wait once the messages before it have been worked."""
        judgement = _Judgement(account, run, thing, path, visit)
        if self._spilling:
            self._judge(judgement)
        else:
            self._queue.append(judgement)

    def drain(self) -> None:
        """Work the messages, and judge the waits that they have added, in order."""
        while self._queue or self._behind:
            if not self._queue:
                self._judge_behind()
                continue
            if self._worked >= self.kernel.max_messages:
                self._spill()
                return
            next = self._queue.popleft()
            if isinstance(next, _Judgement):
                self._judge(next)
            else:
                self._worked += 1
                self._deliver(next)

    def _spill(self) -> None:
        """What does not fit waits in the inbox."""
        left = list(self._queue)
        self._queue.clear()
        self._spilling = True
        rows: list[tuple[Any, ...]] = [(_encode(each),) for each in left if not isinstance(each, _Judgement)]
        self.store.many("post", rows)
        for each in left:
            if isinstance(each, _Judgement):
                self._judge(each)
        self._judge_behind()

    def _judge_behind(self) -> None:
        """A wait may have been judged before the run that it is for had joined its queue."""
        waits, self._behind = self._behind, {}
        for (account, run, path), visit in waits.items():
            self._judge(_Judgement(account, run, ("wait", run, path), path, visit))

    def _deliver(self, message: m.Message) -> None:
        if isinstance(message, m.ToKey | m.ToQueue):
            self._to_other(message)
        elif isinstance(message, m.Queued | m.BlockedByReview):
            self._log_wait(message)
        else:
            if isinstance(message, m.RunEnded):
                # Not before its waiter knows: until then a wait for one of several has this one as its way out.
                self.store.run("drop_dep", message.run, message.path, message.on, message.visit)
            self.event(message.run, message)

    def _to_other(self, message: m.ToKey | m.ToQueue) -> None:
        """To a key or a queue.  A request that these cannot store fails the run that made it; that a run
        leaves must be stored, so there the transaction fails."""
        take = self._to_key if isinstance(message, m.ToKey) else self._to_queue
        if not (self.careful and isinstance(message, m.Acquire | m.Join)):
            take(message)
            return
        before = self._queue.copy()
        try:
            with self.store.together():
                take(message)
        except sqlite3.Error as error:
            if of_the_store(error):
                raise
            self._queue = before
            if isinstance(message, m.Acquire):
                self._keys.pop((message.account, message.key), None)
                self._unsaved.pop((message.account, message.key), None)
            self._broke(message.run, error)

    def _to_key(self, message: m.ToKey) -> None:
        # Nobody else can change a key in this transaction, so it is read once.
        at = (message.account, message.key)
        known = self._keys.get(at)
        if known is None:
            known = self._keys[at] = (self.rows.key(*at), StoredTickets(self.store, *at))
        key, tickets = known
        row = key.limit, key.next_ticket, key.next_fence
        out = keys.decide(key, message, self.now, tickets)
        if row != (key.limit, key.next_ticket, key.next_fence):
            self._unsaved[at] = key
        self.rows.save_holds(key, out)
        if self.careful:
            self._save_keys()
        if out.queued:
            tickets.empty = False
        for posted in out.messages:
            self.post(posted)
        for ticket in out.waiting:
            thing = ("ticket", message.key, ticket.run)
            self._judge(_Judgement(message.account, ticket.run, thing, ticket.path, ticket.visit))
        for run in out.upgraded:
            self._judge_again(message.account, run)

    def _save_keys(self) -> None:
        for key in self._unsaved.values():
            self.rows.save_key(key)
        self._unsaved.clear()

    def _log_wait(self, message: m.Queued | m.BlockedByReview) -> None:
        """How a step waits for its key is logged; the run has nothing to decide about it."""
        cell = self.kernel.cell(message.run)
        if cell is not None:
            for each in sections.waiting(cell, message):
                self.add_event(message.run, *each, cell.known)

    def _judge_again(self, account: str, run: str) -> None:
        """A lease of the run lasts longer than before: an alternative of others may have gone."""
        for key, path, _, _ in self.store.all("tickets_of_run", run):
            self._judge_later(account, run, ("ticket", key, run), path, -1)
        for path, _ in self.store.all("waits_of", run):
            self._judge_later(account, run, ("wait", run, path), path, -1)

    def _to_queue(self, message: m.ToQueue) -> None:
        queue = self.rows.queue(message.account, message.workflow)
        line = StoredLine(self.store, message.account, message.workflow)
        out = admission.decide(queue, message, line)
        self.rows.save_queue(queue, out)
        for posted in out.messages:
            self.post(posted)
        for run in out.waiting:
            self._judge(_Judgement(message.account, run, ("slot", run), "", 0))
            for waiter, path, visit in self.store.all("dependents", run):
                self._behind[(message.account, waiter, path)] = visit

    # --- deadlock ---

    def _graph(self, account: str) -> StoredGraph:
        return StoredGraph(self.store, account, self._save_keys)

    def _judge(self, each: _Judgement) -> None:
        """Fail the wait if it could never come true."""
        account, run, thing, path, visit = each.account, each.run, each.thing, each.path, each.visit
        if thing[0] == "slot":
            self._judge_parent(account, run)
            return
        runs = deadlock.Judge(self._graph(account)).stuck(run, thing)
        if not runs:
            return
        if visit < 0:
            cell = self.kernel.cell(run)
            frame = cell.frames.get(path.rpartition("/")[0]) if cell is not None else None
            visit = frame.node.visit if frame is not None and frame.node is not None else 0
        if thing[0] == "ticket":
            what = f'The key "{thing[1]}"'
        else:
            what = "The wait"
        self.post(m.Deadlocked(run, path, visit, deadlock.sentence(run, what, runs)))

    def _judge_parent(self, account: str, run: str) -> None:
        """A child that could never be admitted: the parent's step is the wait that fails."""
        head = self.rows.head(run)
        if head is None or head.parent is None:
            return
        runs = deadlock.Judge(self._graph(account)).stuck(run, ("slot", run))
        if runs:
            parent, path, visit = head.parent
            text = deadlock.sentence(parent, "The slot of the child", runs)
            self.post(m.Deadlocked(parent, path, visit, text))


def _why(cell: Cell) -> str:
    """Why a run has failed, for those who wait for it; its fault has been redacted."""
    fault = cell.run.fault
    if cell.run.status != "failed" or fault is None:
        return ""
    return f'"{cell.run.workflow}" failed with: {fault.message.rstrip(".")} ({fault.code}).'
