"""How many durable steps and leases the engine does per second, beside DBOS and huey on SQLite.

One process each, every commit synced to the disk: workflows of ten steps whose results have 200 bytes,
64 of them at once.  The peers are installed into a virtual environment of the benchmark's own
(benchmarks/.venv/engine) and run one after the other with Interlock, in turn; medians.  A step counts when
its result is stored; the floor is SQLite alone with one row of that size in each commit.  Further rows:
leases taken and given back, the same steps in a store that holds many finished runs already, and grants of a
key that many wait for.

usage: python benchmarks/engine.py [--rounds N] [--runs N] [--json] [--no-peers] [--no-growth]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
VENV = HERE / ".venv" / "engine"
PEERS = ("dbos", "huey")
STEPS, AT_ONCE, RESULT = 10, 64, "x" * 190
GROWTH = (100, 1_000, 10_000, 100_000)
WAITERS = (1, 10, 100, 1_000, 10_000)
GRANTS = 200

FLOW = "workflow: flow\nsteps:\n" + "".join(
    f"  - {{id: s{number}, block: set, params: {{v: '{RESULT}'}}}}\n" for number in range(STEPS)
)
FILL = "workflow: fill\nsteps: [{id: a, block: set, params: {v: 1}}]\n"
SECTION = "{{resource: '{n}:{{inputs.key}}', steps: [{{id: a, block: set, when: false}}]}}"
SECTIONS = "".join(f"  - {{id: s{n}, concurrency: {SECTION.format(n=n)}}}\n" for n in range(STEPS))
LEASES = "workflow: leases\ninputs: {key: string}\nsteps:\n" + SECTIONS
AROUND = (
    "workflow: around\ninputs: {key: string}\n"
    "steps: [{id: s, concurrency: {resource: '{inputs.key}', steps: [{id: a, block: set, params: {v: 1}}]}}]\n"
)
WAITING = (
    "workflow: waiting\nsteps: [{id: s, concurrency: {resource: one, steps: [{id: ask, wait_for_approval: {}}]}}]\n"
)


# --- Interlock --------------------------------------------------------------------------------------


def opened(folder: str, text: str):  # type: ignore[no-untyped-def]
    from interlock.engine.client import Engine

    engine = Engine(f"sqlite:///{folder}/state.db")
    engine.define(text)
    return engine


def worked(engine, workflow: str, inputs: list[dict[str, object]]) -> float:  # type: ignore[no-untyped-def]
    """Seconds for runs with these inputs, 64 at once, from the first dispatch to the last end."""

    async def main() -> float:
        worker = engine.worker(concurrency=AT_ONCE)
        working = asyncio.create_task(worker.run())
        while not engine.kernel.workers():
            await asyncio.sleep(0.01)
        definition, left = engine.definition(workflow), list(reversed(inputs))
        ends = Ends(engine)
        begun = time.perf_counter()
        sent = 0
        while (done := ends.count()) < len(inputs):
            room = min(AT_ONCE - (sent - done), len(left))
            if room > AT_ONCE // 4 or (room and room == len(left)):
                batch = [(definition, left.pop()) for _ in range(room)]
                await asyncio.to_thread(engine.kernel.dispatch_many, batch)
                sent += room
                worker.wake()
            await asyncio.sleep(0.002)
        seconds = time.perf_counter() - begun
        worker.stop()
        await working
        return seconds

    return asyncio.run(main())


class Ends:
    """Runs that have completed from now on: only what is new is looked at, however much is stored."""

    def __init__(self, engine) -> None:  # type: ignore[no-untyped-def]
        self.store = sqlite3.connect(engine.kernel.store.path, check_same_thread=False)
        self.done, self.seen = 0, self.store.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0]

    def count(self) -> int:
        ask = "SELECT max(seq), sum(kind = 'run.completed') FROM events WHERE seq > ?"
        last, more = self.store.execute(ask, (self.seen,)).fetchone()
        if last is not None:
            self.seen, self.done = last, self.done + more
        return self.done


def ended(engine) -> int:  # type: ignore[no-untyped-def]
    return int(engine.stats().runs.get("completed", 0))


def counted(folder: str, kind: str) -> int:
    with sqlite3.connect(f"{folder}/state.db") as db:
        return int(db.execute("SELECT count(*) FROM events WHERE kind = ?", (kind,)).fetchone()[0])


def interlock_steps(runs: int) -> float:
    with tempfile.TemporaryDirectory(dir=HERE) as folder, opened(folder, FLOW) as engine:
        seconds = worked(engine, "flow", [{}] * runs)
        assert counted(folder, "step.completed") == runs * STEPS
        return runs * STEPS / seconds


def leases(text: str, workflow: str, runs: int, contended: bool) -> float:
    with tempfile.TemporaryDirectory(dir=HERE) as folder, opened(folder, text) as engine:
        inputs = [{"key": "same" if contended else f"k{number}"} for number in range(runs)]
        seconds = worked(engine, workflow, inputs)
        granted = counted(folder, "lease.granted")
        assert granted == counted(folder, "lease.released") == runs * (STEPS if workflow == "leases" else 1)
        return granted / seconds


def growth(runs: int) -> list[dict[str, float]]:
    """Steps per second and memory with so many finished runs in the store."""
    rows = []
    with tempfile.TemporaryDirectory(dir=HERE) as folder, opened(folder, FLOW + "---\n" + FILL) as engine:
        for size in GROWTH:
            missing = size - ended(engine)
            if missing > 0:
                worked(engine, "fill", [{}] * missing)
            seconds = worked(engine, "flow", [{}] * runs)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rows.append({"stored_runs": size, "steps_per_second": runs * STEPS / seconds, "memory_mib": memory})
    return rows


def waiters() -> list[dict[str, float]]:
    """Grants per second of a key that so many runs wait for, each in a transaction of its own."""
    rows = []
    with tempfile.TemporaryDirectory(dir=HERE) as folder, opened(folder, WAITING) as engine:
        kernel, definition = engine.kernel, engine.definition("waiting")
        line = [each.run for each in kernel.dispatch_many([(definition, {})])]
        for size in WAITERS:
            while len(line) <= size:
                more = min(500, size + 1 - len(line))
                line += [each.run for each in kernel.dispatch_many([(definition, {})] * more)]
                while kernel.stats().inbox:
                    kernel.tick()
            assert kernel.stats().tickets == size
            seconds = 0.0
            for _ in range(GRANTS):
                begun = time.perf_counter()
                kernel.signal(line[0], "approval", {})
                seconds += time.perf_counter() - begun
                del line[0]
                line += [each.run for each in kernel.dispatch_many([(definition, {})])]
            assert kernel.stats().tickets == size
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rows.append({"waiters": size, "grants_per_second": GRANTS / seconds, "memory_mib": memory})
    return rows


def floor(runs: int) -> float:
    """Commits per second of SQLite alone, synced, with a row of the size of a step's result in each."""
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        store = sqlite3.connect(f"{folder}/floor.db", isolation_level=None)
        store.execute("PRAGMA journal_mode=WAL")
        store.execute("PRAGMA synchronous=FULL")
        store.execute("CREATE TABLE steps (number INTEGER PRIMARY KEY, result TEXT)")
        begun = time.perf_counter()
        for _ in range(runs * STEPS):
            store.execute("BEGIN IMMEDIATE")
            store.execute("INSERT INTO steps (result) VALUES (?)", (RESULT,))
            store.execute("COMMIT")
        seconds = time.perf_counter() - begun
        store.close()
        return runs * STEPS / seconds


OWN: dict[str, Callable[[int], object]] = {
    "steps": interlock_steps,
    "leases, each run its own keys": lambda runs: leases(LEASES, "leases", runs, False),
    "leases, 64 runs for the same keys": lambda runs: leases(LEASES, "leases", runs, True),
    "section around a block, own key": lambda runs: leases(AROUND, "around", runs, False),
    "section around a block, one key": lambda runs: leases(AROUND, "around", runs, True),
    "growth": growth,
    "waiters": lambda runs: waiters(),
    "floor": floor,
}
CURVES = ("growth", "waiters")


# --- peers -------------------------------------------------------------------------------------------


def peers() -> dict[str, str]:
    """The peers that could be installed, with their versions."""
    python = VENV / "bin" / "python"
    if not python.exists():
        print("Setting up the peers (once) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        for peer in PEERS:
            if subprocess.run([*install, peer], check=False).returncode:
                print(f"{peer} could not be installed, and is left out.", file=sys.stderr)
    ask = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    found = {}
    for peer in PEERS:
        said = subprocess.run([str(python), "-c", ask, peer], capture_output=True, text=True, check=False)
        if said.returncode == 0:
            found[peer] = said.stdout.strip()
    return found


def peer_steps(peer: str, runs: int) -> float:
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        words = [str(VENV / "bin" / "python"), str(HERE / "engine_peers.py"), peer, folder, str(runs)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise SystemExit(f"{peer} failed:\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


# --- the table ---------------------------------------------------------------------------------------


def own(what: str, runs: int) -> object:
    """A row in a process of its own, so that each begins alike."""
    words = [sys.executable, __file__, "--only", what, "--runs", str(runs)]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def measure(options: argparse.Namespace) -> dict[str, object]:
    load, versions = os.getloadavg()[0], peers() if options.peers else {}
    rates: dict[str, list[float]] = {"interlock": [], **{peer: [] for peer in versions}}
    for _ in range(options.rounds):
        rates["interlock"].append(float(own("steps", options.runs)))  # type: ignore[arg-type]
        for peer in versions:
            # The slower peer gets fewer runs: the rate is what counts.
            rates[peer].append(peer_steps(peer, max(AT_ONCE, options.runs // (4 if peer == "dbos" else 1))))
    rows = {}
    for what in OWN:
        if what not in ("steps", "floor", *CURVES):
            rows[what] = statistics.median(float(own(what, options.runs)) for _ in range(options.rounds))  # type: ignore[arg-type]
    import importlib.metadata

    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load_before": load,
        "floor": own("floor", options.runs),
        "versions": {"interlock": importlib.metadata.version("interlock"), **versions},
        "steps_per_second": {name: statistics.median(found) for name, found in rates.items()},
        "leases_per_second": rows,
        **{curve: own(curve, options.runs) for curve in CURVES if options.growth},
    }


def shown(found: dict) -> str:  # type: ignore[type-arg]
    versions, steps = found["versions"], found["steps_per_second"]
    load = f"load before {found['load_before']:.1f}"
    lines = [f"{found['machine']}, Python {found['python']}, SQLite {found['sqlite']}, {load}", ""]
    lines += ["| durable steps | per second | Interlock is |", "| --- | --- | --- |"]
    for name, rate in steps.items():
        ratio = "" if name == "interlock" else f"{steps['interlock'] / rate:.1f} ×"
        lines.append(f"| {name} {versions[name]} | {rate:,.0f} | {ratio} |")
    lines.append(f"| bare commits of one row | {found['floor']:,.0f} | {steps['interlock'] / found['floor']:.1f} × |")
    lines += ["", "| leases taken and given back | per second |", "| --- | --- |"]
    lines += [f"| {name} | {rate:,.0f} |" for name, rate in found["leases_per_second"].items()]
    heads = (
        ("growth", "stored_runs", "finished runs in the store", "steps_per_second", "steps per second"),
        ("waiters", "waiters", "runs that wait for the key", "grants_per_second", "grants per second"),
    )
    for curve, at, what, rate, name in heads:
        if curve in found:
            lines += ["", f"| {what} | {name} | memory |", "| --- | --- | --- |"]
            lines += [f"| {row[at]:,} | {row[rate]:,.0f} | {row['memory_mib']:.0f} MiB |" for row in found[curve]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=640)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--no-growth", dest="growth", action="store_false")
    parser.add_argument("--only", choices=OWN, help="one row, as JSON")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(OWN[options.only](options.runs)))
        return 0
    found = measure(options)
    print(json.dumps(found, indent=2) if options.json else shown(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
