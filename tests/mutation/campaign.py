"""Mutation testing of the engine's core: which small faults do its tests and the simulation notice?

``python tests/mutation/campaign.py --sample 300 --seed 1``.  One process imports and collects the tests; a child of
it runs them once, noting the lines that each reaches; then each mutant is a child of its own, in which the
tests that reach the changed line run, fastest first, up to the first that fails.  No file is changed.

A mutant survives when none of the tests that fit into ``--seconds`` fails (``--seconds 0``: all of them).  A
child that takes ten times as long as its tests did is ended: what loops for ever is noticed too.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from mutation.mutants import Mutant, mutants_of, put_in  # noqa: E402

CORE = ROOT / "engine" / "interlock" / "engine"
GROUPS = {
    "cells": sorted((CORE / "cells").glob("*.py")),
    "store": [*sorted((CORE / "store").glob("*.py")), CORE / "transactions.py", CORE / "kernel.py"],
}
TESTS = ["tests/engine", "tests/simulation"]


class Reach(msgspec.Struct):
    """What one unchanged run has shown: seconds of each test, and the tests (by number) that reach a line."""

    seconds: list[float]
    lines: dict[str, dict[int, list[int]]]


class Fate(msgspec.Struct):
    mutant: Mutant
    end: str
    """``killed``, ``timed out``, ``survived``, ``unreached`` (no test runs the line) or ``not built``."""
    tests: int = 0


class Recorder:
    """Notes the lines of the core that a test reaches."""

    def __init__(self, files: set[str]) -> None:
        self.files = files
        self.found: set[tuple[str, int]] = set()

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self.on_line if frame.f_code.co_filename in self.files else None

    def on_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        self.found.add((frame.f_code.co_filename, frame.f_lineno))
        return self.on_line

    def start(self) -> None:
        self.found = set()
        threading.settrace(self.on_call)
        sys.settrace(self.on_call)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


class Mutation:
    """The plugin: instead of running the tests it has found, it runs them in children."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.failed = False
        self.fates: list[Fate] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed("the tests cannot be collected")
        files = {str(path): module_of(path) for group in self.given.groups for path in GROUPS[group]}
        for module in files.values():
            importlib.import_module(module)
        reach = self._reach(session.items, set(files))
        mutants = [mutant for path, module in files.items() for mutant in mutants_of(module, Path(path))]
        if self.given.only:
            chosen = [each for each in mutants if f"{each.module}#{each.number}" in self.given.only]
        else:
            chosen = random.Random(self.given.seed).sample(
                mutants, min(self.given.sample or len(mutants), len(mutants))
            )
        told(f"{len(mutants)} mutants, {len(chosen)} chosen; {len(session.items)} tests")
        paths = {module: path for path, module in files.items()}
        self._control(session.items, reach)
        begun = time.monotonic()
        for mutant in chosen:
            if self.given.minutes and time.monotonic() - begun > self.given.minutes * 60:
                told(f"stopped after {self.given.minutes} minutes")
                break
            fate = self._fate(session.items, mutant, reach, paths[mutant.module])
            self.fates.append(fate)
            if fate.end not in ("killed", "timed out"):
                told(f"{fate.end}: {mutant} ({fate.tests} tests)")
        return True

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed

    def _reach(self, items: list[pytest.Item], files: set[str]) -> Reach:
        kept = Path(self.given.reach) if self.given.reach else None
        if kept is not None and kept.exists():
            return msgspec.json.decode(kept.read_bytes(), type=Reach)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            silence()
            body = msgspec.json.encode(self._record(items, files))
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(body)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            body = pipe.read()
        os.waitpid(child, 0)
        if not body:
            raise SystemExit("a test fails without any mutant: nothing can be said about mutants")
        if kept is not None:
            kept.write_bytes(body)
        return msgspec.json.decode(body, type=Reach)

    def _record(self, items: list[pytest.Item], files: set[str]) -> Reach:
        recorder = Recorder(files)
        seconds: list[float] = []
        lines: dict[str, dict[int, list[int]]] = {path: defaultdict(list) for path in files}
        for number, item in enumerate(items):
            begun = time.monotonic()
            recorder.start()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            recorder.stop()
            seconds.append(time.monotonic() - begun)
            if self.failed:
                self.failed = False
                seconds[-1] = -1.0  # a test that does not pass by itself says nothing
                continue
            for path, line in recorder.found:
                lines[path][line].append(number)
        return Reach(seconds, lines)

    def _control(self, items: list[pytest.Item], reach: Reach) -> None:
        """A child without a mutant passes every test that is counted on; else each mutant would seem killed."""
        child = os.fork()
        if child == 0:
            silence()
            os._exit(self._passes(items, [number for number, each in enumerate(reach.seconds) if each >= 0]))
        code = ended(child, 10 * sum(reach.seconds) + 60)
        if code != 0:
            raise SystemExit(f"a child without any mutant does not pass the tests (it ended with {code})")

    def _fate(self, items: list[pytest.Item], mutant: Mutant, reach: Reach, path: str) -> Fate:
        # The interpreter jumps over some lines (a `continue`): the tests of the line before them reach those too.
        near = next((line for line in range(mutant.line, mutant.line - 3, -1) if line in reach.lines[path]), 0)
        numbers = sorted(reach.lines[path].get(near, []), key=lambda number: reach.seconds[number])
        if not numbers:
            return Fate(mutant, "unreached")
        chosen, total = [], 0.0
        for number in numbers:
            if self.given.seconds and chosen and total + reach.seconds[number] > self.given.seconds:
                break
            chosen.append(number)
            total += reach.seconds[number]
        child = os.fork()
        if child == 0:
            silence()
            os._exit(self._try(items, mutant, chosen))
        code = ended(child, 10 * total + 10)
        ends = {0: "survived", 1: "killed", 3: "not built", None: "timed out"}
        end = ends.get(code, "killed")
        if end == "survived" and near != mutant.line:
            end = "unreached"
        return Fate(mutant, end, len(chosen))

    def _try(self, items: list[pytest.Item], mutant: Mutant, numbers: list[int]) -> int:
        try:
            put_in(mutant, importlib.import_module(mutant.module))
        except (LookupError, ValueError, SyntaxError):
            return 3
        return self._passes(items, numbers)

    def _passes(self, items: list[pytest.Item], numbers: list[int]) -> int:
        try:
            for number in numbers:
                items[number].config.hook.pytest_runtest_protocol(item=items[number], nextitem=None)
                if self.failed:
                    return 1
        except BaseException:
            return 1
        return 0


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "engine").with_suffix("").parts).removesuffix(".__init__")


def silence() -> None:
    """A child says nothing, and ends with all that it starts."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def ended(child: int, limit: float) -> int | None:
    """The exit code of a child; None where it had to be ended after ``limit`` seconds."""
    begun, pause = time.monotonic(), 0.002
    while time.monotonic() - begun < limit:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def told(line: str) -> None:
    print(line, file=sys.__stderr__, flush=True)


def table(fates: list[Fate]) -> str:
    ends = ("killed", "timed out", "survived", "unreached", "not built")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for fate in fates:
        counts[fate.mutant.module.removeprefix("interlock.engine.")][fate.end] += 1
        counts["all"][fate.end] += 1
    rows = [f"| module | mutants | {' | '.join(ends)} |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name in [*sorted(set(counts) - {"all"}), "all"]:
        row = counts[name]
        rows.append(f"| {name} | {row.total()} | {' | '.join(str(row[end]) for end in ends)} |")
    return "\n".join(rows)


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    reader.add_argument("--sample", type=int, default=300, help="mutants by chance; 0: all")
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--only", nargs="*", help="these mutants (module#number)")
    reader.add_argument("--seconds", type=float, default=20.0, help="of tests for each mutant; 0: all that reach it")
    reader.add_argument("--minutes", type=float, default=0.0, help="stop after so many; 0: go to the end")
    reader.add_argument("--reach", help="a file that keeps which tests reach which lines between two calls")
    reader.add_argument("--summary", help="a file for what became of each mutant, as JSON")
    reader.add_argument("--tests", nargs="+", default=TESTS)
    given = reader.parse_args()
    os.chdir(ROOT)
    mutation = Mutation(given)
    flags = ["-p", "no:xdist", "-p", "no:terminal", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    code = pytest.main([*flags, *given.tests], plugins=[mutation])
    if not mutation.fates:
        print("No mutant was tried: do the tests pass by themselves?", file=sys.stderr)
        return int(code) or 1
    print(table(mutation.fates))
    if given.summary:
        Path(given.summary).write_bytes(msgspec.json.format(msgspec.json.encode(mutation.fates)) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
