"""What a turn was given besides its cell: the event, and the answers to what it asked.

With these and the time, the same core makes the same decision again; ``interlock.engine.replay`` does so.
A turn asks for ids, for how other runs stand, and what a block does; whoever answers is an `Answers`:
`Asked` passes the question on and remembers the answer, `Told` gives the remembered ones.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import msgspec

from interlock.engine.cells import messages as m
from interlock.engine.cells.turn import Peek, View
from interlock.engine.ports import Blocks, Ids, Json

MAX_JOURNAL = 16 * 1024 * 1024
"""Bytes that the journal of one run may have; what comes after is not kept."""

OVERHEAD = 64
"""Bytes that an entry counts besides its body."""


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """The first event of a run: its head as it was dispatched, as JSON."""

    head: msgspec.Raw


Event: TypeAlias = Begun | m.ToRun | m.Outside


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One turn: its event, what it asked with the answers, and what blocks cost that do not cost 1."""

    event: Event
    answers: list[tuple[str, Any]]
    costs: dict[str, int]


class Answers(Blocks, Ids, View, Protocol):
    """Everything that a turn may ask."""


class Asked:
    """Passes questions on, and remembers the answers in their order."""

    __slots__ = ("_blocks", "_ids", "_view", "answers")

    def __init__(self, blocks: Blocks, ids: Ids, view: View) -> None:
        self._blocks = blocks
        self._ids = ids
        self._view = view
        self.answers: list[tuple[str, Any]] = []

    def run(self) -> str:
        found = self._ids.run()
        self.answers.append(("run", found))
        return found

    def token(self) -> str:
        found = self._ids.token()
        self.answers.append(("token", found))
        return found

    def jitter(self) -> float:
        found = self._ids.jitter()
        self.answers.append(("jitter", found))
        return found

    def cost(self, block: str) -> int:
        return self._blocks.cost(block)

    def effects(self, block: str, params: Json) -> bool:
        found = self._blocks.effects(block, params)
        self.answers.append(("effects", found))
        return found

    def claimed(self, task: str) -> bool:
        found = self._view.claimed(task)
        self.answers.append(("claimed", found))
        return found

    def peek(self, run: str) -> Peek | None:
        found = self._view.peek(run)
        self.answers.append(("peek", found and (found.account, found.workflow, found.status)))
        return found

    def given(self, run: str) -> Json:
        found = self._view.given(run)
        self.answers.append(("given", found))
        return found

    def original(self, account: str, key: str) -> str | None:
        found = self._view.original(account, key)
        self.answers.append(("original", found))
        return found


class NotAsked(Exception):
    """A turn asks what it did not ask when it was decided first."""


class Told:
    """Gives the answers of an entry again."""

    def __init__(self, answers: list[tuple[str, Any]], costs: dict[str, int]) -> None:
        self._left = list(reversed(answers))
        self._costs = costs

    @property
    def left(self) -> list[str]:
        """What was asked then and has not been asked now."""
        return [question for question, _ in reversed(self._left)]

    def _next(self, question: str) -> Any:
        if not self._left or self._left[-1][0] != question:
            raise NotAsked(question)
        return self._left.pop()[1]

    def run(self) -> str:
        return str(self._next("run"))

    def token(self) -> str:
        return str(self._next("token"))

    def jitter(self) -> float:
        return float(self._next("jitter"))

    def cost(self, block: str) -> int:
        return self._costs.get(block, 1)

    def effects(self, block: str, params: Json) -> bool:
        return bool(self._next("effects"))

    def claimed(self, task: str) -> bool:
        return bool(self._next("claimed"))

    def peek(self, run: str) -> Peek | None:
        found = self._next("peek")
        return Peek(*found) if found is not None else None

    def given(self, run: str) -> Json:
        return self._next("given")

    def original(self, account: str, key: str) -> str | None:
        found = self._next("original")
        return None if found is None else str(found)


def size_of(body: bytes) -> int:
    """What an entry counts against `MAX_JOURNAL`."""
    return len(body) + OVERHEAD


__all__ = ["MAX_JOURNAL", "Answers", "Asked", "Begun", "Entry", "Event", "NotAsked", "Told", "size_of"]
