"""The cell of a resource key: its limit, holders, holds and tickets (section 6.3).

A lease belongs to a run; a hold is one place in the run that keeps it, and the lease ends with its last
hold.  Tickets are numbered and served in order; a grant serves all tickets of its run.  The key's row
keeps the next ticket and the next fence for ever, so no fence repeats.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from interlock.engine.cells.messages import (
    Acquire,
    BlockedByReview,
    Granted,
    MarkReview,
    Message,
    NotGranted,
    Queued,
    Refence,
    Refenced,
    Release,
    ToKey,
    Withdraw,
)


class Holder(msgspec.Struct):
    """A run that holds the key; ``holds`` maps places to lifetimes."""

    run: str
    fence: int
    since: float
    review: bool = False
    holds: dict[str, str] = {}


class Ticket(msgspec.Struct, frozen=True):
    number: int
    run: str
    path: str
    visit: int
    lifetime: str
    since: float


class Tickets(Protocol):
    """The queue of a key, of which only what is asked for is read."""

    def first(self, after: int) -> Ticket | None:
        """The first ticket with a higher number."""
        ...

    def of(self, run: str) -> list[Ticket]: ...


class Key(msgspec.Struct):
    """A key as a decision sees it.  ``limit`` is None while nobody holds or waits for it."""

    account: str
    key: str
    limit: int | None = None
    next_ticket: int = 1
    next_fence: int = 1
    holders: dict[str, Holder] = {}


class KeyChanges:
    """What a decision has changed besides the key's own row."""

    def __init__(self) -> None:
        self.put: dict[str, Holder] = {}
        self.dropped: list[str] = []
        self.holds_put: list[tuple[str, str, str]] = []
        self.holds_dropped: list[tuple[str, str]] = []
        self.queued: list[Ticket] = []
        self.unqueued: list[int] = []
        self.messages: list[Message] = []
        self.waiting: list[Ticket] = []
        """Tickets whose wait must be judged for deadlock."""
        self.upgraded: list[str] = []
        """Runs whose lease lasts longer than it did: their own waits must be judged again."""


def decide(key: Key, message: ToKey, now: float, tickets: Tickets) -> KeyChanges:
    """Take one message; changes the key in place."""
    out = KeyChanges()
    if isinstance(message, Acquire):
        _acquire(key, message, now, tickets, out)
    elif isinstance(message, Release):
        _release(key, message, tickets, out)
        _serve(key, now, tickets, out)
    elif isinstance(message, Withdraw):
        for ticket in tickets.of(message.run):
            if ticket.path == message.path:
                out.unqueued.append(ticket.number)
        _serve(key, now, tickets, out)
    elif isinstance(message, Refence):
        _refence(key, message, out)
    else:
        _mark(key, message, tickets, out)
    return out


def _acquire(key: Key, ask: Acquire, now: float, tickets: Tickets, out: KeyChanges) -> None:
    waiting = tickets.first(0)
    if key.limit is not None and key.limit != ask.limit:
        text = f'The key "{ask.key}" is in use with limit {key.limit}, and this step asks with {ask.limit}.'
        out.messages.append(NotGranted(ask.run, ask.key, ask.path, ask.visit, "limit-conflict", text))
        return
    holder = key.holders.get(ask.run)
    if holder is not None:
        _hold(holder, ask.path, ask.lifetime, out)
        out.messages.append(Granted(ask.run, ask.key, ask.path, ask.visit, holder.fence, True))
        return
    if waiting is None and len(key.holders) < ask.limit:
        key.limit = ask.limit
        _grant(key, ask.run, [(ask.path, ask.visit, ask.lifetime)], now, out)
        return
    if ask.on_busy == "skip":
        out.messages.append(NotGranted(ask.run, ask.key, ask.path, ask.visit, "skipped", ""))
    elif ask.on_busy == "fail":
        held = ", ".join(f'"{run}"' for run in key.holders)
        text = f'The key "{ask.key}" is busy: held by {held}.' if held else f'The key "{ask.key}" is busy.'
        out.messages.append(NotGranted(ask.run, ask.key, ask.path, ask.visit, "resource-busy", text))
    else:
        ticket = Ticket(key.next_ticket, ask.run, ask.path, ask.visit, ask.lifetime, now)
        key.next_ticket += 1
        out.queued.append(ticket)
        out.waiting.append(ticket)
        review = any(each.review for each in key.holders.values())
        out.messages.append(Queued(ask.run, ask.key, ask.path, ask.visit, ticket.number, review))


def _hold(holder: Holder, path: str, lifetime: str, out: KeyChanges) -> None:
    """Add a place to a lease; the longer lifetime of a place wins."""
    if holder.holds.get(path) == "run":
        lifetime = "run"
    if lifetime == "run" and "run" not in holder.holds.values():
        out.upgraded.append(holder.run)
    holder.holds[path] = lifetime
    out.holds_put.append((holder.run, path, lifetime))


def _grant(key: Key, run: str, places: list[tuple[str, int, str]], now: float, out: KeyChanges) -> None:
    holder = Holder(run, key.next_fence, now, False, {})
    key.next_fence += 1
    key.holders[run] = holder
    out.put[run] = holder
    for place, (path, visit, lifetime) in enumerate(places):
        holder.holds[path] = lifetime
        out.holds_put.append((run, path, lifetime))
        out.messages.append(Granted(run, key.key, path, visit, holder.fence, place > 0))
    if any(lifetime == "run" for _, _, lifetime in places):
        out.upgraded.append(run)


def _release(key: Key, message: Release, tickets: Tickets, out: KeyChanges) -> None:
    if message.path is None:
        out.unqueued += [ticket.number for ticket in tickets.of(message.run)]
    holder = key.holders.get(message.run)
    if holder is None:
        return
    gone = list(holder.holds) if message.path is None else [message.path]
    for path in gone:
        if holder.holds.pop(path, None) is not None:
            out.holds_dropped.append((message.run, path))
    if not holder.holds:
        del key.holders[message.run]
        out.dropped.append(message.run)


def _serve(key: Key, now: float, tickets: Tickets, out: KeyChanges) -> None:
    """Grant the next waiters while there is room; a key that nobody wants has no limit any more."""
    after = 0
    while True:
        ticket = tickets.first(after)
        while ticket is not None and ticket.number in out.unqueued:
            ticket = tickets.first(ticket.number)
        if ticket is None:
            break
        if key.limit is None or len(key.holders) >= key.limit:
            return
        mine = [each for each in tickets.of(ticket.run) if each.number not in out.unqueued]
        out.unqueued += [each.number for each in mine]
        _grant(key, ticket.run, [(each.path, each.visit, each.lifetime) for each in mine], now, out)
        after = ticket.number
    if not key.holders:
        key.limit = None


def _refence(key: Key, message: Refence, out: KeyChanges) -> None:
    holder = key.holders.get(message.run)
    if holder is None:
        return
    holder.fence = key.next_fence
    key.next_fence += 1
    out.put[message.run] = holder
    out.messages.append(Refenced(message.run, key.key, holder.fence))


def _mark(key: Key, message: MarkReview, tickets: Tickets, out: KeyChanges) -> None:
    holder = key.holders.get(message.run)
    if holder is None:
        return
    holder.review = message.open
    out.put[message.run] = holder
    ticket = tickets.first(0)
    while message.open and ticket is not None:
        out.messages.append(BlockedByReview(ticket.run, key.key, ticket.path, ticket.visit, message.run))
        ticket = tickets.first(ticket.number)
