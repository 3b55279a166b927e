"""What another process can see of the invariants: the rows of a store at one instant, while others write to it.

The simulation's own watch (``interlock.engine.simulate``) sits inside the process that decides and hears every
decision; this one only reads, and remembers what it saw at the last look.
"""

from __future__ import annotations

from interlock.engine.cells.turn import Cell
from interlock.engine.kernel import SqliteKernel
from interlock.engine.simulate.rows import Broken, RowChecks
from interlock.engine.store.sqlite import Row


class Watch(RowChecks):
    """Looks at the whole of a kernel's store; a run that has not changed since is not looked at again."""

    def __init__(self, kernel: SqliteKernel) -> None:
        super().__init__(kernel)
        self.seen: dict[str, int] = {}
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        store = self.kernel.store
        with store.reading():
            settled = store.one("inbox", 1) is None
            for account, key in self._rows("SELECT account, key FROM keys"):
                self.key((account, key))
                if settled:
                    self.living((account, key))
            held = set(self._rows("SELECT account, key, run FROM holders"))
            if held != set(self._rows("SELECT account, key, run FROM holds")):
                raise Broken("holders and holds do not agree")
            for account, workflow in self._rows("SELECT account, workflow FROM queues"):
                self.queue((account, workflow))
                for (run,) in store.all("slots", account, workflow) if settled else ():
                    if not self.lives(run):
                        raise Broken(f"{run} ended and has a slot")
            for (run,) in self._rows("SELECT id FROM runs ORDER BY num"):
                self._run(run, settled)

    def _run(self, run: str, settled: bool) -> None:
        version = self.kernel.rows.version(run)
        if version is not None and self.seen.get(run) == version:
            return
        if settled:
            self.seen[run] = version or 0
        cell = self.kernel.rows.load(run, self.kernel.plan_of)
        assert cell is not None
        self.run(cell, settled)

    def budget(self, cell: Cell) -> None:
        run = cell.run
        done = self._rows("SELECT count(*) FROM events WHERE run = ? AND kind = 'step.completed'", run.id)[0][0]
        if run.transitions != done:
            raise Broken(f"{run.id} counts {run.transitions} of {done} transitions")
        super().budget(cell)

    def _rows(self, sql: str, *given: object) -> list[Row]:
        return self.kernel.store.query(sql, *given)
