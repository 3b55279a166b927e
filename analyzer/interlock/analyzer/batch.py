"""Checking the files of a workspace: only what has changed, and what is tied to what has changed.

Goes from loaded texts to diagnostics through the cache.  Which files there are, and what is reported
of what was found, is decided elsewhere; nothing of the analyzer proper is imported where the cache
has every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.cache import Cache, digest, group_key
from interlock.analyzer.config import Config, ConfigError
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.links import Links, closure, groups
from interlock.analyzer.source.read import Unreadable, decode, read_bytes
from interlock.analyzer.source.text import SourceText
from interlock.analyzer.workspace import shown_path

if TYPE_CHECKING:
    from interlock.analyzer.analysis import FileModel
    from interlock.analyzer.language.blocks import BlockSpec


class Loaded(msgspec.Struct, frozen=True, eq=False):
    """The text of one file under the path that people see; ``content`` stands for the text."""

    shown: str
    source: SourceText
    content: bytes
    had_bom: bool = False


def loaded(shown: str, text: str, had_bom: bool = False) -> Loaded:
    return Loaded(shown, SourceText(shown, text), digest(text.encode("utf-8", "surrogatepass")), had_bom)


def load(path: str, shown: str) -> Loaded | Unreadable:
    """Reads one file."""
    data = read_bytes(path)
    return data if isinstance(data, Unreadable) else load_bytes(data, shown)


def load_bytes(data: bytes, shown: str) -> Loaded | Unreadable:
    text = decode(data)
    if isinstance(text, Unreadable):
        return text
    content = digest(data[3:] if text.had_bom else data)
    return Loaded(shown, SourceText(shown, text.text), content, text.had_bom)


class Blocks:
    """The blocks of a host, from the contents of manifests by shown path.

    They are read when they are first needed; ``content`` stands for them in the cache.
    """

    def __init__(self, manifests: Mapping[str, bytes] | None = None) -> None:
        self.manifests = dict(manifests or {})
        self.content = digest(b"".join(digest(data) for data in self.manifests.values()))

    @cached_property
    def specs(self) -> dict[str, BlockSpec]:
        """The blocks by name; of two alike the last one stands.  Raises ``ConfigError``."""
        from interlock.analyzer.language.blocks import load_manifest

        specs: dict[str, BlockSpec] = {}
        for shown, data in self.manifests.items():
            found, problems = load_manifest(data)
            for problem in problems:
                line = data.count(b"\n", 0, problem.offset) + 1 if problem.offset is not None else None
                place = f"{shown}:{line}" if line is not None else shown
                raise ConfigError(f"{place}: {problem.where + ': ' if problem.where else ''}{problem.message}")
            specs.update(found)
        return specs


def load_blocks(config: Config, here: str) -> Blocks:
    """The blocks of a workspace.  Raises ``ConfigError`` where a manifest cannot be read."""
    manifests: dict[str, bytes] = {}
    for path in config.manifests:
        shown = shown_path(path, here)
        try:
            with open(path, "rb") as file:
                manifests[shown] = file.read()
        except OSError as error:
            reason = (error.strerror or "input/output error").lower()
            raise ConfigError(f"{shown}: the manifest of blocks cannot be read: {reason}") from error
    return Blocks(manifests)


class Batch:
    """The files of a workspace that are seen together.

    ``processes`` is how many may be used; ``progress`` is told, before long work, of how many files.
    """

    def __init__(
        self,
        files: Sequence[Loaded],
        blocks: Blocks | None = None,
        cache: Cache | None = None,
        processes: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.files = list(files)
        self.blocks = blocks or Blocks()
        self.cache = cache or Cache()
        self.processes = processes
        self.progress = progress
        self.models: dict[int, FileModel] = {}

    def check(self, wanted: Iterable[str] | None = None) -> list[Diagnostic]:
        """Every diagnostic in the wanted files (None: in all), in the order of files and text."""
        asked = {one.shown for one in self.files} if wanted is None else set(wanted)
        parts = groups(self._links())
        keys = {part[0]: self._key(part) for part in parts}
        numbers = [number for number, one in enumerate(self.files) if one.shown in asked]
        needed = [part for part in closure(parts, numbers) if keys[part[0]] not in self.cache.results]
        if needed:
            self._judge(needed, keys)
        self.cache.keep([one.content.hex() for one in self.files], list(keys.values()))
        found: list[Diagnostic] = []
        for part in closure(parts, numbers):
            found.extend(one for one in self.cache.results[keys[part[0]]] if one.file in asked)
        return sorted(found, key=lambda one: one.order)

    def tied(self, wanted: Iterable[str]) -> set[str]:
        """The files that the diagnostics of the wanted ones depend on, themselves included."""
        asked = set(wanted)
        numbers = [number for number, one in enumerate(self.files) if one.shown in asked]
        return {self.files[number].shown for part in closure(groups(self._links()), numbers) for number in part}

    def callers(self, wanted: Iterable[str]) -> set[str]:
        """The files that name a workflow which a wanted file defines, or which no file defines (any longer)."""
        asked = set(wanted)
        links = self._links()
        there = {name for each in links for name in each.names}
        files = list(zip(links, self.files, strict=True))
        changed = {name for each, one in files if one.shown in asked for name in each.names}
        return {one.shown for each, one in files if any(name in changed or name not in there for name in each.calls)}

    def read(self, numbers: Iterable[int]) -> list[FileModel]:
        """The models of files, by number."""
        numbers = list(numbers)
        missing = [number for number in numbers if number not in self.models]
        if missing:
            from interlock.analyzer.processes import read_files

            if self.progress is not None:
                self.progress(len(missing))
            made = read_files([self.files[number].source for number in missing], self.processes)
            self.models.update(zip(missing, made, strict=True))
        return [self.models[number] for number in numbers]

    def _key(self, part: Sequence[int]) -> str:
        members = [(self.files[number].shown, self.files[number].content) for number in part]
        return group_key(members, self.blocks.content)

    def _links(self) -> list[Links]:
        known = self.cache.links
        unknown = [number for number, one in enumerate(self.files) if one.content.hex() not in known]
        if unknown:
            from interlock.analyzer.links import links_of

            for number, model in zip(unknown, self.read(unknown), strict=True):
                known[self.files[number].content.hex()] = links_of(model)
        return [known[one.content.hex()] for one in self.files]

    def _judge(self, parts: Sequence[Sequence[int]], keys: Mapping[int, str]) -> None:
        """Judges groups, all of them as one program: what nothing ties does not meet in it either."""
        from interlock.analyzer.analysis import diagnose
        from interlock.analyzer.processes import judge_files

        numbers = sorted(number for part in parts for number in part)
        models = self.read(numbers)
        found = diagnose(models, judge_files(models, self.blocks.specs, self.processes))
        group_of = {self.files[number].shown: keys[part[0]] for part in parts for number in part}
        for part in parts:
            self.cache.results[keys[part[0]]] = []
        for one in found:
            self.cache.results[group_of[one.file]].append(one)
