"""The SQLite connection: opening and checking a store, transactions, and errors as section 12's codes."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from interlock.engine.errors import CallerError
from interlock.engine.store.queries import migrations, statements

APPLICATION_ID = 0x494C4B31
BUSY_SECONDS = 10.0
CHECK_SECONDS = 2.0
_DIALECT = "sqlite"

Row = tuple[Any, ...]


class SqliteStore:
    """One connection to one store.  Not thread-safe by itself: the kernel's lock serializes its use."""

    def __init__(self, path: str | None, synchronous: str = "FULL", *, busy: float = BUSY_SECONDS) -> None:
        """Open or make the store at ``path`` (None: in memory).  Raises CallerError ``store-…``."""
        self.path = path
        self.sql = statements(_DIALECT)
        self.steps = migrations(_DIALECT)
        if path is not None:
            _make_folder(path)
        with mapped():
            self._db = sqlite3.connect(
                path or ":memory:",
                timeout=busy,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=512,
            )
        try:
            with mapped():
                self._prepare(synchronous)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, synchronous: str) -> None:
        run = self._db.execute
        newest = self.steps[-1][0]
        version, owner, tables = self._found()
        if tables and owner != APPLICATION_ID:
            raise CallerError("store-corrupt", f'"{self.path}" is a database of something else.')
        if version > newest:
            raise CallerError(
                "store-newer",
                f"The store has version {version}, and this program knows {newest}; use a newer program.",
            )
        if tables:
            self._check()
        if self.path is not None:
            run("PRAGMA journal_mode=WAL")
        run(f"PRAGMA synchronous={synchronous}")
        run("PRAGMA temp_store=MEMORY")
        run("PRAGMA cache_size=-32000")
        run("PRAGMA wal_autocheckpoint=8000")
        if version < newest:
            self._migrate()

    def _found(self) -> tuple[int, int, int]:
        """The version, the owner and the number of tables, all of one moment: another process may be making them."""
        ask = ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
        self._db.execute("BEGIN")
        try:
            version, owner, tables = (self._db.execute(sql).fetchone()[0] for sql in ask)
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        return version, owner, tables

    def _check(self) -> None:
        """Look for damage, for a bounded time: what has not been seen by then is not judged."""
        until = time.monotonic() + CHECK_SECONDS
        self._db.set_progress_handler(lambda: int(time.monotonic() > until), 20_000)
        try:
            found = self._db.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
                raise
            return
        finally:
            self._db.set_progress_handler(None, 0)
        if found is not None and found[0] != "ok":
            lines = [line for line in found[0].splitlines() if not line.startswith("***")]  # a heading
            raise CallerError("store-corrupt", f"The store is damaged: {'; '.join(lines) or found[0]}.")

    def _migrate(self) -> None:
        """Bring the store to the newest version, each step in a transaction of its own."""
        run = self._db.execute
        for number, script in self.steps:
            run("BEGIN IMMEDIATE")
            try:
                version = run("PRAGMA user_version").fetchone()[0]
                if version < number:
                    for statement in _split(script):
                        run(statement)
                    run(f"PRAGMA application_id={APPLICATION_ID}")
                    run(f"PRAGMA user_version={number}")
                run("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    run("ROLLBACK")
                raise

    # --- statements ---

    def run(self, name: str, *given: Any) -> None:
        self._db.execute(self.sql[name], given)

    def many(self, name: str, rows: Sequence[Row]) -> None:
        self._db.executemany(self.sql[name], rows)

    def one(self, name: str, *given: Any) -> Row | None:
        row: Row | None = self._db.execute(self.sql[name], given).fetchone()
        return row

    def all(self, name: str, *given: Any) -> list[Row]:
        return self._db.execute(self.sql[name], given).fetchall()

    def query(self, sql: str, *given: Any) -> list[Row]:
        """Any reading statement: for the checks of a simulation, nothing else."""
        return self._db.execute(sql, given).fetchall()

    def explain(self, name: str, *given: Any) -> str:
        """The plan of a statement, for tests that hold it to an index."""
        rows = self._db.execute("EXPLAIN QUERY PLAN " + self.sql[name], given).fetchall()
        return "\n".join(str(row[3]) for row in rows)

    # --- transactions ---

    @contextmanager
    def together(self) -> Iterator[None]:
        """Inside a transaction: all of this or nothing, whatever becomes of the rest."""
        self.run("mark")
        try:
            yield
        except BaseException:
            # After some errors SQLite itself has ended the whole transaction.
            if self._db.in_transaction:
                self.run("undo")
                self.run("keep")
            raise
        self.run("keep")

    @contextmanager
    def writing(self, trace: Callable[[str], None] | None = None) -> Iterator[None]:
        """A transaction that owns the store: all of it or nothing."""
        with mapped():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                if trace is not None:
                    trace("before-commit")
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            if trace is not None:
                trace("after-commit")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One consistent look at the store."""
        with mapped():
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def close(self) -> None:
        with mapped():
            self._db.close()


def _make_folder(path: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CallerError("store-readonly", f'The folder "{folder}" cannot be made: {reason}.') from error


def _split(script: str) -> Iterator[str]:
    """The statements of a script; SQLite itself says where one is complete."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


_CODES = {
    sqlite3.SQLITE_BUSY: ("store-busy", "Another process holds the store; try again."),
    sqlite3.SQLITE_LOCKED: ("store-busy", "Another process holds the store; try again."),
    sqlite3.SQLITE_FULL: ("store-full", "The disk is full; nothing was stored."),
    sqlite3.SQLITE_READONLY: ("store-readonly", "The store cannot be written to; check its permissions."),
    sqlite3.SQLITE_CANTOPEN: ("store-readonly", "The store cannot be opened; check its path and permissions."),
    sqlite3.SQLITE_PERM: ("store-readonly", "The store cannot be opened; check its permissions."),
    sqlite3.SQLITE_AUTH: ("store-readonly", "The store cannot be written to; check its permissions."),
    sqlite3.SQLITE_IOERR: ("store-full", "The store could not be written (disk I/O error)."),
    sqlite3.SQLITE_CORRUPT: ("store-corrupt", "The store is damaged; restore a backup."),
    sqlite3.SQLITE_NOTADB: ("store-corrupt", "The file is no store (not a database)."),
}


def of_the_store(error: sqlite3.Error) -> bool:
    """Whether an error is about the store as a whole, and not about what was just written."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.ProgrammingError) or code is None or code & 0xFF in _CODES


@contextmanager
def mapped() -> Iterator[None]:
    """SQLite's errors as a caller's error with a code of section 12."""
    try:
        yield
    except UnicodeEncodeError as error:  # a name or a key that a caller made of something else than text
        word = error.object.encode("utf-8", "replace").decode()
        message = f'"{word[:60]}" holds half of a surrogate pair, which is no character; write it in UTF-8.'
        raise CallerError("bad-payload", message) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        known = _CODES.get(code & 0xFF) if code is not None else None
        if known is None:
            if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
                known = ("store-readonly", "The store is closed.")
            else:
                raise
        raise CallerError(*known) from error
