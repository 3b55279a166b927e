"""``interlock cancel``: asks a run to stop."""

from __future__ import annotations

import argparse

from interlock.server.cli import engine_commands as common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for the events of the run")
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        engine.cancel(options.run_id, reason=options.reason)
        status = engine.status(options.run_id)
    if status.status == "cancelled":
        sentence = f"Cancelled: {options.run_id}."
    else:
        sentence = f"The stop of {options.run_id} is stored; it applies when what is in flight has settled."
    common.tell(options, sentence, run=options.run_id, status=status.status)
    return 0
