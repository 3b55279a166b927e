"""Run-time deadlock: waits that could never be granted (section 6.3, last rule).

The graph is over runs, their sections, keys, admission slots and dependency waits.  A wait can come true
if what it needs can; needs are counted ("three of these must end"), which covers `all` and `any`, quorums
and limits above 1 alike.  What can come true is the least set closed under this; a wait outside it is
stuck.  Only what is reachable from the judged wait is looked at.  Time-outs are ignored; signals, delays,
blocks and reviews count as able to come.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from interlock.engine.cells.state import inside

Thing: TypeAlias = tuple[str, ...]
"""What may or may not come to an end: ``("run", id)``, ``("hold", key, run)``, ``("ticket", key, run)``,
``("wait", run, path)``, ``("slot", run)``, ``("queued", key, run)`` (an earlier ticket's lease)."""


class KeyLine(msgspec.Struct, frozen=True):
    """A key as the graph sees it: its limit, each holder's places, the waiting runs in order.

    ``waiting`` pairs a run with whether any of its tickets asks for a run's lifetime.
    """

    limit: int
    holders: dict[str, dict[str, str]]
    waiting: list[tuple[str, bool]]


class SlotLine(msgspec.Struct, frozen=True):
    """A run's admission queue: the limit it is judged by, active runs, earlier waiting runs."""

    limit: int
    active: list[str]
    earlier: list[str]


class OpenWait(msgspec.Struct, frozen=True):
    """A dependency or child wait: ``need`` of ``on`` must end."""

    path: str
    need: int
    on: list[str]


class Graph(Protocol):
    """What the store knows of one account's waits."""

    def tickets(self, run: str) -> list[tuple[str, str]]:
        """The tickets of a run: (key, path)."""
        ...

    def waits(self, run: str) -> list[OpenWait]: ...

    def queued(self, run: str) -> SlotLine | None:
        """The queue in which the run waits for a slot, None if it does not."""
        ...

    def key(self, key: str) -> KeyLine: ...

    def terminal(self, run: str) -> bool: ...

    def awaited(self, run: str) -> bool:
        """Whether anything waits for the run: a key it holds or is queued for, a slot, or its end."""
        ...


class Need(msgspec.Struct, frozen=True):
    """All of ``every`` must come true, and for each (count, things) that many of the things."""

    every: tuple[Thing, ...]
    some: tuple[tuple[int, tuple[Thing, ...]], ...] = ()


class Judge:
    """Decides about waits of one account in one transaction."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._keys: dict[str, KeyLine] = {}

    def stuck(self, run: str, thing: Thing) -> list[str]:
        """The runs that hold each other up if the wait of ``run`` can never end; else nothing."""
        if not self.graph.awaited(run) and not self._own(run, thing):
            return []
        needs = self._reach(thing)
        able: set[Thing] = set()
        changed = True
        while changed:
            changed = False
            for each, need in needs.items():
                if each not in able and _met(need, able):
                    able.add(each)
                    changed = True
        if thing in able:
            return []
        return self._circle(thing, needs, able)

    def _own(self, run: str, thing: Thing) -> bool:
        """Whether a wait is for its own run."""
        if thing[0] != "wait":
            return False
        return any(run in wait.on for wait in self.graph.waits(run) if wait.path == thing[2])

    def _reach(self, start: Thing) -> dict[Thing, Need]:
        needs: dict[Thing, Need] = {}
        todo = [start]
        while todo:
            thing = todo.pop()
            if thing in needs:
                continue
            need = self._need(thing)
            needs[thing] = need
            todo.extend(need.every)
            for _, things in need.some:
                todo.extend(things)
        return needs

    def _need(self, thing: Thing) -> Need:
        kind = thing[0]
        if kind == "run":
            return self._run(thing[1], "")
        if kind == "hold":
            return self._hold(thing[1], thing[2])
        if kind == "ticket":
            return self._ticket(thing[1], thing[2])
        if kind == "queued":
            return self._after(thing[1], thing[2])
        if kind == "wait":
            for wait in self.graph.waits(thing[1]):
                if wait.path == thing[2]:
                    return Need((), ((wait.need, tuple(("run", on) for on in wait.on)),))
            return Need(())
        return self._slot(thing[1])

    def _run(self, run: str, prefix: str) -> Need:
        """Every line of the run that waits, inside ``prefix``, must get on."""
        if self.graph.terminal(run):
            return Need(())
        every: list[Thing] = []
        if not prefix and self.graph.queued(run) is not None:
            every.append(("slot", run))
        every += [("ticket", key, run) for key, path in self.graph.tickets(run) if inside(path, prefix)]
        every += [("wait", run, wait.path) for wait in self.graph.waits(run) if inside(wait.path, prefix)]
        return Need(tuple(dict.fromkeys(every)))

    def _hold(self, key: str, run: str) -> Need:
        """A lease ends with its last hold: a section with its steps, a run's with the run."""
        places = self._key(key).holders.get(run, {})
        if "run" in places.values():
            return Need((("run", run),))
        every: list[Thing] = []
        for path in places:
            every += self._run(run, path).every
        return Need(tuple(dict.fromkeys(every)))

    def _ticket(self, key: str, run: str) -> Need:
        """Earlier tickets come first; one more lease must end than there are of these."""
        line = self._key(key)
        earlier: list[str] = []
        for other, _ in line.waiting:
            if other == run:
                break
            earlier.append(other)
        every = tuple(("ticket", key, other) for other in earlier)
        ends: list[Thing] = [("hold", key, holder) for holder in line.holders]
        ends += [("queued", key, other) for other in earlier]
        count = len(earlier) + 1 - (line.limit - len(line.holders))
        return Need(every, ((count, tuple(ends)),)) if count > 0 else Need(every)

    def _after(self, key: str, run: str) -> Need:
        """The lease that an earlier ticket will get: it must be granted, and end again."""
        for other, whole in self._key(key).waiting:
            if other == run:
                got: Thing = ("ticket", key, run)
                return Need((got, ("run", run)) if whole else (got,))
        return Need(())

    def _slot(self, run: str) -> Need:
        line = self.graph.queued(run)
        if line is None:
            return Need(())
        every = tuple(("slot", other) for other in line.earlier)
        ends = tuple(("run", other) for other in (*line.active, *line.earlier))
        count = len(line.earlier) + 1 - (line.limit - len(line.active))
        return Need(every, ((count, ends),)) if count > 0 else Need(every)

    def _key(self, key: str) -> KeyLine:
        found = self._keys.get(key)
        if found is None:
            found = self._keys[key] = self.graph.key(key)
        return found

    def _circle(self, start: Thing, needs: dict[Thing, Need], able: set[Thing]) -> list[str]:
        """The runs of the stuck part around the wait, as they lead on from it."""
        runs: dict[str, None] = {}
        seen: set[Thing] = set()
        todo = [start]
        while todo:
            thing = todo.pop(0)
            if thing in seen or thing in able:
                continue
            seen.add(thing)
            runs[_run_of(thing)] = None
            need = needs[thing]
            todo.extend(need.every)
            for _, things in need.some:
                todo.extend(things)
        return list(runs)


def _run_of(thing: Thing) -> str:
    return thing[2] if thing[0] in ("hold", "ticket", "queued") else thing[1]


def _met(need: Need, able: set[Thing]) -> bool:
    if not all(thing in able for thing in need.every):
        return False
    return all(sum(thing in able for thing in things) >= count for count, things in need.some)


def sentence(run: str, what: str, runs: list[str]) -> str:
    """What the step that closes the circle fails with."""
    others = [each for each in runs if each != run]
    if not others:
        return f"{what} could never be granted: it waits for its own run."
    named = ", ".join(f'"{each}"' for each in others)
    return f"{what} could never be granted: this run and {named} wait for each other."
