"""The long form of the claims of agreement: many seeds on several processes, failures replayable.

``python tests/agreement/campaign.py --count 10000 --seed 0``; each fault is printed with its seed, and
``--seed S --count 1`` replays it.  With ``--shrink`` a failing workspace is cut down before it is shown.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

from agreement import checks, shrink
from agreement.deadlock import KINDS, case, search
from interlock.analyzer.rules.catalog import WORKSPACE_ERRORS
from interlock.engine.client import Engine

CHUNK = 25


class Outcome(msgspec.Struct):
    """What came of a chunk of seeds: how often each claim was tried, and what did not hold."""

    tried: dict[str, int]
    faults: list[str]


def chunk(first: int, count: int, share: float) -> Outcome:
    """The claims for seeds that follow each other."""
    tried: Counter[str] = Counter()
    faults: list[str] = []
    with Engine.open("memory:") as engine:
        for seed in range(first, first + count):
            try:
                faults += [f"seed {seed}: {fault}" for fault in _claims(seed, share, engine, tried)]
            except Exception:
                # A claim that cannot be judged does not hold; the other seeds still count.
                faults.append(f"seed {seed}: {traceback.format_exc(limit=-4)}")
    return Outcome(dict(tried), faults)


def _claims(seed: int, share: float, engine: Engine, tried: Counter[str]) -> Iterator[str]:
    tried["workflows run"] += 1
    yield from checks.valid(seed)
    for name, found in checks.planted(seed, engine, share):
        tried["mistakes planted"] += 1
        tried[f"  {name}"] += 1
        yield from found
    if seed % 4 == 0:
        tried["hashes compared"] += 1
        yield from checks.hashed(seed)
    if seed % 8 == 0:
        tried["circles tried"] += 1
        yield from circles(seed)


def circles(seed: int) -> list[str]:
    """A circle that is told of deadlocks in some schedule; without one none is told of and none does."""
    kind = sorted(KINDS)[seed // 8 % len(KINDS)]
    faults = []
    for circle in (True, False):
        made = case(kind, seed, circle)
        told = checks.codes(checks.diagnostics(made.text)).keys() & WORKSPACE_ERRORS
        if told != ({made.code} if circle else set()):
            faults.append(f"{kind} with circle={circle} is told {told}")
        found = search(made.text, made.starts, 200 if circle else 8)
        if circle != (found is not None):
            faults.append(f"{kind} with circle={circle}: deadlock in schedule {found}")
    return faults


def _progress(done: int, chunks: int, faults: int, begun: float) -> None:
    """A line that is written over on a terminal; elsewhere one for each tenth of the way."""
    terminal = sys.stderr.isatty()
    if not terminal and done * 10 // chunks == (done - 1) * 10 // chunks:
        return
    passed = time.monotonic() - begun
    left = passed / done * (chunks - done)
    line = f"{done * 100 // chunks}% in {passed:.0f} s, about {left:.0f} s to go, {faults} faults"
    print(
        f"\r{line}\x1b[K" if terminal else line,
        end="\n" if not terminal or done == chunks else "",
        file=sys.stderr,
        flush=True,
    )


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--count", type=int, default=10_000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--share", type=float, default=0.15, help="share of the catalogue that is planted")
    reader.add_argument("--jobs", type=int, default=2)
    reader.add_argument("--shrink", action="store_true")
    given = reader.parse_args()
    print(f"{given.count} workspaces from seed {given.seed}", flush=True)
    begun = time.monotonic()
    tried: Counter[str] = Counter()
    faults: list[str] = []
    starts = range(given.seed, given.seed + given.count, CHUNK)
    with ProcessPoolExecutor(given.jobs) as pool:
        jobs = [
            pool.submit(chunk, start, min(CHUNK, given.seed + given.count - start), given.share) for start in starts
        ]
        for done, job in enumerate(jobs, 1):
            outcome = job.result()
            tried.update(outcome.tried)
            for fault in outcome.faults:
                print(fault, flush=True)
            faults += outcome.faults
            _progress(done, len(jobs), len(faults), begun)
    for name, number in tried.items():
        print(f"{number:>9,} {name}")
    print(f"{len(faults):>9,} faults, {time.monotonic() - begun:.0f} s")
    if given.shrink and faults:
        print(shrink.smallest(int(faults[0].split()[1].rstrip(":"))))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
