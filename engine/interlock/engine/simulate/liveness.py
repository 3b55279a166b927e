"""Who waits for whom, once nothing moves by itself any more: every run must in the end wait for a person.

To be asked when all faults have stopped, no work is left and no timer is near.  A run is excused that waits
for a signal or a review, and one that waits, over however many others, for such a run: for a key that it
holds or is queued for earlier, for a slot, or for its end.  Whoever else is open will wait for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.engine.cells.state import TERMINAL

if TYPE_CHECKING:
    from interlock.engine.kernel import SqliteKernel


def waits_for_nobody(kernel: SqliteKernel) -> list[str]:
    """The open runs that wait neither for a person nor for a run that does, each with its status."""
    with kernel.looking():
        rows = [(run, account, status) for run, account, _, status, *_ in kernel.store.all(
            "runs_by_age", 2**62, None, 1_000_000
        ) if status not in TERMINAL]  # fmt: skip
        ahead = {run: _ahead(kernel, run, account) for run, account, _ in rows}
        excused = {run for run, _, _ in rows if _asks(kernel, run)}
    behind: dict[str, list[str]] = {}
    for run, others in ahead.items():
        for other in others:
            behind.setdefault(other, []).append(run)
    todo = list(excused)
    while todo:
        for run in behind.get(todo.pop(), ()):
            if run not in excused:
                excused.add(run)
                todo.append(run)
    return [f"{run} ({status})" for run, _, status in rows if run not in excused]


def _asks(kernel: SqliteKernel, run: str) -> bool:
    cell = kernel.cell(run)
    assert cell is not None
    return any(frame.node is not None and frame.node.status in ("signal", "review") for frame in cell.frames.values())


def _ahead(kernel: SqliteKernel, run: str, account: str) -> set[str]:
    """The runs that a run waits for, whatever for."""
    store = kernel.store
    found: set[str] = set()
    for key, _, number, _ in store.all("tickets_of_run", run):
        found |= {row[0] for row in store.all("holders", account, key)}
        found |= {row[1] for row in store.all("tickets", account, key) if row[0] < number}
    for path, _ in store.all("waits_of", run):
        found |= {on for (on,) in store.all("deps_of", run, path)}
    peek = store.one("run_peek", run)
    assert peek is not None
    place = store.one("waiting_place", run, account, peek[1])
    if place is not None:
        found |= {each for (each,) in store.all("slots", account, peek[1])}
        found |= {each for (each,) in store.all("waiting_before", account, peek[1], place[0])}
    return found - {run}
