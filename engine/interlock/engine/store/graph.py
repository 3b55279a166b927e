"""The waits of one account, as the deadlock check reads them from the store."""

from __future__ import annotations

from collections.abc import Callable

from interlock.engine.cells.deadlock import KeyLine, OpenWait, SlotLine
from interlock.engine.cells.state import TERMINAL
from interlock.engine.store.sqlite import SqliteStore


class StoredGraph:
    """A `Graph` over the store's rows in the current transaction; ``settle`` writes the rows of keys that are
    behind."""

    def __init__(self, store: SqliteStore, account: str, settle: Callable[[], None]) -> None:
        self._store = store
        self._account = account
        self._settle = settle

    def tickets(self, run: str) -> list[tuple[str, str]]:
        return [(key, path) for key, path, _, _ in self._store.all("tickets_of_run", run)]

    def waits(self, run: str) -> list[OpenWait]:
        found = []
        for path, need in self._store.all("waits_of", run):
            on = [each for (each,) in self._store.all("deps_of", run, path)]
            found.append(OpenWait(path, need, on))
        return found

    def queued(self, run: str) -> SlotLine | None:
        peek = self._store.one("run_peek", run)
        if peek is None or peek[2] != "queued":
            return None
        account, workflow = peek[0], peek[1]
        place = self._store.one("waiting_place", run, account, workflow)
        if place is None:
            return None
        active = [each for (each,) in self._store.all("slots", account, workflow)]
        earlier = [each for (each,) in self._store.all("waiting_before", account, workflow, place[0])]
        return SlotLine(place[2], active, earlier)

    def key(self, key: str) -> KeyLine:
        self._settle()
        row = self._store.one("key", self._account, key)
        limit = row[0] if row is not None and row[0] is not None else 1
        holders: dict[str, dict[str, str]] = {
            run: {} for run, _, _, _ in self._store.all("holders", self._account, key)
        }
        for run, path, lifetime in self._store.all("holds", self._account, key):
            holders[run][path] = lifetime
        waiting: dict[str, bool] = {}
        for _, run, _, _, lifetime, _ in self._store.all("tickets", self._account, key):
            waiting[run] = waiting.get(run, False) or lifetime == "run"
        return KeyLine(limit, holders, list(waiting.items()))

    def terminal(self, run: str) -> bool:
        peek = self._store.one("run_peek", run)
        return peek is None or peek[2] in TERMINAL

    def awaited(self, run: str) -> bool:
        row = self._store.one("awaited", run)
        return row is not None and bool(row[0])
