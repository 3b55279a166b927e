"""A store of plain dictionaries: every named statement of the SQL files, without SQL and without a disk.

The kernel, its transactions and the cells are the real ones; only what SQLite does is done here, so that
campaigns can drive the core as fast as it goes.  It must answer as SQLite does: a test plays the same seeds
over both and compares what was logged.  Nothing of it is durable, and only a simulation opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from interlock.engine.simulate.tables import LeaseStatements
from interlock.engine.simulate.tape import Tape
from interlock.engine.store.sqlite import Row


class MemoryStore:
    """In place of `SqliteStore`: the same verbs over dictionaries.  For one thread."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._made = LeaseStatements()
        self._tables = self._made.t
        self._by_name: dict[str, Callable[..., Any]] = {}

    def _statement(self, name: str) -> Callable[..., Any]:
        found = self._by_name.get(name)
        if found is None:
            method = "children_of" if name == "children" else name
            found = self._by_name[name] = getattr(self._made, method)
        return found

    def run(self, name: str, *given: Any) -> None:
        self._statement(name)(*given)

    def many(self, name: str, rows: Sequence[Row]) -> None:
        act = self._statement(name)
        for row in rows:
            act(*row)

    def one(self, name: str, *given: Any) -> Row | None:
        rows: list[Row] = self._statement(name)(*given)
        return rows[0] if rows else None

    def all(self, name: str, *given: Any) -> list[Row]:
        rows: list[Row] = self._statement(name)(*given)
        return rows

    # --- transactions ---

    @contextmanager
    def together(self) -> Iterator[None]:
        mark, decided = len(self._tables.undo), len(self.tape.decisions)
        try:
            yield
        except BaseException:
            self._tables.back(mark)
            del self.tape.decisions[decided:]
            raise

    @contextmanager
    def writing(self, trace: Callable[[str], None] | None = None) -> Iterator[None]:
        with self.tape.recording():
            self.tape.begin()
            self._tables.undo.clear()
            try:
                yield
                if trace is not None:
                    trace("before-commit")
            except BaseException:
                self._tables.back(0)
                raise
            self.tape.committed()
            if trace is not None:
                trace("after-commit")

    @contextmanager
    def reading(self) -> Iterator[None]:
        yield

    def close(self) -> None:
        """Nothing to close: another kernel goes on with the same rows."""

    # --- what the checks look at ---

    def known_keys(self) -> list[tuple[str, str]]:
        return sorted(self._tables.plain["keys"])

    def known_queues(self) -> list[tuple[str, str]]:
        return sorted(self._tables.plain["queues"])

    def known_runs(self) -> list[str]:
        return list(self._tables.plain["runs"])

    def motion(self, run: str) -> dict[str, int]:
        """How many rows of each kind something of the run is in motion by."""
        of = self._tables.of
        return {
            "tasks": len(of("run_tasks", run)),
            "timers": len(of("run_timers", run)),
            "waits": len(of("waits", run)),
            "deps": len(of("deps", run)),
            "tickets": len(of("run_tickets", run)),
            "holders": len(of("run_holders", run)),
            "waiting": len(of("run_waiting", run)),
        }

    def held_keys(self, run: str) -> set[str]:
        return {key for _, key in self._tables.of("run_holders", run)}

    def count_events(self, run: str, kind: str) -> int:
        return sum(each == kind for each in self._tables.of("run_events", run).values())

    def signal_ids(self, run: str) -> set[str]:
        return {row[0] for row in self._tables.of("signals", run).values()}
