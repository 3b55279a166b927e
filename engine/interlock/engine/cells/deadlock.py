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
"""What may or may not come true: ``("run", id)`` and ``("hold", key, run)`` end, ``("ticket", key, run)``
and ``("slot", run)`` are granted, ``("wait", run, path)`` is over, ``("rest", run, key)`` is everything
else that a run waits for besides this key."""


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
    """All of ``every`` must come true, and ``count`` of ``some``."""

    every: tuple[Thing, ...] = ()
    count: int = 0
    some: tuple[Thing, ...] = ()


class Line(msgspec.Struct):
    """A queue in which the first is served first: places that are free, what may free another one, and
    who waits, each with what must come true before the place is free again (None: nothing more)."""

    free: int
    held: tuple[Thing, ...]
    waiting: list[tuple[Thing, Thing | None]]


class Judge:
    """Decides about waits of one account in one transaction."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._keys: dict[str, KeyLine] = {}
        self._needs: dict[Thing, Need] = {}
        self._lines: dict[Thing, Line] = {}

    def stuck(self, run: str, thing: Thing) -> list[str]:
        """The runs that hold each other up if the wait of ``run`` can never end; else nothing.

        Every other wait could come true before this one was added, so only a circle through its own
        run can hold it up.
        """
        if thing[0] == "ticket" and all(key != thing[1] for key, _ in self.graph.tickets(run)):
            return []  # granted or withdrawn meanwhile
        if not self.graph.awaited(run) and not self._own(run, thing):
            return []
        self._reach(thing)
        able: set[Thing] = set()
        changed = True
        while changed and thing not in able:
            changed = False
            for line in self._lines.values():
                changed = _serve(line, able) or changed
            for each, need in self._needs.items():
                if each not in able and _met(need, able):
                    able.add(each)
                    changed = True
        return [] if thing in able else self._circle(thing, able)

    def _own(self, run: str, thing: Thing) -> bool:
        """Whether a wait is for its own run."""
        if thing[0] != "wait":
            return False
        return any(run in wait.on for wait in self.graph.waits(run) if wait.path == thing[2])

    # --- what is reachable ---

    def _reach(self, start: Thing) -> None:
        todo = [start]
        seen: set[Thing] = set()
        while todo:
            thing = todo.pop()
            if thing in seen:
                continue
            seen.add(thing)
            todo.extend(self._look(thing))

    def _look(self, thing: Thing) -> list[Thing]:
        """Find out what a thing needs; returns the things that it leads to."""
        kind = thing[0]
        if kind == "ticket":
            return self._look_at_line(("key", thing[1]))
        if kind == "slot":
            return self._look_at_line(thing)
        if kind == "run":
            need = self._run(thing[1])
        elif kind == "hold":
            need = self._hold(thing[1], thing[2])
        elif kind == "rest":
            need = Need(tuple(self._waits_in(thing[1], "", thing[2])))
        else:
            need = self._wait(thing[1], thing[2])
        self._needs[thing] = need
        return [*need.every, *need.some]

    def _look_at_line(self, name: Thing) -> list[Thing]:
        if name in self._lines:
            return []
        line = self._key_line(name[1]) if name[0] == "key" else self._slot_line(name[1])
        self._lines[name] = line
        return [*line.held, *(after for _, after in line.waiting if after is not None)]

    def _wait(self, run: str, path: str) -> Need:
        for wait in self.graph.waits(run):
            if wait.path == path:
                return Need((), wait.need, tuple(("run", on) for on in wait.on))
        return Need()

    def _run(self, run: str) -> Need:
        if self.graph.terminal(run):
            return Need()
        if self.graph.queued(run) is not None:
            return Need((("slot", run),))
        return Need(tuple(self._waits_in(run, "")))

    def _waits_in(self, run: str, prefix: str, but: str | None = None) -> list[Thing]:
        """What the lines of a run inside ``prefix`` wait for, ``but`` one key."""
        found: list[Thing] = [
            ("ticket", key, run) for key, path in self.graph.tickets(run) if key != but and inside(path, prefix)
        ]
        found += [("wait", run, wait.path) for wait in self.graph.waits(run) if inside(wait.path, prefix)]
        return list(dict.fromkeys(found))

    def _hold(self, key: str, run: str) -> Need:
        """A lease ends with its last hold: a section with its steps, a run's with the run."""
        places = self._key(key).holders.get(run, {})
        if self.graph.terminal(run):
            return Need()
        if "run" in places.values():
            return Need((("run", run),))
        every: list[Thing] = []
        for path in places:
            every += self._waits_in(run, path)
        return Need(tuple(dict.fromkeys(every)))

    def _key_line(self, key: str) -> Line:
        line = self._key(key)
        waiting: list[tuple[Thing, Thing | None]] = []
        for run, whole in line.waiting:
            after: Thing | None = None
            if whole and self._waits_in(run, "", key):
                after = ("rest", run, key)
            waiting.append((("ticket", key, run), after))
        held = tuple(("hold", key, run) for run in line.holders)
        return Line(line.limit - len(line.holders), held, waiting)

    def _slot_line(self, run: str) -> Line:
        """The queue as this run sees it; whoever waits for a slot waits for nothing else yet."""
        line = self.graph.queued(run)
        if line is None:
            return Line(1, (), [(("slot", run), None)])
        held = tuple(("run", each) for each in line.active)
        waiting: list[tuple[Thing, Thing | None]] = [(("slot", each), None) for each in line.earlier]
        waiting.append((("slot", run), None))
        return Line(line.limit - len(line.active), held, waiting)

    def _key(self, key: str) -> KeyLine:
        found = self._keys.get(key)
        if found is None:
            found = self._keys[key] = self.graph.key(key)
        return found

    # --- the story ---

    def _circle(self, start: Thing, able: set[Thing]) -> list[str]:
        """The runs of the stuck part around the wait, as they lead on from it."""
        runs: dict[str, None] = {}
        seen: set[Thing] = set()
        todo = [start]
        while todo:
            thing = todo.pop(0)
            if thing in seen or thing in able:
                continue
            seen.add(thing)
            runs[thing[2] if thing[0] in ("hold", "ticket") else thing[1]] = None
            if thing[0] in ("ticket", "slot"):
                line = self._lines.get(("key", thing[1]) if thing[0] == "ticket" else thing)
                if line is None:
                    continue  # an earlier run of a queue that is being told already
                ahead = [ticket for ticket, _ in line.waiting]
                todo.extend(line.held)
                todo.extend(ahead[: ahead.index(thing)] if thing in ahead else ())
            elif thing in self._needs:
                need = self._needs[thing]
                todo.extend((*need.every, *need.some))
        return list(runs)


def _serve(line: Line, able: set[Thing]) -> bool:
    """Serve a line in order as far as places can become free.  Returns whether anything is new."""
    room = line.free + sum(thing in able for thing in line.held)
    changed = False
    for ticket, after in line.waiting:
        if room < 1:
            break
        if ticket not in able:
            able.add(ticket)
            changed = True
        if after is not None and after not in able:
            room -= 1
    return changed


def _met(need: Need, able: set[Thing]) -> bool:
    if not all(thing in able for thing in need.every):
        return False
    return sum(thing in able for thing in need.some) >= need.count


def sentence(run: str, what: str, runs: list[str]) -> str:
    """What the step that closes the circle fails with."""
    others = [each for each in runs if each != run]
    if not others:
        return f'{what} could never be granted: this run ("{run}") waits for itself.'
    named = ", ".join(f'"{each}"' for each in others)
    return f'{what} could never be granted: this run ("{run}") and {named} wait for each other.'
