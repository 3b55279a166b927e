"""Deciding a run again: its journal through the core, and the first difference from what was stored.

The core is pure, so the same release decides the same from the same events, times and answers.  A
difference means another core, or a store that was changed by other hands.  Section 12 says what is
compared: the events of each turn, then the state and the status that they lead to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from interlock.engine.cells import run as run_cell
from interlock.engine.cells.journal import MAX_JOURNAL, Begun, Entry, NotAsked, Told
from interlock.engine.cells.plan import Plan
from interlock.engine.cells.state import Run, join
from interlock.engine.cells.turn import Cell, StepFault, Turn
from interlock.engine.definition import load_definition
from interlock.engine.errors import CallerError
from interlock.engine.ports import Cipher, Definition, EvaluationError, Json, Services
from interlock.engine.release import release
from interlock.engine.secrets import texts_in
from interlock.engine.shown import Difference, Event, Export, History, JournalEntry, Replayed
from interlock.engine.store.cells import redact
from interlock.engine.values import NotJson, canonical

OUTSIDE = frozenset(
    {
        "step.started",
        "task.handed_back",
        "run.deduplicated",
        "signal.refused",
        "lease.queued",
        "lease.blocked_by_review",
    }
)
"""What is logged beside the turns of a run: the core does not decide it."""


def read_export(data: bytes) -> History:
    """The history in an exported file.  `CallerError` ``bad-payload`` where it is none."""
    try:
        export = msgspec.json.decode(data, type=Export)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CallerError("bad-payload", f"This is no export of a run: {error}.") from None
    return History(export, export.status.inputs, export.journal)


def replay(history: History, services: Services, *, any_version: bool = False) -> Replayed:
    """Decide a run again.  With ``any_version`` also where another release decided it."""
    export, here = history.export, release()
    versions = tuple(dict.fromkeys(entry.version for entry in history.journal))
    status = export.status

    def found(
        same: bool | None, turns: int, difference: Difference | None = None, reason: str | None = None
    ) -> Replayed:
        return Replayed(status.run, status.workflow, versions, here, turns, same, difference, reason)

    journal = history.journal
    if not journal or journal[0].turn != 1:
        return found(None, 0, reason="The store kept no journal when this run began, so it cannot be replayed.")
    missing = next((turn for turn, entry in enumerate(journal, 1) if entry.turn != turn), None)
    if missing is not None:
        return found(None, 0, reason=f"Turn {missing} is missing in the journal of this run, so it cannot be replayed.")
    others = [version for version in versions if version != here]
    if others and not any_version:
        text = f"The run was decided by version {others[0]}, and this is {here}; replay it with that version."
        return found(None, 0, reason=text)

    def differs(turns: int, difference: Difference) -> Replayed:
        if _hidden(history):
            text = "Secrets are hidden in this export, and that alone can make a difference; replay the stored run."
            return found(None, turns, difference, text)
        return found(False, turns, difference, f"It was decided by version {others[0]}." if others else None)

    again = _Again(history, services)
    for entry in journal:
        difference = again.turn(entry)
        if difference is not None:
            return differs(again.turns, difference)
    if export.cut:
        text = f"The journal ends here, as it had {MAX_JOURNAL >> 20} MiB; so far everything is decided the same."
        return found(None, again.turns, reason=text)
    difference = again.end()
    if difference is not None:
        return differs(again.turns, difference)
    return found(True, again.turns)


def _hidden(history: History) -> bool:
    """Whether what is replayed is only what may be shown, and something of it is hidden."""
    export = history.export
    return export.hidden and history.inputs == export.status.inputs and history.journal == export.journal


class _Again:
    """The run as it is decided again, turn by turn."""

    def __init__(self, history: History, services: Services) -> None:
        self.export = history.export
        self.hidden = _hidden(history)
        self.services = services
        self.cipher: Cipher = services.cipher
        self.cell = self._first(history)
        self.turns = 0
        self._costs = _Costs()
        self.cell.plan.blocks = self._costs
        self._logged: Iterator[Event] = (each for each in self.export.events if each.kind not in OUTSIDE)

    def _first(self, history: History) -> Cell:
        entry = _typed(history.journal[0])
        definition = _definition(self.export)
        if not isinstance(entry.event, Begun):
            raise CallerError("bad-payload", "The journal of this run does not begin with its dispatch.")
        try:
            head = msgspec.json.decode(entry.event.head, type=Run)
        except msgspec.MsgspecError as error:
            raise CallerError("bad-payload", f"The journal of this run is damaged: {error}.") from None
        plan = Plan(definition, self.services.blocks)
        secret = [history.inputs.get(name) for name in plan.secret_inputs]
        known = tuple(dict.fromkeys(text for value in secret for text in texts_in(value)))
        return Cell(head, plan, history.inputs, known)

    def turn(self, entry: JournalEntry) -> Difference | None:
        """Take one turn; where it comes out otherwise than then."""
        typed = _typed(entry)
        told = Told(typed.answers, typed.costs)
        self._costs.costs = typed.costs
        self.turns += 1
        known = self.cell.known
        turn = Turn(
            self.cell,
            entry.at,
            self.services.evaluator,
            told,
            told,
            told,
            lambda text: self.cipher.redact(text, known),
        )
        try:
            run_cell.take(turn, typed.event, self.services.poison_after)
        except NotAsked as asked:
            return self._otherwise(entry, "questions", told.left, [*told.left, f"also: {asked}"])
        except (StepFault, EvaluationError, CallerError) as refusal:
            return self._otherwise(entry, "event", "taken", f"refused: {refusal}")
        except Exception as error:
            return self._otherwise(entry, "event", "taken", f"{type(error).__name__}: {error}")
        # The store numbers the values that a turn writes (see Rows.save).
        self.cell.run.seq += len(turn.out.vals)
        if told.left:
            return self._otherwise(entry, "questions", told.left, [])
        return self._compare_events(entry, turn)

    def _compare_events(self, entry: JournalEntry, turn: Turn) -> Difference | None:
        for kind, path, visit, data in turn.out.notes:
            shown = _plain(redact(self.cipher, _plain(data or {}), self.cell.known))
            logged = next(self._logged, None)
            now = {"kind": kind, "path": path, "visit": visit, "data": shown}
            then = logged and {"kind": logged.kind, "path": logged.path, "visit": logged.visit, "data": logged.data}
            if then != now:
                return self._otherwise(entry, "events", then, now)
        return None

    def _otherwise(self, entry: JournalEntry, what: str, then: Json, now: Json) -> Difference:
        name = " ".join(str(entry.event[key]) for key in ("type", "path", "name") if entry.event.get(key))
        return Difference(entry.turn, name, what, then, now)

    def end(self) -> Difference | None:
        """Where the run stands otherwise at the end than the store has it."""
        more = next(self._logged, None)
        if more is not None:
            return Difference(0, "end", "events", {"kind": more.kind, "path": more.path}, None)
        then, now = _standing(self.export), self._standing()
        for what, value in then.items():
            if self.hidden and what == "state_bytes":
                continue  # what is hidden has another length
            if now[what] != value:
                return Difference(0, "end", what, value, now[what])
        return None

    def _standing(self) -> dict[str, Json]:
        run, cell = self.cell.run, self.cell
        fault = run.fault
        outputs: Json = None
        if run.status == "completed":
            given = cell.values.get("@outputs")
            outputs = given[""] if given else cell.public()
        return {
            "status": run.status,
            "error": fault and {"code": fault.code, "message": fault.message, "path": fault.path, "visit": fault.visit},
            "state": self._shown(cell.public()),
            "outputs": self._shown(outputs),
            "attempt": run.attempt,
            "budget": {"transitions": run.transitions, "cost": run.cost, "started": run.started},
            "state_bytes": run.state_bytes,
            "positions": [
                [join(frame.prefix, node.step), node.visit, node.status, node.attempt]
                for frame in cell.frames.values()
                if (node := frame.node) is not None and node.status != "open"
            ],
            "holds": [[self._shown(key), hold.fence, hold.lifetime] for key, hold in run.holds.items()],
        }

    def _shown(self, value: Json) -> Json:
        return _plain(redact(self.cipher, _plain(value), self.cell.known))


class _Costs:
    """What blocks cost in the turn that is decided."""

    def __init__(self) -> None:
        self.costs: dict[str, int] = {}

    def cost(self, block: str) -> int:
        return self.costs.get(block, 1)

    def effects(self, block: str, params: Json) -> bool:
        raise NotAsked("effects")


def _standing(export: Export) -> dict[str, Json]:
    """How the exported run stands, in the words of `_Again._standing`."""
    status = export.status
    error, used = status.error, status.budget.used
    return {
        "status": status.status,
        "error": error and {"code": error.code, "message": error.message, "path": error.path, "visit": error.visit},
        "state": _plain(status.state),
        "outputs": _plain(status.outputs),
        "attempt": status.attempt,
        "budget": {
            "transitions": used["max_transitions"],
            "cost": used["max_cost_units"],
            "started": used["max_started_workflows"],
        },
        "state_bytes": used["max_state_bytes"],
        "positions": [[each.path, each.visit, each.status, each.attempt] for each in status.positions],
        "holds": [[each.key, each.fence, each.lifetime] for each in status.holds],
    }


def _definition(export: Export) -> Definition:
    try:
        closure = {name: canonical(value) for name, value in export.closure.items()}
        return load_definition(canonical(export.definition), closure)
    except (NotJson, CallerError) as error:
        raise CallerError("bad-payload", f"The definition in this export cannot be read: {error}") from None


def _typed(entry: JournalEntry) -> Entry:
    try:
        return msgspec.json.decode(msgspec.json.encode((entry.event, entry.answers, entry.costs)), type=Entry)
    except msgspec.MsgspecError as error:
        raise CallerError("bad-payload", f"Turn {entry.turn} of the journal cannot be read: {error}.") from None


def _plain(value: Any) -> Json:
    """As it comes back from JSON."""
    return msgspec.json.decode(msgspec.json.encode(value))


__all__ = ["read_export", "replay"]
