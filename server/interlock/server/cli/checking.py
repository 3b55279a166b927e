"""What ``interlock check`` does before anything is printed: files, settings, diagnostics.

Reports, fixes and exit codes are the part of ``check``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence

import msgspec

from interlock.analyzer.batch import Batch, Blocks, Loaded, load, load_blocks, load_bytes
from interlock.analyzer.cache import Cache, cache_for
from interlock.analyzer.config import Choice, ConfigError, Settings, cannot
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.rules.catalog import advice, can_suppress, find_rule
from interlock.analyzer.source.read import MAX_BYTES
from interlock.analyzer.source.text import SourceText
from interlock.analyzer.workspace import Workspace, also_wanted, workspaces
from interlock.server.cli.main import UsageError


class Asked(msgspec.Struct, frozen=True):
    """What the command line asks for.  ``stdin`` is the text for the file ``stdin_name``."""

    paths: tuple[str, ...] = ()
    choice: Choice = Choice()
    cached: bool = True
    stdin: bytes | None = None
    stdin_name: str | None = None
    changed_since: str | None = None


class Checked(msgspec.Struct, frozen=True, eq=False):
    """One workspace and what was found in it; ``batch`` holds all its files, ``wanted`` those asked for."""

    workspace: Workspace
    settings: Settings
    batch: Batch
    blocks: Blocks
    wanted: tuple[Loaded, ...]
    found: list[Diagnostic]
    relative: dict[str, str]


class Result(msgspec.Struct, frozen=True, eq=False):
    """All that was asked for; ``complaints`` are lines about what could not be read."""

    checked: tuple[Checked, ...]
    complaints: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def found(self) -> list[Diagnostic]:
        return sorted((one for part in self.checked for one in part.found), key=lambda one: one.order)

    @property
    def files(self) -> list[str]:
        return sorted(one.shown for part in self.checked for one in part.wanted)

    @property
    def relative(self) -> dict[str, str]:
        return {shown: path for part in self.checked for shown, path in part.relative.items()}

    @property
    def sources(self) -> dict[str, SourceText]:
        sources = {one.shown: one.source for part in self.checked for one in part.batch.files}
        for part in self.checked:
            if part.workspace.config.source is not None:
                sources[part.workspace.config.source.path] = part.workspace.config.source
        return sources


def choice_of(select: Sequence[str], ignore: Sequence[str]) -> tuple[Choice, list[str]]:
    """The rules named on the command line, and warnings about those that nothing can silence."""
    warnings: list[str] = []
    chosen = frozenset(_codes("--select", select)) if select else None
    ignored: set[str] = set()
    for code in _codes("--ignore", ignore):
        rule = find_rule(code)
        assert rule is not None
        if can_suppress(rule):
            ignored.add(code)
        else:
            warnings.append(f"--ignore {rule.name}: {cannot(rule)[0]}")
    return Choice(chosen, frozenset(ignored)), warnings


def _codes(option: str, words: Iterable[str]) -> list[str]:
    codes = []
    for word in (part.strip() for given in words for part in given.split(",")):
        if not word:
            continue
        rule = find_rule(word)
        if rule is None:
            raise UsageError(f'{option}: no rule is called "{word}"; {advice(word)}')
        codes.append(rule.code)
    return codes


def check(asked: Asked, processes: int = 1, progress: Callable[[int], None] | None = None) -> Result:
    """Checks what is asked for.  Raises ``UsageError``, also for settings that cannot be used."""
    here = os.getcwd()
    complaints: list[str] = []
    paths = list(asked.paths)
    for path in asked.paths:
        if path != asked.stdin_name and not os.path.lexists(path):
            complaints.append(f'"{path}" cannot be read: no such file or folder.')
            paths.remove(path)
    if not paths and asked.paths:
        return Result((), tuple(complaints), ())
    try:
        spaces = workspaces(paths, here, asked.stdin_name)
        checked = [_one(space, asked, here, processes, progress, complaints) for space in spaces]
    except ConfigError as error:
        raise UsageError(str(error)) from error
    notes = dict.fromkeys(note for space in spaces for note in space.notes)
    return Result(tuple(checked), tuple(complaints), tuple(notes))


def _one(
    space: Workspace,
    asked: Asked,
    here: str,
    processes: int,
    progress: Callable[[int], None] | None,
    complaints: list[str],
) -> Checked:
    named = space.wanted
    if asked.changed_since is not None:
        from interlock.server.cli.git import changed_only

        space = changed_only(space, asked.changed_since)
    files: list[Loaded] = []
    stdin_path = os.path.normpath(os.path.join(here, asked.stdin_name)) if asked.stdin_name else None
    for member in space.members:
        if asked.stdin is not None and member.path == stdin_path:
            found = load_bytes(asked.stdin, member.shown)
        else:
            found = load(member.path, member.shown)
        if isinstance(found, Loaded) and member.path != stdin_path and _is_stranger(found):
            complaints.append(f'"{member.shown}" is no workflow file: it has neither "workflow" nor "steps".')
        elif isinstance(found, Loaded):
            files.append(found)
        elif member.shown in space.wanted:
            complaints.append(f'"{member.shown}" cannot be read: {found.reason}.')
    cache = cache_for(space.root.folder, here) if asked.cached else Cache()
    blocks = load_blocks(space.config, here)
    batch = Batch(files, blocks, cache, processes, progress)
    if asked.changed_since is not None:
        space = also_wanted(space, batch.callers(space.wanted) & named)
    settings = Settings(space.config, asked.choice)
    relative = {member.shown: member.relative for member in space.members}
    found_all = [*space.config.problems, *batch.check(space.wanted)]
    if asked.stdin is None:
        cache.save()
    wanted = tuple(one for one in files if one.shown in space.wanted)
    return Checked(space, settings, batch, blocks, wanted, settings.apply(found_all, relative), relative)


_YAML = (".yaml", ".yml", ".json")
_SIGN = re.compile(r"^(?:[\s{,]*[\"']?(?:workflow|steps)[\"']?\s*:|#\s*interlock:\s*workflow\b)", re.MULTILINE)


def _is_stranger(file: Loaded) -> bool:
    """Whether a file that was named is of another kind: nothing in its name or its text is a workflow's."""
    text = file.source.text
    return not file.shown.lower().endswith(_YAML) and bool(text.strip()) and _SIGN.search(text) is None


def read_stdin() -> bytes:
    if sys.stdin is None:
        raise UsageError("there is no stdin to read")
    return sys.stdin.buffer.read(MAX_BYTES + 1)
