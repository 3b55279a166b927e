"""A disk that loses what was not synced: an SQLite VFS by apsw, and the engine's store over it.

The VFS passes everything on to the real file system and keeps a record of it.  From any moment of the record
an image of the disk after a loss of power can be made: what was synced is there, and of what was not, each
write is there, or is not, or only some sectors of it are, whatever the order in which they were made.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

SECTOR = 512


class Op(NamedTuple):
    """One thing that was done to a file; ``kind``: create, write, truncate, sync, delete."""

    kind: str
    file: str
    data: bytes = b""
    at: int = 0


class Record:
    """Everything that was done to the files of one store, in order; and whether the disk fails now."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.fails: Callable[[str], bool] = lambda kind: False

    def add(self, kind: str, file: str, data: bytes = b"", at: int = 0) -> None:
        self.ops.append(Op(kind, Path(file).name, data, at))


class LossyVfs(apsw.VFS):
    """The system's own VFS, recorded."""

    def __init__(self, name: str, record: Record) -> None:
        self.name = name
        self.record = record
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return LossyFile(self.record, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.record.add("delete", filename)


class LossyFile(apsw.VFSFile):
    """A file of the system's own VFS, recorded."""

    def __init__(self, record: Record, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.record = record
        self.name = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__("", name, flags)
        record.add("create", self.name)

    def xWrite(self, data: Any, offset: int) -> None:
        if self.record.fails("write"):
            raise apsw.exception_for(apsw.SQLITE_FULL)
        super().xWrite(data, offset)
        self.record.add("write", self.name, bytes(data), offset)

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self.record.add("truncate", self.name, b"", newsize)

    def xSync(self, flags: int) -> None:
        if self.record.fails("sync"):
            raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)
        super().xSync(flags)
        self.record.add("sync", self.name)


# --- what is there after a loss of power -----------------------------------------------------------


class Disk:
    """The files as far as they are safe, and what has been done to each since it was last synced."""

    def __init__(self) -> None:
        self.safe: dict[str, bytearray] = {}
        self.loose: dict[str, list[Op]] = {}

    def do(self, op: Op) -> None:
        if op.kind == "delete":
            self.safe.pop(op.file, None)
            self.loose.pop(op.file, None)
        elif op.kind == "sync":
            content = self.safe.setdefault(op.file, bytearray())
            for each in self.loose.pop(op.file, ()):
                _apply(content, each)
        elif op.kind != "create" or op.file not in self.safe:
            self.loose.setdefault(op.file, []).append(op)

    def image(self, folder: Path, choice: random.Random) -> bool:
        """Write what a loss of power now could leave into a folder; whether anything was lost."""
        folder.mkdir()
        harmed = False
        for file in sorted({*self.safe, *self.loose}):
            content = bytearray(self.safe.get(file, b""))
            keep = choice.choice([0.0, 0.5, 0.9, 1.0])
            for op in self.loose.get(file, ()):
                roll = choice.random()
                if roll < keep:
                    _apply(content, op)
                    continue
                harmed = harmed or op.kind != "create"
                if roll < keep + (1 - keep) / 2 and op.kind == "write":
                    _tear(content, op, choice)
            if file in self.safe or content or choice.random() < 0.5:
                (folder / file).write_bytes(content)
        return harmed


def _apply(content: bytearray, op: Op) -> None:
    if op.kind == "truncate":
        del content[op.at :]
        content.extend(bytes(op.at - len(content)))
    elif op.kind == "write":
        if len(content) < op.at:
            content.extend(bytes(op.at - len(content)))
        content[op.at : op.at + len(op.data)] = op.data


def _tear(content: bytearray, op: Op, choice: random.Random) -> None:
    """Only some sectors of a write have reached the disk."""
    for start in range(0, len(op.data), SECTOR):
        if choice.random() < 0.5:
            _apply(content, Op("write", op.file, op.data[start : start + SECTOR], op.at + start))


# --- the engine's store over apsw ------------------------------------------------------------------


class Connection:
    """What `SqliteStore` uses of a connection of ``sqlite3``, over one of apsw."""

    def __init__(self, path: str, vfs: str, timeout: float, cached: int) -> None:
        with _mapped():
            self._db = apsw.Connection(path, vfs=vfs, statementcachesize=cached)
            self._db.set_busy_timeout(int(timeout * 1000))

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction

    def execute(self, sql: str, given: Sequence[Any] = ()) -> Cursor:
        with _mapped():
            return Cursor(self._db.execute(sql, tuple(given)))

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        with _mapped():
            self._db.executemany(sql, [tuple(row) for row in rows])

    def set_progress_handler(self, handler: Callable[[], int] | None, steps: int) -> None:
        self._db.set_progress_handler((lambda: bool(handler())) if handler is not None else None, steps)

    def close(self) -> None:
        with _mapped():
            self._db.close()


class Cursor:
    """A cursor of apsw whose errors are those of ``sqlite3``."""

    def __init__(self, cursor: apsw.Cursor) -> None:
        self._cursor = cursor

    def fetchone(self) -> Any:
        with _mapped():
            return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        with _mapped():
            return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())


@contextmanager
def _mapped() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        kind = sqlite3.IntegrityError if isinstance(error, apsw.ConstraintError) else sqlite3.OperationalError
        made = kind(str(error))
        made.sqlite_errorcode = getattr(error, "extendedresult", apsw.SQLITE_ERROR)
        raise made from error


@contextmanager
def stores_over(vfs: str) -> Iterator[None]:
    """Stores that are opened inside lie on this VFS."""
    connect = sqlite3.connect

    def over(path: str, *, timeout: float, cached_statements: int, **_: Any) -> Connection:
        return Connection(path, vfs, timeout, cached_statements)

    sqlite3.connect = over  # type: ignore[assignment]
    try:
        yield
    finally:
        sqlite3.connect = connect  # type: ignore[assignment]
