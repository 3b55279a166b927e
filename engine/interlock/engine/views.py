"""What people see of a store: status, listings, leases, queues, export.  Every text is redacted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from interlock.analyzer.model.nodes import BlockCall
from interlock.engine.cells.blocks import task_id
from interlock.engine.cells.journal import MAX_JOURNAL
from interlock.engine.cells.retrying import retryable
from interlock.engine.cells.state import (
    TERMINAL,
    Frame,
    Held,
    Node,
    Pause,
    Run,
    Runs,
    Signals,
    Work,
    join,
)
from interlock.engine.cells.turn import Cell
from interlock.engine.errors import CallerError, Fault
from interlock.engine.ports import Definition, Json, Services
from interlock.engine.shown import (
    AdmissionInfo,
    BudgetUse,
    ErrorInfo,
    Event,
    Export,
    History,
    HolderInfo,
    HoldInfo,
    JournalEntry,
    LeaseInfo,
    Position,
    QueueInfo,
    Replayed,
    ReviewInfo,
    RunRow,
    RunStatus,
    Stats,
    StopInfo,
    TicketInfo,
    WaiterInfo,
)
from interlock.engine.store.cells import Rows, redact
from interlock.engine.store.sqlite import SqliteStore

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_entry = msgspec.json.Decoder(tuple[dict[str, Any], list[tuple[str, Any]], dict[str, int]]).decode
_event_data = msgspec.json.Decoder(dict[str, Any]).decode
EXPORT_FORMAT = 1
BUDGETS = (
    "max_transitions",
    "max_for_each_items",
    "max_state_bytes",
    "max_cost_units",
    "max_started_workflows",
)


class Views:
    """The reading half of the kernel."""

    store: SqliteStore
    rows: Rows
    services: Services

    def cell(self, run: str) -> Cell | None:
        raise NotImplementedError

    def looking(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    def definition_of(self, run: Run) -> Definition:
        raise NotImplementedError

    def next_ready(self, tree: str | None = None, without: frozenset[str] = frozenset()) -> float | None:
        """See `ports.Kernel.next_ready`."""
        with self.looking():
            if tree is not None:
                row = self.store.one("next_ready_in", tree)
            elif without:
                row = self.store.one("next_ready_without", msgspec.json.encode(sorted(without)).decode())
            else:
                row = self.store.one("next_ready")
            return row[0] if row is not None else None

    def _cell_of(self, run: str) -> Cell:
        cell = self.cell(run)
        if cell is None:
            raise CallerError("unknown-run", f'No run "{run}" is known to this store.')
        return cell

    def status(self, run: str) -> RunStatus:
        """See `ports.Kernel.status`."""
        with self.looking():
            return self._status(self._cell_of(run))

    def _status(self, cell: Cell) -> RunStatus:
        run, known = cell.run, cell.known
        waits = [node for frame, node in _live(cell) if isinstance(node.body, Runs) or node.status == "child"]
        pending = [each for node in waits for each in _pending(node)]
        return RunStatus(
            run=run.id,
            account=run.account,
            workflow=run.workflow,
            status=run.status,
            definition_version=run.version,
            definition_hash=run.hash,
            closure_hash=run.closure_hash,
            idempotency_key=self._redacted(run.key, known),
            dispatched_at=run.dispatched_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            attempt=run.attempt,
            deadline=run.deadline,
            budget=self._budget(cell),
            inputs=self._shown_inputs(cell),
            state=self._redacted(cell.public(), known),
            outputs=self._redacted(self.rows.given(run.id), known) if run.status == "completed" else None,
            error=_error(run.fault),
            stop=self._stop(cell),
            positions=tuple(self._position(cell, frame, node) for frame, node in _live(cell)),
            holds=self._holds(cell),
            tickets=self._tickets(run),
            reviews=self._reviews(cell),
            queue=self._place(run),
            wait_type="workflow" if waits else None,
            waiting_for=tuple(dict.fromkeys(pending)),
            wait_mode=_mode(waits[0]) if waits else None,
            wait_details=tuple(self._wait_detail(cell, frame, node) for frame, node in _live(cell) if node in waits),
            parent=run.parent[0] if run.parent is not None else run.starter,
            children=tuple(each for (each,) in self.store.all("children", run.id)),
            superseded_by=run.superseded_by,
            retryable=retryable(run),
        )

    def _redacted(self, value: Json, known: tuple[str, ...]) -> Json:
        return redact(self.services.cipher, value, known)

    def _shown_inputs(self, cell: Cell) -> dict[str, Json]:
        shown: dict[str, Json] = self._redacted(cell.inputs, cell.known)
        for name in cell.plan.secret_inputs:
            if cell.inputs.get(name) is not None:
                shown[name] = "***"
        return shown

    def _budget(self, cell: Cell) -> BudgetUse:
        run, budget = cell.run, cell.plan.workflow.budget
        limits = {}
        for name in BUDGETS:
            setting = getattr(budget, name) if budget is not None else None
            limits[name] = setting.value if setting is not None else None
        used = {
            "max_transitions": run.transitions,
            "max_for_each_items": run.items,
            "max_state_bytes": run.state_bytes,
            "max_cost_units": run.cost,
            "max_started_workflows": run.started,
        }
        return BudgetUse(limits, used)

    def _stop(self, cell: Cell) -> StopInfo | None:
        run = cell.run
        if run.stop is None:
            return None
        blocked: tuple[str, ...] = ()
        if run.status not in TERMINAL:
            blocked = tuple(join(frame.prefix, node.step) for frame, node in _live(cell))
        return StopInfo(run.stop.kind, run.stop.at, blocked)

    def _position(self, cell: Cell, frame: Frame, node: Node) -> Position:
        path = join(frame.prefix, node.step)
        wakes = node.times_out
        waits_on: str | None = None
        names: list[str] = []
        body = node.body
        if isinstance(body, Work):
            claimed = self.store.one("task_claimed", task_id(cell.run.id, path, node.visit))
            if claimed is None:
                waits_on = self._worker_for(cell, frame, node, path)
                if body.ready_at > self.services.clock.now():
                    wakes = body.ready_at
        elif isinstance(body, Held):
            waits_on = f'the key "{body.key}"' if node.status == "key" else "a review"
        elif isinstance(body, Pause):
            waits_on, wakes = "time", body.until
        elif isinstance(body, Signals):
            wait: Any = cell.plan.step(frame.prefix, node.step).kind
            names = [name.value for name in wait.names if name.value not in body.got]
            waits_on = "the signal " + ", ".join(f'"{name}"' for name in names)
        else:
            waits_on = "the runs " + ", ".join(f'"{each}"' for each in _pending(node)[:10])
        if waits_on is not None:
            waits_on = self.services.cipher.redact(waits_on, cell.known)
        return Position(path, node.visit, node.status, node.attempt, waits_on, wakes, tuple(names))

    def _worker_for(self, cell: Cell, frame: Frame, node: Node, path: str) -> str:
        """What a step that nobody works on waits for, with what the last worker lacked."""
        kind = cell.plan.step(frame.prefix, node.step).kind
        block = kind.block.value if isinstance(kind, BlockCall) and kind.block is not None else ""
        waits_on = f'a worker that allows "{block}"' if block in ("shell", "python") else "a worker"
        row = self.store.one("last_handed_back", cell.run.id, path, node.visit)
        reason = _event_data(row[0]).get("reason") if row is not None and row[0] else None
        return f"{waits_on} (the last one handed it back: {reason})" if reason else waits_on

    def _wait_detail(self, cell: Cell, frame: Frame, node: Node) -> Json:
        body = node.body
        detail: dict[str, Json] = {"path": join(frame.prefix, node.step), "mode": _mode(node)}
        detail["waiting_for"] = _pending(node)
        if isinstance(body, Runs):
            detail["completed"] = list(body.done)
            if body.mode == "quorum":
                detail["quorum"] = body.quorum
        return detail

    def _holds(self, cell: Cell) -> tuple[HoldInfo, ...]:
        held = {node.body.key for _, node in _nodes(cell) if node.status == "review" and isinstance(node.body, Held)}
        found = []
        for key, hold in cell.run.holds.items():
            shown = self._redacted(key, cell.known)
            found.append(HoldInfo(shown, hold.fence, hold.lifetime, key in held))
        return tuple(found)

    def _tickets(self, run: Run) -> tuple[TicketInfo, ...]:
        found = []
        for key, path, number, since in self.store.all("tickets_of_run", run.id):
            before = self.store.one("tickets_before", run.account, key, number)
            holders = self.store.all("holders", run.account, key)
            found.append(
                TicketInfo(
                    key=self.services.cipher.redact(key, ()),
                    path=path,
                    position=(before[0] if before else 0) + 1,
                    holders=tuple(each[0] for each in holders),
                    held_for_review=any(each[3] for each in holders),
                    since=since,
                )
            )
        return tuple(found)

    def _reviews(self, cell: Cell) -> tuple[ReviewInfo, ...]:
        found = []
        for frame, node in _nodes(cell):
            body = node.body
            if node.status != "review" or not isinstance(body, Held) or body.review is None:
                continue
            reason = _error(body.review.reason)
            assert reason is not None
            found.append(
                ReviewInfo(
                    path=join(frame.prefix, node.step),
                    visit=node.visit,
                    key=body.key,
                    fence=body.fence or 0,
                    opened_at=body.review.opened_at,
                    reason=reason,
                    evidence=tuple(self._redacted(each, cell.known) for each in body.review.evidence),
                )
            )
        return tuple(found)

    def _place(self, run: Run) -> QueueInfo | None:
        place = self.store.one("waiting_place", run.id, run.account, run.workflow)
        if place is None:
            return None
        before = self.store.one("count_waiting_before", run.account, run.workflow, place[0])
        active = self.store.all("slots", run.account, run.workflow)
        return QueueInfo((before[0] if before else 0) + 1, tuple(each for (each,) in active))

    # --- listings ---

    def runs(
        self,
        *,
        account: str | None = None,
        workflow: str | None = None,
        status: str | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[RunRow]:
        """See `ports.Kernel.runs`."""
        with self.looking():
            num = 2**62
            limit = _whole(limit)
            if before is not None:
                row = self.store.one("run_num", before)
                if row is None:
                    raise CallerError("unknown-run", f'No run "{before}" is known to this store.')
                num = row[0]
            if status is not None:
                rows = self.store.all("runs_by_status", num, account, workflow, status, limit)
            elif account is not None and workflow is not None:
                rows = self.store.all("runs_by_workflow", num, account, workflow, limit)
            elif workflow is not None:
                rows = self.store.all("runs_by_name", num, workflow, limit)
            else:
                rows = self.store.all("runs_by_age", num, account, limit)
            return [RunRow(*row) for row in rows]

    def events(self, run: str | None = None, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """See `ports.Kernel.events`."""
        after, limit = _whole(after), _whole(limit)
        with self.looking():
            if run is None:
                rows = self.store.all("events_all", after, limit)
            else:
                if self.rows.version(run) is None:
                    raise CallerError("unknown-run", f'No run "{run}" is known to this store.')
                rows = self.store.all("events_of_run", run, after, limit)
            return [_event(row) for row in rows]

    def outputs(self, run: str) -> Json:
        """See `ports.Kernel.outputs`."""
        with self.looking():
            peek = self.rows.peek(run)
            if peek is None:
                raise CallerError("unknown-run", f'No run "{run}" is known to this store.')
            return self.rows.given(run) if peek.status == "completed" else None

    def leases(self, account: str = "default") -> list[LeaseInfo]:
        """See `ports.Kernel.leases`."""
        with self.looking():
            return [self._lease(account, key) for (key,) in self.store.all("keys_of_account", account)]

    def _lease(self, account: str, name: str) -> LeaseInfo:
        key = self.rows.key(account, name)
        holders = tuple(
            HolderInfo(
                each.run,
                each.fence,
                each.since,
                "run" if "run" in each.holds.values() else "step",
                each.review,
            )
            for each in key.holders.values()
        )
        waiters = tuple(
            WaiterInfo(run, path, number, since)
            for number, run, path, _, _, since in self.store.all("tickets", account, name)
        )
        return LeaseInfo(self.services.cipher.redact(name, ()), key.limit, holders, waiters)

    def queue(self, account: str = "default", workflow: str | None = None) -> list[AdmissionInfo]:
        """See `ports.Kernel.queue`."""
        with self.looking():
            names = [name for (name,) in self.store.all("queues_of_account", account)]
            return [
                AdmissionInfo(
                    name,
                    tuple(each for (each,) in self.store.all("slots", account, name)),
                    tuple(each for (each,) in self.store.all("waiting", account, name)),
                )
                for name in names
                if workflow is None or name == workflow
            ]

    def export(self, run: str) -> Export:
        """See `ports.Kernel.export`."""
        with self.looking():
            return self._history(run).export

    def replay(self, run: str, *, any_version: bool = False) -> Replayed:
        """See `ports.Kernel.replay`."""
        from interlock.engine.replay import replay

        with self.looking():
            history = self._history(run)
        return replay(history, self.services, any_version=any_version)

    def _history(self, run: str) -> History:
        """A run as it may be shown, with what was really given to it."""
        cell = self._cell_of(run)
        status, journal = self._status(cell), self._journal(run)
        definition = self.definition_of(cell.run)
        closure = {name: _decode(each.text) for name, each in definition.closure.items()}
        shown = tuple(self._shown_entry(entry, cell.known) for entry in journal)
        hidden = shown != journal or status.inputs != cell.inputs
        log = tuple(self._log(run))
        cut = cell.run.journal > MAX_JOURNAL
        export = Export(EXPORT_FORMAT, _decode(definition.text), closure, status, log, shown, hidden, cut)
        return History(export, cell.inputs, journal)

    def _log(self, run: str) -> Iterator[Event]:
        """All that was logged of a run, page by page."""
        after = 0
        while rows := self.store.all("events_of_run", run, after, 1000):
            yield from map(_event, rows)
            after = rows[-1][0]

    def _journal(self, run: str) -> tuple[JournalEntry, ...]:
        """The journal of a run, as it was."""
        found = []
        for turn, version, at, sealed, body in self.store.all("journal", run):
            event, answers, costs = _entry(self.rows.unpack(sealed, body))
            found.append(JournalEntry(turn, version, at, event, answers, costs))
        return tuple(found)

    def _shown_entry(self, entry: JournalEntry, known: tuple[str, ...]) -> JournalEntry:
        event, answers = self._redacted(entry.event, known), self._redacted(entry.answers, known)
        outcome = event.get("outcome")
        if isinstance(outcome, dict) and outcome.get("secrets"):
            event = {**event, "outcome": {**outcome, "secrets": ["***" for _ in outcome["secrets"]]}}
        return JournalEntry(
            entry.turn, entry.version, entry.at, event, [(ask, said) for ask, said in answers], entry.costs
        )

    def stats(self) -> Stats:
        """See `ports.Kernel.stats`."""
        with self.looking():
            counts = self.store.one("counts")
            assert counts is not None
            return Stats(dict(self.store.all("count_runs")), *counts)


def _whole(number: int) -> int:
    """A count or a place in the log, within what the store can count."""
    return max(0, min(number, 2**63 - 1))


def _event(row: tuple[Any, ...]) -> Event:
    seq, name, at, kind, path, visit, data = row
    return Event(seq, name, at, kind, path, visit, _event_data(data) if data else {})


def _nodes(cell: Cell) -> list[tuple[Frame, Node]]:
    return [(frame, frame.node) for frame in cell.frames.values() if frame.node is not None]


def _live(cell: Cell) -> list[tuple[Frame, Node]]:
    """The places where the run stands, without the containers around them."""
    return [(frame, node) for frame, node in _nodes(cell) if node.status != "open"]


def _pending(node: Node) -> list[str]:
    body: Any = node.body
    return list(body.pending) if isinstance(body, Runs) else [body.run]


def _mode(node: Node) -> str:
    return node.body.mode if isinstance(node.body, Runs) else "all"


def _error(fault: Fault | None) -> ErrorInfo | None:
    return ErrorInfo(fault.code, fault.message, fault.path, fault.visit) if fault is not None else None


__all__ = ["BUDGETS", "Views"]
