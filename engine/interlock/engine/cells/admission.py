"""The cell of an admission queue: one account, one workflow name (section 6.1).

Slots are granted first come, first served; each run is judged by the limit of its own definition.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from interlock.engine.cells.messages import Admitted, Join, Message, StopAsked, ToQueue


class Waiting(msgspec.Struct, frozen=True):
    position: int
    run: str
    limit: int
    key: str | None


class Line(Protocol):
    """The queue of which only what is asked for is read."""

    def active(self) -> int: ...

    def active_with(self, key: str) -> list[str]:
        """The active runs of a supersession key."""
        ...

    def first(self, after: int) -> Waiting | None: ...

    def waiting_with(self, key: str) -> Waiting | None: ...

    def place(self, run: str) -> Waiting | None:
        """Where the run waits, if it does."""
        ...

    def holds(self, run: str) -> bool:
        """Whether the run has a slot."""
        ...


class Queue(msgspec.Struct):
    account: str
    workflow: str
    next_position: int = 1


class QueueChanges:
    def __init__(self) -> None:
        self.admitted: list[Waiting] = []
        self.joined: list[Waiting] = []
        self.left: list[int] = []
        self.freed: list[str] = []
        self.messages: list[Message] = []
        self.waiting: list[str] = []
        """Runs whose wait for a slot must be judged for deadlock."""


def decide(queue: Queue, message: ToQueue, line: Line) -> QueueChanges:
    """Take one message; changes the queue in place."""
    out = QueueChanges()
    if isinstance(message, Join):
        _join(queue, message, line, out)
    else:
        place = line.place(message.run)
        if place is not None:
            out.left.append(place.position)
        if line.holds(message.run):
            out.freed.append(message.run)
    _admit(line, out, len(out.freed))
    for entry in out.joined:
        if entry not in out.admitted:
            out.waiting.append(entry.run)
    return out


def _join(queue: Queue, ask: Join, line: Line, out: QueueChanges) -> None:
    position = queue.next_position
    if ask.policy in ("latest_waiting", "supersede") and ask.key is not None:
        replaced = line.waiting_with(ask.key)
        if replaced is not None:
            position = replaced.position
            out.left.append(replaced.position)
            out.messages.append(StopAsked(replaced.run, "supersede", ask.run))
        if ask.policy == "supersede":
            for run in line.active_with(ask.key):
                out.messages.append(StopAsked(run, "supersede", ask.run))
    if position == queue.next_position:
        queue.next_position += 1
    out.joined.append(Waiting(position, ask.run, ask.limit, ask.key))


def _admit(line: Line, out: QueueChanges, freed: int) -> None:
    """Admit from the head while the head's own limit has room."""
    active = line.active() - freed
    coming = sorted(out.joined, key=lambda entry: entry.position)
    after = 0
    while True:
        head = line.first(after)
        while head is not None and head.position in out.left:
            head = line.first(head.position)
        if coming and (head is None or coming[0].position < head.position):
            head = coming[0]
        if head is None or active >= head.limit:
            return
        if coming and head is coming[0]:
            coming.pop(0)
        out.admitted.append(head)
        out.messages.append(Admitted(head.run))
        active += 1
        after = head.position
