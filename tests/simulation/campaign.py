"""Campaigns of the simulation: seeds without end, until N transitions have been decided.

``python tests/simulation/campaign.py --transitions 1000000 --seed 0 --store sqlite``.  A seed plays one part:
a named scenario, the pool of workflows, or a generated workspace; which one follows from the seed.  A seed
that breaks prints the line that replays it, and the campaign goes on.  At the end stands a summary, as JSON
in a file where ``--summary`` names one.  A transition is one decision of a cell (of a run, a key or a queue).

``--store cells`` plays the same seeds over dictionaries instead of SQLite; ``--store leases`` plays keys and
queues alone, without runs.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

import simulation.scenarios_faults
import simulation.scenarios_leases
import simulation.scenarios_other_runs
import simulation.scenarios_stops  # noqa: F401  (the four fill the table)
from interlock.engine.simulate.leases import Leases
from interlock.engine.simulate.simulation import Simulation
from simulation.circles import Circles
from simulation.generated import Generated
from simulation.scenario import SCENARIOS, perform

CHUNK = 24
PARTS = ("pool", "circles", "generated", "pool", "scenario", "pool", "generated", "pool")
"""What the seeds play, in turn."""
KINDS = {"pool": Simulation, "generated": Generated, "circles": Circles}
LEASE_DECISIONS = 5000
AT_ONCE = 13
"""Scenarios that one seed plays, as they are short."""
WHOLE_EVERY = 100
"""Commits after which the whole store is checked; what a commit touched is checked every time."""
Store = Literal["sqlite", "cells", "leases"]


class Outcome(msgspec.Struct):
    """What came of some seeds."""

    seeds: int = 0
    transitions: int = 0
    commits: int = 0
    steps_to_rest: int = 0
    parts: dict[str, int] = {}
    moves: dict[str, int] = {}
    faults: list[str] = []

    def add(self, other: Outcome) -> None:
        self.seeds += other.seeds
        self.transitions += other.transitions
        self.commits += other.commits
        self.steps_to_rest = max(self.steps_to_rest, other.steps_to_rest)
        self.parts = dict(Counter(self.parts) + Counter(other.parts))
        self.moves = dict(Counter(self.moves) + Counter(other.moves))
        self.faults = self.faults + other.faults


def part_of(seed: int) -> str:
    return PARTS[seed % len(PARTS)]


def scenarios_of(seed: int) -> list[str]:
    """The scenarios of a seed: a part of the table in turn; those that take long come up rarely."""
    names, turn = list(SCENARIOS), seed // len(PARTS)
    first = turn * AT_ONCE % len(names)
    chosen = [names[(first + more) % len(names)] for more in range(AT_ONCE)]
    rare = random.Random(seed)
    return [name for name in chosen if rare.random() < SCENARIOS[name].share]


def play(seed: int, store: Store, folder: str) -> Outcome:
    """One seed.  Raises what it breaks with."""
    if store == "leases":
        leases = Leases(seed)
        leases.run(LEASE_DECISIONS)
        return Outcome(1, leases.decided, parts={"leases": leases.decided})
    part = part_of(seed)
    if part == "scenario":
        done = sum(perform(name, seed, store) for name in scenarios_of(seed))
        return Outcome(1, done, parts={part: done})
    kind = KINDS[part]
    sim = kind(seed, os.path.join(folder, f"{seed}.db"), store=store, replays=seed % 16 < 2, whole_every=WHOLE_EVERY)
    try:
        sim.run()
    finally:
        sim.close()
    tape = sim.world.tape
    return Outcome(1, tape.total, tape.commits, sim.steps_to_rest, {part: tape.total}, dict(sim.moves))


def chunk(first: int, count: int, store: Store) -> Outcome:
    """Seeds that follow each other."""
    total = Outcome()
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                total.add(play(seed, store, folder))
            except Exception as error:
                told = str(error) if isinstance(error, AssertionError) else traceback.format_exc(limit=-5)
                total.add(Outcome(1, faults=[f"{_name(seed, store)}: {told}\n  replay: {replay(seed, store)}"]))
    return total


def _name(seed: int, store: Store) -> str:
    return f"seed {seed} ({'leases' if store == 'leases' else part_of(seed)})"


def replay(seed: int, store: Store) -> str:
    return f".venv/bin/python tests/simulation/campaign.py --store {store} --seed {seed} --one"


class Progress:
    """A line that is written over on a terminal; elsewhere one for each twentieth of the way."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.begun = time.monotonic()
        self._told = 0

    def tell(self, so_far: Outcome) -> None:
        terminal = sys.stderr.isatty()
        part = min(20, so_far.transitions * 20 // self.wanted)
        if not terminal and part == self._told:
            return
        self._told = part
        passed = time.monotonic() - self.begun
        rate = so_far.transitions / passed
        left = max(0, self.wanted - so_far.transitions) / rate if rate else 0.0
        line = f"{so_far.transitions:,} of {self.wanted:,} transitions, {so_far.seeds:,} seeds, {rate:,.0f}/s, "
        line += f"about {left:,.0f} s to go, {len(so_far.faults)} faults"
        print(f"\r{line}\x1b[K" if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True)

    def passed(self) -> float:
        return time.monotonic() - self.begun


def campaign(wanted: int, seed: int, store: Store, jobs: int, most_faults: int) -> tuple[Outcome, float]:
    """Chunks of seeds until there are enough transitions; the seeds of a campaign are the same on any machine
    up to the last ones."""
    total, progress, running = Outcome(), Progress(wanted), set[Future[Outcome]]()
    with ProcessPoolExecutor(jobs) as pool:
        while total.transitions < wanted and len(total.faults) < most_faults:
            while len(running) < 2 * jobs:
                running.add(pool.submit(chunk, seed, CHUNK, store))
                seed += CHUNK
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                found = each.result()
                for fault in found.faults:
                    print(f"\n{fault}", flush=True)
                total.add(found)
            progress.tell(total)
        seconds = progress.passed()
        for each in running:
            each.cancel()
    return total, seconds


def one(seed: int, store: Store) -> int:
    """Replay a seed; its fault, or that there is none."""
    found = chunk(seed, 1, store)
    print(found.faults[0] if found.faults else f"{_name(seed, store)}: {found.transitions} transitions, no fault")
    return 1 if found.faults else 0


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--transitions", type=int, default=1_000_000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--store", choices=["sqlite", "cells", "leases"], default="sqlite")
    reader.add_argument("--jobs", type=int, default=2)
    reader.add_argument("--most-faults", type=int, default=20, help="stop after so many")
    reader.add_argument("--one", action="store_true", help="play only this seed")
    reader.add_argument("--summary", help="a file for the summary as JSON")
    given = reader.parse_args()
    if given.one:
        return one(given.seed, given.store)
    total, seconds = campaign(given.transitions, given.seed, given.store, given.jobs, given.most_faults)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    summary = {
        "store": given.store,
        "first_seed": given.seed,
        "seeds": total.seeds,
        "transitions": total.transitions,
        "commits": total.commits,
        "seconds": round(seconds, 1),
        "transitions_per_second": round(total.transitions / seconds),
        "processes": given.jobs,
        "by_part": total.parts,
        "actions": total.moves,
        "most_steps_to_rest": total.steps_to_rest,
        "faults": total.faults,
    }
    print(msgspec.json.format(msgspec.json.encode({**summary, "faults": len(total.faults)})).decode())
    if given.summary:
        Path(given.summary).write_bytes(msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
