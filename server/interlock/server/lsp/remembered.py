"""What is known of a workspace from before: the cache that ``interlock check`` keeps in the folder of the workspace.

Files that are as they were, and tied to nothing that has changed, are told of without being read.  The server
writes the cache, too, once it has judged everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from interlock.analyzer.analysis import FileModel
from interlock.analyzer.cache import cache_for, digest, group_key
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.links import Links, groups, links_of
from interlock.analyzer.workspace import shown_path


def content_of(text: str) -> bytes:
    """What stands for a text in the cache."""
    return digest(text.encode("utf-8", "surrogatepass"))


class Remembered:
    """The cache of the workspace in ``folder``, whose blocks ``blocks`` stands for.

    Paths are absolute here, and shown as from the folder there.
    """

    def __init__(self, folder: str, blocks: bytes) -> None:
        self.folder = folder
        self.blocks = blocks
        self.cache = cache_for(folder, folder)
        self._read: dict[str, tuple[FileModel, Links]] = {}

    def knows(self, content: bytes) -> bool:
        """Whether it is known what ties a file of this content to others."""
        return content.hex() in self.cache.links

    def links(self, path: str, content: bytes, model: FileModel | None) -> Links:
        """What ties a file to others; without a model it has to be one that is known."""
        if model is None:
            return self.cache.links[content.hex()]
        known = self._read.get(path)
        if known is None or known[0] is not model:
            known = self._read[path] = (model, links_of(model))
        return known[1]

    def found(
        self, files: Sequence[tuple[str, bytes, FileModel | None]]
    ) -> tuple[dict[str, list[Diagnostic]], set[str]]:
        """Of files by path, content, and model where they have been read: what was found in those that are as they
        were, and the paths of those that have to be judged.
        """
        paths = {self._shown(path): path for path, _, _ in files}
        found: dict[str, list[Diagnostic]] = {}
        judged: set[str] = set()
        for part in groups([self.links(*file) for file in files]):
            members = [files[number] for number in part]
            known = self.cache.results.get(self._key(members))
            if known is None or any(model is not None for _, _, model in members):
                judged.update(path for path, _, _ in members)
                continue
            found.update((path, []) for path, _, _ in members)
            for one in known:
                found[paths[one.file]].append(_moved(one, paths))
        return found, judged

    def save(self, files: Sequence[tuple[str, bytes, FileModel]], found: Iterable[Diagnostic]) -> None:
        """Keeps what was found in all files of the workspace, before any setting is applied."""
        cache = self.cache
        links = [self.links(*file) for file in files]
        cache.links = {content.hex(): one for (_, content, _), one in zip(files, links, strict=True)}
        cache.results = {}
        shown = {path: self._shown(path) for path, _, _ in files}
        key_of: dict[str, str] = {}
        for part in groups(links):
            key = self._key([files[number] for number in part])
            cache.results[key] = []
            key_of.update((files[number][0], key) for number in part)
        for one in found:
            cache.results[key_of[one.file]].append(_moved(one, shown))
        cache.save()

    def _key(self, members: Sequence[tuple[str, bytes, FileModel | None]]) -> str:
        return group_key([(self._shown(path), content) for path, content, _ in members], self.blocks)

    def _shown(self, path: str) -> str:
        return shown_path(path, self.folder)


def _moved(one: Diagnostic, paths: Mapping[str, str]) -> Diagnostic:
    """A diagnostic with its paths put into the place of others."""
    fix = one.fix
    if fix is not None:
        fix = replace(fix, edits=tuple(replace(edit, file=paths[edit.file]) for edit in fix.edits))
    related = tuple(replace(place, file=paths[place.file]) for place in one.related)
    return replace(one, file=paths[one.file], related=related, fix=fix)
