"""``interlock status``: where a run is, what it waits for, and why it is not moving."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from interlock.engine.client import TERMINAL, Engine
from interlock.engine.errors import CallerError
from interlock.engine.host import DEFAULT_STORE
from interlock.engine.shown import Position, RunStatus
from interlock.server.cli import engine_commands as common
from interlock.server.cli.hints import answers, in_store, settling

_BUSY = {"task": "runs"}
MOST_PAGES = 20
"""Pages of events that are looked through for what a person should know."""
MOST_CHILDREN = 20
"""Children of which more is told than their ids."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN")
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        status = engine.status(options.run_id)
        if options.json:
            common.write_json(status)
            return 0
        print("\n".join(describe(status, engine, options.store)))
    return 0


def describe(status: RunStatus, engine: Engine, store: str = DEFAULT_STORE) -> Iterator[str]:
    """The status in lines for a person."""
    yield f"{status.run}  {status.workflow}  {status.status}"
    if status.account != "default":
        yield f"  account     {status.account}"
    if status.idempotency_key is not None:
        yield f"  key         {status.idempotency_key}"
    yield f"  dispatched  {common.when(status.dispatched_at)}"
    if status.ended_at is not None:
        yield f"  ended       {common.when(status.ended_at)}"
    if status.attempt > 1:
        yield f"  attempt     {status.attempt}"
    if status.deadline is not None and status.ended_at is None:
        yield f"  deadline    {common.when(status.deadline)}"
    yield from _family(status, engine)
    yield from _standing(status, engine, store)
    yield from _budget(status)
    for name, value in status.inputs.items():
        yield f"  input       {name} = {common.short(value)}"
    for name, value in status.state.items():
        yield f"  state       {name} = {common.short(value)}"
    if status.status == "completed":
        yield f"  outputs     {common.short(status.outputs, 400)}"
    yield from _end(status, store)
    yield from _not_undone(status, engine)
    version = f"{status.definition_version}, " if status.definition_version else ""
    yield f"  definition  {version}{status.definition_hash[:16]} (closure {status.closure_hash[:16]})"


def _not_undone(status: RunStatus, engine: Engine) -> Iterator[str]:
    """Compensations that failed: what they should have taken back still stands."""
    if status.status not in TERMINAL or status.status == "completed":
        return
    after = 0
    for _ in range(MOST_PAGES):
        found = engine.events(status.run, after=after)
        for event in found:
            if event.kind == "compensation.failed":
                said = str(event.data.get("message", "")).rstrip(".")
                yield f"  not undone  {event.path}: {said} ({event.data.get('code', '')})"
        if not found:
            return
        after = found[-1].seq


def _family(status: RunStatus, engine: Engine) -> Iterator[str]:
    if status.parent is not None:
        yield f"  parent      {status.parent}"
    for number, child in enumerate(status.children):
        yield f"  child       {child}{_told(engine, child) if number < MOST_CHILDREN else ''}"
    if status.superseded_by is not None:
        yield f"  superseded  by {status.superseded_by}"


def _told(engine: Engine, child: str) -> str:
    try:
        status = engine.status(child)
    except CallerError:
        return ""  # it has been pruned
    return f"  {status.workflow}  {status.status}"


def _standing(status: RunStatus, engine: Engine, store: str) -> Iterator[str]:
    """Where each branch is, what it waits for, what the run holds."""
    if status.queue is not None:
        by = ", ".join(status.queue.blocked_by) or "nobody"
        yield f"  queue       place {status.queue.position}, the slots are held by {by}"
    for position in status.positions:
        yield f"  at          {position.path}: {reason(status, position, engine)}"
        if position.waits_for:
            yield f"              answer with: {answers(status.run, position.waits_for, store)}"
    for hold in status.holds:
        held = ", in review" if hold.review else ""
        yield f'  holds       "{hold.key}" (fence {hold.fence}, for the {hold.lifetime}{held})'
    for review in status.reviews:
        yield f"  review      {review.path}, open since {common.when(review.opened_at)}: {review.reason.message}"
        yield f"              settle it: {settling(status.run, review.path, store)}"
        for evidence in review.evidence:
            yield f"              late result: {common.short(evidence)}"
    if status.stop is not None:
        blocked = f", waiting for {', '.join(status.stop.blocked_by)}" if status.stop.blocked_by else ""
        yield f"  stop        {status.stop.kind}, asked at {common.when(status.stop.at)}{blocked}"


def reason(status: RunStatus, position: Position, engine: Engine) -> str:
    """Why a line of the run does not move, with those who hold what it waits for."""
    for ticket in status.tickets:
        if ticket.path == position.path:
            since = _held_since(engine, status.account, ticket.key, ticket.holders)
            review = ", in review" if ticket.held_for_review else ""
            holders = ", ".join(ticket.holders) or "nobody yet"
            return (
                f'waits for the key "{ticket.key}", held by {holders}{since}{review}; place {ticket.position} in line'
            )
    words = f"waits for {position.waits_on}" if position.waits_on else _BUSY.get(position.status, position.status)
    if position.attempt > 1:
        words += f" (attempt {position.attempt})"
    if position.wakes_at is not None:
        words += f", until {common.when(position.wakes_at)}"
    return words


def _held_since(engine: Engine, account: str, key: str, holders: tuple[str, ...]) -> str:
    for lease in engine.leases(account):
        if lease.key == key:
            times = [holder.since for holder in lease.holders if holder.run in holders]
            return f" since {common.when(min(times))}" if times else ""
    return ""


def _budget(status: RunStatus) -> Iterator[str]:
    for name, limit in status.budget.limits.items():
        used = status.budget.used.get(name, 0)
        if limit is not None:
            yield f"  budget      {name.removeprefix('max_')} {used:,}/{limit:,}"


def _end(status: RunStatus, store: str) -> Iterator[str]:
    if status.error is None:
        return
    place = f" at {status.error.path}" if status.error.path else ""
    yield f"  error       {status.error.code}{place}: {status.error.message}"
    if status.retryable:
        yield f"              go on from there: interlock retry {status.run}{in_store(store)}"
