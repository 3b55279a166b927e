"""What ties files together: names of workflows and keys of leases.

The diagnostics of a file depend on itself and on the files it is tied to, at any distance; two
groups of files that nothing ties are judged apart, kept apart in the cache, and on several processes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.language.nearest import nearest

if TYPE_CHECKING:
    from interlock.analyzer.analysis import FileModel
    from interlock.analyzer.model.nodes import Workflow


#: How many names the message about an unknown one tells.
MOST_TOLD = 5


class Links(msgspec.Struct, frozen=True, array_like=True):
    """The loose ends of one file.

    ``names`` are the workflows it defines, ``calls`` those it names, ``ids`` the texts that stand where
    run ids do (IL416), ``keys`` the nodes of the lock order.  ``nameless`` tells that it holds a broken
    workflow whose name is not known: any name may be that one's.
    """

    names: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    nameless: bool = False


def links_of(file: FileModel) -> Links:
    """The links of a file that was read."""
    names: dict[str, None] = {}
    calls: dict[str, None] = {}
    ids: dict[str, None] = {}
    keys: dict[str, None] = {}
    nameless = False
    for workflow in file.workflows:
        if workflow.name is not None:
            names[workflow.name.value] = None
        elif workflow.broken:
            nameless = True
        _collect(workflow, calls, ids, keys)
    return Links(tuple(names), tuple(calls), tuple(ids), tuple(keys), nameless)


def _collect(workflow: Workflow, calls: dict[str, None], ids: dict[str, None], keys: dict[str, None]) -> None:
    from interlock.analyzer.graph.keys import key_of
    from interlock.analyzer.graph.program import Program
    from interlock.analyzer.model.nodes import DependencyWait, RunWorkflow, Section, StartWorkflows, walk
    from interlock.analyzer.model.values import ListValue, Literal

    unit = Program([workflow], {}).units[0]
    for step in walk(workflow.steps):
        kind = step.kind
        if isinstance(kind, RunWorkflow | StartWorkflows):
            if kind.workflow is not None:
                calls[kind.workflow.value] = None
        elif isinstance(kind, DependencyWait):
            runs = kind.runs.value if kind.runs is not None else None
            for value in runs.items if isinstance(runs, ListValue) else (runs,):
                if isinstance(value, Literal) and isinstance(value.data, str):
                    ids[value.data] = None
        elif isinstance(kind, Section):
            key = key_of(unit, kind.resource.value if kind.resource is not None else None)
            if key is not None:
                keys[f"{'template' if key.template else 'literal'} {key.text}"] = None


def groups(links: Sequence[Links], *, keys: bool = True) -> list[list[int]]:
    """The files, by number, in groups that nothing ties to each other.

    Each group and the groups themselves are in the order of the files.  Without ``keys`` only names
    tie: all that the rules of a single workflow can see.
    """
    parts = _Parts(len(links))
    defined: dict[str, int] = {}
    taken: dict[str, int] = {}
    for number, one in enumerate(links):
        for name in one.names:
            parts.join(number, defined.setdefault(name, number))
        for key in one.keys if keys else ():
            parts.join(number, taken.setdefault(key, number))
    names = list(dict.fromkeys(name for one in links for name in one.names))
    nameless = [number for number, one in enumerate(links) if one.nameless]
    # Beside its own, and one more to know whether there are others; a name that is not known forbids the message.
    told = [] if nameless else heapq.nsmallest(MOST_TOLD + 2, filter(None, names))
    near: dict[str, tuple[int, ...]] = {}
    for number, one in enumerate(links):
        for name in one.ids:
            if name in defined:
                parts.join(number, defined[name])
        for name in one.calls:
            if name in defined:
                parts.join(number, defined[name])
                continue
            if name not in near:
                # Each of several near names ties: that they are several is why none is meant.
                close = [other for other in names if nearest(name, (other,)) is not None]
                # Where no one name is meant, the message tells which there are.
                near[name] = tuple(defined[other] for other in (close if len(close) == 1 else [*close, *told]))
            for other in (*near[name], *nameless):
                parts.join(number, other)
    return parts.lists()


class _Parts:
    """Disjoint sets of numbers."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def find(self, number: int) -> int:
        above = self._above
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    def join(self, one: int, other: int) -> None:
        one, other = self.find(one), self.find(other)
        if one != other:
            self._above[max(one, other)] = min(one, other)

    def lists(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for number in range(len(self._above)):
            found.setdefault(self.find(number), []).append(number)
        return list(found.values())


def closure(parts: Iterable[Sequence[int]], wanted: Iterable[int]) -> list[list[int]]:
    """The groups that hold any of the wanted files."""
    asked = set(wanted)
    return [list(part) for part in parts if not asked.isdisjoint(part)]
