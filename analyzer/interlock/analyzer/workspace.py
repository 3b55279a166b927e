"""Which files belong together: the root of a workspace, and the workflow files in it (section 14).

A workspace is the folder of the nearest configuration, else of the enclosing git repository, else the
current folder.  Reads no more of a file than its first lines; what the files mean is decided elsewhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from interlock.analyzer.config import Config, has_settings, load_config
from interlock.analyzer.globs import Globs
from interlock.analyzer.source.suppressions import has_modeline

Kind: TypeAlias = Literal["settings", "git", "folder"]
Load: TypeAlias = Callable[[str, str], Config]

_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})
_PEEK = 1024
MOST_ENTRIES = 50_000
"""How many entries are looked at below a folder that nothing marks as a workspace."""
MOST_SECONDS = 4.0
"""And for how long."""


class Root(msgspec.Struct, frozen=True):
    """The folder of a workspace, what made it one, and its configuration file if it has one."""

    folder: str
    kind: Kind
    settings: str | None = None


class Member(msgspec.Struct, frozen=True):
    """One workflow file: where it is, how people are told of it, and its path from the root."""

    path: str
    shown: str
    relative: str


class Workspace(msgspec.Struct, frozen=True):
    """The workflow files that are seen together, in the order of their paths.

    ``wanted`` are the shown paths of those that were asked for; ``notes`` are sentences for the
    person who asked.
    """

    root: Root
    config: Config
    members: tuple[Member, ...]
    wanted: frozenset[str]
    notes: tuple[str, ...] = ()


class MissingPath(Exception):
    """A path that was named and does not exist; its text is the path."""


def shown_path(path: str, here: str) -> str:
    """A path as people see it: from the current folder where it is below that, else in full."""
    prefix = here if here.endswith(os.sep) else here + os.sep
    shown = path[len(prefix) :] if path.startswith(prefix) else path
    # A name that is not UTF-8 can be opened, but not told in JSON.
    return shown if shown.isascii() else shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def find_root(start: str) -> Root | None:
    """The workspace that a folder lies in; None where nothing marks one."""
    git: str | None = None
    folder = os.path.abspath(start)
    while True:
        settings = has_settings(folder)
        if settings is not None:
            return Root(folder, "settings", settings)
        if git is None and os.path.exists(os.path.join(folder, ".git")):
            git = folder
        above = os.path.dirname(folder)
        if above == folder:
            return None if git is None else Root(git, "git")
        folder = above


class _Asked:
    """What was named in one workspace: folders, and files."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.files: list[str] = []


def workspaces(
    paths: Iterable[str], here: str | None = None, assumed: str | None = None, load: Load | None = None
) -> list[Workspace]:
    """The workspaces of the named paths (none named: the one of the current folder).

    ``assumed`` is one of them that need not exist: the text of that file comes from elsewhere.  ``load`` reads
    the settings file at a path, of which people are told by the other one; without it one with a fault is none.
    Raises ``MissingPath`` for a path that does not exist, and ``ConfigError``.
    """
    here = os.path.abspath(here or os.getcwd())
    asked: dict[Root, _Asked] = {}
    roots: dict[str, Root | None] = {}
    stray: list[str] = []
    names: list[str | None] = list(paths)
    for name in names or [None]:
        path = os.path.normpath(os.path.join(here, name)) if name is not None else here
        if name is not None and name != assumed and not os.path.lexists(path):
            raise MissingPath(name)
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        if folder not in roots:
            roots[folder] = find_root(folder)
        root = roots[folder]
        if root is None and _below(folder, here):
            root = Root(here, "folder")
        if root is None:
            stray.append(path)
            continue
        place = asked.setdefault(root, _Asked())
        if not os.path.isdir(path):
            place.files.append(path)
        else:
            # Without a path the whole workspace is meant, not only what is below the current folder.
            place.folders.append(path if name is not None else root.folder)
    found: list[Workspace] = []
    todo = list(asked.items())
    seen = {root.folder for root in asked}
    while todo:
        root, place = todo.pop(0)
        finder = _Finder(root, here, load)
        found.append(finder.workspace(place.folders, place.files))
        for nested in finder.nested:
            if nested.folder not in seen:
                seen.add(nested.folder)
                inner = _Asked()
                inner.folders.append(nested.folder)
                todo.append((nested, inner))
    if stray:
        found.append(_stray(stray, here))
    return found


def _stray(paths: list[str], here: str) -> Workspace:
    """Named paths in no workspace and not below the current folder: seen with their neighbours."""
    folders = [path for path in paths if os.path.isdir(path)]
    files = [path for path in paths if not os.path.isdir(path)]
    top = os.path.commonpath([*folders, *map(os.path.dirname, files)])
    finder = _Finder(Root(top, "folder"), here)
    return finder.workspace(folders, files, whole=False)


def around(file: str, load: Load | None = None) -> Workspace:
    """The workspace of one file of which nobody named a folder.

    That is the folder of the nearest configuration, looked through within bounds, or else the file's own folder
    without those in it.
    """
    own = os.path.dirname(os.path.abspath(file))
    root = find_root(own)
    if root is None or root.kind != "settings":
        return _Finder(Root(own, "folder"), own, load).workspace([], [file], whole=False)
    finder = _Finder(root, root.folder, load)
    finder.bounded = True
    return finder.workspace([], [file])


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


class _Finder:
    """Finds the workflow files of one workspace."""

    def __init__(self, root: Root, here: str, load: Load | None = None) -> None:
        self.root = root
        self.here = here
        self.bounded = root.kind == "folder"
        shown = shown_path(root.settings, here) if root.settings else None
        if load is not None and root.settings is not None and shown is not None:
            self.config = load(root.settings, shown)
        else:
            self.config = load_config(root.settings, shown, root=root.folder)
        self.patterns = Globs(self.config.patterns)
        self.odd_patterns = not all(one.endswith((".yaml", ".yml")) for one in self.config.patterns)
        self.excluded = Globs(self.config.exclude, folders=True)
        self.found: dict[str, None] = {}
        self.links: list[str] = []
        self.nested: list[Root] = []
        self.notes: list[str] = []
        self.visited: set[str] = set()
        self.looked = 0
        self.until = time.monotonic() + MOST_SECONDS

    def workspace(self, folders: list[str], files: list[str], *, whole: bool = True) -> Workspace:
        """All members; ``whole`` looks through the whole root, else only beside what is named."""
        wanted: dict[str, None] = {}
        for folder in folders:
            before = len(self.nested)
            inside = self._walk(folder)
            if not inside and len(self.nested) == before:
                self.notes.append(
                    f'there is no workflow file in "{shown_path(folder, self.here) if folder != self.here else "."}" '
                    f"({', '.join(self.config.patterns)})"
                )
            wanted.update(dict.fromkeys(inside))
        asked_nested = list(self.nested)
        if whole and self.root.folder not in folders:
            self._walk(self.root.folder)
        elif not whole:
            for folder in dict.fromkeys(map(os.path.dirname, files)):
                self._folder(folder, [])
        self.nested = asked_nested
        known = {os.path.realpath(path) for path in self.found}
        for path in self.links:
            if (real := os.path.realpath(path)) not in known:
                known.add(real)
                self.found[path] = None
        wanted.update(dict.fromkeys(files))
        self.found.update(dict.fromkeys(files))
        members = [self._member(path) for path in sorted(self.found)]
        shown = frozenset(one.shown for one in members if one.path in wanted)
        return Workspace(self.root, self.config, tuple(members), shown, tuple(dict.fromkeys(self.notes)))

    def _member(self, path: str) -> Member:
        return Member(path, shown_path(path, self.here), self._relative(path))

    def _relative(self, path: str) -> str:
        relative = shown_path(path, self.root.folder)
        return relative.replace(os.sep, "/") if os.sep != "/" else relative

    def _walk(self, top: str) -> list[str]:
        """The workflow files at and below a folder; those of nested workspaces are left to them."""
        inside: list[str] = []
        todo = [top]
        while todo:
            folder = todo.pop()
            if self._enough(top):
                break
            if folder != self.root.folder and (nested := self._own_root(folder)) is not None:
                if folder != top or nested.folder != self.root.folder:
                    self.nested.append(nested)
                    continue
            todo.extend(reversed(self._folder(folder, inside)))
        return inside

    def _own_root(self, folder: str) -> Root | None:
        """The workspace that a folder inside this one begins, if it does."""
        settings = has_settings(folder)
        if settings is not None:
            return Root(folder, "settings", settings)
        if self.root.kind != "settings" and os.path.exists(os.path.join(folder, ".git")):
            return Root(folder, "git")
        return None

    def _folder(self, folder: str, inside: list[str]) -> list[str]:
        """Collects the files of one folder; the folders in it that are to be looked at are returned."""
        try:
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=_entry_name)
        except OSError:
            if folder not in self.visited:
                self.notes.append(f'"{shown_path(folder, self.here)}" cannot be looked into')
            self.visited.add(folder)
            return []
        again = folder in self.visited
        self.visited.add(folder)
        self.looked += len(ordered)
        if any(entry.name == "pyvenv.cfg" for entry in ordered):
            return []
        deeper: list[str] = []
        for entry in ordered:
            name, path = entry.name, entry.path
            if self.config.exclude and self.excluded.match(self._relative(path)):
                continue
            if again and path in self.found:
                inside.append(path)
            elif self._may_count(name, path) and _is_file(entry) and self._counts(path):
                inside.append(path)
                if entry.is_symlink():
                    self.links.append(path)
                else:
                    self.found[path] = None
            elif not name.startswith(".") and name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                deeper.append(path)
        return deeper

    def _may_count(self, name: str, path: str) -> bool:
        return name.endswith((".yaml", ".yml")) or (self.odd_patterns and self.patterns.match(self._relative(path)))

    def _counts(self, path: str) -> bool:
        """Whether a file is a workflow file by its path or its first comment (section 1)."""
        if self.patterns.match(self._relative(path)):
            return True
        try:
            with open(path, "rb") as file:
                head = file.read(_PEEK)
        except OSError:
            return False
        return b"interlock:" in head and has_modeline(head.decode("utf-8", "replace"))

    def _enough(self, top: str) -> bool:
        if not self.bounded:
            return False
        if self.looked < MOST_ENTRIES and time.monotonic() < self.until:
            return False
        self.notes.append(
            f'only a part of "{top}" was searched for workflow files, because it is large and nothing marks it as '
            f"a workspace; put an interlock.toml into the folder that is one, or name folders"
        )
        return True


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that goes round in a circle
        return False


def _entry_name(entry: os.DirEntry[str]) -> str:
    return entry.name


def member_filter(workspace: Workspace, keep: Callable[[Member], bool]) -> Workspace:
    """The workspace with fewer files asked for."""
    wanted = frozenset(one.shown for one in workspace.members if one.shown in workspace.wanted and keep(one))
    return msgspec.structs.replace(workspace, wanted=wanted)


def also_wanted(workspace: Workspace, more: Iterable[str]) -> Workspace:
    """The workspace with more files asked for."""
    return msgspec.structs.replace(workspace, wanted=workspace.wanted | frozenset(more))


def wanted_members(workspace: Workspace) -> Iterator[Member]:
    return (one for one in workspace.members if one.shown in workspace.wanted)
