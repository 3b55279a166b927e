"""What `make demo` shows: the examples checked, the broken ones explained, and runs on this machine.

Everything happens in a temporary folder and against a small HTTP server on the loopback interface
(server.py); nothing is left behind, and only processes that the demo itself started are ended.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from interlock.engine.client import Engine
from server import Outside

HERE = Path(__file__).resolve().parent
INTERLOCK = [sys.executable, "-m", "interlock.server.cli.main"]
PATIENCE = 90.0

Process = subprocess.Popen[str]


class Shown:
    """A command that goes on in the background; its lines are printed with a word before them."""

    def __init__(self, word: str, process: Process) -> None:
        self.word = word
        self.process = process
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            print(f"{self.word:>6} | {line}", end="", flush=True)

    def end(self, expect: int) -> None:
        """Wait for its end."""
        code = self.process.wait(PATIENCE)
        self._reader.join()
        if code != expect:
            sys.exit(f"the demo expected exit code {expect} of the {self.word} run, and got {code}")


class Demo:
    """One pass through everything, in one folder; the store is the folder's own."""

    def __init__(self, folder: Path, outside: Outside) -> None:
        self.folder = folder
        self.outside = outside
        self.started: list[Process] = []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
        self.environment |= {"CMS_TOKEN": "cms-token-of-the-demo", "PYTHONUNBUFFERED": "1"}

    # --- commands ---

    def _start(self, *words: str, quiet: bool = False, folder: Path | None = None) -> Process:
        process = subprocess.Popen(
            [*INTERLOCK, *words],
            cwd=folder or self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if quiet else subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def quietly(self, *words: str, expect: int = 0) -> str:
        """Runs a command for what it answers."""
        process = self._start(*words, quiet=True)
        out, error = process.communicate(timeout=PATIENCE)
        if process.returncode != expect:
            sys.exit(f"interlock {' '.join(words)}: the demo expected exit code {expect}: {out}{error}")
        return out

    def show(self, *words: str, expect: int = 0, folder: Path | None = None) -> None:
        """Runs a command and shows it; another exit code than the expected one ends the demo."""
        print("$ interlock " + " ".join(_quoted(word) for word in words), flush=True)
        process = self._start(*words, folder=folder)
        out, _ = process.communicate(timeout=PATIENCE)
        print(out, flush=True)
        if process.returncode != expect:
            sys.exit(f"the demo expected exit code {expect} here, and got {process.returncode}")

    def background(self, word: str, *words: str) -> Shown:
        print(f"{word:>6} $ interlock " + " ".join(_quoted(one) for one in words), flush=True)
        return Shown(word, self._start(*words))

    def dispatch(self, file: str, *words: str) -> str:
        """Puts a run into the store and shows that; its id."""
        print(f"$ interlock dispatch {file} " + " ".join(_quoted(word) for word in words), flush=True)
        run = self.quietly("dispatch", file, *words).split()[0]
        print(run, flush=True)
        return run

    def until(self, run: str, *statuses: str) -> None:
        """Waits until a run is in one of these statuses."""
        limit = time.monotonic() + PATIENCE
        with self.engine() as engine:
            while time.monotonic() < limit:
                if engine.status(run).status in statuses:
                    return
                time.sleep(0.1)
        sys.exit(f"the demo waited in vain for {run} to be {' or '.join(statuses)}")

    def newest(self) -> str:
        with self.engine() as engine:
            return engine.runs(limit=1)[0].run

    def engine(self) -> Engine:
        return Engine(f"sqlite:///{self.folder}/.interlock/state.db", make=False)

    def close(self) -> None:
        """Ends what is still running of what was started here."""
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def inputs(self, **values: str) -> list[str]:
        return [word for name, value in values.items() for word in ("--input", f"{name}={value}")]

    # --- what is shown ---

    def checks(self) -> None:
        say("The examples are clean")
        self.show("check", "--strict", "examples", folder=self.folder.parent)
        say("Two broken ones: what the tool is for")
        self.show("check", "broken", expect=1, folder=self.folder.parent)

    def two_branches(self) -> None:
        say("Two sources fetched side by side, and combined")
        url = self.outside.url
        self.show(
            "run",
            "catalog.workflow.yaml",
            *self.inputs(products_url=f"{url}/products.json", prices_url=f"{url}/prices.json"),
        )
        say("Its timeline, as the store keeps it")
        self.show("events", self.newest())

    def one_claim(self) -> None:
        say("Two runs want to publish one image: the second finds it claimed, and skips it")
        words = ["publish-once.workflow.yaml", *self.inputs(image="cat.png", cms_url=self.outside.url)]
        words += ["--secret", "CMS_TOKEN"]
        gate = self.outside.hold("POST /images")
        first = self.background("first", "run", *words)
        self.outside.wait_for("POST /images")
        print("         (the server takes its time to answer the first run)")
        second = self.background("second", "run", *words)
        second.end(0)
        gate.open()
        first.end(0)
        print(f"\nThe server was asked {len(self.outside.seen('POST /images'))} time.")

    def decision(self, worker: Callable[[], Shown]) -> None:
        say("A person decides before money moves")
        run = self.dispatch(
            "decision.workflow.yaml", *self.inputs(order="o-7", amount="12.5", shop_url=self.outside.url)
        )
        worker()
        self.until(run, "waiting_for_signal")
        self.show("status", run)
        self.show("approve", run, "--data", '{"by": "you"}')
        self.until(run, "completed")
        self.show("status", run)

    def killed(self) -> None:
        say("A run is killed with -9 in the middle, and goes on where it was")
        words = ["nightly-report.workflow.yaml", *self.inputs(day="monday", api_url=self.outside.url)]
        gate = self.outside.hold("POST /deliveries")
        running = self.background("killed", "run", *words)
        self.outside.wait_for("POST /deliveries")
        running.process.kill()
        running.process.wait()
        print(f"         (killed: process {running.process.pid}, before it heard what became of the delivery)\n")
        gate.open()
        self.show("run", "--resume", self.newest())
        for what in ("GET /numbers", "PUT /reports/monday", "POST /deliveries"):
            print(f"The server got {what} {len(self.outside.seen(what))} time(s).")
        keys = {request.headers["idempotency-key"] for request in self.outside.seen("POST /deliveries")}
        print(f"Both deliveries carried the same Idempotency-Key: {len(keys) == 1}")

    def review(self) -> None:
        say("A ledger drops the connection after taking an entry: was it written, or not?")
        self.outside.drop("POST /entries")
        run = self.dispatch("ledger.workflow.yaml", *self.inputs(account="a-1", amount="5", bank_url=self.outside.url))
        self.until(run, "held_for_review")
        self.show("status", run)
        self.show("leases")
        print(f"A person looks into the ledger, and finds the entry there: {json.dumps(self.outside.entries)}\n")
        self.show("review", run, "committed", "--result", '{"entry": "e1"}', "--by", "you")
        self.until(run, "completed")
        self.show("status", run)
        print(f"The server was asked {len(self.outside.seen('POST /entries'))} time: nothing was written twice.")

    def deadlock(self) -> None:
        say("The deadlock of the broken example, run all the same: one of the two is refused, the other goes on")
        gates = [self.outside.hold("GET /shelves/ink"), self.outside.hold("GET /carts/ink")]
        runs = [
            self.dispatch(
                "../broken/deadlock.workflow.yaml",
                "--workflow",
                name,
                *self.inputs(item="ink", stock_url=self.outside.url),
            )
            for name in ("stock.move", "stock.count")
        ]
        self.outside.wait_for("GET /shelves/ink")
        self.outside.wait_for("GET /carts/ink")
        print("         (each holds its first key now, and asks for the other's)\n")
        for gate in gates:
            gate.open()
        for run in runs:
            self.until(run, "completed", "failed")
            self.show("status", run)

    def everything(self) -> None:
        self.checks()
        self.two_branches()
        self.one_claim()
        self.killed()
        self.decision(lambda: self.background("worker", "worker"))
        self.review()
        self.deadlock()
        say("What the store remembers of all this")
        self.show("runs")


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)


def say(text: str) -> None:
    print(f"\n=== {text}\n", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="interlock-demo-") as name, Outside() as outside:
        folder = Path(name)
        leave_out = shutil.ignore_patterns("*.py", "broken", "own-blocks", "__pycache__", ".interlock")
        shutil.copytree(HERE, folder / "examples", ignore=leave_out)
        shutil.copytree(HERE / "broken", folder / "broken")
        demo = Demo(folder / "examples", outside)
        try:
            demo.everything()
        finally:
            demo.close()


if __name__ == "__main__":
    main()
