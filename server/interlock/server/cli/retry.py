"""``interlock retry``: lets a failed run go on from its failed step."""

from __future__ import annotations

import argparse

from interlock.engine.client import TERMINAL
from interlock.server.cli import engine_commands as common
from interlock.server.cli.definitions import secrets_of
from interlock.server.cli.hints import failure, resuming


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN")
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        engine.retry(options.run_id)
        # What needs no worker is done by the time the retry is stored, and may have failed again.
        result = engine.result(options.run_id)
        if result.status == "completed":
            common.tell(options, f"{options.run_id} has completed.", run=result.run, status=result.status)
            return 0
        if result.status in TERMINAL:
            common.tell(options, failure(result), run=result.run, status=result.status, error=result.error)
            return 1
        command = resuming(options.run_id, secrets_of(engine, options.run_id), options.store)
    sentence = f"{options.run_id} goes on with: {command}, or with any worker."
    common.tell(options, sentence, run=result.run, status=result.status)
    return 0
