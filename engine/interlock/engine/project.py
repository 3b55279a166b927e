"""Definitions from workflow files: reads them, lets the analyzer judge, and refuses what has errors.

A definition is judged together with its closure (the workflows that it can start), never with its
callers.  Which files belong to a workspace is the caller's to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from interlock.analyzer.analysis import FileModel, diagnose, judge, read_file, refusing
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import Workflow
from interlock.analyzer.source.read import Unreadable, read_source
from interlock.analyzer.source.text import SourceText
from interlock.engine.definition import Stored, calls, make_definition, reachable
from interlock.engine.errors import CallerError


class Refused(CallerError):
    """A definition has errors: ``diagnostics`` are those that `check` reports, ``sources`` the texts by path."""

    def __init__(
        self, message: str, diagnostics: Sequence[Diagnostic] = (), sources: Mapping[str, SourceText] | None = None
    ) -> None:
        super().__init__("definition-refused", message)
        self.diagnostics = tuple(diagnostics)
        self.sources = dict(sources or {})


class Project:
    """Workflow files that are seen together.

    ``blocks`` are the host's, besides the built-in ones.
    """

    def __init__(self, sources: Iterable[SourceText], blocks: Mapping[str, BlockSpec] | None = None) -> None:
        self.blocks = dict(blocks or {})
        self.files: list[FileModel] = []
        self._owners: dict[str, tuple[Workflow, FileModel]] = {}
        self._diagnostics: list[Diagnostic] | None = None
        self._made: dict[str, Stored] = {}
        for source in sources:
            self.add(source)

    @classmethod
    def read(cls, paths: Iterable[str | os.PathLike[str]], blocks: Mapping[str, BlockSpec] | None = None) -> Project:
        """The project of these files; `CallerError` ``definition-refused`` where one cannot be read."""
        return cls((read_text_of(path) for path in paths), blocks)

    def add(self, source: SourceText) -> FileModel:
        """Add a file; of two workflows with one name the first one counts."""
        model = read_file(source)
        self.files.append(model)
        for workflow in model.workflows:
            if workflow.name is not None:
                self._owners.setdefault(workflow.name.value, (workflow, model))
        self._diagnostics = None
        self._made.clear()
        return model

    def put(self, source: SourceText) -> FileModel:
        """Add a file in the place of what it makes old: the file at the same path, and those whose workflows
        it all defines again.  What its workflows are called is theirs from now on.

        `Refused`, and nothing is changed, where it holds no workflow at all.
        """
        model = read_file(source)
        names = _names_of(model)
        if not names:
            raise Project([source], self.blocks)._refusal(f'"{source.path}" holds no workflow', [model], None)
        kept = [
            file
            for file in self.files
            if file.source.path != source.path and not (_names_of(file) and _names_of(file) <= names)
        ]
        self.files = [*kept, model]
        owners = [(each, file) for file in self.files for each in file.workflows]
        self._owners = {each.name.value: (each, file) for each, file in owners if each.name is not None}
        self._diagnostics = None
        self._made.clear()
        return model

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the workflows, in the order of the files."""
        return tuple(self._owners)

    @property
    def sources(self) -> dict[str, SourceText]:
        return {model.source.path: model.source for model in self.files}

    def workflow(self, name: str) -> Workflow | None:
        owner = self._owners.get(name)
        return owner[0] if owner is not None else None

    def missing(self) -> frozenset[str]:
        """Names that some workflow starts and that no file defines."""
        called = {name for workflow, _ in self._owners.values() for name in calls(workflow)}
        return frozenset(called - set(self._owners))

    def main(self, path: str) -> str:
        """The workflow that a file stands for: its only one, or the only one that no other of it starts."""
        model = next(file for file in self.files if file.source.path == path)
        workflows = [workflow for workflow in model.workflows if workflow.name is not None]
        if not workflows:
            raise self._refusal(f'"{path}" holds no workflow that could run', [model], None)
        names = [workflow.name.value for workflow in workflows if workflow.name is not None]
        started = {
            called
            for workflow in workflows
            for called in calls(workflow)
            if workflow.name and called != workflow.name.value
        }
        roots = [name for name in names if name not in started] or names
        if len(roots) > 1:
            listed = ", ".join(f'"{name}"' for name in roots)
            raise CallerError("unknown-workflow", f'"{path}" holds several workflows ({listed}); name one of them.')
        return roots[0]

    def diagnostics(self) -> list[Diagnostic]:
        """Every diagnostic of the files, as seen together."""
        if self._diagnostics is None:
            self._diagnostics = diagnose(self.files, judge(self.files, self.blocks))
        return self._diagnostics

    def definition(self, name: str) -> Stored:
        """The definition of a workflow; `Refused` where it or one that it can start has errors.

        `CallerError` ``unknown-workflow`` where no file defines the name.
        """
        made = self._made.get(name)
        if made is not None:
            return made
        owner = self._owners.get(name)
        if owner is None:
            near = nearest(name, self._owners)
            hint = f'; did you mean "{near}"?' if near is not None else "."
            raise CallerError("unknown-workflow", f'No workflow is called "{name}" here{hint}')
        closure, _ = reachable(name, self.workflow)
        wanted = {name, *closure}
        files = list({id(self._owners[each][1]): self._owners[each][1] for each in wanted}.values())
        errors = refusing(self._of(wanted, files))
        if errors:
            raise self._refusal(f'"{name}" has errors', files, wanted)
        made = self._made[name] = make_definition(owner[0], closure)
        return made

    def _of(self, wanted: set[str] | None, files: Sequence[FileModel]) -> list[Diagnostic]:
        """The diagnostics that stand in these workflows; in all of the files without names."""
        paths = {model.source.path: model for model in files}
        found = [one for one in self.diagnostics() if one.file in paths]
        if wanted is None:
            return found
        return [one for one in found if _owner(paths[one.file], one.offset) in wanted | {None}]

    def _refusal(self, what: str, files: Sequence[FileModel], wanted: set[str] | None) -> Refused:
        found = self._of(wanted, files)
        errors = refusing(found)
        if errors:
            first = errors[0]
            more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
            what += f": {first.file}:{first.line}: {first.message.rstrip('.')}{more}"
        return Refused(f"{what}.", found, self.sources)


def _names_of(model: FileModel) -> set[str]:
    return {workflow.name.value for workflow in model.workflows if workflow.name is not None}


def _owner(model: FileModel, offset: int) -> str | None:
    """The name of the workflow that a place of a file belongs to; None where it has none."""
    owner: Workflow | None = None
    for workflow in model.workflows:
        if owner is None or workflow.span.offset <= offset:
            owner = workflow
    return owner.name.value if owner is not None and owner.name is not None else None


def read_text_of(path: str | os.PathLike[str]) -> SourceText:
    """The text of a file; `CallerError` ``definition-refused`` where it cannot be read."""
    source = read_source(path)
    if isinstance(source, Unreadable):
        raise Refused(f'"{os.fspath(path)}" cannot be read: {source.reason}.')
    return source
