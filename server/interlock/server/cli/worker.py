"""``interlock worker``: works on the runs of a store until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from interlock.engine.client import Engine
from interlock.engine.worker import LogLine, Worker
from interlock.server.cli import engine_commands as common
from interlock.server.cli.main import UsageError

REPORT_SECONDS = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--concurrency", type=int, default=32, metavar="N", help="blocks at the same time (default: 32)"
    )
    parser.add_argument(
        "--grace", type=float, default=30.0, metavar="S", help="seconds that a stop waits for what runs (default: 30)"
    )
    parser.add_argument("--json", action="store_true", help="write JSON lines")
    common.add_store(parser)
    common.add_secrets(parser)
    common.add_blocks(parser)


@common.speaking
def run(options: common.Options) -> int:
    if options.concurrency < 1 or not options.grace >= 0:
        raise UsageError("--concurrency must be at least 1, and --grace at least 0")
    if options.store == "memory:":
        raise UsageError("a worker needs a store that others see; use sqlite:///PATH")
    secrets, variables = common.given_secrets(options)
    registry = common.registry_of(options)
    with common.engine_of(options, make=True, registry=registry, secrets=secrets) as engine:
        return asyncio.run(_work(engine, options, variables))


async def _work(engine: Engine, options: common.Options, variables: frozenset[str]) -> int:
    report = _Report(options.json)
    worker = engine.worker(
        concurrency=options.concurrency, grace=options.grace, on_log=report.log, hidden_environment=variables
    )
    loop = asyncio.get_running_loop()

    stops = 0

    def stop() -> None:
        nonlocal stops
        stops += 1
        if stops == 1:
            worker.stop()
        else:
            worker.hurry()  # who asks twice does not want to wait
        # A signal must stop the worker also where nobody reads its lines any more.
        with suppress(OSError):
            report.say("stopping", running=worker.running)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    report.say("working", worker=worker.name, store=options.store)
    working = asyncio.create_task(worker.run())
    while not working.done():
        await asyncio.wait([working], timeout=REPORT_SECONDS)
        report.counts(worker)
    report.counts(worker, last=True)
    working.result()
    report.say("stopped")
    return 0


class _Report:
    """Lines for a person, renewed in place on a terminal, or JSON lines."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.in_place = not as_json and sys.stdout.isatty()
        self._shown = ""

    def say(self, what: str, **facts: Any) -> None:
        if self.as_json:
            common.write_json_line({"at": time.time(), "what": what, **facts})
            return
        self._clear()
        print(f"{what}{''.join(f'  {name} {value}' for name, value in facts.items())}", flush=True)

    def log(self, line: LogLine) -> None:
        # That nobody reads any more is noticed by the next report; it is no fault of the block.
        with suppress(OSError):
            self._log(line)

    def _log(self, line: LogLine) -> None:
        if self.as_json:
            common.write_json_line(
                {
                    "at": line.at,
                    "what": "log",
                    "run": line.run,
                    "path": line.path,
                    "level": line.level,
                    "message": line.message,
                }
            )
            return
        self._clear()
        print(f"{line.run} {line.path} [{line.level}] {line.message}", flush=True)

    def counts(self, worker: Worker, last: bool = False) -> None:
        """What was done so far, where it has changed."""
        counts = worker.counts
        facts = {
            "running": worker.running,
            "completed": counts.completed,
            "failed": counts.failed,
            "handed_back": counts.handed_back,
            "late": counts.late,
        }
        text = "  ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if value or name == "running"
        )
        if text == self._shown:
            return
        if self.in_place and not last:
            self._clear()
            print(text, end="", flush=True)
        else:
            self.say("counts", **facts)
        self._shown = text

    def _clear(self) -> None:
        if self.in_place:
            print("\r\x1b[K", end="")
