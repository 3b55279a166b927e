"""All that the server knows of: open documents and workflow files on disk, read, and judged by folder.

Everything here happens on the desk's thread.  Files that are seen together make a group: those below one
root, or a document alone that lies below none.  As long as not every file of the workspaces is known, nothing
is said that one of the others could take back.  What is said to the client, and when, is left to others.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator

from interlock.analyzer.analysis import FileModel, diagnose, read_file
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.incremental import Judge
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.model.nodes import Workflow
from interlock.analyzer.source.read import Unreadable, read_source
from interlock.analyzer.source.suppressions import has_modeline
from interlock.analyzer.source.text import SourceText
from interlock.server.lsp.document import Encoding, Lines
from interlock.server.lsp.files import Territory, below, is_workflow, key_of, path_of, uri_of
from interlock.server.lsp.standing import standing


class Entry:
    """One workflow file: open (``version`` is the client's) or as it is on disk (None)."""

    def __init__(self, key: str, uri: str, lines: Lines, version: int | None) -> None:
        self.key = key
        self.uri = uri
        self.path = path_of(uri) or uri
        self.lines = lines
        self.version = version
        self.model: FileModel | None = None
        self.dirty = True

    def read(self) -> FileModel:
        """The file as a model, of its newest text."""
        if self.dirty or self.model is None:
            text = self.lines.text
            # Only a lone CR ends a line for the client that is none for the language.
            source = SourceText(self.path, text, self.lines.starts if "\r" not in text else None)
            self.model = read_file(source, self.model)
            self.dirty = False
        return self.model


class Group:
    """Files that are seen together.  ``diagnostics`` are those of the last check, by entry."""

    def __init__(self, root: str, territory: Territory | None) -> None:
        self.root = root
        self.territory = territory
        self.blocks: dict[str, BlockSpec] = territory.blocks if territory is not None else {}
        self.judge = Judge()
        self.entries: dict[str, Entry] = {}
        self.stale = True
        self.diagnostics: dict[str, list[Diagnostic]] = {}

    def files(self) -> list[FileModel]:
        return [self.entries[key].read() for key in sorted(self.entries)]

    def program(self) -> Program:
        """The workflows of the group as they are now."""
        return self.judge.program(self.files(), self.blocks)


class View:
    """One file as a question sees it: its newest text, and the program it is a part of."""

    def __init__(self, index: Index, entry: Entry, group: Group) -> None:
        self.index = index
        self.entry = entry
        self.group = group
        self.file = entry.read()
        self.program = group.program()

    @property
    def uri(self) -> str:
        return self.entry.uri

    @property
    def lines(self) -> Lines:
        return self.entry.lines

    @property
    def text(self) -> str:
        return self.entry.lines.text

    def units(self) -> list[Unit]:
        """The workflows of this file."""
        mine = {id(workflow) for workflow in self.file.workflows}
        return [unit for unit in self.program.units if id(unit.workflow) in mine]

    def unit_at(self, offset: int) -> Unit | None:
        """The workflow in whose document an offset lies; of a file with one document that one."""
        units = self.units()
        found: Unit | None = None
        for unit in units:
            if found is None or unit.workflow.span.offset <= offset:
                found = unit
        return found

    def extent(self, unit: Unit) -> tuple[int, int]:
        """Where the YAML document of a workflow begins and ends; the first one begins with the file."""
        starts = [document.pieces[0].base for document in self.file.tree.documents if document.pieces][1:]
        after = bisect_right(starts, unit.workflow.span.offset)
        return starts[after - 1] if after else 0, starts[after] if after < len(starts) else len(self.text)


class Index:
    """``awaited`` are folders of which it is not known yet which workspaces are in them; nothing in them is judged.

    ``complete`` says that all files of the workspaces are here.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.encoding: Encoding = encoding
        self.awaited: tuple[str, ...] = ()
        self.complete = True
        self.territories: list[Territory] = []
        self.groups: dict[str, Group] = {}
        self.where: dict[str, Group] = {}

    # -- changes ----------------------------------------------------------------------------

    def put(self, uri: str, language: str, lines: Lines, version: int) -> None:
        """A document is open, with this text.  One that is no workflow file (any more) is let go."""
        key, path = key_of(uri), path_of(uri)
        if not is_workflow(self._territory(key), key, language, lines.text, path is not None):
            if key in self.where:
                self._remove(key)
            return
        group = self._group(key)
        entry = group.entries.get(key)
        if entry is None:
            group.entries[key] = Entry(key, uri, lines, version)
            self.where[key] = group
        else:
            if entry.lines.text != lines.text:
                entry.dirty = True
            entry.uri, entry.lines, entry.version = uri, lines, version
        group.stale = True  # even with the same text: what is wrong has to be told for this version

    def drop(self, uri: str) -> None:
        """A document is not open any more: what is on disk counts, where it is a workflow file there."""
        key = key_of(uri)
        group = self.where.get(key)
        if group is None:
            return
        path = path_of(uri)
        if path is not None and group.territory is not None:
            entry = group.entries[key]
            entry.version = None
            group.stale = True
            self.refresh(path)
        else:
            self._remove(key)

    def refresh(self, path: str) -> None:
        """A file on disk was made, changed or removed.  An open one is not looked at: its editor knows."""
        key = os.path.normpath(path)
        group = self._group(key)
        entry = group.entries.get(key)
        if entry is not None and entry.version is not None:
            return
        source = read_source(key)
        territory = group.territory
        if isinstance(source, Unreadable) or not (
            territory is not None and (territory.named(key) or has_modeline(source.text))
        ):
            self._remove(key)
            self._tidy(group)
            return
        if entry is None:
            group.entries[key] = Entry(key, uri_of(key), Lines(source.text, self.encoding), None)
            self.where[key] = group
        elif entry.lines.text != source.text:
            entry.lines = Lines(source.text, self.encoding)
            entry.dirty = True
        else:
            return
        group.stale = True

    def forget_below(self, folder: str) -> None:
        """A folder was removed."""
        prefix = os.path.normpath(folder) + os.sep
        for key in [key for key, group in self.where.items() if key.startswith(prefix)]:
            if self.where[key].entries[key].version is None:
                self._remove(key)

    def set_territories(self, found: list[Territory]) -> list[str]:
        """The workspaces there are now; the answer is the files on disk that have to be read.

        Documents that are open move to the group that they now belong to.
        """
        self.territories = found
        self.awaited = ()
        self.complete = False
        keep = [entry for entry in self.entries() if entry.version is not None]
        self.groups = {}
        self.where.clear()
        for entry in keep:
            group = self._group(entry.key)
            group.entries[entry.key] = entry
            self.where[entry.key] = group
        return list(dict.fromkeys(path for one in found for path in one.members))

    def wait_for(self, folders: tuple[str, ...]) -> None:
        """Folders are about to be looked through: what is said of the files in them waits for that."""
        known = {one.folder for one in self.territories}
        self.awaited = tuple(folder for folder in folders if folder not in known)

    def finish(self) -> None:
        """Every file of the workspaces is here now."""
        self.awaited = ()
        self.complete = True
        for group in self.groups.values():
            group.stale = True

    def _awaits(self, group: Group) -> bool:
        return any(below(group.root, folder) for folder in self.awaited)

    def _territory(self, key: str) -> Territory | None:
        return next((one for one in self.territories if one.holds(key)), None)

    def _group(self, key: str) -> Group:
        known = self.where.get(key)
        if known is not None:
            return known
        territory = self._territory(key)
        root = territory.folder if territory is not None else key
        if root not in self.groups:
            self.groups[root] = Group(root, territory)
        return self.groups[root]

    def _remove(self, key: str) -> None:
        group = self.where.pop(key, None)
        if group is not None:
            del group.entries[key]
            group.stale = True

    def _tidy(self, group: Group) -> None:
        """A group of nothing is none, unless files may come to it."""
        if not group.entries and group.territory is None:
            self.groups.pop(group.root, None)

    # -- questions --------------------------------------------------------------------------

    def entries(self) -> Iterator[Entry]:
        for group in self.groups.values():
            yield from group.entries.values()

    def entry(self, uri: str) -> Entry | None:
        key = key_of(uri)
        group = self.where.get(key)
        return None if group is None else group.entries.get(key)

    def entry_of_path(self, path: str) -> Entry | None:
        """The entry of a ``SourceText``'s path."""
        group = self.where.get(path) or self.where.get(key_of(path))
        if group is None:
            return None
        return group.entries.get(path) or group.entries.get(key_of(path))

    def view(self, uri: str) -> View | None:
        key = key_of(uri)
        group = self.where.get(key)
        return None if group is None else View(self, group.entries[key], group)

    def check(self, give_way: Callable[[], None]) -> list[Group]:
        """Judges every group that has changed, and tells which they were; ``give_way`` may raise to stop."""
        checked: list[Group] = []
        for group in list(self.groups.values()):
            if not group.stale or self._awaits(group):
                continue
            files = []
            for key in sorted(group.entries):
                files.append(group.entries[key].read())
                give_way()
            findings = group.judge.judge(files, group.blocks, give_way)
            found = diagnose(files, findings)
            if group.territory is not None and not self.complete:
                found = standing(files, found)
            if group.territory is not None:
                relative = {entry.path: group.territory.relative(entry.path) for entry in group.entries.values()}
                found = group.territory.settings.apply(found, relative)
            by_path: dict[str, list[Diagnostic]] = {}
            for one in found:
                by_path.setdefault(one.file, []).append(one)
            group.diagnostics = {key: by_path.get(entry.path, []) for key, entry in group.entries.items()}
            group.stale = False
            checked.append(group)
        for group in list(self.groups.values()):
            self._tidy(group)
        return checked

    def workflow_entry(self, workflow: Workflow) -> Entry | None:
        return self.entry_of_path(workflow.span.source.path)
