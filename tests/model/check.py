"""The model of leases and admission, checked by Spin: exhaustively for three runs, and against the simulation.

``python tests/model/check.py`` runs every check of `CHECKS`, each in a process of its own: the model as it is
has to hold, and with a fault put in (`BUG_…`) it has to fail.  Then seeds of the simulation are played
against the same cells: every trace has to be accepted, and every trace with a fault refused.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

HERE = Path(__file__).parent
SECONDS = 900


class Check(NamedTuple):
    """``claim`` is the name of a property in `protocol.pml`; without one assertions and ends are checked."""

    title: str
    defines: tuple[str, ...]
    claim: str | None = None
    holds: bool = True
    quick: bool = False


SAFE = [
    Check("3 runs, 2 keys, limit 1", ("LIMIT=1",)),
    Check("3 runs, 2 keys, limit 2", ("LIMIT=2",)),
    Check("3 runs, 1 key, limit 1, with fences and tickets", ("LIMIT=1", "K=1", "NUMBERS")),
    Check("3 runs, 1 key, limit 2, with fences and tickets", ("LIMIT=2", "K=1", "NUMBERS", "ROUNDS=1"), quick=True),
    Check("admission: wait, 1 slot", ("ADMISSION", "SLOTS=1", "K=1", "ROUNDS=1"), quick=True),
    Check("admission: wait, 2 slots", ("ADMISSION", "SLOTS=2", "K=1")),
    Check("admission: latest_waiting", ("ADMISSION", "SLOTS=1", "K=1", "POLICY=latest_policy")),
    Check("admission: supersede", ("ADMISSION", "SLOTS=1", "K=1", "POLICY=supersede_policy")),
]
LIVE = [
    Check("every waiter is served, limit 1", ("LIMIT=1", "ROUNDS=1"), "served", quick=True),
    Check("every waiter is served, limit 2", ("LIMIT=2", "ROUNDS=1"), "served"),
    Check("every waiter is served, 2 rounds of 1 key", ("LIMIT=1", "K=1"), "served"),
    Check("every run is admitted or stopped", ("ADMISSION", "SLOTS=1", "K=1", "ROUNDS=1"), "admitted_in_time"),
    Check(
        "every run is admitted or stopped, supersede",
        ("ADMISSION", "SLOTS=1", "K=1", "ROUNDS=1", "POLICY=supersede_policy"),
        "admitted_in_time",
    ),
]
FAULTY = [
    Check("a release that wakes nobody", ("BUG_LOST",), holds=False, quick=True),
    Check("one holder too many", ("BUG_LIMIT",), holds=False, quick=True),
    Check("the last ticket first", ("BUG_ORDER",), holds=False, quick=True),
    Check("no judgement of deadlocks", ("BUG_JUDGE",), holds=False, quick=True),
    Check("no judgement of deadlocks: a waiter is not served", ("BUG_JUDGE", "ROUNDS=2"), "served", holds=False),
]
CHECKS = [*SAFE, *LIVE, *FAULTY]


class Found(NamedTuple):
    """What Spin says: whether a fault was found, the states and the depth of the search, MB and seconds."""

    errors: int
    states: int
    depth: int
    megabytes: float
    seconds: float
    said: str


def missing() -> str | None:
    """The tool that is needed and not there, if one is."""
    return next((tool for tool in ("spin", "gcc") if shutil.which(tool) is None), None)


def explore(check: Check) -> Found:
    """All states of the model.  Raises `RuntimeError` where the search could not be made whole."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("cells.pml", "protocol.pml"):
            shutil.copy(HERE / each, folder)
        _run(["spin", *(f"-D{each}" for each in check.defines), "-a", "protocol.pml"], folder)
        flags = ["-DNFAIR=3"] if check.claim else ["-DSAFETY", "-DNOCLAIM"]
        _run(
            ["gcc", "-O2", "-w", *flags, "-DCOLLAPSE", "-DVECTORSZ=2048", "-DMEMLIM=3000", "-o", "pan", "pan.c"], folder
        )
        search = ["-a", "-f", "-N", check.claim] if check.claim else []
        said = _run(["./pan", "-m1000000", "-w24", *search], folder)
    whole = not any(
        word in said.lower() for word in ("max search depth too small", "out of memory", "search not completed")
    )
    if not whole and ("errors: 0" in said or "errors:" not in said):
        raise RuntimeError(f"{check.title}: not all states could be looked at:\n{said[-1500:]}")
    return Found(
        int(_number(r"errors: (\d+)", said)),
        int(_number(r"(\d+) states, stored", said)),
        int(_number(r"depth reached (\d+)", said)),
        _number(r"([\d.]+)\s+total actual memory", said),
        time.monotonic() - begun,
        said,
    )


def _run(words: list[str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    said = done.stdout + done.stderr
    if done.returncode and words[0] != "./pan":
        raise RuntimeError(f"{' '.join(words)}:\n{said[-2000:]}")
    return said


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"Spin does not say {pattern}:\n{text[-2000:]}")
    return float(found[1])


def play(seeds: range, most: int) -> Counter[str]:
    """Traces of the simulation against the model, and some of them with faults put in."""
    from model import traces

    counts: Counter[str] = Counter()
    for seed in seeds:
        for kind, decisions in traces.traces(seed):
            text = traces.promela(kind, decisions)
            if text is None:
                counts["left out: too many names"] += 1
                continue
            counts["accepted" if traces.accepted(text) else "REFUSED"] += 1
            counts["decisions"] += min(len(decisions), traces.MOST)
            wrong = traces.faults(decisions[: traces.MOST]) if kind == "key" else []
            for each in wrong[: max(0, most - counts["faulty ones refused"])][:2]:
                faulty = traces.promela(kind, each)
                assert faulty is not None
                counts["FAULTY ONES ACCEPTED" if traces.accepted(faulty) else "faulty ones refused"] += 1
    return counts


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--quick", action="store_true", help="the short checks only")
    reader.add_argument("--traces", type=int, default=40, help="seeds of the simulation (default: %(default)s)")
    options = reader.parse_args()
    tool = missing()
    if tool is not None:
        print(f"The model needs {tool}, which is not installed (Debian: apt-get install spin gcc).", file=sys.stderr)
        return 2
    wrong = 0
    for check in CHECKS:
        if options.quick and not check.quick:
            continue
        found = explore(check)
        right = (found.errors == 0) == check.holds
        wrong += not right
        what = "holds" if found.errors == 0 else "fails"
        print(
            f"{'ok ' if right else 'NO '} {what}  {check.title}: {found.states:,} states, depth {found.depth:,}, "
            f"{found.megabytes:,.0f} MB, {found.seconds:.0f} s",
            flush=True,
        )
    counts = play(range(options.traces), 200)
    print("traces of the simulation: " + ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items())))
    return 1 if wrong or counts["REFUSED"] or counts["FAULTY ONES ACCEPTED"] else 0


if __name__ == "__main__":
    sys.exit(main())
