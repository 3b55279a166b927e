"""Plants one mistake into workflows that have none: which rule must find it, and at which line.

Each function changes a copy of the documents and says where the finding must stand; None where the
documents have no place for such a mistake.  What must be found is the rule's code once, and nothing else
that was not there before.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from agreement.generate import Workspace
from agreement.write import Path

Where: TypeAlias = Literal["key", "value"]


class Planted(msgspec.Struct, frozen=True):
    """Documents with one mistake, and where it must be found: at a key's line, or within a value's lines.

    ``restored`` says that the fix of the finding gives the meaning of the documents back.  ``count`` is how
    often the rule must speak, for mistakes between two places.
    """

    name: str
    code: str
    documents: list[Any]
    path: Path
    where: Where
    restored: bool = False
    count: int = 1


class Place(msgspec.Struct, frozen=True):
    """What a planting function answers."""

    path: Path
    where: Where = "value"
    restored: bool = False
    count: int = 1


Planting: TypeAlias = Callable[[list[Any], random.Random], "Place | None"]

PLANTINGS: dict[str, tuple[str, Planting]] = {}


def planting(code: str) -> Callable[[Planting], Planting]:
    """Enters a function into the catalogue."""

    def enter(function: Planting) -> Planting:
        PLANTINGS[function.__name__] = (code, function)
        return function

    return enter


def plant(workspace: Workspace, name: str, seed: int) -> Planted | None:
    """The workspace with one mistake of a kind; None where it has no place for it."""
    code, function = PLANTINGS[name]
    documents = copy.deepcopy(workspace.documents)
    place = function(documents, random.Random(f"{seed}/{name}"))
    # What took the place of the last read of an input would leave a second finding.
    if place is None or not _reads(workspace.documents) <= _reads(documents):
        return None
    return Planted(name, code, documents, place.path, place.where, place.restored, place.count)


def _reads(documents: list[Any]) -> set[tuple[int, str]]:
    """The inputs that each document reads, also by a wrong root."""
    found: set[tuple[int, str]] = set()
    for number, document in enumerate(documents):
        text = repr({name: value for name, value in document.items() if name != "inputs"})
        for name in document.get("inputs", {}):
            if re.search(rf"\.\??{name}\b", text) or f"'correlation_key': '{name}'" in text:
                found.add((number, name))
    return found
