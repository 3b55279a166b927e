"""Applying fixes to texts: as many at a time as do not touch each other, until there are none left.

Every step is judged: what leaves more errors, or does not remove what it was to mend, is taken back,
so a file never gets worse.  Reading and writing files is left to the caller.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from interlock.analyzer.batch import Batch, Blocks, Loaded, loaded
from interlock.analyzer.cache import Cache
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.rules.catalog import RULES
from interlock.analyzer.source.text import SourceText

MOST_ROUNDS = 50
"""After so many rounds the rest is left: fixes that go on for longer undo each other."""
MOST_TRIES = 400


class Replacement(msgspec.Struct, frozen=True):
    """A fix as offsets into the text of its file."""

    diagnostic: Diagnostic
    edits: tuple[tuple[int, int, str], ...]


class Fixed(msgspec.Struct, frozen=True):
    """What came of it: the changed files with their new texts, and what was mended by rule."""

    files: dict[str, Loaded]
    applied: dict[str, int]

    @property
    def count(self) -> int:
        return sum(self.applied.values())


def replacement(source: SourceText, one: Diagnostic) -> Replacement | None:
    """The fix of a diagnostic; None where it has none, or one that reaches into another file."""
    if one.fix is None or any(edit.file != one.file for edit in one.fix.edits):
        return None
    starts = source.line_starts
    windows = source.text.count("\r\n") * 2 > source.text.count("\n")
    edits = []
    for edit in one.fix.edits:
        text = edit.text.replace("\r\n", "\n").replace("\n", "\r\n") if windows else edit.text
        edits.append((starts[edit.line - 1] + edit.column - 1, starts[edit.end_line - 1] + edit.end_column - 1, text))
    return Replacement(one, tuple(sorted(edits)))


def apply_edits(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with edits that do not touch each other."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _apart(fixes: Iterable[Replacement]) -> Iterator[Replacement]:
    """Those that do not touch one before them; the others wait for the next round."""
    taken: list[tuple[int, int]] = []
    for fix in fixes:
        if all(end < start or begin > stop for begin, end, _ in fix.edits for start, stop in taken):
            taken.extend((begin, end) for begin, end, _ in fix.edits)
            yield fix


class Fixer:
    """Mends what is reported in some of the files of a workspace.

    ``report`` gives, of what was found, what is reported: only that is mended.
    """

    def __init__(
        self,
        files: Sequence[Loaded],
        wanted: Iterable[str],
        report: Callable[[list[Diagnostic]], list[Diagnostic]],
        blocks: Blocks | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.files = list(files)
        self.wanted = set(wanted)
        self.report = report
        self.blocks = blocks
        self.cache = Cache()
        if cache is not None:
            self.cache.links, self.cache.results = dict(cache.links), dict(cache.results)
        self.place = {one.shown: number for number, one in enumerate(self.files)}
        self.applied: Counter[str] = Counter()
        self.refused: set[tuple[str, str, str]] = set()
        self.tries = 0

    def run(self) -> Fixed:
        before = list(self.files)
        for _ in range(MOST_ROUNDS):
            batch = Batch(self.files, self.blocks, self.cache)
            self.around = batch.tied(self.wanted)
            self.found = batch.check(self.around)
            if not self._step(self._candidates()):
                break
        changed = {new.shown: new for old, new in zip(before, self.files, strict=True) if old.content != new.content}
        return Fixed(changed, dict(self.applied))

    def _candidates(self) -> list[Replacement]:
        by_file: dict[str, list[Replacement]] = {}
        for one in self.report([one for one in self.found if one.file in self.wanted]):
            if one.file not in self.place or _mark(one) in self.refused:
                continue
            if one.fix is not None and not one.fix.sure:
                continue
            fix = replacement(self.files[self.place[one.file]].source, one)
            if fix is not None and fix.edits:
                by_file.setdefault(one.file, []).append(fix)
        return [fix for fixes in by_file.values() for fix in _apart(fixes)]

    def _step(self, fixes: list[Replacement]) -> bool:
        """Applies fixes, or where that is no good, a part of them; whether anything changed."""
        if not fixes or self.tries >= MOST_TRIES:
            return False
        self.tries += 1
        files = self._applied(fixes)
        after = Batch(files, self.blocks, self.cache).check(self.around)
        if self._better(fixes, after):
            self.files = files
            self.applied.update(fix.diagnostic.name for fix in fixes)
            return True
        if len(fixes) == 1:
            self.refused.add(_mark(fixes[0].diagnostic))
            return False
        half = len(fixes) // 2
        # Once one half is in, the places of the other have moved: it waits for the next round.
        return self._step(fixes[:half]) or self._step(fixes[half:])

    def _applied(self, fixes: Iterable[Replacement]) -> list[Loaded]:
        edits: dict[str, list[tuple[int, int, str]]] = {}
        for fix in fixes:
            edits.setdefault(fix.diagnostic.file, []).extend(fix.edits)
        files = list(self.files)
        for shown, changes in edits.items():
            old = files[self.place[shown]]
            files[self.place[shown]] = loaded(shown, apply_edits(old.source.text, changes), old.had_bom)
        return files

    def _better(self, fixes: Iterable[Replacement], after: list[Diagnostic]) -> bool:
        """Whether all that was to be mended is gone, no more errors than before are left, and the form holds.

        An error that was hidden behind the one mended (an unknown name in a template that had no quotes)
        may come to light; a new error of form is what the fix did.
        """
        if _errors(after) > _errors(self.found):
            return False
        was, now = Counter(map(_mark, self.found)), Counter(map(_mark, after))
        mended = Counter(_mark(fix.diagnostic) for fix in fixes)
        new = now - was
        if any(code in _FORM for _, code, _ in new):
            return False
        return all(now[mark] <= was[mark] - count for mark, count in mended.items())


#: The errors of syntax, form and names.
_FORM = frozenset(code for code, rule in RULES.items() if code.startswith("IL1") and rule.severity == "error")


def _mark(one: Diagnostic) -> tuple[str, str, str]:
    return (one.file, one.code, one.message)


def _errors(found: Iterable[Diagnostic]) -> int:
    return sum(one.severity == "error" for one in found)


def unified_diff(shown: str, before: str, after: str) -> str:
    """The change as a patch."""
    import difflib

    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{shown}", f"b/{shown}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines as the language counts them: U+2028 and the like end none."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def write_text(path: str, file: Loaded) -> None:
    """Puts a text in the place of a file's: whole or not at all, with its byte order mark and mode."""
    real = os.path.realpath(path)
    data = (b"\xef\xbb\xbf" if file.had_bom else b"") + file.source.text.encode("utf-8")
    mode = os.stat(real).st_mode & 0o7777
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".interlock-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, real)
    except BaseException:
        os.unlink(temporary)
        raise
