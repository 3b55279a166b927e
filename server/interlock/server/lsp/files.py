"""URIs and paths, the workspaces of the client's folders, and which documents are workflow files at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from urllib.parse import unquote

from pygls.uris import from_fs_path, to_fs_path

from interlock.analyzer.config import DEFAULT_PATTERNS, Config, Settings
from interlock.analyzer.globs import Globs
from interlock.analyzer.source.suppressions import has_modeline
from interlock.analyzer.workspace import Workspace, around, workspaces
from interlock.server.lsp.settings import Known

_LANGUAGES = frozenset({"yaml", "yml", "interlock", "interlock-workflow", "plaintext", ""})


def path_of(uri: str) -> str | None:
    """The path of a ``file:`` URI; None for any other."""
    try:
        path = to_fs_path(uri)
    except ValueError:
        return None
    return os.path.normpath(path) if path else None


def key_of(uri: str) -> str:
    """What makes two URIs the same document: the path of a file, however it is escaped, else the URI."""
    return path_of(uri) or unquote(uri)


def uri_of(path: str) -> str:
    return from_fs_path(path) or path


class Territory:
    """One workspace: the files below a folder, what counts as a workflow file there, and its settings.

    ``manifests`` are its blocks; ``problem`` says why it cannot be looked through, where that is so.
    """

    def __init__(
        self, folder: str, config: Config, members: tuple[str, ...], known: Known, problem: str | None = None
    ) -> None:
        self.folder = folder
        self.members = members
        self.problem = problem
        self.settings = Settings(config)
        self.manifests = known.manifests(config.manifests)
        self._patterns = Globs(config.patterns)
        self._excluded = Globs(config.exclude, folders=True) if config.exclude else None

    def relative(self, path: str) -> str:
        inside = path[len(self.folder) :].lstrip(os.sep) if path.startswith(self.folder) else path
        return inside.replace(os.sep, "/")

    def named(self, path: str) -> bool:
        """Whether the path alone makes it a workflow file."""
        relative = self.relative(path)
        if self._excluded is not None and self._excluded.match(relative):
            return False
        return self._patterns.match(relative)

    def holds(self, path: str) -> bool:
        return below(path, self.folder)


def below(path: str, folder: str) -> bool:
    """Whether a path is a folder, or lies in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_workflow(territory: Territory | None, key: str, language: str, text: str, is_file: bool) -> bool:
    """Whether an open document is a workflow file: by its name, or by its first comment.

    A document that is no file yet counts, too, when it says ``workflow:`` at its margin.
    """
    if territory.named(key) if territory is not None else Globs(DEFAULT_PATTERNS).match(os.path.basename(key)):
        return True
    if language in ("interlock", "interlock-workflow"):
        return True
    if language not in _LANGUAGES:
        return False
    if has_modeline(text):
        return True
    return not is_file and (text.startswith("workflow:") or "\nworkflow:" in text)


def territories(folders: Iterable[str], known: Known | None = None, strays: Iterable[str] = ()) -> list[Territory]:
    """The workspaces of the client's folders, and those that begin inside of them.

    ``strays`` are files outside of all folders: each is seen with its neighbours, or with the workspace whose
    settings are found above it.
    """
    known = known or Known()
    found: dict[str, Territory] = {}

    def take(one: Workspace) -> None:
        if one.root.folder not in found:
            members = tuple(member.path for member in one.members)
            found[one.root.folder] = Territory(one.root.folder, one.config, members, known)

    for folder in folders:
        if not os.path.isdir(folder):
            continue
        try:
            for one in workspaces([folder], here=folder, load=known.config):
                take(one)
        except OSError as error:
            found.setdefault(folder, Territory(folder, Config(), _plainly(folder), known, str(error)))
    for path in strays:
        if os.path.isdir(os.path.dirname(path)):
            with contextlib.suppress(OSError):
                take(around(path, known.config))
    return sorted(found.values(), key=lambda one: len(one.folder), reverse=True)


def _plainly(folder: str) -> tuple[str, ...]:
    """The files that count by the defaults, where the settings cannot be read."""
    found: list[str] = []
    patterns = Globs(DEFAULT_PATTERNS)
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        found.extend(os.path.join(here, name) for name in names if patterns.match(name))
    return tuple(sorted(found))
