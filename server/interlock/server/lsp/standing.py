"""What can be said of some files of a workspace while others are still to be read.

A call of a workflow that is not known yet decides what much else in its file means, so of such a file, and of
those that call its workflows, only what is wrong with the text itself is told.  Nor is a suppression called idle.
"""

from __future__ import annotations

from collections.abc import Sequence

from interlock.analyzer.analysis import FileModel, diagnose
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.links import links_of

_IDLE_SUPPRESSION = "IL701"


def standing(files: Sequence[FileModel], found: list[Diagnostic]) -> list[Diagnostic]:
    """Those of the diagnostics of files that no other file can take back."""
    waiting = _waiting(files)
    paths = {file.source.path for file in waiting}
    kept = [one for one in found if one.file not in paths]
    kept += diagnose(waiting, [finding for file in waiting for finding in file.findings])
    return sorted((one for one in kept if one.code != _IDLE_SUPPRESSION), key=lambda one: one.order)


def _waiting(files: Sequence[FileModel]) -> list[FileModel]:
    """The files with a call that leads, at any distance, to a workflow that is not known."""
    links = [links_of(file) for file in files]
    known = {name for one in links for name in one.names}
    open_names: set[str] = set()
    waiting: set[int] = set()
    while True:
        more = {
            number
            for number, one in enumerate(links)
            if number not in waiting and any(call not in known or call in open_names for call in one.calls)
        }
        if not more:
            return [files[number] for number in sorted(waiting)]
        waiting |= more
        open_names.update(name for number in more for name in links[number].names)
