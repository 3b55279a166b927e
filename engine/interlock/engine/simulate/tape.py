"""A tape of what the cells decide: every turn of a run, and every decision of a key or a queue, in order.

A simulation lays a tape into its store.  From the begin of a transaction to its end, each decision of the
core is noted on it; what is rolled back is taken off again.  What the decisions should have been is the
matter of ``reference`` and ``invariants``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from interlock.engine.cells import admission, keys
from interlock.engine.cells import run as run_cell
from interlock.engine.cells.messages import Deadlocked


class Decision(msgspec.Struct):
    """One decision: of a ``run`` (its id in ``who``), a ``key`` or a ``queue`` (account and name), with the
    message that it took and the messages that it answered with; ``unheard`` is one that a run was not told."""

    cell: str
    who: Any
    message: Any = None
    answers: tuple[Any, ...] = ()


class Tape:
    """The decisions of the transaction that is open, and how many there have been in all."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.total = 0
        self.commits = 0
        self.unheard: list[Any] | None = None
        """With a list here no run hears of a deadlock: what it would have been told is kept instead."""

    def begin(self) -> None:
        self.decisions = []

    def committed(self) -> None:
        self.total += len(self.decisions)
        self.commits += 1
        if self.unheard is not None:
            self.unheard += [each.message for each in self.decisions if each.cell == "unheard"]

    @contextmanager
    def recording(self) -> Iterator[None]:
        """What is decided inside goes on this tape."""
        global _current
        _install()
        before, _current = _current, self
        try:
            yield
        finally:
            _current = before


_current: Tape | None = None
_installed = False


def _install() -> None:
    """Put a listener before the functions by which the cells decide, once for the process."""
    global _installed
    if _installed:
        return
    _installed = True
    places: list[tuple[Any, str, Callable[..., Any]]] = [
        (keys, "decide", _cell("key", keys.decide)),
        (admission, "decide", _cell("queue", admission.decide)),
        (run_cell, "begin", _turn(run_cell.begin)),
        (run_cell, "decide", _turn(run_cell.decide)),
    ]
    for module, name, listener in places:
        setattr(module, name, listener)


def _cell(kind: str, decide: Callable[..., Any]) -> Callable[..., Any]:
    name = "key" if kind == "key" else "workflow"

    def heard(cell: Any, message: Any, *given: Any) -> Any:
        out = decide(cell, message, *given)
        if _current is not None:
            who = (cell.account, getattr(cell, name))
            _current.decisions.append(Decision(kind, who, message, tuple(out.messages)))
        return out

    return heard


def _turn(decide: Callable[..., Any]) -> Callable[..., Any]:
    def heard(turn: Any, *given: Any) -> Any:
        if _current is not None and _current.unheard is not None and given and isinstance(given[0], Deadlocked):
            _current.decisions.append(Decision("unheard", turn.run.id, given[0]))
            return None
        out = decide(turn, *given)
        if _current is not None:
            _current.decisions.append(Decision("run", turn.run.id, given[0] if given else None))
        return out

    return heard
