"""SQLite for a simulation: the real store, with a tape on it and what the checks look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from interlock.engine.simulate.tape import Tape
from interlock.engine.store.sqlite import SqliteStore

_MOTION = ("tasks", "timers", "waits", "deps", "tickets", "holders", "waiting")
_COUNTS = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table} WHERE run = ?1)" for table in _MOTION)


def motion(store: SqliteStore, run: str) -> dict[str, int]:
    """How many rows of each kind something of the run is in motion by."""
    return dict(zip(_MOTION, store.query(_COUNTS, run)[0], strict=True))


def held_keys(store: SqliteStore, run: str) -> set[str]:
    """The keys that the run holds."""
    return {key for (key,) in store.query("SELECT key FROM holders WHERE run = ?", run)}


class TapedStore(SqliteStore):
    """A `SqliteStore` whose transactions are heard."""

    def __init__(self, tape: Tape, path: str | None, synchronous: str) -> None:
        self.tape = tape
        super().__init__(path, synchronous)

    @contextmanager
    def together(self) -> Iterator[None]:
        decided = len(self.tape.decisions)
        try:
            with super().together():
                yield
        except BaseException:
            del self.tape.decisions[decided:]
            raise

    @contextmanager
    def writing(self, trace: Callable[[str], None] | None = None) -> Iterator[None]:
        def heard(point: str) -> None:
            if point == "after-commit":
                self.tape.committed()
            if trace is not None:
                trace(point)

        with self.tape.recording():
            self.tape.begin()
            with super().writing(heard):
                yield

    # --- what the checks look at ---

    def known_keys(self) -> list[tuple[str, str]]:
        return [(account, key) for account, key in self.query("SELECT account, key FROM keys")]

    def known_queues(self) -> list[tuple[str, str]]:
        return [(account, workflow) for account, workflow in self.query("SELECT account, workflow FROM queues")]

    def known_runs(self) -> list[str]:
        return [run for (run,) in self.query("SELECT id FROM runs ORDER BY num")]

    def motion(self, run: str) -> dict[str, int]:
        return motion(self, run)

    def held_keys(self, run: str) -> set[str]:
        return held_keys(self, run)

    def count_events(self, run: str, kind: str) -> int:
        found: int = self.query("SELECT count(*) FROM events WHERE run = ? AND kind = ?", run, kind)[0][0]
        return found

    def signal_ids(self, run: str) -> set[str]:
        return {id for (id,) in self.query("SELECT id FROM signals WHERE run = ?", run)}
