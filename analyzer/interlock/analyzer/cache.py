"""What was found before: links by content, and diagnostics by group of tied files.

One file of a cache folder belongs to one workspace (seen from one current folder).  Entries are found
by hashes of everything that they depend on: contents, shown paths, host blocks, and the code of the
analyzer itself; the configuration only filters what was found, so it needs no part in them.  A cache
that cannot be read or written is as good as none.  Runs side by side may overwrite each other's file,
each with a whole one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import msgspec

from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.links import Links

MOST_BYTES = 32 * 1024 * 1024
"""How large the file of one workspace may be."""
MOST_FILES = 64
"""How many workspaces are remembered; the ones used longest ago make room."""

_MAGIC = b"interlock-cache-1\n"


class _Stored(msgspec.Struct, frozen=True):
    stamp: str
    links: dict[str, Links]
    results: dict[str, list[Diagnostic]]


class Cache:
    """What is known of one workspace.  Without a ``path`` it lives as long as the process."""

    def __init__(self, path: str | None = None, stamp: str = "") -> None:
        self.path = path
        self.stamp = stamp
        self.links: dict[str, Links] = {}
        self.results: dict[str, list[Diagnostic]] = {}
        self._loaded: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        if path is not None:
            self._load(path)

    def _load(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError:
            return
        head = len(_MAGIC)
        if not data.startswith(_MAGIC) or len(data) > MOST_BYTES or data[head : head + 16] != digest(data[head + 16 :]):
            return
        try:
            stored = msgspec.msgpack.decode(data[head + 16 :], type=_Stored)
        except msgspec.MsgspecError:
            return
        if stored.stamp == self.stamp:
            self.links, self.results = stored.links, stored.results
            self._loaded = (frozenset(self.links), frozenset(self.results))

    def keep(self, links: Sequence[str], results: Sequence[str]) -> None:
        """Forgets all but these, which is what the workspace consists of now."""
        self.links = {key: self.links[key] for key in links if key in self.links}
        self.results = {key: self.results[key] for key in results if key in self.results}

    def save(self) -> None:
        """Writes what is known, if that differs from what was read."""
        if self.path is None or self._loaded == (frozenset(self.links), frozenset(self.results)):
            return
        body = msgspec.msgpack.encode(_Stored(self.stamp, self.links, self.results))
        if len(body) + len(_MAGIC) + 16 > MOST_BYTES:
            return
        folder = os.path.dirname(self.path)
        temporary = f"{self.path}.{os.getpid()}"
        try:
            os.makedirs(folder, exist_ok=True)
            with open(temporary, "wb") as file:
                file.write(_MAGIC + digest(body) + body)
            os.replace(temporary, self.path)
            _make_room(folder)
        except OSError:
            _remove(temporary)


def digest(data: bytes) -> bytes:
    """16 bytes that stand for a content."""
    try:
        # The bare function: hashlib would load OpenSSL first, which takes longer than all that is hashed.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

    return blake2b(data, digest_size=16).digest()


def group_key(members: Sequence[tuple[str, bytes]], blocks: bytes) -> str:
    """The key of a group of tied files, given as shown path and digest, in order."""
    parts = [blocks]
    for shown, content in members:
        parts += [shown.encode("utf-8", "surrogateescape"), b"\0", content]
    return digest(b"".join(parts)).hex()


def cache_for(root: str, here: str) -> Cache:
    """The cache of a workspace, as people in the folder ``here`` see its paths."""
    from interlock.analyzer.workspace import shown_path

    folder = _folder()
    if folder is None:
        return Cache()
    name = digest(f"{root}\0{shown_path(root, here)}\0{shown_path(here, root)}".encode("utf-8", "surrogateescape"))
    return Cache(os.path.join(folder, f"{name.hex()}.bin"), code_stamp())


def _folder() -> str | None:
    """Where caches are kept on this system."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not base or not os.path.isabs(base):
        return None
    return os.path.join(base, "interlock", "check")


def code_stamp() -> str:
    """Stands for the analyzer's own code: another version, or an edit while developing, changes it."""
    parts: list[str] = []
    todo = [os.path.dirname(os.path.abspath(__file__))]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        status = entry.stat()
                        parts.append(f"{entry.path} {status.st_mtime_ns} {status.st_size}")
                    elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                        todo.append(entry.path)
        except OSError:
            parts.append("?")
    return digest("\n".join(sorted(parts)).encode("utf-8", "surrogateescape")).hex()


def _make_room(folder: str) -> None:
    with os.scandir(folder) as entries:
        files = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.is_file()]
    for _, path in sorted(files)[:-MOST_FILES]:
        _remove(path)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return
