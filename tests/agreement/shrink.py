"""Cuts a workspace down as long as a claim still does not hold for it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from agreement.blocks import SPECS
from agreement.drive import CALM, ROUGH, Drive
from agreement.generate import make
from agreement.places import at_path
from agreement.write import Path, Style, write
from interlock.analyzer.analysis import check_texts, refusing
from interlock.analyzer.source.text import SourceText
from interlock.engine.project import Project

Docs = list[Any]


def shrunk(documents: Docs, fails: Callable[[Docs], bool], tries: int = 2000) -> Docs:
    """The documents without everything that is not needed for ``fails`` to say yes."""
    best = copy.deepcopy(documents)
    changed = True
    while changed and tries > 0:
        changed = False
        for path in sorted(_parts(best, ()), key=len):
            if tries <= 0:
                break
            candidate = copy.deepcopy(best)
            if not _remove(candidate, path):
                continue
            tries -= 1
            if _says(fails, candidate):
                best, changed = candidate, True
                break
    return best


def _says(fails: Callable[[Docs], bool], documents: Docs) -> bool:
    try:
        return fails(documents)
    except (LookupError, TypeError, ValueError, AttributeError):
        # What was cut is no longer a workflow.
        return False


def _parts(node: Any, path: Path) -> Iterator[Path]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, item in items:
        yield (*path, name)
        yield from _parts(item, (*path, name))


def _remove(documents: Docs, path: Path) -> bool:
    holder = at_path(documents, path[:-1])
    if isinstance(holder, list) and len(holder) == 1:
        return False
    del holder[path[-1]]
    return True


def smallest(seed: int, size: int | None = None) -> str:
    """The smallest text for which running it does not go as it should, from the workspace of a seed."""
    from agreement.checks import FILE, size_of

    workspace = make(seed, size or size_of(seed))

    def fails(documents: Docs) -> bool:
        text = write(documents, Style(plain=True)).text
        if refusing(check_texts({FILE: text}, SPECS)):
            return False
        definition = Project([SourceText(FILE, text)], SPECS).definition(documents[0]["workflow"])
        return any(Drive(definition, plan, seed).run() for plan in (CALM, ROUGH))

    return write(shrunk(workspace.documents, fails), Style(plain=True)).text
