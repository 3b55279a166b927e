"""``interlock retry``: lets a failed run go on from its failed step."""

from __future__ import annotations

import argparse

from interlock.server.cli import engine_commands as common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN")
    common.add_store(parser)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        engine.retry(options.run_id)
    print(f"{options.run_id} goes on with: interlock run --resume {options.run_id}, or with any worker.")
    return 0
