"""``interlock approve``: answers what a run waits for a person to decide."""

from __future__ import annotations

import argparse

from interlock.server.cli import engine_commands as common
from interlock.server.cli.signal import add_payload


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN")
    add_payload(parser)
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    payload = common.json_argument(options.data, "--data")
    with common.engine_of(options) as engine:
        receipt = engine.approve(options.run_id, payload, signal_id=options.id)
        common.tell_receipt(options, receipt, common.answered(engine, receipt, "Approved", options.store))
    return 0
