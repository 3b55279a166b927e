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
from interlock.server.lsp.remembered import Remembered, content_of
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
        self._content: tuple[str, bytes] | None = None

    @property
    def content(self) -> bytes:
        """What stands for the text in the cache."""
        text = self.lines.text
        if self._content is None or self._content[0] is not text:
            self._content = (text, content_of(text))
        return self._content[1]

    @property
    def line_starts(self) -> list[int]:
        """Where lines start as the language ends them."""
        if self.model is not None and not self.dirty:
            return self.model.source.line_starts
        return SourceText(self.path, self.lines.text).line_starts

    def is_saved(self) -> bool:
        """Whether the text is that of the file on disk."""
        if self.version is None:
            return True
        source = read_source(self.path)
        return not isinstance(source, Unreadable) and source.text == self.lines.text

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
    """Files that are seen together.  ``diagnostics`` are those of the last check, by entry.

    With a ``memory``, files that are as they were are not read until something asks for them: ``asleep`` are
    the keys of those.
    """

    def __init__(self, root: str, territory: Territory | None) -> None:
        self.root = root
        self.territory = territory
        self.blocks: dict[str, BlockSpec] = territory.manifests.specs if territory is not None else {}
        self.judge = Judge()
        self.entries: dict[str, Entry] = {}
        self.memory = Remembered(territory.folder, territory.manifests.content) if territory is not None else None
        self.asleep: set[str] = set()
        self.stale = True
        self.diagnostics: dict[str, list[Diagnostic]] = {}

    def rests(self, entry: Entry) -> bool:
        """Whether a file on disk can wait: it is known what ties it to others."""
        return entry.version is None and self.memory is not None and self.memory.knows(entry.content)

    def files(self) -> list[FileModel]:
        return [self.entries[key].read() for key in sorted(self.entries) if key not in self.asleep]

    def program(self) -> Program:
        """The workflows of the group as they are now."""
        return self.judge.program(self.files(), self.blocks)

    def remembered(self, complete: bool, give_way: Callable[[], None]) -> list[Diagnostic]:
        """What was found before in files that are as they were; the others are read, if they sleep.

        Until every file is here, those that sleep go on doing so, and nothing is said of them.
        """
        memory = self.memory
        self.asleep = {key for key in self.asleep if key in self.entries and self.rests(self.entries[key])}
        if not self.asleep or memory is None or not complete:
            return []
        files = []
        for key in sorted(self.entries):
            entry = self.entries[key]
            files.append((entry.path, entry.content, None if key in self.asleep else entry.read()))
            give_way()
        found, judged = memory.found(files)
        self.asleep = {key for key in self.asleep if self.entries[key].path not in judged}
        return [one for key in self.asleep for one in found[self.entries[key].path]]

    def keep(self, files: list[FileModel], found: list[Diagnostic]) -> None:
        """Remembers what was found, if all is read and as it is on disk, and more than was known."""
        memory, entries = self.memory, [self.entries[key] for key in sorted(self.entries)]
        self.memory = None
        if memory is None or not entries or all(memory.knows(entry.content) for entry in entries):
            return
        if all(entry.is_saved() for entry in entries):
            contents = [(entry.path, entry.content, file) for entry, file in zip(entries, files, strict=True)]
            memory.save(contents, found)


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
            group.asleep.discard(key)
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
            group.asleep.discard(key)
        else:
            return
        group.stale = True

    def load(self, path: str) -> None:
        """A file of a workspace is taken in: read at once, unless it is known what was found in it."""
        self.refresh(path)
        entry = self.entry_of_path(path)
        if entry is None or entry.model is not None:
            return
        group = self.where[entry.key]
        if group.rests(entry):
            group.asleep.add(entry.key)
        else:
            entry.read()

    def wake_one(self) -> bool | None:
        """Reads one file that was told of from memory, once nothing is waiting to be checked.

        True where it did, False where something else comes first, None where all is read.
        """
        if any(group.stale for group in self.groups.values()):
            return False
        for group in self.groups.values():
            if group.asleep:
                key = group.asleep.pop()
                group.entries[key].read()
                group.stale = not group.asleep
                return True
        return None

    def wake_all(self) -> None:
        """Reads all files that were told of from memory: a question is about every one of them."""
        for group in self.groups.values():
            while group.asleep:
                group.entries[group.asleep.pop()].read()
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
            group.asleep.discard(key)
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
            before = group.remembered(self.complete, give_way)
            files = []
            for key in sorted(group.entries.keys() - group.asleep):
                files.append(group.entries[key].read())
                give_way()
            findings = group.judge.judge(files, group.blocks, give_way)
            found = diagnose(files, findings)
            if group.territory is not None and not self.complete:
                found = standing(files, found)
            elif not group.asleep:
                group.keep(files, found)
            found += before
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
