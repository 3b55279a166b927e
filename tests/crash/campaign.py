"""The long form of the crash tests: many rounds of kills, a line of progress for each, and a summary.

``python tests/crash/campaign.py --kills 1000 --seed 0``; each fault is printed with its seed, and
``--seed S --kills K`` plays a round of that seed again, as closely as real processes allow.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from crash import power
from crash.points import BY_CALLERS, BY_WORKERS, STATEMENTS
from crash.round import Figures, Round, small_disk

PER_ROUND = 60
DISK = "48m"


def one(seed: int, kills: int, figures: Figures, keep: bool) -> None:
    """One round in a folder of its own, on a small disk where one can be had."""
    folder = Path(tempfile.mkdtemp(prefix="interlock-crash-"))
    found = len(figures.faults)
    with small_disk(folder / "disk", DISK):
        try:
            with Round(seed, folder, kills, figures) as played:
                played.play()
        except Exception:
            figures.faults.append(f"seed {seed}: {traceback.format_exc(limit=-4)}")
        if len(figures.faults) > found and keep:
            shutil.copytree(folder, f"{folder}-kept")
            print(f"the store is kept in {folder}-kept")
    shutil.rmtree(folder, ignore_errors=True)


def losses(seed: int, images: int, figures: Figures) -> None:
    """Losses of power in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="interlock-power-") as folder:
        found = power.play(seed, Path(folder), images=images)
    figures.counts["losses of power"] += found.images
    figures.counts["  of them that lost or tore writes"] += found.harmed
    figures.faults += [f"seed {seed}: {fault}" for fault in found.faults]


def summary(figures: Figures, seconds: float) -> None:
    """What was done and what was found, for a person."""
    lines: list[tuple[str, Counter[str]]] = [
        ("processes killed with SIGKILL", figures.kills),
        ("other troubles", figures.troubles),
        ("meanwhile", figures.counts),
    ]
    for title, counts in lines:
        print(f"{title}:")
        for name, number in sorted(counts.items(), key=lambda each: -each[1]):
            print(f"{number:>9,} {name}")
    all_points = 2 * len(BY_WORKERS) + 2 * len(set(BY_CALLERS) - set(BY_WORKERS)) + len(STATEMENTS)
    print(f"{len(figures.points):>9,} of {all_points} named points at which a process died")
    print(f"{figures.killed:>9,} kills, {len(figures.faults)} faults, {seconds:.0f} s")


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--kills", type=int, default=300)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--keep", action="store_true", help="keep the store of a round with a fault")
    given = reader.parse_args()
    figures = Figures()
    begun = time.monotonic()
    seed = given.seed
    while figures.killed < given.kills:
        kills = min(PER_ROUND, given.kills - figures.killed)
        before = len(figures.faults)
        one(seed, kills, figures, given.keep)
        losses(seed, 40, figures)
        print(f"seed {seed}: {figures.killed} of {given.kills} kills, {time.monotonic() - begun:.0f} s", flush=True)
        for fault in figures.faults[before:]:
            print(f"  {fault}", flush=True)
        if len(figures.faults) > before:
            print(f"  again: make crash N={kills} SEED={seed}", flush=True)
        seed += 1
    summary(figures, time.monotonic() - begun)
    return 1 if figures.faults else 0


if __name__ == "__main__":
    sys.exit(main())
