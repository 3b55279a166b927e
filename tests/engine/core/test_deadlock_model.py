"""The deadlock judge against a model that plays the optimistic future of random stores step by step."""

from __future__ import annotations

import random

import pytest

from interlock.engine.cells.deadlock import Judge, KeyLine, OpenWait, SlotLine


class Model:
    """Runs with leases, tickets, waits and slots; everything that can happen happens."""

    def __init__(self, seed: int) -> None:
        pick = random.Random(seed)
        runs = [f"r{at}" for at in range(pick.randint(2, 6))]
        self.limits = {key: pick.randint(1, 2) for key in "abc"}
        self.holders: dict[str, dict[str, dict[str, str]]] = {key: {} for key in "abc"}
        self.lines: dict[str, list[tuple[str, str, bool]]] = {key: [] for key in "abc"}
        self.open: dict[str, list[OpenWait]] = {run: [] for run in runs}
        self.slots: list[str] = []
        self.waiting: list[str] = []
        self.slot_limit = pick.randint(1, 2)
        for run in runs:
            if pick.random() < 0.25:
                if len(self.slots) < self.slot_limit:
                    self.slots.append(run)
                else:
                    self.waiting.append(run)
                    continue
            for branch in ("x", "y"):
                self._branch(pick, run, branch, runs)

    def _branch(self, pick: random.Random, run: str, branch: str, runs: list[str]) -> None:
        for key in "abc":
            if pick.random() < 0.35 and len(self.holders[key]) < self.limits[key]:
                lifetime = pick.choice(["run", "step"])
                self.holders[key].setdefault(run, {})[f"{branch}/s"] = lifetime
        inside = pick.random() < 0.4
        path = f"{branch}/s/w" if inside else f"{branch}/w"
        roll = pick.random()
        if roll < 0.4:
            key = pick.choice("abc")
            if run not in self.holders[key] and len(self.holders[key]) == self.limits[key]:
                self.lines[key].append((run, path, pick.random() < 0.5))
        elif roll < 0.65:
            on = pick.sample(runs, pick.randint(1, 2))
            self.open[run].append(OpenWait(path, pick.randint(1, len(on)), on))

    # --- what the judge asks ---

    def tickets(self, run: str) -> list[tuple[str, str]]:
        return [(key, path) for key, line in self.lines.items() for who, path, _ in line if who == run]

    def waits(self, run: str) -> list[OpenWait]:
        return self.open[run]

    def queued(self, run: str) -> SlotLine | None:
        if run not in self.waiting:
            return None
        return SlotLine(self.slot_limit, list(self.slots), self.waiting[: self.waiting.index(run)])

    def key(self, key: str) -> KeyLine:
        order: dict[str, bool] = {}
        for run, _, whole in self.lines[key]:
            order[run] = order.get(run, False) or whole
        return KeyLine(self.limits[key], self.holders[key], list(order.items()))

    def terminal(self, run: str) -> bool:
        return False

    def awaited(self, run: str) -> bool:
        return True

    # --- the future ---

    def play(self) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """What is still waited for when nothing can move any more: (run, path) of tickets and waits."""
        ended: set[str] = set()
        holders = {key: {run: dict(places) for run, places in each.items()} for key, each in self.holders.items()}
        lines = {key: list(line) for key, line in self.lines.items()}
        slots, waiting = list(self.slots), list(self.waiting)
        open_waits = {run: list(each) for run, each in self.open.items()}

        def stands(run: str, prefix: str) -> bool:
            mine = [path for line in lines.values() for who, path, _ in line if who == run]
            mine += [wait.path for wait in open_waits[run]]
            return any(path.startswith(prefix) for path in mine)

        before = None
        while before != (before := repr((ended, holders, lines, slots, waiting, open_waits))):
            for run in open_waits:
                open_waits[run] = [w for w in open_waits[run] if len(set(w.on) & ended) < w.need]
                if run not in waiting and not stands(run, ""):
                    ended.add(run)
                    slots = [each for each in slots if each != run]
                for each in holders.values():
                    places = each.get(run, {})
                    for place, lifetime in list(places.items()):
                        gone = run in ended if lifetime == "run" else not stands(run, place + "/")
                        if gone:
                            del places[place]
                    if run in each and not places:
                        del each[run]
            while waiting and len(slots) < self.slot_limit:
                slots.append(waiting.pop(0))
            for key, line in lines.items():
                while line and len(holders[key]) < self.limits[key]:
                    run = line[0][0]
                    whole = any(each[2] for each in line if each[0] == run)
                    lines[key] = line = [each for each in line if each[0] != run]
                    holders[key][run] = {"granted": "run" if whole else "step"}
        return (
            {(run, key) for key, line in lines.items() for run, _, _ in line},
            {(run, wait.path) for run, each in open_waits.items() for wait in each},
        )


@pytest.mark.parametrize("block", range(10))
def test_a_wait_is_stuck_exactly_where_no_future_grants_it(block: int) -> None:
    stuck_ones = 0
    for seed in range(block * 200, block * 200 + 200):
        model = Model(seed)
        tickets, waits = model.play()
        for key, line in model.lines.items():
            for run in dict.fromkeys(who for who, _, _ in line):
                stuck = Judge(model).stuck(run, ("ticket", key, run))
                assert bool(stuck) == ((run, key) in tickets), (seed, key, run)
                stuck_ones += bool(stuck)
        for run, open_waits in model.open.items():
            for wait in open_waits:
                stuck = Judge(model).stuck(run, ("wait", run, wait.path))
                assert bool(stuck) == ((run, wait.path) in waits), (seed, run, wait)
                assert not stuck or run in stuck
                stuck_ones += bool(stuck)
    assert stuck_ones > 10
