"""``interlock signal``: sends a signal to a run."""

from __future__ import annotations

import argparse

from interlock.server.cli import engine_commands as common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN")
    parser.add_argument("name", metavar="NAME")
    add_payload(parser)
    common.add_store(parser, as_json=True)


def add_payload(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="JSON", help="what goes with it (@FILE reads a file, @- standard input)")
    parser.add_argument("--id", metavar="ID", help="makes sending it again harmless")


@common.speaking
def run(options: common.Options) -> int:
    payload = common.json_argument(options.data, "--data")
    with common.engine_of(options) as engine:
        receipt = engine.signal(options.run_id, options.name, payload, signal_id=options.id)
        if receipt.repeated:
            sentence = "This signal had been sent before; nothing happened."
        elif receipt.consumed:
            sentence = f'Sent "{options.name}" to {receipt.run}.'
        else:
            sentence = f'Sent "{options.name}" to {receipt.run}: nothing takes it now; it is kept for a step that does.'
        common.tell_receipt(options, receipt, sentence)
    return 0
